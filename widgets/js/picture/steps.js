/** The steps and the details of a box, from their JSON strings. */

import { readCloseup } from "../closeup/reading.js";
import { asDict, asList, dictOf, like, maybe, number, record, text } from "../shared/reading.js";

/** The bytes of a program, as text and as a number. @param {any} value @returns {[string, number] | null} */
const readBytes = (value) => (Array.isArray(value) ? [text(value[0]), number(value[1])] : null);

/** A frame of the film, whose plates are small. */
const readFrame = like({
  label: "",
  calls: 0,
  sentence: "",
  undrawn: "",
  times: dictOf(0),
  missing: dictOf(""),
  certified: dictOf(""),
  memory: readBytes,
  plates: [{ kind: "operator", at: [0], calls: 1, ms: dictOf(0) }],
});

/** Which plates to click, and why not others. */
const readGuess = like({
  question: "",
  wanted: [""],
  apart: (/** @type {any} */ value) => new Map(Object.entries(record(value))),
});

/** The times of all steps on one scale. */
const readClock = like({
  scale: "",
  lanes: [
    {
      lane: "",
      name: "",
      machine: "",
      about: "",
      stairs: [{ step: 0, share: 0, text: "", about: "", gain: "", backend: "", certified: "" }],
    },
  ],
  lens: maybe({ factor: 1, words: "" }),
  race: maybe({ seconds: 1, words: "" }),
  unmeasured: "",
  note: "",
});

/** `scenes`: of the story of the compilation; with `guess` one asks, and `sentence` is the answer. */
const readStep = like({
  path: "",
  name: "",
  title: "",
  summary: "",
  changed: true,
  ok: (/** @type {any} */ value) => /** @type {boolean | null} */ (typeof value === "boolean" ? value : null),
  verdict: "",
  error: "",
  layers: 0,
  folds: 0,
  matches: 0,
  counted: "",
  nearMisses: 0,
  nearStops: 0,
  seconds: 0,
  frame: maybe(readFrame),
  clock: maybe(readClock),
  scenes: [{ name: "", title: "", mode: "diff", sentence: "", guess: maybe(readGuess) }],
});

/** @param {any} value */
export const readSteps = (value) =>
  asList(value).map((step, at) => {
    const { title: known, name, frame, ...others } = readStep(step);
    const index = number(record(step).index, at);
    const title = known || `Step ${at + 1}`;
    return { ...others, index, title, name: name || title, frame: frame && { ...frame, step: at } };
  });

const readAll = like({
  id: "",
  title: "",
  sections: [{ heading: "", name: "", rows: [[""]], lines: [""] }],
  closeup: readCloseup,
  layer: -1,
});

/** @param {any} value */
export function readDetails(value) {
  const raw = asDict(value);
  return Object.keys(raw).length ? readAll(raw) : null;
}
