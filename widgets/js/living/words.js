/** What is known of the variables of a living circuit, in words: their values as the table has them. */

import { textWidth } from "../shared/measuring.js";
import { marginal } from "./model.js";

/** @import { Belief } from "./beliefs.js" */
/** @import { Evidence, Model, Units, Variable } from "./model.js" */

/** Of the span of a real variable, one this small a part is not told apart. */
const PARTS = 500;
/** Smaller numbers, and larger ones whose last digits do not count, are written with a power of ten. */
const [LEAST, MOST] = [1e-4, 1e9];
/** Larger numbers are not exact, and nobody needs more digits than these. */
const [EXACT, MAX_DIGITS] = [2 ** 53, 17];

/** A number without digits that nobody needs. @param {number} value @param {number} step the smallest difference that counts */
function rounded(value, step) {
  const size = Math.abs(value);
  const digits = Math.min(20, Math.max(0, Math.ceil(-Math.log10(step || 1))));
  const isLarge = size >= EXACT || (size >= MOST && step >= 1_000);
  if (value !== 0 && Number.isFinite(value) && (isLarge || (size < LEAST && step < LEAST))) {
    const counted = Math.ceil(Math.log10(size / step)) + 1;
    return Number(value.toPrecision(Math.min(MAX_DIGITS, Math.max(1, counted)))).toExponential();
  }
  return Number(value.toFixed(digits)).toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** The smallest difference of two numbers in the table that a picture tells apart. @param {Variable} variable */
const partOf = ({ span, unit }) => (unit * (span[1] - span[0])) / PARTS;

/** A value of a variable: the name of a category, or the number in the table. @param {Variable} variable @param {number} x */
export function valueWords(variable, x) {
  const { labels, states, unit, isInteger } = variable;
  if (labels[x] !== undefined) return labels[x];
  const cell = cellOf(variable, x);
  return isInteger ? rounded(Math.round(cell), 1) : rounded(cell, states ? unit : partOf(variable));
}

/** Of so many parts of a span its ends are told apart, from fine to coarse. */
const END_PARTS = [50, 10, 4];

/**
 * The ends of the values of a variable, with as many digits as have room beside each other; if none have, the second one as
 * its distance from the first.
 * @param {Variable} variable @param {number} room in pixels @param {number} size of the text @returns {string[]}
 */
export function endWords(variable, room, size) {
  const { labels, states, span, isInteger } = variable;
  const fits = (/** @type {string[]} */ words) => textWidth(words[0], size) + textWidth(words[1], size) <= room;
  const full = span.map((end) => valueWords(variable, end));
  if (labels.length || states || isInteger || fits(full)) return full;
  const cells = span.map((end) => cellOf(variable, end));
  const length = cells[1] - cells[0];
  for (const parts of END_PARTS) {
    const words = cells.map((cell) => rounded(cell, length / parts));
    if (fits(words)) return words;
  }
  const step = length / END_PARTS[END_PARTS.length - 1];
  return [rounded(cells[0], step), `+${rounded(length, step)}`];
}

/** A value far outside what a picture shows, in four digits. @param {Variable} variable @param {number} x */
export function farWords(variable, x) {
  const cell = cellOf(variable, x);
  const size = Math.abs(cell);
  if (size < 1e6 || variable.labels.length) return valueWords(variable, x);
  return powerWords(cell, 3);
}

/** A large number, as a power of ten: 4.4e16. @param {number} value @param {number} digits after the first */
const powerWords = (value, digits) => {
  const [head, power] = value.toExponential(digits).split("e");
  return `${Number(head)}e${Number(power)}`.replace("-", "−");
};

/** Logarithms larger than this have no digits that count in a title. */
const MAX_LOG = 1e6;

/**
 * What is observed, as a logarithm in nats: of a probability, or of a density if a number of it is real.
 * @param {Model} model @param {Evidence} row @param {number} log
 */
export function logWords({ variables }, row, log) {
  if (log === -Infinity) return "impossible";
  const isDensity = variables.some(({ states }, at) => !states && (row[at] ?? null) !== null);
  const number = Math.abs(log) > MAX_LOG ? powerWords(log, 1) : log.toFixed(2).replace("-", "−");
  return `${isDensity ? "log density" : "log p"} = ${number} nats`;
}

/** The number in the table. @param {Variable} variable @param {number} x */
export const cellOf = ({ zero, unit }, x) => zero + unit * x;
/** The value of a number in the table. @param {Variable} variable @param {number} cell */
export const valueOf = ({ zero, unit }, cell) => (cell - zero) / unit;

/** The nearest value that a variable may have. @param {Variable} variable @param {number} x */
export function nearestOf(variable, x) {
  if (variable.states) return Math.min(variable.states - 1, Math.max(0, Math.round(x)));
  return variable.isInteger ? valueOf(variable, Math.round(cellOf(variable, x))) : x;
}

/** What is written into a form for a value; empty if it is not observed. @param {Variable} variable @param {number | null} x */
export const entryOf = (variable, x) =>
  x === null ? "" : (variable.labels[x] ?? String(Number(cellOf(variable, x).toPrecision(ENTRY_DIGITS))));
const ENTRY_DIGITS = 9;

/** How much larger the log-density of the values of a row is than that of the numbers in the table. @param {Model} model @param {Evidence} row */
export const logScale = ({ variables }, row) =>
  variables.reduce((sum, { states, unit }, at) => sum + (row[at] === null || states ? 0 : Math.log(unit)), 0);

/** More values than these are not told apart one by one if they are numbers. */
const MAX_VALUES = 12;

/**
 * What an unknown variable probably is: the likeliest category, or the mean of a number; null if nothing is possible.
 * @param {Variable} variable @param {Float64Array} shares of `marginal` @param {boolean} isPossible
 * @returns {{x: number, words: string} | null}
 */
export function guessOf(variable, shares, isPossible) {
  if (!isPossible) return null;
  const { labels, states } = variable;
  if (labels.length || (states && states <= MAX_VALUES)) {
    const x = shares.indexOf(Math.max(...shares));
    return { x, words: `probably ${valueWords(variable, x)}, ${Math.round(100 * shares[x])} %` };
  }
  const x = states ? shares.reduce((sum, share, value) => sum + share * value, 0) : shares[0];
  return { x, words: `about ${rounded(cellOf(variable, x), partOf(variable))}` };
}

/**
 * What is known of a variable.
 * @param {Model} model @param {number} variable @param {{evidence: Evidence, row: Evidence, units: Units}} known
 */
function variableWords(model, variable, { evidence, row, units }) {
  const own = model.variables[variable];
  const x = row[variable];
  if (x !== null) return `${own.name} = ${valueWords(own, x)}, ${evidence[variable] === null ? "sampled" : "observed"}`;
  const guess = guessOf(own, marginal(model, variable, row, units), units[model.root][0] > 0);
  return `${own.name}: ${guess?.words ?? "impossible"}`;
}

/** More variables of a cell are not named. */
const MAX_NAMED = 6;

/**
 * What is known of a cell, in lines: its variables, or what the evidence has changed.
 * @param {Model} model @param {number} at the position of its layer @param {Belief} belief
 * @param {{evidence: Evidence, row: Evidence, units: Units}} known @returns {string[]}
 */
export function cellWords(model, at, { variables, bits }, known) {
  const own = model.layers[at].variables;
  if (own.length) {
    const more = own.length > MAX_NAMED ? [`and ${own.length - MAX_NAMED} more`] : [];
    return [...own.slice(0, MAX_NAMED).map((variable) => variableWords(model, variable, known)), ...more];
  }
  const [count, noun] = [variables.length, model.image.length ? "pixels" : "variables"];
  return [
    `its belief about ${count === 1 ? "a" : count} ${count === 1 ? noun.slice(0, -1) : noun}`,
    `what is observed has moved it by ${bits.toFixed(2)} bits`,
  ];
}
