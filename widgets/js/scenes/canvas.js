/** A picture on a canvas. */

import { uniqueName } from "../shared/elements.js";
import { ease, frameOf, unframe } from "../shared/timing.js";
import { moved, startOf } from "../picture/motion.js";
import { layHulls } from "../picture/tags.js";
import { describeBox } from "../picture/words.js";
import { makeBrush, paintBox } from "./canvas_box.js";
import { NO_MARKS } from "../picture/marks.js";
import { FONT } from "../shared/measuring.js";
import { hullStyle, lineOf } from "../picture/fills.js";

/**
 * @import { LaidHull } from "../picture/tags.js"
 * @import { Box, Camera, Edge, Hull, Marks, Picture, Point, Rect, Scene } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 * @import { Palette } from "../shared/theme.js"
 * @import { Brush } from "./canvas_box.js"
 */

/** Words are drawn above this scale, and if fewer boxes than this are in sight. */
const [LEGIBLE, MAX_WORDED] = [0.45, 1500];
const TAGGED = 0.3;

/**
 * The same appearance as in SVG, for pictures of more than about a thousand boxes: less detail when zoomed out, and
 * nothing drawn outside the viewport. The keyboard reaches the boxes one at a time through a hidden option.
 * @param {Make} make @param {() => Palette} palette @returns {Scene}
 */
export function canvasScene(make, palette) {
  const { h } = make;
  const name = uniqueName("ce");
  const canvas = h("canvas", { class: "ce-canvas", "aria-hidden": "true" });
  const option = h("div", { role: "option", id: `${name}-option`, "aria-selected": "false", class: "ce-said" });
  const listbox = { role: "listbox", tabindex: "0", "aria-multiselectable": "true" };
  const stage = h("div", { class: "ce-stage", ...listbox, "aria-activedescendant": `${name}-option` }, canvas, option);
  const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
  const brush = makeBrush(make, pen);
  /** @type {Picture | null} */
  let picture = null;
  /** @type {Map<string, Point>} */
  let starts = new Map();
  /** @type {Map<string, Point>} */
  let now = new Map();
  let [width, height, t] = [0, 0, 1];
  /** @type {Camera} */
  let camera = { k: 1, x: 0, y: 0 };
  let marks = NO_MARKS;
  /** @type {import("../picture/tags.js").LaidHull[]} */
  let hulls = [];
  let waiting = 0;
  let closed = false;

  const later = () => {
    if (!waiting && !closed) waiting = frameOf(paint);
  };

  /** Clear the canvas and put the pen into the picture; returns what is in sight. @returns {Rect} */
  function begin() {
    const sharp = globalThis.devicePixelRatio || 1;
    const { k, x, y } = camera;
    if (canvas.width !== Math.round(width * sharp)) canvas.width = Math.round(width * sharp);
    if (canvas.height !== Math.round(height * sharp)) canvas.height = Math.round(height * sharp);
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.setTransform(sharp * k, 0, 0, sharp * k, sharp * (width / 2 - k * x), sharp * (height / 2 - k * y));
    const [across, down] = [width / 2 / k + 80, height / 2 / k + 60];
    return { l: x - across, t: y - down, r: x + across, b: y + down };
  }

  /** @param {Box} box @returns {Point} */
  function placeOf(box) {
    if (t >= 1) return box;
    const { at } = startOf(box, starts);
    const e = ease(t);
    return { x: at.x + (box.x - at.x) * e, y: at.y + (box.y - at.y) * e };
  }

  function paint() {
    waiting = 0;
    if (!pen || !picture || closed) return;
    const shown = picture;
    const colours = palette();
    const sight = begin();
    const { k } = camera;
    now = new Map(shown.boxes.map((box) => [box.id, placeOf(box)]));
    const lit = (marks.hull && shown.hulls.find((item) => item.id === marks.hull)) || null;
    const members = lit ? new Set(lit.boxes.map((box) => box.id)) : null;
    if (t >= 1) paintHulls(brush, hulls, lit, colours, k);
    paintEdges(brush, shown, colours, marks, k, sight, now);
    const seen = shown.boxes.filter((box) => {
      const { x, y } = now.get(box.id) || box;
      return x + box.w / 2 > sight.l && x - box.w / 2 < sight.r && y + box.h / 2 > sight.t && y - box.h / 2 < sight.b;
    });
    const words = k > LEGIBLE && seen.length < MAX_WORDED;
    for (const box of seen) {
      const { x, y } = now.get(box.id) || box;
      const faint = (members && !members.has(box.id)) || (marks.found && !marks.found.has(box.id));
      pen.globalAlpha = faint ? 0.3 : 1;
      pen.translate(x, y);
      paintBox(brush, box, colours, marks, k, words);
      pen.translate(-x, -y);
    }
    pen.globalAlpha = 1;
    if (t >= 1 && k > TAGGED) paintTags(brush, hulls, colours);
  }

  return {
    stage,
    list: stage,
    recolour() {
      brush.recolour();
      later();
    },
    show(shown, from) {
      picture = shown;
      starts = from;
      hulls = layHulls(shown);
      now = new Map(shown.boxes.map((box) => [box.id, box]));
      later();
    },
    frame(at) {
      t = at;
      later();
    },
    look(next, w, h) {
      camera = next;
      [width, height] = [w, h];
      later();
    },
    mark(next) {
      marks = next;
      const box = picture && (picture.byId.get(next.focus) || picture.boxes[0]);
      option.textContent = box ? describeBox(box) : "";
      option.setAttribute("aria-selected", String(Boolean(box && next.selected.has(box.id))));
      option.setAttribute("data-id", box ? box.id : "");
      later();
    },
    focus() {
      stage.focus({ preventScroll: true });
    },
    places: () => new Map(now),
    close() {
      closed = true;
      if (waiting) unframe(waiting);
      stage.remove();
    },
  };
}

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
