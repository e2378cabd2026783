// One editor. The browser has the text; the server is told of it, and replaces it only when a person asks it to.
//
// Each text carries a number, `at`: the time it was typed, and always more than that of the text before it. Between two
// texts, of the server, of this editor or of the draft in the browser's storage, the one with the greater number
// stands. So an echo that comes late overwrites nothing, and after a reload the draft wins over the starter, which has 0.
import { defaultKeymap, history, historyKeymap, indentLess, indentMore, isolateHistory } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, LanguageSupport } from "@codemirror/language";
import { search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, Prec } from "@codemirror/state";
import {
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  showPanel,
} from "@codemirror/view";
import { keep, read } from "./drafts.js";
import { atCursor, findings, place, setFindings } from "./findings.js";
import { looks } from "./looks.js";

const PAUSE = 300; // ms without typing until the server is told
const AWAY = 3000; // milliseconds that a page needs at most to go
const fromServer = Annotation.define();

class Editor {
  constructor(root, component) {
    const { data } = component;
    this.component = component;
    this.key = data.key;
    this.jumped = data.focus?.[1];
    this.settings = new Compartment();
    this.at = this.told = data.at;
    const draft = data.draft === null ? null : read(data.draft);
    const restored = draft !== null && draft.at > data.at && draft.text.length <= data.limit;
    if (restored) this.at = draft.at;
    const status = this.status();
    root.style.height = `min(${data.height}px, 75vh)`;
    this.view = new EditorView({
      parent: root,
      state: EditorState.create({ doc: restored ? draft.text : data.text, extensions: this.extensions(status) }),
    });
    this.onLeave = () => this.keep();
    window.addEventListener("pagehide", this.onLeave);
    this.onClick = (event) => void (event.target.closest?.("a") ? this.leave() : this.tell());
    window.addEventListener("click", this.onClick);
    // A key pressed here is for the editor alone: a button of the page may have it, too.
    root.onkeydown = (event) => event.stopPropagation();
    this.apply();
    this.tell();
  }

  extensions(status) {
    return [
      Prec.high(
        keymap.of([
          { key: "Mod-Enter", run: () => this.run() },
          { key: "Ctrl-Enter", run: () => this.run() },
        ]),
      ),
      this.settings.of([]),
      lineNumbers(),
      findings,
      highlightActiveLine(),
      highlightActiveLineGutter(),
      highlightSpecialChars(),
      history(),
      search({ top: true }),
      new LanguageSupport(pythonLanguage),
      indentUnit.of("    "),
      EditorState.tabSize.of(4),
      indentOnInput(),
      bracketMatching(),
      keymap.of([
        { key: "Tab", run: tab, shift: indentLess },
        ...searchKeymap,
        ...historyKeymap,
        ...defaultKeymap,
        { key: "Escape", run: () => this.release(true) },
      ]),
      looks,
      showPanel.of(() => ({ dom: status })),
      EditorState.changeFilter.of((transaction) => this.fits(transaction)),
      EditorView.updateListener.of((update) => this.changed(update)),
      EditorView.domEventHandlers({
        blur: (event) => {
          this.release(false);
          this.left(event.relatedTarget);
        },
        // The last of the composed text arrives after this event.
        compositionend: () => void setTimeout(() => this.component.isLate && this.update(this.component)),
      }),
    ];
  }

  get text() {
    return this.view.state.doc.toString();
  }

  // A later run of the page ----------------------------------------------------------------------------------------

  update(component) {
    this.component = component;
    component.isLate = this.view.composing; // an input method is at work: touch nothing
    if (!component.isLate) this.apply();
  }

  apply() {
    const { data } = this.component;
    this.replace(data);
    this.set(data);
    this.mark(data);
    this.jump(data);
  }

  replace({ text, at }) {
    if (at <= this.at) return;
    this.at = this.told = at;
    clearTimeout(this.timer);
    const old = this.text;
    if (text !== old) {
      this.view.dispatch({
        changes: { from: 0, to: old.length, insert: text },
        annotations: [fromServer.of(true), isolateHistory.of("full")],
      });
    }
    this.keep();
  }

  set({ read_only, words, phrases }) {
    const wanted = JSON.stringify([read_only, words, phrases]);
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    this.hint.textContent = words.hint;
    this.view.dispatch({
      effects: this.settings.reconfigure([
        EditorState.readOnly.of(read_only),
        EditorState.phrases.of(phrases),
        EditorView.contentAttributes.of({ "aria-label": words.label, "aria-describedby": this.hint.id }),
      ]),
    });
  }

  mark({ marks, marked }) {
    const wanted = JSON.stringify([marks, marked]);
    if (wanted === this.marked) return;
    this.marked = wanted;
    this.view.dispatch({ effects: setFindings.of(place(marks, marked, this.text)) });
  }

  jump({ focus }) {
    if (!focus || focus[1] === this.jumped) return;
    this.jumped = focus[1];
    const { doc } = this.view.state;
    const line = doc.line(Math.min(Math.max(focus[0], 1), doc.lines));
    const anchor = line.from + /^\s*/.exec(line.text)[0].length;
    this.view.focus();
    this.view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
  }

  // What the person does -------------------------------------------------------------------------------------------

  changed(update) {
    if (update.docChanged && !update.transactions.some((transaction) => transaction.annotation(fromServer))) {
      this.at = Math.max(Date.now(), this.at + 1);
      this.release(false);
      this.later();
    }
    this.say();
  }

  later(pause = PAUSE) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.view.composing ? this.later() : this.flush()), pause);
  }

  // Where the focus goes on to a button, its click follows so closely that Streamlit may send the two as one message,
  // which reruns what the first of them reruns: the click has to be the first (`onClick`), or else it would be lost.
  // Where a link leads away there is nothing to tell: what it tells would take the way's place. The draft is kept.
  left(next) {
    if (next?.closest("a")) this.leave();
    else {
      this.keep();
      if (this.at !== this.told) this.later();
    }
  }

  leave() {
    this.keep();
    if (this.at !== this.told) this.later(AWAY); // if nothing came of it
  }

  flush() {
    this.keep();
    this.tell();
  }

  tell() {
    clearTimeout(this.timer);
    if (this.at === this.told) return;
    this.told = this.at;
    this.component.setStateValue("draft", { text: this.text, at: this.at });
  }

  keep() {
    const { draft = null, starter } = this.component.data ?? {}; // none once the editor is gone
    if (draft !== null) keep(draft, this.text, this.at, starter);
  }

  run() {
    if (this.view.state.readOnly) return false;
    clearTimeout(this.timer);
    this.keep();
    this.told = this.at;
    this.component.setTriggerValue("run", { text: this.text, at: this.at });
    return true;
  }

  fits(transaction) {
    const { limit, words } = this.component.data;
    const { length } = transaction.newDoc;
    if (length <= limit || length <= transaction.startState.doc.length) return true;
    queueMicrotask(() => this.say(words.too_long));
    return false;
  }

  // Whether Tab leaves the editor, until it has been left or something is typed.
  release(free) {
    if (this.free === free) return true;
    this.free = free;
    this.view.setTabFocusMode(free);
    this.say();
    return true;
  }

  // The line below the text ----------------------------------------------------------------------------------------

  status() {
    const dom = document.createElement("div");
    dom.className = "cm-status";
    this.hint = dom.appendChild(document.createElement("p"));
    this.hint.className = "cm-hint";
    this.hint.id = `hint-${this.key}`;
    this.said = dom.appendChild(document.createElement("p"));
    this.said.setAttribute("role", "status");
    this.said.hidden = true;
    return dom;
  }

  say(words = this.free ? this.component.data.words.leave : atCursor(this.view.state)) {
    if (this.said.textContent !== words) this.said.textContent = words;
    this.said.hidden = words === "";
    this.hint.hidden = words !== "";
  }

  destroy() {
    clearTimeout(this.timer);
    window.removeEventListener("pagehide", this.onLeave);
    window.removeEventListener("click", this.onClick);
    this.keep();
    this.component = {}; // nothing is late any more
    this.view.destroy();
  }
}

// Tab makes room up to the next multiple of four, or indents what is selected.
function tab(view) {
  const { state } = view;
  if (state.readOnly) return false;
  if (state.selection.ranges.some((range) => !range.empty)) return indentMore(view);
  const { head } = state.selection.main;
  const insert = " ".repeat(4 - ((head - state.doc.lineAt(head).from) % 4));
  view.dispatch(state.replaceSelection(insert), { scrollIntoView: true, userEvent: "input" });
  return true;
}

const editors = new WeakMap();

export function show(component) {
  const root = component.parentElement.querySelector(".hw-editor");
  let editor = editors.get(root);
  if (editor && editor.key !== component.data.key) {
    editor.destroy();
    editor = undefined;
  }
  if (editor) editor.update(component);
  else editors.set(root, (editor = new Editor(root, component)));
  editor.latest = component;
  // Streamlit clears up after a run that a later one overtook, too: the editor then belongs to the later one.
  return () => {
    if (editor.latest !== component || editors.get(root) !== editor) return;
    editors.delete(root);
    editor.destroy();
  };
}
