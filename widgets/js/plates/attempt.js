/** An attempt that fails, played on the stage: cells begin to close up, and lines hold them apart. */

import { matchesMedia } from "../shared/theme.js";
import { clock, ease, frameOf, unframe } from "../shared/timing.js";
import { allCells } from "./cells.js";
import { makeCover } from "./cover.js";

/**
 * @import { Box, Picture, Pin } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 * @import { Area, Cell } from "./cells.js"
 * @import { Label } from "./labels.js"
 * @import { Shown } from "./paint.js"
 * @import { Circle } from "./ports.js"
 */

/** @typedef {{x: number, y: number}} Way */

/** How near cells come, as a share of their way, and where the lines hold them. */
const [PEAK, HELD] = [0.5, 0.36];
/** How long cells take to come near, to be pulled apart, and to close up if nothing holds them. */
const [NEAR_MS, BACK_MS, SHUT_MS] = [520, 280, 560];
/** How thick a line is that holds cells apart. */
const THICK = 6;

/**
 * How far each of some areas moves until they touch: those of a line to its middle, or to its end where it goes on in
 * another line.
 * @param {readonly Area[]} areas in the order of the lines @returns {Way[]}
 */
export function closingUp(areas) {
  /** @type {Area[][]} */
  const rows = [];
  for (const area of areas) {
    const row = rows[rows.length - 1];
    const last = row?.[row.length - 1];
    if (last && (areas.length === 2 || area.x >= last.x + last.w)) row.push(area);
    else rows.push([area]);
  }
  return rows.flatMap((row, number) => {
    if (row.length < 2) return row.map(() => ({ x: 0, y: 0 }));
    const [isFirst, isLast] = [number === 0, number === rows.length - 1];
    const held = isFirst === isLast ? null : isFirst ? row[row.length - 1] : row[0];
    const left = Math.min(...row.map(({ x }) => x));
    const right = Math.max(...row.map(({ x, w }) => x + w));
    const middle = held ? held.y + held.h / 2 : row.reduce((sum, { y, h }) => sum + y + h / 2, 0) / row.length;
    const wide = row.reduce((sum, { w }) => sum + w, 0);
    let at = held ? (isFirst ? right - wide : left) : (left + right - wide) / 2;
    return row.map(({ x, y, w, h }) => {
      const way = { x: at - x, y: middle - y - h / 2 };
      at += w;
      return way;
    });
  });
}

/** How far cells have come after so many milliseconds. @param {number} ms @param {boolean} shut @param {number} from */
export function shareAt(ms, shut, from) {
  if (shut) return from + (1 - from) * ease(Math.min(1, ms / SHUT_MS));
  if (ms < NEAR_MS) return PEAK * ease(ms / NEAR_MS);
  return PEAK + (HELD - PEAK) * ease(Math.min(1, (ms - NEAR_MS) / BACK_MS));
}

/**
 * @param {Make} make @param {{later(): void, labels(): readonly Label[], ports(): readonly Circle[]}} scene  `later`: paint the cells again
 */
export function makeAttempt(make, { later, labels, ports }) {
  const { s } = make;
  const cover = makeCover(make);
  const element = s("g", { class: "ce-held", "aria-hidden": "true", mask: cover.url });
  /** @type {Picture | null} */
  let shown = null;
  /** How far the cell of each layer, and the frame of each folded plate, would move. @type {Map<number, Way>} */
  let ways = new Map();
  /** @type {Map<string, Way>} */
  let boxes = new Map();
  /** @type {Map<number, Cell>} */
  let cells = new Map();
  /** @type {Pin | null} */
  let pin = null;
  let [share, shut, started, from, frame] = [0, false, 0, 0, /** @type {any} */ (0)];

  /** @param {Area} area @param {Way | undefined} way @returns {Area} */
  const moved = (area, way) => (way ? { ...area, x: area.x + share * way.x, y: area.y + share * way.y } : area);

  /** Move an element with its plate. @param {string} box @param {any} element */
  function follow(box, element) {
    const way = share ? boxes.get(box) : undefined;
    if (way) element.setAttribute("transform", `translate(${share * way.x} ${share * way.y})`);
    else element.removeAttribute("transform");
  }

  function drawLines() {
    const ends = pin && !shut ? pin.ends : [];
    const lines = [];
    for (let at = 0; at + 1 < ends.length; at += 2) {
      const [one, other] = [cells.get(ends[at]), cells.get(ends[at + 1])];
      if (!one || !other || !pin) continue;
      const [a, b] = [moved(one.area, ways.get(one.layer)), moved(other.area, ways.get(other.layer))];
      const [x1, y1, x2, y2] = [a.x + a.w, a.y + a.h / 2, b.x, b.y + b.h / 2];
      const bend = Math.max(6, (x2 - x1) / 2);
      const isRight = x2 > x1;
      const d = isRight ? `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` : pin.strokes[at / 2]?.d;
      if (d) lines.push(s("path", { d, class: "ce-held-line" }));
    }
    element.replaceChildren(...lines);
    cover.lay(shown, (area, layer) => moved(area, ways.get(layer)));
    for (const { box, group } of labels()) follow(box.id, group);
    for (const { box, parts } of ports()) for (const part of parts) follow(box, part);
    later();
  }

  /** @param {import("../picture/types.js").Edge} edge */
  const isDrawn = ({ bends, source, target }) => {
    const ends = [source.id, target.id].filter((id) => boxes.has(id)).length;
    return ends === 0 || (ends === 1 && bends.length < 2);
  };

  const isStill = () => matchesMedia("(prefers-reduced-motion: reduce)");

  function step() {
    frame = 0;
    const ms = isStill() ? Infinity : clock() - started;
    share = pin ? shareAt(ms, shut, from) : 0;
    drawLines();
    const lasts = shut ? SHUT_MS : NEAR_MS + BACK_MS;
    if (pin && ms < lasts) frame = frameOf(step);
  }

  /** What moves: the whole of a folded plate, or of a plate of one cell, else the cell. @param {Cell} cell @returns {Area} */
  const unitOf = ({ area, box }) =>
    isWhole(box) ? { x: box.x - box.w / 2, y: box.y - box.h / 2, w: box.w, h: box.h } : area;
  /** @param {Box} box */
  const isWhole = ({ plate }) => !plate || plate.gap === 0 || plate.cells.length === 1;

  /** @param {Picture} picture @param {Pin} next */
  function prepare(picture, next) {
    cells = new Map(allCells(picture).map((cell) => [cell.layer, cell]));
    const units = next.cells.flatMap((layer) => cells.get(layer) ?? []);
    const found = closingUp(units.map(unitOf));
    [ways, boxes] = [new Map(), new Map()];
    units.forEach((cell, at) => {
      if (isWhole(cell.box)) boxes.set(cell.box.id, found[at]);
      const all = isWhole(cell.box) ? cell.box.plate?.cells || [] : [cell.layer];
      for (const layer of all) ways.set(layer, found[at]);
    });
  }

  return {
    element,
    cover,
    /** @param {Shown[]} shown @returns {Shown[]} */
    cells: (shown) =>
      share ? shown.map((one) => ({ ...one, area: moved(one.area, ways.get(one.cell.layer)) })) : shown,
    /** Without lines that lead to where a plate is not, and those that hold plates apart, which are drawn thick. @param {Picture} picture @returns {Picture} */
    lines: (picture) => (share ? { ...picture, edges: picture.edges.filter(isDrawn) } : picture),
    /** @param {Box} box @returns {Box} */
    box(box) {
      const way = share ? boxes.get(box.id) : undefined;
      return way ? { ...box, x: box.x + share * way.x, y: box.y + share * way.y } : box;
    },
    /** Play the attempt of a pin, or what would be without its lines; none: everything is where it is. @param {Picture | null} picture @param {Pin | null} next @param {boolean} closes */
    play(picture, next, closes) {
      if (next === pin && closes === shut) return;
      if (frame) unframe(frame);
      if (next && picture && next !== pin) prepare(picture, next);
      [pin, shut, from, started] = [next, closes, next === pin ? share : 0, clock()];
      step();
    },
    /** End the attempt: another picture is shown. @param {Picture} picture */
    show(picture) {
      this.play(null, null, false);
      shown = picture.pins.some(({ strokes }) => strokes.length) ? picture : null;
      cover.lay(shown, (area) => area);
    },
    close() {
      if (frame) unframe(frame);
    },
  };
}

export const STYLE = `
.ce-held-line{fill:none;stroke:var(--ce-nearMiss);stroke-width:${THICK}px;stroke-linecap:round;vector-effect:non-scaling-stroke}
`;
