/** Bars from their JSON string. */

import { checkVersion, parseJson } from "../shared/contract.js";
import { list, number, numberOrNull, record, text, texts } from "../shared/reading.js";
import { TONES } from "../shared/theme.js";

/**
 * @typedef {{label: string, value: number | null, low: number | null, high: number | null, series: string,
 *   missing: string, tone: string}} Bar
 * @typedef {{low: number, high: number, ticks: {value: number, text: string}[]}} Axis
 * @typedef {{title: string, unit: string, log: boolean, axis: Axis, series: string[], bars: Bar[], note: string,
 *   columns: string[], rows: string[][]}} Bars
 */

/**
 * Throws an Error with a message for the user if the bars are malformed. Null for the empty string.
 * @param {any} json @returns {Bars | null}
 */
export function readBars(json) {
  if (json == null || json === "") return null;
  const raw = parseJson("The bars are", json);
  if (!raw || typeof raw !== "object" || !Array.isArray(raw.bars)) throw new Error("The bars have no list of bars.");
  checkVersion("The bars have", raw.version);
  const bars = raw.bars.map(readBar);
  const named = texts(raw.series);
  const extra = [...new Set(bars.map((/** @type {Bar} */ bar) => bar.series))].filter((name) => !named.includes(name));
  const table = raw.table && typeof raw.table === "object" ? raw.table : {};
  return {
    title: text(raw.title),
    unit: text(raw.unit),
    log: raw.log === true,
    axis: readAxis(record(raw.axis)),
    series: [...named, ...extra],
    bars,
    note: text(raw.note),
    columns: texts(table.columns),
    rows: list(table.rows).map(texts),
  };
}

/** @param {Record<string, any>} axis @returns {Axis} */
const readAxis = ({ low, high, ticks }) => ({
  low: number(low),
  high: number(high, 1),
  ticks: list(ticks).map(([value, words]) => ({ value: number(value), text: text(words) })),
});

/** The place of a value on the axis, from 0 to 1. @param {Bars} bars @param {number} value */
export const placeOn = ({ log, axis: { low, high } }, value) =>
  log && low > 0 ? Math.log(Math.max(low, value) / low) / Math.log(high / low) : (value - low) / (high - low || 1);

/** @param {any} bar @returns {Bar} */
const readBar = (bar) => ({
  label: text(bar?.label),
  value: numberOrNull(bar?.value),
  low: numberOrNull(bar?.low),
  high: numberOrNull(bar?.high),
  series: text(bar?.series),
  missing: text(bar?.missing),
  tone: Object.hasOwn(TONES, text(bar?.tone)) ? text(bar.tone) : "",
});
