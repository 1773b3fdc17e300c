/** Asking the host for another picture, and not waiting for it. */

import { list } from "../shared/reading.js";

/**
 * @param {import("../parts/state.js").Store} store @param {import("./saving.js").Saving} saving
 * @param {import("../parts/loading.js").Loading} loading @param {import("./stepping.js").Stepping} stepping
 */
export function makeRequesting(store, { save, request, setView }, loading, stepping) {
  const { state } = store;

  /** Go back to the picture that is shown. @returns {Record<string, any>} what has changed */
  function goBack() {
    const { picture, steps } = state;
    stepping.setPlaying(false);
    if (!picture) return {};
    const shown = { step: Math.min(steps.length - 1, picture.step), view: { ...state.view, mode: picture.mode } };
    store.set(shown);
    return shown;
  }

  return {
    /** @param {string} mode */
    setMode(mode) {
      const allowed = list(state.options.modes);
      if (state.stopped || (allowed.length && !allowed.includes(mode))) return;
      setView({ mode, ...(state.view.hull ? { hull: "", match: 0 } : {}) }); // a match is one of its picture
      loading.expect();
    },
    /** Do not wait for the requested picture. */
    cancel() {
      request("cancel");
      save(goBack());
    },
    /** The host does not answer any more. */
    stop() {
      goBack();
      store.set({ stopped: true });
    },
  };
}
