/** The close-up of code: the lines that run, the formula with the shapes, and the source of the layer. */

/** @param {import("../parts/ui.js").Ui} ui @param {import("./reading.js").Code} code */
export function codePanel({ h }, { lines, formula, shapes, source, where, note }) {
  const listing = (/** @type {string} */ text, /** @type {string} */ label) =>
    h("pre", { text, tabindex: "0", "aria-label": label });
  return h(
    "div",
    { class: "ce-code" },
    h(
      "div",
      {},
      listing(lines.join("\n"), "What runs"),
      formula ? h("p", { text: formula }) : null,
      h("p", { class: "ce-code-shapes", text: shapes }),
      note ? h("p", { class: "ce-values-note", text: note }) : null,
    ),
    source ? h("div", {}, listing(source, "Source"), h("p", { class: "ce-values-note", text: where })) : null,
  );
}

export const STYLE = `
.ce-code{display:flex;flex-wrap:wrap;gap:6px 24px;margin-top:6px}
.ce-code>div{flex:1 1 420px;min-width:0}
.ce-code p{margin:4px 0;overflow-wrap:anywhere}
.ce-code-shapes{font-weight:600}
.ce-code pre{margin:0 0 6px;padding:8px;font:12.5px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--ce-ground);color:inherit;border:1px solid var(--ce-line);border-radius:6px;overflow:auto;white-space:pre}
`;
