/** Asks for values where a link, or a selection, shows the part of the close-up that needs them. */

import { closeupOf } from "../parts/state.js";

/**
 * A part that draws nothing. It asks once the close-up is there: before that, nobody sees the values.
 * @param {import("../parts/ui.js").Ui} ui @param {import("../parts/state.js").Store} store
 * @param {import("./closing_up.js").ClosingUp} closingUp
 */
export function makeAsking({ timers }, { state }, closingUp) {
  const isDue = () =>
    state.closeup === "values" && state.showCloseup && !state.values && !state.running && closeupOf(state) !== null;
  const ask = () => isDue() && closingUp.ask();
  return {
    reads: /** @type {const} */ (["closeup", "showCloseup", "values", "running", "details", "selection", "options"]),
    draw() {
      if (isDue()) timers.after("values", 0, ask);
    },
  };
}
