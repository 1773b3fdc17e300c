/** A belief as a picture in its cell: pixels where they lie, or a column for each variable with a tile for each value. */

import { mixed } from "../shared/theme.js";

/**
 * @import { Area } from "../plates/cells.js"
 * @import { Palette } from "../shared/theme.js"
 * @import { Belief } from "./beliefs.js"
 */

/** A tile and the number of the belief that it shows, as shares of the cell. @typedef {{x: number, y: number, w: number, h: number, at: number}} Tile */

/** Shades of a ramp. */
const SHADES = 32;
/** Cells lower than this on the screen have no strip of shares, in pixels; and how high it is, of its cell. */
const [STRIPED, STRIP] = [40, 0.06];
/** The width of the frame of a cell of several tiles, in pixels of the screen. */
const FRAME = 2;
/** More shares than these are too thin to see. */
const MAX_SHARES = 64;
/** The side of the corner of a sampled value, as a share of its cell, and at most, in pixels of the screen. */
const [CORNER, MAX_CORNER] = [0.42, 10];
/** The width of a line between cells by the bits that it brings, in units of the picture. */
const [THIN, PER_BIT, WIDE] = [0.6, 1.6, 9];

/** How wide a line is that brings so many bits. @param {number} bits */
export const lineWidth = (bits) => THIN + Math.min(WIDE, PER_BIT * bits);
/** How clearly it is drawn. @param {number} bits */
export const lineAlpha = (bits) => 0.2 + 0.6 * Math.min(1, bits / 3);

/** @type {Map<string, string[]>} */
const ramps = new Map();

/** The shades of a kind of layer from the ground to its strongest. @param {string} fill @param {Palette} palette @returns {string[]} */
function rampOf(fill, { theme, roles, forced }) {
  const key = `${fill} ${theme} ${forced}`;
  const known = ramps.get(key);
  if (known) return known;
  const [ground, middle] = forced ? ["#ffffff", "#808080"] : [roles.ground, fill]; // the system's colours cannot be mixed
  const [low, high] = [mixed(ground, middle, 0.18), mixed(middle, theme === "dark" ? "#ffffff" : "#000000", 0.74)];
  const made = Array.from({ length: SHADES + 1 }, (_, shade) => {
    const at = shade / SHADES;
    return at < 0.5 ? mixed(low, middle, 2 * at) : mixed(middle, high, 2 * at - 1);
  });
  ramps.set(key, made);
  return made;
}

/** Where the numbers of a belief are in its cell. @param {Pick<Belief, "variables" | "widths">} belief @param {number[]} image channels, height, width; or empty @returns {Tile[]} */
export function tilesOf({ variables, widths }, image) {
  const [, height, width] = image;
  if (!image.length) {
    const [columns, w] = [variables.length, 1 / variables.length];
    let at = 0;
    return Array.from({ length: columns }, (_, column) => column).flatMap((column) =>
      Array.from({ length: widths[column] }, (__, value) => {
        const h = 1 / widths[column];
        return { x: column * w, y: 1 - (value + 1) * h, w, h, at: at++ };
      }),
    );
  }
  const places = variables.map((variable) => {
    const pixel = variable % (height * width);
    return [pixel % width, Math.floor(pixel / width)];
  });
  const [xs, ys] = [0, 1].map((axis) => places.map((place) => place[axis]));
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [w, h] = [1 / (Math.max(...xs) - left + 1), 1 / (Math.max(...ys) - top + 1)];
  return places.map(([x, y], at) => ({ x: (x - left) * w, y: (y - top) * h, w, h, at }));
}

/**
 * Whether values go from left to right, and variables from top to bottom: each along the longer side of the area.
 * @param {Area} area @param {number} variables @param {number[]} image
 */
export const isTurned = ({ w, h }, variables, image) => !image.length && (variables > 1 ? h > w : w >= h);

/** Tiles of which values go from left to right. @param {Tile[]} tiles */
export const turned = (tiles) => tiles.map(({ x, y, w, h, at }) => ({ x: 1 - y - h, y: x, w: h, h: w, at }));

/**
 * Paint numbers from 0 to 1 as the tiles of an area.
 * @param {any} pen @param {Palette} palette @param {string} fill of the kind of layer @param {Area} area
 * @param {Float64Array} shown @param {Tile[]} tiles
 */
export function paintTiles(pen, palette, fill, area, shown, tiles) {
  const ramp = rampOf(fill, palette);
  pen.fillStyle = ramp[0];
  pen.fillRect(area.x, area.y, area.w, area.h);
  for (const { x, y, w, h, at } of tiles) {
    const shade = Math.round(SHADES * Math.min(1, Math.max(0, shown[at])));
    if (!shade) continue;
    pen.fillStyle = ramp[shade];
    pen.fillRect(area.x + x * area.w, area.y + y * area.h, w * area.w, h * area.h);
  }
}

/**
 * Paint the belief of a cell: its picture, at the bottom how much each thing that it mixes counts, and a dotted outline
 * around what nobody has observed; a sampled value has a corner.
 * @param {any} pen @param {Palette} palette @param {string} fill @param {number} k the scale @param {Area} area
 * @param {Belief} belief @param {Tile[]} tiles @param {{isUnknown: boolean, isSampled: boolean, isMixture: boolean, image: number[]}} cell
 */
export function paintBelief(pen, palette, fill, k, area, belief, tiles, { isUnknown, isSampled, isMixture, image }) {
  const laid = isTurned(area, belief.variables.length, image) ? turned(tiles) : tiles;
  paintTiles(pen, palette, fill, area, belief.shown, laid);
  const count = belief.shares.length;
  if (isMixture && count > 1 && count <= MAX_SHARES && k * area.h > STRIPED) {
    const [height, width] = [STRIP * area.h, area.w / count];
    const [y, alpha] = [area.y + area.h - height, pen.globalAlpha];
    pen.fillStyle = palette.roles.ground;
    pen.fillRect(area.x, y - 1 / k, area.w, height + 1 / k);
    pen.fillStyle = fill;
    belief.shares.forEach((share, at) => {
      pen.globalAlpha = alpha * (0.12 + 0.88 * share);
      pen.fillRect(area.x + at * width, y, 0.92 * width, height);
    });
    pen.globalAlpha = alpha;
  }
  const inside = tiles.length > 1 ? FRAME / 2 / k : 0; // a cell of one tile is told apart by its shade
  pen.strokeStyle = fill;
  pen.lineWidth = inside ? FRAME / k : (isUnknown ? 1.4 : 0.8) / k;
  if (isUnknown) pen.setLineDash([2 / k, 2 / k]);
  pen.strokeRect(area.x + inside, area.y + inside, area.w - 2 * inside, area.h - 2 * inside);
  pen.setLineDash([]);
  if (isSampled) paintCorner(pen, palette, k, area);
}

/** The upper right corner of a sampled value, apart from any shade below. @param {any} pen @param {Palette} palette @param {number} k @param {Area} area */
function paintCorner(pen, palette, k, { x, y, w, h }) {
  const side = Math.min(CORNER * Math.min(w, h), MAX_CORNER / k);
  pen.beginPath();
  pen.moveTo(x + w - side, y);
  pen.lineTo(x + w, y);
  pen.lineTo(x + w, y + side);
  pen.lineTo(x + w - side, y);
  pen.fillStyle = palette.roles.accent;
  pen.fill();
  pen.strokeStyle = palette.roles.ground;
  pen.lineWidth = 1 / k;
  pen.stroke();
}
