/** The framed signs at the corners of a box: what changed, what matched, its category, how many it is, its badges. */

import { clip, textWidth } from "../shared/measuring.js";
import { inkOn, roleColour } from "../shared/theme.js";
import { rise } from "./shapes.js";

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {{name: string, x: number, y: number, w: number, h: number, r: number, fill: string, stroke: string, ink: string,
 *   words: string, font: string}} Corner  words in a frame of rounded corners around (x, y)
 */

/** Distances between the middles of two signs, and of two badges. */
const [SIGN_STEP, BADGE_STEP] = [18, 19];
const MAX_BADGES = 4;

/**
 * Signs at the upper left, the number of layers or folds at the upper right, badges at the lower right.
 * @param {Box} box @param {import("./types.js").Look} look in colours @param {import("../shared/theme.js").Palette} palette
 * @returns {Corner[]}
 */
export function cornersOf(box, look, palette) {
  const [right, bottom] = [box.w / 2, box.h / 2];
  const signs = look.signs.map(({ sign, ...colours }, index) => ({
    ...{ name: "ce-sign", x: -right + 3 + index * SIGN_STEP, y: -bottom, w: 16, h: 16, r: 8 },
    ...{ ...colours, words: sign, font: "700 12px" },
  }));
  const badges = box.badges.slice(0, MAX_BADGES).map((badge, index) => {
    const isLast = box.badges.length > MAX_BADGES && index === MAX_BADGES - 1;
    const words = isLast ? "…" : clip(badge.sign, 10, 24, true) || "!";
    const w = Math.max(17, 9 + textWidth(words, 10.5, true));
    const role = badge.tone in palette.roles ? badge.tone : "info";
    const [fill, ink, stroke] = [role, inkOn(role), "box"].map((one) => roleColour(one, palette));
    const x = right + 4 - index * BADGE_STEP - w / 2;
    return { name: "ce-badge", x, y: bottom, w, h: 17, r: 5, fill, stroke, ink, words, font: "700 10.5px" };
  });
  return [...signs, ...pillOf(box, palette.roles), ...badges];
}

/** @param {Box} box @param {Record<string, string>} roles @returns {Corner[]} */
function pillOf(box, { fg, panel }) {
  if (!box.pill) return [];
  const w = 13 + textWidth(box.pill, 11, true);
  const [fill, ink] = box.folds > 1 ? [fg, panel] : [panel, fg];
  const place = { x: box.w / 2 + 6 + rise(box) - w / 2, y: -box.h / 2 - rise(box), w, h: 18, r: 9 };
  return [{ name: "ce-pill", ...place, fill, stroke: fg, ink, words: box.pill, font: "600 11px" }];
}
