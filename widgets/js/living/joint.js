/** Joint normal densities: the conditional distribution of the variables that are unknown, given those observed. */

import { normal } from "./leaves.js";

/**
 * @import { Evidence, Layer, Model } from "./model.js"
 * @typedef {{mean: Float64Array, covariance: Float64Array[]}} Joint
 * @typedef {{log: number, mean: Float64Array, spread: Float64Array, unknown: number[], pulls: Float64Array[]}} Conditional
 * `log` of the density of what is observed; means and standard deviations by position; `pulls` of the unknown positions:
 * their covariance is reduced by the products of two of these
 */

/** The densities of a layer, and the last conditionals, by the numbers of the model. @type {WeakMap<Float64Array, Map<number, {joints: Joint[], key: string, found: Conditional[]}>>} */
const known = new WeakMap();
const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);
/** A variance is at least this share of what it was: below, it is rounding. */
const LEAST = 1e-13;

/** @param {number} units @param {number} count of the variables */
export const jointNumbers = (units, count) => units * (2 * count + (count * (count - 1)) / 2);

/** The densities of the units of a layer. @param {Model} model @param {Layer} layer @returns {Joint[]} */
function jointsOf({ numbers }, { at, units, variables }) {
  const count = variables.length;
  return Array.from({ length: units }, (_, unit) => {
    const first = at + jointNumbers(unit, count);
    let slope = first + 2 * count;
    /** A variable is its mean plus these numbers times standard normal ones. @type {Float64Array[]} */
    const factor = [];
    for (let row = 0; row < count; row += 1) {
      const own = new Float64Array(count);
      own[row] = numbers[first + count + row];
      for (let before = 0; before < row; before += 1, slope += 1) {
        for (let i = 0; i <= before; i += 1) own[i] += numbers[slope] * factor[before][i];
      }
      factor.push(own);
    }
    const covariance = factor.map((row, i) =>
      Float64Array.from(factor, (other, j) => dot(row, other, 1 + Math.min(i, j))),
    );
    return { mean: numbers.subarray(first, first + count), covariance };
  });
}

/** @param {Float64Array} one @param {Float64Array} other @param {number} count */
function dot(one, other, count) {
  let sum = 0;
  for (let i = 0; i < count; i += 1) sum += one[i] * other[i];
  return sum;
}

/** The lower triangular factor of a covariance. @param {Float64Array[]} matrix */
function cholesky(matrix) {
  /** @type {Float64Array[]} */
  const factor = [];
  matrix.forEach((row, i) => {
    const own = new Float64Array(matrix.length);
    for (let j = 0; j < i; j += 1) own[j] = (row[j] - dot(own, factor[j], j)) / factor[j][j];
    own[i] = Math.sqrt(Math.max(row[i] - dot(own, own, i), LEAST * row[i]));
    factor.push(own);
  });
  return factor;
}

/** Solve factor z = right. @param {Float64Array[]} factor @param {ArrayLike<number>} right */
function solve(factor, right) {
  const z = new Float64Array(factor.length);
  factor.forEach((row, i) => {
    z[i] = (right[i] - dot(row, z, i)) / row[i];
  });
  return z;
}

/** @param {Joint} joint @param {(number | null)[]} values @returns {Conditional} */
function condition({ mean, covariance }, values) {
  /** @type {[number[], number[]]} */
  const [seen, unknown] = [[], []];
  values.forEach((x, at) => (x === null ? unknown : seen).push(at));
  const factor = cholesky(seen.map((row) => Float64Array.from(seen, (column) => covariance[row][column])));
  const z = solve(
    factor,
    seen.map((at) => Number(values[at]) - mean[at]),
  );
  const pulls = unknown.map((at) =>
    solve(
      factor,
      Float64Array.from(seen, (other) => covariance[other][at]),
    ),
  );
  const [center, spread] = [Float64Array.from(values, Number), new Float64Array(values.length)];
  unknown.forEach((at, place) => {
    const [pull, variance] = [pulls[place], covariance[at][at]];
    center[at] = mean[at] + dot(pull, z, seen.length);
    spread[at] = Math.sqrt(Math.max(variance - dot(pull, pull, seen.length), LEAST * variance));
  });
  const size = factor.reduce((sum, row, i) => sum + Math.log(row[i]), 0);
  const log = -0.5 * dot(z, z, seen.length) - size - seen.length * HALF_LOG_2PI;
  return { log, mean: center, spread, unknown, pulls };
}

/** The conditional distributions of the units of a layer. @param {Model} model @param {Layer} layer @param {Evidence} evidence @returns {Conditional[]} */
export function conditional(model, layer, evidence) {
  const all = known.get(model.numbers) ?? new Map();
  known.set(model.numbers, all);
  const values = layer.variables.map((variable) => evidence[variable]);
  const key = values.join();
  const own = all.get(layer.at) ?? { joints: jointsOf(model, layer), key: "none", found: [] };
  all.set(layer.at, own);
  if (own.key !== key) {
    own.key = key;
    own.found = own.joints.map((/** @type {Joint} */ joint) => condition(joint, values));
  }
  return own.found;
}

/** Draw the unknown variables of a unit together. @param {Model} model @param {Layer} layer @param {number} unit @param {Evidence} row @param {() => number} random */
export function drawJoint(model, layer, unit, row, random) {
  const { mean, unknown, pulls } = conditional(model, layer, row)[unit];
  const { covariance } = /** @type {any} */ (known.get(model.numbers)).get(layer.at).joints[unit];
  const rest = unknown.map((at, i) =>
    Float64Array.from(unknown, (other, j) => covariance[at][other] - dot(pulls[i], pulls[j], pulls[i].length)),
  );
  const factor = cholesky(rest);
  const noise = Float64Array.from(unknown, () => normal(random));
  unknown.forEach((at, i) => {
    row[layer.variables[at]] = mean[at] + dot(factor[i], noise, i + 1);
  });
}
