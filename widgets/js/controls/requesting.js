/** Asking the host for another picture, and not waiting for it. */

import { list } from "../shared/reading.js";

/**
 * @param {import("../parts/state.js").Store} store @param {import("./saving.js").Saving} saving
 * @param {import("../parts/loading.js").Loading} loading @param {import("./stepping.js").Stepping} stepping
 */
export function makeRequesting(store, { save, request, setView }, loading, stepping) {
  const { state } = store;
  return {
    /** @param {string} mode */
    setMode(mode) {
      const allowed = list(state.options.modes);
      if (allowed.length && !allowed.includes(mode)) return;
      setView({ mode });
      loading.expect();
    },
    /** Go back to the picture that is shown. */
    cancel() {
      const { picture, steps } = state;
      request("cancel");
      if (picture) {
        const shown = { step: Math.min(steps.length - 1, picture.step), view: { ...state.view, mode: picture.mode } };
        store.set(shown);
        save(shown);
      }
      stepping.setPlaying(false);
    },
  };
}
