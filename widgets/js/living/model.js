/** A small circuit from its JSON, a `LivingView`, and its values: up from the evidence, down from the root. */

import { drawLeaf, drawn, lawOf, leafLog, logSum, statesOf } from "./leaves.js";
import { jointNumbers } from "./joint.js";
import { asDict, dictOf, like, list, number, text } from "../shared/reading.js";

/**
 * @typedef {{kind: string, inputs: number[], units: number, at: number, variables: number[], reads: number[], edges: number[]}} Layer
 * @typedef {{name: string, states: number, span: number[], labels: string[], zero: number, unit: number, isInteger: boolean, isRead: boolean}} Variable  `isRead`: by a layer
 * @typedef {{missing: string, note: string, image: number[], variables: Variable[], layers: Layer[], root: number,
 *   cells: Map<string, number>, numbers: Float64Array, examples: {label: string, x: number[]}[],
 *   epochs: {epoch: number, bits: number, numbers: Float64Array}[]}} Model  `epochs`: its numbers while it learned
 * @typedef {Float64Array[]} Units  a number for each unit of each layer
 * @typedef {(number | null)[]} Evidence  the value of each variable; null if it is unknown
 */

const readLayer = like({ kind: "", inputs: [0], units: 0, at: 0, variables: [0], reads: [0], edges: [0] });
const readVariable = like({ name: "", states: 0, span: [0], labels: [""], zero: 0, unit: 1, isInteger: false });
const readExample = like({ label: "", x: [0] });
const readAll = like({
  missing: "",
  note: "",
  image: [0],
  variables: [readVariable],
  layers: [readLayer],
  root: 0,
  examples: [readExample],
});
const readEpoch = like({ epoch: 0, bits: 0 });

/** Bytes from base64. @param {any} packed */
const bytesOf = (packed) => Uint8Array.from(atob(text(packed)), (letter) => letter.charCodeAt(0));

/** Numbers of 32 bits, of which the lowest bytes of all come first. @param {Uint8Array} planes */
function floatsOf(planes) {
  const count = planes.length >> 2;
  const bytes = new Uint8Array(4 * count);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = planes[(at & 3) * count + (at >> 2)];
  return new Float32Array(bytes.buffer);
}

/** More numbers, or units and values of one thing, are not read. */
const [MAX_NUMBERS, MAX_UNITS] = [1_000_000, 4_096];
/** Numbers of a unit of an input. @type {Record<string, number>} */
const ROWS = { gaussian: 3, exponential: 1, laplace: 2 };
const DAMAGED = "The data of this circuit are damaged.";

/** @param {number} value @param {number} end */
const isBelow = (value, end) => Number.isInteger(value) && value >= 0 && value < end;

/** Whether layers read only what is there, and what comes before them. @param {ReturnType<typeof readAll>} read @param {number} count of the numbers */
function isSound({ layers, variables, root }, count) {
  const isFine = variables.every(({ states, span }) => isBelow(states, MAX_UNITS) && span.length === 2);
  return (
    isFine &&
    isBelow(root, layers.length) &&
    layers.every(({ kind, inputs, units, at, variables: own, reads, edges }, number) => {
      if (!isBelow(units, MAX_UNITS) || !units || !inputs.every((input) => isBelow(input, number))) return false;
      const below = inputs.map((input) => layers[input].units);
      const isRead = own.length > 0 && own.every((variable) => isBelow(variable, variables.length));
      const isOne = isRead && own.length === 1;
      if (kind === "sum") return isBelow(at + units * below.reduce((sum, one) => sum + one, 0) - 1, count);
      if (kind === "constant") return isBelow(at + units - 1, count);
      if (kind === "normal") return isRead && isBelow(at + jointNumbers(units, own.length) - 1, count);
      if (kind === "histogram") return isOne && edges.length > 1 && isBelow(at + units * (edges.length - 1) - 1, count);
      if (kind === "table") return isOne && isBelow(at + units * variables[own[0]].states - 1, count);
      if (kind in ROWS) return isOne && isBelow(at + ROWS[kind] * units - 1, count);
      if (kind !== "product" || new Set(inputs).size < inputs.length) return false;
      const all = reads.length ? reads : inputs.flatMap(() => [units - 1]);
      const isWhole = !reads.length || reads.length === units * inputs.length;
      return isWhole && all.every((unit, place) => isBelow(unit, below[place % inputs.length]));
    })
  );
}

/**
 * The numbers of all blocks: as they are, or in steps below the largest one of their row; null for impossible sizes.
 * @param {Record<string, any>} raw @returns {Float64Array | null}
 */
function readNumbers(raw) {
  const [floats, codes] = [floatsOf(bytesOf(raw.numbers)), bytesOf(raw.codes)];
  const blocks = like([[0]])(raw.blocks);
  if (
    !blocks.every(
      (block) => block.length === 3 && block.slice(0, 2).every((size) => size > 0 && isBelow(size, MAX_NUMBERS)),
    )
  )
    return null;
  if (
    !isBelow(
      blocks.reduce((sum, [rows, columns]) => sum + rows * columns, 0),
      MAX_NUMBERS,
    )
  )
    return null;
  const found = new Float64Array(blocks.reduce((sum, [rows, columns]) => sum + rows * columns, 0));
  let [next, float, code] = [0, 0, 0];
  for (const [rows, columns, step] of blocks) {
    for (let row = 0; row < rows; row += 1) {
      const top = step ? floats[float++] : 0;
      for (let column = 0; column < columns; column += 1) {
        found[next++] = step ? top - step * codes[code++] : floats[float++];
      }
    }
  }
  return found;
}

/** @param {any} value @returns {Model | null} */
export function readModel(value) {
  const raw = asDict(value);
  if (!Object.keys(raw).length) return null;
  const cells = new Map(Object.entries(dictOf(number)(raw.cells)));
  const found = readAll(raw);
  const known = new Set(found.layers.flatMap(({ variables }) => variables));
  const variables = found.variables.map((variable, at) => ({ ...variable, isRead: known.has(at) }));
  const read = { ...found, variables };
  const none = { ...read, cells, numbers: new Float64Array(0), epochs: [] };
  if (read.missing) return none;
  const numbers = readNumbers(raw);
  if (!numbers || !isSound(read, numbers.length)) return { ...none, missing: DAMAGED };
  const epochs = list(raw.epochs).flatMap((one) => {
    const own = readNumbers(one);
    return own?.length === numbers.length ? [{ ...readEpoch(one), numbers: own }] : [];
  });
  return { ...read, cells, numbers, epochs };
}

/** The number of terms of a sum. @param {Model} model @param {Layer} layer */
export const termsOf = ({ layers }, { inputs }) => inputs.reduce((sum, input) => sum + layers[input].units, 0);

/**
 * The logarithm of each unit: the inputs at the evidence, summed over unknown variables.
 * @param {Model} model @param {Evidence} evidence @returns {Units}
 */
export function upward(model, evidence) {
  /** @type {Units} */
  const found = [];
  for (const layer of model.layers) {
    const { kind, inputs, units, at, reads } = layer;
    const own = new Float64Array(units);
    if (kind === "sum") {
      const count = termsOf(model, layer);
      const below = new Float64Array(count);
      let next = 0;
      for (const input of inputs) for (const log of found[input]) below[next++] = log;
      const terms = new Float64Array(count);
      for (let unit = 0; unit < units; unit += 1) {
        for (let term = 0; term < count; term += 1) terms[term] = model.numbers[at + unit * count + term] + below[term];
        own[unit] = logSum(terms, count);
      }
    } else if (kind === "product") {
      inputs.forEach((input, number) => {
        for (let unit = 0; unit < units; unit += 1) {
          own[unit] += found[input][reads.length ? reads[unit * inputs.length + number] : unit];
        }
      });
    } else {
      for (let unit = 0; unit < units; unit += 1) own[unit] = leafLog(model, layer, unit, evidence);
    }
    found.push(own);
  }
  return found;
}

/**
 * How much of the explanation of the evidence goes through each unit, and, for sums, through each term: probabilities,
 * given that evidence. `chosen` has for some layers the term that was drawn, or the unit of a layer without terms.
 * @param {Model} model @param {Units} logs of `upward` @param {Map<number, number>} [chosen]
 * @returns {{units: Units, terms: Units}}
 */
export function downward(model, logs, chosen = new Map()) {
  const units = model.layers.map((layer) => new Float64Array(layer.units));
  const terms = model.layers.map((layer) => new Float64Array(layer.kind === "sum" ? termsOf(model, layer) : 0));
  if (logs[model.root][0] > -Infinity) units[model.root][0] = 1;
  for (let at = model.layers.length - 1; at >= 0; at -= 1) {
    const { kind, inputs, reads, at: first } = model.layers[at];
    const [flows, shares] = [units[at], terms[at]];
    if (kind === "sum") {
      flows.forEach((flow, unit) => {
        if (!(flow > 0)) return;
        let term = 0;
        for (const input of inputs) {
          for (const log of logs[input]) {
            const weight = model.numbers[first + unit * shares.length + term];
            shares[term++] += flow * Math.exp(weight + log - logs[at][unit]);
          }
        }
      });
      const term = chosen.get(at);
      if (term !== undefined) {
        const all = shares.reduce((sum, share) => sum + share, 0);
        shares.fill(0);
        shares[term] = all;
      }
      let term0 = 0;
      for (const input of inputs)
        for (let unit = 0; unit < logs[input].length; unit += 1) units[input][unit] += shares[term0++];
    } else if (kind === "product") {
      inputs.forEach((input, number) => {
        flows.forEach((flow, unit) => {
          units[input][reads.length ? reads[unit * inputs.length + number] : unit] += flow;
        });
      });
    }
  }
  return { units, terms };
}

/** Call with the share of each input unit that explains a variable. @param {Model} model @param {number} variable @param {Units} units of `downward` @param {(layer: Layer, unit: number, share: number) => void} use */
function forEachUnit({ layers }, variable, units, use) {
  layers.forEach((layer, at) => {
    if (!layer.variables.includes(variable)) return;
    units[at].forEach((share, unit) => share > 0 && use(layer, unit, share));
  });
}

/**
 * The probability of each value of a variable given the evidence; of a real one, its mean.
 * @param {Model} model @param {number} variable @param {Evidence} evidence @param {Units} units of `downward`
 */
export function marginal(model, variable, evidence, units) {
  const { states } = model.variables[variable];
  const found = new Float64Array(states || 1);
  const x = evidence[variable];
  if (x !== null) found[states ? x : 0] = states ? 1 : x;
  else
    forEachUnit(model, variable, units, (layer, unit, share) => {
      if (!states) found[0] += share * lawOf(model, layer, unit, variable, evidence).mean;
      else statesOf(model, layer, unit).forEach((one, value) => (found[value] += share * one));
    });
  return found;
}

/**
 * The density of a real variable that is unknown, at each of some points.
 * @param {Model} model @param {number} variable @param {Evidence} evidence @param {Units} units @param {Float64Array} points
 */
export function densities(model, variable, evidence, units, points) {
  const found = new Float64Array(points.length);
  forEachUnit(model, variable, units, (layer, unit, share) => {
    const { density } = lawOf(model, layer, unit, variable, evidence);
    for (let at = 0; at < points.length; at += 1) found[at] += share * density(points[at]);
  });
  return found;
}

/** Numbers from 0 to 1 that are the same each time. @param {number} seed */
export function repeatable(seed) {
  let state = ((seed + 1) * 48_271 ** 2) % 2_147_483_647; // the first numbers of small states are all small
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}

/**
 * A row drawn from the circuit: a unit of each layer that takes part, from the root to the inputs.
 * @param {Model} model @param {Units} logs of all unknown @param {() => number} random @returns {Evidence}
 */
export function dreamed(model, logs, random) {
  /** @type {Evidence} */
  const row = model.variables.map(() => null);
  /** @param {number} at @param {number} unit */
  function visit(at, unit) {
    const layer = model.layers[at];
    const { kind, inputs, reads } = layer;
    if (kind === "sum") {
      const below = inputs.flatMap((input) => [...logs[input]]);
      const first = layer.at + unit * below.length;
      let term = drawn(
        below.map((log, number) => Math.exp(model.numbers[first + number] + log - logs[at][unit])),
        random,
      );
      for (const input of inputs) {
        const count = logs[input].length;
        if (term < count) return visit(input, term);
        term -= count;
      }
    } else if (kind === "product") {
      inputs.forEach((input, number) => visit(input, reads.length ? reads[unit * inputs.length + number] : unit));
    } else drawLeaf(model, layer, unit, row, random);
  }
  visit(model.root, 0);
  return row;
}

/**
 * The evidence, with values drawn for what is unknown; null if no layer reads a variable.
 * @param {Model} model @param {Evidence} evidence @param {Units} units of `downward`, where each sum has chosen one term
 * @param {() => number} [random] @returns {Evidence}
 */
export function completed(model, evidence, units, random = Math.random) {
  const row = [...evidence];
  model.layers.forEach((layer, at) => {
    const isOpen = layer.variables.some((variable) => row[variable] === null);
    if (isOpen && units[at].some((share) => share > 0)) drawLeaf(model, layer, drawn(units[at], random), row, random);
  });
  return row;
}
