/** The state after some matches of a step: their layers as the rewrites leave them, in the places that they had before. */

import { paintCells } from "./paint.js";

/**
 * @typedef {import("./paint.js").Canvas} Canvas
 * @typedef {import("./paint.js").Shown} Shown
 * @typedef {Map<number, {kind: string | null, root: number}>} Done
 */

/** A layer that is gone is drawn this faintly. */
const GONE = 0.14;
/** Cells smaller than this on the screen, in pixels, have no tick. */
const TICKED = 14;

/** Whether a rewrite removed a layer. @param {Done} done @param {number} layer */
const isGone = (done, layer) => (done.get(layer)?.root ?? layer) !== layer;

/** The cells with those faint that are gone. @param {Shown[]} cells @param {Done} done */
export const rewritten = (cells, done) =>
  cells.map((shown) => (isGone(done, shown.cell.layer) ? { ...shown, alpha: GONE * shown.alpha } : shown));

/**
 * Where lines begin and end: what read a layer that is gone, or was read by it, is connected with the one that replaces it.
 * @param {Shown[]} cells @param {Done | null} done
 */
export function areasByBox(cells, done) {
  const byLayer = done && new Map(cells.map(({ cell, area }) => [cell.layer, area]));
  /** @type {Map<string, import("./cells.js").Area[]>} */
  const found = new Map();
  for (const { cell, area } of cells) {
    const root = done?.get(cell.layer)?.root;
    const own = found.get(cell.box.id) || [];
    if (!own.length) found.set(cell.box.id, own);
    own[cell.index] = (root === undefined ? undefined : byLayer?.get(root)) ?? area;
  }
  return found;
}

/** The new layers, with a tick, over the ones that they replace. @param {Canvas} canvas @param {import("../picture/types.js").Box} box @param {Shown[]} cells @param {Done} done */
export function paintDone(canvas, box, cells, done) {
  const { pen, palette, k } = canvas;
  for (const shown of cells) {
    const { cell, area } = shown;
    const known = done.get(cell.layer);
    if (!known || isGone(done, cell.layer)) continue;
    const isOfKind = box.look.fill === box.kind; // otherwise cells have the colour of a value
    const look = known.kind && isOfKind ? { ...box.look, fill: known.kind } : box.look;
    if (known.kind) paintCells(canvas, { ...box, look }, [shown]);
    if (k * Math.min(area.w, area.h) < TICKED) continue;
    const size = 3 / k;
    const [x, y] = [area.x + area.w - 3.6 * size, area.y + area.h - 2 * size];
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + size, y + size);
    pen.lineTo(x + 2.6 * size, y - size);
    pen.strokeStyle = palette.roles.onCell;
    pen.lineWidth = 2 / k;
    pen.stroke();
  }
}
