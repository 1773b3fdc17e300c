/** Edges, hulls and their tags on a canvas. */

import { FONT } from "../shared/measuring.js";
import { hullStyle, lineOf } from "../picture/fills.js";
import { moved } from "../picture/motion.js";

/**
 * @typedef {import("./canvas_box.js").Brush} Brush
 * @typedef {import("../shared/theme.js").Palette} Palette
 * @typedef {import("../picture/types.js").Edge} Edge
 * @typedef {import("../picture/types.js").Hull} Hull
 * @typedef {import("../picture/types.js").Marks} Marks
 * @typedef {import("../picture/types.js").Picture} Picture
 * @typedef {import("../picture/types.js").Point} Point
 * @typedef {import("../picture/types.js").Rect} Rect
 * @typedef {import("../picture/tags.js").LaidHull} LaidHull
 */

/** Below this scale edges are straight, without heads. */
const PLAIN = 0.35;
/** Later ones are drawn over earlier ones. */
const ORDER = ["kept", "changed", "removed", "added"];

/**
 * The line and the head of its arrow.
 * @param {any} pen @param {Point[]} points @param {boolean} plain
 */
function trace(pen, points, plain) {
  const [before, tip] = [points[points.length - 2], points[points.length - 1]];
  pen.moveTo(points[0].x, points[0].y);
  for (let index = 1; index < points.length; index += 1) {
    const [p, q] = [points[index - 1], points[index]];
    const turns = Boolean(p.flat) !== Boolean(q.flat);
    if (turns) pen.lineTo(p.flat ? q.x : p.x, p.flat ? p.y : q.y);
    if (plain || turns) pen.lineTo(q.x, q.y);
    else if (p.flat) pen.bezierCurveTo((p.x + q.x) / 2, p.y, (p.x + q.x) / 2, q.y, q.x, q.y);
    else pen.bezierCurveTo(p.x, (p.y + q.y) / 2, q.x, (p.y + q.y) / 2, q.x, q.y);
  }
  if (plain) return;
  const { flat } = tip;
  const [back, out] = [-7 * (Math.sign(flat ? tip.x - before.x : tip.y - before.y) || 1), 4];
  pen.moveTo(tip.x + (flat ? back : -out), tip.y + (flat ? -out : back));
  pen.lineTo(tip.x, tip.y);
  pen.lineTo(tip.x + (flat ? back : out), tip.y + (flat ? out : back));
}

/** The points of an edge whose boxes are at `a` and `b`. @param {Edge} edge @param {Point} a @param {Point} b */
function pointsAt(edge, a, b) {
  const [from, to] = [
    { x: a.x - edge.source.x, y: a.y - edge.source.y },
    { x: b.x - edge.target.x, y: b.y - edge.target.y },
  ];
  return from.x || from.y || to.x || to.y ? moved(edge, from, to) : edge.points;
}

/**
 * Draw the edges that can be seen, one path for each change; then those of the marked boxes.
 * @param {Brush} brush @param {Picture} picture @param {Palette} palette @param {Marks} marks @param {number} k
 * @param {Rect} sight @param {Map<string, Point>} now
 */
export function paintEdges({ pen }, picture, palette, marks, k, sight, now) {
  const plain = k < PLAIN;
  pen.lineCap = "butt";
  for (const change of ORDER) {
    pen.beginPath();
    let style = null;
    for (const edge of picture.edges) {
      if (edge.change !== change) continue;
      const [a, b] = [now.get(edge.source.id), now.get(edge.target.id)];
      if (!a || !b || !isSeen(a, b, sight)) continue;
      style = style || lineOf(edge, palette);
      trace(pen, pointsAt(edge, a, b), plain);
    }
    if (!style) continue;
    pen.strokeStyle = style.stroke;
    pen.lineWidth = Math.max(style.width, 0.6 / k);
    pen.globalAlpha = plain ? 0.5 : 1;
    pen.setLineDash(plain ? [] : style.dash);
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }
  const near = marks.hover ? new Set([marks.hover]) : marks.selected;
  if (!near.size) return;
  pen.beginPath();
  for (const edge of picture.edges) {
    if (near.has(edge.source.id) || near.has(edge.target.id)) trace(pen, edge.points, false);
  }
  pen.strokeStyle = palette.roles.accent;
  pen.lineWidth = Math.max(2.4, 1.6 / k);
  pen.stroke();
}

/** @param {Point} a @param {Point} b @param {Rect} sight */
const isSeen = (a, b, { l, t, r, b: bottom }) =>
  Math.max(a.x, b.x) >= l && Math.min(a.x, b.x) <= r && Math.max(a.y, b.y) >= t && Math.min(a.y, b.y) <= bottom;

/**
 * @param {Brush} brush @param {LaidHull[]} hulls @param {Hull | null} lit @param {Palette} palette @param {number} k
 */
export function paintHulls({ pen, hatch }, hulls, lit, palette, k) {
  for (const { hull, d } of hulls) {
    const style = hullStyle(hull.kind, palette);
    const path = new Path2D(d);
    const dim = lit && lit !== hull ? 0.3 : 1;
    pen.globalAlpha = (hull.kind === "near-miss" || hull.kind === "lost" ? 0.6 : 0.22) * dim;
    pen.fillStyle = style.hatch ? hatch(style.stroke) : style.fill;
    pen.fill(path);
    pen.globalAlpha = dim;
    pen.strokeStyle = style.stroke;
    pen.lineWidth = Math.max(style.width, 1 / k);
    pen.setLineDash(style.dash);
    pen.stroke(path);
    pen.setLineDash([]);
  }
  pen.globalAlpha = 1;
}

/** @param {Brush} brush @param {LaidHull[]} hulls @param {Palette} palette */
export function paintTags({ pen, panel, write }, hulls, palette) {
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  for (const { hull, tag } of hulls) {
    if (!tag) continue;
    const { l, t, r } = tag.at;
    const { stroke } = hullStyle(hull.kind, palette);
    panel({ x: l, y: t, w: r - l, h: 18, r: 9 }, palette.roles.panel, stroke, 1.2);
    write(`11px ${FONT}`, palette.roles.fg, `${tag.sign}  ${tag.words}`, l + 7, t + 9.5);
  }
}
