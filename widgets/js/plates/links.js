/** Missed folds: dotted lines between plates, and the reason in words, as SVG elements. */

import { PLATES, WORDS } from "./look.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../picture/types.js").Link} Link
 * @typedef {{link: Link, group: any, texts: any[]}} DrawnLink
 */

const LINE = PLATES.lines.height;
/** Below this scale the words are shown only at a lit link. */
const WORDED = 0.6;

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

/** Where the reason is: in the room that it has, or else at the middle of the line. @param {Link} link */
function reasonPoint({ at, points }) {
  const [one, other] = [points[1], points[points.length - 2]];
  return at || { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
}

/**
 * Lay out the words for a scale; `lit`: the pointer or the selection is at the link.
 * @param {DrawnLink} drawn @param {number} k @param {number} least size of the text on the screen, in pixels
 * @param {boolean} lit
 */
export function layLink({ link, group, texts }, k, least, lit) {
  const { x, y } = reasonPoint(link);
  const size = Math.max(WORDS.reason.size, least / k);
  const shown = lit || (Boolean(link.at) && k >= WORDED);
  group.setAttribute("class", `ce-link${lit ? " ce-lit" : ""}`);
  texts.forEach((text, line) => {
    text.setAttribute("visibility", shown ? "visible" : "hidden");
    text.setAttribute("font-size", size.toFixed(2));
    text.setAttribute("x", x);
    text.setAttribute("y", y + LINE * size * (line + PLATES.ascent));
  });
}

export const STYLE = `
.ce-link-line{fill:none;stroke:var(--ce-nearMiss);stroke-width:${PLATES.link.width}px;stroke-dasharray:${PLATES.link.dash.join(" ")};stroke-linecap:round;vector-effect:non-scaling-stroke}
.ce-link-reach{fill:none;stroke:transparent;stroke-width:14px;pointer-events:stroke;vector-effect:non-scaling-stroke}
.ce-stage .ce-link:hover text.ce-plate-reason{visibility:visible}
.ce-link.ce-lit .ce-link-line,.ce-link:hover .ce-link-line{stroke-width:3.5px}
`;
