/** Going from step to step and playing them; requests to the host. */

import { list } from "../shared/reading.js";
import { saveTraits } from "../shared/traits.js";
import { withoutLens } from "../parts/state.js";

const PLAY_MS = 1400;

/** @param {import("../graph.js").Page} page */
export function makeStepping({ ui: { timers }, store, saving: { save }, loading, ahead }) {
  const { state } = store;

  /** @param {number} to */
  function goTo(to) {
    const next = Math.min(state.steps.length - 1, Math.max(0, to));
    if (next === state.step || next < 0 || state.options.stepper === false || state.stopped) return;
    const closed = withoutLens(state); // a match is one of its step
    const changes = { step: next, ...(Object.keys(closed).length ? { view: { ...state.view, ...closed } } : {}) };
    store.set({ ...changes, hull: "", match: 0 });
    save(changes);
    if (!ahead.show()) loading.expect();
  }

  /**
   * The next step that changes something or failed, or any; this one if there is none.
   * @param {number} way @param {boolean} [any]
   */
  function nextOf(way, any = !state.onlyChanging) {
    const { steps } = state;
    let next = state.step + way;
    while (!any && steps[next] && !steps[next].changed && !steps[next].error) next += way;
    return steps[next] ? next : state.step;
  }

  /** @param {number} way @param {boolean} [any] */
  const walk = (way, any) => goTo(nextOf(way, any));

  /** To the last step that changes something or failed, or to the very last. */
  function goToEnd() {
    const { steps } = state;
    const last = Math.max(0, ...steps.map((step, at) => (step.changed || step.error ? at : 0)));
    goTo(state.onlyChanging && last > state.step ? last : steps.length - 1);
  }

  /** @param {boolean} on */
  function setPlaying(on) {
    timers.cancel("play");
    store.set({ playing: on });
    if (on && nextOf(1) === state.step) goTo(0);
    if (on) timers.after("play", PLAY_MS / 2, tick);
  }

  function tick() {
    if (!state.playing) return;
    if (state.picture && state.picture.step === state.step) walk(1);
    if (nextOf(1) === state.step) setPlaying(false);
    else timers.after("play", PLAY_MS, tick);
  }

  return { goTo, nextOf, goToEnd, walk, setPlaying };
}
/** @typedef {ReturnType<typeof makeStepping>} Stepping */

/** @param {import("../graph.js").Page} page */
export function makeRequesting({ store, saving: { save, setView }, loading, stepping }) {
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
      const closed = withoutLens(state);
      store.set({ hull: "", match: 0 });
      setView({ ...closed, mode, ...(state.view.under ? { under: "" } : {}) }); // a match is one of its picture
      loading.expect();
    },
    /** Do not wait for the requested picture. */
    cancel() {
      save(goBack());
    },
    /** The host does not answer any more. */
    stop() {
      goBack();
      store.set({ stopped: true });
    },
  };
}

/** @param {import("../graph.js").Page} page */
export function makeTiming({ store: { state }, saving: { request } }) {
  return {
    /** Whether the host measures. */
    isOffered: () => list(state.options.requests).includes("timing"),
    /** Measure every step and its layers, unless a measurement is running. */
    start() {
      if (!state.progress) request("timing");
    },
    cancel: () => request("cancel"),
  };
}
/** @typedef {ReturnType<typeof makeTiming>} Timing */

/** @param {import("../graph.js").Page} page */
export function makeSaving({ model, store }) {
  let requests = 0;
  return {
    /** Save traits. @param {Record<string, any>} changes */
    save: (changes) => saveTraits(model, changes),
    /** Ask the host to do something. @param {string} name */
    request: (name) => saveTraits(model, { request: { name, n: (requests += 1) } }),
    /** Change keys of the view, the others are preserved, and other traits with it. @param {Record<string, any>} changes @param {Record<string, any>} [more] */
    setView(changes, more = {}) {
      const view = { ...store.state.view, ...changes };
      store.set({ view });
      saveTraits(model, { view, ...more });
    },
  };
}
/** @typedef {ReturnType<typeof makeSaving>} Saving */
