/** The traits of the host: each reader puts what has changed into the state. */

import { asDict, asList, number, numberOrNull, text, texts } from "../shared/reading.js";
import { paletteFor } from "../shared/theme.js";
import { knownMatch } from "../plates/lens.js";
import { readPicture } from "../picture/reading.js";
import { readDetails, readSteps } from "../picture/steps.js";
import { isSame } from "./selecting.js";
import { isAwaited, isPresenting } from "../parts/state.js";

/** How long a picture waits for coordinates that match it. */
const COORDINATES_MS = 400;

/**
 * The readers by trait, in the order in which they are to be called: drawing the picture depends on the others.
 * @param {import("../graph.js").Page} page @returns {Record<string, () => void>}
 */
export function makeReaders(page) {
  const { store, model, camera, loading, showing, ahead, slides, closingUp, living, settle } = page;
  const { doc, guard, timers } = page.ui;
  const { state } = store;

  function readOptions() {
    const options = asDict(model.get("options"));
    store.set({ options, palette: paletteFor(doc, options.theme) });
    settle();
  }

  function expect() {
    if (state.picture && isAwaited(state)) loading.expect();
  }

  /** @param {number} step @param {number} count */
  const clamp = (step, count) => Math.min(Math.max(0, count - 1), Math.max(0, step));

  function readAllSteps() {
    const opens = !state.steps.length;
    const steps = readSteps(model.get("steps"));
    store.set({ steps, step: clamp(number(model.get("step")), steps.length) });
    if (opens) slides.align();
  }

  function readStep() {
    const { steps } = state;
    const next = number(model.get("step"));
    if (next === state.step) return;
    store.set({ step: steps.length ? clamp(next, steps.length) : next });
    if (ahead.forget()) readBoth(); // a picture may have arrived that was not for the step before
    expect();
  }

  function readView() {
    const sent = asDict(model.get("view"));
    const view = sent.under && !sent.hull ? { ...sent, under: "" } : sent; // the host closed the lens
    const opens = !isPresenting(state); // a view of slides that were shown already may be older than the page's
    const zoomed = JSON.stringify(view.zoom || null) !== JSON.stringify(state.view.zoom || null);
    const hull = text(view.hull);
    const match = knownMatch(state.picture, hull, number(view.match));
    store.set({ view, hull, match, onlyChanging: view.any_step !== true });
    closingUp.restore(text(view.closeup));
    living.restore(view.beliefs === true);
    if (zoomed && view.zoom && number(view.zoom.k) > 0) camera.restore(view.zoom);
    else if (zoomed && view.zoom === null) camera.release();
    expect();
    if (opens) slides.align();
  }

  function readSelection() {
    const selection = texts(asList(model.get("selection")));
    if (!isSame(selection, state.selection)) store.set({ selection });
  }

  /** How far a measurement is; nothing while none runs. */
  function readProgress() {
    const progress = asDict(model.get("progress"));
    const share = numberOrNull(progress.share);
    store.set({ progress: progress.text ? { text: text(progress.text), share } : null });
  }

  /** @param {boolean} [insist] without coordinates, lay out the boxes here */
  function readBoth(insist = false) {
    const next = readPicture(model.get("picture"), model.get("coordinates"), insist);
    if (next === "wait") timers.after("coordinates", COORDINATES_MS, () => readBoth(true), "picture");
    else {
      timers.cancel("coordinates");
      if (ahead.isNews(next, text(model.get("picture")))) showing.show(next);
    }
  }

  const readThePicture = guard(() => readBoth(), "picture");
  return {
    options: guard(readOptions, "options"),
    steps: guard(readAllSteps, "steps"),
    step: guard(readStep, "step"),
    view: guard(readView, "view"),
    selection: guard(readSelection, "selection"),
    picture: readThePicture,
    coordinates: readThePicture,
    ahead: guard(() => ahead.read(model.get("ahead")), "ahead"),
    progress: guard(readProgress, "progress"),
    details: guard(() => store.set({ details: readDetails(model.get("details")) }), "details"),
    values: guard(() => closingUp.receive(model.get("values")), "values"),
    living: guard(() => living.receive(model.get("living")), "living"),
  };
}
