/** Input units: their logarithm at what is observed, and the distribution of each of their variables given that. */

import { conditional, drawJoint } from "./joint.js";

/** @import { Evidence, Layer, Model } from "./model.js" */

/** The distribution of a real variable. @typedef {{mean: number, density: (x: number) => number, below: (x: number) => number, draw: (random: () => number) => number}} Law */

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

/** The logarithm of a sum of exponentials. @param {Float64Array} logs @param {number} count of the first ones */
export function logSum(logs, count) {
  let most = -Infinity;
  for (let at = 0; at < count; at += 1) if (logs[at] > most) most = logs[at];
  if (most === -Infinity) return most;
  let sum = 0;
  for (let at = 0; at < count; at += 1) sum += Math.exp(logs[at] - most);
  return most + Math.log(sum);
}

/** A normal number. @param {() => number} random */
export const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

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

/** A row of logarithms that belongs to a unit: of states, or of bins. @param {Model} model @param {Layer} layer @param {number} unit */
function rowOf({ variables, numbers }, { kind, at, edges, variables: [variable] }, unit) {
  const count = kind === "histogram" ? edges.length - 1 : variables[variable].states;
  return numbers.subarray(at + unit * count, at + (unit + 1) * count);
}

/** The bin of a value; -1 outside. @param {number[]} edges @param {number} x */
function binOf(edges, x) {
  if (!(x >= edges[0] && x <= edges[edges.length - 1])) return -1;
  let bin = 0;
  while (bin + 2 < edges.length && x >= edges[bin + 1]) bin += 1;
  return bin;
}

/** The logarithm of an input unit at the evidence, summed over what is unknown. @param {Model} model @param {Layer} layer @param {number} unit @param {Evidence} evidence */
export function leafLog(model, layer, unit, evidence) {
  const { numbers } = model;
  const { kind, at, units, variables } = layer;
  if (kind === "constant") return numbers[at + unit];
  if (kind === "normal") return conditional(model, layer, evidence)[unit].log;
  const x = evidence[variables[0]];
  if (kind === "table" || kind === "histogram") {
    const row = rowOf(model, layer, unit);
    if (x === null) return logSum(row, row.length);
    if (kind === "table") return row[x];
    const bin = binOf(layer.edges, x);
    return bin < 0 ? -Infinity : row[bin] - Math.log(layer.edges[bin + 1] - layer.edges[bin]);
  }
  const [first, second, mass] = [0, 1, 2].map((row) => numbers[at + row * units + unit]);
  if (kind === "gaussian")
    return x === null ? mass : mass - 0.5 * ((x - first) / second) ** 2 - Math.log(second) - HALF_LOG_2PI;
  if (x === null) return 0;
  if (kind === "exponential") return x < 0 ? -Infinity : -x / first - Math.log(first);
  return -Math.abs(x - first) / second - Math.log(2 * second);
}

/** How probable the states of a unit are without evidence. @param {Model} model @param {Layer} layer of kind `table` @param {number} unit */
export function statesOf(model, layer, unit) {
  const row = rowOf(model, layer, unit);
  const all = logSum(row, row.length);
  return row.map((log) => Math.exp(log - all));
}

/** The distribution of a real variable of a unit given the other ones that it reads. @param {Model} model @param {Layer} layer @param {number} unit @param {number} variable @param {Evidence} evidence @returns {Law} */
export function lawOf(model, layer, unit, variable, evidence) {
  const { numbers } = model;
  const { kind, at, units, edges, variables } = layer;
  if (kind === "normal") {
    const { mean, spread } = conditional(model, layer, evidence)[unit];
    const place = variables.indexOf(variable);
    return normalLaw(mean[place], spread[place]);
  }
  if (kind === "histogram") return histogramLaw(edges, statesOf(model, layer, unit));
  const [first, second] = [numbers[at + unit], numbers[at + units + unit]];
  if (kind === "gaussian") return normalLaw(first, second);
  return kind === "exponential" ? exponentialLaw(first) : laplaceLaw(first, second);
}

/** @param {number} mean @param {number} around @returns {Law} */
const normalLaw = (mean, around) => ({
  mean,
  density: (x) => Math.exp(-0.5 * ((x - mean) / around) ** 2 - HALF_LOG_2PI) / around,
  below: (x) => normalBelow((x - mean) / around),
  draw: (random) => mean + around * normal(random),
});

/** @param {number} mean @returns {Law} */
const exponentialLaw = (mean) => ({
  mean,
  density: (x) => (x < 0 ? 0 : Math.exp(-x / mean) / mean),
  below: (x) => (x < 0 ? 0 : -Math.expm1(-x / mean)),
  draw: (random) => -mean * Math.log(1 - random()),
});

/** @param {number} mean @param {number} scale @returns {Law} */
const laplaceLaw = (mean, scale) => ({
  mean,
  density: (x) => Math.exp(-Math.abs(x - mean) / scale) / (2 * scale),
  below: (x) => (x < mean ? 0.5 * Math.exp((x - mean) / scale) : 1 - 0.5 * Math.exp((mean - x) / scale)),
  draw: (random) => mean - Math.sign(random() - 0.5) * scale * Math.log(1 - random()),
});

/** @param {number[]} edges @param {Float64Array} shares @returns {Law} */
function histogramLaw(edges, shares) {
  const [last, width] = [edges.length - 1, (/** @type {number} */ bin) => edges[bin + 1] - edges[bin]];
  return {
    mean: shares.reduce((sum, share, bin) => sum + share * (edges[bin] + 0.5 * width(bin)), 0),
    density: (x) => (binOf(edges, x) < 0 ? 0 : shares[binOf(edges, x)] / width(binOf(edges, x))),
    below(x) {
      if (x <= edges[0]) return 0;
      if (x >= edges[last]) return 1;
      const bin = binOf(edges, x);
      const full = shares.subarray(0, bin).reduce((sum, share) => sum + share, 0);
      return full + (shares[bin] * (x - edges[bin])) / width(bin);
    },
    draw(random) {
      const bin = drawn(shares, random);
      return edges[bin] + random() * width(bin);
    },
  };
}

/** The probability below z standard deviations, within 2e-7. Source: Abramowitz and Stegun 1964, 7.1.26. @param {number} z */
function normalBelow(z) {
  const t = 1 / (1 + 0.3275911 * Math.abs(z) * Math.SQRT1_2);
  const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const above = 0.5 * tail * Math.exp(-0.5 * z * z);
  return z > 0 ? 1 - above : above;
}

/** Draw what is unknown of the variables of a unit into a row. @param {Model} model @param {Layer} layer @param {number} unit @param {Evidence} row @param {() => number} random */
export function drawLeaf(model, layer, unit, row, random) {
  const { kind, variables } = layer;
  if (kind === "normal") drawJoint(model, layer, unit, row, random);
  for (const variable of variables) {
    if (row[variable] !== null) continue;
    row[variable] =
      kind === "table"
        ? drawn(statesOf(model, layer, unit), random)
        : lawOf(model, layer, unit, variable, row).draw(random);
  }
}
