/**
 * The steps of a trace as a tree of passes, with a filter.
 *
 * Reads the traits `steps` (JSON of the list of `StepView` in `widgets/schema.py`) and `options` ({theme, height});
 * reads and writes `step`. Python decides the name of a step and its position in the tree.
 */

import { messageOf } from "./shared/contract.js";
import { focusedIn, maker } from "./shared/elements.js";
import { FONT } from "./shared/measuring.js";
import { asDict } from "./shared/reading.js";
import { dress, heightOf, paletteFor, watchTheme } from "./shared/theme.js";
import { onChanges } from "./shared/traits.js";
import { isBad, readTree, stepsShown } from "./steps/reading.js";

/** @typedef {import("./steps/reading.js").Step} Step */

const STYLE = `
.ces-root{box-sizing:border-box;display:flex;flex-direction:column;width:100%;min-height:0;font:13px/1.35 ${FONT};color:var(--ces-fg);background:var(--ces-bg);text-align:left;overflow:hidden}
.ces-root *{box-sizing:border-box}
.ces-root [hidden]{display:none!important}
.ces-head{display:flex;flex-direction:column;gap:6px;padding:8px 10px;border-bottom:1px solid var(--ces-line)}
.ces-head h2{margin:0;font-size:13px;font-weight:650;color:inherit}
.ces-head input[type=search]{font:inherit;color:inherit;width:100%;height:28px;padding:0 8px;border:1px solid var(--ces-control);border-radius:6px;background:var(--ces-bg)}
.ces-head label{display:flex;align-items:center;gap:6px;min-height:24px;cursor:pointer}
.ces-head input[type=checkbox]{width:16px;height:16px;margin:0;accent-color:var(--ces-accent)}
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
  const { h } = maker(doc);

  /** @type {Step[]} */
  let steps = [];
  let wrong = "";
  let step = 0;
  /** Groups that the user has closed. @type {Set<string>} */
  const closed = new Set();
  /** The key of the item that has the tab stop: `s3` a step, `gOptimize` a group. */
  let focused = "";
  /** Items in view, in order. @type {{key: string, element: any, group: boolean, parent: string}[]} */
  let items = [];

  const only = h("input", { type: "checkbox", onchange: () => draw() });
  only.checked = true;
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
    h(
      "div",
      { class: "ces-head" },
      h("h2", { text: "Steps" }),
      search,
      h("label", {}, only, h("span", { text: "changing steps only" })),
    ),
    tree,
    none,
  );
  const sheet = h("style", { text: STYLE });

  function colour() {
    const { theme, height } = asDict(model.get("options"));
    dress(root, paletteFor(doc, theme), "ces");
    if (height) root.style.setProperty("height", heightOf(height));
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

  /** @param {Step} item @param {number} depth */
  function row(item, depth) {
    const bad = isBad(item);
    const sign = bad ? "✕" : item.ok === true ? "✓" : "";
    const said = item.error
      ? "failed"
      : item.ok === false
        ? "the output differs"
        : item.ok === true
          ? "the output agrees"
          : "";
    // The row is the item: its name is its own text, without the rows below a group.
    const element = h(
      "div",
      {
        class: "ces-row",
        role: "treeitem",
        tabindex: "-1",
        "data-step": item.index,
        "aria-level": depth + 1,
        "aria-selected": String(item.index === step),
        title: [item.title, item.summary, item.error].filter(Boolean).join("\n"),
        onclick: () => choose(item.index),
      },
      h("span", { class: "ces-label", text: item.label }),
      h("span", { class: "ces-what", text: item.summary }),
      h("span", { class: "ces-count", text: item.layers.toLocaleString("en") }),
      h("span", { class: "ces-said", text: [item.counted.toLowerCase(), said].filter(Boolean).join(", ") }),
      h("span", { class: `ces-mark${bad ? " ces-bad" : ""}`, "aria-hidden": "true", text: sign }),
    );
    element.style.setProperty("--ces-depth", String(depth));
    return element;
  }

  function draw() {
    const had = items.some(({ element }) => element === focusedIn(root));
    items = [];
    const shown = stepsShown(steps, { current: step, only: only.checked, filter: String(search.value || "") });
    const filtering = Boolean(search.value);
    /** @type {{name: string, list: any}[]} */
    let open = [{ name: "", list: tree }];
    tree.replaceChildren();
    for (const item of shown) {
      let depth = 0;
      let hidden = false;
      for (; depth < item.groups.length; depth += 1) {
        const name = item.groups.slice(0, depth + 1).join("/");
        if (!open[depth + 1] || open[depth + 1].name !== name) {
          open = open.slice(0, depth + 1);
          const expanded = filtering || !closed.has(name);
          const list = h("ul", { role: "group", hidden: !expanded });
          const group = h(
            "div",
            {
              class: "ces-row",
              role: "treeitem",
              tabindex: "-1",
              "aria-level": depth + 1,
              "aria-expanded": String(expanded),
              onclick: () => toggle(name),
            },
            h("span", { class: "ces-arrow", "aria-hidden": "true", text: "▸" }),
            h("span", { class: "ces-label", text: item.groups[depth] }),
          );
          group.style.setProperty("--ces-depth", String(depth));
          open[depth].list.appendChild(h("li", { class: "ces-group", role: "none" }, group, list));
          items.push({
            key: `g${name}`,
            element: group,
            group: true,
            parent: depth ? `g${item.groups.slice(0, depth).join("/")}` : "",
          });
          open.push({ name, list });
        }
        if (!filtering && closed.has(name)) {
          hidden = true;
          break;
        }
      }
      if (hidden) continue;
      open = open.slice(0, depth + 1);
      const element = row(item, depth);
      open[depth].list.appendChild(h("li", { role: "none" }, element));
      items.push({ key: `s${item.index}`, element, group: false, parent: depth ? `g${item.groups.join("/")}` : "" });
    }
    none.hidden = shown.length > 0;
    none.textContent = wrong || (steps.length ? "No step matches the filter." : "No steps yet.");
    const stop =
      items.find((item) => item.key === focused) || items.find((item) => item.key === `s${step}`) || items[0];
    if (stop) {
      stop.element.setAttribute("tabindex", "0");
      if (had && stop.element.focus) stop.element.focus();
    }
    const current = items.find((item) => item.key === `s${step}`);
    if (current && current.element.scrollIntoView) current.element.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} at */
  function focus(at) {
    const item = items[Math.max(0, Math.min(items.length - 1, at))];
    if (!item) return;
    for (const other of items) other.element.setAttribute("tabindex", other === item ? "0" : "-1");
    focused = item.key;
    if (item.element.focus) item.element.focus();
  }

  /** The keys of a tree: arrows move, open and close; Enter and Space select. @param {any} event */
  function key(event) {
    const at = Math.max(
      0,
      items.findIndex((item) => item.element.getAttribute("tabindex") === "0"),
    );
    const item = items[at];
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    const name = item.group ? item.key.slice(1) : "";
    /** @type {Record<string, () => void>} */
    const acts = {
      ArrowDown: () => focus(at + 1),
      ArrowUp: () => focus(at - 1),
      Home: () => focus(0),
      End: () => focus(items.length - 1),
      ArrowRight: () => (item.group && closed.has(name) ? toggle(name) : item.group ? focus(at + 1) : undefined),
      ArrowLeft: () =>
        item.group && !closed.has(name)
          ? toggle(name)
          : item.parent
            ? focus(items.findIndex((other) => other.key === item.parent))
            : undefined,
      Enter: () => (item.group ? toggle(name) : choose(Number(item.key.slice(1)))),
      " ": () => (item.group ? toggle(name) : choose(Number(item.key.slice(1)))),
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
      wrong = `Cannot show the steps. ${messageOf(error)}`;
    }
    step = Number(model.get("step")) || 0;
    draw();
  }

  function follow() {
    step = Number(model.get("step")) || 0;
    focused = `s${step}`;
    draw();
  }

  const closing = [onChanges(model, { steps: read, step: follow, options: colour }), watchTheme(doc, colour)];
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
