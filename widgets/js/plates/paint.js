/** Cells and the lines between them on a canvas. */

import { lookOf } from "../closeup/reading.js";
import { FONT } from "../shared/measuring.js";
import { lineAlpha, lineWidth, paintBelief } from "../living/paint.js";
import { paintOf } from "../picture/fills.js";
import { MARKS, PLATES, READS } from "./look.js";
import { nameOf } from "./relatives.js";

/**
 * @import { Box, Edge, Picture } from "../picture/types.js"
 * @import { Palette } from "../shared/theme.js"
 * @import { Area, Cell } from "./cells.js"
 */

/**
 * @typedef {{cell: Cell, area: Area, alpha: number}} Shown
 * @typedef {{alpha: number, own: string, outlined: boolean, stroked: boolean, areas: Shown[]}} Look
 * @typedef {{pen: any, picture: Picture, palette: Palette, k: number, text: number, lit: Set<string> | null,
 *   values?: import("../closeup/reading.js").CellValues | null,
 *   beliefs?: import("../picture/types.js").Marks["beliefs"]}} Canvas
 */

const { cell: CELL, sheets: SHEETS, read: READ } = PLATES;
const FAINT = 0.16;
/** The width of a digit, and the least room beside a number, in parts of its size. */
const [DIGIT, BESIDE] = [0.64, 0.4];
/** The width of the outline of a layer that was clicked, in pixels of the screen. */
const PICKED = 3;
/** A path of so many cells at most: without a GPU, one of 30,000 takes twice as long as many short ones. */
const PATH = 128;

/** The sheets behind a folded layer. @param {Canvas} canvas @param {Box} box @param {number} alpha */
export function paintDepth({ pen, palette }, box, alpha) {
  const { fill } = paintOf(box, palette);
  for (const by of [SHEETS.far, SHEETS.near]) {
    for (const [opacity, colour] of /** @type {[number, string][]} */ ([
      [1, palette.roles.ground], // no line shows through
      [SHEETS.fill, fill],
    ])) {
      pen.globalAlpha = opacity * alpha;
      pen.fillStyle = colour;
      pen.fillRect(box.x - box.w / 2 + by, box.y - box.h / 2 - by, box.w, box.h);
    }
    pen.globalAlpha = SHEETS.stroke * alpha;
    pen.strokeStyle = palette.roles.fg;
    pen.lineWidth = 1;
    pen.strokeRect(box.x - box.w / 2 + by, box.y - box.h / 2 - by, box.w, box.h);
  }
  pen.globalAlpha = 1;
}

/** The frame of a folded layer. @param {Canvas} canvas @param {Box} box @param {number} alpha */
export function paintFrame({ pen, palette }, box, alpha) {
  pen.globalAlpha = alpha;
  pen.strokeStyle = palette.roles.fg;
  pen.lineWidth = PLATES.frame;
  pen.strokeRect(box.x - box.w / 2, box.y - box.h / 2, box.w, box.h);
  pen.globalAlpha = 1;
}

/** Cells of one box; those that look alike are painted together. @param {Canvas} canvas @param {Box} box @param {Shown[]} cells */
export function paintCells(canvas, box, cells) {
  const { pen, palette, k, lit, values, beliefs } = canvas;
  const painted = paintOf(box, palette);
  /** @type {Map<string, Look>} */
  const alike = new Map();
  /** @type {Look | undefined} */
  let look; // most cells look like the one before
  /** @type {{alpha: number, ink: string, shown: Shown}[]} */
  const numbered = [];
  for (const shown of cells) {
    const { cell, area } = shown;
    const side = k * Math.min(area.w, area.h);
    const alpha = lit && !lit.has(nameOf(box.id, cell.index)) ? shown.alpha * FAINT : shown.alpha;
    const found = beliefs?.(cell.layer);
    if (found) {
      pen.globalAlpha = alpha;
      paintBelief(pen, palette, painted.fill, k, area, found.belief, found.tiles, found);
      continue;
    }
    const { fill: own, ink } = values ? paintOf({ look: lookOf(values, box, cell.index) }, palette) : painted;
    const outlined = palette.forced || Boolean(painted.hatch) || !cell.closed;
    const stroked = outlined ? side > CELL.parted : side > 2 * CELL.parted;
    if (look?.alpha !== alpha || look.own !== own || look.outlined !== outlined || look.stroked !== stroked) {
      const name = `${alpha} ${own} ${outlined} ${stroked}`;
      look = alike.get(name) || { alpha, own, outlined, stroked, areas: [] };
      alike.set(name, look);
    }
    look.areas.push(shown);
    const isNumbered = side > CELL.numbered * canvas.text && cell.layer >= 0;
    if (isNumbered && k * area.w > (DIGIT * String(cell.layer).length + BESIDE) * canvas.text)
      numbered.push({ alpha, ink, shown });
  }
  for (const { alpha, own, outlined, stroked, areas } of alike.values()) {
    pen.globalAlpha = alpha;
    pen.fillStyle = own;
    pen.strokeStyle = outlined ? palette.roles.kept : palette.roles.ground;
    pen.lineWidth = outlined ? CELL.stroke : CELL.slice;
    for (let first = 0; first < areas.length; first += PATH) {
      pen.beginPath();
      for (const { cell, area } of areas.slice(first, first + PATH)) {
        const isRound = !cell.closed && k * Math.min(area.w, area.h) > CELL.round;
        if (isRound) pen.roundRect(area.x, area.y, area.w, area.h, Math.min(CELL.corner, area.w / 5, area.h / 5));
        else pen.rect(area.x, area.y, area.w, area.h);
      }
      pen.fill();
      if (stroked) pen.stroke();
    }
  }
  for (const { alpha, ink: own, shown } of numbered) {
    pen.globalAlpha = alpha;
    paintNumber(canvas, shown.cell, shown.area, own);
  }
  pen.globalAlpha = 1;
}

/** @param {Canvas} canvas @param {Cell} cell @param {Area} area @param {string} ink */
function paintNumber({ pen, k, text }, cell, area, ink) {
  pen.font = `${text / k}px ${FONT}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = ink;
  pen.fillText(String(cell.layer), area.x + area.w / 2, area.y + area.h / 2);
}

/**
 * One area around small cells that are all marked: outlines would hide them.
 * @param {Area[]} areas
 */
function togetherIfSmall(areas) {
  if (!areas.length || Math.min(...areas.map(({ w, h }) => Math.min(w, h))) >= PLATES.marked) return areas;
  const [left, top] = [Math.min(...areas.map(({ x }) => x)), Math.min(...areas.map(({ y }) => y))];
  const right = Math.max(...areas.map(({ x, w }) => x + w));
  const bottom = Math.max(...areas.map(({ y, h }) => y + h));
  return [{ x: left, y: top, w: right - left, h: bottom - top }];
}

/**
 * The marks of cells: outlined if matched or made by the step, crossed out if they lost a conflict, dotted if a pattern
 * nearly matched.
 * @param {Canvas} canvas @param {Box} box @param {Shown[]} cells
 */
export function paintMarks({ pen, palette, k }, box, cells) {
  const { roles } = palette;
  const plate = box.plate;
  for (const [mark, indices] of plate ? Object.entries(plate.marks) : []) {
    const chosen = new Set(indices);
    const marked = cells.filter(({ cell }) => chosen.has(cell.index)).map(({ area }) => area);
    pen.beginPath();
    for (const area of mark !== "lost" && chosen.size === plate?.cells.length ? togetherIfSmall(marked) : marked) {
      pen.rect(area.x - 1, area.y - 1, area.w + 2, area.h + 2);
      if (mark !== "lost") continue;
      const [side, right] = [Math.min(PLATES.cross, area.w / 2, area.h / 2), area.x + area.w];
      pen.moveTo(right - side, area.y);
      pen.lineTo(right, area.y + side);
      pen.moveTo(right, area.y);
      pen.lineTo(right - side, area.y + side);
    }
    const look = MARKS[mark] || MARKS.matched;
    pen.strokeStyle = roles[look.line];
    pen.lineWidth = Math.max(look.width, 1.2 / k);
    pen.setLineDash(look.dash);
    pen.stroke();
    pen.setLineDash([]);
  }
}

/** The outlines of the layers that were clicked. @param {Canvas} canvas @param {Shown[]} cells @param {number[]} layers */
export function paintPicked({ pen, palette, k }, cells, layers) {
  pen.beginPath();
  for (const { cell, area } of cells) {
    if (layers.includes(cell.layer)) pen.rect(area.x, area.y, area.w, area.h);
  }
  pen.strokeStyle = palette.roles.accent;
  pen.lineWidth = PICKED / k;
  pen.stroke();
}

/** The number of lines between cells. @param {Picture} picture */
export const countLines = ({ edges }) => edges.reduce((sum, { pairs }) => sum + pairs.length / 2, 0);

/**
 * The lines from each cell to those that read it.
 * @param {Canvas} canvas @param {() => Map<string, Area[]>} findAreas of the cells of each box, if lines between cells are drawn
 */
export function paintLines({ pen, picture, palette, k, lit, beliefs }, findAreas) {
  /** @type {Map<string, Area[]> | null} */
  let areas = null;
  const { edges } = picture;
  const many = countLines(picture) > READ.each;
  const few = edges.reduce((sum, { count }) => sum + count, 0) <= READ.few;
  for (const edge of edges) {
    const { source, target, pairs, turns } = edge;
    /** @type {[Area, Area, number, number[]][]} */
    const evidence = [];
    const around = edge.bends.length > 1;
    if (edge.port && !lit) continue; // its ends are drawn
    pen.beginPath();
    if (around || !pairs.length || (many && !lit)) {
      const touched = !lit || edgeIsLit(edge, lit);
      if (!touched) continue;
      if (around) polyline(pen, edge.bends);
      else curve(pen, areaOf(source), areaOf(target), turns);
      pen.lineWidth = Math.min(READ.most, READ.many + READ.more * Math.log2(Math.max(1, edge.count)));
    } else {
      areas ??= findAreas();
      const [sources, targets] = [areas.get(source.id) || [], areas.get(target.id) || []];
      for (let at = 0; at + 1 < pairs.length; at += 2) {
        if (lit && !pairIsLit(edge, at, lit)) continue;
        const [from, to] = [sources[pairs[at]], targets[pairs[at + 1]]];
        if (!from || !to || from === to) continue;
        const bits = beliefs?.(source.plate?.cells[pairs[at]] ?? -1)?.belief.bits;
        if (bits === undefined) curve(pen, from, to, turns);
        else evidence.push([from, to, bits, turns]);
      }
      pen.lineWidth = Math.max(lit ? 1.8 : READ.width, 0.8 / k);
    }
    const role = roleOf(edge);
    pen.strokeStyle = palette.roles[role];
    pen.globalAlpha = lit ? 1 : READS[few ? "few" : role];
    pen.stroke();
    for (const line of evidence) evidenceLine(pen, palette.roles[role], ...line);
  }
  pen.globalAlpha = 1;
}

/** The role of the colour of a line. @param {Edge} edge */
export const roleOf = ({ read, copiedBytes }) => (read ? (copiedBytes ? "copyLine" : "viewLine") : "edge");

/** A line as wide as the bits of evidence that it brings. @param {any} pen @param {string} colour @param {Area} from @param {Area} to @param {number} bits @param {number[]} turns */
function evidenceLine(pen, colour, from, to, bits, turns) {
  pen.beginPath();
  curve(pen, from, to, turns);
  pen.strokeStyle = colour;
  pen.lineWidth = lineWidth(bits);
  pen.globalAlpha = lineAlpha(bits);
  pen.stroke();
}

/** Whether both cells of a pair are lit. @param {Edge} edge @param {number} at @param {Set<string>} lit */
const pairIsLit = ({ source, target, pairs }, at, lit) =>
  lit.has(nameOf(source.id, pairs[at])) && lit.has(nameOf(target.id, pairs[at + 1]));

/** Whether a lit cell reads another through an edge. @param {Edge} edge @param {Set<string>} lit */
function edgeIsLit(edge, lit) {
  for (let at = 0; at + 1 < edge.pairs.length; at += 2) if (pairIsLit(edge, at, lit)) return true;
  return false;
}

/** @param {Box} box @returns {Area} */
const areaOf = ({ x, y, w, h }) => ({ x: x - w / 2, y: y - h / 2, w, h });

/**
 * From the right side of one area to the left side of another; it bends between two turns, if there are any.
 * @param {any} pen @param {Area} a @param {Area} b @param {number[]} [turns]
 */
function curve(pen, a, b, [from = -Infinity, to = Infinity] = []) {
  const [x1, y1, x2, y2] = [a.x + a.w, a.y + a.h / 2, b.x, b.y + b.h / 2];
  const [start, end] = [Math.max(x1, from), Math.min(x2, to)];
  const bend = Math.max(READ.bend, Math.abs(end - start) / 2);
  pen.moveTo(x1, y1);
  if (start > x1) pen.lineTo(start, y1);
  pen.bezierCurveTo(start + bend, y1, end - bend, y2, end, y2);
  if (end < x2) pen.lineTo(x2, y2);
}

/** Straight lines with round corners. @param {any} pen @param {{x: number, y: number}[]} points */
function polyline(pen, points) {
  pen.moveTo(points[0].x, points[0].y);
  for (let at = 1; at + 1 < points.length; at += 1) {
    pen.arcTo(points[at].x, points[at].y, points[at + 1].x, points[at + 1].y, READ.corner);
  }
  const last = points[points.length - 1];
  pen.lineTo(last.x, last.y);
}

/** @typedef {Map<number, {fill: string | null, root: number}>} Done */

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
    const look = known.fill ? { ...box.look, fill: known.fill } : box.look;
    if (known.fill !== null) paintCells(canvas, { ...box, look }, [shown]);
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
