/** The steps and the details of a box, from their JSON strings. */

import { readCloseup } from "../closeup/reading.js";
import { asDict, asList, list, number, record, text, texts } from "../shared/reading.js";

/**
 * @typedef {import("./types.js").Details} Details
 * @typedef {import("./types.js").Step} Step
 */

/** @param {any} value @returns {Step[]} */
export function readSteps(value) {
  return asList(value).map((step, index) => ({
    index: number(record(step).index, index),
    path: text(record(step).path),
    title: text(record(step).title, `Step ${index + 1}`),
    summary: text(record(step).summary),
    changed: record(step).changed !== false,
    ok: typeof record(step).ok === "boolean" ? step.ok : null,
    verdict: text(record(step).verdict),
    error: text(record(step).error),
    layers: number(record(step).layers),
    folds: number(record(step).folds),
    matches: number(record(step).matches),
    counted: text(record(step).counted),
    nearMisses: number(record(step).near_misses),
    seconds: number(record(step).seconds),
    frame: readFrame(record(step).frame, index),
    scenes: list(record(step).scenes).map((scene) => ({
      name: text(record(scene).name),
      title: text(record(scene).title),
      mode: text(record(scene).mode, "diff"),
      sentence: text(record(scene).sentence),
      guess: readGuess(record(scene).guess),
    })),
  }));
}

/** @param {any} value @returns {import("./types.js").Guess | null} */
const readGuess = (value) =>
  value && typeof value === "object"
    ? {
        question: text(value.question),
        wanted: texts(value.wanted),
        apart: new Map(Object.entries(record(value.apart))),
      }
    : null;

/** Words by lane. @param {any} value @returns {Record<string, string>} */
const readTexts = (value) =>
  Object.fromEntries(Object.entries(record(value)).map(([lane, words]) => [lane, text(words)]));

/** @param {any} value @param {number} step @returns {import("./types.js").Frame | null} */
function readFrame(value, step) {
  if (!value || typeof value !== "object") return null;
  return {
    step,
    label: text(value.label),
    calls: number(value.calls),
    sentence: text(value.sentence),
    undrawn: text(value.undrawn),
    times: readNumbers(value.times),
    missing: readTexts(value.missing),
    certified: readTexts(value.certified),
    memory: Array.isArray(value.memory) ? [text(value.memory[0]), number(value.memory[1])] : null,
    plates: list(value.plates).map((plate) => ({
      kind: text(record(plate).kind, "operator"),
      at: list(record(plate).at).map((part) => number(part)),
      calls: number(record(plate).calls, 1),
      ms: readNumbers(record(plate).ms),
    })),
  };
}

/** @param {any} value @returns {Record<string, number>} */
const readNumbers = (value) =>
  Object.fromEntries(Object.entries(record(value)).map(([name, item]) => [name, number(item)]));

/** @param {any} value @returns {Details | null} */
export function readDetails(value) {
  const raw = asDict(value);
  if (!Object.keys(raw).length) return null;
  return {
    id: text(raw.id),
    title: text(raw.title),
    sections: list(raw.sections).map((section) => ({
      heading: text(record(section).heading),
      name: text(record(section).name),
      rows: list(record(section).rows).map(texts),
      lines: texts(record(section).lines),
    })),
    closeup: readCloseup(raw.closeup),
    layer: number(raw.layer, -1),
  };
}
