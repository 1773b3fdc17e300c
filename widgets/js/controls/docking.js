/** The clock of the rule lens: the lit match docks entry by entry, question by question. */

import { matchesMedia } from "../shared/theme.js";
import { attemptOf, beatsOf, lensHull } from "../plates/lens.js";
import { lensKey } from "../parts/state.js";

/** How long the docking of an entry takes, and the answer to a question. */
const [DOCK_MS, ANSWER_MS] = [420, 150];

/**
 * A part that draws nothing: a match that is lit in another picture, or another match, begins anew.
 * @param {import("../graph.js").Page} page
 */
export function makeDockingClock({ ui: { timers }, store }) {
  const { state } = store;
  let running = "";

  /** What happens at the lit match, one after the other. */
  function beats() {
    const hull = lensHull(state.picture, state.hull);
    const attempt = hull && attemptOf(hull, state.match);
    return attempt ? beatsOf(attempt, state.picture?.rules.get(hull.lens?.rule || ""), hull.kind === "near-miss") : [];
  }

  const isStill = () => state.options.animate === false || matchesMedia("(prefers-reduced-motion: reduce)");

  /** @param {number} count how many are shown */
  function show(count) {
    const all = beats();
    const shown = isStill() ? all.length : count;
    store.set({ docked: { at: lensKey(state), beats: shown } });
    if (shown >= all.length) return;
    timers.after("dock", all[shown].question < 0 ? DOCK_MS : ANSWER_MS, () => show(shown + 1));
  }

  return {
    reads: /** @type {const} */ (["picture", "hull", "match"]),
    draw() {
      const key = lensKey(state);
      if (key === running) return;
      running = key;
      timers.cancel("dock");
      if (beats().length) timers.after("dock", 0, () => show(0));
    },
  };
}
