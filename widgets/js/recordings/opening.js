/** A recording whose parts are unpacked on request, and those of the neighbouring steps ahead of it. */

/**
 * @typedef {{pictures: Record<string, any>, coordinates: Record<string, number>, details: Record<string, any>,
 *   buffers: Record<string, any>, shared: any[]}} Part  see `RecordingPartView`
 * @typedef {{steps: Record<string, any>[], looks: string[], part_of: Record<string, number>, values?: any, living?: any}} Head
 *   see `RecordingHeadView`
 * @typedef {Head & {part(step: number): Part | undefined, load(step: number): Promise<Part>, loadAhead(step: number): void}} Recording
 * `part`: if it is unpacked; `load`: unpacks it; `loadAhead`: unpacks those of the steps around it while nothing else happens
 */

/** How many parts stay unpacked: two steps to either side, and where the reader was before. */
const MAX_UNPACKED = 8;

/** @type {Part} */
const NOTHING = { pictures: {}, coordinates: {}, details: {}, buffers: {}, shared: [] };

/** Bytes from base64; none for an empty string. @param {string | undefined} base64 */
export function recordedBytes(base64) {
  const letters = atob(base64 || "");
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i); // a callback per byte took 0.4 s
  return bytes;
}

/** Data from gzip of JSON in base64. @param {string} text @returns {Promise<any>} */
export async function unpack(text) {
  const stream = new Blob([recordedBytes(text.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** Call back when nothing else happens. @param {() => void} callback */
export const whenIdle = (callback) =>
  typeof requestIdleCallback === "function"
    ? requestIdleCallback(callback, { timeout: 500 })
    : setTimeout(callback, 50);

/**
 * The steps to which the keys lead from a step: the next one to either side, and the next one that changed something.
 * @param {Record<string, any>[]} steps @param {number} step
 */
function neighboursOf(steps, step) {
  const isStop = (/** @type {number} */ at) => steps[at].changed || steps[at].error;
  const found = [];
  for (const way of [1, -1]) {
    let next = step + way;
    if (steps[next]) found.push(next);
    while (steps[next] && !isStop(next)) next += way;
    if (steps[next]) found.push(next);
  }
  return [...new Set(found)];
}

/** @param {Head} head @param {(part: number) => Promise<Part>} unpackPart @returns {Recording} */
export function openRecording(head, unpackPart) {
  /** Those used last are at the end. @type {Map<number, Part>} */
  const unpacked = new Map();
  /** @type {Map<number, Promise<Part>>} */
  const unpacking = new Map();

  /** @param {number} number @param {Part} part */
  function keep(number, part) {
    unpacked.delete(number);
    unpacked.set(number, part);
    for (const other of unpacked.keys()) if (unpacked.size > MAX_UNPACKED) unpacked.delete(other);
    return part;
  }

  /** @param {number} step */
  function part(step) {
    const number = head.part_of[step];
    if (number === undefined) return NOTHING;
    const found = unpacked.get(number);
    return found && keep(number, found);
  }

  /** @param {number} step */
  async function load(step) {
    const found = part(step);
    if (found) return found;
    const number = head.part_of[step];
    const asked =
      unpacking.get(number) ||
      unpackPart(number)
        .then((made) => keep(number, made))
        .finally(() => unpacking.delete(number));
    unpacking.set(number, asked);
    return asked;
  }

  let around = -1;
  /** @param {number} step */
  function loadAhead(step) {
    around = step;
    whenIdle(async () => {
      for (const next of neighboursOf(head.steps, step)) if (around === step) await load(next);
    });
  }

  return { ...head, part, load, loadAhead };
}

/** The error of a page whose data cannot be read: the browser's own says nothing to a reader. */
const DAMAGED = "the data in this page are damaged or incomplete; copy the page again, or write it again";

/**
 * The views of a page and its recordings.
 * @param {any} doc @returns {Promise<{views: Record<string, any>[], recordings: Recording[]}>}
 */
export async function openPage(doc) {
  /** @param {string} id */
  async function stored(id) {
    const found = await unpack(doc.getElementById(id)?.textContent || "").catch(() => null);
    if (found === null || typeof found !== "object") throw new Error(DAMAGED);
    return found;
  }
  const { views, recordings } = await stored("recording");
  if (!Array.isArray(views) || !Array.isArray(recordings)) throw new Error(DAMAGED);
  const open = (/** @type {Head} */ head, /** @type {number} */ number) =>
    openRecording(head, (part) => stored(`part-${number}-${part}`));
  return { views, recordings: recordings.map(open) };
}
