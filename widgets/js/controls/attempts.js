/** Playing the attempt of a pin on the stage. */

import { pinKey, triedPin } from "../parts/state.js";

/** @param {import("../graph.js").Page} page */
export function makeAttempts({ store, selecting, saving }) {
  const { state } = store;
  return {
    /** Play the attempt of a pin; a second time, and without one, end it. A conflict is shown in the rule lens. @param {string} id */
    play(id) {
      const pin = state.picture?.pins.find((one) => one.id === id);
      if (pin?.hull) return selecting.lightBefore(pin.hull);
      const again = !pin || triedPin(state) === pin;
      store.set({ tried: again ? "" : pinKey(state, id), shut: false });
    },
    /** Let the cells close up as if the check had passed, or not. */
    shut() {
      const pin = triedPin(state);
      if (pin && pin.whatIf && !pin.whatIf.text) saving.request(`what-if:${pin.id}`);
      store.set({ shut: !state.shut });
    },
  };
}
/** @typedef {ReturnType<typeof makeAttempts>} Attempts */
