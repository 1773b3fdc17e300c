/** What layers believe: the picture of each unit, and how much each of them explains the evidence. */

import { lawOf, statesOf } from "./leaves.js";
import { downward, termsOf, upward } from "./model.js";

/** @import { Evidence, Layer, Model, Units } from "./model.js" */

/**
 * @typedef {{variables: number[], widths: number[], pictures: Float64Array[]}} Pictures
 * The variables of a layer and, for each thing that it mixes (the terms of a sum, or its units), what that says of them:
 * `widths[i]` numbers of variable i: its mean on the scale from 0 to 1, or the probability of each of its values
 * @typedef {{shown: Float64Array, shares: Float64Array, bits: number, variables: number[], widths: number[]}} Belief
 * `shown`: the mixture; `shares`: what is mixed; `bits`: how far the evidence has moved the shares
 * @typedef {{logs: Units, log: number, units: Units, beliefs: (Belief | null)[]}} Believed  `log`: of the probability of the evidence, in nats
 */

/** More values than these, and real numbers, are shown in this many bins. */
const MAX_BARS = 8;

/** Numbers that show a variable: its mean if it is a pixel, or the probabilities of its values or bins. @param {Model} model @param {number} variable */
export const widthOf = ({ image, variables }, variable) => {
  const { states } = variables[variable];
  return image.length || states === 1 ? 1 : states && states <= MAX_BARS ? states : MAX_BARS;
};

/** The bin of a value of a variable. @param {Model} model @param {number} variable @param {number} x */
function binOf({ variables }, variable, x) {
  const { states, span } = variables[variable];
  const share = states ? x / states : (x - span[0]) / (span[1] - span[0] || 1);
  return Math.min(MAX_BARS - 1, Math.max(0, Math.floor(MAX_BARS * share)));
}

/**
 * What a unit of an input says of its variables.
 * @param {Model} model @param {Layer} layer @param {number} unit @param {Evidence} evidence @returns {Float64Array}
 */
function leafPicture(model, layer, unit, evidence) {
  return joined(layer.variables.map((variable) => variablePicture(model, layer, unit, variable, evidence)));
}

/** @param {Model} model @param {Layer} layer @param {number} unit @param {number} variable @param {Evidence} evidence @returns {Float64Array} */
function variablePicture(model, layer, unit, variable, evidence) {
  const { states, span } = model.variables[variable];
  const [width, x] = [widthOf(model, variable), evidence[variable]];
  if (x !== null) return seen(model, variable, x);
  const scale = span[1] - span[0] || 1;
  if (!states) {
    const { mean, below } = lawOf(model, layer, unit, variable, evidence);
    if (width === 1) return Float64Array.of((mean - span[0]) / scale);
    const ends = Array.from({ length: width - 1 }, (_, bin) => below(span[0] + (scale * (bin + 1)) / width));
    return Float64Array.from([...ends, 1], (end, bin) => end - (ends[bin - 1] ?? 0));
  }
  const shares = statesOf(model, layer, unit);
  if (width === states && width > 1) return shares;
  if (width === 1)
    return Float64Array.of(shares.reduce((sum, share, value) => sum + (share * (value - span[0])) / scale, 0));
  const bins = new Float64Array(width);
  shares.forEach((share, value) => (bins[binOf(model, variable, value)] += share));
  return bins;
}

/**
 * What each unit and each term says given the evidence in its own variables.
 * @param {Model} model @param {Units} logs @param {Evidence} evidence @returns {Pictures[]}
 */
function picturesOf(model, logs, evidence) {
  /** @type {Pictures[]} */
  const mixed = [];
  /** The pictures of the units of each layer. @type {Float64Array[][]} */
  const own = [];
  model.layers.forEach((layer, at) => {
    const { kind, inputs, units, reads } = layer;
    if (kind === "sum") {
      const { variables, widths } = mixed[inputs[0]];
      const pictures = inputs.flatMap((input) => aligned(own[input], mixed[input], variables));
      mixed.push({ variables, widths, pictures });
      own.push(Array.from({ length: units }, (_, unit) => average(pictures, weights(model, layer, unit, logs, at))));
    } else if (kind === "product") {
      const variables = inputs.flatMap((input) => mixed[input].variables);
      const widths = inputs.flatMap((input) => mixed[input].widths);
      const pictures = Array.from({ length: units }, (_, unit) =>
        joined(inputs.map((input, number) => own[input][reads.length ? reads[unit * inputs.length + number] : unit])),
      );
      mixed.push({ variables, widths, pictures });
      own.push(pictures);
    } else {
      const { variables } = layer;
      const pictures = Array.from({ length: units }, (_, unit) => leafPicture(model, layer, unit, evidence));
      mixed.push({ variables, widths: variables.map((variable) => widthOf(model, variable)), pictures });
      own.push(pictures);
    }
  });
  return mixed;
}

/**
 * What the circuit says without any evidence.
 * @param {Model} model @returns {{prior: ReturnType<typeof downward>, logs: Units, mass: number, mixed: Pictures[]}}  `mass`: the logarithm of the sum over everything
 */
export function dream(model) {
  const nothing = model.variables.map(() => null);
  const logs = upward(model, nothing);
  return { prior: downward(model, logs), logs, mass: logs[model.root][0], mixed: picturesOf(model, logs, nothing) };
}

/** The shares of the terms of a unit. @param {Model} model @param {Layer} layer @param {number} unit @param {Units} logs @param {number} at */
function weights(model, layer, unit, logs, at) {
  const count = termsOf(model, layer);
  const found = new Float64Array(count);
  let term = 0;
  for (const input of layer.inputs) {
    for (const log of logs[input]) {
      const share = Math.exp(model.numbers[layer.at + unit * count + term] + log - logs[at][unit]);
      found[term++] = Number.isFinite(share) ? share : 0;
    }
  }
  return found;
}

/** Pictures with their variables in another order. @param {Float64Array[]} pictures @param {Pictures} from @param {number[]} variables */
function aligned(pictures, from, variables) {
  if (from.variables.every((variable, at) => variable === variables[at])) return pictures;
  /** @type {Map<number, [number, number]>} */
  const places = new Map();
  let next = 0;
  from.variables.forEach((variable, at) => {
    places.set(variable, [next, (next += from.widths[at])]);
  });
  return pictures.map((picture) =>
    joined(variables.map((variable) => picture.subarray(...(places.get(variable) ?? [0, 0])))),
  );
}

/** @param {Float64Array[]} parts */
function joined(parts) {
  const found = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    found.set(part, at);
    at += part.length;
  }
  return found;
}

/** @param {Float64Array[]} pictures @param {Float64Array} shares */
function average(pictures, shares) {
  const found = new Float64Array(pictures[0]?.length ?? 0);
  pictures.forEach((picture, at) => {
    const share = shares[at];
    if (share > 1e-9) for (let i = 0; i < found.length; i += 1) found[i] += share * picture[i];
  });
  return found;
}

/** How far shares have moved, in bits. @param {Float64Array} shares @param {Float64Array} before */
function bitsBetween(shares, before) {
  const [all, allBefore] = [shares, before].map((one) => one.reduce((sum, share) => sum + share, 0));
  let bits = 0;
  shares.forEach((share, at) => {
    const [p, q] = [share / all, before[at] / allBefore];
    if (p > 0) bits += p * Math.log2(p / Math.max(q, Number.MIN_VALUE));
  });
  return Number.isFinite(bits) ? Math.max(0, bits) : 0; // without evidence too little goes through it to compare
}

/** @typedef {ReturnType<typeof dream>} Dream */

/**
 * What every layer believes given the evidence; null where nothing goes through a layer, as all is impossible.
 * @param {Model} model @param {Dream} dreamt @param {Evidence} evidence @param {Map<number, number>} [chosen]
 * @returns {Believed}
 */
export function believe(model, { prior, mass, mixed }, evidence, chosen) {
  const logs = upward(model, evidence);
  const { units, terms } = downward(model, logs, chosen);
  // A pixel is shown as what its units have learned; a column as what they say given the other columns.
  const told = model.image.length ? mixed : picturesOf(model, logs, evidence);
  const beliefs = model.layers.map((layer, at) => {
    const flows = layer.kind === "sum" ? terms[at] : units[at];
    const all = flows.reduce((sum, flow) => sum + flow, 0);
    if (!(all > 0)) return null;
    const shares = flows.map((flow) => flow / all);
    const { variables, widths, pictures } = told[at];
    const x = layer.variables.length === 1 ? evidence[layer.variables[0]] : null;
    const shown = x === null ? average(pictures, shares) : seen(model, layer.variables[0], x);
    return {
      shown,
      shares,
      bits: bitsBetween(units[at], prior.units[at]),
      variables,
      widths,
    };
  });
  return { logs, log: logs[model.root][0] - mass, units, beliefs };
}

/** An observed variable. @param {Model} model @param {number} variable @param {number} x */
function seen(model, variable, x) {
  const { span, states } = model.variables[variable];
  const width = widthOf(model, variable);
  const bin = width === states ? x : binOf(model, variable, x);
  if (width > 1) return Float64Array.from({ length: width }, (_, at) => Number(at === bin));
  return Float64Array.of((x - span[0]) / (span[1] - span[0] || 1));
}
