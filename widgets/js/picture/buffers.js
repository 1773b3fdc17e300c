/** The buffers of a program over time, as a picture has them, and where they are drawn. */

import { list, number, record, text, texts } from "../shared/reading.js";

/**
 * @typedef {{id: number, start: number, end: number, bottom: number, bytes: number, kind: string, label: string, text: string,
 *   users: number[]}} Buffer
 * @typedef {{buffers: Buffer[], moments: string[], height: number, live: number[], peak: number, planned: boolean,
 *   text: string, peakText: string}} Buffers
 * @typedef {{x: number, y: number, width: number, height: number}} Bar
 */

/** @param {Record<string, any>} raw @returns {Buffers} */
export const readBuffers = (raw) => ({
  buffers: list(raw.buffers).map((buffer) => readBuffer(record(buffer))),
  moments: texts(raw.moments),
  height: number(raw.height),
  live: list(raw.live).map((value) => number(value)),
  peak: number(raw.peak),
  planned: Boolean(raw.planned),
  text: text(raw.text),
  peakText: text(raw.peak_text),
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
  users: list(raw.users).map((value) => number(value)),
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

/** The line of the bytes that are alive, moment by moment, in a square of 100. @param {Buffers} shown */
export function livePath({ live, moments, height }) {
  const [perMoment, perByte] = [100 / Math.max(1, moments.length), 100 / Math.max(1, height)];
  const steps = live.map((bytes, moment) => `V${round(100 - bytes * perByte)}H${round((moment + 1) * perMoment)}`);
  return live.length ? `M0 100${steps.join("")}V100` : "";
}

/** The buffer that the instructions of one that is gone use now. @param {Buffer} gone @param {Buffers} shown */
export const heirOf = (gone, { buffers }) => buffers.find(({ users }) => users.includes(gone.users[0])) || null;

/** @param {number} value */
const round = (value) => Math.round(value * 1000) / 1000;
