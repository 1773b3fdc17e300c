/** A box on a canvas: the same as in `svg.js`, with less detail when it is small. */

import { paintOf } from "../picture/fills.js";
import { boxPath, cornersOf, STACK, symbolCentre, symbolOf } from "../picture/shapes.js";
import { wordsOf } from "../picture/words.js";
import { FONT } from "../shared/measuring.js";

/**
 * @import { Box, Marks } from "../picture/types.js"
 * @import { Palette } from "../shared/theme.js"
 */

/** Below this scale a box is a rectangle. */
const PLAIN = 0.25;
const RING = 5;

/**
 * Draw a box around the origin of the pen, at scale `k`.
 * @param {Brush} brush @param {Box} box @param {Palette} palette @param {Marks} marks @param {number} k
 * @param {boolean} words whether texts are legible
 */
export function paintBox(brush, box, palette, marks, k, words) {
  const { pen } = brush;
  const { roles } = palette;
  const painted = paintOf(box, palette);
  const { fill, ink, hatch } = painted;
  const hatchStroke = hatch === "removed" ? roles.removed : roles.hatch;
  paintRing(pen, box, marks, roles.accent, k);
  pen.fillStyle = fill;
  pen.strokeStyle = painted.stroke;
  pen.lineWidth = Math.max(painted.width, 0.8 / k);
  if (k < PLAIN) {
    pen.fillRect(-box.w / 2, -box.h / 2, box.w, box.h);
    pen.strokeRect(-box.w / 2, -box.h / 2, box.w, box.h);
    if (!hatch) return;
    pen.fillStyle = brush.hatch(hatchStroke);
    pen.fillRect(-box.w / 2, -box.h / 2, box.w, box.h);
    return;
  }
  const path = brush.outline(box.kind, box.w, box.h);
  pen.setLineDash(painted.dash);
  for (const offset of box.folds > 1 ? STACK : []) {
    pen.translate(offset, -offset);
    pen.fill(path);
    pen.stroke(path);
    pen.translate(-offset, offset);
  }
  pen.fill(path);
  if (hatch) {
    pen.globalAlpha *= 0.6;
    pen.fillStyle = brush.hatch(hatchStroke);
    pen.fill(path);
    pen.globalAlpha /= 0.6;
  }
  pen.stroke(path);
  pen.setLineDash([]);
  if (box.change === "changed") {
    pen.lineWidth = 1.2;
    pen.stroke(brush.outline(box.kind, box.w - 7, box.h - 7));
  }
  paintSymbol(pen, box, ink, words);
  pen.textBaseline = "middle";
  if (words) paintWords(brush, box, ink);
  pen.textAlign = "center";
  for (const { x, y, w, h, r, ...corner } of cornersOf(box, painted, palette)) {
    brush.panel({ x: x - w / 2, y: y - h / 2, w, h, r }, corner.fill, corner.stroke);
    brush.write(`${corner.font} ${FONT}`, corner.ink, corner.words, x, y + 0.5);
  }
}

/** @param {any} pen @param {Box} box @param {Marks} marks @param {string} accent @param {number} k */
function paintRing(pen, box, marks, accent, k) {
  const selected = marks.selected.has(box.id);
  if (!selected && box.id !== marks.hover && box.id !== marks.focus && !marks.found?.has(box.id)) return;
  const width = selected ? 3 : 1.6;
  pen.strokeStyle = accent;
  pen.lineWidth = Math.max(width, width / k);
  pen.strokeRect(-box.w / 2 - RING, -box.h / 2 - RING, box.w + 2 * RING, box.h + 2 * RING);
}

/**
 * Next to the words, or large in the middle if they are not drawn.
 * @param {any} pen @param {Box} box @param {string} ink @param {boolean} words
 */
function paintSymbol(pen, box, ink, words) {
  const [middle, size] = words ? [symbolCentre(box), 1] : [0, 2];
  pen.strokeStyle = ink;
  pen.lineWidth = 1.7;
  pen.lineCap = "round";
  pen.translate(middle - 8 * size, -8 * size);
  pen.scale(size, size);
  pen.stroke(new Path2D(symbolOf(box.kind)));
  pen.scale(1 / size, 1 / size);
  pen.translate(-middle + 8 * size, 8 * size);
  pen.lineCap = "butt";
}

/** @param {Brush} brush @param {Box} box @param {string} ink */
function paintWords({ pen, write }, box, ink) {
  const { left, two, title, detail } = wordsOf(box);
  pen.textAlign = "left";
  write(`600 12.5px ${FONT}`, ink, title, left, two ? -7 : 0.5);
  if (two) write(`11px ${FONT}`, ink, detail, left, 9.5);
}

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
