/** Whether two buffers of a program share memory, and why not: the words are Python's, and the answer is the trace's. */

/** @import { Buffer, Buffers } from "./buffers.js" */

/** @typedef {{shared: boolean, text: string}} Answer */

/** @param {Buffers} shown @param {number} one @param {number} other @returns {Answer | null} null if there is no such buffer */
export function whyNotShared(shown, one, other) {
  const found = shown.buffers.filter(({ id }) => id === one || id === other);
  if (found.length < 2) return null;
  const [first, second] = found.sort((a, b) => a.start - b.start);
  const { shared, why } = compareLives(shown, first, second);
  const isOfBoth = (/** @type {{one: number, other: number}} */ reason) =>
    [one, other].includes(reason.one) && [one, other].includes(reason.other);
  const reasons = shared ? [] : shown.reasons.filter(isOfBoth).map((reason) => reason.why);
  const text = fill(shown.sharingWords[shared ? "shared" : "not_shared"], { why: [why, ...reasons].join("; ") });
  return { shared, text };
}

/** @param {Buffers} shown @param {Buffer} first @param {Buffer} second one that begins no earlier */
function compareLives({ runs, sharingWords: words, planned }, first, second) {
  const moment = (/** @type {number} */ at) => (runs.length ? `#${runs[Math.min(at, runs.length - 1)]}` : "the end");
  if (second.start < first.end) {
    const [start, last] = [moment(second.start), moment(Math.min(first.end, second.end) - 1)];
    return { shared: false, why: fill(words[start === last ? "at" : "from"], { start, last }) };
  }
  const ids = { first: first.id, second: second.id };
  const apart = fill(words.apart, { ...ids, last: moment(first.end - 1), start: moment(second.start) });
  if (!planned) return { shared: false, why: `${apart}: ${words.unplanned}` };
  const shared = isOverlapping(first, second);
  const begin = Math.max(first.bottom, second.bottom);
  const end = Math.min(first.bottom + first.bytes, second.bottom + second.bytes);
  const places = shared
    ? fill(words.bytes, { begin, end })
    : fill(words.places, { ...ids, first_at: first.bottom, second_at: second.bottom });
  return { shared, why: `${apart}: ${places}` };
}

/** The buffers that have bytes of a planned one, at other times. @param {Buffers} shown @param {Buffer} buffer */
export const sharersOf = ({ buffers, planned }, buffer) =>
  planned ? buffers.filter((other) => other.id !== buffer.id && isOverlapping(buffer, other)) : [];

/** @param {Buffer} one @param {Buffer} other */
const isOverlapping = (one, other) => one.bottom < other.bottom + other.bytes && other.bottom < one.bottom + one.bytes;

/** @param {string} words @param {Record<string, string | number>} values */
const fill = (words, values) => (words ?? "").replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
