/** The steps of the tree from their JSON string, and those that are shown. */

import { parseJson } from "../shared/contract.js";
import { number, text, texts } from "../shared/reading.js";

/** @import { Make } from "../shared/elements.js" */

/**
 * @typedef {{index: number, label: string, groups: string[], title: string, summary: string, changed: boolean,
 *   ok: boolean | null, error: string, counted: string, layers: number}} Step
 */

/**
 * Throws an Error with a message for the user if the steps are malformed.
 * @param {any} json @returns {Step[]}
 */
export function readTree(json) {
  if (json == null || json === "") return [];
  const raw = parseJson("The steps are", json);
  if (!Array.isArray(raw)) throw new Error("The steps are not a list.");
  return raw.map((step, index) => ({
    index: Number.isInteger(step?.index) ? step.index : index,
    label: text(step?.label || step?.path),
    groups: texts(step?.groups),
    title: text(step?.title),
    summary: text(step?.summary),
    changed: step?.changed !== false,
    ok: typeof step?.ok === "boolean" ? step.ok : null,
    error: text(step?.error),
    counted: text(step?.counted) || "layers",
    layers: number(step?.layers),
  }));
}

/** Whether a step failed, or its output differs. @param {Step} step */
export const isBad = ({ error, ok }) => Boolean(error) || ok === false;

/**
 * The steps with all words of the filter; with `only`, those that changed something or failed, and the first and
 * the current one.
 * @param {Step[]} steps @param {{current: number, only: boolean, filter: string}} wanted
 */
export function stepsShown(steps, { current, only, filter }) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return steps.filter((step) => {
    if (only && !step.changed && !isBad(step) && step.index !== current && step.index !== 0) return false;
    const searched = `${step.title} ${step.summary} ${step.groups.join(" ")} ${step.label}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
}

/**
 * @typedef {{key: string, parent: string, depth: number, group: string, label: string, step: Step | null}} Item
 * `key`: `s3` a step, `gOptimize/Round 1` a group; `parent`: the key of its group; `group`: its name, with those above
 */

/**
 * The groups and steps in view: a closed group without what is in it.
 * @param {Step[]} steps @param {(group: string) => boolean} isClosed @returns {Item[]}
 */
export function itemsOf(steps, isClosed) {
  /** @type {Item[]} */
  const items = [];
  /** The groups that the last step is in. @type {string[]} */
  let open = [];
  for (const step of steps) {
    const names = step.groups.map((_, depth) => step.groups.slice(0, depth + 1).join("/"));
    const parentOf = (/** @type {number} */ depth) => (depth ? `g${names[depth - 1]}` : "");
    const closed = names.findIndex(isClosed);
    const shown = closed < 0 ? names : names.slice(0, closed + 1);
    shown.forEach((group, depth) => {
      if (open[depth] === group) return;
      open = [...open.slice(0, depth), group];
      const label = step.groups[depth];
      items.push({ key: `g${group}`, parent: parentOf(depth), depth, group, label, step: null });
    });
    if (closed >= 0) continue;
    const depth = names.length;
    open = open.slice(0, depth);
    items.push({ key: `s${step.index}`, parent: parentOf(depth), depth, group: "", label: step.label, step });
  }
  return items;
}

/**
 * The list items of the tree, and the row of each item: the row is the item for screen readers, its name is its own
 * text, without the rows below a group.
 * @param {Make} make @param {Item[]} items
 * @param {{current: number, isClosed(group: string): boolean, choose(step: number): void, toggle(group: string): void}}
 * tree
 * @returns {{children: any[], rows: any[]}}
 */
export function treeElements({ h }, items, { current, isClosed, choose, toggle }) {
  /** @type {any[]} */
  const children = [];
  /** The lists in which items of each depth go. @type {{append(child: any): void}[]} */
  const lists = [{ append: (child) => void children.push(child) }];
  const rows = items.map(({ depth, group, label, step }) => {
    const item = { class: "ces-row", role: "treeitem", tabindex: "-1", "aria-level": depth + 1 };
    const row = step
      ? h("div", { ...item, ...stepAttributes(step, current), onclick: () => choose(step.index) }, stepParts(h, step))
      : h("div", { ...item, "aria-expanded": String(!isClosed(group)), onclick: () => toggle(group) }, [
          h("span", { class: "ces-arrow", "aria-hidden": "true", text: "▸" }),
          h("span", { class: "ces-label", text: label }),
        ]);
    row.style.setProperty("--ces-depth", String(depth));
    const inner = step ? null : h("ul", { role: "group", hidden: isClosed(group) });
    lists[depth].append(h("li", { class: inner ? "ces-group" : null, role: "none" }, row, inner));
    if (inner) lists[depth + 1] = { append: (child) => inner.appendChild(child) };
    return row;
  });
  return { children, rows };
}

/** @param {Step} step @param {number} current */
const stepAttributes = (step, current) => ({
  "data-step": step.index,
  "aria-selected": String(step.index === current),
  title: [step.title, step.summary, step.error].filter(Boolean).join("\n"),
});

/** @param {Make["h"]} h @param {Step} step */
function stepParts(h, step) {
  const bad = isBad(step);
  const sign = bad ? "✕" : step.ok ? "✓" : "";
  const agrees = step.ok === null ? "" : `the output ${step.ok ? "agrees" : "differs"}`;
  const words = [step.counted.toLowerCase(), step.error ? "failed" : agrees];
  return [
    h("span", { class: "ces-label", text: step.label }),
    h("span", { class: "ces-what", text: step.summary }),
    h("span", { class: "ces-count", text: step.layers.toLocaleString("en") }),
    h("span", { class: "ces-said", text: words.filter(Boolean).join(", ") }),
    h("span", { class: `ces-mark${bad ? " ces-bad" : ""}`, "aria-hidden": "true", text: sign }),
  ];
}
