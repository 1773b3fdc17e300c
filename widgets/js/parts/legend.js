/** The legend: the roles that occur in the picture, with small pictures of them, and the scale of its values. */

import { hullStyle } from "../picture/fills.js";
import { boxPath, isKind, symbolOf } from "../picture/shapes.js";
import { MARKS } from "../plates/look.js";
import { classes, setChildren, uniqueName } from "../shared/elements.js";
import { laneClass } from "../shared/lanes.js";
import { clip } from "../shared/measuring.js";
import { CHANGES, dashes, HULLS, inkOn, MATCHED, valueColour } from "../shared/theme.js";
import { hasLegend, isNarrow } from "./state.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../picture/types.js").LegendItem} LegendItem
 */

const STOPS = 10;

/** @param {Make} make @param {Readonly<import("./state.js").State>} state */
export function legendItems(make, { picture, palette }) {
  const { h } = make;
  const items = picture ? picture.legend : [];
  const scale = items.filter((item) => item.role === "scale");
  const roles = items.filter((item) => item.role !== "scale");
  return [
    ...(scale.length ? [scaleItem(make, scale, palette)] : []),
    ...roles.map((item) => h("li", {}, swatch(make, item, palette), h("span", { text: item.text }))),
  ];
}

/**
 * The ramp from the smallest to the largest value.
 * @param {Make} make @param {LegendItem[]} scale @param {import("../shared/theme.js").Palette} palette
 */
function scaleItem({ h, s }, scale, palette) {
  const id = `${uniqueName("ce")}-scale`;
  const stops = Array.from({ length: STOPS + 1 }, (_, index) =>
    s("stop", { offset: index / STOPS, "stop-color": valueColour(index / STOPS, palette) }),
  );
  const bar = s(
    "svg",
    { width: 120, height: 14, "aria-hidden": "true" },
    s("defs", {}, s("linearGradient", { id }, stops)),
    s("rect", { width: 120, height: 14, rx: 3, fill: `url(#${id})` }),
  );
  const high = scale.length > 1 ? scale[scale.length - 1].text : "";
  return h("li", {}, h("span", { text: scale[0].text }), bar, high ? h("span", { text: high }) : null);
}

/**
 * Below the picture; where there is little room, behind a button over it.
 * @param {import("../graph.js").Page} page
 */
export function makeLegend({ ui: { make, h }, store: { state } }) {
  const items = h("ul", { class: "ce-legend", "aria-label": "Legend" });
  const folded = h("details", {}, h("summary", { text: "Legend" }));
  const element = h("div", { class: "ce-legends" });
  return {
    element,
    reads: /** @type {const} */ (["picture", "palette", "options", "width", "roomy"]),
    draw() {
      items.replaceChildren(...legendItems(make, state));
      const folds = !state.roomy || isNarrow(state);
      if (folds) folded.appendChild(items);
      setChildren(element, [folds ? folded : items]);
      element.setAttribute("class", classes("ce-legends", folds && "ce-folded"));
      element.hidden = !hasLegend(state) || !items.childNodes.length;
    },
  };
}

export const STYLE = `
.ce-legend{display:flex;flex-wrap:wrap;align-items:center;gap:3px 14px;padding:5px 12px;margin:0;border-top:1px solid var(--ce-line);background:var(--ce-panel);font-size:12px;list-style:none}
.ce-legend li{display:inline-flex;align-items:center;gap:6px;margin:0;padding:0}
.ce-legend svg{flex:none}
.ce-side .ce-legend{flex-direction:column;align-items:flex-start;padding:0;border:0}
.ce-legends{position:relative;flex:none}
.ce-folded{border-top:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-folded summary{cursor:pointer;font-weight:600;min-height:26px;padding:3px 12px}
.ce-folded .ce-legend{position:absolute;left:0;right:0;bottom:100%;z-index:4;max-height:180px;overflow:auto;box-shadow:0 -2px 10px var(--ce-shade)}
`;

/**
 * @typedef {import("../shared/theme.js").Palette} Palette
 */

const BOX = { x: 1.5, y: 1.5, width: 23, height: 13, rx: 3 };
const MARK = { x: 13, y: 8.4, "text-anchor": "middle", "dominant-baseline": "central" };
const BOLD = { style: "font-size:10.5px;font-weight:700" };
/** Dash patterns of edges, shortened to fit. @type {Record<string, string>} */
const EDGE_DASHES = { removed: "4 3", changed: "6 2 1 2" };
/** Signs of edges and tones are cut to this width. */
const [SIGN_SIZE, SIGN_ROOM] = [10.5, 20];

/** @param {Make} make @param {LegendItem} item @param {Palette} palette */
export function swatch({ s }, item, palette) {
  const view = { viewBox: "0 0 26 16", width: 26, height: 16, "aria-hidden": "true" };
  return s("svg", view, swatchParts(s, item, palette));
}

/** @param {Make["s"]} s @param {LegendItem} item @param {Palette} palette @returns {any[]} */
function swatchParts(s, item, palette) {
  const { roles, categories } = palette;
  const { role, channel, sign } = item;
  /** @param {Record<string, any>} look */
  const box = (look) => s("rect", { ...BOX, ...look });
  /** @param {string} text @param {string} fill */
  const mark = (text, fill) => s("text", { ...MARK, fill, ...BOLD, text });
  const category = /^category-(\d+)$/.exec(role);

  if (channel === "cell") return cellParts(s, role, roles);
  if (channel === "line") return [lineOf(s, role, roles)];
  if (channel === "bar") return barParts(s, role);
  if (channel === "mark") return markParts(s, role, roles);
  if (channel === "shape" || isKind(role)) return kindParts(s, role, roles);
  if (channel === "hull") {
    const style = hullStyle(role, palette);
    const line = { stroke: style.stroke, "stroke-width": style.width, "stroke-dasharray": dashes(style.dash) };
    const tint = box({ rx: 6, fill: style.fill, "fill-opacity": 0.3 });
    return [tint, box({ rx: 6, fill: "none", ...line }), mark(sign || HULLS[role]?.sign || "", roles.fg)];
  }
  if (category) {
    const fill = categories[Number(category[1]) % Math.max(1, categories.length)] || roles.box;
    return [box({ fill, stroke: roles.kept }), mark(sign, roles.fg)];
  }
  if (role === "missing") {
    const hatch = { d: "M2 9L9 2M5 14L17 2M13 14L24 3M20 14l4-4", stroke: roles.hatch, "stroke-width": 1.6 };
    return [box({ fill: roles.box, stroke: roles.kept }), s("path", hatch)];
  }
  if (role in CHANGES) return channel === "edge" ? edgeParts(s, role, roles) : changeParts(s, item, roles);
  if (role === "matched" || role === "match") {
    const look = { fill: roles.matchedFill, stroke: roles.matchedLine, "stroke-width": 1.6 };
    return [box(look), mark(sign || MATCHED, roles.fg)];
  }
  if (role === "count") return [box({ rx: 6.5, fill: roles.panel, stroke: roles.fg }), mark("N", roles.fg)];
  if (role === "stack") {
    const card = { width: 18, height: 10, rx: 3, fill: roles.box, stroke: roles.kept };
    return [5, 2.5, 0].map((by) => s("rect", { x: 1 + by, y: 5.5 - by, ...card }));
  }
  if (channel === "edge") {
    const copies = /gather|cat|cop/.test(`${role} ${item.text}`);
    const [fill, stroke] = copies ? [roles.copyFill, roles.copy] : [roles.freeFill, roles.free];
    const frame = box({ rx: 4, fill, stroke, "stroke-dasharray": copies ? null : "2 2" });
    return [frame, mark(clip(sign, SIGN_SIZE, SIGN_ROOM, true), stroke)];
  }
  const tone = role in roles;
  const ink = (tone && roles[inkOn(role)]) || roles.fg;
  const badge = box({ x: 4, width: 18, rx: 5, fill: tone ? roles[role] : roles.box, stroke: roles.kept });
  return [badge, mark(clip(sign, SIGN_SIZE, SIGN_ROOM, true), ink)];
}

/** A line; that of a missed fold is dotted. @param {Make["s"]} s @param {string} role @param {Record<string, string>} roles */
function lineOf(s, role, roles) {
  const dotted = role === "nearMiss" ? { "stroke-dasharray": "2 4", "stroke-linecap": "round" } : {};
  return s("path", { d: "M1 8h24", stroke: roles[role], "stroke-width": 2.2, ...dotted });
}

/**
 * A kind of box: its outline and its symbol.
 * @param {Make["s"]} s @param {string} kind @param {Record<string, string>} roles
 */
function kindParts(s, kind, roles) {
  const outline = { d: boxPath(kind, 23, 13), transform: "translate(13 8)", fill: roles.box, stroke: roles.kept };
  const pen = { fill: "none", stroke: roles.fg, "stroke-width": 2, "stroke-linecap": "round" };
  return [s("path", outline), s("path", { d: symbolOf(kind), transform: "translate(7.8 2.8) scale(.65)", ...pen })];
}

/**
 * The cell of a kind of layer; three that are apart, or closed up.
 * @param {Make["s"]} s @param {string} role @param {Record<string, string>} roles
 */
function cellParts(s, role, roles) {
  const stroke = roles.kept;
  if (role !== "apart" && role !== "folded")
    return [s("rect", { ...BOX, fill: roles[role] || roles.operator, stroke })];
  const width = role === "apart" ? 6 : 8;
  const cells = [1, 9, 17].map((x) => s("rect", { x, y: 2, width, height: 12, fill: roles.operator, stroke }));
  const frame = s("rect", { x: 1, y: 2, width: 24, height: 12, fill: "none", stroke: roles.fg, "stroke-width": 2 });
  return role === "apart" ? cells : [...cells, frame];
}

/** The half bar of a lane. @param {Make["s"]} s @param {string} lane */
const barParts = (s, lane) => [
  s("rect", { x: 1, y: 5, width: 24, height: 6, class: "ce-lane-track" }),
  s("rect", { x: 1, y: 5, width: 15, height: 6, class: laneClass(lane) }),
];

/** The mark of a cell. @param {Make["s"]} s @param {string} role @param {Record<string, string>} roles */
function markParts(s, role, roles) {
  const look = MARKS[role] || MARKS.matched;
  const [stroke, dash] = [roles[look.line], dashes(look.dash)];
  const cross = role === "lost" ? "M7 2l12 12M19 2L7 14" : "";
  return [s("path", { d: `M7 2h12v12H7z${cross}`, fill: "none", stroke, "stroke-width": 2, "stroke-dasharray": dash })];
}

/** An edge that was changed. @param {Make["s"]} s @param {string} change @param {Record<string, string>} roles */
function edgeParts(s, change, roles) {
  const stroke = change === "kept" ? roles.edge : roles[change];
  const line = { d: "M1 8h18", stroke, "stroke-width": 2, "stroke-dasharray": EDGE_DASHES[change] };
  return [s("path", line), s("path", { d: "M25 8l-7-4v8z", fill: stroke })];
}

/** A box that was changed. @param {Make["s"]} s @param {LegendItem} item @param {Record<string, string>} roles */
function changeParts(s, { role, sign }, roles) {
  const kept = role === "kept";
  const fill = kept ? roles.box : roles[`${role}Fill`];
  const stroke = { stroke: kept ? roles.kept : roles[role], "stroke-width": kept ? 1.2 : 2 };
  const inner = { x: 4, y: 4, width: 18, height: 8, rx: 1.5, fill: "none", stroke: roles.changed };
  return [
    s("rect", { ...BOX, fill, ...stroke, "stroke-dasharray": role === "removed" ? "4 3" : null }),
    role === "changed" && s("rect", inner),
    s("text", { ...MARK, fill: roles.fg, ...BOLD, text: sign || CHANGES[role].sign }),
  ];
}
