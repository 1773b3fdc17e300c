/** The contract of a picture as the drawing sees it: what `reading.js` makes of the data of `widgets/explorer_widgets/schema/`. */

/**
 * @typedef {{sign: string, text: string, tone: string}} Badge
 * @typedef {{cells: number[], names: string[], places: number[], unit: number[], gap: number, room: number, calls: string, news: string, reads: string,
 *   shape: string, marks: Record<string, number[]>, times: HalfBar[]}} Plate
 * @typedef {{lane: string, share: number, text: string}} HalfBar  the measured time of the calls of a plate
 * @typedef {{id: string, ids: number[], title: string, detail: string, kind: string, level: number, count: number,
 *   folds: number, change: string, look: Look, fillText: string, matched: boolean, pill: string,
 *   badges: Badge[], cameFrom: string[], numbered: string, plate: Plate | null, x: number, y: number, w: number, h: number}} Box
 * @typedef {{fill: string, ink: string, stroke: string, width: number, dash: number[], hatch: string,
 *   signs: {sign: string, fill: string, ink: string, stroke: string}[]}} Look  colours are roles, or those of a palette
 * @typedef {{source: Box, target: Box, change: string, count: number, read: string, copied: number, label: string,
 *   pairs: number[], bends: Point[], points: Point[], labelAt: Point | null}} Edge  `bends`: the points that Python gives
 * @typedef {{title: string, kind: string, questions: string[], place: string}} RulePart  questions and place: of an entry that a rule looks for
 * @typedef {{name: string, meaning: string, finds: RulePart[], makes: RulePart[]}} Rule
 * @typedef {{cells: number[], verdict: string, question: number, lines: number[],
 *   rival: {rule: string, cells: number[]} | null}} Attempt  a match or a near miss
 * @typedef {{rule: string, count: number, attempts: Attempt[], noun: string, first: number, total: number, atLeast: boolean, stop: string, sign: string, saved: number, made: RulePart[],
 *   whatIf: {text: string, matches: number[][]} | null}} Lens  `whatIf`: what the rule would match without the refusal
 * @typedef {{id: string, kind: string, boxes: Box[], label: string, reason: string, outline: string,
 *   tag: Point | null, lens: Lens | null}} Hull  `outline`: an SVG path; `tag`: the corner of its name
 * @typedef {{id: string, kind: string, nodes: string[], label: string, reason: string, outline: string,
 *   tag: Point | null}} Match  on the picture before
 * @typedef {{source: Box, target: Box, points: Point[], lines: string[], at: Point | null}} Link  a missed fold
 * @typedef {{channel: string, role: string, sign: string, text: string}} LegendItem
 * @typedef {{columns: string[], rows: string[][]}} Table
 * @typedef {{name: string, label: string, beside: string}} Action
 * @typedef
 * {{step: number, mode: string, colourBy: string, groupBy: string, title: string, caption: string, note: string,
 *   message: string, width: number, height: number, boxes: Box[], byId: Map<string, Box>, edges: Edge[], hulls: Hull[],
 *   legend: LegendItem[], table: Table, actions: Action[], origins: number[][], matches: Match[], links: Link[],
 *   stops: Hull[], rules: Map<string, Rule>, buffers: import("./buffers.js").Buffers | null,
 *   score: import("../score/reading.js").Score | null, other: Picture | null}} Picture
 * @typedef {{index: number, path: string, title: string, summary: string, changed: boolean, ok: boolean | null, verdict: string,
 * error: string, layers: number, counted: string, folds: number, matches: number, nearMisses: number, seconds:
 * number, frame: Frame | null, scenes: Scenario[]}} Step
 * @typedef {{question: string, wanted: string[], apart: Map<string, string>}} Guess  which plates to click, and why not the others
 * @typedef {{name: string, title: string, mode: string, sentence: string, guess: Guess | null}} Scenario  a scene of the
 *   story of a compilation; with `guess` it asks, and `sentence` is the answer
 * @typedef {{step: number, label: string, calls: number, sentence: string, undrawn: string, times: Record<string, number>, missing: Record<string, string>,
 *   certified: Record<string, string>, memory: [string, number] | null,
 *   plates: import("../parts/film.js").SmallPlate[]}} Frame
 * @typedef {{heading: string, name: string, rows: string[][], lines: string[]}} Section
 * @typedef {{id: string, title: string, sections: Section[], closeup: import("../closeup/reading.js").Closeup | null, layer: number}} Details  `layer`: of a plate, or -1: about the whole
 *
 * @typedef {{x: number, y: number, flat?: boolean}} Point  `flat`: a line is horizontal here
 * @typedef {{l: number, t: number, r: number, b: number}} Rect
 * @typedef {{k: number, x: number, y: number}} Camera  scale, and the point of the picture at the centre of the
 * viewport
 * @typedef {{selected: Set<string>, found: Set<string> | null, hull: string, hover: string, focus: string,
 *   cell: number, values: import("../closeup/values_reading.js").Cells | null,
 *   lens: {match: number, beats: number, done: boolean, otherwise: boolean}, layers: number[]}} Marks  `layers`: those
 *   that were clicked in selected plates; `cell`: position of the cell at the pointer in
 *   the box `hover`, or -1; `values`: what the cells show in place of their kind; `lens`: what the rule lens shows
 * @typedef {{stage: any, list: any, show(picture: Picture, from: Map<string, Point>): number | void, frame(t: number): void, progress?(t: number): number,
 *   look(camera: Camera, width: number, height: number, text?: number): void, mark(marks: Marks): void, recolour(): void,
 *   focus(id: string): void, places(): Map<string, Point>, canvasSvg?(): string,
 *   hit?(at: Point): Box | null, actionOf?(target: any): {pair: string[], rect: Rect | null} | null, close(): void}} Scene  `list`: the list box; `hit`: the
 *   box at a point of the viewport, where that depends on the scene; `actionOf`: the boxes to select, or the part to show, when an element is clicked; `show` returns how many milliseconds it
 *   moves; `progress` how far the movement is at `t`, for the camera; `canvasSvg`: what is on its canvas as an SVG element
 */

export {};
