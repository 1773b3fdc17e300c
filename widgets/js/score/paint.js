/** The shapes of a score on a canvas, or with a pen that writes SVG. */

import { roleColour } from "../shared/theme.js";

/**
 * @typedef {import("../shared/theme.js").Palette} Palette
 * @typedef {import("./reading.js").Mark} Mark
 * @typedef {import("./reading.js").Area} Area
 */

/** Depth of a body: at least so many pixels, and a share of its thickness. Of its room, a body has at most a share. */
const [DEPTH, SLANT, ROOM] = [2, 0.35, 0.8];
/** The least radius of a dot, and of one with a sign in it. */
const [LEAST, LEGIBLE] = [2.5, 6];
/** Lines of what is selected or lit are so wide. */
const SELECTED = 3;

/** The radius of a dot: half its room at most. @param {Area} area */
export const radiusOf = ({ width, height }) => Math.max(LEAST, Math.min(height, width / 2 - 0.5));

/** Whether a dot has room for its sign. @param {Area} area */
export const hasSign = (area) => radiusOf(area) >= LEGIBLE;

/** @param {any} pen @param {Mark} mark @param {Area} area @param {Palette} palette @param {boolean} selected or lit */
export function paintMark(pen, mark, area, palette, selected) {
  const { left, top, width, height } = area;
  if (mark.shape === "body") return paintBody(pen, mark, area, palette);
  if (mark.shape === "text") return;
  pen.beginPath();
  if (mark.shape === "arc") {
    const bend = top - (height * 4) / 3;
    pen.moveTo(left, top);
    pen.bezierCurveTo(left, bend, left + width, bend, left + width, top);
  } else if (mark.shape === "dot") {
    const radius = radiusOf(area);
    pen.roundRect(left - radius, top - radius, 2 * radius, 2 * radius, radius);
  } else {
    const radius = Math.min(mark.radius, width / 2, height / 2);
    if (radius > 0.5) pen.roundRect(left, top, Math.max(0.5, width), height, radius);
    else pen.rect(left, top, Math.max(0.5, width), height);
  }
  const fill = mark.shape !== "dot" ? mark.fill : selected || radiusOf(area) < LEGIBLE ? mark.stroke : "panel";
  if (fill && mark.shape !== "arc") {
    pen.fillStyle = roleColour(fill, palette);
    pen.fill();
  }
  if (!mark.stroke) return;
  pen.strokeStyle = roleColour(selected && mark.shape === "rect" ? "accent" : mark.stroke, palette);
  pen.lineWidth = selected ? SELECTED : mark.shape === "dot" ? 1.6 : mark.width;
  pen.setLineDash(mark.dash);
  pen.stroke();
  pen.setLineDash([]);
}

/** A slab, seen from the right and from above. @param {any} pen @param {Mark} mark @param {Area} area @param {Palette} palette */
function paintBody(pen, mark, { left: middle, top, width: room, height }, palette) {
  const whole = Math.min(DEPTH + mark.thick * (1 + SLANT), room * ROOM);
  const thick = Math.max(0.5, (whole - DEPTH) / (1 + SLANT));
  const depth = Math.min(whole - thick, DEPTH + thick * SLANT);
  const [left, right, bottom] = [middle - (thick + depth) / 2, middle + (thick - depth) / 2, top + height];
  const alpha = pen.globalAlpha;
  const front = [left, top, right, top, right, bottom, left, bottom];
  const lid = [left, top, left + depth, top - depth, right + depth, top - depth, right, top];
  const side = [right, top, right + depth, top - depth, right + depth, bottom - depth, right, bottom];
  for (const [points, opacity, colour] of /** @type {[number[], number, string][]} */ ([
    [front, 1, roleColour(mark.fill, palette)],
    [lid, 0.6, roleColour(mark.fill, palette)],
    [side, 1, roleColour(mark.fill, palette)],
    [side, 0.3, "#000"],
  ])) {
    pen.globalAlpha = alpha * opacity;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.moveTo(points[0], points[1]);
    for (let at = 2; at < points.length; at += 2) pen.lineTo(points[at], points[at + 1]);
    pen.lineTo(points[0], points[1]);
    pen.fill();
  }
  pen.globalAlpha = alpha;
}
