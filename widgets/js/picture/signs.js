/** The signs at the corners of a box: they say without colour what changed, what matched and which category it has. */

import { CHANGES, MATCHED, inkOn } from "../shared/theme.js";
import { rise } from "./shapes.js";
import { pillOf } from "./words.js";

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {import("./types.js").Picture} Picture
 * @typedef {{sign: string, fill: string, ink: string, stroke: string}} Sign
 */

/** The distance between two signs. */
export const SIGN_STEP = 18;
export const BADGE_STEP = 19;
export const MAX_BADGES = 4;

/** @param {Box} box @param {Picture} picture @param {Record<string, string>} roles @returns {Sign[]} */
export function signsOf(box, picture, roles) {
  const { change } = box;
  const letter = box.category !== null && picture.colourBy !== "change" ? picture.signs.get(box.category) : "";
  /** @type {(Sign | false)[]} */
  const signs = [
    change !== "kept" && {
      sign: CHANGES[change].sign,
      fill: roles[change],
      ink: roles[inkOn(change)],
      stroke: roles.box,
    },
    box.matched && { sign: MATCHED, fill: roles.matched, ink: roles.onMatched, stroke: roles.matchedLine },
    Boolean(letter && letter.length <= 2) && {
      sign: letter || "",
      fill: roles.panel,
      ink: roles.fg,
      stroke: roles.kept,
    },
  ];
  return signs.filter((sign) => sign !== false);
}

/** Colours of a badge. @param {string} tone @param {Record<string, string>} roles */
export function badgeColours(tone, roles) {
  const role = tone in roles ? tone : "info";
  return { fill: roles[role], ink: roles[inkOn(role)] };
}

/**
 * The pill with the number of nodes or folds, and its place at the top right.
 * @param {Box} box @param {(words: string) => number} widthOf
 */
export function placePill(box, widthOf) {
  const pill = pillOf(box);
  if (!pill) return null;
  const width = 13 + widthOf(pill.words);
  return { ...pill, width, right: box.w / 2 + 6 + rise(box), y: -box.h / 2 - rise(box) };
}
