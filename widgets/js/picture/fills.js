/** How a change, a match and a value look: fill, border, lines, hulls. */

import { CHANGES, HULLS, luminance, valueColour } from "../shared/theme.js";

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {import("./types.js").Edge} Edge
 * @typedef {import("./types.js").Picture} Picture
 */
/** @typedef {import("../shared/theme.js").Palette} Palette */

/**
 * The fill of a box: colour, text colour, and hatch ("removed", "missing" or none).
 * @param {Box} box @param {Picture} picture @param {Palette} palette
 * @returns {{fill: string, ink: string, hatch: string}}
 */
export function fillOf(box, picture, palette) {
  const { roles } = palette;
  const hatch = box.change === "removed" ? "removed" : "";
  if (palette.forced) return { fill: roles.box, ink: roles.fg, hatch };
  if (box.fill !== null) {
    const fill = valueColour(box.fill, palette);
    return { fill, ink: luminance(fill) > 0.18 ? "#000000" : "#ffffff", hatch };
  }
  if (["time", "memory", "fold"].includes(picture.colourBy) && box.category === null) {
    return { fill: roles.box, ink: roles.fg, hatch: hatch || "missing" };
  }
  if (box.category !== null && picture.colourBy !== "change") {
    return { fill: palette.categories[Math.abs(box.category) % palette.categories.length], ink: roles.fg, hatch };
  }
  if (picture.colourBy === "change") {
    if (box.matched) return { fill: roles.matchedFill, ink: roles.fg, hatch };
    if (box.change !== "kept") return { fill: roles[`${box.change}Fill`], ink: roles.fg, hatch };
  }
  return { fill: roles.box, ink: roles.fg, hatch };
}

/** @param {Box} box @param {Palette} palette @param {Picture} picture */
export function borderOf(box, palette, picture) {
  const { roles } = palette;
  if (box.change === "kept") {
    const matched = box.matched && picture.colourBy === "change";
    // On a strong fill the grey border, and with it the stack, would be invisible.
    if (box.fill !== null) return { stroke: roles.fg, width: 1, dash: /** @type {number[]} */ ([]) };
    return {
      stroke: matched ? roles.matchedLine : roles.kept,
      width: matched ? 1.8 : 1.2,
      dash: /** @type {number[]} */ ([]),
    };
  }
  return { stroke: roles[box.change], width: 2, dash: CHANGES[box.change].dash };
}

/** @param {Edge} edge @param {Palette} palette */
export function lineOf(edge, palette) {
  const width = Math.min(4, 1.2 + 0.35 * Math.log2(Math.max(1, edge.count)));
  return {
    stroke: edge.change === "kept" ? palette.roles.edge : palette.roles[edge.change],
    width: edge.change === "kept" ? width : width + 0.6,
    dash: CHANGES[edge.change].edgeDash,
  };
}

/** The outline of a hull. @param {string} kind @param {Palette} palette */
export function hullStyle(kind, { roles }) {
  const { line, fill, width, dash, hatch } = HULLS[kind] || HULLS.match;
  return { stroke: roles[line], fill: roles[fill], dash, width, hatch };
}
