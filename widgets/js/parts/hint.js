/** The note next to the pointer: the facts of the box or of the line under it. */

import { captionsOf, cellWords, edgeFacts } from "../picture/words.js";

/** @import { Box, Edge, Point } from "../picture/types.js" */

/** Room that the note needs to the right of the pointer. */
const ROOM = 310;

/** @param {import("../graph.js").Page} page */
export function makeHint({ ui: { h }, area }) {
  const element = h("div", { class: "ce-hint", "aria-hidden": "true", hidden: true });

  /** @param {Box} box @param {number} cell under the pointer, or -1 @returns {string[]} */
  function factsOf(box, cell) {
    const many = box.folds > 1 ? `F = ${box.folds}` : box.count > 1 ? `${box.count} layers` : "";
    const change = box.change === "kept" ? "" : box.change;
    const state = [many, `level ${box.level}`, change, box.matched ? "matched" : ""].filter(Boolean).join(" · ");
    const badges = box.badges.map((badge) => `${badge.sign} ${badge.text}`);
    const times = (box.plate?.times || []).map((bar) => bar.text);
    const captions = captionsOf(box).join(" · ");
    const facts = [box.title, cellWords(box, cell), box.detail, captions, state, box.fillText, ...times, ...badges];
    return facts.filter(Boolean);
  }

  /** @param {string[]} facts @param {Point} at in its pane @param {any} pane */
  function show([title, ...facts], at, pane) {
    element.hidden = false;
    element.replaceChildren(h("b", { text: title }), ...facts.map((words) => h("span", { text: words })));
    const [width, height] = [area.clientWidth || 800, area.clientHeight || 320];
    const left = at.x + (pane.offsetLeft || 0);
    const above = at.y > height / 2;
    element.style.setProperty("left", `${Math.max(4, Math.min(left + 14, width - ROOM))}px`);
    element.style.setProperty("top", above ? "auto" : `${at.y + 18}px`);
    element.style.setProperty("bottom", above ? `${height - at.y + 12}px` : "auto");
  }

  return {
    element,
    isShown: () => !element.hidden,
    hide() {
      element.hidden = true;
    },
    /** @param {Box} box @param {Point} at in its pane @param {any} pane @param {number} [cell] @param {string[]} [beliefs] of the cell, in place of its facts */
    show(box, at, pane, cell = -1, beliefs = []) {
      const [title, ...facts] = factsOf(box, cell);
      show([title, ...(beliefs.length ? beliefs : facts)], at, pane);
    },
    /** @param {string[]} words @param {Point} at in its pane @param {any} pane */
    showWords: (words, at, pane) => show(words, at, pane),
    /** @param {Edge} edge @param {Point} at in its pane @param {any} pane */
    showEdge: (edge, at, pane) => show(edgeFacts(edge), at, pane),
  };
}
/** @typedef {ReturnType<typeof makeHint>} Hint */

export const STYLE = `
.ce-hint{position:absolute;z-index:3;max-width:300px;padding:6px 9px;border-radius:6px;border:1px solid var(--ce-control);background:var(--ce-panel);color:var(--ce-fg);box-shadow:0 3px 12px var(--ce-shade);pointer-events:none;font-size:12px}
.ce-hint b{display:block;font-size:12.5px;overflow-wrap:anywhere}
.ce-hint span{display:block;color:var(--ce-muted);overflow-wrap:anywhere}
`;
