/** The bars with their whiskers over one axis, as SVG; dots with intervals where the axis is logarithmic. */

import { clip, textWidth } from "../shared/measuring.js";
import { TONES } from "../shared/theme.js";
import { placeOn } from "./reading.js";
import { makeTextures } from "./textures.js";
import { describeBar, shown, tonesOf, valueWords } from "./words.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../shared/theme.js").Palette} Palette
 * @typedef {import("./reading.js").Bar} Bar
 * @typedef {import("./reading.js").Bars} Bars
 * @typedef {{left: number, room: number, full: number, labels: number, series: number, several: boolean}} Columns
 * The axis begins at `left` and is `room` wide; `labels` and `series` are the widths of the columns before it.
 */

const [ROW, TOP] = [24, 26];
/** Width without a measurement, and the least one. */
const [WIDTH, MIN_WIDTH, MIN_ROOM] = [760, 320, 80];

/** @param {Bars} all @param {number} width of the element, 0 if unknown @returns {Columns} */
function columnsOf(all, width) {
  const several = all.series.length > 1;
  const full = Math.max(MIN_WIDTH, (width || WIDTH) - 26);
  const labels = Math.min(0.32 * full, 12 + Math.max(0, ...all.bars.map((bar) => textWidth(bar.label, 12, true))));
  const series = several ? Math.min(110, 12 + Math.max(...all.series.map((name) => textWidth(name, 11)))) : 0;
  const values = all.bars.map((bar) => (bar.value === null ? 0 : textWidth(valueWords(bar, all.unit), 12)));
  const left = labels + series;
  return { left, room: Math.max(MIN_ROOM, full - left - 16 - Math.max(40, ...values)), full, labels, series, several };
}

/**
 * @param {Make} make @param {Bars} all @param {Palette} palette @param {number} width of the element, 0 if unknown
 * @param {string} name a prefix of ids
 */
export function chartOf(make, all, palette, width, name) {
  const { s } = make;
  const textures = makeTextures(make, palette, `${name}-bar`);
  const columns = columnsOf(all, width);
  const { left, full, several } = columns;
  const draw = rowMaker(make, all, palette, columns, textures);
  let y = TOP;
  const rows = all.bars.map((bar, index) => {
    const same = index > 0 && all.bars[index - 1].label === bar.label;
    if (index) y += same ? ROW - 3 : ROW + (several ? 8 : 3);
    return s("g", { transform: `translate(0 ${y})`, "data-bar": index }, draw(bar, same));
  });
  const bottom = y + ROW / 2 + 4;
  const unit = `${all.unit}${all.log ? ", logarithmic" : ""}`;
  const counts = tonesOf(all).map(
    (tone) => `${all.bars.filter((bar) => bar.tone === tone).length} ${TONES[tone].words}`,
  );
  const summary = `${all.title}: ${all.bars.length} ${all.log ? "dots" : "bars"} in ${unit}${counts.length ? `; ${counts.join(", ")}` : ""}.`;
  const size = { width: full, height: bottom + 20, viewBox: `0 0 ${full} ${bottom + 20}` };
  return s(
    "svg",
    { ...size, role: "img", "aria-label": `${summary} The table has the same values.` },
    textures.defs(),
    axisParts(s, all, palette, columns, bottom),
    s("text", { class: "ceb-quiet", x: left, y: bottom + 9, text: unit }),
    rows,
  );
}

/**
 * Lines and numbers of the axis; a number that would touch the one before is left out.
 * @param {Make["s"]} s @param {Bars} all @param {Palette} palette @param {Columns} columns @param {number} bottom
 */
function axisParts(s, all, { roles }, { left, room }, bottom) {
  let edge = -Infinity;
  return all.axis.ticks.flatMap(({ value, text }) => {
    const x = left + room * placeOn(all, value);
    const line = s("path", { d: `M${x} 14V${bottom}`, stroke: roles.line, "stroke-width": 1 });
    const half = textWidth(text, 11) / 2;
    if (x - half < edge + 8) return [line];
    edge = x + half;
    return [line, s("text", { class: "ceb-quiet", x, y: 6, "text-anchor": "middle", text })];
  });
}

/**
 * @param {Make} make @param {Bars} all @param {Palette} palette @param {Columns} columns
 * @param {import("./textures.js").Textures} textures
 */
function rowMaker({ s }, all, { roles }, columns, textures) {
  const { left, room, full, several } = columns;
  const { log } = all;
  /** @param {number} value */
  const at = (value) => placeOn(all, value);
  const zero = log ? 0 : at(0);
  const missing = textures.missing();

  /** Why a bar has no length; empty if it has one. @param {Bar} bar */
  const whyNot = ({ value, missing: reason }) =>
    value === null
      ? reason || "no value"
      : log && value <= 0
        ? `${shown(value)} ${all.unit} cannot be shown on a logarithmic axis`
        : "";

  /** @param {string} text */
  const gap = (text) => [
    s("rect", {
      x: left,
      y: -8,
      width: 46,
      height: 16,
      rx: 2,
      fill: missing,
      stroke: roles.control,
      "stroke-dasharray": "3 3",
    }),
    s("text", { class: "ceb-quiet", x: left + 54, text: clip(text, 11, full - left - 60) }),
  ];

  /** @param {Bar} bar @param {number} value */
  const valueParts = (bar, value) => {
    const look = textures.lookOf(Math.max(0, all.series.indexOf(bar.series)), bar.tone);
    const [from, to] = [Math.min(zero, at(value)), Math.max(zero, at(value))];
    const size = { x: left + room * from, y: -8, width: Math.max(1.5, room * (to - from)), height: 16, rx: 2 };
    const { low, high } = bar;
    const whisker = low !== null && high !== null && (!log || low > 0) ? [at(low), at(high)] : null;
    const end = whisker ? Math.max(to, whisker[1]) : to;
    const interval = whisker ? whiskerParts(left + room * whisker[0], left + room * whisker[1]) : [];
    const mark = log
      ? [...interval, dotOf(left + room * at(value), all.series.indexOf(bar.series), look)]
      : [s("rect", { class: "ceb-bar", ...size, fill: look.fill, stroke: look.colour }), ...interval];
    return [...mark, s("text", { x: left + room * end + 7, text: valueWords(bar, all.unit) })];
  };

  /**
   * A length on a logarithmic axis means nothing, so a value is a dot: a circle, or a diamond in every second series.
   * @param {number} x @param {number} series @param {import("./textures.js").Look} look
   */
  const dotOf = (x, series, { colour }) => {
    const style = { class: "ceb-bar ceb-dot", fill: colour, stroke: roles.bg, "stroke-width": 1 };
    return series % 2 > 0
      ? s("path", { ...style, d: `M${x} -6.5L${x + 6.5} 0L${x} 6.5L${x - 6.5} 0Z` })
      : s("circle", { ...style, cx: x, cy: 0, r: 5.5 });
  };

  /** A line, and below it a halo that separates it from the bar. @param {number} a @param {number} b */
  const whiskerParts = (a, b) => {
    const line = { class: "ceb-whisker", d: `M${a} 0H${b}M${a} -5V5M${b} -5V5`, fill: "none" };
    return [
      s("path", { ...line, stroke: roles.bg, "stroke-width": 4.5 }),
      s("path", { ...line, stroke: roles.fg, "stroke-width": 1.6 }),
    ];
  };

  /** @param {Bar} bar @param {boolean} same whether the bar before has the same label */
  return (bar, same) => {
    const label = { class: "ceb-label", x: columns.labels - 10, "text-anchor": "end" };
    const series = { class: "ceb-quiet", x: left - 8, "text-anchor": "end" };
    const why = whyNot(bar);
    return [
      s("title", { text: [bar.label, bar.series, describeBar(bar, all.unit)].filter(Boolean).join(", ") }),
      !same && s("text", { ...label, text: clip(bar.label, 12, columns.labels - 12, true) }),
      several && s("text", { ...series, text: clip(bar.series, 11, columns.series - 8) }),
      ...(why ? gap(why) : valueParts(bar, bar.value || 0)),
    ];
  };
}
