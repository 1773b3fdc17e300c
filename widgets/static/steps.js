// @ts-check
/**
 * The steps of a trace as a tree of passes, with a filter. One self-contained ES module for Jupyter (anywidget) and Panel.
 *
 * Reads the traits `steps` (JSON of the list of `StepView` in `widgets/schema.py`) and `options` ({theme, height}); reads and
 * writes `step`. Python decides the name of a step and its position in the tree.
 */

/**
 * @typedef {{get(name: string): any, set(name: string, value: any): void, save_changes(): void,
 *   on(event: string, callback: () => void): void, off(event: string, callback: () => void): void}} Model
 * @typedef {{index: number, label: string, groups: string[], title: string, summary: string, changed: boolean,
 *   ok: boolean | null, error: string, counted: string, layers: number}} Step
 */

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';

/** @type {Record<string, Record<string, string>>} */
const THEMES = {
  light: { bg: "#ffffff", fg: "#16191d", muted: "#565d66", line: "#d5d9df", control: "#858c96", soft: "#eaf1f9", accent: "#0a5fb4", good: "#00664b", error: "#b3261e" },
  dark: { bg: "#14171c", fg: "#eceef1", muted: "#a9b1bb", line: "#3a414b", control: "#7d8792", soft: "#23313f", accent: "#7cc0ff", good: "#1fc796", error: "#ff8a80" },
  forced: { bg: "Canvas", fg: "CanvasText", muted: "CanvasText", line: "CanvasText", control: "CanvasText", soft: "Canvas", accent: "Highlight", good: "CanvasText", error: "CanvasText" },
};

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

/** @param {any} value */
const text = (value) => (typeof value === "string" ? value : value == null ? "" : String(value));
/** @param {string} query */
const asks = (query) => typeof matchMedia === "function" && matchMedia(query).matches;

/**
 * Parse the steps; throws an Error with a message for the user if they are malformed.
 * @param {any} json @returns {Step[]}
 */
export function readTree(json) {
  if (json == null || json === "") return [];
  let raw;
  try {
    raw = typeof json === "string" ? JSON.parse(json) : json;
  } catch (error) {
    throw new Error(`The steps are not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!Array.isArray(raw)) throw new Error("The steps are not a list.");
  return raw.map((step, index) => ({
    index: Number.isInteger(step && step.index) ? step.index : index,
    label: text(step && (step.label || step.path)),
    groups: Array.isArray(step && step.groups) ? step.groups.map(text) : [],
    title: text(step && step.title),
    summary: text(step && step.summary),
    changed: !(step && step.changed === false),
    ok: step && typeof step.ok === "boolean" ? step.ok : null,
    error: text(step && step.error),
    counted: text(step && step.counted) || "layers",
    layers: step && Number.isFinite(step.layers) ? step.layers : 0,
  }));
}

/** @param {any} doc @returns {"light" | "dark"} */
function hostTheme(doc) {
  for (const element of [doc.body, doc.documentElement]) {
    if (!element || !element.getAttribute) continue;
    const lab = element.getAttribute("data-jp-theme-light");
    if (lab) return lab === "true" ? "light" : "dark";
    for (const name of ["data-theme", "data-mui-color-scheme", "data-bs-theme", "theme"]) {
      const value = element.getAttribute(name) || "";
      if (/dark/.test(value)) return "dark";
      if (/light/.test(value)) return "light";
    }
    const classes = element.getAttribute("class") || "";
    if (/(^|\s)(dark|dark-theme|dark-mode)(\s|$)/.test(classes)) return "dark";
    if (/(^|\s)(light|light-theme|light-mode)(\s|$)/.test(classes)) return "light";
  }
  return asks("(prefers-color-scheme: dark)") ? "dark" : "light";
}

/** @param {{model: Model, el: any}} context @returns {() => void} */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  /** @type {(() => void)[]} */
  const closing = [];
  /** @param {string} tag @param {Record<string, any>} [attributes] @param {...any} children */
  const h = (tag, attributes = {}, ...children) => {
    const element = doc.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "text") element.textContent = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat()) if (child) element.appendChild(child);
    return element;
  };

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
  const search = h("input", { type: "search", placeholder: "Filter steps", "aria-label": "Filter steps", oninput: () => draw() });
  const tree = h("ul", { class: "ces-tree", role: "tree", "aria-label": "Steps", onkeydown: (/** @type {any} */ event) => key(event) });
  const none = h("p", { class: "ces-none", hidden: true });
  const root = h("div", { class: "ces-root" },
    h("div", { class: "ces-head" }, h("h2", { text: "Steps" }), search, h("label", {}, only, h("span", { text: "changing steps only" }))),
    tree, none);
  const sheet = h("style", { text: STYLE });

  function dress() {
    const options = model.get("options") || {};
    const value = options instanceof Map ? Object.fromEntries(options) : options;
    const asked = value.theme === "light" || value.theme === "dark" ? value.theme : hostTheme(doc);
    const roles = THEMES[asks("(forced-colors: active)") ? "forced" : asked];
    for (const [role, colour] of Object.entries(roles)) root.style.setProperty(`--ces-${role}`, colour);
    if (value.height) root.style.setProperty("height", typeof value.height === "number" ? `${value.height}px` : String(value.height));
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

  /** The visible steps: those that change something or failed, the first and the current one, if they match the filter. */
  function wanted() {
    const words = String(search.value || "").toLowerCase().split(/\s+/).filter(Boolean);
    return steps.filter((item) => {
      if (only.checked && !item.changed && !item.error && item.ok !== false && item.index !== step && item.index !== 0) return false;
      const said = `${item.title} ${item.summary} ${item.groups.join(" ")} ${item.label}`.toLowerCase();
      return words.every((word) => said.includes(word));
    });
  }

  /** @param {Step} item @param {number} depth */
  function row(item, depth) {
    const bad = Boolean(item.error) || item.ok === false;
    const sign = bad ? "✕" : item.ok === true ? "✓" : "";
    const said = item.error ? "failed" : item.ok === false ? "the output differs" : item.ok === true ? "the output agrees" : "";
    // The row is the item: its name is its own text, without the rows below a group.
    const element = h("div", { class: "ces-row", role: "treeitem", tabindex: "-1", "data-step": item.index, "aria-level": depth + 1, "aria-selected": String(item.index === step), title: [item.title, item.summary, item.error].filter(Boolean).join("\n"), onclick: () => choose(item.index) },
      h("span", { class: "ces-label", text: item.label }), h("span", { class: "ces-what", text: item.summary }),
      h("span", { class: "ces-count", text: item.layers.toLocaleString("en") }), h("span", { class: "ces-said", text: [item.counted.toLowerCase(), said].filter(Boolean).join(", ") }),
      h("span", { class: `ces-mark${bad ? " ces-bad" : ""}`, "aria-hidden": "true", text: sign }));
    element.style.setProperty("--ces-depth", String(depth));
    return element;
  }

  function draw() {
    const had = items.some(({ element }) => element === (el.getRootNode ? el.getRootNode().activeElement : null));
    items = [];
    const shown = wanted();
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
          const group = h("div", { class: "ces-row", role: "treeitem", tabindex: "-1", "aria-level": depth + 1, "aria-expanded": String(expanded), onclick: () => toggle(name) },
            h("span", { class: "ces-arrow", "aria-hidden": "true", text: "▸" }), h("span", { class: "ces-label", text: item.groups[depth] }));
          group.style.setProperty("--ces-depth", String(depth));
          open[depth].list.appendChild(h("li", { class: "ces-group", role: "none" }, group, list));
          items.push({ key: `g${name}`, element: group, group: true, parent: depth ? `g${item.groups.slice(0, depth).join("/")}` : "" });
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
    const stop = items.find((item) => item.key === focused) || items.find((item) => item.key === `s${step}`) || items[0];
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
    const at = Math.max(0, items.findIndex((item) => item.element.getAttribute("tabindex") === "0"));
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
      ArrowLeft: () => (item.group && !closed.has(name) ? toggle(name) : item.parent ? focus(items.findIndex((other) => other.key === item.parent)) : undefined),
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
      wrong = `Cannot show the steps. ${error instanceof Error ? error.message : error}`;
    }
    step = Number(model.get("step")) || 0;
    draw();
  }

  /** @param {string} event @param {() => void} action */
  const on = (event, action) => {
    model.on(event, action);
    closing.push(() => model.off(event, action));
  };
  on("change:steps", read);
  on("change:step", () => {
    step = Number(model.get("step")) || 0;
    focused = `s${step}`;
    draw();
  });
  on("change:options", dress);
  if (typeof matchMedia === "function") {
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      const media = matchMedia(query);
      if (!media.addEventListener) continue;
      media.addEventListener("change", dress);
      closing.push(() => media.removeEventListener("change", dress));
    }
  }
  if (typeof MutationObserver === "function") {
    const watch = new MutationObserver(dress);
    const filter = { attributes: true, attributeFilter: ["class", "theme", "data-theme", "data-jp-theme-light", "data-mui-color-scheme", "data-bs-theme"] };
    for (const part of [doc.documentElement, doc.body]) if (part) watch.observe(part, filter);
    closing.push(() => watch.disconnect());
  }
  el.appendChild(sheet);
  el.appendChild(root);
  dress();
  read();
  return () => {
    for (const close of closing) close();
    sheet.remove();
    root.remove();
  };
}

export default { render };
