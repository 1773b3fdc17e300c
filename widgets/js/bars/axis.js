/** The axis of the bars, and numbers as they are shown. */

/**
 * @typedef {{low: number, high: number, log: boolean, ticks: number[], at(value: number): number}} Axis  `at`: 0 to 1
 */

/** A logarithmic axis has steps of these within a decade. */
const STEPS = [1, 2, 5];
/** With more steps than this only the decades have a tick; with more than the second, only some of them. */
const [MANY, TOO_MANY] = [8, 16];

/** A number with three digits, without trailing zeros. @param {number} value */
export function shown(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3)
    return value
      .toExponential(2)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  const digits = Math.max(0, 2 - Math.floor(Math.log10(size)));
  return Number(value.toFixed(Math.min(6, digits))).toLocaleString("en", { maximumFractionDigits: 6 });
}

/**
 * The axis of all values and whiskers: from zero, or in steps within decades if it is logarithmic.
 * @param {import("./reading.js").Bars} bars @returns {Axis}
 */
export function axisOf({ bars, log }) {
  const values = bars.flatMap(({ value, low, high }) => [value, low, high]).filter((value) => value !== null);
  const known = values.filter((value) => !log || value > 0);
  return log && known.length ? logarithmicAxis(known) : linearAxis(known);
}

/** @param {number[]} values @returns {Axis} */
function logarithmicAxis(values) {
  /** @param {number} index */
  const mark = (index) => STEPS[((index % 3) + 3) % 3] * 10 ** Math.floor(index / 3);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  let first = 3 * Math.floor(Math.log10(least)) - 1;
  while (mark(first + 1) <= least * 0.85) first += 1;
  let last = first + 1;
  while (mark(last) < most) last += 1;
  const marks = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const every = marks.length > TOO_MANY ? 3 * Math.ceil(marks.length / 24) : marks.length > MANY ? 3 : 1;
  const ticks = marks.filter((index) => index % every === 0).map(mark);
  const [low, high] = [mark(first), mark(last)];
  return { low, high, log: true, ticks, at: (value) => Math.log(Math.max(low, value) / low) / Math.log(high / low) };
}

/** @param {number[]} values @returns {Axis} */
function linearAxis(values) {
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  const rough = (most - least || 1) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= rough) || unit;
  const [low, high] = [step * Math.floor(least / step), step * Math.ceil((most || 1) / step)];
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, index) => low + index * step);
  return { low, high, log: false, ticks, at: (value) => (value - low) / (high - low || 1) };
}
