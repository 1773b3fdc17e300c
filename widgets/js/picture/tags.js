/** The outlines and tags of hulls, and the labels of edges, at the places that Python chose. */

import { clip, textWidth } from "../shared/measuring.js";
import { HULLS } from "../shared/theme.js";
import { around } from "./shapes.js";
import { HULL_WORDS } from "./words.js";

/** @import { Box, Edge, Hull, Picture, Rect } from "./types.js" */

/** @typedef {{at: Rect, words: string, sign: string}} Tag */
/** @typedef {{hull: Hull, d: string, tag: Tag | null}} LaidHull */

const [TAG_WIDEST, LABEL_WIDEST] = [260, 130];

/** Hulls as drawn: the outline, and a tag with its name. @param {Picture} picture @returns {LaidHull[]} */
export function layHulls(picture) {
  const signs = new Map(picture.legend.filter((item) => item.channel === "hull").map((item) => [item.role, item.sign]));
  return picture.hulls.map((hull) => {
    const d = hull.outline || boundsOf(hull.boxes);
    if (!hull.tag) return { hull, d, tag: null };
    const words = clip(hull.label || HULL_WORDS[hull.kind] || hull.kind, 11, TAG_WIDEST);
    const { x, y } = hull.tag;
    const at = { l: x, t: y, r: x + 24 + textWidth(words, 11), b: y + 18 };
    return { hull, d, tag: { at, words, sign: signs.get(hull.kind) || HULLS[hull.kind]?.sign || "•" } };
  });
}

/** The rectangle around boxes, for a hull without an outline. @param {Box[]} boxes */
function boundsOf(boxes) {
  const rects = boxes.map((box) => around(box, 8));
  const [l, t] = [Math.min(...rects.map((rect) => rect.l)), Math.min(...rects.map((rect) => rect.t))];
  const [r, b] = [Math.max(...rects.map((rect) => rect.r)), Math.max(...rects.map((rect) => rect.b))];
  return `M${l} ${t}H${r}V${b}H${l}Z`;
}

/** The labels of edges; one without room appears in the inspector only. @param {Picture} picture */
export function layLabels(picture) {
  /** @type {{edge: Edge, words: string, at: Rect}[]} */
  const labels = [];
  for (const edge of picture.edges) {
    const words = clip(edge.label || (edge.count > 1 ? `${edge.count} ×` : ""), 10, LABEL_WIDEST);
    if (!words || !edge.labelAt) continue;
    const [half, { x, y }] = [(10 + textWidth(words, 10)) / 2, edge.labelAt];
    labels.push({ edge, words, at: { l: x - half, t: y - 8, r: x + half, b: y + 8 } });
  }
  return labels;
}
