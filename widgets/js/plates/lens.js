/** The rule lens: the matches and near misses of the lit hull, one by one, and the questions of their rule. */

/** @import { Attempt, Hull, Picture, Rule } from "../picture/types.js" */

/**
 * @typedef {{side: number, entry: number, question: number, passed: boolean}} Beat
 * One step of docking: an entry of the rule (side 0) or of its rival (side 1) binds its layer (`question` -1), or a question
 * is answered.
 */

/** What the rule lens shows if no match is lit. */
export const NO_LENS = { match: 0, beats: 0, done: false, otherwise: false };

/** The hull, if it is one of the picture and has a lens. @param {Picture | null} picture @param {string} id */
export const lensHull = (picture, id) => picture?.stops.find((hull) => hull.id === id && hull.lens) || null;

/**
 * The number of a match, at most the last one of its hull; as it is while the hull is not known.
 * @param {Picture | null} picture @param {string} hull @param {number} match
 */
export function knownMatch(picture, hull, match) {
  const last = (lensHull(picture, hull)?.lens?.attempts.length ?? Infinity) - 1;
  return Math.max(0, Math.min(match, last));
}

/** The match of the lit hull with a number; the last one if there are fewer. @param {Hull} hull @param {number} match */
export function attemptOf({ lens }, match) {
  const attempts = lens?.attempts || [];
  return attempts[Math.min(match, attempts.length - 1)] || null;
}

/**
 * What happens one after the other: each entry binds its layer and answers its questions, up to the first no; then the rival.
 * @param {Attempt} attempt @param {Rule | undefined} rule @param {boolean} refused whether it is a near miss
 * @returns {Beat[]}
 */
export function beatsOf(attempt, rule, refused) {
  /** @type {Beat[]} */
  const beats = [];
  let number = 0;
  for (const [entry] of attempt.cells.entries()) {
    beats.push({ side: 0, entry, question: -1, passed: true });
    const known = attempt.question >= 0 || !refused || entry < attempt.cells.length - 1;
    for (const question of (rule?.finds[entry]?.questions || []).keys()) {
      const passed = number !== attempt.question;
      number += 1;
      if (known) beats.push({ side: 0, entry, question, passed });
      if (!passed) return beats;
    }
  }
  if (refused) beats.push({ side: 0, entry: attempt.cells.length - 1, question: -1, passed: false });
  for (const entry of attempt.rival?.cells.keys() || []) beats.push({ side: 1, entry, question: -1, passed: true });
  return beats;
}

const APPLIED = ["match", "winner"];

/**
 * The matches before one that were applied: what became of their layers (the colour of the new layer at the root, null at the
 * others), and how many layers fewer there are.
 * @param {Picture} picture @param {Hull} hull @param {number} match
 */
export function doneBefore({ stops }, hull, match) {
  /** @type {Map<number, {fill: string | null, root: number}>} */
  const layers = new Map();
  let [count, saved] = [0, 0];
  for (const stop of stops) {
    const lens = stop.lens;
    if (lens && APPLIED.includes(stop.kind)) {
      const done = stop === hull ? lens.attempts.slice(0, match) : lens.attempts;
      for (const { cells } of done) {
        for (const layer of cells) layers.set(layer, { fill: lens.made.length ? lens.fill : null, root: cells[0] });
        for (const layer of cells.slice(1)) if (layer !== cells[0]) layers.set(layer, { fill: null, root: cells[0] });
      }
      count += done.length;
      saved += done.length * lens.saved;
    }
    if (stop === hull) break;
  }
  return { layers, count, saved };
}
