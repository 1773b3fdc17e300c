/**
 * The steps of a trace as a tree of passes, with a filter.
 *
 * Reads the traits `steps` (JSON of the list of `StepView` in `widgets/explorer_widgets/schema/`) and `options`
 * ({theme, height, any_step}: with `any_step`, steps that changed nothing are shown too);
 * reads and writes `step`. Python decides the name of a step and its position in the tree.
 */

import { errorText } from "./shared/contract.js";
import { focusedIn, maker } from "./shared/elements.js";
import { FONT } from "./shared/measuring.js";
import { asDict } from "./shared/reading.js";
import { applyPalette, heightOf, paletteFor, watchTheme } from "./shared/theme.js";
import { onChanges } from "./shared/traits.js";
import { itemsOf, readTree, stepsShown, treeElements } from "./steps/reading.js";

/** @import { Step } from "./steps/reading.js" */

const STYLE = `
.ces-root{box-sizing:border-box;display:flex;flex-direction:column;width:100%;min-height:0;font:13px/1.35 ${FONT};color:var(--ces-fg);background:var(--ces-bg);text-align:left;overflow:hidden}
.ces-root *{box-sizing:border-box}
.ces-root [hidden]{display:none!important}
.ces-head{display:flex;flex-direction:column;gap:6px;padding:8px 10px;border-bottom:1px solid var(--ces-line)}
.ces-head h2{margin:0;font-size:13px;font-weight:650;color:inherit}
.ces-head input[type=search]{font:inherit;color:inherit;width:100%;height:28px;padding:0 8px;border:1px solid var(--ces-control);border-radius:6px;background:var(--ces-bg)}
.ces-tree{flex:1 1 auto;min-height:0;overflow:auto;margin:0;padding:4px 0;list-style:none}
.ces-tree ul{margin:0;padding:0;list-style:none}
.ces-row{position:relative;display:flex;align-items:baseline;gap:6px;min-height:26px;padding:4px 10px 4px calc(10px + 14px*var(--ces-depth));cursor:pointer;border-left:3px solid transparent}
.ces-row:hover{background:var(--ces-soft)}
.ces-group>.ces-row{color:var(--ces-muted);font-weight:600}
.ces-arrow{flex:none;width:10px;transition:transform .12s}
[aria-expanded=true]>.ces-arrow{transform:rotate(90deg)}
.ces-row[aria-selected=true]{background:var(--ces-soft);border-left-color:var(--ces-accent);font-weight:650}
.ces-label{flex:0 1 auto;min-width:0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.ces-what{flex:1 1 0;min-width:0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;color:var(--ces-muted);font-size:12px;font-weight:400}
.ces-count{flex:none;font-size:12px;font-weight:400;font-variant-numeric:tabular-nums}
.ces-mark{flex:none;width:14px;text-align:center;font-weight:700;color:var(--ces-good)}
.ces-mark.ces-bad{color:var(--ces-error)}
.ces-said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.ces-row:focus{outline:none}
.ces-row:focus-visible{outline:2px solid var(--ces-accent);outline-offset:-2px}
.ces-root :is(input,button):focus-visible{outline:2px solid var(--ces-accent);outline-offset:2px}
.ces-none{padding:8px 12px;color:var(--ces-muted);margin:0}
@media (prefers-reduced-motion:reduce){.ces-arrow{transition:none}}
`;

/**
 * Draws the tree into `el`; returns a function that removes it.
 * @param {import("./shared/contract.js").Context} context @returns {() => void}
 */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const make = maker(doc);
  const { h } = make;

  /** @type {Step[]} */
  let steps = [];
  let wrong = "";
  let step = 0;
  /** Groups that the user has closed. @type {Set<string>} */
  const closed = new Set();
  /** The key of the item that has the tab stop: `s3` a step, `gOptimize` a group. */
  let focused = "";
  /** Items in view, in order. @type {import("./steps/reading.js").Item[]} */
  let items = [];
  /** The row of each. @type {any[]} */
  let rows = [];

  const search = h("input", {
    type: "search",
    placeholder: "Filter steps",
    "aria-label": "Filter steps",
    oninput: () => draw(),
  });
  const tree = h("ul", {
    class: "ces-tree",
    role: "tree",
    "aria-label": "Steps",
    onkeydown: (/** @type {any} */ event) => key(event),
  });
  const none = h("p", { class: "ces-none", hidden: true });
  const root = h(
    "div",
    { class: "ces-root" },
    h("div", { class: "ces-head" }, h("h2", { text: "Steps" }), search),
    tree,
    none,
  );
  const sheet = h("style", { text: STYLE });

  function colour() {
    const { theme, height } = asDict(model.get("options"));
    applyPalette(root, paletteFor(doc, theme), "ces");
    if (height) root.style.setProperty("height", heightOf(height));
  }

  function restyle() {
    colour();
    draw();
  }

  /** @param {number} index */
  function choose(index) {
    focused = `s${index}`;
    if (index !== step) {
      step = index;
      model.set("step", index);
      model.save_changes();
    }
    draw();
  }

  /** @param {string} name */
  function toggle(name) {
    if (closed.has(name)) closed.delete(name);
    else closed.add(name);
    focused = `g${name}`;
    draw();
  }

  function draw() {
    const had = rows.includes(focusedIn(root));
    const filter = String(search.value || "");
    const shown = stepsShown(steps, { current: step, only: asDict(model.get("options")).any_step !== true, filter });
    const isClosed = (/** @type {string} */ group) => !filter && closed.has(group);
    items = itemsOf(shown, isClosed);
    const elements = treeElements(make, items, { current: step, isClosed, choose, toggle });
    rows = elements.rows;
    tree.replaceChildren(...elements.children);
    none.hidden = shown.length > 0;
    none.textContent = wrong || (steps.length ? "No step matches the filter." : "No steps yet.");
    if (!items.length) return;
    const current = rowOf(`s${step}`);
    const stop = rowOf(focused) || current || rows[0];
    stop.setAttribute("tabindex", "0");
    if (had && stop.focus) stop.focus();
    if (current && current.scrollIntoView) current.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} key */
  const rowOf = (key) => rows[items.findIndex((item) => item.key === key)];

  /** @param {number} at */
  function focus(at) {
    const next = Math.max(0, Math.min(items.length - 1, at));
    rows.forEach((row, index) => row.setAttribute("tabindex", index === next ? "0" : "-1"));
    focused = items[next].key;
    if (rows[next].focus) rows[next].focus();
  }

  /** The keys of a tree: arrows move, open and close; Enter and Space select. @param {any} event */
  function key(event) {
    const at = Math.max(
      0,
      rows.findIndex((row) => row.getAttribute("tabindex") === "0"),
    );
    const item = items[at];
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    const act = () => (item.step ? choose(item.step.index) : toggle(item.group));
    const isOpen = !item.step && !closed.has(item.group);
    /** @type {Record<string, () => void>} */
    const acts = {
      ArrowDown: () => focus(at + 1),
      ArrowUp: () => focus(at - 1),
      Home: () => focus(0),
      End: () => focus(items.length - 1),
      ArrowRight: () => {
        if (isOpen) focus(at + 1);
        else if (!item.step) toggle(item.group);
      },
      ArrowLeft: () => {
        if (isOpen) toggle(item.group);
        else if (item.parent) focus(items.findIndex((other) => other.key === item.parent));
      },
      Enter: act,
      " ": act,
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }

  function read() {
    wrong = "";
    try {
      steps = readTree(model.get("steps"));
    } catch (error) {
      steps = [];
      wrong = `Cannot show the steps. ${errorText(error)}`;
    }
    step = Number(model.get("step")) || 0;
    draw();
  }

  function follow() {
    step = Number(model.get("step")) || 0;
    focused = `s${step}`;
    draw();
  }

  const closing = [onChanges(model, { steps: read, step: follow, options: restyle }), watchTheme(doc, colour)];
  el.appendChild(sheet);
  el.appendChild(root);
  colour();
  read();
  return () => {
    for (const close of closing) close();
    sheet.remove();
    root.remove();
  };
}

export default { render };
