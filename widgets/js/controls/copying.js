/** Copying the picture as SVG: as it is on the screen, in one piece, to the clipboard or else to a file. */

import { copyOrSave, escaped, insideOf, svgFile } from "../shared/svg_file.js";
import { isPresenting } from "../parts/state.js";
import { svgScene } from "../scenes/svg.js";
import { barOf, isThin, linesOfParts, livePath, namesOf, peakOf, spansOf } from "../picture/buffers.js";

/** @import { Pane } from "../parts/stage.js" */

/** How long the button says what was done. */
const SAID_MS = 2000;
/** Around the buffers of a program, which are below the picture. */
const MARGIN = 16;

/** @param {import("../graph.js").Page} page */
export function makeCopying({ ui: { make, doc, textButton, guard, timers, announce }, store: { state }, stage }) {
  const label = "Copy SVG";
  const buttons = [0, 1].map(() => textButton(label, () => copy(), { title: "Copy the picture as SVG" }));

  /** The picture as an SVG file. */
  function svgText() {
    const panes = stage.panes();
    const { width, height } = stage.viewport();
    const parts = panes.map((pane, at) => {
      const name = panes.length > 1 ? pane.title.textContent : "";
      const title = `<text x="10" y="22" font-size="13" font-weight="600" fill="${state.palette.roles.fg}">${escaped(name)}</text>`;
      return `<g transform="translate(${at * width} 0)">${drawingOf(pane, width, height)}${name ? title : ""}</g>`;
    });
    const shown = panes.flatMap(({ picture }) => picture?.buffers ?? []);
    const memory = shown.map((buffers, at) => {
      const drawing = buffersSvg(buffers, width - 2 * MARGIN, state.palette.roles);
      return `<g transform="translate(${at * width + MARGIN} ${height + MARGIN})">${drawing}</g>`;
    });
    const below = shown.length ? Math.max(...shown.map(buffersHeight)) + 2 * MARGIN : 0;
    const inside = parts.concat(memory).join("");
    return svgFile(panes.length * width, height + below, state.palette.roles.ground, inside);
  }

  /** @param {Pane} pane @param {number} width @param {number} height */
  function drawingOf(pane, width, height) {
    const { scene, picture, kind } = pane;
    if (kind !== "canvas" || !picture) return (scene.canvasSvg?.() ?? "") + insideOf(scene.list);
    // Its boxes are on a canvas because they are many: draw them once as elements.
    const twin = svgScene(make, () => state.palette);
    pane.element.appendChild(twin.stage);
    try {
      twin.recolour();
      twin.show(picture, new Map());
      twin.frame(1);
      twin.look(state.camera, width, height);
      return insideOf(twin.list);
    } finally {
      twin.close();
    }
  }

  async function copy() {
    const done = await copyOrSave(doc, svgText(), `step-${state.step}.svg`);
    for (const button of buttons) button.textContent = done;
    announce(`${done} as SVG.`);
    timers.after("copied", SAID_MS, () => buttons.forEach((button) => (button.textContent = label)));
  }

  return {
    /** One for the tool bar, one for slides. */
    button: buttons[0],
    slideButton: buttons[1],
    reads: /** @type {const} */ (["picture", "view"]),
    draw: guard(() => {
      for (const button of buttons) button.hidden = !state.picture?.boxes.length;
      buttons[1].hidden ||= !isPresenting(state);
    }),
  };
}
/** @typedef {ReturnType<typeof makeCopying>} Copying */

/** Heights of the drawing, of the layers below it, of the words above and below them, and of a line; width of the axis. */
const [HEIGHT, BAND, ABOVE, BELOW, LINE, AXIS] = [150, 24, 38, 34, 18, 64];
/** Lower bars have no label, nor do those that are narrower than theirs. */
const [MIN_LABEL_HEIGHT, CHARACTER] = [14, 6.6];

/** @param {import("../picture/buffers.js").Buffers} shown */
const heightOfLayers = ({ layers, undrawnLayers }) => (layers.length || undrawnLayers ? BAND : 0);

/** The height of the drawing. @param {import("../picture/buffers.js").Buffers} shown */
export const buffersHeight = (shown) =>
  HEIGHT + ABOVE + BELOW + heightOfLayers(shown) + LINE * Math.max(0, linesOfParts(shown) - 1);

/**
 * @param {import("../picture/buffers.js").Buffers} shown @param {number} width @param {Record<string, string>} roles colours
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
