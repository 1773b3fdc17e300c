/** The names of matches on plates: as large as the words of plates, and never over each other or over a title. */

import { short } from "../picture/shapes.js";
import { areaOf, meet } from "./titles.js";
import { PLATES } from "./look.js";

/**
 * @typedef {import("../picture/types.js").Box} Box
 * @typedef {import("../picture/types.js").Rect} Rect
 * @typedef {import("../scenes/svg_lines.js").DrawnHull} DrawnHull
 * @typedef {import("./labels.js").Label} Label
 */

const { height: HEIGHT, sign: SIGN_WIDTH } = PLATES.tag;

/**
 * Place the tags of hulls, short ones first: what has no room is only a sign, or hidden. Words of plates below a tag, other
 * than titles, are hidden.
 * @param {DrawnHull[]} hulls @param {Box[]} boxes of the picture @param {Label[]} labels that are shown
 * @param {number} size of a tag, 1 for a graph's
 */
export function layTags(hulls, boxes, labels, size) {
  const right = Math.max(...boxes.map((box) => box.x + box.w / 2)) + SIGN_WIDTH;
  const titles = labels.map(({ texts }) => areaOf(texts[0]));
  /** @type {Rect[]} */
  const kept = [];
  const tagged = hulls.flatMap(({ tag, at }) => (tag && at ? [{ tag, at, width: at.r - at.l }] : []));
  for (const { tag, at, width } of tagged.sort((a, b) => a.width - b.width)) {
    const area = { l: Math.max(0, Math.min(at.l, right - width * size)), t: at.t, r: 0, b: at.t + HEIGHT * size };
    const whole = { ...area, r: area.l + width * size };
    const sign = { ...area, l: at.l, r: at.l + SIGN_WIDTH * size };
    const hasRoom = ![...kept, ...titles].some((other) => meet(whole, other));
    const isFree = ![...kept, ...titles].some((other) => meet(sign, other));
    const shown = hasRoom ? whole : isFree ? sign : null;
    tag.setAttribute("visibility", shown ? "visible" : "hidden");
    if (!shown) continue;
    kept.push(shown);
    tag.setAttribute("transform", `translate(${short(shown.l)} ${short(shown.t)}) scale(${short(size)})`);
    const [frame, , words] = tag.childNodes;
    frame.setAttribute("width", hasRoom ? width : SIGN_WIDTH);
    words.setAttribute("visibility", hasRoom ? "inherit" : "hidden");
  }
  for (const text of labels.flatMap(({ texts }) => texts.slice(1))) {
    const isCovered = text.textContent && kept.some((tag) => meet(tag, areaOf(text)));
    text.setAttribute("visibility", isCovered ? "hidden" : "inherit");
  }
}
