/** What a bar says: its value, its interval and whether it is faster or slower. */

import { TONES } from "../shared/theme.js";

/**
 * @typedef {import("./reading.js").Bar} Bar
 * @typedef {import("./reading.js").Bars} Bars
 */

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

/** The interval of a bar; empty without one. @param {Bar} bar */
export const spreadOf = ({ low, high }) => (low !== null && high !== null ? `${shown(low)} to ${shown(high)}` : "");

/** For screen readers and the tooltip. @param {Bar} bar @param {string} unit */
export function describeBar(bar, unit) {
  if (bar.value === null) return `missing: ${bar.missing || "no value"}`;
  const spread = spreadOf(bar);
  return `${shown(bar.value)} ${unit}${spread && ` (${spread})`}${bar.tone && `, ${TONES[bar.tone].words}`}`;
}

/** The value next to its bar, after the sign of its tone. @param {Bar} bar @param {string} unit */
export const valueWords = (bar, unit) =>
  `${bar.tone ? `${TONES[bar.tone].sign} ` : ""}${shown(bar.value || 0)} ${unit}`;

/** The tones that occur, in the order of the theme. @param {Bars} bars */
export const tonesOf = ({ bars }) =>
  Object.keys(TONES).filter((tone) => bars.some((bar) => bar.tone === tone && bar.value !== null));

/**
 * The values as a table, if the bars come without one.
 * @param {Bars} all @returns {{columns: string[], rows: string[][]}}
 */
export function tableOf({ table, bars, unit }) {
  if (table.columns.length) return table;
  const toned = bars.some((bar) => bar.tone);
  const cells = bars.map((bar) => [
    bar.label,
    bar.series,
    bar.value === null ? bar.missing : shown(bar.value),
    spreadOf(bar),
    ...(toned ? [bar.tone && TONES[bar.tone].words] : []),
  ]);
  return { columns: ["", "series", unit, "spread", ...(toned ? ["change"] : [])], rows: cells };
}
