/** The buffers of a program over time as SVG text, for the clipboard: what `explorer/views/buffers.py` draws. */

import { barOf, isThin, linesOfParts, livePath, namesOf, peakOf, spansOf } from "./buffers.js";
import { escaped } from "../shared/svg_file.js";

/** Heights of the drawing, of the layers below it, of the words above and below them, and of a line; width of the axis. */
const [HEIGHT, BAND, ABOVE, BELOW, LINE, AXIS] = [150, 24, 38, 34, 18, 64];
/** Lower bars have no label, nor do those that are narrower than theirs. */
const [MIN_LABEL_HEIGHT, CHARACTER] = [14, 6.6];

/** @param {import("./buffers.js").Buffers} shown */
const heightOfLayers = ({ layers, undrawnLayers }) => (layers.length || undrawnLayers ? BAND : 0);

/** The height of the drawing. @param {import("./buffers.js").Buffers} shown */
export const buffersHeight = (shown) =>
  HEIGHT + ABOVE + BELOW + heightOfLayers(shown) + LINE * Math.max(0, linesOfParts(shown) - 1);

/**
 * @param {import("./buffers.js").Buffers} shown @param {number} width @param {Record<string, string>} roles colours
 * @returns {string} elements
 */
export function buffersSvg(shown, width, roles) {
  const [across, bottom] = [(width - AXIS) / 100, ABOVE + HEIGHT + heightOfLayers(shown)];
  /** @param {number} percent */
  const x = (percent) => Math.round((AXIS + percent * across) * 10) / 10;
  /** @param {number} percent */
  const y = (percent) => Math.round((ABOVE + (percent * HEIGHT) / 100) * 10) / 10;
  /** @param {number} left @param {number} top @param {string} words @param {string} [anchor] @param {string} [colour] */
  const text = (left, top, words, anchor = "start", colour = roles.fg) =>
    `<text x="${left}" y="${top}" font-size="12" text-anchor="${anchor}" fill="${colour}">${escaped(words)}</text>`;
  const ticks = shown.ticks.map(({ at, text: words }) => {
    const top = y(100 - (100 * at) / Math.max(1, shown.height));
    const line = `<path d="M${AXIS} ${top}H${width}" stroke="${roles.line}"/>`;
    return line + text(AXIS - 6, top + 4, words, "end", roles.muted);
  });
  const bars = shown.buffers.map((buffer) => {
    const bar = barOf(buffer, shown);
    const [left, top, wide, high] = [x(bar.x), y(bar.y), bar.width * across, (bar.height * HEIGHT) / 100];
    const fill = roles[buffer.kind] || roles.operator;
    const size = `width="${Math.round(wide * 10) / 10}" height="${Math.round(high * 10) / 10}"`;
    const border = isThin(bar) ? "" : ` stroke="${roles.panel}" stroke-width=".75"`;
    const rect = `<rect x="${left}" y="${top}" ${size} fill="${fill}"${border}/>`;
    const fits = high >= MIN_LABEL_HEIGHT && wide >= buffer.label.length * CHARACTER + 8;
    return rect + (fits ? text(left + 4, top + 12, buffer.label, "start", roles.onCell) : "");
  });
  if (!shown.live.length) return text(0, 12, shown.text) + ticks.join("") + bars.join("");
  const peak = peakOf(shown);
  const scale = `translate(${AXIS} ${ABOVE}) scale(${across} ${HEIGHT / 100})`;
  const line = `fill="none" stroke="${roles.fg}" vector-effect="non-scaling-stroke"`;
  const live = `<path transform="${scale}" d="${livePath(shown)}" ${line} stroke-width="1.5" stroke-dasharray="4 3"/>`;
  const stem = `<path d="M${x(peak.x)} ${ABOVE - 4}V${y(peak.y)}" stroke="${roles.fg}"/>`;
  const anchor = peak.x > 50 ? "end" : "start";
  const names = [
    text(x(peak.x), ABOVE - 7, peak.text, anchor),
    text(AXIS, bottom + 15, shown.moments[0] ?? "", "start", roles.muted),
    text(x(50), bottom + 15, "time →", "middle", roles.muted),
    text(width, bottom + 15, shown.moments[shown.moments.length - 1] ?? "", "end", roles.muted),
  ];
  const borders = spansOf(shown).map(({ x: at, text: words, line: row }) => {
    const end = bottom + 32 + LINE * row;
    const border = `<path d="M${x(at)} ${ABOVE}V${end}" stroke="${roles.accent}" stroke-width="2"/>`;
    const [off, side] = row && at > 50 ? [-5, "end"] : [5, "start"];
    return border + text(x(at) + off, end - 2, words, side, roles.muted);
  });
  const count = Math.max(1, shown.moments.length);
  const layers = shown.layers.map((span) => {
    const [left, wide] = [x((100 * span.start) / count), (100 * (span.end - span.start) * across) / count];
    const fill = roles[span.kind] || roles.operator;
    const size = `width="${Math.round(wide * 10) / 10}" height="${BAND - 4}"`;
    const rect = `<rect x="${left}" y="${ABOVE + HEIGHT + 3}" ${size} fill="${fill}" stroke="${roles.panel}" stroke-width=".75"/>`;
    const label = namesOf(span).find((one) => wide >= one.length * CHARACTER + 6);
    return rect + (label ? text(left + wide / 2, ABOVE + HEIGHT + 17, label, "middle", roles.onCell) : "");
  });
  const undrawn = shown.undrawnLayers ? text(AXIS, ABOVE + HEIGHT + 16, shown.undrawnLayers, "start", roles.muted) : "";
  return [text(0, 12, shown.text), ...ticks, stem, ...bars, ...layers, undrawn, ...borders, live, ...names].join("");
}
