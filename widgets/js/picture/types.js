/** The contract of a picture as the drawing sees it: what `reading.js` makes of the data of `widgets/explorer_widgets/schema/`. */

/**
 * @typedef {typeof import("./reading.js")} Read
 * @typedef {ReturnType<Read["readPlate"]>} Plate
 * @typedef {ReturnType<Read["readLook"]>} Look  colours are roles, or those of a palette
 * @typedef {Omit<ReturnType<Read["readBox"]>, "look"> & {id: string, level: number, look: Look, x: number, y: number,
 *   w: number, h: number}} Box
 * @typedef {ReturnType<Read["readEdge"]> & {source: Box, target: Box, bends: Point[], points: Point[]}} Edge  `bends`: the
 *   points that Python gives
 * @typedef {ReturnType<Read["readPart"]>} RulePart  questions and place: of an entry that a rule looks for
 * @typedef {{name: string, meaning: string, finds: RulePart[], makes: RulePart[]}} Rule
 * @typedef {ReturnType<Read["readAttempt"]>} Attempt  a match or a near miss
 * @typedef {ReturnType<Read["readLens"]>} Lens  `whatIf`: what the rule would match without the refusal
 * @typedef {ReturnType<Read["readMatch"]>} Match  on the picture before; `outline`: an SVG path; `tag`: the corner of its name
 * @typedef {Omit<Match, "nodes"> & {boxes: Box[], lens: Lens | null}} Hull
 * @typedef {{source: Box, target: Box, points: Point[], lines: string[], at: Point | null}} Link  a missed fold
 * @typedef {ReturnType<Read["readPin"]>} Pin  why layers are not fewer
 * @typedef {ReturnType<Read["readSelf"]>} Self
 * @typedef {Self["legend"][0]} LegendItem
 * @typedef {Self["table"]} Table
 * @typedef {Self & {boxes: Box[], byId: Map<string, Box>, edges: Edge[], hulls: Hull[], stops: Hull[], links: Link[],
 *   rules: Map<string, Rule>, other: Picture | null}} Picture
 * @typedef {ReturnType<typeof import("./steps.js").readSteps>[0]} Step
 * @typedef {NonNullable<Step["frame"]>} Frame
 * @typedef {NonNullable<ReturnType<typeof import("./steps.js").readDetails>>} Details  `layer`: of a plate, or -1: about the whole
 * @typedef {Details["sections"][0]} Section
 *
 * @typedef {{x: number, y: number, flat?: boolean}} Point  `flat`: a line is horizontal here
 * @typedef {{l: number, t: number, r: number, b: number}} Rect
 * @typedef {{k: number, x: number, y: number}} Camera  scale, and the point of the picture at the centre of the
 * viewport
 * @typedef {{selected: Set<string>, found: Set<string> | null, hull: string, hover: string, focus: string,
 *   cell: number, values: import("../closeup/reading.js").CellValues | null,
 *   lens: {match: number, beats: number, done: boolean, otherwise: boolean}, layers: number[],
 *   pins: {tried: string, shut: boolean, hidden: boolean},
 *   beliefs: import("../controls/living.js").Living["beliefOf"] | null}} Marks  `pins`: the one whose attempt is shown, and whether its cells close up; `beliefs`: what the layer of a cell believes; `layers`: those
 *   that were clicked in selected plates; `cell`: position of the cell at the pointer in
 *   the box `hover`, or -1; `values`: what the cells show in place of their kind; `lens`: what the rule lens shows
 * @typedef {{stage: any, list: any, show(picture: Picture, from: Map<string, Point>, title?: string): number | void, frame(t: number): void, progress?(t: number): number,
 *   look(camera: Camera, width: number, height: number, text?: number): void, mark(marks: Marks): void, recolour(): void,
 *   focus(id: string): void, places(): Map<string, Point>, canvasSvg?(): string,
 *   hit?(at: Point): Box | null, tipAt?(at: Point, target: any): string[] | null, actionOf?(target: any): {pair: string[], rect: Rect | null} | null, close(): void}} Scene  `list`: the list box; `hit`: the
 *   box at a point of the viewport, where that depends on the scene; `tipAt`: what is said of what is there, in lines; `actionOf`: the boxes to select, or the part to show, when an element is clicked; `show` returns how many milliseconds it
 *   moves; `progress` how far the movement is at `t`, for the camera; `canvasSvg`: what is on its canvas as an SVG element
 */

export {};
