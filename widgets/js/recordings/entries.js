/** The entries of the browser's history: they are written when nothing else happens, since that can take 20 ms. */

import { whenIdle } from "./opening.js";

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
