/** The buffers of a program over time, as a picture has them, and where they are drawn. */

import { dictOf, like, number, text } from "../shared/reading.js";

/** @typedef {ReturnType<typeof readBuffer>} Buffer */
const readBuffer = like({
  id: 0,
  start: 0,
  end: 0,
  bottom: 0,
  bytes: 0,
  kind: "operator",
  label: "",
  text: "",
  users: [0],
});
/** @typedef {ReturnType<typeof readLayer>} LayerSpan */
const readLayer = like({ start: 0, end: 0, label: "", kind: "operator", text: "", runs: [0] });

/** A number of bytes or a moment, and its name. @param {any} pair */
const readNamed = ([at, words]) => ({ at: number(at), text: text(words) });
/** @param {any} line */
const readListed = ([run, moment, words]) => ({ run: number(run), moment: number(moment), text: text(words) });
/** @param {any} reason */
const readReason = ([one, other, why]) => ({ one: number(one), other: number(other), why: text(why) });

const readAll = like({
  buffers: [readBuffer],
  moments: [""],
  runs: [0],
  scale: { height: 0, ticks: [readNamed] },
  live: [0],
  peak: 0,
  planned: Boolean,
  text: "",
  peakText: "",
  noun: "buffer",
  listingText: "The program as text",
  parts: [readNamed],
  layers: [readLayer],
  undrawnLayers: "",
  listing: [readListed],
  reasons: [readReason],
  sharingWords: dictOf(""),
});

/**
 * @typedef {ReturnType<typeof readBuffers>} Buffers
 * @typedef {Buffers["listing"][0]} Listed  a line of the program; `run`: the instruction if it runs, or -1
 * @typedef {{x: number, y: number, width: number, height: number}} Bar
 */

/** @param {any} raw */
export function readBuffers(raw) {
  const { scale, ...others } = readAll(raw);
  return { ...others, ...scale };
}

/**
 * Where the bar of a buffer is drawn, in percent: time to the right, bytes upward.
 * @param {Buffer} buffer @param {Buffers} shown @returns {Bar}
 */
export function barOf({ start, end, bottom, bytes }, { moments, height }) {
  const [perMoment, perByte] = [100 / Math.max(1, moments.length), 100 / Math.max(1, height)];
  return {
    x: start * perMoment,
    y: 100 - (bottom + bytes) * perByte,
    width: (end - start) * perMoment,
    height: bytes * perByte,
  };
}

/** The shares of the drawing's width and height, in percent, below which a bar has no border: it would hide the bar. */
const [THIN_WIDTH, THIN_HEIGHT] = [0.3, 2];

/** @param {Bar} bar */
export const isThin = ({ width, height }) => width < THIN_WIDTH || height < THIN_HEIGHT;

/** The line of the bytes that are alive, moment by moment, in a square of 100. @param {Buffers} shown */
export function livePath({ live, moments, height }) {
  const [perMoment, perByte] = [100 / Math.max(1, moments.length), 100 / Math.max(1, height)];
  const steps = live.map((bytes, moment) => `V${round(100 - bytes * perByte)}H${round((moment + 1) * perMoment)}`);
  return live.length ? `M0 100${steps.join("")}V100` : "";
}

/** Where the most bytes are alive, in percent, and its name. @param {Buffers} shown */
export function peakOf({ live, moments, height, peak, peakText }) {
  const x = (100 * (peak + 0.5)) / Math.max(1, moments.length);
  const y = 100 - (100 * (live[peak] || 0)) / Math.max(1, height);
  return { x: round(x), y: round(y), text: moments.length ? `${peakText} at ${moments[peak]}` : peakText };
}

/** The names of parts that take a smaller share of the time are in lines of their own, in percent. */
const NARROW = 12;

/**
 * Where each part of the program begins, and how wide it is, in percent; the line in which its name is.
 * @param {Buffers} shown
 */
export function spansOf({ parts, moments }) {
  const count = Math.max(1, moments.length);
  let lines = 0;
  return parts.map(({ at, text: words }, i) => {
    const end = parts[i + 1]?.at ?? moments.length;
    const [x, width] = [round((100 * at) / count), round((100 * (end - at)) / count)];
    return { x, width, text: words, line: width < NARROW ? (lines += 1) : 0 };
  });
}

/** How many lines the names of parts take. @param {Buffers} shown */
export const linesOfParts = (shown) => Math.max(0, ...spansOf(shown).map(({ line }) => line + 1));

/** The name of a layer, and the shorter one that a narrow span has: `CPT layer 257`, `CPT`. @param {LayerSpan} span */
export function namesOf({ label }) {
  const named = /^(.*) layer \d+$/.exec(label);
  return named ? [label, named[1]] : [label];
}

/** The buffer that the instructions of one that is gone use now. @param {Buffer} gone @param {Buffers} shown */
export const heirOf = (gone, { buffers }) => buffers.find(({ users }) => users.includes(gone.users[0])) || null;

/**
 * The same buffers as a table.
 * @param {Buffers} shown @returns {import("./types.js").Table}
 */
export function bufferTable({ buffers, moments, runs, planned, noun }) {
  const names = new Map(runs.map((run, at) => [run, moments[at]]));
  const rows = buffers.map(({ label, bytes, bottom, start, end, users }) => [
    label,
    bytes.toLocaleString("en"),
    planned ? bottom.toLocaleString("en") : "",
    moments[start] ?? "",
    moments[end - 1] ?? "",
    users.map((user) => names.get(user) ?? `#${user}`).join("; "),
  ]);
  return { columns: [noun, "bytes", "at byte", "alive from", "alive until", "used by"], rows };
}

/** @param {number} value */
const round = (value) => Math.round(value * 1000) / 1000;
