/** The map of the whole picture with what is in sight, while that is not all of it: where it covers fewest boxes. */

import { paintOf } from "../picture/fills.js";
import { isCompact } from "./state.js";

/** @import { Box, Picture } from "../picture/types.js" */

const [WIDTH, HEIGHT, EDGE] = [300, 200, 4];
/** Minimum height of the stage for the map to leave room for the buttons. */
const MIN_STAGE = 300;
/** The whole picture is in sight up to this factor. */
const ZOOMED = 1.08;

/** Its size on the screen, and its distance from the edges of the stage. */
const [SHOWN_WIDTH, SHOWN_HEIGHT, OFF] = [150, 100, 10];
/** Room for the words above and below a plate. */
const [ABOVE, BELOW] = [30, 60];
const CORNERS = /** @type {const} */ (["bottom-right", "bottom-left", "bottom-middle", "top-left", "top-middle"]);
/** @typedef {typeof CORNERS[number]} Corner */

/**
 * The corner of the stage in which the map covers least of the boxes.
 * @param {readonly Box[]} boxes @param {import("../picture/types.js").Camera} camera
 * @param {{width: number, height: number}} viewport @param {readonly Corner[]} corners
 * @returns {Corner}
 */
export function cornerFor(boxes, { k, x, y }, { width, height }, corners = CORNERS) {
  /** @param {Corner} corner */
  function covered(corner) {
    const right = width - OFF - SHOWN_WIDTH;
    const left = corner.endsWith("left") ? OFF : corner.endsWith("middle") ? (width - SHOWN_WIDTH) / 2 : right;
    const top = corner.startsWith("top") ? OFF : height - OFF - SHOWN_HEIGHT;
    let area = 0;
    for (const box of boxes) {
      const [above, below] = box.plate ? [ABOVE, BELOW] : [0, 0];
      const [l, r] = [width / 2 + k * (box.x - box.w / 2 - x), width / 2 + k * (box.x + box.w / 2 - x)];
      const [t, b] = [box.y - box.h / 2 - above, box.y + box.h / 2 + below].map((at) => height / 2 + k * (at - y));
      const across = Math.min(r, left + SHOWN_WIDTH) - Math.max(l, left);
      const down = Math.min(b, top + SHOWN_HEIGHT) - Math.max(t, top);
      if (across > 0 && down > 0) area += across * down;
    }
    return area;
  }
  return corners.reduce((best, corner) => (covered(corner) < covered(best) ? corner : best));
}

/** @param {import("../graph.js").Page} page */
export function makeMinimap({ ui: { h, guard }, store: { state }, stage, camera }) {
  const element = h("canvas", { class: "ce-map", width: WIDTH, height: HEIGHT, "aria-hidden": "true", hidden: true });
  const pen = typeof element.getContext === "function" ? element.getContext("2d") : null;
  /** Where the picture is on the map. @type {{k: number, ox: number, oy: number} | null} */
  let scale = null;

  /** @param {Box} box @param {ReadonlySet<string>} selected */
  function colourOf(box, selected) {
    const { roles } = state.palette;
    if (box.change !== "kept") return roles[box.change];
    if (selected.has(box.id)) return roles.accent;
    const { fill } = paintOf(box, state.palette);
    return fill === roles.box ? roles.kept : fill;
  }

  /** @param {Picture} picture */
  function paint(picture) {
    const k = Math.min((WIDTH - 2 * EDGE) / picture.width, (HEIGHT - 2 * EDGE) / picture.height);
    const [ox, oy] = [(WIDTH - k * picture.width) / 2, (HEIGHT - k * picture.height) / 2];
    scale = { k, ox, oy };
    const selected = new Set(state.selection);
    pen.clearRect(0, 0, WIDTH, HEIGHT);
    for (const box of picture.boxes) {
      const [x, y] = [ox + k * (box.x - box.w / 2), oy + k * (box.y - box.h / 2)];
      pen.fillStyle = colourOf(box, selected);
      pen.fillRect(x, y, Math.max(2, k * box.w), Math.max(2, k * box.h));
    }
    const { width, height } = stage.viewport();
    const [w, d] = [width / state.camera.k, height / state.camera.k];
    pen.strokeStyle = state.palette.roles.accent;
    pen.lineWidth = 3;
    pen.strokeRect(ox + k * (state.camera.x - w / 2), oy + k * (state.camera.y - d / 2), k * w, k * d);
  }

  /** @param {any} event */
  function jump(event) {
    const rect = element.getBoundingClientRect();
    if (!scale || !rect.width) return;
    const x = (((event.clientX - rect.left) * WIDTH) / rect.width - scale.ox) / scale.k;
    const y = (((event.clientY - rect.top) * HEIGHT) / rect.height - scale.oy) / scale.k;
    camera.moveTo({ k: state.camera.k, x, y });
  }
  const drag = (/** @type {any} */ event) => {
    if (event.buttons & 1) jump(event);
  };
  element.addEventListener("pointerdown", guard(jump));
  element.addEventListener("pointermove", guard(drag));

  function draw() {
    const panes = stage.panes();
    const shown = panes.length === 1 ? panes[0].picture : null;
    const picture = shown?.score ? null : shown; // a row is as high as the view
    const zoomed = state.camera.k >= camera.whole().k * ZOOMED;
    const room = !state.showTable && stage.viewport().height >= MIN_STAGE;
    element.hidden = !picture || !picture.boxes.length || !zoomed || !room;
    if (!picture || element.hidden) return;
    const corners = isCompact(state) ? CORNERS.slice(0, 3) : CORNERS; // a notebook has buttons at the top
    element.setAttribute("data-corner", cornerFor(picture.boxes, state.camera, stage.viewport(), corners));
    if (pen) paint(picture);
  }
  return {
    element,
    draw,
    reads: /** @type {const} */ (["picture", "palette", "camera", "selection", "showTable", "options"]),
  };
}

export const STYLE = `
.ce-map{position:absolute;right:${OFF}px;bottom:${OFF}px;width:${SHOWN_WIDTH}px;height:${SHOWN_HEIGHT}px;border:1px solid var(--ce-line);border-radius:6px;background:var(--ce-panel);box-shadow:0 1px 4px var(--ce-shade);cursor:pointer}
[data-moving=true] .ce-map{visibility:hidden}
.ce-map[data-corner$=left]{right:auto;left:${OFF}px}
.ce-map[data-corner$=middle]{right:auto;left:calc(50% - ${SHOWN_WIDTH / 2}px)}
.ce-map[data-corner^=top]{bottom:auto;top:${OFF}px}
`;
