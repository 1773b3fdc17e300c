/** The colours of looks, which Python chose as roles; how lines and hulls look. */

import { CHANGES, HULLS, roleColour } from "../shared/theme.js";

/**
 * @import { Palette } from "../shared/theme.js"
 * @import { Box, Edge, Look } from "./types.js"
 */

/** Looks in the colours of a palette. @type {WeakMap<Look, {palette: Palette, painted: Look}>} */
const known = new WeakMap();

/** The look of a box in colours of the palette. @param {{look: Look}} box @param {Palette} palette @returns {Look} */
export function paintOf({ look }, palette) {
  const found = known.get(look);
  if (found?.palette === palette) return found.painted;
  const [fill, ink, stroke] = [look.fill, look.ink, look.stroke].map((role) => roleColour(role, palette));
  const signs = look.signs.map((one) => ({
    sign: one.sign,
    fill: roleColour(one.fill, palette),
    ink: roleColour(one.ink, palette),
    stroke: roleColour(one.stroke, palette),
  }));
  const hatch = palette.forced && look.hatch === "missing" ? "" : look.hatch;
  const painted = { ...look, fill, ink, stroke, signs, hatch };
  known.set(look, { palette, painted });
  return painted;
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
