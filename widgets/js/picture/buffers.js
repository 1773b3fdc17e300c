/** The buffers of a program over time, as a picture has them, and where they are drawn. */

import { list, number, record, text, texts } from "../shared/reading.js";

/**
 * @typedef {{id: number, start: number, end: number, bottom: number, bytes: number, kind: string, label: string, text: string,
 *   users: number[]}} Buffer
 * @typedef {{start: number, end: number, label: string, kind: string, text: string, runs: number[]}} LayerSpan
 * @typedef {{run: number, moment: number, text: string}} Listed  a line of the program; `run`: the instruction if it runs, or -1
 * @typedef {{buffers: Buffer[], moments: string[], runs: number[], height: number, ticks: {at: number, text: string}[],
 *   live: number[], peak: number, planned: boolean, text: string, peakText: string, noun: string, listingText: string, parts: {at: number, text: string}[], layers: LayerSpan[], undrawnLayers: string,
 *   listing: Listed[], reasons: {one: number, other: number, why: string}[], words: Record<string, string>}} Buffers
 * @typedef {{x: number, y: number, width: number, height: number}} Bar
 */

/** @param {Record<string, any>} raw @returns {Buffers} */
export function readBuffers(raw) {
  const scale = record(raw.scale);
  return {
    buffers: list(raw.buffers).map((buffer) => readBuffer(record(buffer))),
    moments: texts(raw.moments),
    runs: numbers(raw.runs),
    height: number(scale.height),
    ticks: list(scale.ticks).map(([at, words]) => ({ at: number(at), text: text(words) })),
    live: numbers(raw.live),
    peak: number(raw.peak),
    planned: Boolean(raw.planned),
    text: text(raw.text),
    peakText: text(raw.peak_text),
    noun: text(raw.noun) || "buffer",
    listingText: text(raw.listing_text) || "The program as text",
    parts: list(raw.parts).map(([at, words]) => ({ at: number(at), text: text(words) })),
    layers: list(raw.layers).map((layer) => readLayer(record(layer))),
    undrawnLayers: text(raw.undrawn_layers),
    listing: list(raw.listing).map(([run, moment, words]) => ({
      run: number(run),
      moment: number(moment),
      text: text(words),
    })),
    reasons: list(raw.reasons).map(([one, other, why]) => ({
      one: number(one),
      other: number(other),
      why: text(why),
    })),
    words: record(raw.sharing_words),
  };
}

/** @param {any} value */
const numbers = (value) => list(value).map((item) => number(item));

/** @param {Record<string, any>} raw @returns {LayerSpan} */
const readLayer = (raw) => ({
  start: number(raw.start),
  end: number(raw.end),
  label: text(raw.label),
  kind: text(raw.kind, "operator"),
  text: text(raw.text),
  runs: numbers(raw.runs),
});

/** @param {Record<string, any>} raw @returns {Buffer} */
const readBuffer = (raw) => ({
  id: number(raw.id),
  start: number(raw.start),
  end: number(raw.end),
  bottom: number(raw.bottom),
  bytes: number(raw.bytes),
  kind: text(raw.kind, "operator"),
  label: text(raw.label),
  text: text(raw.text),
  users: numbers(raw.users),
});

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
