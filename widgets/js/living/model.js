/** A small circuit from its JSON, a `LivingView`, and its values: up from the evidence, down from the root. */

import { asDict, dictOf, like, list, number, text } from "../shared/reading.js";

/**
 * @typedef {{kind: string, inputs: number[], units: number, at: number, variable: number, reads: number[]}} Layer
 * @typedef {{name: string, states: number, span: number[]}} Variable
 * @typedef {{missing: string, note: string, image: number[], variables: Variable[], layers: Layer[], root: number,
 *   cells: Map<string, number>, numbers: Float64Array, examples: {label: string, x: number[]}[],
 *   epochs: {epoch: number, bits: number, numbers: Float64Array}[]}} Model  `epochs`: its numbers while it learned
 * @typedef {Float64Array[]} Units  a number for each unit of each layer
 * @typedef {(number | null)[]} Evidence  the value of each variable; null if it is unknown
 */

const readLayer = like({ kind: "", inputs: [0], units: 0, at: 0, variable: -1, reads: [0] });
const readVariable = like({ name: "", states: 0, span: [0] });
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
const DAMAGED = "The data of this circuit are damaged.";

/** @param {number} value @param {number} end */
const isBelow = (value, end) => Number.isInteger(value) && value >= 0 && value < end;

/** Whether layers read only what is there, and what comes before them. @param {ReturnType<typeof readAll>} read @param {number} count of the numbers */
function isSound({ layers, variables, root }, count) {
  const isFine = variables.every(({ states, span }) => isBelow(states, MAX_UNITS) && span.length === 2);
  return (
    isFine &&
    isBelow(root, layers.length) &&
    layers.every(({ kind, inputs, units, at, variable, reads }, number) => {
      if (!isBelow(units, MAX_UNITS) || !units || !inputs.every((input) => isBelow(input, number))) return false;
      const below = inputs.map((input) => layers[input].units);
      const isRead = isBelow(variable, variables.length);
      if (kind === "sum") return isBelow(at + units * below.reduce((sum, one) => sum + one, 0) - 1, count);
      if (kind === "constant") return isBelow(at + units - 1, count);
      if (kind === "gaussian") return isRead && isBelow(at + 3 * units - 1, count);
      if (kind === "table") return isRead && isBelow(at + units * variables[variable].states - 1, count);
      if (kind !== "product" || new Set(inputs).size < inputs.length) return false;
      const own = reads.length ? reads : inputs.flatMap(() => [units - 1]);
      const isWhole = !reads.length || reads.length === units * inputs.length;
      return isWhole && own.every((unit, place) => isBelow(unit, below[place % inputs.length]));
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
  const read = readAll(raw);
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

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

/** The logarithm of a sum of exponentials. @param {Float64Array} logs @param {number} count of the first ones */
function logSum(logs, count) {
  let most = -Infinity;
  for (let at = 0; at < count; at += 1) if (logs[at] > most) most = logs[at];
  if (most === -Infinity) return most;
  let sum = 0;
  for (let at = 0; at < count; at += 1) sum += Math.exp(logs[at] - most);
  return most + Math.log(sum);
}

/** The number of terms of a sum. @param {Model} model @param {Layer} layer */
export const termsOf = ({ layers }, { inputs }) => inputs.reduce((sum, input) => sum + layers[input].units, 0);

/** The logarithm of an input unit at a value, or summed over all of them. @param {Model} model @param {Layer} layer @param {number} unit @param {number | null} x */
export function leafLog({ variables, numbers }, { kind, at, units, variable }, unit, x) {
  if (kind === "constant") return numbers[at + unit];
  if (kind === "gaussian") {
    const [mean, around, mass] = [0, 1, 2].map((row) => numbers[at + row * units + unit]);
    return x === null ? mass : mass - 0.5 * ((x - mean) / around) ** 2 - Math.log(around) - HALF_LOG_2PI;
  }
  const states = variables[variable].states;
  const row = at + unit * states;
  if (x !== null) return numbers[row + x];
  return logSum(numbers.subarray(row, row + states), states);
}

/**
 * The logarithm of each unit: the inputs at the evidence, summed over unknown variables.
 * @param {Model} model @param {Evidence} evidence @returns {Units}
 */
export function upward(model, evidence) {
  /** @type {Units} */
  const found = [];
  for (const layer of model.layers) {
    const { kind, inputs, units, at, variable, reads } = layer;
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
      const x = kind === "constant" ? null : evidence[variable];
      for (let unit = 0; unit < units; unit += 1) own[unit] = leafLog(model, layer, unit, x);
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

/**
 * The probability of each value of a variable given the evidence; of a real one, its mean.
 * @param {Model} model @param {number} variable @param {Units} logs @param {Units} units of `downward`
 */
export function marginal(model, variable, logs, units) {
  const { states } = model.variables[variable];
  const found = new Float64Array(states || 1);
  model.layers.forEach((layer, at) => {
    if (layer.variable !== variable) return;
    units[at].forEach((flow, unit) => {
      if (!(flow > 0)) return;
      if (!states) found[0] += flow * model.numbers[layer.at + unit];
      else
        for (let x = 0; x < states; x += 1)
          found[x] += flow * Math.exp(leafLog(model, layer, unit, x) - logs[at][unit]);
    });
  });
  return found;
}

/** Draw a position by its share. @param {ArrayLike<number>} shares @param {() => number} [random] */
export function drawn(shares, random = Math.random) {
  let left = random() * Array.from(shares).reduce((sum, share) => sum + share, 0);
  let last = 0; // rounding may leave a rest after the last one
  for (let at = 0; at < shares.length && left > 0; at += 1) {
    if (shares[at] > 0) last = at;
    left -= shares[at];
  }
  return last;
}

/** Numbers from 0 to 1 that are the same each time. @param {number} seed */
export function repeatable(seed) {
  let state = seed + 1;
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
    const { kind, inputs, reads, variable, units } = layer;
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
    } else if (kind === "table") {
      const { states } = model.variables[variable];
      const shares = Float64Array.from({ length: states }, (_, x) => Math.exp(leafLog(model, layer, unit, x)));
      row[variable] = drawn(shares, random);
    } else if (kind === "gaussian")
      row[variable] = model.numbers[layer.at + unit] + normal(random) * model.numbers[layer.at + units + unit];
  }
  visit(model.root, 0);
  return row;
}

/** A normal number. @param {() => number} random */
const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/**
 * Draw a value of an unknown variable; null if no layer reads it.
 * @param {Model} model @param {number} variable @param {Units} logs @param {Units} units of `downward`
 */
export function sampled(model, variable, logs, units) {
  const { states } = model.variables[variable];
  if (states) {
    const shares = marginal(model, variable, logs, units);
    return shares.some((share) => share > 0) ? drawn(shares) : null;
  }
  const at = model.layers.findIndex(
    (layer, number) => layer.variable === variable && units[number].some((flow) => flow > 0),
  );
  if (at < 0) return null;
  const layer = model.layers[at];
  const unit = drawn(units[at]);
  return model.numbers[layer.at + unit] + normal(Math.random) * model.numbers[layer.at + layer.units + unit];
}
