// Colours are Streamlit's variables, so that light and dark need nothing of us.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const tinted = (colour, percent) => `color-mix(in srgb, ${colour} ${percent}%, transparent)`;
const TEXT = "var(--st-text-color)";
const HUE = { error: "red", proved: "red", likely: "orange" };
const LINE = { error: "wavy", proved: "solid", likely: "dashed" };

const found = Object.entries(HUE).flatMap(([severity, hue]) => {
  const [line, dark] = [`var(--st-${hue}-color)`, `var(--st-${hue}-text-color)`];
  const underlined = {
    textDecoration: `underline ${LINE[severity]} ${line} 2px`,
    textUnderlineOffset: "3px",
    textDecorationSkipInk: "none",
    backgroundColor: tinted(line, 14),
  };
  const sign =
    severity === "likely"
      ? { border: `1.5px dashed ${line}`, color: dark }
      : { border: `1.5px solid ${dark}`, backgroundColor: dark, color: "var(--st-background-color)" };
  return [
    [`.cm-finding.cm-${severity}`, underlined],
    [`.cm-sign.cm-${severity}`, { ...sign, borderRadius: severity === "error" ? "3px" : "50%" }],
  ];
});

const theme = EditorView.theme({
  "&": {
    height: "100%",
    color: "var(--st-code-text-color)",
    backgroundColor: "var(--st-code-background-color)",
    border: "1px solid var(--st-border-color)",
    borderRadius: "var(--st-base-radius)",
    overflow: "hidden",
  },
  "&.cm-focused": { outline: "2px solid var(--st-primary-color)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--st-code-font)", fontSize: "var(--st-code-font-size)", lineHeight: "1.6" },
  ".cm-content": { caretColor: TEXT, padding: "8px 0" },
  ".cm-line": {
    "--hang": "calc(var(--in, 0ch) + 4ch)",
    padding: "0 8px 0 calc(6px + var(--hang))",
    textIndent: "calc(-1 * var(--hang))",
  },
  ".cm-gutters": {
    backgroundColor: "transparent",
    border: "none",
    color: "color-mix(in srgb, var(--st-text-color) 65%, transparent)",
  },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 4px 0 2px", minWidth: "26px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: tinted(TEXT, 5) },
  ".cm-content ::selection, .cm-content::selection, .cm-line::selection": {
    backgroundColor: tinted("var(--st-primary-color)", 32),
  },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: tinted("var(--st-primary-color)", 22),
    outline: `1px solid ${tinted("var(--st-primary-color)", 60)}`,
  },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: tinted("var(--st-red-color)", 22) },
  ".cm-searchMatch": { backgroundColor: tinted("var(--st-yellow-color)", 35) },
  ".cm-searchMatch-selected": { backgroundColor: tinted("var(--st-yellow-color)", 75) },
  ".cm-signs": { width: "20px" },
  ".cm-sign": {
    display: "block",
    boxSizing: "border-box",
    width: "15px",
    height: "15px",
    margin: "2px auto 0",
    font: "700 11px/12px var(--st-font)",
    textAlign: "center",
    cursor: "default",
  },
  ...Object.fromEntries(found),
  ".cm-tooltip": {
    backgroundColor: "var(--st-background-color)",
    color: TEXT,
    border: "1px solid var(--st-border-color)",
    borderRadius: "var(--st-base-radius)",
    boxShadow: "0 2px 10px rgba(0, 0, 0, .18)",
    maxWidth: "min(520px, 86vw)",
    font: "14px/1.5 var(--st-font)",
  },
  ".cm-tooltip p": { margin: 0, padding: "6px 10px" },
  ".cm-panels": { backgroundColor: "transparent", color: TEXT, font: "13px/1.5 var(--st-font)" },
  ".cm-panels-top": { borderBottom: "1px solid var(--st-border-color)" },
  ".cm-panels-bottom": { borderTop: "1px solid var(--st-border-color)" },
  ".cm-status": { padding: "4px 10px", minHeight: "1.5em" },
  ".cm-status p": { margin: 0, maxHeight: "4.5em", overflowY: "auto", fontSize: "13px" },
  ".cm-status .cm-hint": { opacity: 0.75 },
  ".cm-status p[hidden]": { display: "none" },
  ".cm-panel.cm-search": { padding: "6px 26px 6px 8px" },
  ".cm-panel.cm-search input, .cm-panel.cm-search button, .cm-panel.cm-search label": { fontSize: "13px" },
  ".cm-textfield, .cm-button": {
    backgroundColor: "var(--st-background-color)",
    backgroundImage: "none",
    color: TEXT,
    border: "1px solid var(--st-border-color)",
    borderRadius: "6px",
  },
  ".cm-panel.cm-search [name=close]": { color: TEXT, fontSize: "18px" },
  "@media (pointer: coarse)": {
    ".cm-scroller": { fontSize: "16px" }, // below it a phone zooms in on the first tap and stays there
    ".cm-line": { "--hang": "calc(min(var(--in, 0ch), 4ch) + 2ch)" },
    // Of keys, and in the way of the finger: what a finding says stands in the status line.
    ".cm-status .cm-hint, .cm-tooltip": { display: "none" },
  },
});

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.self, tags.operatorKeyword, tags.modifier], color: "var(--st-violet-text-color)" },
  { tag: [tags.string, tags.special(tags.string), tags.escape], color: "var(--st-green-text-color)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--st-orange-text-color)" },
  { tag: tags.comment, color: "var(--st-gray-text-color)", fontStyle: "italic" },
  { tag: [tags.definition(tags.variableName), tags.function(tags.definition(tags.variableName))], color: TEXT },
  {
    tag: [tags.className, tags.definition(tags.className), tags.function(tags.variableName), tags.meta],
    color: "var(--st-blue-text-color)",
  },
  { tag: tags.function(tags.propertyName), color: "var(--st-blue-text-color)" },
  { tag: tags.invalid, color: "var(--st-red-text-color)" },
]);

// Long lines wrap under a hanging indent, so that a phone needs no sideways scrolling.
const indents = ViewPlugin.fromClass(
  class {
    constructor(view) {
      this.decorations = indented(view);
    }
    update(update) {
      if (update.docChanged || update.viewportChanged) this.decorations = indented(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function indented(view) {
  const builder = new RangeSetBuilder();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      const depth = /^ */.exec(line.text)[0].length;
      builder.add(line.from, line.from, Decoration.line({ attributes: { style: `--in:${Math.min(depth, 24)}ch` } }));
      at = line.to + 1;
    }
  }
  return builder.finish();
}

export const looks = [theme, syntaxHighlighting(highlighting), EditorView.lineWrapping, indents];
