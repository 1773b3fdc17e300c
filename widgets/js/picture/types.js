/** The contract of a picture as the drawing sees it: what `reading.js` makes of the data of `widgets/schema.py`. */

/**
 * @typedef {{sign: string, text: string, tone: string}} Badge
 * @typedef {{id: string, ids: number[], title: string, detail: string, kind: string, level: number, count: number,
 *   folds: number, change: string, fill: number | null, fillText: string, category: number | null, matched: boolean,
 *   badges: Badge[], cameFrom: string[], numbered: string, x: number, y: number, w: number, h: number}} Box
 * @typedef {{source: Box, target: Box, change: string, count: number, read: string, copied: number, label: string,
 *   bends: Point[], points: Point[], run: "v" | "h"}} Edge
 * @typedef {{id: string, kind: string, boxes: Box[], label: string, reason: string}} Hull
 * @typedef {{channel: string, role: string, sign: string, text: string}} LegendItem
 * @typedef {{columns: string[], rows: string[][]}} Table
 * @typedef {{name: string, label: string, beside: string}} Action
 * @typedef
 * {{step: number, mode: string, colourBy: string, groupBy: string, title: string, caption: string, note: string,
 *   message: string, width: number, height: number, boxes: Box[], byId: Map<string, Box>, edges: Edge[], hulls: Hull[],
 *   legend: LegendItem[], signs: Map<number, string>, table: Table, actions: Action[], other: Picture | null}} Picture
 * @typedef {{index: number, path: string, title: string, summary: string, changed: boolean, ok: boolean | null,
 * error: string, layers: number, counted: string, folds: number, matches: number, nearMisses: number, seconds:
 * number}} Step
 * @typedef {{heading: string, rows: string[][], lines: string[]}} Section
 * @typedef {{id: string, title: string, sections: Section[]}} Details
 *
 * @typedef {{x: number, y: number, side?: boolean}} Point  `side`: the edge leaves or enters the side of its box here
 * @typedef {{l: number, t: number, r: number, b: number}} Rect
 * @typedef {{k: number, x: number, y: number}} Camera  scale, and the point of the picture at the centre of the
 * viewport
 * @typedef {{selected: Set<string>, found: Set<string> | null, hull: string, hover: string, focus: string}} Marks
 * @typedef {{stage: any, show(picture: Picture, from: Map<string, Point>): void, frame(t: number): void,
 *   look(camera: Camera, width: number, height: number): void, mark(marks: Marks): void, recolour(): void,
 *   focus(id: string): void, places(): Map<string, Point>, close(): void}} Scene
 */

export {};
