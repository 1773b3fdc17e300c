/** Looking up pictures and details in an unpacked part of a recording. */

import { recordedBytes, whenIdle } from "./opening.js";

/** @import { Part } from "./opening.js" */

/** @typedef {{picture: any, bytes: Uint8Array}} Found  a picture and its coordinates */

/**
 * The picture of a view; `side` is composed of `before` and `after` if it was not recorded.
 * @param {Part} part @param {number} step @param {Record<string, any>} view @returns {Found}
 */
export function recordedPicture(part, step, view) {
  /** @param {string} mode @returns {Found | null} */
  function found(mode) {
    const key = `${step}/${mode}/${view.colour_by}/${view.group_by}`;
    const picture = part.pictures[key];
    if (!picture) return null;
    const bytes = recordedBytes(part.shared[part.coordinates[key]]);
    return { picture: withBuffers(part, withShared(part, picture)), bytes };
  }
  const whole = found(view.mode);
  if (whole) return whole;
  const [before, after] = view.mode === "side" ? [found("before"), found("after")] : [null, null];
  if (!before || !after) return onlyMessage(step, view, "This picture was not recorded.");
  const bytes = new Uint8Array(before.bytes.length + after.bytes.length);
  bytes.set(before.bytes);
  bytes.set(after.bytes, before.bytes.length);
  return { picture: { ...before.picture, mode: "side", other: after.picture }, bytes };
}

/** A picture with nothing but a message. @param {number} step @param {Record<string, any>} view @param {string} message @returns {Found} */
export const onlyMessage = (step, { mode }, message) => ({
  picture: { version: 1, step, mode, nodes: [], message },
  bytes: new Uint8Array(0),
});

/**
 * The details of a box as JSON; empty if there are none.
 * @param {Part} part @param {number} step @param {Record<string, any>} view @param {string} box
 */
export function recordedDetails(part, step, view, box) {
  const { details } = part;
  const name = `${step}/${box}`;
  const found = (view.mode === "before" && details[`${name}/before`]) || details[name];
  return found ? JSON.stringify({ ...withShared(part, found), id: box }) : "";
}

/**
 * A picture or details with their long values; a part has each of these once.
 * @param {Part} part @param {any} owner @returns {any}
 */
function withShared(part, { shared = {}, ...owner }) {
  for (const name of Object.keys(shared)) owner[name] = part.shared[shared[name]];
  return owner;
}

/**
 * A picture with its buffers; a part has each state of them once.
 * @param {Part} part @param {any} picture @returns {any}
 */
function withBuffers(part, picture) {
  const found = picture.recorded_buffers;
  if (!found) return picture;
  const other = picture.other ? { other: withBuffers(part, picture.other) } : {};
  return { ...picture, ...other, buffers: { ...part.buffers[found.state], scale: found.scale } };
}

/** @param {History} history @param {(callback: () => void) => void} [later] */
export function makeEntries(history, later = whenIdle) {
  /** @type {{adds: boolean, hash: string}[]} */
  const waiting = [];

  function write() {
    for (const { adds, hash } of waiting.splice(0)) {
      try {
        history[adds ? "pushState" : "replaceState"](null, "", hash);
      } catch {
        // forbidden by some hosts
      }
    }
  }

  return {
    /** @param {string} hash @param {boolean} adds an entry; otherwise it changes the current one */
    keep(hash, adds) {
      const last = waiting[waiting.length - 1];
      if (last && !adds) last.hash = hash;
      else if (waiting.push({ adds, hash }) === 1) later(write);
    },
    /** The reader has gone back or forward before they were written. */
    forget: () => void waiting.splice(0),
  };
}
