/** The living circuit: what the reader observes by painting on inputs, and samples from the root to the inputs. */

import { believe, dream } from "../living/beliefs.js";
import { drawn } from "../living/leaves.js";
import { completed, readModel } from "../living/model.js";
import { isTurned, tilesOf } from "../living/paint.js";
import { cellWords, entryOf, nearestOf } from "../living/words.js";
import { list } from "../shared/reading.js";
import { matchesMedia } from "../shared/theme.js";

/**
 * @import { Belief, Dream } from "../living/beliefs.js"
 * @import { Evidence, Model } from "../living/model.js"
 * @import { Tile } from "../living/paint.js"
 * @import { Cell } from "../plates/cells.js"
 */

/** What a stroke does to a variable: the largest or least value, or nothing is known of it. @typedef {"ink" | "paper" | "unknown"} Brush */
/**
 * A cell at the pointer, how far to the right and how high in it, from 0 to 1, and whether a stroke there forgets.
 * @typedef {{cell: Cell | null, across: number, height: number, erases: boolean}} Spot
 */
/** How long a sample shows each group of layers, and all of them at most, in milliseconds. */
const [BEAT_MS, SAMPLE_MS] = [400, 2_800];
/** The request that says what is observed, and how long after a stroke. */
const [OBSERVED, TELL_MS] = ["observed", 250];
/** How long each epoch of the training is shown. */
const EPOCH_MS = 600;
/** This share of the rows of an image is unknown at first. */
const HIDDEN = 3 / 8;

/** @param {import("../graph.js").Page} page */
export function makeLiving({ ui: { announce, timers }, store, camera, saving: { request, setView } }) {
  const { state } = store;
  /** What the circuit believes without evidence. @type {Dream | null} */
  let dreamt = null;
  /** The circuit after each epoch, once it was shown. @type {Map<number, {life: Model, dreamt: Dream}>} */
  const learned = new Map();
  /** @type {Map<number, Tile[]>} */
  const tiles = new Map();
  let painting = false;

  /**
   * Believe what is observed now, with the terms that a sample has chosen so far, or with its values.
   * @param {Evidence} evidence @param {Map<number, number>} [chosen] @param {Evidence} [row] the evidence and a sample of the rest
   */
  function observe(evidence, chosen, row = evidence) {
    const { life } = state;
    if (!life || !dreamt) return;
    const isNew = evidence !== state.evidence;
    store.set({ evidence, row, sampling: chosen !== undefined, believed: believe(life, dreamt, row, chosen) });
    if (isNew) timers.after("observed", TELL_MS, tell);
  }

  /** Tell a host that asks for it what is observed, for its own queries. */
  function tell() {
    const { life, evidence, options } = state;
    if (!life || !list(options.requests).includes(OBSERVED)) return;
    request(`${OBSERVED} ${JSON.stringify(life.variables.map((own, at) => entryOf(own, evidence[at] ?? null)))}`);
  }

  /** Forget a sample on its way, or a film. */
  function stop() {
    timers.cancel("sample");
    if (state.learning) store.set({ learning: false });
    if (state.sampling) observe(state.evidence);
  }

  /** What is observed at first: the upper part of an example, or nothing. @param {Model} life @returns {Evidence} */
  function first(life) {
    const example = life.examples[Math.min(2, life.examples.length - 1)];
    const [, height, width] = life.image;
    const known = Math.ceil(height * (1 - HIDDEN)) * width;
    return evidenceOf(life, example?.x ?? []).map((x, v) => (v % (height * width) < known ? x : null));
  }

  /** Ask for the weights if they are not there: a page has them, but reads them last. */
  const later = () => timers.after("living", 0, () => void (state.alive && !state.life && request("living")));

  /** A model has arrived, or is gone as another circuit is shown. @param {any} value */
  function receive(value) {
    stop();
    const life = readModel(value);
    tiles.clear();
    learned.clear();
    dreamt = life && !life.missing ? dream(life) : null;
    store.set({ life, believed: null, evidence: [], row: [], epoch: bestOf(life) });
    if (life && dreamt) observe(first(life));
    else if (!life) later();
  }

  /** Show what layers believe, or what they are, as the host or the reader wants it. @param {boolean} on */
  function restore(on) {
    if (on === state.alive) return;
    stop();
    store.set({ alive: on, notice: "" });
    if (on) later();
  }

  function toggle() {
    setView({ beliefs: !state.alive });
    if (!state.alive && !state.life && state.picture) camera.fit(); // and again once there is less room for the picture
    restore(!state.alive);
  }

  /** The position of the layer whose value a cell has. @param {number} layer */
  const positionOf = (layer) => state.life?.cells.get(String(layer)) ?? -1;

  /** The tiles of a layer. @param {number} at its position @param {Belief} belief */
  function tilesAt(at, belief) {
    const known = tiles.get(at);
    if (known) return known;
    const made = tilesOf(belief, state.life?.image ?? []);
    tiles.set(at, made);
    return made;
  }

  /** What a cell believes; null if it is not known. @param {number} layer */
  function beliefOf(layer) {
    const at = positionOf(layer);
    const belief = state.believed?.beliefs[at];
    if (!belief || !state.life || !belief.variables.length) return null;
    const { kind, variables } = state.life.layers[at];
    const isUnknown = variables.some((variable) => state.row[variable] === null);
    const isSampled = hasSampled(state.life.layers[at], state.evidence, state.row);
    return {
      at,
      belief,
      tiles: tilesAt(at, belief),
      isUnknown,
      isSampled,
      isMixture: kind === "sum",
      image: state.life.image,
    };
  }

  /** The variable of an input at the pointer, and how far along its values that is; null elsewhere. @param {Spot} spot */
  function variableAt({ cell, across, height }) {
    const { life } = state;
    const at = cell && state.alive && state.believed ? positionOf(cell.layer) : -1;
    const variables = life?.layers[at]?.variables ?? [];
    if (!life || !cell || !variables.length || (life.image.length && variables.length > 1)) return null;
    const turned = isTurned(cell.area, variables.length, life.image);
    const place = Math.floor((turned ? 1 - height : across) * variables.length);
    const share = Math.min(1, Math.max(0, turned ? across : height));
    return { variable: variables[Math.min(variables.length - 1, Math.max(0, place))], share };
  }

  /** The value that a stroke gives to a variable. @param {number} variable @param {number} share @param {boolean} erases @returns {number | null} */
  function strokeValue(variable, share, erases) {
    const { image, variables } = /** @type {Model} */ (state.life);
    const own = variables[variable];
    const { states, span } = own;
    if (erases || (image.length && state.brush === "unknown")) return null;
    if (image.length) return nearestOf(own, state.brush === "ink" ? span[1] : span[0]);
    return nearestOf(own, states ? Math.floor(share * states) : span[0] + share * (span[1] - span[0]));
  }

  /** Begin a stroke, if there is an input at the pointer; a value that is picked again is forgotten. @param {Spot} spot @returns {boolean} */
  function begin(spot) {
    const found = variableAt(spot);
    if (!found) return false;
    stop();
    painting = true;
    const value = strokeValue(found.variable, found.share, spot.erases);
    const again = state.evidence[found.variable] === value && !state.life?.image.length;
    put(found.variable, again ? null : value);
    return true;
  }

  /** Go on with a stroke. @param {Spot} spot */
  function stroke(spot) {
    const found = variableAt(spot);
    if (found) put(found.variable, strokeValue(found.variable, found.share, spot.erases));
  }

  /** @param {number} variable @param {number | null} value */
  function put(variable, value) {
    if (state.evidence[variable] === value) return;
    observe(state.evidence.map((old, at) => (at === variable ? value : old)));
  }

  /** Draw a sample of what is unknown, from the root to the inputs. */
  function sample() {
    const { life, evidence } = state;
    if (!life || !state.believed || !dreamt) return;
    stop();
    const start = believe(life, dreamt, evidence);
    if (start.log === -Infinity) return;
    const groups = groupsOf(life);
    const beat = matchesMedia("(prefers-reduced-motion: reduce)") ? 0 : Math.min(BEAT_MS, SAMPLE_MS / groups.length);
    /** @type {Map<number, number>} */
    const chosen = new Map();
    /** @param {number} number */
    const next = (number) => {
      observe(evidence, chosen);
      const { believed } = state;
      if (!believed || !dreamt) return;
      if (number < groups.length) {
        for (const at of groups[number]) {
          const shares = believed.beliefs[at]?.shares;
          if (shares) chosen.set(at, drawn(shares));
        }
        if (beat) timers.after("sample", beat, () => next(number + 1));
        else next(number + 1);
        return;
      }
      const found = believe(life, dreamt, evidence, chosen);
      observe(evidence, undefined, completed(life, evidence, found.units));
      announce("A sample was drawn.");
    };
    next(0);
  }

  /** The circuit after an epoch of its training, by number. @param {number} number */
  function learnedAt(number) {
    const known = learned.get(number);
    if (known || !state.life) return known;
    const life = { ...state.life, numbers: state.life.epochs[number].numbers };
    const made = { life, dreamt: dream(life) };
    learned.set(number, made);
    return made;
  }

  /** Show what the circuit believed after an epoch. @param {number} number */
  function showEpoch(number) {
    const found = learnedAt(number);
    if (!found) return;
    dreamt = found.dreamt;
    store.set({ life: found.life, epoch: number });
    observe(state.evidence);
  }

  /** Show all epochs, one after the other, each at once; or stop where the film is. */
  function watch() {
    const was = state.learning;
    stop();
    if (was) return announce(`Stopped at epoch ${state.life?.epochs[state.epoch]?.epoch}.`);
    const count = state.life?.epochs.length ?? 0;
    /** @param {number} number */
    const next = (number) => {
      showEpoch(number);
      const goesOn = state.alive && number + 1 < count;
      store.set({ learning: goesOn });
      if (goesOn) timers.after("sample", EPOCH_MS, () => next(number + 1));
    };
    if (count) next(0);
  }

  /** @param {number} share of the variables, the last ones */
  function forget(share) {
    stop();
    const kept = Math.round(
      (state.life?.image.slice(1).reduce((a, b) => a * b, 1) || state.evidence.length) * (1 - share),
    );
    const [, height, width] = state.life?.image ?? [];
    const pixels = height * width || state.evidence.length;
    observe(state.evidence.map((value, at) => (at % pixels < kept ? value : null)));
  }

  return {
    receive,
    toggle,
    restore,
    stop,
    beliefOf,
    /**
     * What is known of a cell, in lines: its variable, and what the evidence changed.
     * @param {number} layer @returns {string[]}
     */
    words(layer) {
      const found = state.alive && state.believed ? beliefOf(layer) : null;
      if (!found || !state.life || !state.believed) return [];
      const { evidence, row, believed } = state;
      return cellWords(state.life, found.at, found.belief, { evidence, row, units: believed.units });
    },
    /** Observe a value of a variable, or forget it. @param {number} variable @param {number | null} value */
    set(variable, value) {
      stop();
      const own = /** @type {Model} */ (state.life).variables[variable];
      put(variable, value === null ? null : nearestOf(own, value));
    },
    /** The pictures of what a layer mixes. @param {number} at its position */
    mixed: (at) => /** @type {Dream} */ (dreamt).mixed[at],
    /** The shares of all units without evidence. */
    prior: () => dreamt?.prior.units ?? [],
    begin,
    stroke,
    /** End a stroke; returns whether there was one. */
    end() {
      const was = painting;
      painting = false;
      return was;
    },
    isPainting: () => painting,
    sample,
    forget,
    learnedAt,
    watch,
    /** @param {number} number */
    pickEpoch(number) {
      stop();
      showEpoch(number);
    },
    /** @param {Brush} brush */
    take: (brush) => store.set({ brush }),
    /** @param {number} number of an example */
    pick(number) {
      stop();
      const x = state.life?.examples[number]?.x;
      if (x && state.life) observe(evidenceOf(state.life, x));
    },
  };
}
/** @typedef {ReturnType<typeof makeLiving>} Living */

/**
 * Whether an input has a value that was sampled, not observed. @param {import("../living/model.js").Layer} layer
 * @param {Evidence} evidence @param {Evidence} row the evidence and a sample of the rest
 */
export const hasSampled = ({ inputs, variables }, evidence, row) =>
  !inputs.length && variables.some((variable) => evidence[variable] === null && row[variable] !== null);

/** An example as evidence, of the variables that a layer reads. @param {Model} life @param {number[]} x @returns {Evidence} */
const evidenceOf = ({ variables }, x) =>
  variables.map((variable, at) => (variable.isRead && at < x.length ? nearestOf(variable, x[at]) : null));

/** The position of the epoch with the fewest bits, whose weights are shown at first. @param {Model | null} life */
function bestOf(life) {
  const bits = life?.epochs.map((one) => one.bits) ?? [];
  return bits.indexOf(Math.min(...bits));
}

/** The sums by their distance from the root, nearest first. @param {Model} life @returns {number[][]} */
function groupsOf({ layers, root }) {
  const depth = layers.map(() => -1);
  depth[root] = 0;
  /** @type {number[][]} */
  const groups = [];
  for (let at = layers.length - 1; at >= 0; at -= 1) {
    if (depth[at] < 0) continue;
    const isSum = layers[at].kind === "sum";
    for (const input of layers[at].inputs) depth[input] = Math.max(depth[input], depth[at] + Number(isSum));
    if (isSum) (groups[depth[at]] ??= []).push(at);
  }
  return groups.filter(Boolean);
}
