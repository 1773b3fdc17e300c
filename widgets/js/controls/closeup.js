/** What the user does in the close-up: switching between its parts, picking an input, asking for values, running an own input. */

import { FIRST, readValues } from "../closeup/reading.js";
import { closeupOf, isColouredByValue } from "../parts/state.js";
import { text } from "../shared/reading.js";

/** @param {import("../graph.js").Page} page */
export function makeClosingUp({ store, saving: { request, setView } }) {
  const { state } = store;

  /** Ask the host to run the inputs. */
  function ask() {
    store.set({ running: true });
    request("values");
  }

  return {
    ask,
    /** @param {string} part */
    choose(part) {
      store.set({ closeup: part, showCloseup: true });
      setView({ closeup: part, slice: Math.max(0, state.slice) });
      if (part === "values" && !state.values && !state.running) ask();
    },
    /** The host shows a part of the close-up, or a link did. @param {string} part empty: the first */
    restore(part) {
      const closeup = part || FIRST;
      if (closeup === state.closeup) return;
      store.set({ closeup });
    },
    /** @param {number} run */
    pick(run) {
      store.set({ run });
    },
    /** Run an input of the user's own, if it has a number for each variable. @param {number[]} painted */
    runOwn(painted) {
      const count = state.values?.runs[0]?.x.length ?? 0;
      if (painted.length !== count || !painted.every(Number.isFinite)) {
        throw new Error(`expected ${count} numbers, one for each variable; got ${painted.length}`);
      }
      setView({ painted });
      ask();
    },
    /** The values have arrived: show those of the user's own input, if there is one. @param {any} value */
    receive(value) {
      const values = readValues(value);
      const count = values?.runs.length ?? 0;
      if (!values && state.view.painted) setView({ painted: null }); // another circuit was opened
      const grew = state.running && Boolean(state.view.painted);
      const picked = values && values.picked >= 0 ? values.picked : grew ? count - 1 : state.run;
      store.set({ values, running: false, run: Math.min(picked, Math.max(0, count - 1)) });
    },
    /**
     * Show the parameters of another slice.
     * @param {import("../closeup/reading.js").Parameters} parameters @param {number} way 1: the next; -1: the previous one
     */
    turn({ slice, count }, way) {
      const next = (slice + way + count) % count;
      store.set({ slice: next });
      setView({ slice: next });
    },
    /** The cell that was clicked. @param {number} slice */
    pickSlice(slice) {
      store.set({ slice });
      if (slice >= 0 && state.closeup === "parameters") setView({ slice });
    },
    /** Where the close-up is shown or not. */
    toggle() {
      store.set({ showCloseup: !state.showCloseup });
    },
    /** Point at a slice: it is the cell at the pointer in the picture, too. @param {string} box @param {number} slice */
    point(box, slice) {
      store.set({ hover: slice < 0 ? "" : text(box), cell: slice });
    },
  };
}
/** @typedef {ReturnType<typeof makeClosingUp>} ClosingUp */

/**
 * A part that draws nothing. It asks once values are to be seen: in the close-up, or as colours.
 * @param {import("../graph.js").Page} page
 */
export function makeAsking({ ui: { timers }, store: { state }, closingUp }) {
  const isShown = () => state.closeup === "values" && state.showCloseup && closeupOf(state) !== null;
  const isDue = () => !state.values && !state.running && (isColouredByValue(state) || isShown());
  const ask = () => isDue() && closingUp.ask();
  return {
    reads: /** @type {const} */ ([
      "closeup",
      "showCloseup",
      "values",
      "running",
      "details",
      "selection",
      "options",
      "view",
    ]),
    draw() {
      if (isDue()) timers.after("values", 0, ask);
    },
  };
}
