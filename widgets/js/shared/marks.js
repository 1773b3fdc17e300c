/** Marks that Python decided: SVG elements as data, in which colours are roles. */

import { list, record } from "./reading.js";
import { roleColour } from "./theme.js";

/** Its tag, its text, its parts, and its other attributes. @typedef {Record<string, any>} Mark */

/** Minimum length of a bar, in pixels. */
const MIN_LENGTH = 1.5;

/** @param {any} value @returns {Mark[]} */
export const readMarks = (value) => list(value).map(record);

/**
 * `prefix`: makes the ids of patterns unique in the document.
 * @param {import("./elements.js").Make} make @param {Mark[]} marks @param {import("./theme.js").Palette} palette @param {string} [prefix]
 * @returns {any[]}
 */
export function markElements(make, marks, palette, prefix = "") {
  /** @param {string | undefined} role */
  const colour = (role) =>
    !role || role === "none"
      ? role
      : role.startsWith("url(")
        ? role.replace("#", `#${prefix}`)
        : roleColour(role, palette);
  return marks.map(({ tag, parts, id, fill, stroke, ...others }) => {
    const own = { ...others, id: id && prefix + id, fill: colour(fill), stroke: colour(stroke) };
    return make.s(tag, own, markElements(make, list(parts), palette, prefix));
  });
}

/**
 * Marks on an axis, of which `from` and `to` are shares of its length.
 * @param {Mark[]} marks @param {number} left @param {number} room @returns {Mark[]}
 */
export const placed = (marks, left, room) =>
  marks.map(({ from, to, parts, ...others }) => {
    const mark = parts ? { ...others, parts: placed(parts, left, room) } : others;
    if (from === undefined) return mark;
    const [start, end] = [left + room * from, left + room * (to ?? from)];
    if (mark.tag === "line") return { ...mark, x1: start, x2: end };
    if (to !== undefined) return { ...mark, x: start, width: Math.max(MIN_LENGTH, end - start) };
    return { ...mark, transform: `translate(${start} 0)` };
  });
