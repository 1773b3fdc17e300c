/** Marks that Python decided: SVG elements as data, in which colours are roles. */

import { list, record } from "./reading.js";
import { roleColour } from "./theme.js";

/** Its tag, its text, and its other attributes. @typedef {Record<string, any>} Mark */

/** @param {any} value @returns {Mark[]} */
export const readMarks = (value) => list(value).map(record);

/** @param {import("./elements.js").Make} make @param {Mark[]} marks @param {import("./theme.js").Palette} palette */
export function markElements({ s }, marks, palette) {
  const colour = (/** @type {string} */ role) => (role && role !== "none" ? roleColour(role, palette) : role);
  return marks.map(({ tag, fill, stroke, ...others }) =>
    s(tag, { ...others, fill: colour(fill), stroke: colour(stroke) }),
  );
}
