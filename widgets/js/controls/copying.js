/** Copying the picture as SVG: as it is on the screen, in one piece, to the clipboard or else to a file. */

import { copyOrSave, escaped, insideOf, svgFile } from "../shared/svg_file.js";
import { isPresenting } from "../parts/state.js";
import { buffersHeight, buffersSvg } from "../picture/buffers_svg.js";
import { svgScene } from "../scenes/svg.js";

/** @typedef {import("../parts/stage.js").Pane} Pane */

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
    svgText,
    reads: /** @type {const} */ (["picture", "view"]),
    draw: guard(() => {
      for (const button of buttons) button.hidden = !state.picture?.boxes.length;
      buttons[1].hidden ||= !isPresenting(state);
    }),
  };
}
/** @typedef {ReturnType<typeof makeCopying>} Copying */
