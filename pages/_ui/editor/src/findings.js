// Findings in the text: a sign in the gutter, a line under the expression, the message on hover and in the status line.
import { ChangeSet, MapMode, StateEffect, StateField, Text } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, gutter, hoverTooltip } from "@codemirror/view";

const SIGNS = { proved: "!", likely: "?", error: "×" };
const RANK = ["likely", "proved", "error"];

export const setFindings = StateEffect.define();

// Each {from, to, severity, label}; moved along with what is typed, gone when an end of its expression is deleted.
const field = StateField.define({
  create: () => [],
  update(found, transaction) {
    if (transaction.docChanged) found = found.map((one) => moved(one, transaction.changes)).filter(Boolean);
    for (const effect of transaction.effects) if (effect.is(setFindings)) found = effect.value;
    return found;
  },
  provide: (self) => EditorView.decorations.from(self, underlined),
});

// What was found in the text `marked`, as places in the text that stands there now. A mark counts lines from 1 and
// columns from 0, in characters as Python counts them; this editor counts them as UTF-16 does.
export function place(marks, marked, now) {
  const text = Text.of(marked.split("\n"));
  const changes = difference(marked, now);
  return marks
    .map(({ line, col, end_line, end_col, severity, label }) => {
      const from = offset(text, line, col);
      const to = Math.max(from, offset(text, end_line, end_col));
      return moved({ from, to, severity, label }, changes);
    })
    .filter(Boolean)
    .sort((one, other) => one.from - other.from || other.to - one.to);
}

function offset(text, line, col) {
  const at = text.line(Math.min(Math.max(line, 1), text.lines));
  return at.from + [...at.text].slice(0, Math.max(col, 0)).join("").length;
}

function difference(old, now) {
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  let end = 0;
  while (start < shorter && old[start] === now[start]) start++;
  while (end < shorter - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const insert = now.slice(start, now.length - end);
  return ChangeSet.of({ from: start, to: old.length - end, insert }, old.length);
}

function moved(one, changes) {
  const isPoint = one.from === one.to;
  const from = changes.mapPos(one.from, 1, isPoint ? MapMode.Simple : MapMode.TrackAfter);
  const to = isPoint ? from : changes.mapPos(one.to, -1, MapMode.TrackBefore);
  return from === null || to === null ? null : { ...one, from, to };
}

function underlined(found) {
  const spans = found.filter(({ from, to }) => from < to);
  return Decoration.set(
    spans.map(({ from, to, severity, label }) =>
      Decoration.mark({ class: `cm-finding cm-${severity}`, attributes: { "aria-description": label } }).range(from, to),
    ),
    true,
  );
}

class Sign extends GutterMarker {
  constructor(severity, label) {
    super();
    Object.assign(this, { severity, label });
  }
  eq(other) {
    return other.severity === this.severity && other.label === this.label;
  }
  toDOM() {
    const sign = document.createElement("span");
    sign.className = `cm-sign cm-${this.severity}`;
    sign.textContent = SIGNS[this.severity];
    sign.title = this.label;
    return sign;
  }
}

const signs = gutter({
  class: "cm-signs",
  lineMarker(view, line) {
    const here = view.state.field(field).filter(({ from }) => from >= line.from && from <= line.to);
    if (!here.length) return null;
    const worst = Math.max(...here.map(({ severity }) => RANK.indexOf(severity)));
    return new Sign(RANK[worst], here.map(({ label }) => label).join("\n"));
  },
  lineMarkerChange: (update) => update.startState.field(field) !== update.state.field(field),
  initialSpacer: () => new Sign("proved", ""),
  domEventHandlers: {
    mousedown(view, line) {
      const first = view.state.field(field).find(({ from }) => from >= line.from && from <= line.to);
      if (first) view.dispatch({ selection: { anchor: first.from } });
      view.focus();
      return true;
    },
  },
});

const onHover = hoverTooltip((view, at) => {
  const here = view.state.field(field).filter(({ from, to }) => from <= at && at <= to);
  if (!here.length) return null;
  const [from, to] = [Math.min(...here.map((one) => one.from)), Math.max(...here.map((one) => one.to))];
  const create = () => {
    const dom = document.createElement("div");
    for (const { label } of here) dom.appendChild(document.createElement("p")).textContent = label;
    return { dom };
  };
  return { pos: from, end: to, above: true, create };
});

// The messages of what is found at the cursor, or else on its line.
export function atCursor(state) {
  const { head } = state.selection.main;
  const line = state.doc.lineAt(head);
  const found = state.field(field);
  const near = found.filter(({ from, to }) => from <= head && head <= to);
  const here = near.length ? near : found.filter(({ from, to }) => from <= line.to && to >= line.from);
  return here.map(({ label }) => label).join(" · ");
}

export const findings = [field, signs, onHover];
