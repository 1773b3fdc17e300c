/** The close-up of a plate from its JSON. */

import { list, number, record, text } from "../shared/reading.js";

/**
 * @typedef {{title: string, kind: string, count: number, prefix: string, suffix: string, numbers: number[], apart: boolean}} Strip
 * @typedef {{sentence: string, line: string, sources: Strip[], own: Strip, arity: number, reads: number[], copy: string, cut: string}} Memory
 * @typedef {{title: string, memory: Memory | null}} Closeup
 */

/** @param {any} value @returns {Closeup | null} */
export function readCloseup(value) {
  if (!value || typeof value !== "object") return null;
  return { title: text(value.title), memory: value.memory ? readMemory(record(value.memory)) : null };
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
