/** Starting a measurement in the host, by the button of the time line or by its key. */

import { list } from "../shared/reading.js";

/** @param {import("../parts/state.js").Store} store @param {import("./saving.js").Saving} saving */
export const makeTiming = ({ state }, { request }) => ({
  /** Whether the host measures. */
  isOffered: () => list(state.options.requests).includes("timing"),
  /** Measure every step and its layers, unless a measurement is running. */
  start() {
    if (!state.progress) request("timing");
  },
  cancel: () => request("cancel"),
});
/** @typedef {ReturnType<typeof makeTiming>} Timing */
