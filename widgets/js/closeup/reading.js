/** The close-up of a plate from its JSON. */

import { list, number, numberOrNull, record, text, texts } from "../shared/reading.js";

/**
 * @typedef {{title: string, kind: string, count: number, prefix: string, suffix: string, numbers: number[], apart: boolean}} Strip
 * @typedef {{sentence: string, line: string, sources: Strip[], own: Strip, arity: number, reads: number[], copy: string, cut: string}} Memory
 * @typedef {{title: string, shape: string, rows: number, columns: number, values: (number | null)[], scale: string[]}} Sheet
 * @typedef {{lines: string[], slice: number, count: number, of: string, sheets: Sheet[], overview: Sheet[], missing: string}} Parameters
 * @typedef {{lines: string[], formula: string, shapes: string, source: string, where: string, note: string}} Code
 * @typedef {{title: string, memory: Memory | null, parameters: Parameters | null, code: Code | null}} Closeup
 */

/** @param {any} value @returns {Closeup | null} */
export function readCloseup(value) {
  if (!value || typeof value !== "object") return null;
  return {
    title: text(value.title),
    memory: value.memory ? readMemory(record(value.memory)) : null,
    parameters: value.parameters ? readParameters(record(value.parameters)) : null,
    code: value.code ? readCode(record(value.code)) : null,
  };
}

/** @param {any} value */
const numbers = (value) => list(value).map((item) => number(item));

/** @param {Record<string, any>} value @returns {Memory} */
function readMemory(value) {
  return {
    sentence: text(value.sentence),
    line: text(value.line, "edge"),
    sources: list(value.sources).map((strip) => readStrip(record(strip))),
    own: readStrip(record(value.own)),
    arity: number(value.arity),
    reads: numbers(value.reads),
    copy: text(value.copy),
    cut: text(value.cut),
  };
}

/** @param {Record<string, any>} value @returns {Parameters} */
const readParameters = (value) => ({
  lines: texts(value.lines),
  slice: number(value.slice),
  count: number(value.count),
  of: text(value.of),
  sheets: list(value.sheets).map((sheet) => readSheet(record(sheet))),
  overview: list(value.overview).map((sheet) => readSheet(record(sheet))),
  missing: text(value.missing),
});

/** @param {Record<string, any>} value @returns {Code} */
const readCode = (value) => ({
  lines: texts(value.lines),
  formula: text(value.formula),
  shapes: text(value.shapes),
  source: text(value.source),
  where: text(value.where),
  note: text(value.note),
});

/** @param {Record<string, any>} value @returns {Sheet} */
const readSheet = (value) => ({
  title: text(value.title),
  shape: text(value.shape),
  rows: number(value.rows),
  columns: number(value.columns),
  values: list(value.values).map(numberOrNull),
  scale: texts(value.scale),
});

/** @param {Record<string, any>} value @returns {Strip} */
const readStrip = (value) => ({
  title: text(value.title),
  kind: text(value.kind, "operator"),
  count: number(value.count),
  prefix: text(value.prefix),
  suffix: text(value.suffix),
  numbers: numbers(value.numbers),
  apart: value.apart === true,
});
