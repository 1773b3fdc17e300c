/** Missed folds: dotted lines between plates, and the reason in words, as SVG elements. */

import { textWidth } from "../shared/measuring.js";
import { meet } from "./titles.js";
import { PLATES, WORDS } from "./look.js";

/**
 * @import { Link, Pin, Point, Rect } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 */

/** @typedef {{link: Link, group: any, texts: any[]}} DrawnLink */

const LINE = PLATES.lines.height;
/** Distance of a reason from the side of its link, as a share of its size. */
const APART = 0.8;
/** So many places are tried on each side of a link. */
const SIDES = 6;

/** @param {Make} make @param {Link} link @returns {DrawnLink} */
export function linkElement({ s }, link) {
  const d = `M${link.points.map(({ x, y }) => `${x} ${y}`).join("L")}`;
  const texts = link.lines.map((line) => s("text", { class: "ce-plate-reason", text: line }));
  const group = s(
    "g",
    { class: "ce-link" },
    ["ce-link-line", "ce-link-reach"].map((name) => s("path", { d, class: name })),
    texts,
  );
  return { link, group, texts };
}

/**
 * Where the reason may be: in the room that it has, or else, if the link is lit, at the middle of the line or at a side of it.
 * @param {Link} link @param {number} width @param {number} height of the reason @param {boolean} lit @returns {Point[]}
 */
function reasonPoints({ at, points }, width, height, lit) {
  if (!lit) return at ? [at] : [];
  const [one, other] = [points[1], points[points.length - 2]];
  const [x, y] = [(one.x + other.x) / 2, (one.y + other.y) / 2];
  const [left, right] = [Math.min(...points.map((point) => point.x)), Math.max(...points.map((point) => point.x))];
  const sides = Array.from({ length: SIDES }, (_, at) => ((at + 1) * width) / 2).flatMap((by) =>
    [right + by, left - by].map((beside) => ({ x: beside, y: y - height / 2 })),
  );
  return [at || { x, y }, ...sides];
}

/**
 * Lay out the words for a scale, where they cover nothing; `lit`: the selection is at the link. At the pointer they are
 * always shown.
 * @param {DrawnLink} drawn @param {number} k @param {number} least size of the text on the screen, in pixels
 * @param {boolean} lit @param {readonly Rect[]} taken areas of other words and of cells
 * @returns {Rect[]} the area of the reason, if it is shown
 */
export function layLink({ link, group, texts }, k, least, lit, taken) {
  const size = Math.max(WORDS.reason.size, least / k);
  const width = Math.max(...link.lines.map((line) => textWidth(line, size)));
  const height = LINE * size * link.lines.length;
  /** @param {Point} point @returns {Rect} */
  const areaAt = ({ x, y }) => ({ l: x - width / 2, t: y, r: x + width / 2, b: y + height });
  const places = reasonPoints(link, width + 2 * APART * size, height, lit);
  const free = places.find((point) => !taken.some((area) => meet(areaAt(point), area)));
  const shown = Boolean(free);
  const { x, y } = free || reasonPoints(link, width, height, true)[0];
  group.setAttribute("class", `ce-link${lit ? " ce-lit" : ""}`);
  texts.forEach((text, line) => {
    text.setAttribute("visibility", shown ? "visible" : "hidden");
    text.setAttribute("font-size", size.toFixed(2));
    text.setAttribute("x", x);
    text.setAttribute("y", y + LINE * size * (line + PLATES.ascent));
  });
  return free ? [areaAt(free)] : [];
}

/**
 * Lay out all reasons, those first of links with a plate that is lit; a pin that was clicked lights its link without them.
 * @param {readonly DrawnLink[]} links @param {number} k @param {number} least size of the text on the screen, in pixels
 * @param {(plate: string) => boolean} isLit @param {Pin | undefined} pin
 * @param {readonly Rect[]} taken areas of other words and of cells
 */
export function layLinks(links, k, least, isLit, pin, taken) {
  const all = [...taken];
  const [lit, others] = [true, false].map((on) =>
    links.filter(({ link: { source, target } }) => (isLit(source.id) || isLit(target.id)) === on),
  );
  for (const one of lit) all.push(...layLink(one, k, least, true, all));
  for (const one of others) all.push(...layLink(one, k, least, false, all));
  if (pin?.kind !== "levels") return;
  for (const { link, group } of links)
    if (link.source.id === pin.nodes[0] && link.target.id === pin.nodes[1])
      group.setAttribute("class", "ce-link ce-lit");
}

export const STYLE = `
.ce-link-line{fill:none;stroke:var(--ce-nearMiss);stroke-width:${PLATES.link.width}px;stroke-dasharray:${PLATES.link.dash.join(" ")};stroke-linecap:round;vector-effect:non-scaling-stroke}
.ce-link-reach{fill:none;stroke:transparent;stroke-width:14px;pointer-events:stroke;vector-effect:non-scaling-stroke}
.ce-stage .ce-link:hover text.ce-plate-reason{visibility:visible}
.ce-link.ce-lit .ce-link-line,.ce-link:hover .ce-link-line{stroke-width:3.5px}
`;
