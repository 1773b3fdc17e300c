/** What is known of the variables of a living circuit, in words: their values as the table has them. */

import { marginal } from "./model.js";

/** @import { Belief } from "./beliefs.js" */
/** @import { Evidence, Model, Units, Variable } from "./model.js" */

/** A number without digits that nobody needs. @param {number} value @param {number} step the smallest difference that counts */
function rounded(value, step) {
  const digits = Math.min(20, Math.max(0, Math.ceil(-Math.log10(step || 1))));
  return Number(value.toFixed(digits)).toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** Of the span of a real variable, one this small a part is not told apart. */
const PARTS = 500;

/** A value of a variable: the name of a category, or the number in the table. @param {Variable} variable @param {number} x */
export function valueWords({ labels, states, span, zero, unit }, x) {
  if (labels[x] !== undefined) return labels[x];
  return rounded(zero + unit * x, states ? unit : (unit * (span[1] - span[0])) / PARTS);
}

/** The number in the table. @param {Variable} variable @param {number} x */
export const cellOf = ({ zero, unit }, x) => zero + unit * x;
/** The value of a number in the table. @param {Variable} variable @param {number} cell */
export const valueOf = ({ zero, unit }, cell) => (cell - zero) / unit;

/** How much larger the log-density of observed values is than that of the numbers in the table. @param {Model} model @param {Evidence} evidence */
export const logScale = ({ variables }, evidence) =>
  variables.reduce((sum, { states, unit }, at) => sum + (evidence[at] === null || states ? 0 : Math.log(unit)), 0);

/**
 * What is known of a variable.
 * @param {Model} model @param {number} variable @param {{evidence: Evidence, row: Evidence, units: Units}} known
 */
function variableWords(model, variable, { evidence, row, units }) {
  const own = model.variables[variable];
  const x = row[variable];
  if (x !== null) return `${own.name} = ${valueWords(own, x)}, ${evidence[variable] === null ? "sampled" : "observed"}`;
  const shares = marginal(model, variable, row, units);
  if (!own.labels.length && (!own.states || own.states > 12)) {
    const mean = own.states ? shares.reduce((sum, share, value) => sum + share * value, 0) : shares[0];
    return `${own.name}: about ${rounded(cellOf(own, mean), (own.unit * (own.span[1] - own.span[0])) / PARTS)}, unknown`;
  }
  const best = shares.indexOf(Math.max(...shares));
  return `${own.name}: probably ${valueWords(own, best)}, ${Math.round(100 * shares[best])} %`;
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
