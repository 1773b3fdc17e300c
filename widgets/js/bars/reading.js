/** Bars from their JSON string. */

import { checkVersion, parseJson } from "../shared/contract.js";
import { like, number, numberOrNull, record, text } from "../shared/reading.js";
import { TONES } from "../shared/theme.js";

/** A tone that is not known is none. @param {any} tone */
const readTone = (tone) => (Object.hasOwn(TONES, text(tone)) ? text(tone) : "");
/** @param {any} tick */
const readTick = ([value, words]) => ({ value: number(value), text: text(words) });
/** @typedef {ReturnType<typeof readBar>} Bar */
const readBar = like({
  label: "",
  value: numberOrNull,
  low: numberOrNull,
  high: numberOrNull,
  series: "",
  missing: "",
  tone: readTone,
});
const readAll = like({
  title: "",
  unit: "",
  log: false,
  axis: { low: 0, high: 1, ticks: [readTick] },
  series: [""],
  bars: [readBar],
  note: "",
  table: { columns: [""], rows: [[""]] },
});
/** @typedef {ReturnType<typeof readAll>} Bars */

/**
 * Throws an Error with a message for the user if the bars are malformed. Null for the empty string.
 * @param {any} json @returns {Bars | null}
 */
export function readBars(json) {
  if (json == null || json === "") return null;
  const raw = parseJson("The bars are", json);
  if (!raw || typeof raw !== "object" || !Array.isArray(raw.bars)) throw new Error("The bars have no list of bars.");
  checkVersion("The bars have", raw.version);
  const read = readAll(record(raw));
  return { ...read, series: [...new Set([...read.series, ...read.bars.map(({ series }) => series)])] };
}

/** The place of a value on the axis, from 0 to 1. @param {Bars} bars @param {number} value */
export const placeOn = ({ log, axis: { low, high } }, value) =>
  log && low > 0 ? Math.log(Math.max(low, value) / low) / Math.log(high / low) : (value - low) / (high - low || 1);
