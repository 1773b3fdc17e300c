/** The matches, near misses and conflicts of the picture: how many there are, and which one is lit. */

import { SOLID } from "../shared/icons.js";
import { HULL_PLURALS, HULL_WORDS, describeHull } from "../picture/words.js";

/** @typedef {import("../picture/types.js").Hull} Hull */

/** How many there are of each kind: an outline may stand for many matches. @param {Hull[]} hulls */
export function countHulls(hulls) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { kind, lens } of hulls) counts.set(kind, (counts.get(kind) || 0) + (lens?.count || 1));
  const words = [...counts].map(([kind, count]) => {
    const name = count === 1 ? HULL_WORDS[kind] : HULL_PLURALS[kind];
    return `${count} ${name || kind}`;
  });
  return words.join(", ");
}

/** @param {import("./ui.js").Ui} ui @param {import("./state.js").Store} store @param {(way: number) => void} turn */
export function makePager({ h, button }, { state }, turn) {
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

export const STYLE = `
.ce-pager{display:flex;gap:4px;align-items:center;flex:0 1 auto;min-width:0;max-width:min(100%,460px)}
.ce-pager span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding:0 6px}
`;
