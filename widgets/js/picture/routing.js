/** The lines of edges: side by side at the boxes, and through the gaps of the rows between. */

import { MAX_ROUTED_BOXES, MAX_SVG_BOXES } from "./limits.js";
import { rowsOf } from "./rows.js";
import { STACK, rise } from "./shapes.js";

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {import("./types.js").Edge} Edge
 * @typedef {import("./types.js").Point} Point
 */

/** @typedef {{x: number, t: number, b: number}} Lane  a vertical segment */
/** @typedef {{t: number, b: number, boxes: Box[]}} Row */

/** Above this number of edges, they may leave a box at the same point. */
const MAX_SPREAD = 4 * MAX_SVG_BOXES;
/** The distance between edges at a box. */
const GAP = 16;

/**
 * Route all edges: they leave and enter boxes side by side, and pass through the gaps of the rows between.
 * @param {Box[]} boxes @param {Edge[]} edges
 */
export function route(boxes, edges) {
  for (const edge of edges) connect(edge);
  if (edges.length <= MAX_SPREAD) spread(edges);
  if (boxes.length > MAX_ROUTED_BOXES) return;
  overNeighbours(boxes, edges);
  const rows = rowsOf(boxes);
  /** @type {Lane[]} */
  const lanes = [];
  for (const edge of edges) {
    if (edge.run === "v" && !edge.bends.length && edge.points.length === 2) detour(edge, rows, lanes);
  }
}

/** Which way an edge leaves its source: 1 is down or right. @param {Edge} edge */
const wayOf = ({ run, source, target }) =>
  run === "v" ? Math.sign(target.y - source.y) : Math.sign(target.x - source.x) || 1;

/** A line from the side of the source to the facing side of the target. @param {Edge} edge */
function connect(edge) {
  const { source, target } = edge;
  edge.run = Math.abs(target.y - source.y) >= (source.h + target.h) / 2 ? "v" : "h";
  const way = wayOf(edge);
  edge.points = [endAt(source, edge.run, way), ...edge.bends, endAt(target, edge.run, -way)];
}

/**
 * The middle of a side of a box, beyond its stack.
 * @param {Box} box @param {"v" | "h"} run @param {number} side @returns {Point}
 */
function endAt(box, run, side) {
  if (run === "v") return { x: box.x, y: box.y + side * (box.h / 2 + (side < 0 ? rise(box) : 0)) };
  return { x: box.x + side * (box.w / 2 + (side > 0 ? rise(box) : 0)), y: box.y };
}

/** Edges at one side of a box are apart, in the order of the boxes at their other ends. @param {Edge[]} edges */
function spread(edges) {
  /** @type {Map<string, {edge: Edge, at: Point, other: number, reach: number}[]>} */
  const ports = new Map();
  for (const edge of edges) {
    const { source, target, run, points } = edge;
    for (const [box, other, side, at] of /** @type {[Box, Box, number, Point][]} */ ([
      [source, target, wayOf(edge), points[0]],
      [target, source, -wayOf(edge), points[points.length - 1]],
    ])) {
      const key = `${box.id} ${run} ${side}`;
      const group = ports.get(key) || [];
      if (!group.length) ports.set(key, group);
      group.push({ edge, at, other: run === "v" ? other.x : other.y, reach: run === "v" ? box.w : box.h });
    }
  }
  for (const group of ports.values()) {
    if (group.length < 2) continue;
    group.sort((a, b) => a.other - b.other);
    const gap = Math.min(GAP, (0.72 * group[0].reach) / (group.length - 1));
    group.forEach(({ edge, at }, index) => {
      at[edge.run === "v" ? "x" : "y"] += (index - (group.length - 1) / 2) * gap;
    });
  }
}

/**
 * Pass the rows between the boxes of an edge through gaps, in a straight line if there is one.
 * @param {Edge} edge @param {Row[]} rows @param {Lane[]} lanes in use
 */
function detour(edge, rows, lanes) {
  const [from, to] = edge.points;
  const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
  const between = rows.filter((row) => row.t - 1 > top && row.b + 1 < bottom);
  if (!between.length) return;
  const down = to.y > from.y;
  if (!down) between.reverse();
  const lane = straightLane(between, from, to);
  /** @type {Point[]} */
  const bends = [];
  /** @type {Lane[]} */
  const own = [];
  let last = from.x;
  for (const row of between) {
    const [t, b] = [row.t - 4 - STACK[0], row.b + 4];
    const x = apart(row, passage(row.boxes, bends.length ? last : (lane ?? last)), lanes);
    own.push({ x, t: t - 30, b: b + 30 });
    if (bends.length && Math.abs(last - x) < 1) bends.pop();
    else bends.push({ x, y: down ? t : b });
    bends.push({ x, y: down ? b : t });
    last = x;
  }
  lanes.push(...own);
  edge.points = [from, ...bends, to];
  bySide(edge, rows);
}

/**
 * An edge to a box in the same row passes above the boxes between, and enters from above.
 * @param {Box[]} boxes @param {Edge[]} edges
 */
function overNeighbours(boxes, edges) {
  for (const edge of edges) {
    const { source, target } = edge;
    if (edge.run !== "h" || edge.bends.length) continue;
    const [l, r] = [Math.min(source.x, target.x), Math.max(source.x, target.x)];
    const [t, b] = [Math.min(source.y, target.y), Math.max(source.y, target.y)];
    const between = boxes.filter(
      (box) =>
        box !== source && box !== target && box.x > l && box.x < r && box.y + box.h / 2 > t && box.y - box.h / 2 < b,
    );
    if (!between.length) continue;
    const way = Math.sign(target.x - source.x);
    const tops = [source, target, ...between].map((box) => box.y - box.h / 2 - rise(box));
    const [over, end] = [Math.min(...tops) - 18, target.x - (way * target.w) / 4];
    edge.run = "v";
    edge.points = [
      { x: source.x, y: tops[0] },
      { x: end - way * 10, y: over, side: true },
      { x: end, y: tops[1] },
    ];
  }
}

/**
 * If the gap before a box is too narrow for a curve, an edge that passed other rows enters at the side of the box.
 * @param {Edge} edge @param {{t: number, b: number, boxes: Box[]}[]} rows
 */
function bySide(edge, rows) {
  const last = edge.points.length - 1;
  for (const [end, bend, box] of /** @type {[number, number, Box][]} */ ([
    [0, 1, edge.source],
    [last, last - 1, edge.target],
  ])) {
    const [at, lane] = [edge.points[end], edge.points[bend]];
    const way = Math.sign(lane.x - box.x);
    const reach = box.w / 2 + (way > 0 ? rise(box) : 0);
    const row = rows.find((item) => item.boxes.includes(box));
    if (Math.abs(at.y - lane.y) > 26 || Math.abs(lane.x - box.x) < reach + 10 || !row) continue;
    const [l, r] = [Math.min(lane.x, box.x), Math.max(lane.x, box.x)];
    if (
      row.boxes.some((other) => other !== box && other.x + other.w / 2 + rise(other) > l && other.x - other.w / 2 < r)
    )
      continue;
    edge.points[end] = { x: box.x + way * reach, y: box.y + (end ? 5 : -5), side: true };
  }
}

/**
 * Whether a vertical line passes a row without touching a box.
 * @param {Box[]} boxes @param {number} x @param {number} margin
 */
const isClear = (boxes, x, margin) =>
  boxes.every((box) => x < box.x - box.w / 2 - margin || x > box.x + box.w / 2 + margin + rise(box));

/**
 * `x`, or the nearest position to it, that no other edge uses in this row.
 * @param {{t: number, b: number, boxes: Box[]}} row @param {number} x
 * @param {{x: number, t: number, b: number}[]} lanes
 */
function apart(row, x, lanes) {
  const near = lanes.filter((lane) => lane.t < row.b && row.t < lane.b);
  for (const shift of [0, 7, -7, 14, -14, 21, -21]) {
    if (isClear(row.boxes, x + shift, 6) && near.every((lane) => Math.abs(lane.x - x - shift) > 5)) return x + shift;
  }
  return x;
}

/**
 * A position to pass all these rows in a straight line, if there is one.
 * @param {{boxes: Box[]}[]} rows @param {Point} from @param {Point} to
 */
function straightLane(rows, from, to) {
  const wishes = rows.flatMap(({ boxes }) => [from.x, to.x, (from.x + to.x) / 2].map((wish) => passage(boxes, wish)));
  const clear = [from.x, to.x, ...wishes].filter((x) => rows.every(({ boxes }) => isClear(boxes, x, 9)));
  /** @param {number} x */
  const cost = (x) => Math.abs(x - from.x) + Math.abs(x - to.x);
  return clear.length ? clear.reduce((best, x) => (cost(x) < cost(best) ? x : best)) : null;
}

/** The position nearest to `wish` to pass a row without crossing a box. @param {Box[]} boxes @param {number} wish */
function passage(boxes, wish) {
  const [tight, airy] = [10, 22];
  let best = Infinity;
  /** @param {number} left @param {number} right */
  const offer = (left, right) => {
    const margin = Math.min(airy, Math.max(tight, (right - left) / 2));
    if (right - left < 2 * tight - 6) return;
    const x = right - left <= 2 * margin ? (left + right) / 2 : Math.min(right - margin, Math.max(left + margin, wish));
    if (Math.abs(x - wish) < Math.abs(best - wish)) best = x;
  };
  boxes.forEach((box, index) => {
    const before = boxes[index - 1];
    offer(before ? before.x + before.w / 2 + rise(before) : -1e6, box.x - box.w / 2);
  });
  const last = boxes[boxes.length - 1];
  offer(last.x + last.w / 2 + rise(last), 1e6);
  return best;
}
