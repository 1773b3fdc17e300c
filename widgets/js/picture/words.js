/** What boxes and matches are called, in the picture and for screen readers. */

import { clip, textWidth } from "../shared/measuring.js";

/** @import { Box, Edge, Hull } from "./types.js" */

/** @type {Record<string, string>} */
export const CHANGE_WORDS = { kept: "kept", added: "added", removed: "removed", changed: "changed" };
/** @type {Record<string, string>} */
export const HULL_WORDS = { match: "match", winner: "winner", lost: "lost", "near-miss": "near miss" };
/** @type {Record<string, string>} */
export const HULL_PLURALS = { match: "matches", winner: "winners", lost: "lost", "near-miss": "near misses" };
/** Words that already name the kind of a hull. @type {Record<string, RegExp>} */
const HULL_NAMED = {
  match: /\bmatch(es)?\b/,
  winner: /\b(winner|won)\b/,
  lost: /\blost\b/,
  "near-miss": /\bnear miss(es)?\b/,
};
/** @type {Record<string, string>} */
export const MODE_WORDS = { diff: "Diff", before: "Before", after: "After", side: "Side by side" };
/** @type {Record<string, string>} */
export const COLOUR_WORDS = {
  change: "kind",
  kind: "kind",
  time: "time",
  memory: "bytes",
  order: "order",
  value: "value",
  fold: "fold",
};
/** @type {Record<string, string>} */
export const GROUP_WORDS = { plates: "plates", score: "score", fold: "level + fold key", none: "none", scope: "scope" };

/** The sizes of the title and of the detail of a box, and of the title that is alone in it; how far these two may grow. */
const [TITLE, DETAIL, FAR_TITLE] = [12.5, 11, 18];
const [MAX_GROWTH, MAX_FAR_GROWTH] = [1.44, 1.7];
/** Least size of a title on the screen, in pixels, as long as the box has room for it. */
const LEAST = 11;
const GROWTH_STEP = 0.04;

/** @param {number} size @param {number} k @param {number} most */
const growth = (size, k, most) =>
  Math.min(most, Math.max(1, Math.ceil(LEAST / (size * k) / GROWTH_STEP) * GROWTH_STEP));

/** How much larger words are drawn at a scale, so that they stay legible. @param {number} k */
export const growthAt = (k) => ({
  near: growth(TITLE, k, MAX_GROWTH),
  far: growth(FAR_TITLE, k, MAX_FAR_GROWTH),
  least: Math.max(TITLE, LEAST / k),
});

/** As many of the first parts of a text as fit, or else a part of the first one. @param {string} words @param {string} between @param {number} size @param {number} room @param {boolean} [bold] */
function fitting(words, between, size, room, bold = false) {
  const parts = words.split(between);
  while (parts.length > 1 && textWidth(parts.join(between), size, bold) > room) parts.pop();
  return clip(parts.join(between), size, room, bold);
}

/**
 * The texts in a box and their positions; if there is no room for the title, there is still room for its number.
 * @param {Box} box @param {{near: number, far: number, least: number}} [grown]
 */
export function wordsOf(box, { near, far, least } = { near: 1, far: 1, least: TITLE }) {
  const inset = box.kind === "input" || box.kind === "leaf" ? 6 : 0;
  const left = -box.w / 2 + 30 + inset;
  const room = box.w - 38 - 2 * inset;
  const two = box.h >= 36 && box.detail !== "";
  /** @param {number} size @param {number} most */
  const titled = (size, most) => {
    const after = box.numbered && ` ${box.numbered}`;
    return fitting(box.title, " ", size, most - (after ? textWidth(after, size, true) : 0), true) + after;
  };
  const alone = box.w - 34 - inset;
  const farSize = Math.max(
    Math.min(least, FAR_TITLE * far),
    Math.min(FAR_TITLE * far, (FAR_TITLE * alone) / textWidth(first(box), FAR_TITLE, true)),
  );
  return {
    left,
    two,
    title: titled(TITLE * near, room),
    detail: two ? fitting(box.detail, ", ", DETAIL * near, room) : "",
    far: titled(farSize, alone),
    farSize,
  };
}

/** The first word of a title, or all of a numbered one. @param {Box} box */
const first = ({ title, numbered }) => (numbered ? `${title} ${numbered}` : title.split(" ")[0]) || "x";

/** The words at a plate in full: in the picture they may be cut. @param {Box} box */
export const captionsOf = ({ plate }) => (plate ? [plate.calls, plate.news, plate.reads].filter(Boolean) : []);

/** At most this many names of cells are part of the description of a plate. */
const MAX_NAMES = 4;

/** The number and the name of the layer of a cell: `#12 root`. @param {Box} box @param {number} index */
export function cellWords({ plate }, index) {
  const layer = plate?.cells[index] ?? -1;
  return layer < 0 ? "" : [`#${layer}`, plate?.names[index]].filter(Boolean).join(" ");
}

/** The names of the cells of a plate, the first ones if they are many. @param {Box} box */
function namesIn({ plate }) {
  const names = (plate?.names || []).filter(Boolean);
  const more = names.length > MAX_NAMES ? [`and ${names.length - MAX_NAMES} more names`] : [];
  return [...names.slice(0, MAX_NAMES), ...more].join(", ");
}

/** A description of a box, for screen readers and the tooltip. @param {Box} box */
export function describeBox(box) {
  const many = box.folds > 1 ? `${box.folds} slices` : box.count > 1 ? `${box.count} layers` : "";
  const parts = [
    box.title,
    box.detail,
    many,
    namesIn(box),
    ...captionsOf(box),
    `level ${box.level}`,
    box.change === "kept" ? "" : CHANGE_WORDS[box.change],
  ];
  parts.push(box.matched ? "matched" : "", box.fillText);
  parts.push(...(box.plate?.times || []).map((bar) => bar.text), ...box.badges.map((badge) => badge.text));
  return parts.filter(Boolean).join(", ");
}

/** What a line says: its ends, how the output is read and what that copies, whether it is new. @param {Edge} edge */
export function edgeFacts({ source, target, change, count, copiedBytes: copied, label }) {
  const read = copied && label ? `${label} copied per example` : label;
  const many = count > 1 ? `${count} edges` : "";
  const state = [many, change === "kept" ? "" : CHANGE_WORDS[change]].filter(Boolean).join(" · ");
  return [`${target.title} reads ${source.title}`, read, state].filter(Boolean);
}

/** The name of a match with its kind, unless the name or the reason already tells the kind. @param {Hull} hull */
export function nameHull(hull) {
  const name = hull.label || hull.id;
  const named = HULL_NAMED[hull.kind];
  return named && named.test(`${name} ${hull.reason}`) ? name : `${name}, ${HULL_WORDS[hull.kind] || hull.kind}`;
}

/** A match in a sentence: `SumCollapse, lost to Candecomp (by weight)`. @param {Hull} hull */
export function describeHull(hull) {
  const { reason } = hull;
  if (!reason) return nameHull(hull);
  if (/^(lost|won)\b/.test(reason)) return `${hull.label || hull.id}, ${reason}`;
  return `${nameHull(hull)}. ${reason[0].toUpperCase()}${reason.slice(1)}`;
}
