/** Below the picture: caption, note and message, and the pager of matches. */

import { cellWords, describeBox, describeHull, HULL_PLURALS, HULL_WORDS } from "../picture/words.js";
import { SOLID } from "../shared/icons.js";
import { boxOf, captionOf, hasSentence, isCompact } from "./state.js";
import { actionButtons } from "./strip.js";

/**
 * @import { Hull } from "../picture/types.js"
 * @import { Changed } from "./state.js"
 */

/** How many there are of each kind, and how many outlines stand for them. @param {Hull[]} hulls */
export function countHulls(hulls) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { kind, count } of hulls) counts.set(kind, (counts.get(kind) || 0) + count);
  const words = [...counts].map(([kind, count]) => {
    const name = count === 1 ? HULL_WORDS[kind] : HULL_PLURALS[kind];
    return `${count.toLocaleString("en-US")} ${name || kind}`;
  });
  const isShared = hulls.some(({ count }) => count > 1);
  return words.join(", ") + (isShared ? ` in ${hulls.length} ${hulls.length === 1 ? "outline" : "outlines"}` : "");
}

/** @param {import("../graph.js").Page} page */
export function makePager({ ui: { h, button }, store: { state }, selecting: { turn } }) {
  const words = h("span", {});
  const group = { class: "ce-pager", role: "group", "aria-label": "Matches and near misses", hidden: true };
  const element = h(
    "div",
    group,
    button("Previous match ([)", "previous", () => turn(-1), SOLID),
    button("Next match (])", "next", () => turn(1), SOLID),
    words,
  );
  return {
    element,
    reads: /** @type {const} */ (["picture", "hull"]),
    draw() {
      const stops = state.picture ? state.picture.stops : [];
      const at = stops.findIndex((hull) => hull.id === state.hull);
      element.hidden = !stops.length;
      words.textContent = at < 0 ? countHulls(stops) : `${at + 1} of ${stops.length}: ${describeHull(stops[at])}`;
      words.setAttribute("title", words.textContent);
    },
    words: () => words.textContent,
  };
}

const PAGER = `
.ce-pager{display:flex;gap:4px;align-items:center;flex:0 1 auto;min-width:0;max-width:min(100%,460px)}
.ce-pager span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding:0 6px}
`;

/** @param {import("../graph.js").Page} page */
export function makeFoot({ ui, store: { state }, saving: { request }, pager }) {
  const { h } = ui;
  const caption = h("div", { class: "ce-caption" });
  const note = h("div", { class: "ce-note" });
  const actions = h("div", { class: "ce-group" });

  /** In compact form: the box under the pointer, else the selection, else what changed. */
  function captionWords() {
    if (state.notice) return state.notice;
    const id = state.hover || state.selection[state.selection.length - 1] || "";
    const box = isCompact(state) ? boxOf(state, id) : undefined;
    if (!box) return captionOf(state);
    const cell = state.hover ? cellWords(box, state.cell) : "";
    return [cell, describeBox(box)].filter(Boolean).join(": ");
  }

  return {
    element: h("div", { class: "ce-foot" }, pager.element, caption, note, actions),
    reads: /** @type {const} */ (["picture", "options", "hover", "cell", "selection", "notice", "steps", "step"]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      caption.textContent = captionWords();
      // The film says it in more words.
      const said = !isCompact(state) && !state.notice && hasSentence(state);
      caption.setAttribute("class", said ? "ce-caption ce-said" : "ce-caption");
      caption.setAttribute("title", caption.textContent);
      if (!changed.has("picture") && !changed.has("options")) return;
      note.textContent = state.picture ? state.picture.note : "";
      note.setAttribute("title", note.textContent);
      actions.replaceChildren(...actionButtons(ui, state, "note", request));
    },
  };
}

export const STYLE = `
.ce-bottom{display:flex;flex:none;flex-wrap:wrap;align-items:center;border-top:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-bottom>.ce-legends{flex:10 1 480px}.ce-bottom>.ce-foot{flex:1 1 auto}
.ce-bottom:has(>.ce-choosing:not(:empty)){flex-wrap:nowrap;min-height:40px}
.ce-bottom>.ce-choosing:not(:empty)~.ce-foot{flex-shrink:2;min-width:200px}
.ce-foot{display:flex;flex:none;flex-wrap:wrap;align-items:center;gap:2px 16px;padding:3px 12px;min-height:30px}
.ce-caption{font-weight:600;flex:1 1 auto;min-width:0}
.ce-bottom .ce-caption{max-width:48ch}
.ce-note{color:var(--ce-muted);font-size:12.5px}
.ce-bottom .ce-note{max-width:46ch;white-space:pre-line}
.ce-compact .ce-foot{flex-wrap:nowrap}
.ce-compact .ce-caption{min-height:2.6em;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;line-clamp:2;overflow:hidden;overflow-wrap:anywhere;line-height:1.3}
.ce-compact .ce-note{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;flex:0 2 auto;min-width:0}
.ce-foot>:empty{display:none}
.ce-narrow.ce-compact .ce-foot{flex-wrap:wrap}
.ce-narrow.ce-compact .ce-caption{flex-basis:12em}
.ce-narrow.ce-compact .ce-note{max-width:100%}
${PAGER}`;
