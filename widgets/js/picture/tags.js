/** Places of the tags of hulls and of the labels of edges, clear of boxes and of each other. */

import { clip, textWidth } from "../shared/measuring.js";
import { HULLS } from "../shared/theme.js";
import { along } from "./curves.js";
import { MAX_HULLS, MAX_ROUTED_BOXES } from "./limits.js";
import { cover, outline } from "./outlines.js";
import { around, meets, rise } from "./shapes.js";
import { HULL_WORDS, pillOf } from "./words.js";

/**
 * @typedef {import("./types.js").Hull} Hull
 * @typedef {import("./types.js").Picture} Picture
 * @typedef {import("./types.js").Rect} Rect
 */

/** @typedef {{at: Rect, words: string, sign: string}} Tag */
/** @typedef {{hull: Hull, d: string, tag: Tag | null}} LaidHull */

/**
 * Hulls as drawn: the outline, and a tag at a corner clear of boxes and of other tags.
 * @param {Picture} picture @param {Rect[]} [words] what tags must not cover, either @returns {LaidHull[]}
 */
export function layHulls(picture, words = []) {
  /** @type {Map<string, number>} */
  const depth = new Map();
  /** @type {Rect[]} */
  const taken = picture.boxes.length <= MAX_ROUTED_BOXES ? picture.boxes.map((box) => around(box, 1)) : [];
  taken.push(...words);
  const tags = picture.hulls.length <= MAX_HULLS;
  const signs = new Map(picture.legend.filter((item) => item.channel === "hull").map((item) => [item.role, item.sign]));
  return picture.hulls.map((hull) => {
    const level = Math.max(...hull.boxes.map((box) => depth.get(box.id) || 0));
    for (const box of hull.boxes) depth.set(box.id, level + 1);
    const rects = cover(hull.boxes, 8 + 5 * (level % 3));
    const d = outline(rects);
    if (!tags) return { hull, d, tag: null };
    const all = {
      l: Math.min(...rects.map((rect) => rect.l)),
      t: Math.min(...rects.map((rect) => rect.t)),
      r: Math.max(...rects.map((rect) => rect.r)),
      b: Math.max(...rects.map((rect) => rect.b)),
    };
    const top = rects.reduce((best, rect) => (rect.t < best.t ? rect : best));
    const low = rects.reduce((best, rect) => (rect.b > best.b ? rect : best));
    const words = clip(hull.label || HULL_WORDS[hull.kind] || hull.kind, 11, 260);
    const width = 24 + textWidth(words, 11);
    const places = [
      [top.l + 2, all.t - 10],
      [top.r - width - 2, all.t - 10],
      [low.l + 2, all.b - 8],
      [low.r - width - 2, all.b - 8],
      [top.l + 2, all.t - 27],
      [low.l + 2, all.b + 9],
      [all.r - 6, (top.t + top.b) / 2 - 9],
      [all.l - width + 6, (top.t + top.b) / 2 - 9],
    ].map(([l, t]) => ({ l, t, r: l + width, b: t + 18 }));
    const at = places.find((place) => !taken.some((rect) => meets(rect, place))) || places[0];
    taken.push(at);
    return { hull, d, tag: { at, words, sign: signs.get(hull.kind) || HULLS[hull.kind]?.sign || "•" } };
  });
}

/**
 * Positions of edge labels: on the line, clear of boxes and of each other; labels without room appear in the inspector.
 * @param {Picture} picture @param {Rect[]} taken
 */
export function layLabels(picture, taken) {
  if (picture.boxes.length > MAX_ROUTED_BOXES) return [];
  const pills = picture.boxes.filter(pillOf).map((box) => {
    const [right, top] = [box.x + box.w / 2 + rise(box), box.y - box.h / 2 - rise(box)];
    return { l: right - 50, t: top - 10, r: right + 8, b: top + 10 };
  });
  const rects = [...picture.boxes.map((box) => around(box, 2)), ...pills, ...taken];
  const labels = [];
  for (const edge of picture.edges) {
    const words = clip(edge.label || edge.read || (edge.count > 1 ? `${edge.count} ×` : ""), 10, 130);
    if (!words) continue;
    const width = 10 + textWidth(words, 10);
    for (const t of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]) {
      const middle = along(edge, t);
      const at = { l: middle.x - width / 2, t: middle.y - 8, r: middle.x + width / 2, b: middle.y + 8 };
      if (rects.some((rect) => meets(rect, at))) continue;
      rects.push(at);
      labels.push({ edge, words, at });
      break;
    }
  }
  return labels;
}
