/** Edges with their labels, and hulls with their tags, as SVG elements. */

import { dashes } from "../shared/theme.js";
import { hullStyle, lineOf } from "../picture/fills.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../shared/theme.js").Palette} Palette
 * @typedef {import("../picture/types.js").Edge} Edge
 * @typedef {import("../picture/types.js").Rect} Rect
 * @typedef {import("../picture/tags.js").LaidHull} LaidHull
 * @typedef {{edge: Edge, group: any, line: any, head: any, label: any}} DrawnEdge
 * @typedef {{hull: import("../picture/types.js").Hull, group: any, tag: any, at: Rect | null}} DrawnHull
 */

/**
 * An edge without its path, which changes as its boxes move.
 * @param {Make} make @param {Edge} edge @param {Palette} palette @param {{words: string, at: Rect} | undefined} label
 * @returns {DrawnEdge}
 */
export function edgeElement({ s }, edge, palette, label) {
  const style = lineOf(edge, palette);
  const stroke = { stroke: style.stroke, "stroke-width": style.width, "stroke-dasharray": dashes(style.dash) };
  const line = s("path", { class: "ce-line", ...stroke });
  const head = s("path", { class: "ce-tip", fill: style.stroke });
  const pill = label ? labelElement(s, edge, palette.roles, label) : null;
  const group = s("g", { class: `ce-edge ce-is-${edge.change}` }, line, head, pill);
  return { edge, line, head, label: pill, group };
}

/**
 * How an edge reads: a copy has a solid frame, a view a dotted one.
 * @param {Make["s"]} s @param {Edge} edge @param {Record<string, string>} roles
 * @param {{words: string, at: Rect}} label
 */
function labelElement(s, edge, roles, { words, at }) {
  const [fill, ink] = edge.copiedBytes > 0 ? [roles.copyFill, roles.copy] : [roles.freeFill, roles.free];
  const look = edge.read
    ? { rx: 4, fill, stroke: ink, "stroke-dasharray": edge.copiedBytes > 0 ? null : "2 2" }
    : { rx: 8, fill: roles.ground, stroke: roles.line };
  const text = { x: (at.r - at.l) / 2, y: 8.5, fill: edge.read ? ink : roles.muted, text: words };
  return s(
    "g",
    { class: `ce-edge-label${edge.read ? "" : " ce-plain"}`, transform: `translate(${at.l} ${at.t})` },
    s("rect", { width: at.r - at.l, height: 16, ...look }),
    s("text", text),
  );
}

/**
 * @param {Make} make @param {LaidHull} laid @param {Palette} palette @param {(hatch: string) => string} hatchUrl
 * @returns {DrawnHull}
 */
export function hullElement({ s }, { hull, d, tag }, palette, hatchUrl) {
  const style = hullStyle(hull.kind, palette);
  const line = { stroke: style.stroke, "stroke-width": style.width, "stroke-dasharray": dashes(style.dash) };
  const group = s(
    "g",
    { class: `ce-hull ce-hull-${hull.kind}`, "data-hull": hull.id },
    s("path", { d, fill: style.fill, class: "ce-tint" }),
    style.hatch ? s("path", { d, fill: hatchUrl("lost"), class: "ce-lost-hatch" }) : null,
    s("path", { d, fill: "none", ...line, "stroke-linecap": "round" }),
  );
  if (!tag) return { hull, group, tag: null, at: null };
  const place = { "data-hull": hull.id, transform: `translate(${tag.at.l} ${tag.at.t})` };
  const element = s(
    "g",
    { class: `ce-tag ce-tag-${hull.kind}`, ...place },
    s("rect", { width: tag.at.r - tag.at.l, height: 18, rx: 9, stroke: style.stroke }),
    s("text", { class: "ce-tag-sign", x: 10, y: 9.5, fill: style.stroke, text: tag.sign }),
    s("text", { x: 18, y: 9.5, text: tag.words }),
  );
  return { hull, group, tag: element, at: tag.at };
}
