/** The pen of a canvas, with the paths and patterns that it uses again and again. */

import { boxPath } from "../picture/shapes.js";

/** @param {import("../shared/elements.js").Make} make @param {any} pen */
export function makeBrush(make, pen) {
  /** @type {Map<string, Path2D>} */
  const paths = new Map();
  /** @type {Map<string, any>} */
  const hatches = new Map();
  return {
    pen,
    /** The outline of a box. @param {string} kind @param {number} w @param {number} h */
    outline(kind, w, h) {
      const key = `${kind} ${w} ${h}`;
      const known = paths.get(key);
      if (known) return known;
      const path = new Path2D(boxPath(kind, w, h));
      paths.set(key, path);
      return path;
    },
    /** A hatch as a fill. @param {string} stroke */
    hatch(stroke) {
      if (!hatches.has(stroke)) hatches.set(stroke, pen.createPattern(hatchTile(make, stroke), "repeat"));
      return hatches.get(stroke);
    },
    /** Forget the hatches: the colours have changed. */
    recolour: () => hatches.clear(),
    /**
     * Write words in a font of the views.
     * @param {string} font @param {string} fill @param {string} words @param {number} x @param {number} y
     */
    write(font, fill, words, x, y) {
      pen.fillStyle = fill;
      pen.font = font;
      pen.fillText(words, x, y);
    },
    /**
     * A rounded rectangle.
     * @param {{x: number, y: number, w: number, h: number, r: number}} at @param {string} fill @param {string} [stroke]
     * @param {number} [width]
     */
    panel({ x, y, w, h, r }, fill, stroke, width = 1) {
      pen.beginPath();
      pen.roundRect(x, y, w, h, r);
      pen.fillStyle = fill;
      pen.fill();
      if (!stroke) return;
      pen.strokeStyle = stroke;
      pen.lineWidth = width;
      pen.stroke();
    },
  };
}
/** @typedef {ReturnType<typeof makeBrush>} Brush */

/** @param {import("../shared/elements.js").Make} make @param {string} stroke */
function hatchTile({ h }, stroke) {
  const tile = h("canvas", { width: 8, height: 8 });
  const ink = tile.getContext("2d");
  ink.strokeStyle = stroke;
  ink.lineWidth = 1.6;
  ink.beginPath();
  for (const shift of [-8, 0, 8]) {
    ink.moveTo(shift, 8);
    ink.lineTo(shift + 8, 0);
  }
  ink.stroke();
  return tile;
}
