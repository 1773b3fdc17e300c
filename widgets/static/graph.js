// @ts-check
/**
 * The graph of one step of a trace: stepper, picture, legend, table, inspector. One self-contained ES module.
 *
 * It draws plain data (the contract is `widgets/schema.py`) that Python computed: positions, colour roles, words. It runs
 * unchanged as an anywidget (Jupyter), as a Panel AnyWidgetComponent (shadow root, smaller model) and in a stand-alone page.
 *
 * Traits read: `picture`, `coordinates`, `steps`, `details`, `options`; read and written: `step`, `selection`, `view`;
 * written: `request` ({name, n}: what a button asks Python to do). See ../README.md.
 *
 * Sections: contract, reading, colours, geometry, scenes (SVG, canvas), parts of the page, the view itself.
 */

// ---- contract -------------------------------------------------------------------------------------------------------

/**
 * The model interface that all three hosts share.
 * @typedef {{get(name: string): any, set(name: string, value: any): void, save_changes(): void,
 *   on(event: string, callback: () => void): void, off(event: string, callback: () => void): void}} Model
 *
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
 * @typedef {{step: number, mode: string, colourBy: string, groupBy: string, title: string, caption: string, note: string,
 *   message: string, width: number, height: number, boxes: Box[], byId: Map<string, Box>, edges: Edge[], hulls: Hull[],
 *   legend: LegendItem[], signs: Map<number, string>, table: Table, actions: Action[], other: Picture | null}} Picture
 * @typedef {{index: number, path: string, title: string, summary: string, changed: boolean, ok: boolean | null,
 *   error: string, layers: number, counted: string, folds: number, matches: number, nearMisses: number, seconds: number}} Step
 * @typedef {{heading: string, rows: string[][], lines: string[]}} Section
 * @typedef {{id: string, title: string, sections: Section[]}} Details
 *
 * @typedef {{x: number, y: number, side?: boolean}} Point  `side`: the edge leaves or enters the side of its box here
 * @typedef {{l: number, t: number, r: number, b: number}} Rect
 * @typedef {{k: number, x: number, y: number}} Camera  scale, and the point of the picture at the centre of the viewport
 * @typedef {{selected: Set<string>, found: Set<string> | null, hull: string, hover: string, focus: string}} Marks
 * @typedef {{stage: any, show(picture: Picture, from: Map<string, Point>): void, frame(t: number): void,
 *   look(camera: Camera, width: number, height: number): void, mark(marks: Marks): void, recolour(): void,
 *   focus(id: string): void, places(): Map<string, Point>, close(): void}} Scene
 */

const VERSION = 1;
const MAX_SVG_BOXES = 1000;
const MAX_ROUTED_BOXES = 400;
const MAX_HULLS = 60;
const MAX_ROWS = 1000;
const MOVE_MS = 320;
/** Margin around the boxes of a picture, in its pixels, as in `layout.py`. */
const MARGIN = 24;
/** In a viewport narrower than this, in pixels, the zoom buttons get their own margin. */
const [NARROW, ZOOM_WIDTH] = [640, 44];
const PLAY_MS = 1400;
/** Minimum height of the stage for the minimap to leave room for the buttons. */
const MAP_STAGE = 300;

/** @type {Record<string, string>} */
const CHANGE_WORDS = { kept: "kept", added: "added", removed: "removed", changed: "changed" };
/** @type {Record<string, string>} */
const CHANGE_SIGNS = { added: "+", removed: "−", changed: "~" };
/** @type {Record<string, string>} */
const HULL_SIGNS = { match: "M", winner: "W", lost: "L", "near-miss": "?" };
/** @type {Record<string, string>} */
const HULL_WORDS = { match: "match", winner: "winner", lost: "lost", "near-miss": "near miss" };
/** Words that already tell the kind of a hull. @type {Record<string, RegExp>} */
const HULL_TOLD = { match: /\bmatch(es)?\b/, winner: /\b(winner|won)\b/, lost: /\blost\b/, "near-miss": /\bnear miss(es)?\b/ };
/** @type {Record<string, string>} */
const MODE_WORDS = { diff: "Diff", before: "Before", after: "After", side: "Side by side" };
/** @type {Record<string, string>} */
const COLOUR_WORDS = { change: "change", kind: "kind", time: "time", memory: "memory", fold: "fold" };
/** @type {Record<string, string>} */
const GROUP_WORDS = { fold: "level + fold key", none: "none", scope: "scope" };

/** Sections of the inspector that have a button and a key. */
const SECTIONS = [
  { name: "why-not", words: "Why not", key: "w", heading: /^why/i },
  { name: "lineage", words: "Lineage", key: "h", heading: /^lineage/i },
  { name: "timing", words: "Timing", key: "t", heading: /^(timing|time|numbers)/i },
];

const KEYS = [
  ["← →", "previous, next step that changes something"],
  ["Shift + ← →", "any step"],
  ["Home, End", "first, last step"],
  ["[ ]", "previous, next match, near miss or conflict"],
  ["Space", "play on the stepper, fit on the graph"],
  ["↑ ↓", "box above, below"],
  [", .", "previous, next box"],
  ["Enter", "select the box (with Shift: add it)"],
  ["+ −", "zoom"],
  ["f", "focus on the selection, again: fit all"],
  ["/", "search"],
  ["d", "diff, after"],
  ["h", "lineage"],
  ["w", "why not"],
  ["t", "timing"],
  ["Esc", "clear, then leave"],
  ["?", "this help"],
];

// ---- reading --------------------------------------------------------------------------------------------------------

/** @param {any} value @param {string} [otherwise] */
const text = (value, otherwise = "") => (typeof value === "string" ? value : value == null ? otherwise : String(value));
/** @param {any} value @param {number} [otherwise] */
const number = (value, otherwise = 0) => (typeof value === "number" && Number.isFinite(value) ? value : otherwise);
/** @param {any} value @returns {any[]} */
const list = (value) => (Array.isArray(value) ? value : []);
/** @param {any} value @returns {Record<string, any>} */
const record = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

/**
 * A dictionary from the representations that hosts use: an object, a Map (Bokeh), a JSON string.
 * @param {any} value @returns {Record<string, any>}
 */
export function asDict(value) {
  if (value instanceof Map) return Object.fromEntries(value);
  if (typeof value === "string") return value.trim() ? record(JSON.parse(value)) : {};
  return record(value);
}

/** @param {any} value @returns {any[]} */
export function asList(value) {
  if (typeof value === "string") return value.trim() ? list(JSON.parse(value)) : [];
  return list(value);
}

/**
 * 32-bit floats from bytes as the hosts represent them (DataView, ArrayBuffer, typed array).
 * @param {any} value @returns {Float32Array}
 */
export function asFloats(value) {
  if (value == null || typeof value === "string") return new Float32Array(0);
  if (value instanceof Float32Array) return value;
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  const start = ArrayBuffer.isView(value) ? value.byteOffset : 0;
  const length = value.byteLength || 0;
  return new Float32Array(buffer.slice(start, start + length - (length % 4)));
}

/** @param {any} value @returns {Table} */
const readTable = (value) => ({
  columns: list(record(value).columns).map((column) => text(column)),
  rows: list(record(value).rows).map((row) => list(row).map((cell) => text(cell))),
});

/**
 * Parse a picture from its JSON string and floats; throws an Error with a message for the user if it is malformed.
 * Returns null for the empty string, and "wait" while the floats do not match it yet.
 * @param {any} json @param {any} bytes @param {boolean} [insist] lay out the boxes here instead of waiting for their coordinates
 * @returns {Picture | null | "wait"}
 */
export function readPicture(json, bytes, insist = false) {
  if (json == null || json === "") return null;
  let raw;
  try {
    raw = typeof json === "string" ? JSON.parse(json) : json;
  } catch (error) {
    throw new Error(`The picture is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!raw || typeof raw !== "object" || Array.isArray(raw)) throw new Error("The picture is not an object.");
  if (!Object.keys(raw).length) return null;
  if (number(raw.version, VERSION) > VERSION) {
    throw new Error(`The picture has version ${raw.version}; this drawing knows version ${VERSION}. Update the explorer.`);
  }
  if (!Array.isArray(raw.nodes)) throw new Error("The picture has no list of nodes.");
  const floats = asFloats(bytes);
  const besides = raw.other && Array.isArray(raw.other.nodes) ? raw.other.nodes.length : 0;
  const fits = floats.length === 4 * (raw.nodes.length + besides) && floats.every(Number.isFinite);
  if (!fits && !insist) return "wait";
  const picture = build(raw, fits ? floats : null, 0);
  if (besides) picture.other = build(raw.other, fits ? floats : null, 4 * raw.nodes.length);
  return picture;
}

/** @param {any} raw @param {Float32Array | null} floats @param {number} start @returns {Picture} */
function build(raw, floats, start) {
  /** @type {Map<number, number>} */
  const used = new Map();
  /** @type {Map<string, Box>} */
  const byId = new Map();
  /** @type {Box[]} */
  const boxes = [];
  raw.nodes.forEach((/** @type {any} */ node, /** @type {number} */ index) => {
    if (!node || typeof node !== "object" || node.id == null) throw new Error(`Node ${index} of the picture has no id.`);
    if (byId.has(text(node.id))) throw new Error(`The id ${text(node.id)} is not unique in the picture.`);
    const level = number(node.level);
    const column = used.get(level) || 0;
    used.set(level, column + 1);
    const at = start + 4 * index;
    /** @type {Box} */
    const box = {
      id: text(node.id),
      ids: list(node.ids),
      title: text(node.title),
      detail: text(node.detail),
      kind: text(node.kind, "operator"),
      level,
      count: number(node.count, 1),
      folds: number(node.folds, 1),
      change: node.change in CHANGE_WORDS ? node.change : "kept",
      fill: typeof node.fill === "number" ? Math.min(1, Math.max(0, node.fill)) : null,
      fillText: text(node.fill_text),
      category: typeof node.category === "number" ? node.category : null,
      matched: node.matched === true,
      badges: list(node.badges).map((badge) => ({
        sign: text(record(badge).sign, "!"),
        text: text(record(badge).text),
        tone: text(record(badge).tone, "info"),
      })),
      cameFrom: list(node.came_from).map((id) => text(id)),
      numbered: "",
      x: floats ? floats[at] : 100 + 180 * column,
      y: floats ? floats[at + 1] : 60 + 100 * level,
      w: Math.max(8, floats ? floats[at + 2] : 152),
      h: Math.max(8, floats ? floats[at + 3] : 46),
    };
    byId.set(box.id, box);
    boxes.push(box);
  });

  /** @type {Edge[]} */
  const edges = [];
  let lost = 0;
  for (const edge of list(raw.edges)) {
    const source = byId.get(text(record(edge).source));
    const target = byId.get(text(record(edge).target));
    if (!source || !target) {
      lost += 1;
      continue;
    }
    edges.push({
      source,
      target,
      change: edge.change in CHANGE_WORDS ? edge.change : "kept",
      count: number(edge.count, 1),
      read: text(edge.read),
      copied: number(edge.copied_bytes),
      label: text(edge.label),
      bends: list(edge.points).filter(Array.isArray).map((at) => ({ x: number(at[0]), y: number(at[1]) })),
      points: [],
      run: "v",
    });
  }
  route(boxes, edges);

  const hulls = list(raw.hulls).map((hull, index) => ({
    id: text(record(hull).id, String(index)),
    kind: text(record(hull).kind, "match"),
    boxes: /** @type {Box[]} */ (list(record(hull).nodes).map((id) => byId.get(text(id))).filter(Boolean)),
    label: text(record(hull).label),
    reason: text(record(hull).reason),
  }));
  const legend = list(raw.legend).map((item) => ({
    channel: text(record(item).channel),
    role: text(record(item).role),
    sign: text(record(item).sign),
    text: text(record(item).text),
  }));
  /** @type {Map<number, string>} */
  const signs = new Map();
  for (const item of legend) {
    const category = /^category-(\d+)$/.exec(item.role);
    if (category && item.sign) signs.set(Number(category[1]), item.sign);
  }
  const right = boxes.reduce((most, box) => Math.max(most, box.x + box.w / 2 + 24), 0);
  const bottom = boxes.reduce((most, box) => Math.max(most, box.y + box.h / 2 + 24), 0);
  const note = text(raw.note) + (lost ? ` ${lost} ${lost === 1 ? "arrow leads" : "arrows lead"} outside the picture.` : "");
  return {
    step: number(raw.step),
    mode: text(raw.mode, "diff"),
    colourBy: text(raw.colour_by, "change"),
    groupBy: text(raw.group_by, "fold"),
    title: text(raw.title),
    caption: text(raw.caption),
    note,
    message: text(raw.message),
    width: Math.max(number(raw.width), right),
    height: Math.max(number(raw.height), bottom),
    boxes,
    byId,
    edges,
    hulls: hulls.filter((hull) => hull.boxes.length),
    legend,
    signs,
    table: readTable(raw.table),
    actions: list(raw.actions).map((action) => ({
      name: text(record(action).name), label: text(record(action).label), beside: text(record(action).beside, raw.message ? "message" : "note"),
    })),
    other: null,
  };
}

/** @param {any} value @returns {Step[]} */
export function readSteps(value) {
  return asList(value).map((step, index) => ({
    index: number(record(step).index, index),
    path: text(record(step).path),
    title: text(record(step).title, `Step ${index + 1}`),
    summary: text(record(step).summary),
    changed: record(step).changed !== false,
    ok: typeof record(step).ok === "boolean" ? step.ok : null,
    error: text(record(step).error),
    layers: number(record(step).layers),
    folds: number(record(step).folds),
    matches: number(record(step).matches),
    counted: text(record(step).counted),
    nearMisses: number(record(step).near_misses),
    seconds: number(record(step).seconds),
  }));
}

/** @param {any} value @returns {Details | null} */
export function readDetails(value) {
  const raw = asDict(value);
  if (!Object.keys(raw).length) return null;
  return {
    id: text(raw.id),
    title: text(raw.title),
    sections: list(raw.sections).map((section) => ({
      heading: text(record(section).heading),
      rows: list(record(section).rows).map((row) => list(row).map((cell) => text(cell))),
      lines: list(record(section).lines).map((line) => text(line)),
    })),
  };
}

// ---- colours --------------------------------------------------------------------------------------------------------

/** Okabe-Ito roles; a darker shade where the pure colour as a line would have a contrast below 3:1. */
/** @type {Record<string, string>} */
const LIGHT = {
  bg: "#ffffff", ground: "#f7f8fa", panel: "#ffffff", fg: "#16191d", muted: "#565d66", line: "#d5d9df", control: "#858c96",
  box: "#ffffff", kept: "#7d858f", edge: "#8a929c", accent: "#0a5fb4", onAccent: "#ffffff", soft: "#eaf1f9",
  added: "#009e73", onAdded: "#000000", addedFill: "#dcf3ea", removed: "#d55e00", onRemoved: "#000000", removedFill: "#fdeadf",
  changed: "#0072b2", onChanged: "#ffffff", changedFill: "#ddedf8", matched: "#e69f00", onMatched: "#000000", matchedFill: "#fad98f",
  matchedLine: "#6b4a00", nearMiss: "#b35a89", nearMissFill: "#f7e3ee", lost: "#6e6e6e", lostFill: "#ececec", onLost: "#ffffff",
  hatch: "#b9bec6", info: "#0072b2", onInfo: "#ffffff", warning: "#e69f00", onWarning: "#000000", error: "#b3261e", onError: "#ffffff",
  copy: "#8a3d00", copyFill: "#fff1e2", free: "#2b5d4d", freeFill: "#e6f4ee", shade: "rgba(20,25,35,.14)",
};
/** @type {Record<string, string>} */
const DARK = {
  bg: "#14171c", ground: "#191d23", panel: "#1f242b", fg: "#eceef1", muted: "#a9b1bb", line: "#3a414b", control: "#7d8792",
  box: "#262c34", kept: "#8a94a0", edge: "#7d8792", accent: "#7cc0ff", onAccent: "#06121f", soft: "#23313f",
  added: "#1fc796", onAdded: "#000000", addedFill: "#123a2e", removed: "#f0803a", onRemoved: "#000000", removedFill: "#45240f",
  changed: "#56b4e9", onChanged: "#000000", changedFill: "#143448", matched: "#e69f00", onMatched: "#000000", matchedFill: "#7a5a10",
  matchedLine: "#ffd277", nearMiss: "#cc79a7", nearMissFill: "#43263a", lost: "#a3a3a3", lostFill: "#34373b", onLost: "#000000",
  hatch: "#59626d", info: "#56b4e9", onInfo: "#000000", warning: "#e69f00", onWarning: "#000000", error: "#ff8a80", onError: "#000000",
  copy: "#ffb877", copyFill: "#3d2a17", free: "#8fd8bf", freeFill: "#17362d", shade: "rgba(0,0,0,.5)",
};
/** @type {Record<string, string>} */
const FORCED = Object.fromEntries(
  Object.keys(LIGHT).map((role) => [
    role,
    /^(bg|ground|panel|box|soft|shade|.*Fill|on[A-Z].*)$/.test(role) ? "Canvas" : /^accent$/.test(role) ? "Highlight" : "CanvasText",
  ]),
);
const LIGHT_CATEGORIES = [
  "#cfe3f5", "#fbe3b6", "#cdeadf", "#f6d5e4", "#dcd6f2", "#f8d9c6", "#d9e8b8", "#c9ebf0", "#ecdcc4", "#e3e3e3", "#f9f0ad", "#e2cfe8",
];
const DARK_CATEGORIES = [
  "#1f4b73", "#6a4a08", "#14563f", "#6b2f50", "#453a7d", "#733a17", "#475a14", "#155560", "#5b4727", "#4a4d52", "#625a0c", "#583463",
];
const CIVIDIS = ["#00204c", "#00316f", "#31446b", "#4d556b", "#666870", "#7b7b78", "#958f78", "#aea373", "#cab969", "#e6d059", "#ffe945"];

/** @param {string} hex */
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** Cividis at a value from 0 to 1. @param {number} at */
export function heat(at) {
  const scaled = Math.min(1, Math.max(0, at)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(scaled));
  const [a, b] = [rgb(CIVIDIS[low]), rgb(CIVIDIS[low + 1])];
  const mixed = a.map((value, channel) => Math.round(value + (b[channel] - value) * (scaled - low)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** Relative luminance (WCAG 2). @param {string} hex */
export function luminance(hex) {
  const [r, g, b] = rgb(hex).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @typedef {{roles: Record<string, string>, categories: string[], forced: boolean}} Palette */

/** @param {string} theme @param {boolean} forced @returns {Palette} */
function paletteOf(theme, forced) {
  if (forced) return { roles: FORCED, categories: [], forced };
  return theme === "dark"
    ? { roles: DARK, categories: DARK_CATEGORIES, forced }
    : { roles: LIGHT, categories: LIGHT_CATEGORIES, forced };
}

/**
 * The fill of a box: colour, text colour, and hatch ("removed", "missing" or none).
 * @param {Box} box @param {Picture} picture @param {Palette} palette @returns {{fill: string, ink: string, hatch: string}}
 */
function fillOf(box, picture, palette) {
  const { roles } = palette;
  const hatch = box.change === "removed" ? "removed" : "";
  if (palette.forced) return { fill: roles.box, ink: roles.fg, hatch };
  if (box.fill !== null) {
    const fill = heat(box.fill);
    return { fill, ink: luminance(fill) > 0.18 ? "#000000" : "#ffffff", hatch };
  }
  if (["time", "memory", "fold"].includes(picture.colourBy) && box.category === null) {
    return { fill: roles.box, ink: roles.fg, hatch: hatch || "missing" };
  }
  if (box.category !== null && picture.colourBy !== "change") {
    return { fill: palette.categories[Math.abs(box.category) % palette.categories.length], ink: roles.fg, hatch };
  }
  if (picture.colourBy === "change") {
    if (box.matched) return { fill: roles.matchedFill, ink: roles.fg, hatch };
    if (box.change !== "kept") return { fill: roles[`${box.change}Fill`], ink: roles.fg, hatch };
  }
  return { fill: roles.box, ink: roles.fg, hatch };
}

/** @param {Box} box @param {Palette} palette @param {Picture} picture */
function borderOf(box, palette, picture) {
  const { roles } = palette;
  if (box.change === "kept") {
    const matched = box.matched && picture.colourBy === "change";
    // On a strong fill the grey border, and with it the stack, would be invisible.
    if (box.fill !== null) return { stroke: roles.fg, width: 1, dash: /** @type {number[]} */ ([]) };
    return { stroke: matched ? roles.matchedLine : roles.kept, width: matched ? 1.8 : 1.2, dash: /** @type {number[]} */ ([]) };
  }
  return { stroke: roles[box.change], width: 2, dash: box.change === "removed" ? [6, 4] : [] };
}

/** @param {Edge} edge @param {Palette} palette */
function lineOf(edge, palette) {
  const width = Math.min(4, 1.2 + 0.35 * Math.log2(Math.max(1, edge.count)));
  return {
    stroke: edge.change === "kept" ? palette.roles.edge : palette.roles[edge.change],
    width: edge.change === "kept" ? width : width + 0.6,
    dash: edge.change === "removed" ? [6, 4] : edge.change === "changed" ? [9, 3, 2, 3] : [],
  };
}

/** @param {string} kind @param {Palette} palette */
function hullStyle(kind, palette) {
  const { roles } = palette;
  if (kind === "near-miss") return { stroke: roles.nearMiss, fill: roles.nearMissFill, dash: [2, 4], width: 2, ink: roles.fg, hatch: false };
  if (kind === "lost") return { stroke: roles.lost, fill: roles.lostFill, dash: [8, 4], width: 1.6, ink: roles.fg, hatch: true };
  return { stroke: roles.matchedLine, fill: roles.matched, dash: [], width: kind === "winner" ? 2.6 : 1.6, ink: roles.fg, hatch: false };
}

// ---- geometry -------------------------------------------------------------------------------------------------------

/** @param {number} value */
const short = (value) => String(Math.round(value * 10) / 10);

/** The outline of a box of a kind, centred at (0, 0). @param {string} kind @param {number} w @param {number} h */
function boxPath(kind, w, h) {
  const [l, t, r, b] = [-w / 2, -h / 2, w / 2, h / 2];
  if (kind === "product") {
    const c = Math.min(10, h / 4);
    return `M${l + c} ${t}H${r - c}L${r} ${t + c}V${b - c}L${r - c} ${b}H${l + c}L${l} ${b - c}V${t + c}Z`;
  }
  const radius = Math.min(w / 2, kind === "input" || kind === "leaf" ? h / 2 : kind === "operator" ? 2 : 8);
  const arc = `a${radius} ${radius} 0 0 1 `;
  return (
    `M${l + radius} ${t}H${r - radius}${arc}${radius} ${radius}V${b - radius}${arc}${-radius} ${radius}` +
    `H${l + radius}${arc}${-radius} ${-radius}V${t + radius}${arc}${radius} ${-radius}Z`
  );
}

/** Symbols of the kinds, as strokes in a square of 16. @type {Record<string, string>} */
const SYMBOLS = {
  input: "M2 12.5c3.2 0 3-9 6-9s2.8 9 6 9",
  sum: "M8 3v10M3 8h10",
  product: "M4.2 4.2l7.600 7.600M11.8 4.2l-7.600 7.600",
  fused: "M3 3l5 5.5L13 3M8 8.5v5",
  operator: "M11.5 3.200c-3.200-1-4 1-4 4.300s-.2 6.5-3.800 5.300M4.800 7.5h5.400",
  leaf: "M8 5.2a2.8 2.8 0 1 0 .01 0z",
};

const STACK = [8, 4];

/** How far a stack extends beyond its box. @param {Box} box */
const rise = (box) => (box.folds > 1 ? STACK[0] : 0);

/**
 * Rows of boxes that overlap vertically, from top to bottom; a single row if there are no clear gaps.
 * @param {Box[]} boxes @returns {{t: number, b: number, boxes: Box[]}[]}
 */
export function rowsOf(boxes) {
  /** @type {{t: number, b: number, boxes: Box[]}[]} */
  const rows = [];
  for (const box of [...boxes].sort((a, b) => a.y - a.h / 2 - (b.y - b.h / 2))) {
    const [t, b] = [box.y - box.h / 2, box.y + box.h / 2];
    const last = rows[rows.length - 1];
    if (last && t < last.b) {
      last.b = Math.max(last.b, b);
      last.boxes.push(box);
    } else rows.push({ t, b, boxes: [box] });
  }
  for (const row of rows) row.boxes.sort((a, b) => a.x - b.x);
  return rows;
}

/**
 * Route all edges: they leave and enter boxes side by side, and pass through the gaps of the rows between.
 * @param {Box[]} boxes @param {Edge[]} edges
 */
function route(boxes, edges) {
  const tidy = edges.length <= 4 * MAX_SVG_BOXES;
  /** @type {Map<string, {edge: Edge, end: number, other: number, reach: number}[]>} */
  const ports = new Map();
  for (const edge of edges) {
    const { source, target } = edge;
    edge.run = Math.abs(target.y - source.y) >= (source.h + target.h) / 2 ? "v" : "h";
    const way = edge.run === "v" ? Math.sign(target.y - source.y) : Math.sign(target.x - source.x) || 1;
    const ends = [source, target].map((box, end) => {
      const side = end === 0 ? way : -way;
      const out = (edge.run === "v" ? box.h : box.w) / 2 + ((edge.run === "v" ? side < 0 : side > 0) ? rise(box) : 0);
      const key = `${box.id} ${edge.run} ${side}`;
      if (tidy) {
        const other = end === 0 ? target : source;
        const group = ports.get(key) || [];
        if (!group.length) ports.set(key, group);
        group.push({ edge, end, other: edge.run === "v" ? other.x : other.y, reach: edge.run === "v" ? box.w : box.h });
      }
      return edge.run === "v" ? { x: box.x, y: box.y + side * out } : { x: box.x + side * out, y: box.y };
    });
    edge.points = [ends[0], ...edge.bends, ends[1]];
  }
  for (const group of ports.values()) {
    if (group.length < 2) continue;
    group.sort((a, b) => a.other - b.other);
    const gap = Math.min(16, (0.72 * group[0].reach) / (group.length - 1));
    group.forEach(({ edge, end }, index) => {
      const at = edge.points[end === 0 ? 0 : edge.points.length - 1];
      at[edge.run === "v" ? "x" : "y"] += (index - (group.length - 1) / 2) * gap;
    });
  }
  if (boxes.length > MAX_ROUTED_BOXES) return;

  overNeighbours(boxes, edges);
  const rows = rowsOf(boxes);
  /** Vertical segments already in use. @type {{x: number, t: number, b: number}[]} */
  const lanes = [];
  for (const edge of edges) {
    if (edge.run !== "v" || edge.bends.length || edge.points.length > 2) continue;
    const [from, to] = [edge.points[0], edge.points[1]];
    const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
    const between = rows.filter((row) => row.t - 1 > top && row.b + 1 < bottom);
    if (!between.length) continue;
    if (to.y < from.y) between.reverse();
    const lane = straightLane(between, from, to);
    /** @type {Point[]} */
    const bends = [];
    /** @type {{x: number, t: number, b: number}[]} */
    const own = [];
    const down = to.y > from.y;
    let last = from.x;
    for (const row of between) {
      const [t, b] = [row.t - 4 - STACK[0], row.b + 4];
      const x = apart(row, passage(row.boxes, bends.length ? last : lane ?? last), lanes);
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
}

/** An edge to a box in the same row passes above the boxes between, and enters from above. @param {Box[]} boxes @param {Edge[]} edges */
function overNeighbours(boxes, edges) {
  for (const edge of edges) {
    const { source, target } = edge;
    if (edge.run !== "h" || edge.bends.length) continue;
    const [l, r] = [Math.min(source.x, target.x), Math.max(source.x, target.x)];
    const [t, b] = [Math.min(source.y, target.y), Math.max(source.y, target.y)];
    const between = boxes.filter((box) => box !== source && box !== target && box.x > l && box.x < r && box.y + box.h / 2 > t && box.y - box.h / 2 < b);
    if (!between.length) continue;
    const way = Math.sign(target.x - source.x);
    const tops = [source, target, ...between].map((box) => box.y - box.h / 2 - rise(box));
    const [over, end] = [Math.min(...tops) - 18, target.x - (way * target.w) / 4];
    edge.run = "v";
    edge.points = [{ x: source.x, y: tops[0] }, { x: end - way * 10, y: over, side: true }, { x: end, y: tops[1] }];
  }
}

/** If the gap before a box is too narrow for a curve, an edge that passed other rows enters at the side of the box. @param {Edge} edge @param {{t: number, b: number, boxes: Box[]}[]} rows */
function bySide(edge, rows) {
  const last = edge.points.length - 1;
  for (const [end, bend, box] of /** @type {[number, number, Box][]} */ ([[0, 1, edge.source], [last, last - 1, edge.target]])) {
    const [at, lane] = [edge.points[end], edge.points[bend]];
    const way = Math.sign(lane.x - box.x);
    const reach = box.w / 2 + (way > 0 ? rise(box) : 0);
    const row = rows.find((item) => item.boxes.includes(box));
    if (Math.abs(at.y - lane.y) > 26 || Math.abs(lane.x - box.x) < reach + 10 || !row) continue;
    const [l, r] = [Math.min(lane.x, box.x), Math.max(lane.x, box.x)];
    if (row.boxes.some((other) => other !== box && other.x + other.w / 2 + rise(other) > l && other.x - other.w / 2 < r)) continue;
    edge.points[end] = { x: box.x + way * reach, y: box.y + (end ? 5 : -5), side: true };
  }
}

/** Whether a vertical line passes a row without touching a box. @param {Box[]} boxes @param {number} x @param {number} margin */
const isClear = (boxes, x, margin) => boxes.every((box) => x < box.x - box.w / 2 - margin || x > box.x + box.w / 2 + margin + rise(box));

/** `x`, or the nearest position to it, that no other edge uses in this row. @param {{t: number, b: number, boxes: Box[]}} row @param {number} x @param {{x: number, t: number, b: number}[]} lanes */
function apart(row, x, lanes) {
  const near = lanes.filter((lane) => lane.t < row.b && row.t < lane.b);
  for (const shift of [0, 7, -7, 14, -14, 21, -21]) {
    if (isClear(row.boxes, x + shift, 6) && near.every((lane) => Math.abs(lane.x - x - shift) > 5)) return x + shift;
  }
  return x;
}

/** A position to pass all these rows in a straight line, if there is one. @param {{boxes: Box[]}[]} rows @param {Point} from @param {Point} to */
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

/** A smooth line through the points of an edge. @param {Point[]} points @param {"v" | "h"} run */
export function curve(points, run) {
  const at = (/** @type {number} */ x, /** @type {number} */ y) => `${short(x)} ${short(y)}`;
  let d = `M${at(points[0].x, points[0].y)}`;
  for (let index = 1; index < points.length; index += 1) {
    const [p, q] = [points[index - 1], points[index]];
    if (p.side || q.side) {
      // A corner between a horizontal segment at the box and a vertical one in the lane.
      const [corner, r] = [p.side ? { x: q.x, y: p.y } : { x: p.x, y: q.y }, 8];
      const from = p.side ? { x: corner.x - Math.sign(q.x - p.x) * r, y: p.y } : { x: p.x, y: corner.y - Math.sign(q.y - p.y) * r };
      const to = p.side ? { x: q.x, y: corner.y + Math.sign(q.y - p.y) * r } : { x: corner.x + Math.sign(q.x - p.x) * r, y: q.y };
      d += `L${at(from.x, from.y)}Q${at(corner.x, corner.y)} ${at(to.x, to.y)}L${at(q.x, q.y)}`;
      continue;
    }
    const straight = Math.abs(run === "v" ? p.x - q.x : p.y - q.y) < 0.5;
    const [a, b] = run === "v" ? [at(p.x, (p.y + q.y) / 2), at(q.x, (p.y + q.y) / 2)] : [at((p.x + q.x) / 2, p.y), at((p.x + q.x) / 2, q.y)];
    d += straight ? `L${at(q.x, q.y)}` : `C${a} ${b} ${at(q.x, q.y)}`;
  }
  return d;
}

/** The head of an arrow that ends at the last point. @param {Point[]} points @param {"v" | "h"} run */
function head(points, run) {
  const [before, tip] = [points[points.length - 2], points[points.length - 1]];
  const level = run === "h" || tip.side;
  const s = Math.sign(level ? tip.x - before.x : tip.y - before.y) || 1;
  return `M${short(tip.x)} ${short(tip.y)}${level ? `l${-7 * s} -4v8Z` : `l-4 ${-7 * s}h8Z`}`;
}

/** The point at fraction `t` of an edge's middle segment, by default its centre. @param {Edge} edge @param {number} t @returns {Point} */
function along(edge, t) {
  const parts = edge.points.length - 1;
  const part = Math.min(parts - 1, Math.floor(t * parts));
  const u = t * parts - part;
  const [p, q] = [edge.points[part], edge.points[part + 1]];
  const smooth = 3 * u * u * (1 - u) + u * u * u;
  const even = 1.5 * u * (1 - u) * (1 - u) + 1.5 * u * u * (1 - u) + u * u * u;
  return edge.run === "v"
    ? { x: p.x + (q.x - p.x) * smooth, y: p.y + (q.y - p.y) * even }
    : { x: p.x + (q.x - p.x) * even, y: p.y + (q.y - p.y) * smooth };
}

/** @param {Box} box @param {number} pad @returns {Rect} */
const around = (box, pad) => ({
  l: box.x - box.w / 2 - pad,
  t: box.y - box.h / 2 - pad - rise(box),
  r: box.x + box.w / 2 + pad + rise(box),
  b: box.y + box.h / 2 + pad,
});

/** @param {Rect} a @param {Rect} b */
const meets = (a, b) => a.l < b.r && b.l < a.r && a.t < b.b && b.t < a.b;

/**
 * Rectangles that together surround the boxes: one around each, and corridors between neighbours through the free rows.
 * @param {Box[]} boxes @param {number} pad @returns {Rect[]}
 */
export function cover(boxes, pad) {
  const rects = boxes.map((box) => around(box, pad));
  if (boxes.length > MAX_HULLS) return rects;
  const corridors = [];
  const joined = [0];
  const open = rects.map((_, index) => index).slice(1);
  while (open.length) {
    let best = { gap: Infinity, from: 0, to: 0, place: 0 };
    for (const from of joined) {
      open.forEach((to, place) => {
        const [a, b] = [rects[from], rects[to]];
        const dx = Math.max(0, b.l - a.r, a.l - b.r);
        const dy = Math.max(0, b.t - a.b, a.t - b.b);
        const gap = dy + 1.2 * dx;
        if (gap < best.gap) best = { gap, from, to, place };
      });
    }
    open.splice(best.place, 1);
    joined.push(best.to);
    corridors.push(...corridor(rects[best.from], rects[best.to]));
  }
  return [...rects, ...corridors];
}

/** @param {Rect} a @param {Rect} b @returns {Rect[]} */
function corridor(a, b) {
  const half = 9;
  if (meets(a, b)) return [];
  const [up, down] = a.t < b.t ? [a, b] : [b, a];
  if (up.b < down.t) {
    const [l, r] = [Math.max(up.l, down.l), Math.min(up.r, down.r)];
    if (r - l >= 2 * half) {
      const [middle, width] = [(l + r) / 2, Math.min(r - l, 44) / 2];
      return [{ l: middle - width, t: up.b - 1, r: middle + width, b: down.t + 1 }];
    }
    const right = (down.l + down.r) / 2 > (up.l + up.r) / 2;
    const from = right ? Math.max((up.l + up.r) / 2, up.r - 30) : Math.min((up.l + up.r) / 2, up.l + 30);
    const to = right ? Math.min((down.l + down.r) / 2, down.l + 30) : Math.max((down.l + down.r) / 2, down.r - 30);
    const middle = (up.b + down.t) / 2;
    return [
      { l: from - half, t: up.b - 1, r: from + half, b: middle + half },
      { l: Math.min(from, to) - half, t: middle - half, r: Math.max(from, to) + half, b: middle + half },
      { l: to - half, t: middle - half, r: to + half, b: down.t + 1 },
    ];
  }
  const [left, right] = a.l < b.l ? [a, b] : [b, a];
  const [t, d] = [Math.max(left.t, right.t), Math.min(left.b, right.b)];
  const middle = (t + d) / 2;
  return [{ l: left.r - 1, t: middle - half, r: right.l + 1, b: middle + half }];
}

/**
 * The outline of a union of rectangles, with rounded corners, traced along the grid that their sides span.
 * @param {Rect[]} rects @param {number} [radius]
 */
export function outline(rects, radius = 9) {
  const xs = [...new Set(rects.flatMap((rect) => [rect.l, rect.r]))].sort((a, b) => a - b);
  const ys = [...new Set(rects.flatMap((rect) => [rect.t, rect.b]))].sort((a, b) => a - b);
  const [columns, lines] = [xs.length - 1, ys.length - 1];
  const filled = new Uint8Array(Math.max(0, columns * lines));
  for (const rect of rects) {
    const [c0, c1] = [xs.indexOf(rect.l), xs.indexOf(rect.r)];
    const [r0, r1] = [ys.indexOf(rect.t), ys.indexOf(rect.b)];
    for (let row = r0; row < r1; row += 1) filled.fill(1, row * columns + c0, row * columns + c1);
  }
  /** @param {number} c @param {number} r */
  const at = (c, r) => c >= 0 && r >= 0 && c < columns && r < lines && filled[r * columns + c] === 1;
  /** Sides of the union, clockwise, keyed by the corner where they start. @type {Map<string, [number, number][]>} */
  const sides = new Map();
  /** @param {number} c0 @param {number} r0 @param {number} c1 @param {number} r1 */
  const side = (c0, r0, c1, r1) => {
    const key = `${c0} ${r0}`;
    const ends = sides.get(key);
    if (ends) ends.push([c1, r1]);
    else sides.set(key, [[c1, r1]]);
  };
  for (let r = 0; r < lines; r += 1) {
    for (let c = 0; c < columns; c += 1) {
      if (!at(c, r)) continue;
      if (!at(c, r - 1)) side(c, r, c + 1, r);
      if (!at(c + 1, r)) side(c + 1, r, c + 1, r + 1);
      if (!at(c, r + 1)) side(c + 1, r + 1, c, r + 1);
      if (!at(c - 1, r)) side(c, r + 1, c, r);
    }
  }
  let d = "";
  while (sides.size) {
    const [first] = sides.keys();
    let [c, r] = first.split(" ").map(Number);
    /** @type {Point[]} */
    const corners = [];
    for (;;) {
      const key = `${c} ${r}`;
      const ends = sides.get(key);
      if (!ends) break;
      const next = /** @type {[number, number]} */ (ends.pop());
      if (!ends.length) sides.delete(key);
      corners.push({ x: xs[c], y: ys[r] });
      [c, r] = next;
    }
    d += rounded(corners.filter((corner, index) => {
      const [p, q] = [corners[(index + corners.length - 1) % corners.length], corners[(index + 1) % corners.length]];
      return !((p.x === corner.x && corner.x === q.x) || (p.y === corner.y && corner.y === q.y));
    }), radius);
  }
  return d;
}

/** @param {Point[]} corners @param {number} radius */
function rounded(corners, radius) {
  let d = "";
  corners.forEach((corner, index) => {
    const p = corners[(index + corners.length - 1) % corners.length];
    const q = corners[(index + 1) % corners.length];
    const before = Math.abs(p.x - corner.x) + Math.abs(p.y - corner.y);
    const after = Math.abs(q.x - corner.x) + Math.abs(q.y - corner.y);
    const by = Math.min(radius, before / 2, after / 2);
    const from = { x: corner.x + Math.sign(p.x - corner.x) * by, y: corner.y + Math.sign(p.y - corner.y) * by };
    const to = { x: corner.x + Math.sign(q.x - corner.x) * by, y: corner.y + Math.sign(q.y - corner.y) * by };
    d += `${index ? "L" : "M"}${short(from.x)} ${short(from.y)}Q${short(corner.x)} ${short(corner.y)} ${short(to.x)} ${short(to.y)}`;
  });
  return `${d}Z`;
}

/** @typedef {{at: Rect, words: string, sign: string}} Tag */

/**
 * Hulls as drawn: the outline, and a tag at a corner clear of boxes and of other tags.
 * @param {Picture} picture @returns {{hull: Hull, d: string, tag: Tag | null}[]}
 */
function layHulls(picture) {
  /** @type {Map<string, number>} */
  const depth = new Map();
  /** @type {Rect[]} */
  const taken = picture.boxes.length <= MAX_ROUTED_BOXES ? picture.boxes.map((box) => around(box, 1)) : [];
  const tags = picture.hulls.length <= MAX_HULLS;
  const said = new Map(picture.legend.filter((item) => item.channel === "hull").map((item) => [item.role, item.sign]));
  return picture.hulls.map((hull) => {
    const level = Math.max(...hull.boxes.map((box) => depth.get(box.id) || 0));
    for (const box of hull.boxes) depth.set(box.id, level + 1);
    const rects = cover(hull.boxes, 8 + 5 * (level % 3));
    const d = outline(rects);
    if (!tags) return { hull, d, tag: null };
    const all = {
      l: Math.min(...rects.map((rect) => rect.l)),
      t: Math.min(...rects.map((rect) => rect.t)),
      r: Math.max(...rects.map((rect) => rect.r)),
      b: Math.max(...rects.map((rect) => rect.b)),
    };
    const top = rects.reduce((best, rect) => (rect.t < best.t ? rect : best));
    const low = rects.reduce((best, rect) => (rect.b > best.b ? rect : best));
    const words = clip(hull.label || HULL_WORDS[hull.kind] || hull.kind, 11, 260);
    const width = 24 + wide(words, 11);
    const places = [
      [top.l + 2, all.t - 10], [top.r - width - 2, all.t - 10], [low.l + 2, all.b - 8], [low.r - width - 2, all.b - 8],
      [top.l + 2, all.t - 27], [low.l + 2, all.b + 9], [all.r - 6, (top.t + top.b) / 2 - 9], [all.l - width + 6, (top.t + top.b) / 2 - 9],
    ].map(([l, t]) => ({ l, t, r: l + width, b: t + 18 }));
    const at = places.find((place) => !taken.some((rect) => meets(rect, place))) || places[0];
    taken.push(at);
    return { hull, d, tag: { at, words, sign: said.get(hull.kind) || HULL_SIGNS[hull.kind] || "•" } };
  });
}

/**
 * Positions of edge labels: on the line, clear of boxes and of each other; labels without room appear in the inspector.
 * @param {Picture} picture @param {Rect[]} taken
 */
function layLabels(picture, taken) {
  if (picture.boxes.length > MAX_ROUTED_BOXES) return [];
  const pills = picture.boxes.filter(pillOf).map((box) => {
    const [right, top] = [box.x + box.w / 2 + rise(box), box.y - box.h / 2 - rise(box)];
    return { l: right - 50, t: top - 10, r: right + 8, b: top + 10 };
  });
  const rects = [...picture.boxes.map((box) => around(box, 2)), ...pills, ...taken];
  const labels = [];
  for (const edge of picture.edges) {
    const words = clip(edge.label || edge.read || (edge.count > 1 ? `${edge.count} ×` : ""), 10, 130);
    if (!words) continue;
    const width = 10 + wide(words, 10);
    for (const t of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]) {
      const middle = along(edge, t);
      const at = { l: middle.x - width / 2, t: middle.y - 8, r: middle.x + width / 2, b: middle.y + 8 };
      if (rects.some((rect) => meets(rect, at))) continue;
      rects.push(at);
      labels.push({ edge, words, at });
      break;
    }
  }
  return labels;
}

/** @type {{pen: CanvasRenderingContext2D | null, known: Map<string, number>}} */
const ruler = { pen: null, known: new Map() };
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';

/** Width of a text in pixels. @param {string} words @param {number} size @param {boolean} [bold] */
function wide(words, size, bold = false) {
  const key = `${bold ? "b" : ""}${size} ${words}`;
  const known = ruler.known.get(key);
  if (known !== undefined) return known;
  if (ruler.known.size > 20000) ruler.known.clear();
  let width = words.length * size * (bold ? 0.6 : 0.56);
  if (ruler.pen) {
    ruler.pen.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    width = ruler.pen.measureText(words).width;
  }
  ruler.known.set(key, width);
  return width;
}

/** A text cut to a width, with an ellipsis. @param {string} words @param {number} size @param {number} room @param {boolean} [bold] */
function clip(words, size, room, bold = false) {
  if (wide(words, size, bold) <= room) return words;
  let [low, high] = [0, words.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (wide(`${words.slice(0, middle)}…`, size, bold) <= room) low = middle;
    else high = middle - 1;
  }
  return low ? `${words.slice(0, low).trimEnd()}…` : "";
}

/**
 * The texts in a box and their positions; if there is no room for the title, there is still room for its number.
 * @param {Box} box
 */
function wordsOf(box) {
  const inset = box.kind === "input" || box.kind === "leaf" ? 6 : 0;
  const left = -box.w / 2 + 30 + inset;
  const room = box.w - 38 - 2 * inset;
  const two = box.h >= 36 && box.detail !== "";
  /** @param {number} size @param {number} most */
  const titled = (size, most) => (box.numbered
    ? `${clip(box.title, size, most - wide(` ${box.numbered}`, size, true), true)} ${box.numbered}`
    : clip(box.title, size, most, true));
  return {
    left,
    two,
    title: titled(12.5, room),
    detail: two ? clip(box.detail, 11, room) : "",
    far: titled(18, box.w - 34 - inset),
  };
}

/** Sign at the corner: the number of nodes or folds. @param {Box} box */
function pillOf(box) {
  if (box.folds > 1) return { words: box.count > 1 ? `${box.count} · ×${box.folds}` : `×${box.folds}`, solid: true };
  return box.count > 1 ? { words: `${box.count}`, solid: false } : null;
}

/** A description of a box, for screen readers and the tooltip. @param {Box} box */
function sayBox(box) {
  const many = box.folds > 1 ? `${box.folds} folds` : box.count > 1 ? `${box.count} layers` : "";
  const parts = [box.title, box.detail, many, `level ${box.level}`, box.change === "kept" ? "" : CHANGE_WORDS[box.change]];
  parts.push(box.matched ? "matched" : "", box.fillText, ...box.badges.map((badge) => badge.text));
  return parts.filter(Boolean).join(", ");
}

// ---- making elements ------------------------------------------------------------------------------------------------

/**
 * Functions that create HTML and SVG elements. Attributes: functions named `on...` are listeners, `text` is text, null and
 * false are omitted. Text never becomes markup: a layer whose name is an HTML tag shows that name.
 * @param {any} doc
 */
function maker(doc) {
  /** @param {any} element @param {Record<string, any>} attributes @param {any[]} children */
  const fill = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value == null || value === false) continue;
      if (name === "text") element.textContent = value;
      else if (typeof value === "function") element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat()) if (child) element.appendChild(child);
    return element;
  };
  return {
    doc,
    /** @param {string} tag @param {Record<string, any>} [attributes] @param {any[]} children @returns {any} */
    h: (tag, attributes = {}, ...children) => fill(doc.createElement(tag), attributes, children),
    /** @param {string} tag @param {Record<string, any>} [attributes] @param {any[]} children @returns {any} */
    s: (tag, attributes = {}, ...children) => fill(doc.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children),
  };
}
/** @typedef {ReturnType<typeof maker>} Make */

/** Strokes of the icons, in a square of 16. @type {Record<string, string>} */
const ICONS = {
  first: "M4 3v10M13 3.5L6.5 8l6.5 4.5z", previous: "M11 3.5L4.5 8 11 12.5z", next: "M5 3.5L11.5 8 5 12.5z",
  last: "M12 3v10M3 3.5L9.5 8 3 12.5z", play: "M4.5 3L13 8l-8.5 5z", pause: "M5 3v10M11 3v10", plus: "M8 3v10M3 8h10",
  minus: "M3 8h10", fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10", close: "M4 4l8 8M12 4l-8 8",
  table: "M2.5 3h11v10h-11zM2.5 6.5h11M2.5 9.800h11M6.5 6.5V13", panel: "M2.5 3h11v10h-11zM9.5 3v10",
  focus: "M8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3M8 5.5a2.5 2.5 0 1 0 .01 0z",
};

/** @param {Make} make @param {string} name */
const icon = ({ s }, name) =>
  s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "ce-icon" }, s("path", { d: ICONS[name] }));

// ---- scene: SVG -----------------------------------------------------------------------------------------------------

/** A unique prefix: hosts load the module once per widget, all in one document. */
const OWN = Math.random().toString(36).slice(2, 8);
let serial = 0;

/** Progress of the animation, eased in and out. @param {number} t */
const ease = (t) => (t < 0.5 ? 4 * t * t * t : 1 - (2 - 2 * t) ** 3 / 2);

/**
 * Where the animation of a box starts: its old position, else the centre of the boxes it came from, else its position.
 * @param {Box} box @param {Map<string, Point>} from @returns {{at: Point, grown: boolean}}
 */
function startOf(box, from) {
  const was = from.get(box.id);
  if (was) return { at: was, grown: true };
  const origins = /** @type {Point[]} */ (box.cameFrom.map((id) => from.get(id)).filter(Boolean));
  if (!origins.length) return { at: { x: box.x, y: box.y }, grown: false };
  const sum = origins.reduce((total, at) => ({ x: total.x + at.x, y: total.y + at.y }), { x: 0, y: 0 });
  return { at: { x: sum.x / origins.length, y: sum.y / origins.length }, grown: false };
}

/** The points of an edge whose ends are moved to `a` and `b`. @param {Edge} edge @param {Point} a @param {Point} b */
function moved(edge, a, b) {
  const last = edge.points.length - 1;
  return edge.points.map((point, index) => ({
    ...point,
    x: point.x + a.x + ((b.x - a.x) * index) / last,
    y: point.y + a.y + ((b.y - a.y) * index) / last,
  }));
}

/**
 * Boxes as SVG elements, each an option of a list box, so that screen readers and the keyboard can reach them.
 * @param {Make} make @param {() => Palette} palette @returns {Scene}
 */
function svgScene(make, palette) {
  const { s } = make;
  const name = `ce${OWN}-${(serial += 1)}`;
  const defs = s("defs");
  const [hullLayer, edgeLayer, tagLayer] = ["ce-hulls", "ce-edges", "ce-tags"].map((layer) => s("g", { class: layer, "aria-hidden": "true" }));
  const boxLayer = s("g", { class: "ce-boxes", role: "presentation" });
  const world = s("g", { role: "presentation" }, hullLayer, edgeLayer, boxLayer, tagLayer);
  const stage = s("svg", { class: "ce-stage", role: "listbox", "aria-multiselectable": "true" }, defs, world);
  /** @type {Picture | null} */
  let picture = null;
  /** @type {Map<string, {box: Box, group: any, from: Point, grown: boolean, now: Point}>} */
  let drawn = new Map();
  /** @type {{edge: Edge, group: any, line: any, head: any, label: any}[]} */
  let lines = [];
  /** @type {{hull: Hull, group: any, tag: any}[]} */
  let hulls = [];
  /** @type {Map<string, Point>} */
  let starts = new Map();

  /** @param {string} id @param {string} stroke @param {string} ground @param {string} turn @param {number} gap */
  const hatch = (id, stroke, ground, turn, gap) =>
    s("pattern", { id: `${name}-${id}`, width: gap, height: gap, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` },
      ground ? s("rect", { width: gap, height: gap, fill: ground }) : null,
      s("path", { d: `M0 0V${gap}`, stroke, "stroke-width": 2 }));

  function recolour() {
    const { roles } = palette();
    defs.replaceChildren(
      hatch("removed", roles.removed, "", "45", 8),
      hatch("missing", roles.hatch, "", "-45", 7),
      hatch("lost", roles.lost, "", "45", 9),
    );
    if (picture) redraw(picture);
  }

  /** @param {Box} box @param {Picture} shown */
  function drawBox(box, shown) {
    const colours = palette();
    const { roles } = colours;
    const { fill, ink, hatch: hatched } = fillOf(box, shown, colours);
    const border = borderOf(box, colours, shown);
    const d = boxPath(box.kind, box.w, box.h);
    const words = wordsOf(box);
    const halo = hatched ? `stroke:${fill};stroke-width:4px;paint-order:stroke;stroke-linejoin:round` : "";
    const stroke = { stroke: border.stroke, "stroke-width": border.width, "stroke-dasharray": border.dash.join(" ") || null };
    const group = s("g", { class: `ce-box ce-${box.kind} ce-is-${box.change}`, role: "option", "aria-selected": "false", tabindex: "-1", "data-id": box.id });
    // The accessible name; the visible text is hidden from screen readers, so that nothing is read twice.
    group.appendChild(s("text", { class: "ce-name", text: sayBox(box) }));
    const look = group.appendChild(s("g", { "aria-hidden": "true" }));
    look.appendChild(s("path", { class: "ce-ring", d: boxPath(box.kind, box.w + 11, box.h + 11) }));
    if (box.folds > 1) {
      for (const offset of STACK) look.appendChild(s("path", { class: "ce-card", d, transform: `translate(${offset} ${-offset})`, fill, ...stroke }));
    }
    look.appendChild(s("path", { class: "ce-face", d, fill, ...stroke }));
    if (hatched) look.appendChild(s("path", { class: `ce-hatch ce-hatch-${hatched}`, d, fill: `url(#${name}-${hatched})` }));
    if (box.change === "changed") {
      look.appendChild(s("path", { d: boxPath(box.kind, box.w - 7, box.h - 7), fill: "none", stroke: border.stroke, "stroke-width": 1.2 }));
    }
    const middle = box.kind === "input" || box.kind === "leaf" ? 19 : 16;
    look.appendChild(s("g", { class: "ce-symbol", transform: `translate(${-box.w / 2 + middle} 0)`, stroke: ink },
      s("circle", { r: 9.5, class: "ce-disc", fill }), s("path", { d: SYMBOLS[box.kind] || SYMBOLS.operator, transform: "translate(-8 -8)" })));
    look.appendChild(box.numbered
      ? s("text", { class: "ce-big-symbol ce-big-number", y: 1, fill: ink, style: halo, text: box.numbered })
      : s("g", { class: "ce-big-symbol", stroke: ink }, s("path", { d: SYMBOLS[box.kind] || SYMBOLS.operator, transform: "scale(2) translate(-8 -8)" })));
    look.appendChild(s("text", { class: "ce-title", x: words.left, y: words.two ? -7 : 0.5, fill: ink, style: halo, text: words.title }));
    if (words.two) look.appendChild(s("text", { class: "ce-detail", x: words.left, y: 9.5, fill: ink, style: halo, text: words.detail }));
    look.appendChild(s("text", { class: "ce-far-title", x: words.left - 2, y: 0.5, fill: ink, style: halo, text: words.far }));
    drawSigns(look, box, shown, roles);
    return group;
  }

  /** @param {any} group @param {Box} box @param {Picture} shown @param {Record<string, string>} roles */
  function drawSigns(group, box, shown, roles) {
    let x = -box.w / 2 + 3;
    /** @param {string} sign @param {string} fill @param {string} ink @param {string} stroke */
    const tag = (sign, fill, ink, stroke) => {
      group.appendChild(s("g", { class: "ce-sign", transform: `translate(${x} ${-box.h / 2})` },
        s("circle", { r: 8, fill, stroke }), s("text", { y: 0.5, fill: ink, text: sign })));
      x += 18;
    };
    if (box.change !== "kept") tag(CHANGE_SIGNS[box.change], roles[box.change], roles[`on${box.change[0].toUpperCase()}${box.change.slice(1)}`], roles.box);
    if (box.matched) tag("M", roles.matched, roles.onMatched, roles.matchedLine);
    const letter = box.category !== null && shown.colourBy !== "change" ? shown.signs.get(box.category) : "";
    if (letter && letter.length <= 2) tag(letter, roles.panel, roles.fg, roles.kept);
    const pill = pillOf(box);
    if (pill) {
      const width = 13 + wide(pill.words, 11, true);
      const right = box.w / 2 + 6 + rise(box);
      group.appendChild(s("g", { class: `ce-pill ${pill.solid ? "ce-solid" : ""}`, transform: `translate(${right - width / 2} ${-box.h / 2 - rise(box)})` },
        s("rect", { x: -width / 2, y: -9, width, height: 18, rx: 9 }), s("text", { y: 0.5, text: pill.words })));
    }
    box.badges.slice(0, 4).forEach((badge, index) => {
      const tone = badge.tone in roles ? badge.tone : "info";
      const sign = box.badges.length > 4 && index === 3 ? "…" : clip(badge.sign, 10, 24, true) || "!";
      const width = Math.max(17, 9 + wide(sign, 10.5, true));
      group.appendChild(s("g", { class: "ce-badge", transform: `translate(${box.w / 2 - 4 - index * 19 - width / 2 + 8} ${box.h / 2})` },
        s("rect", { x: -width / 2, y: -8.5, width, height: 17, rx: 5, fill: roles[tone], stroke: roles.box }),
        s("text", { y: 0.5, fill: roles[`on${tone[0].toUpperCase()}${tone.slice(1)}`], text: sign })));
    });
  }

  /** @param {Picture} shown */
  function redraw(shown) {
    const colours = palette();
    const { roles } = colours;
    const laid = layHulls(shown);
    const labels = new Map(layLabels(shown, laid.flatMap(({ tag }) => (tag ? [tag.at] : []))).map((label) => [label.edge, label]));
    hulls = laid.map(({ hull, d, tag }) => {
      const style = hullStyle(hull.kind, colours);
      const group = s("g", { class: `ce-hull ce-hull-${hull.kind}`, "data-hull": hull.id },
        s("path", { d, fill: style.fill, class: "ce-tint" }),
        style.hatch ? s("path", { d, fill: `url(#${name}-lost)`, class: "ce-lost-hatch" }) : null,
        s("path", { d, fill: "none", stroke: style.stroke, "stroke-width": style.width, "stroke-dasharray": style.dash.join(" ") || null, "stroke-linecap": "round" }));
      const sign = tag && s("g", { class: `ce-tag ce-tag-${hull.kind}`, "data-hull": hull.id, transform: `translate(${tag.at.l} ${tag.at.t})` },
        s("rect", { width: tag.at.r - tag.at.l, height: 18, rx: 9, stroke: style.stroke }),
        s("text", { class: "ce-tag-sign", x: 10, y: 9.5, fill: style.stroke, text: tag.sign }), s("text", { x: 18, y: 9.5, text: tag.words }));
      return { hull, group, tag: sign };
    });
    hullLayer.replaceChildren(...hulls.map(({ group }) => group));
    tagLayer.replaceChildren(...hulls.map(({ tag }) => tag).filter(Boolean));
    lines = shown.edges.map((edge) => {
      const style = lineOf(edge, colours);
      const line = s("path", { class: "ce-line", stroke: style.stroke, "stroke-width": style.width, "stroke-dasharray": style.dash.join(" ") || null });
      const tip = s("path", { class: "ce-tip", fill: style.stroke });
      const label = labels.get(edge);
      const copy = edge.copied > 0;
      const pill = label && s("g", { class: `ce-edge-label${edge.read ? "" : " ce-plain"}`, transform: `translate(${label.at.l} ${label.at.t})` },
        s("rect", { width: label.at.r - label.at.l, height: 16, rx: edge.read ? 4 : 8, fill: !edge.read ? roles.ground : copy ? roles.copyFill : roles.freeFill, stroke: !edge.read ? roles.line : copy ? roles.copy : roles.free, "stroke-dasharray": edge.read && !copy ? "2 2" : null }),
        s("text", { x: (label.at.r - label.at.l) / 2, y: 8.5, fill: !edge.read ? roles.muted : copy ? roles.copy : roles.free, text: label.words }));
      return { edge, line, head: tip, label: pill, group: s("g", { class: `ce-edge ce-is-${edge.change}` }, line, tip, pill) };
    });
    edgeLayer.replaceChildren(...lines.map(({ group }) => group));
    drawn = new Map(shown.boxes.map((box) => {
      const { at, grown } = startOf(box, starts);
      return [box.id, { box, group: drawBox(box, shown), from: at, grown, now: { x: box.x, y: box.y } }];
    }));
    boxLayer.replaceChildren(...[...drawn.values()].map(({ group }) => group));
    place(1, true);
  }

  /** @param {number} t @param {boolean} all */
  function place(t, all) {
    const e = ease(t);
    for (const item of drawn.values()) {
      const { box, group, from, grown } = item;
      const still = from.x === box.x && from.y === box.y;
      item.now = t >= 1 || still ? { x: box.x, y: box.y } : { x: from.x + (box.x - from.x) * e, y: from.y + (box.y - from.y) * e };
      if (!all && still && grown) continue;
      const size = grown || t >= 1 ? "" : ` scale(${short(0.7 + 0.3 * e)})`;
      group.setAttribute("transform", `translate(${short(item.now.x)} ${short(item.now.y)})${size}`);
      if (grown || t >= 1) group.removeAttribute("opacity");
      else group.setAttribute("opacity", short(e));
    }
    for (const { edge, line, head: tip, label } of lines) {
      const [a, b] = [edge.source, edge.target].map((box) => {
        const item = /** @type {{now: Point}} */ (drawn.get(box.id));
        return { x: item.now.x - box.x, y: item.now.y - box.y };
      });
      const away = a.x || a.y || b.x || b.y;
      if (label) label.setAttribute("visibility", away ? "hidden" : "visible");
      if (!all && !away && t < 1) continue;
      const points = away ? moved(edge, a, b) : edge.points;
      line.setAttribute("d", curve(points, edge.run));
      tip.setAttribute("d", head(points, edge.run));
    }
    hullLayer.setAttribute("opacity", short(t >= 1 ? 1 : e * e));
    tagLayer.setAttribute("opacity", short(t >= 1 ? 1 : e * e));
  }

  recolour();
  return {
    stage,
    recolour,
    show(shown, from) {
      picture = shown;
      starts = from;
      redraw(shown);
    },
    frame(t) {
      place(t, t >= 1);
    },
    look(camera, width, height) {
      stage.setAttribute("width", width);
      stage.setAttribute("height", height);
      world.setAttribute("transform", `translate(${short(width / 2 - camera.k * camera.x)} ${short(height / 2 - camera.k * camera.y)}) scale(${Math.round(camera.k * 1e4) / 1e4})`);
      stage.setAttribute("class", `ce-stage ${camera.k < 0.36 ? "ce-farthest" : camera.k < 0.62 ? "ce-far" : ""}`);
    },
    mark({ selected, found, hull, hover, focus }) {
      const lit = picture && hull ? picture.hulls.find((item) => item.id === hull) : null;
      const members = lit ? new Set(lit.boxes.map((box) => box.id)) : null;
      const first = picture && picture.boxes.length ? picture.boxes[0].id : "";
      const stop = drawn.has(focus) ? focus : first;
      for (const [id, { box, group }] of drawn) {
        const dim = (members && !members.has(id)) || (found && !found.has(id));
        const on = selected.has(id);
        group.setAttribute("class", `ce-box ce-${box.kind} ce-is-${box.change}${on ? " ce-selected" : ""}${dim ? " ce-dim" : ""}${found && found.has(id) ? " ce-found" : ""}${id === hover ? " ce-hover" : ""}`);
        group.setAttribute("aria-selected", String(on));
        group.setAttribute("tabindex", id === stop ? "0" : "-1");
      }
      for (const { edge, group } of lines) {
        const [a, b] = [edge.source.id, edge.target.id];
        const near = hover ? a === hover || b === hover : selected.has(a) || selected.has(b);
        const dim = (members && !(members.has(a) && members.has(b))) || (found && !found.has(a) && !found.has(b));
        group.setAttribute("class", `ce-edge ce-is-${edge.change}${near ? " ce-near" : ""}${dim ? " ce-dim" : ""}`);
      }
      for (const { hull: item, group, tag } of hulls) {
        const dim = lit && item !== lit ? " ce-dim" : "";
        group.setAttribute("class", `ce-hull ce-hull-${item.kind}${item === lit ? " ce-lit" : ""}${dim}`);
        if (tag) tag.setAttribute("class", `ce-tag ce-tag-${item.kind}${item === lit ? " ce-lit" : ""}${dim}`);
      }
    },
    focus(id) {
      const item = drawn.get(id);
      if (item) item.group.focus({ preventScroll: true });
    },
    places: () => new Map([...drawn].map(([id, { now }]) => [id, now])),
    close() {
      stage.remove();
    },
  };
}

// ---- scene: canvas --------------------------------------------------------------------------------------------------

/**
 * The same appearance on a canvas, for pictures of more than about a thousand boxes: less detail when zoomed out, and
 * nothing drawn outside the viewport. The keyboard reaches the boxes one at a time through a hidden option.
 * @param {Make} make @param {() => Palette} palette @returns {Scene}
 */
function canvasScene(make, palette) {
  const { h } = make;
  const name = `ce${OWN}-${(serial += 1)}`;
  const canvas = h("canvas", { class: "ce-canvas", "aria-hidden": "true" });
  const option = h("div", { role: "option", id: `${name}-option`, "aria-selected": "false", class: "ce-said" });
  const stage = h("div", { class: "ce-stage", role: "listbox", tabindex: "0", "aria-multiselectable": "true", "aria-activedescendant": `${name}-option` }, canvas, option);
  const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
  /** @type {Picture | null} */
  let picture = null;
  /** @type {Map<string, Point>} */
  let starts = new Map();
  /** @type {Map<string, Point>} */
  let now = new Map();
  let [width, height, t] = [0, 0, 1];
  /** @type {Camera} */
  let camera = { k: 1, x: 0, y: 0 };
  /** @type {Marks} */
  let marks = { selected: new Set(), found: null, hull: "", hover: "", focus: "" };
  /** @type {{hull: Hull, d: string, tag: Tag | null}[]} */
  let hulls = [];
  /** @type {Map<string, any>} */
  const patterns = new Map();
  /** @type {Map<string, Path2D>} */
  const shapes = new Map();
  let waiting = 0;
  let closed = false;

  /** @param {string} kind @param {number} w @param {number} h */
  function shape(kind, w, h) {
    const key = `${kind} ${w} ${h}`;
    let path = shapes.get(key);
    if (!path) shapes.set(key, (path = new Path2D(boxPath(kind, w, h))));
    return path;
  }

  /** @param {string} stroke */
  function hatch(stroke) {
    if (!patterns.has(stroke)) {
      const tile = make.h("canvas", { width: 8, height: 8 });
      const ink = tile.getContext("2d");
      ink.strokeStyle = stroke;
      ink.lineWidth = 1.6;
      ink.beginPath();
      for (const shift of [-8, 0, 8]) {
        ink.moveTo(shift, 8);
        ink.lineTo(shift + 8, 0);
      }
      ink.stroke();
      patterns.set(stroke, pen.createPattern(tile, "repeat"));
    }
    return patterns.get(stroke);
  }

  const later = () => {
    if (!waiting && !closed) waiting = frameOf(draw);
  };

  function draw() {
    waiting = 0;
    if (!pen || !picture || closed) return;
    const shown = picture;
    const colours = palette();
    const { roles } = colours;
    const sharp = globalThis.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * sharp)) canvas.width = Math.round(width * sharp);
    if (canvas.height !== Math.round(height * sharp)) canvas.height = Math.round(height * sharp);
    const { k } = camera;
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.setTransform(sharp * k, 0, 0, sharp * k, sharp * (width / 2 - k * camera.x), sharp * (height / 2 - k * camera.y));
    const sight = { l: camera.x - width / 2 / k - 80, t: camera.y - height / 2 / k - 60, r: camera.x + width / 2 / k + 80, b: camera.y + height / 2 / k + 60 };
    const e = ease(t);
    now = new Map();
    for (const box of shown.boxes) {
      if (t >= 1) now.set(box.id, box);
      else {
        const { at } = startOf(box, starts);
        now.set(box.id, { x: at.x + (box.x - at.x) * e, y: at.y + (box.y - at.y) * e });
      }
    }
    const lit = marks.hull ? shown.hulls.find((item) => item.id === marks.hull) : null;
    const members = lit ? new Set(lit.boxes.map((box) => box.id)) : null;
    /** @param {string} id */
    const faint = (id) => (members && !members.has(id)) || (marks.found && !marks.found.has(id));

    if (t >= 1) drawHulls(colours, lit);
    drawEdges(shown, colours, k, sight);
    const seen = shown.boxes.filter((box) => {
      const at = /** @type {Point} */ (now.get(box.id));
      return at.x + box.w / 2 > sight.l && at.x - box.w / 2 < sight.r && at.y + box.h / 2 > sight.t && at.y - box.h / 2 < sight.b;
    });
    const words = k > 0.45 && seen.length < 1500;
    for (const box of seen) {
      const at = /** @type {Point} */ (now.get(box.id));
      pen.globalAlpha = faint(box.id) ? 0.3 : 1;
      pen.translate(at.x, at.y);
      drawBox(box, shown, colours, k, words);
      pen.translate(-at.x, -at.y);
    }
    pen.globalAlpha = 1;
    if (t >= 1 && k > 0.3) drawTags(colours);
    pen.fillStyle = roles.fg;
  }

  /** A line and the head of its arrow. @param {Point[]} points @param {"v" | "h"} run @param {boolean} plain */
  function trace(points, run, plain) {
    const [before, tip] = [points[points.length - 2], points[points.length - 1]];
    pen.moveTo(points[0].x, points[0].y);
    for (let index = 1; index < points.length; index += 1) {
      const [p, q] = [points[index - 1], points[index]];
      if (p.side || q.side) pen.lineTo(p.side ? q.x : p.x, p.side ? p.y : q.y);
      if (plain || p.side || q.side) pen.lineTo(q.x, q.y);
      else if (run === "v") pen.bezierCurveTo(p.x, (p.y + q.y) / 2, q.x, (p.y + q.y) / 2, q.x, q.y);
      else pen.bezierCurveTo((p.x + q.x) / 2, p.y, (p.x + q.x) / 2, q.y, q.x, q.y);
    }
    if (plain) return;
    const level = run === "h" || tip.side;
    const [back, out] = [-7 * (Math.sign(level ? tip.x - before.x : tip.y - before.y) || 1), 4];
    pen.moveTo(tip.x + (level ? back : -out), tip.y + (level ? -out : back));
    pen.lineTo(tip.x, tip.y);
    pen.lineTo(tip.x + (level ? back : out), tip.y + (level ? out : back));
  }

  /** @param {Picture} shown @param {Palette} colours @param {number} k @param {Rect} sight */
  function drawEdges(shown, colours, k, sight) {
    const plain = k < 0.35;
    pen.lineCap = "butt";
    for (const change of ["kept", "changed", "removed", "added"]) {
      pen.beginPath();
      let style = null;
      for (const edge of shown.edges) {
        if (edge.change !== change) continue;
        const [a, b] = [now.get(edge.source.id), now.get(edge.target.id)];
        if (!a || !b || Math.max(a.x, b.x) < sight.l || Math.min(a.x, b.x) > sight.r || Math.max(a.y, b.y) < sight.t || Math.min(a.y, b.y) > sight.b) continue;
        style = style || lineOf(edge, colours);
        const [da, db] = [{ x: a.x - edge.source.x, y: a.y - edge.source.y }, { x: b.x - edge.target.x, y: b.y - edge.target.y }];
        const points = da.x || da.y || db.x || db.y ? moved(edge, da, db) : edge.points;
        trace(points, edge.run, plain);
      }
      if (!style) continue;
      pen.strokeStyle = style.stroke;
      pen.lineWidth = Math.max(style.width, 0.6 / k);
      pen.globalAlpha = plain ? 0.5 : 1;
      pen.setLineDash(plain ? [] : style.dash);
      pen.stroke();
      pen.setLineDash([]);
      pen.globalAlpha = 1;
    }
    const near = marks.hover ? new Set([marks.hover]) : marks.selected;
    if (!near.size) return;
    pen.beginPath();
    for (const edge of shown.edges) {
      if (!near.has(edge.source.id) && !near.has(edge.target.id)) continue;
      trace(edge.points, edge.run, false);
    }
    pen.strokeStyle = colours.roles.accent;
    pen.lineWidth = Math.max(2.4, 1.6 / k);
    pen.stroke();
  }

  /** @param {Box} box @param {Picture} shown @param {Palette} colours @param {number} k @param {boolean} words */
  function drawBox(box, shown, colours, k, words) {
    const { roles } = colours;
    const { fill, ink, hatch: hatched } = fillOf(box, shown, colours);
    const border = borderOf(box, colours, shown);
    const selected = marks.selected.has(box.id);
    if (selected || box.id === marks.hover || box.id === marks.focus || (marks.found && marks.found.has(box.id))) {
      pen.strokeStyle = roles.accent;
      pen.lineWidth = Math.max(selected ? 3 : 1.6, (selected ? 3 : 1.6) / k);
      pen.strokeRect(-box.w / 2 - 5, -box.h / 2 - 5, box.w + 10, box.h + 10);
    }
    pen.fillStyle = fill;
    pen.strokeStyle = border.stroke;
    pen.lineWidth = Math.max(border.width, 0.8 / k);
    if (k < 0.25) {
      pen.fillRect(-box.w / 2, -box.h / 2, box.w, box.h);
      pen.strokeRect(-box.w / 2, -box.h / 2, box.w, box.h);
      if (hatched) {
        pen.fillStyle = hatch(hatched === "removed" ? roles.removed : roles.hatch);
        pen.fillRect(-box.w / 2, -box.h / 2, box.w, box.h);
      }
      return;
    }
    const path = shape(box.kind, box.w, box.h);
    pen.setLineDash(border.dash);
    if (box.folds > 1) {
      for (const offset of STACK) {
        pen.translate(offset, -offset);
        pen.fill(path);
        pen.stroke(path);
        pen.translate(-offset, offset);
      }
    }
    pen.fill(path);
    if (hatched) {
      pen.globalAlpha *= 0.6;
      pen.fillStyle = hatch(hatched === "removed" ? roles.removed : roles.hatch);
      pen.fill(path);
      pen.globalAlpha /= 0.6;
    }
    pen.stroke(path);
    pen.setLineDash([]);
    if (box.change === "changed") {
      pen.lineWidth = 1.2;
      pen.stroke(shape(box.kind, box.w - 7, box.h - 7));
    }
    pen.strokeStyle = ink;
    pen.lineWidth = 1.7;
    pen.lineCap = "round";
    const symbol = new Path2D(SYMBOLS[box.kind] || SYMBOLS.operator);
    const middle = words ? -box.w / 2 + (box.kind === "input" || box.kind === "leaf" ? 19 : 16) : 0;
    const size = words ? 1 : 2;
    pen.translate(middle - 8 * size, -8 * size);
    pen.scale(size, size);
    pen.stroke(symbol);
    pen.scale(1 / size, 1 / size);
    pen.translate(-middle + 8 * size, 8 * size);
    pen.lineCap = "butt";
    pen.textBaseline = "middle";
    if (words) {
      const said = wordsOf(box);
      pen.fillStyle = ink;
      pen.textAlign = "left";
      pen.font = `600 12.5px ${FONT}`;
      pen.fillText(said.title, said.left, said.two ? -7 : 0.5);
      pen.font = `11px ${FONT}`;
      if (said.two) pen.fillText(said.detail, said.left, 9.5);
    }
    drawSigns(box, shown, roles);
  }

  /** @param {Box} box @param {Picture} shown @param {Record<string, string>} roles */
  function drawSigns(box, shown, roles) {
    pen.textAlign = "center";
    let x = -box.w / 2 + 3;
    /** @param {string} sign @param {string} fill @param {string} ink @param {string} stroke */
    const tag = (sign, fill, ink, stroke) => {
      pen.beginPath();
      pen.arc(x, -box.h / 2, 8, 0, 7);
      pen.fillStyle = fill;
      pen.fill();
      pen.strokeStyle = stroke;
      pen.lineWidth = 1;
      pen.stroke();
      pen.fillStyle = ink;
      pen.font = `700 12px ${FONT}`;
      pen.fillText(sign, x, -box.h / 2 + 0.5);
      x += 18;
    };
    if (box.change !== "kept") tag(CHANGE_SIGNS[box.change], roles[box.change], roles[`on${box.change[0].toUpperCase()}${box.change.slice(1)}`], roles.box);
    if (box.matched) tag("M", roles.matched, roles.onMatched, roles.matchedLine);
    const letter = box.category !== null && shown.colourBy !== "change" ? shown.signs.get(box.category) : "";
    if (letter && letter.length <= 2) tag(letter, roles.panel, roles.fg, roles.kept);
    const pill = pillOf(box);
    if (pill) {
      const width = 13 + wide(pill.words, 11, true);
      const [right, y] = [box.w / 2 + 6 + rise(box), -box.h / 2 - rise(box)];
      pen.beginPath();
      pen.roundRect(right - width, y - 9, width, 18, 9);
      pen.fillStyle = pill.solid ? roles.fg : roles.panel;
      pen.fill();
      pen.strokeStyle = roles.fg;
      pen.lineWidth = 1;
      pen.stroke();
      pen.fillStyle = pill.solid ? roles.panel : roles.fg;
      pen.font = `600 11px ${FONT}`;
      pen.fillText(pill.words, right - width / 2, y + 0.5);
    }
    box.badges.slice(0, 4).forEach((badge, index) => {
      const tone = badge.tone in roles ? badge.tone : "info";
      pen.beginPath();
      pen.roundRect(box.w / 2 - 4 - index * 19 - 9, box.h / 2 - 8.5, 17, 17, 5);
      pen.fillStyle = roles[tone];
      pen.fill();
      pen.fillStyle = roles[`on${tone[0].toUpperCase()}${tone.slice(1)}`];
      pen.font = `700 10.5px ${FONT}`;
      pen.fillText(clip(badge.sign, 10, 16, true) || "!", box.w / 2 - 4 - index * 19 - 0.5, box.h / 2 + 0.5);
    });
  }

  /** @param {Palette} colours @param {Hull | null | undefined} lit */
  function drawHulls(colours, lit) {
    for (const { hull, d } of hulls) {
      const style = hullStyle(hull.kind, colours);
      const path = new Path2D(d);
      const dim = lit && lit !== hull ? 0.3 : 1;
      pen.globalAlpha = (hull.kind === "near-miss" || hull.kind === "lost" ? 0.6 : 0.22) * dim;
      pen.fillStyle = style.hatch ? hatch(style.stroke) : style.fill;
      pen.fill(path);
      pen.globalAlpha = dim;
      pen.strokeStyle = style.stroke;
      pen.lineWidth = Math.max(style.width, 1 / camera.k);
      pen.setLineDash(style.dash);
      pen.stroke(path);
      pen.setLineDash([]);
    }
    pen.globalAlpha = 1;
  }

  /** @param {Palette} colours */
  function drawTags(colours) {
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    for (const { hull, tag } of hulls) {
      if (!tag) continue;
      const style = hullStyle(hull.kind, colours);
      pen.beginPath();
      pen.roundRect(tag.at.l, tag.at.t, tag.at.r - tag.at.l, 18, 9);
      pen.fillStyle = colours.roles.panel;
      pen.fill();
      pen.strokeStyle = style.stroke;
      pen.lineWidth = 1.2;
      pen.stroke();
      pen.fillStyle = colours.roles.fg;
      pen.font = `11px ${FONT}`;
      pen.fillText(`${tag.sign}  ${tag.words}`, tag.at.l + 7, tag.at.t + 9.5);
    }
  }

  return {
    stage,
    recolour() {
      patterns.clear();
      later();
    },
    show(shown, from) {
      picture = shown;
      starts = from;
      hulls = layHulls(shown);
      now = new Map(shown.boxes.map((box) => [box.id, box]));
      later();
    },
    frame(at) {
      t = at;
      later();
    },
    look(next, w, h) {
      camera = next;
      [width, height] = [w, h];
      later();
    },
    mark(next) {
      marks = next;
      const box = picture && (picture.byId.get(next.focus) || picture.boxes[0]);
      option.textContent = box ? sayBox(box) : "";
      option.setAttribute("aria-selected", String(Boolean(box && next.selected.has(box.id))));
      option.setAttribute("data-id", box ? box.id : "");
      later();
    },
    focus() {
      stage.focus({ preventScroll: true });
    },
    places: () => new Map(now),
    close() {
      closed = true;
      if (waiting) unframe(waiting);
      stage.remove();
    },
  };
}

/** Request the next frame, or a timeout if nothing is painted (a hidden page, a test). @param {() => void} callback @returns {any} */
const frameOf = (callback) => (typeof requestAnimationFrame === "function" ? requestAnimationFrame(callback) : setTimeout(callback, 16));
/** @param {any} handle */
const unframe = (handle) => (typeof cancelAnimationFrame === "function" ? cancelAnimationFrame(handle) : clearTimeout(handle));

// ---- style ----------------------------------------------------------------------------------------------------------

/** Every rule is prefixed, because Jupyter has no shadow root. Colours are the roles of the palette. */
const STYLE = `
.ce-root{--ce-radius:8px;box-sizing:border-box;position:relative;display:flex;flex-direction:column;width:100%;min-height:240px;overflow:hidden;
  font:13px/1.4 ${FONT};color:var(--ce-fg);background:var(--ce-bg);border:1px solid var(--ce-line);border-radius:var(--ce-radius);text-align:left}
.ce-root *{box-sizing:border-box}
.ce-root [hidden]{display:none!important}
.ce-said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.ce-bar{display:flex;flex-wrap:wrap;align-items:center;gap:6px 10px;padding:6px 10px;border-bottom:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-bar.ce-steps{flex-wrap:nowrap}
.ce-group{display:flex;align-items:center;gap:2px}
.ce-root button,.ce-root select,.ce-root input[type=search]{font:inherit;color:inherit;height:28px;min-width:28px;padding:0 8px;margin:0;border:1px solid var(--ce-control);
  border-radius:6px;background:var(--ce-panel);cursor:pointer;white-space:nowrap;line-height:1;box-shadow:none;text-transform:none;letter-spacing:0}
.ce-root button{display:inline-flex;align-items:center;justify-content:center;gap:5px;font-weight:500}
.ce-root button.ce-bare{border-color:transparent;padding:0 6px}
.ce-root button:hover:not(:disabled){background:var(--ce-soft)}
.ce-root button:disabled{opacity:.45;cursor:default}
.ce-root button[aria-pressed=true],.ce-root button[aria-expanded=true]{background:var(--ce-soft);border-color:var(--ce-accent);box-shadow:inset 0 -2px 0 var(--ce-accent)}
.ce-root :focus{outline:none}
.ce-root :focus-visible{outline:2px solid var(--ce-accent);outline-offset:2px}
.ce-root g.ce-box:focus-visible{outline:none}
.ce-root svg.ce-icon{display:block;fill:none;stroke:currentColor;stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round;flex:none}
.ce-root .ce-solid-icon svg.ce-icon path{fill:currentColor}
.ce-segments button{border-radius:0;margin-left:-1px}
.ce-segments button:first-child{border-radius:6px 0 0 6px;margin-left:0}
.ce-segments button:last-child{border-radius:0 6px 6px 0}
.ce-segments button[aria-pressed=true]{position:relative;z-index:1}
.ce-label{display:inline-flex;min-height:24px;align-items:center;gap:5px;color:var(--ce-muted);white-space:nowrap}
.ce-label select{color:var(--ce-fg)}
.ce-root input[type=search]{width:132px;cursor:text}
.ce-count{color:var(--ce-muted);min-width:4.2em;font-variant-numeric:tabular-nums}
.ce-grow{flex:1 1 auto}

.ce-slider{position:relative;flex:1 1 160px;min-width:90px;height:28px}
.ce-slider input{-webkit-appearance:none;appearance:none;position:absolute;inset:0;width:100%;height:28px;margin:0;padding:0;background:transparent;cursor:pointer}
.ce-slider input::-webkit-slider-runnable-track{height:4px;border-radius:2px;background:var(--ce-line)}
.ce-slider input::-moz-range-track{height:4px;border-radius:2px;background:var(--ce-line)}
.ce-slider input::-webkit-slider-thumb{-webkit-appearance:none;width:16px;height:16px;margin-top:-6px;border-radius:50%;background:var(--ce-accent);border:2px solid var(--ce-panel);box-shadow:0 0 0 1px var(--ce-accent)}
.ce-slider input::-moz-range-thumb{width:12px;height:12px;border-radius:50%;background:var(--ce-accent);border:2px solid var(--ce-panel);box-shadow:0 0 0 1px var(--ce-accent)}
.ce-ticks{position:absolute;left:8px;right:8px;bottom:1px;height:5px;pointer-events:none}
.ce-ticks i{position:absolute;width:3px;height:5px;margin-left:-1.5px;border-radius:1px;background:var(--ce-changed)}
.ce-ticks i.ce-bad{background:var(--ce-error);height:8px;bottom:0;width:4px}
.ce-step-title{flex:0 1 auto;min-width:0;max-width:52%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-weight:600}
.ce-ok{display:inline-flex;align-items:center;gap:4px;padding:1px 8px;border-radius:10px;border:1px solid currentColor;font-size:12px;font-weight:600;white-space:nowrap}
.ce-ok.ce-good{color:var(--ce-free)}.ce-ok.ce-bad{color:var(--ce-error)}

.ce-strip{display:flex;flex-wrap:wrap;align-items:center;gap:6px 10px;padding:6px 12px;border-bottom:1px solid var(--ce-line);background:var(--ce-soft)}
.ce-strip.ce-wrong{border-left:4px solid var(--ce-error)}
.ce-strip p{margin:0;flex:1 1 240px;overflow-wrap:anywhere;white-space:pre-wrap}

.ce-main{position:relative;display:flex;flex:1 1 auto;min-height:0;background:var(--ce-ground)}
.ce-views{position:relative;display:flex;flex:1 1 auto;min-width:0;min-height:0}
.ce-view{position:relative;flex:1 1 0;min-width:0;min-height:0;overflow:hidden;cursor:grab;touch-action:none}
.ce-view+.ce-view{border-left:2px solid var(--ce-line)}
.ce-view.ce-dragging{cursor:grabbing}
.ce-view-title{position:absolute;left:10px;top:8px;padding:1px 8px;border-radius:5px;background:var(--ce-panel);border:1px solid var(--ce-line);font-weight:600;font-size:12px;pointer-events:none}
.ce-stage{position:absolute;inset:0;display:block;overflow:hidden}
.ce-root canvas.ce-canvas{position:absolute;inset:0;width:100%;height:100%;display:block}
.ce-empty{position:absolute;inset:0;display:flex;flex-direction:column;align-items:center;justify-content:center;gap:10px;padding:24px;text-align:center;color:var(--ce-muted);pointer-events:none}
.ce-float{position:absolute;display:flex;gap:4px}
.ce-zoom{right:10px;top:8px;flex-direction:column}
.ce-pager{display:flex;gap:4px;align-items:center;flex:0 1 auto;min-width:0;max-width:min(100%,460px)}
.ce-pager span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding:0 6px}
.ce-modes{left:10px;top:8px}
.ce-map{position:absolute;right:10px;bottom:10px;width:150px;height:100px;border:1px solid var(--ce-line);border-radius:6px;background:var(--ce-panel);box-shadow:0 1px 4px var(--ce-shade);cursor:pointer}
.ce-tip{pointer-events:none}
.ce-hint{position:absolute;z-index:3;max-width:300px;padding:6px 9px;border-radius:6px;border:1px solid var(--ce-control);background:var(--ce-panel);color:var(--ce-fg);box-shadow:0 3px 12px var(--ce-shade);pointer-events:none;font-size:12px}
.ce-hint b{display:block;font-size:12.5px;overflow-wrap:anywhere}
.ce-hint span{display:block;color:var(--ce-muted);overflow-wrap:anywhere}
.ce-busy .ce-stage{opacity:.45}
.ce-progress{position:absolute;left:0;right:0;top:0;height:3px;overflow:hidden;z-index:4}
.ce-progress::before{content:"";position:absolute;inset:0;width:35%;background:var(--ce-accent);animation:ce-run 1.1s infinite ease-in-out}
.ce-wait{position:absolute;left:50%;top:12px;transform:translateX(-50%);z-index:4;display:flex;align-items:center;gap:8px;padding:5px 6px 5px 12px;border:1px solid var(--ce-line);border-radius:8px;background:var(--ce-panel);box-shadow:0 2px 10px var(--ce-shade)}
@keyframes ce-run{from{left:-35%}to{left:100%}}

.ce-side{flex:0 0 300px;min-width:0;overflow:auto;border-left:1px solid var(--ce-line);background:var(--ce-panel);padding:10px 12px 16px}
.ce-drawer .ce-side{position:absolute;right:0;top:0;bottom:0;width:min(320px,92%);z-index:3;box-shadow:-4px 0 18px var(--ce-shade)}
.ce-side h2{display:flex;align-items:center;gap:6px;font-size:14px;line-height:1.3;margin:0 0 6px;font-weight:650;overflow-wrap:anywhere;color:inherit}
.ce-side h2 span{flex:1}
.ce-goto{gap:6px;margin:0 0 8px}
.ce-side details{border-top:1px solid var(--ce-line);padding:2px 0 6px}
.ce-side summary{cursor:pointer;font-weight:600;padding:4px 0;min-height:24px}
.ce-side p{margin:4px 0;overflow-wrap:anywhere}
.ce-side pre{margin:4px 0;padding:8px;font:12px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--ce-ground);color:inherit;border:1px solid var(--ce-line);border-radius:6px;overflow:auto;white-space:pre}
.ce-rows{display:grid;grid-template-columns:minmax(80px,max-content) minmax(0,1fr);gap:2px 12px;margin:2px 0}
.ce-rows dt{color:var(--ce-muted);font-weight:400;margin:0}
.ce-rows dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.ce-settings{display:flex;flex-direction:column;gap:6px;align-items:flex-start;padding-bottom:6px}

.ce-table{position:absolute;inset:0;z-index:2;overflow:auto;background:var(--ce-bg);padding:0 10px 10px}
.ce-table table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums;margin:0;color:inherit}
.ce-table caption{text-align:left;padding:8px 0;color:var(--ce-muted);caption-side:top}
.ce-table th{position:sticky;top:0;background:var(--ce-panel);text-align:left;border-bottom:2px solid var(--ce-control);padding:5px 10px;white-space:nowrap}
.ce-table td{border-bottom:1px solid var(--ce-line);padding:4px 10px;text-align:left;vertical-align:top;overflow-wrap:break-word;max-width:420px}
.ce-table td.ce-long{min-width:210px}
.ce-table tbody tr:nth-child(even){background:var(--ce-ground)}
.ce-help{position:absolute;inset:0;z-index:5;overflow:auto;background:var(--ce-panel);padding:12px 16px}
.ce-help h2{margin:0 0 8px;font-size:14px}
.ce-help ul{columns:2 300px;column-gap:28px;margin:0 0 10px;padding:0;list-style:none}
.ce-help li{break-inside:avoid;display:flex;gap:10px;padding:2px 0}
.ce-help kbd{flex:0 0 92px;font:600 12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:none;border:0;padding:0;color:inherit}

.ce-legend{display:flex;flex-wrap:wrap;align-items:center;gap:3px 14px;padding:5px 12px;margin:0;border-top:1px solid var(--ce-line);background:var(--ce-panel);font-size:12px;list-style:none}
.ce-legend li{display:inline-flex;align-items:center;gap:6px;margin:0;padding:0}
.ce-legend svg{flex:none}
.ce-side .ce-legend{flex-direction:column;align-items:flex-start;padding:0;border:0}
.ce-foot{display:flex;flex:none;flex-wrap:wrap;align-items:center;gap:2px 16px;padding:4px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel);min-height:32px}
.ce-caption{font-weight:600;flex:1 1 auto;min-width:0}
.ce-note{color:var(--ce-muted);font-size:12.5px}
.ce-compact .ce-foot{flex-wrap:nowrap}
.ce-compact .ce-caption{min-height:2.6em;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;line-clamp:2;overflow:hidden;overflow-wrap:anywhere;line-height:1.3}
.ce-compact .ce-note{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;flex:0 2 auto;min-width:0}
.ce-foot>:empty{display:none}
.ce-narrow.ce-compact .ce-foot{flex-wrap:wrap}
.ce-narrow.ce-compact .ce-caption{flex-basis:12em}
.ce-narrow.ce-compact .ce-note{max-width:100%}
.ce-narrow .ce-step-title{max-width:38%}
.ce-narrow .ce-play-word{display:none}
.ce-fatal{padding:14px 16px;border-left:4px solid var(--ce-error);margin:10px;background:var(--ce-panel);overflow-wrap:anywhere}
.ce-fatal b{display:block}

.ce-stage text{font-family:inherit;dominant-baseline:central;user-select:none;-webkit-user-select:none}
.ce-box{cursor:pointer}
.ce-root text.ce-name{font-size:1px;fill:transparent;pointer-events:none}
.ce-title{font-size:12.5px;font-weight:600}
.ce-detail{font-size:11px;opacity:.86}
.ce-far-title{font-size:18px;font-weight:600;display:none}
.ce-symbol path,.ce-big-symbol path{fill:none;stroke-width:1.7;stroke-linecap:round;stroke-linejoin:round}
.ce-disc{stroke-width:.8;stroke-opacity:.28}
.ce-big-symbol{display:none}
.ce-stage text.ce-big-number{font-size:32px;font-weight:700;text-anchor:middle}
.ce-hatch-removed{opacity:.32}.ce-hatch-missing{opacity:.75}
.ce-ring{fill:none;stroke:none;stroke-width:3}
.ce-hover .ce-ring{stroke:var(--ce-accent);stroke-width:1.5;stroke-opacity:.7}
.ce-found .ce-ring{stroke:var(--ce-accent);stroke-width:2;stroke-dasharray:3 3}
.ce-selected .ce-ring{stroke:var(--ce-accent);stroke-width:3;stroke-dasharray:none}
.ce-box:focus-visible .ce-ring{stroke:var(--ce-fg);stroke-width:2.5;stroke-dasharray:none}
.ce-box.ce-selected:focus-visible .ce-ring{stroke:var(--ce-accent);stroke-width:5}
.ce-dim{opacity:.34}
.ce-sign text,.ce-badge text,.ce-pill text,.ce-edge-label text{text-anchor:middle}
.ce-sign text{font-size:12px;font-weight:700}
.ce-badge text{font-size:10.5px;font-weight:700}
.ce-pill rect{fill:var(--ce-panel);stroke:var(--ce-fg)}
.ce-pill text{font-size:11px;font-weight:600;fill:var(--ce-fg)}
.ce-pill.ce-solid rect{fill:var(--ce-fg)}
.ce-pill.ce-solid text{fill:var(--ce-panel)}
.ce-line{fill:none}
.ce-near .ce-line{stroke:var(--ce-accent);stroke-width:2.6}
.ce-near .ce-tip{fill:var(--ce-accent)}
.ce-edge-label text{font-size:10px}
.ce-hull .ce-tint{opacity:.2}
.ce-hull-near-miss .ce-tint,.ce-hull-lost .ce-tint{opacity:.55}
.ce-lost-hatch{opacity:.35}
.ce-hull.ce-lit .ce-tint{opacity:.5}
.ce-tag{cursor:pointer}
.ce-tag rect{fill:var(--ce-panel);stroke-width:1.3}
.ce-tag text{font-size:11px;fill:var(--ce-fg)}
.ce-tag text.ce-tag-sign{font-weight:800;text-anchor:middle}
.ce-tag.ce-lit rect{stroke-width:2.6}
.ce-far .ce-detail,.ce-far .ce-title{display:none}
.ce-far .ce-edge-label *,.ce-far .ce-pill *,.ce-far .ce-badge *,.ce-far .ce-sign *{transform:scale(1.35);transform-box:fill-box;transform-origin:center}
.ce-far .ce-far-title{display:inline}
.ce-far .ce-edge-label.ce-plain{display:none}
.ce-farthest .ce-title,.ce-farthest .ce-detail,.ce-farthest .ce-symbol,.ce-farthest .ce-edge-label,.ce-farthest .ce-tag,.ce-farthest .ce-badge{display:none}
.ce-farthest .ce-big-symbol{display:inline}
.ce-farthest .ce-line,.ce-farthest .ce-face,.ce-farthest .ce-hull path{vector-effect:non-scaling-stroke;stroke-width:1px}
@media (prefers-reduced-motion:reduce){.ce-root *{animation:none!important;transition:none!important}}
@media (forced-colors:active){
  .ce-root button[aria-pressed=true]{background:Highlight;color:HighlightText;forced-color-adjust:none}
  .ce-stage,.ce-legend svg{forced-color-adjust:none}
  .ce-hull .ce-tint{opacity:0!important}
}
`;

// ---- parts of the page ----------------------------------------------------------------------------------------------

/** The icon of a legend entry. @param {Make} make @param {LegendItem} item @param {Palette} palette */
function swatch({ s }, item, palette) {
  const { roles } = palette;
  const { role, channel, sign } = item;
  const box = { x: 1.5, y: 1.5, width: 23, height: 13, rx: 3 };
  const parts = [];
  /** @param {string} words @param {string} fill */
  const mark = (words, fill) => parts.push(s("text", { x: 13, y: 8.4, fill, "text-anchor": "middle", "dominant-baseline": "central", style: "font-size:10.5px;font-weight:700", text: words }));
  const category = /^category-(\d+)$/.exec(role);
  if (channel === "shape" || role in SYMBOLS) {
    parts.push(s("path", { d: boxPath(role, 23, 13), transform: "translate(13 8)", fill: roles.box, stroke: roles.kept }));
    parts.push(s("path", { d: SYMBOLS[role] || SYMBOLS.operator, transform: "translate(7.8 2.8) scale(.65)", fill: "none", stroke: roles.fg, "stroke-width": 2, "stroke-linecap": "round" }));
  } else if (channel === "hull") {
    const style = hullStyle(role, palette);
    parts.push(s("rect", { ...box, rx: 6, fill: style.fill, "fill-opacity": 0.3 }));
    parts.push(s("rect", { ...box, rx: 6, fill: "none", stroke: style.stroke, "stroke-width": style.width, "stroke-dasharray": style.dash.join(" ") || null }));
    mark(sign || HULL_SIGNS[role] || "", roles.fg);
  } else if (category) {
    parts.push(s("rect", { ...box, fill: palette.categories[Number(category[1]) % Math.max(1, palette.categories.length)] || roles.box, stroke: roles.kept }));
    mark(sign, roles.fg);
  } else if (role === "missing") {
    parts.push(s("rect", { ...box, fill: roles.box, stroke: roles.kept }));
    parts.push(s("path", { d: "M2 9L9 2M5 14L17 2M13 14L24 3M20 14l4-4", stroke: roles.hatch, "stroke-width": 1.6 }));
  } else if (role in CHANGE_WORDS) {
    const fill = channel === "edge" ? "none" : role === "kept" ? roles.box : roles[`${role}Fill`];
    if (channel === "edge") {
      parts.push(s("path", { d: "M1 8h18", stroke: role === "kept" ? roles.edge : roles[role], "stroke-width": 2, "stroke-dasharray": role === "removed" ? "4 3" : role === "changed" ? "6 2 1 2" : null }));
      parts.push(s("path", { d: "M25 8l-7-4v8z", fill: role === "kept" ? roles.edge : roles[role] }));
    } else {
      parts.push(s("rect", { ...box, fill, stroke: role === "kept" ? roles.kept : roles[role], "stroke-width": role === "kept" ? 1.2 : 2, "stroke-dasharray": role === "removed" ? "4 3" : null }));
      if (role === "changed") parts.push(s("rect", { x: 4, y: 4, width: 18, height: 8, rx: 1.5, fill: "none", stroke: roles.changed }));
      mark(sign || CHANGE_SIGNS[role] || "", roles.fg);
    }
  } else if (role === "matched" || role === "match") {
    parts.push(s("rect", { ...box, fill: roles.matchedFill, stroke: roles.matchedLine, "stroke-width": 1.6 }));
    mark(sign || "M", roles.fg);
  } else if (role === "count") {
    parts.push(s("rect", { ...box, rx: 6.5, fill: roles.panel, stroke: roles.fg }));
    mark("N", roles.fg);
  } else if (role === "stack") {
    for (const offset of [5, 2.5, 0]) parts.push(s("rect", { x: 1 + offset, y: 5.5 - offset, width: 18, height: 10, rx: 3, fill: roles.box, stroke: roles.kept }));
  } else if (channel === "edge") {
    const copies = /gather|cat|cop/.test(`${role} ${item.text}`);
    parts.push(s("rect", { ...box, rx: 4, fill: copies ? roles.copyFill : roles.freeFill, stroke: copies ? roles.copy : roles.free, "stroke-dasharray": copies ? null : "2 2" }));
    mark(clip(sign, 10.5, 20, true), copies ? roles.copy : roles.free);
  } else {
    const tone = role in roles ? role : "";
    parts.push(s("rect", { ...box, x: 4, width: 18, rx: 5, fill: tone ? roles[tone] : roles.box, stroke: roles.kept }));
    mark(clip(sign, 10.5, 20, true), tone ? roles[`on${tone[0].toUpperCase()}${tone.slice(1)}`] || roles.fg : roles.fg);
  }
  return s("svg", { viewBox: "0 0 26 16", width: 26, height: 16, "aria-hidden": "true" }, parts);
}

/** @param {Make} make @param {Picture} picture @param {Palette} palette */
function legendOf(make, picture, palette) {
  const { h, s } = make;
  const items = [];
  const scale = picture.legend.filter((item) => item.role === "scale");
  if (scale.length) {
    const name = `ce${OWN}-${(serial += 1)}-scale`;
    const stops = Array.from({ length: 11 }, (_, index) => s("stop", { offset: index / 10, "stop-color": heat(index / 10) }));
    const bar = s("svg", { width: 120, height: 14, "aria-hidden": "true" },
      s("defs", {}, s("linearGradient", { id: name }, stops)), s("rect", { width: 120, height: 14, rx: 3, fill: `url(#${name})` }));
    const [low, high] = [scale[0].text, scale.length > 1 ? scale[scale.length - 1].text : ""];
    items.push(h("li", {}, h("span", { text: low }), bar, high ? h("span", { text: high }) : null));
  }
  for (const item of picture.legend) {
    if (item.role !== "scale") items.push(h("li", {}, swatch(make, item, palette), h("span", { text: item.text })));
  }
  return items;
}

/** Details of a box from the picture alone, until Python's details arrive. @param {Box} box @param {Picture} picture @returns {Details} */
function factsOf(box, picture) {
  const rows = [["Kind", box.kind], ["Level", String(box.level)]];
  if (box.detail) rows.unshift(["About", box.detail]);
  if (box.count > 1) rows.push(["Stands for", `${box.count} nodes`]);
  if (box.folds > 1) rows.push(["Folds", `F = ${box.folds}`]);
  if (box.change !== "kept") rows.push(["In this step", CHANGE_WORDS[box.change]]);
  if (box.matched) rows.push(["Match", "a pattern matched here"]);
  if (box.fillText) rows.push([COLOUR_WORDS[picture.colourBy] || "Value", box.fillText]);
  if (box.ids.length) rows.push(["Ids", box.ids.slice(0, 12).join(", ") + (box.ids.length > 12 ? ` and ${box.ids.length - 12} more` : "")]);
  /** @param {Edge} edge @param {Box} other */
  const line = (edge, other) => [other.title, [edge.label || edge.read, edge.count > 1 ? `${edge.count} edges` : "", edge.change === "kept" ? "" : edge.change].filter(Boolean).join(", ")];
  const reads = picture.edges.filter((edge) => edge.target === box).map((edge) => line(edge, edge.source));
  const readBy = picture.edges.filter((edge) => edge.source === box).map((edge) => line(edge, edge.target));
  const hulls = picture.hulls.filter((hull) => hull.boxes.includes(box));
  /** @type {Section[]} */
  const sections = [{ heading: "Node", rows, lines: box.badges.map((badge) => `${badge.sign} ${badge.text}`) }];
  if (reads.length) sections.push({ heading: "Reads", rows: reads.slice(0, 40), lines: reads.length > 40 ? [`and ${reads.length - 40} more`] : [] });
  if (readBy.length) sections.push({ heading: "Read by", rows: readBy.slice(0, 40), lines: readBy.length > 40 ? [`and ${readBy.length - 40} more`] : [] });
  if (hulls.length) sections.push({ heading: "Matches", rows: hulls.map((hull) => [nameHull(hull), hull.reason]), lines: [] });
  return { id: box.id, title: box.title, sections };
}

/** The name of a match with its kind, unless the name or the reason already tells the kind. @param {Hull} hull */
function nameHull(hull) {
  const name = hull.label || hull.id;
  const told = HULL_TOLD[hull.kind];
  return told && told.test(`${name} ${hull.reason}`) ? name : `${name}, ${HULL_WORDS[hull.kind] || hull.kind}`;
}

/** A match in a sentence: `SumCollapse, lost to Candecomp (by weight)`. @param {Hull} hull */
export function sayHull(hull) {
  const { reason } = hull;
  if (!reason) return nameHull(hull);
  if (/^(lost|won)\b/.test(reason)) return `${hull.label || hull.id}, ${reason}`;
  return `${nameHull(hull)}. ${reason[0].toUpperCase()}${reason.slice(1)}`;
}

/** @param {number} count */
const grouped = (count) => count.toLocaleString("en");

/** @param {Step} step @returns {Details} */
function factsOfStep(step) {
  const size = step.counted ? [[step.counted, grouped(step.layers)]] : [["Layers", grouped(step.layers)], ["Folds", grouped(step.folds)]];
  const rows = [["Path", step.path], ...size, ["Matches", grouped(step.matches)], ["Near misses", grouped(step.nearMisses)]];
  rows.push(["Time", step.seconds ? (step.seconds < 0.9995 ? `${(1000 * step.seconds).toPrecision(3)} ms` : `${step.seconds.toPrecision(3)} s`) : "not recorded"]);
  rows.push(["Same values", step.ok === null ? "not checked" : step.ok ? "checked, they agree" : "checked, they DIFFER"]);
  return { id: "", title: step.title, sections: [{ heading: "Step", rows, lines: [step.summary, step.error, "Select a box to see what it is."].filter(Boolean) }] };
}

/** @param {Make} make @param {Details} details @param {Set<string>} closed headings that the user has closed */
function detailsOf({ h }, details, closed) {
  return details.sections.map((section) => {
    const rows = section.rows.flatMap(([name, ...values]) => [h("dt", { text: name }), h("dd", { text: values.filter(Boolean).join("  ·  ") })]);
    const code = /^(code|python|copy as)/i.test(section.heading);
    const part = h("details", { open: !closed.has(section.heading), "data-heading": section.heading }, h("summary", { text: section.heading }),
      rows.length ? h("dl", { class: "ce-rows" }, rows) : null,
      code && section.lines.length ? h("pre", { text: section.lines.join("\n"), tabindex: "0" }) : section.lines.map((line) => h("p", { text: line })));
    part.addEventListener("toggle", () => (part.open ? closed.delete(section.heading) : closed.add(section.heading)));
    return part;
  });
}

/**
 * The table with the same data as the picture. Rows beyond a thousand are shown by a button, which says how many.
 * @param {Make} make @param {Picture} picture @param {boolean} all @param {() => void} more
 */
function tableOf({ h }, picture, all, more) {
  const tables = [picture, picture.other].filter(Boolean).map((shown) => {
    const { table, title, note } = /** @type {Picture} */ (shown);
    const rows = all ? table.rows : table.rows.slice(0, MAX_ROWS);
    return h("table", {}, h("caption", { text: [title, note].filter(Boolean).join(". ") || "The picture as a table" }),
      h("thead", {}, h("tr", {}, table.columns.map((column) => h("th", { scope: "col", text: column })))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", { class: cell.length > 26 ? "ce-long" : null, text: cell }))))));
  });
  const most = Math.max(...[picture, picture.other].map((shown) => (shown ? shown.table.rows.length : 0)));
  if (most > MAX_ROWS && !all) tables.push(h("button", { type: "button", onclick: more, text: `Show all ${most.toLocaleString("en")} rows` }));
  return tables;
}

// ---- the view -------------------------------------------------------------------------------------------------------

/**
 * The theme requested by the surrounding page, or by the system.
 * @param {any} doc @returns {"light" | "dark"}
 */
function hostTheme(doc) {
  for (const element of [doc.body, doc.documentElement]) {
    if (!element || !element.getAttribute) continue;
    const lab = element.getAttribute("data-jp-theme-light");
    if (lab) return lab === "true" ? "light" : "dark";
    for (const name of ["data-theme", "data-mui-color-scheme", "data-bs-theme", "data-vscode-theme-kind", "theme"]) {
      const value = element.getAttribute(name) || "";
      if (/dark/.test(value)) return "dark";
      if (/light/.test(value)) return "light";
    }
    const classes = element.getAttribute("class") || "";
    if (/(^|\s)(dark|dark-theme|dark-mode)(\s|$)/.test(classes)) return "dark";
    if (/(^|\s)(light|light-theme|light-mode)(\s|$)/.test(classes)) return "light";
  }
  return asks("(prefers-color-scheme: dark)") ? "dark" : "light";
}

/** @param {string} query */
const asks = (query) => typeof matchMedia === "function" && matchMedia(query).matches;

/**
 * Draws the view into `el`; returns a function that removes it.
 * @param {{model: Model, el: any}} context @returns {() => void}
 */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const make = maker(doc);
  const { h } = make;
  /** @type {(() => void)[]} */
  const closing = [];
  if (!ruler.pen) {
    const canvas = h("canvas");
    ruler.pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
  }

  // What is shown, and the user's state.
  /** @type {Picture | null} */
  let picture = null;
  /** @type {Step[]} */
  let steps = [];
  /** @type {Details | null} */
  let details = null;
  /** @type {Record<string, any>} */
  let view = {};
  /** @type {Record<string, any>} */
  let options = {};
  /** @type {Palette} */
  let palette = paletteOf(hostTheme(doc), asks("(forced-colors: active)"));
  let step = 0;
  /** @type {string[]} */
  let selection = [];
  /** @type {Marks} */
  let marks = { selected: new Set(), found: null, hull: "", hover: "", focus: "" };
  /** @type {Camera} */
  let camera = { k: 1, x: 0, y: 0 };
  let [auto, focused, requests, moving] = [true, false, 0, 0];
  let [showTable, showAllRows, showHelp, showSide, onlyChanging, playing] = [false, false, false, false, true, false];
  /** @type {{scene: Scene, element: any, title: any, picture: Picture | null, canvas: boolean}[]} */
  let panes = [];
  /** @type {any} */
  let helpFrom = null;
  /** @type {Set<string>} */
  const closedHeadings = new Set();
  /** @type {Record<string, any>} */
  const timers = {};

  // -- the model

  /** @param {Record<string, any>} changes */
  function tell(changes) {
    for (const [name, value] of Object.entries(changes)) {
      const was = model.get(name);
      model.set(name, typeof was === "string" && typeof value === "object" ? JSON.stringify(value) : value);
    }
    model.save_changes();
  }

  /** @param {string} name */
  const ask = (name) => tell({ request: { name, n: (requests += 1) } });

  /** @param {Record<string, any>} changes */
  function setView(changes) {
    view = { ...view, ...changes };
    tell({ view });
  }

  /** @param {string} name @param {number} ms @param {() => void} action */
  function after(name, ms, action) {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(guard(action), ms);
  }

  /** Errors, keyed by the trait that caused them, or "act" for user actions. @type {Map<string, string>} */
  const failures = new Map();

  /** Wrap a callback so that its errors are shown in the page. @template {any[]} A @param {(...args: A) => any} action @param {string} [name] @returns {(...args: A) => void} */
  function guard(action, name = "act") {
    return (...args) => {
      try {
        action(...args);
        if (failures.delete(name)) drawFailures();
      } catch (error) {
        failures.set(name, error instanceof Error ? error.message : String(error));
        drawFailures();
      }
    };
  }

  function drawFailures() {
    wrong.hidden = !failures.size;
    wrong.replaceChildren(h("b", { text: "Cannot draw this." }), ...[...failures.values()].map((words) => h("div", { text: words })));
    if (failures.size) live.textContent = [...failures.values()].join(" ");
  }

  // -- the page

  /** @param {string} label @param {string} picture @param {() => void} action @param {Record<string, any>} [more] */
  const button = (label, picture, action, more = {}) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: guard(action), ...more }, icon(make, picture));
  const solid = { class: "ce-solid-icon" };

  const sheet = h("style", { text: STYLE });
  const live = h("div", { class: "ce-said", role: "status", "aria-live": "polite" });
  const wrong = h("div", { class: "ce-fatal", role: "alert", hidden: true });

  const slider = h("input", { type: "range", min: "0", max: "0", step: "1", value: "0", "aria-label": "Step", oninput: guard(() => slide()), onchange: guard(() => slide()) });
  const ticks = h("div", { class: "ce-ticks", "aria-hidden": "true" });
  const stepTitle = h("div", { class: "ce-step-title" });
  const stepOk = h("span", { class: "ce-ok" });
  const play = button("Play (Space on the stepper)", "play", () => setPlaying(!playing), { class: "ce-solid-icon", "aria-pressed": "false" });
  const only = h("label", { class: "ce-label" }, h("input", { type: "checkbox", checked: true, onchange: guard(() => { onlyChanging = only.firstChild.checked; }) }), h("span", { text: "changing steps only" }));
  const stepBar = h("div", { class: "ce-bar ce-steps", role: "group", "aria-label": "Steps" },
    h("div", { class: "ce-group" }, button("First step (Home)", "first", () => goTo(0), solid), button("Previous step (Left; any step: Shift + Left)", "previous", () => walk(-1), solid)),
    h("div", { class: "ce-slider" }, ticks, slider),
    h("div", { class: "ce-group" }, button("Next step (Right; any step: Shift + Right)", "next", () => walk(1), solid), button("Last step (End)", "last", () => goTo(steps.length - 1), solid), play),
    only, stepTitle, stepOk);
  const stepButtons = stepBar.firstChild.childNodes;
  const forwardButtons = stepBar.childNodes[2].childNodes;

  /** @param {string} name @param {Record<string, string>} words @param {string} label */
  function chooser(name, words, label) {
    const select = h("select", { onchange: guard(() => setView({ [name]: select.value })) });
    return { select, element: h("label", { class: "ce-label" }, h("span", { text: label }), select), words };
  }
  const colourBy = chooser("colour_by", COLOUR_WORDS, "Colour by");
  const groupBy = chooser("group_by", GROUP_WORDS, "Group by");
  const modes = h("div", { class: "ce-group ce-segments", role: "group", "aria-label": "Compare with the step before" });
  const search = h("input", { type: "search", placeholder: "Search  /", "aria-label": "Search boxes", oninput: guard(() => find()), onkeydown: guard((/** @type {any} */ event) => searchKey(event)) });
  const found = h("span", { class: "ce-count", role: "status" });
  const searchGroup = h("div", { class: "ce-group" }, search, found);
  const tableButton = button("Table with the same data", "table", () => { showTable = !showTable; drawTable(); }, { "aria-pressed": "false" });
  const sideButton = button("Details", "panel", () => { showSide = !showSide; drawSide(); }, { "aria-expanded": "false" });
  const helpButton = h("button", { type: "button", "aria-label": "Keys and help (?)", title: "Keys and help (?)", "aria-expanded": "false", onclick: guard(() => toggleHelp()), text: "?" });
  const toolBar = h("div", { class: "ce-bar", role: "group", "aria-label": "View" });

  const strip = h("div", { class: "ce-strip", hidden: true });
  const views = h("div", { class: "ce-views" });
  const map = h("canvas", { class: "ce-map", width: 300, height: 200, "aria-hidden": "true", hidden: true });
  const zoomButtons = h("div", { class: "ce-float ce-zoom", role: "group", "aria-label": "Zoom" },
    button("Zoom in (+)", "plus", () => zoom(1.35)), button("Zoom out (−)", "minus", () => zoom(1 / 1.35)), button("Fit all (Space on the graph)", "fit", () => fit()), button("Focus on the selection (f)", "focus", () => focusOrFit()));
  const pagerText = h("span", {});
  const pager = h("div", { class: "ce-pager", role: "group", "aria-label": "Matches and near misses", hidden: true },
    button("Previous match ([)", "previous", () => turn(-1), solid), button("Next match (])", "next", () => turn(1), solid), pagerText);
  const floatModes = h("div", { class: "ce-float ce-modes" });
  const hint = h("div", { class: "ce-hint", "aria-hidden": "true", hidden: true });
  const empty = h("div", { class: "ce-empty" }, h("span", { text: "Nothing to show yet." }));
  const progress = h("div", { class: "ce-progress", hidden: true });
  const waitText = h("span", {});
  const wait = h("div", { class: "ce-wait", hidden: true }, waitText, h("button", { type: "button", text: "Cancel", onclick: guard(() => cancel()) }));
  const table = h("div", { class: "ce-table", tabindex: "0", role: "region", "aria-label": "The picture as a table", hidden: true });
  const graphArea = h("div", { class: "ce-views" }, views, empty, floatModes, zoomButtons, map, hint, table, progress, wait);
  const side = h("aside", { class: "ce-side", "aria-label": "Details", tabindex: "0", hidden: true });
  const help = h("div", { class: "ce-help", role: "region", "aria-label": "Keys and help", tabindex: "0", hidden: true });
  const main = h("div", { class: "ce-main" }, graphArea, side, help);
  const legend = h("ul", { class: "ce-legend", "aria-label": "Legend" });
  const caption = h("div", { class: "ce-caption" });
  const note = h("div", { class: "ce-note" });
  const noteActions = h("div", { class: "ce-group" });
  const foot = h("div", { class: "ce-foot" }, pager, caption, note, noteActions);
  const root = h("div", { class: "ce-root", role: "region", "aria-label": "Circuit explorer", "data-lm-suppress-shortcuts": "true", onkeydown: guard((/** @type {any} */ event) => key(event)) },
    stepBar, toolBar, strip, wrong, main, legend, foot, live);

  const compact = () => options.compact === true;
  /** Whether a question is asked about the picture: then only the picture is shown, without captions. */
  const asking = () => options.asking === true;
  const inspector = () => text(options.inspector, compact() ? "drawer" : "side");
  const asDrawer = () => inspector() === "drawer" || width() < 760;
  /** While a host hides the view (scrolled out of a notebook) it has no size: keep the last one. */
  const sizes = { root: 900, width: 800, height: 320 };
  const width = () => (sizes.root = root.clientWidth || sizes.root);

  /** Place the parts according to the options. */
  function arrange() {
    const wish = text(options.theme, "auto");
    const theme = wish === "dark" || wish === "light" ? wish : hostTheme(doc);
    const forced = asks("(forced-colors: active)");
    palette = paletteOf(theme, forced);
    root.setAttribute("data-theme", theme);
    for (const [role, colour] of Object.entries(palette.roles)) root.style.setProperty(`--ce-${role}`, colour);
    root.style.setProperty("color-scheme", theme);
    const height = options.height ?? (compact() ? 420 : 640);
    root.style.setProperty("height", typeof height === "number" ? `${height}px` : text(height, "640px"));
    root.setAttribute("class", `ce-root${compact() ? " ce-compact" : ""}${asDrawer() ? " ce-drawer" : ""}${width() < 620 ? " ce-narrow" : ""}`);

    const allowed = { modes: list(options.modes), colours: list(options.colours), groups: list(options.groups) };
    fillChooser(colourBy, allowed.colours.length ? allowed.colours : Object.keys(COLOUR_WORDS), view.colour_by);
    fillChooser(groupBy, allowed.groups.length ? allowed.groups : Object.keys(GROUP_WORDS), view.group_by);
    const shown = allowed.modes.length ? allowed.modes : Object.keys(MODE_WORDS);
    modes.hidden = shown.length < 2;
    const held = activeElement();
    const current = text(view.mode, picture ? picture.mode : "diff");
    modes.replaceChildren(...shown.map((mode) => h("button", { type: "button", "aria-pressed": String(mode === current), "data-mode": mode, onclick: guard(() => setMode(mode)), text: MODE_WORDS[mode] || mode })));
    if (held && held.getAttribute && held.getAttribute("data-mode")) {
      for (const child of modes.childNodes) if (child.getAttribute("data-mode") === held.getAttribute("data-mode")) child.focus();
    }

    stepBar.hidden = options.stepper === false || !steps.length;
    only.hidden = compact() || width() < 900;
    toolBar.hidden = compact() || options.toolbar === false;
    if (compact()) {
      place(floatModes, [modes]);
      place(stepBar, [...stepBar.childNodes].filter((child) => child !== helpButton && child !== sideButton).concat([sideButton, helpButton]));
    } else {
      place(floatModes, []);
      place(toolBar, [modes, colourBy.element, groupBy.element, searchGroup, h("span", { class: "ce-grow" }), tableButton, sideButton, helpButton]);
    }
    floatModes.hidden = !compact();
    legend.hidden = compact() || options.legend === false;
    sideButton.hidden = inspector() === "none";
  }

  /** @param {any} parent @param {any[]} children */
  function place(parent, children) {
    const now = [...parent.childNodes];
    if (now.length !== children.length || now.some((child, index) => child !== children[index])) parent.replaceChildren(...children);
  }

  /** @param {{select: any, element: any, words: Record<string, string>}} chooser @param {string[]} names @param {any} value */
  function fillChooser({ select, element, words }, names, value) {
    element.hidden = names.length < 2;
    if (select.getAttribute("data-names") !== names.join(" ")) {
      select.setAttribute("data-names", names.join(" "));
      select.replaceChildren(...names.map((name) => h("option", { value: name, text: words[name] || name })));
    }
    select.value = text(value, names[0]);
  }

  // -- steps

  function drawSteps() {
    const last = Math.max(0, steps.length - 1);
    const current = steps[step];
    slider.setAttribute("max", String(last));
    slider.max = String(last);
    slider.value = String(step);
    const title = current ? current.title : "";
    slider.setAttribute("aria-valuetext", title);
    stepTitle.textContent = title;
    stepTitle.setAttribute("title", [title, current && current.summary].filter(Boolean).join("\n"));
    stepOk.hidden = !current || current.ok === null;
    if (current && current.ok !== null) {
      stepOk.setAttribute("class", `ce-ok ${current.ok ? "ce-good" : "ce-bad"}`);
      stepOk.textContent = current.ok ? "✓ same values" : "✕ values differ";
    }
    for (const item of stepButtons) item.disabled = step <= 0;
    for (const item of [forwardButtons[0], forwardButtons[1]]) item.disabled = step >= last;
    play.disabled = steps.length < 2;
    play.setAttribute("aria-pressed", String(playing));
    play.replaceChildren(icon(make, playing ? "pause" : "play"), h("span", { class: "ce-play-word", text: playing ? "Pause" : "Play" }));
    play.setAttribute("aria-label", playing ? "Pause" : "Play (Space on the stepper)");
    drawStrip();
  }

  function drawTicks() {
    const last = Math.max(1, steps.length - 1);
    ticks.replaceChildren(...steps.filter((item) => item.changed || item.error || item.ok === false).map((item) =>
      h("i", { style: `left:${(100 * item.index) / last}%`, class: item.error || item.ok === false ? "ce-bad" : null })));
  }

  /** @param {number} to @param {boolean} [lazily] */
  function goTo(to, lazily = false) {
    const next = Math.min(steps.length - 1, Math.max(0, to));
    if (next === step || next < 0 || options.stepper === false) return;
    step = next;
    drawSteps();
    after("step", lazily ? 80 : 0, () => tell({ step }));
    if (!lazily) {
      clearTimeout(timers.step);
      tell({ step });
    }
    expect();
  }

  /** @param {number} way @param {boolean} [any] */
  function walk(way, any = !onlyChanging) {
    let next = step + way;
    while (!any && steps[next] && !steps[next].changed && !steps[next].error) next += way;
    if (!steps[next]) next = way > 0 ? steps.length - 1 : 0;
    goTo(next);
    return next;
  }

  function slide() {
    goTo(Number(slider.value), true);
  }

  /** @param {boolean} on */
  function setPlaying(on) {
    playing = on;
    clearTimeout(timers.play);
    if (playing && step >= steps.length - 1) goTo(0);
    if (playing) after("play", PLAY_MS / 2, tick);
    drawSteps();
  }

  function tick() {
    if (!playing) return;
    if (picture && picture.step === step) walk(1);
    if (step >= steps.length - 1) setPlaying(false);
    else after("play", PLAY_MS, tick);
  }

  /** Waiting for a picture from Python: a progress bar after 0.3 s, text and Cancel after 2 s. */
  function expect() {
    after("busy", 300, () => {
      if (!awaited()) return;
      progress.hidden = false;
      root.setAttribute("aria-busy", "true");
    });
    after("slow", 2000, () => {
      if (!awaited()) return;
      waitText.textContent = `Still working: ${steps[step] ? steps[step].title : `step ${step}`} …`;
      wait.hidden = false;
      live.textContent = waitText.textContent;
    });
  }

  const awaited = () => !picture || picture.step !== step || (view.mode && picture.mode !== view.mode);

  function arrived() {
    if (awaited()) return;
    clearTimeout(timers.busy);
    clearTimeout(timers.slow);
    progress.hidden = true;
    wait.hidden = true;
    root.removeAttribute("aria-busy");
  }

  function cancel() {
    ask("cancel");
    if (picture) {
      step = Math.min(steps.length - 1, picture.step);
      view = { ...view, mode: picture.mode };
      tell({ step, view });
    }
    setPlaying(false);
    arrange();
    drawSteps();
    arrived();
  }

  /** @param {string} mode */
  function setMode(mode) {
    const allowed = list(options.modes);
    if (allowed.length && !allowed.includes(mode)) return;
    setView({ mode });
    arrange();
    expect();
  }

  // -- the picture

  /** @param {boolean} [insist] */
  function readNow(insist = false) {
    const next = readPicture(model.get("picture"), model.get("coordinates"), insist);
    if (next === "wait") {
      clearTimeout(timers.places);
      timers.places = setTimeout(guard(() => readNow(true), "picture"), 400);
      return;
    }
    clearTimeout(timers.places);
    const before = picture;
    picture = next;
    if (picture && options.numbers === true) for (const box of picture.boxes) box.numbered = box.ids.length === 1 ? String(box.ids[0]) : "";
    arrange();
    drawPicture(before);
    arrived();
  }

  /** @param {Picture | null} before */
  function drawPicture(before) {
    const shown = picture ? [picture, picture.mode === "side" ? picture.other : null].filter(Boolean) : [];
    const from = panes.map(({ scene }) => scene.places());
    const held = heldBox();
    const limit = number(options.svg_limit, MAX_SVG_BOXES);
    const kinds = shown.map((item) => /** @type {Picture} */ (item).boxes.length > limit);
    if (panes.length !== shown.length || panes.some((pane, index) => pane.canvas !== kinds[index])) {
      for (const pane of panes) pane.scene.close();
      panes = kinds.map((canvas) => newPane(canvas));
      views.replaceChildren(...panes.map(({ element }) => element));
    }
    shown.forEach((item, index) => {
      const pane = panes[index];
      const now = /** @type {Picture} */ (item);
      pane.picture = now;
      pane.title.hidden = shown.length < 2;
      const twins = shown.length > 1 && shown[0]?.title === shown[1]?.title;
      pane.title.textContent = twins || !now.title ? (index ? "After" : "Before") : now.title;
      pane.scene.stage.setAttribute("aria-label", `Graph, ${now.boxes.length} boxes. ${[now.title, now.note].filter(Boolean).join(". ")}`);
      pane.scene.show(now, from[index] || from[0] || new Map());
    });
    const known = new Set(shown.flatMap((item) => /** @type {Picture} */ (item).boxes.map((box) => box.id)));
    if (!known.has(marks.hover)) marks.hover = "";
    const hulls = picture ? picture.hulls : [];
    if (!hulls.some((hull) => hull.id === marks.hull)) marks.hull = "";
    hint.hidden = true;
    empty.hidden = Boolean(picture && picture.boxes.length);
    empty.firstChild.textContent = picture ? picture.message || "Nothing to show here." : "Nothing to show yet.";
    drawWords(before);
    drawStrip();
    drawPager();
    drawSide();
    drawTable();
    if (search.value) find(false);
    else mark();
    animate(before);
    if (held) for (const { scene } of panes.slice(0, 1)) scene.focus(known.has(held) ? held : marks.focus);
  }

  /** @param {boolean} canvas */
  function newPane(canvas) {
    const scene = (canvas ? canvasScene : svgScene)(make, () => palette);
    const title = h("div", { class: "ce-view-title" });
    const element = h("div", { class: "ce-view" }, scene.stage, title);
    listen(element, scene);
    return { scene, element, title, picture: /** @type {Picture | null} */ (null), canvas };
  }

  const captionOf = () => (picture && !asking() ? picture.caption : "");
  const messageOf = () => (picture && !asking() ? picture.message : "");

  /** @param {Picture | null} before */
  function drawWords(before) {
    caption.textContent = captionOf();
    note.textContent = picture ? picture.note : "";
    caption.setAttribute("title", caption.textContent);
    note.setAttribute("title", note.textContent);
    legend.replaceChildren(...(picture ? legendOf(make, picture, palette) : []));
    legend.hidden = legend.hidden || !legend.childNodes.length;
    noteActions.replaceChildren(...(picture ? actionButtons(picture, "note") : []));
    if (picture && before && (before.step !== picture.step || before.mode !== picture.mode || before.caption !== picture.caption)) {
      live.textContent = [captionOf() || messageOf(), picture.note].filter(Boolean).join(". ");
    }
    line();
  }

  /** @param {Picture} shown @param {string} beside `message` or `note` */
  const actionButtons = (shown, beside) => (options.actions === false ? [] : shown.actions.filter((action) => action.beside === beside))
    .map((action) => h("button", { type: "button", text: action.label, onclick: guard(() => ask(action.name)) }));

  /** The line above the graph: the error of this step, or the message of the picture. */
  function drawStrip() {
    const current = steps[step];
    const error = current ? current.error : "";
    const message = picture && picture.boxes.length ? messageOf() : "";
    const differs = current && current.ok === false && !error ? "The output of this step differs from that of the unoptimized circuit." : "";
    const buttons = picture && messageOf() ? actionButtons(picture, "message") : [];
    strip.hidden = !(error || message || differs) && !buttons.length;
    strip.setAttribute("class", `ce-strip${error || differs ? " ce-wrong" : ""}`);
    strip.replaceChildren(h("p", { text: [error, differs, message].filter(Boolean).join("\n") }),
      ...buttons,
      error ? h("button", { type: "button", text: "Copy", onclick: guard(() => copy(`${current.title}\n${error}`)) }) : h("span", { hidden: true }));
  }

  /** @param {string} words */
  function copy(words) {
    const board = doc.defaultView && doc.defaultView.navigator && doc.defaultView.navigator.clipboard;
    if (board) board.writeText(words).then(() => { live.textContent = "Copied."; }, () => { live.textContent = "The browser did not allow copying."; });
  }

  /** In compact form the last line describes the box under the pointer, else the selection, else what changed. */
  function line() {
    if (!compact() || !picture) return;
    const id = marks.hover || selection[selection.length - 1] || "";
    const box = boxOf(id);
    caption.textContent = box ? sayBox(box) : captionOf();
    caption.setAttribute("title", caption.textContent);
  }

  /** @param {string} id @returns {Box | undefined} */
  const boxOf = (id) => picture && id ? picture.byId.get(id) || (picture.other ? picture.other.byId.get(id) : undefined) : undefined;

  function mark() {
    for (const { scene } of panes) scene.mark(marks);
    drawMap();
  }

  // -- moving

  function size() {
    const pane = panes[0];
    sizes.width = (pane && pane.element.clientWidth) || sizes.width;
    sizes.height = (pane && pane.element.clientHeight) || sizes.height;
    return { width: sizes.width, height: sizes.height };
  }

  /** Height of the titles and buttons at the top of the viewport. */
  const inset = () => (panes.length > 1 || compact() ? 34 : 0);

  /** The camera that shows a rectangle of the picture. @param {Rect} rect @param {number} [most] @returns {Camera} */
  function showing(rect, most = 1.2) {
    const { width: w, height: hh } = size();
    const top = inset();
    const right = w * panes.length < NARROW ? ZOOM_WIDTH : 0; // on a small screen the zoom buttons would cover boxes
    const k = Math.max(0.005, Math.min((w - right - 28) / Math.max(1, rect.r - rect.l), (hh - top - 20) / Math.max(1, rect.b - rect.t), most));
    return { k, x: (rect.l + rect.r) / 2 + right / 2 / k, y: (rect.t + rect.b) / 2 - top / 2 / k };
  }

  /** The extent of the picture, or of both. @returns {Rect} */
  function extent() {
    const shown = /** @type {Picture[]} */ (panes.map((pane) => pane.picture).filter(Boolean));
    const all = { l: 0, t: 0, r: Math.max(1, ...shown.map((item) => item.width)), b: Math.max(1, ...shown.map((item) => item.height)) };
    // Coordinates are shared by all steps: most of the picture of a late step may be empty.
    const boxes = shown.flatMap((item) => item.boxes);
    if (!boxes.length) return all;
    const [l, t] = [boxes.map((box) => box.x - box.w / 2), boxes.map((box) => box.y - box.h / 2)].map((ends) => ends.reduce((least, end) => Math.min(least, end)));
    return { ...all, l: Math.max(0, l - MARGIN), t: Math.max(0, t - MARGIN) };
  }

  /** @returns {Camera} */
  const whole = () => showing(extent());

  /** All of it, or, if that would be illegible, the changed part at a legible size. @returns {Camera} */
  function automatic() {
    const all = whole();
    if (!picture || all.k >= 0.4) return all;
    const { width: w, height: hh } = size();
    const many = picture.boxes.length > 80;
    if (asking() && !many) return all;
    if (many && all.k > 0.12) return all;
    const seen = extent();
    // A wide and flat picture of many boxes: its whole height and the centre of its width; the map shows the rest.
    const k = many ? Math.min(0.45, Math.max(all.k, 0.12, (hh - 40) / (seen.b - seen.t))) : Math.min(0.62, Math.max(all.k, 0.5));
    const news = many ? [] : picture.boxes.filter((box) => box.matched || box.change !== "kept");
    const rects = (news.length ? news : picture.boxes).map((box) => around(box, 12));
    const rect = { l: Math.min(...rects.map((r) => r.l)), t: Math.min(...rects.map((r) => r.t)), r: Math.max(...rects.map((r) => r.r)), b: Math.max(...rects.map((r) => r.b)) };
    /** @param {number} middle @param {number} half @param {number} from @param {number} to */
    const within = (middle, half, from, to) => (2 * half >= to - from + 28 ? (from + to) / 2 : Math.min(to + 14 - half, Math.max(from + half - 14, middle)));
    const x = rect.r - rect.l > w / k && !many ? rect.l + w / k / 2 : (rect.l + rect.r) / 2;
    const y = rect.b - rect.t > hh / k ? rect.b - hh / k / 2 : (rect.t + rect.b) / 2;
    return { k, x: within(x, w / k / 2, seen.l, seen.r), y: within(y, hh / k / 2, seen.t, seen.b) };
  }

  /** @param {Picture | null} before */
  function animate(before) {
    const target = auto ? automatic() : camera;
    const start = camera;
    stop();
    const still = !before || !picture || options.animate === false || asks("(prefers-reduced-motion: reduce)");
    /** @param {number} t */
    const at = (t) => {
      const e = ease(t);
      camera = t >= 1 ? target : { k: start.k * (target.k / start.k) ** e, x: start.x + (target.x - start.x) * e, y: start.y + (target.y - start.y) * e };
      for (const { scene } of panes) scene.frame(t);
      look();
    };
    if (still) {
      at(1);
      return;
    }
    const began = clock();
    const next = guard(() => {
      const t = Math.min(1, (clock() - began) / MOVE_MS);
      at(t);
      moving = t < 1 ? frameOf(next) : 0;
      root.setAttribute("data-moving", String(t < 1));
    });
    at(0);
    root.setAttribute("data-moving", "true");
    moving = frameOf(next);
    // A page in the background paints no frames: finish without them.
    after("arrive", MOVE_MS + 200, () => {
      if (!moving) return;
      stop();
      at(1);
      root.setAttribute("data-moving", "false");
    });
  }

  function stop() {
    if (moving) unframe(moving);
    moving = 0;
  }

  const clock = () => (typeof performance === "object" ? performance.now() : Date.now());

  function look() {
    const { width: w, height: hh } = size();
    for (const { scene } of panes) scene.look(camera, w, hh);
    root.setAttribute("data-zoom", camera.k.toFixed(3));
    drawMap();
  }

  /** The user has moved the camera: the picture no longer moves by itself until "fit". */
  function handled() {
    auto = false;
    look();
    after("zoom", 400, () => setView({ zoom: { k: round(camera.k), x: round(camera.x), y: round(camera.y) } }));
  }

  /** @param {number} value */
  const round = (value) => Math.round(value * 1000) / 1000;

  /** @param {number} by @param {Point} [at] point in the viewport that stays fixed */
  function zoom(by, at) {
    const { width: w, height: hh } = size();
    const px = at || { x: w / 2, y: hh / 2 };
    const k = Math.min(4, Math.max(Math.min(0.01, whole().k), camera.k * by));
    const still = { x: camera.x + (px.x - w / 2) / camera.k, y: camera.y + (px.y - hh / 2) / camera.k };
    camera = { k, x: still.x - (px.x - w / 2) / k, y: still.y - (px.y - hh / 2) / k };
    stop();
    for (const { scene } of panes) scene.frame(1);
    handled();
  }

  function fit() {
    camera = whole();
    focused = false;
    handled();
    auto = true;
    clearTimeout(timers.zoom);
    setView({ zoom: null });
  }

  function focusOrFit() {
    const boxes = selection.map(boxOf).filter(Boolean).map((box) => around(/** @type {Box} */ (box), 60));
    if (focused || !boxes.length) {
      fit();
      return;
    }
    focused = true;
    camera = showing({ l: Math.min(...boxes.map((r) => r.l)), t: Math.min(...boxes.map((r) => r.t)), r: Math.max(...boxes.map((r) => r.r)), b: Math.max(...boxes.map((r) => r.b)) });
    handled();
  }

  /** Bring a box into view. @param {Box} box */
  function reveal(box) {
    const { width: w, height: hh } = size();
    const k = camera.k < 0.36 ? 0.7 : camera.k;
    const [rx, ry] = [w / 2 / k - box.w / 2 - 30, hh / 2 / k - box.h / 2 - 30];
    const [dx, dy] = [box.x - camera.x, box.y - camera.y];
    if (k === camera.k && Math.abs(dx) <= rx && Math.abs(dy) <= ry) return;
    camera = { k, x: Math.abs(dx) > rx || k !== camera.k ? box.x : camera.x, y: Math.abs(dy) > ry || k !== camera.k ? box.y : camera.y };
    handled();
  }

  function drawMap() {
    const pane = panes[0];
    const all = whole();
    map.hidden = panes.length !== 1 || !pane.picture || !pane.picture.boxes.length || camera.k < all.k * 1.08 || showTable || size().height < MAP_STAGE;
    const pen = typeof map.getContext === "function" ? map.getContext("2d") : null;
    if (map.hidden || !pen || !pane.picture) return;
    const shown = pane.picture;
    const k = Math.min(292 / shown.width, 192 / shown.height);
    const [ox, oy] = [(300 - k * shown.width) / 2, (200 - k * shown.height) / 2];
    pen.clearRect(0, 0, 300, 200);
    for (const box of shown.boxes) {
      const { fill } = fillOf(box, shown, palette);
      const plain = fill === palette.roles.box;
      pen.fillStyle = box.change !== "kept" ? palette.roles[box.change] : marks.selected.has(box.id) ? palette.roles.accent : plain ? palette.roles.kept : fill;
      pen.fillRect(ox + k * (box.x - box.w / 2), oy + k * (box.y - box.h / 2), Math.max(2, k * box.w), Math.max(2, k * box.h));
    }
    const { width: w, height: hh } = size();
    pen.strokeStyle = palette.roles.accent;
    pen.lineWidth = 3;
    pen.strokeRect(ox + k * (camera.x - w / 2 / camera.k), oy + k * (camera.y - hh / 2 / camera.k), (k * w) / camera.k, (k * hh) / camera.k);
    map.ceScale = { k, ox, oy };
  }

  // -- pointing

  /** @param {any} event @param {any} element @returns {Point} */
  function inView(event, element) {
    const rect = element.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  }

  /** The box at a point of the viewport. @param {Point} at @param {Picture | null} shown @returns {Box | null} */
  function hit(at, shown) {
    if (!shown) return null;
    const { width: w, height: hh } = size();
    const [x, y] = [camera.x + (at.x - w / 2) / camera.k, camera.y + (at.y - hh / 2) / camera.k];
    const slack = Math.min(12, 2 / camera.k);
    for (let index = shown.boxes.length - 1; index >= 0; index -= 1) {
      const box = shown.boxes[index];
      if (Math.abs(x - box.x) <= box.w / 2 + slack && Math.abs(y - box.y) <= box.h / 2 + slack) return box;
    }
    return null;
  }

  /** @param {any} element @param {Scene} scene */
  function listen(element, scene) {
    /** @type {{x: number, y: number, camera: Camera, moved: boolean} | null} */
    let drag = null;
    let dragged = false;
    const shown = () => panes.find((pane) => pane.scene === scene)?.picture || null;
    element.addEventListener("pointerdown", guard((/** @type {any} */ event) => {
      if (event.button) return;
      dragged = false;
      drag = { x: event.clientX, y: event.clientY, camera, moved: false };
    }));
    element.addEventListener("pointermove", guard((/** @type {any} */ event) => {
      if (drag && event.buttons !== undefined && !(event.buttons & 1)) drag = null;
      if (!drag) {
        point(hit(inView(event, element), shown()), inView(event, element), element);
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      if (!drag.moved && element.setPointerCapture && event.pointerId !== undefined) element.setPointerCapture(event.pointerId);
      drag.moved = true;
      element.setAttribute("class", "ce-view ce-dragging");
      stop();
      for (const pane of panes) pane.scene.frame(1);
      camera = { k: drag.camera.k, x: drag.camera.x - dx / drag.camera.k, y: drag.camera.y - dy / drag.camera.k };
      hint.hidden = true;
      handled();
    }));
    const release = guard(() => {
      dragged = Boolean(drag && drag.moved);
      drag = null;
      element.setAttribute("class", "ce-view");
    });
    element.addEventListener("pointerup", release);
    element.addEventListener("pointercancel", release);
    element.addEventListener("pointerleave", guard(() => { if (!drag) point(null); }));
    element.addEventListener("click", guard((/** @type {any} */ event) => {
      if (dragged) {
        dragged = false;
        return;
      }
      for (let target = event.target; target && target !== element; target = target.parentNode) {
        const hull = target.getAttribute && target.getAttribute("data-hull");
        if (hull && target.getAttribute("class").includes("ce-tag")) {
          lightHull(hull);
          return;
        }
        const id = target.getAttribute && target.getAttribute("data-id");
        if (id && target !== scene.stage) {
          choose(id, event.shiftKey || event.ctrlKey || event.metaKey);
          return;
        }
      }
      const box = hit(inView(event, element), shown());
      if (box) choose(box.id, event.shiftKey || event.ctrlKey || event.metaKey);
      else {
        if (options.many !== true) select([]);
        if (marks.hull) lightHull("");
      }
    }));
    element.addEventListener("wheel", guard((/** @type {any} */ event) => {
      // The wheel scrolls the page until the user has clicked into the graph; pinching and Ctrl always zoom.
      if (!event.ctrlKey && !event.metaKey && !hasFocus()) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.008 : 0.0016)), inView(event, element));
    }), { passive: false });
    element.addEventListener("focusin", guard((/** @type {any} */ event) => {
      const id = event.target.getAttribute && event.target.getAttribute("data-id");
      if (!id || id === marks.focus) return;
      marks = { ...marks, focus: id };
      mark();
    }));
  }

  /** @param {Box | null} box @param {Point} [at] @param {any} [element] */
  function point(box, at, element) {
    const id = box ? box.id : "";
    if (id !== marks.hover) {
      marks = { ...marks, hover: id };
      for (const { scene } of panes) scene.mark(marks);
      line();
    }
    hint.hidden = !box;
    if (!box || !at) return;
    const many = box.folds > 1 ? `F = ${box.folds}` : box.count > 1 ? `${box.count} layers` : "";
    const facts = [box.detail, [many, `level ${box.level}`, box.change === "kept" ? "" : box.change, box.matched ? "matched" : ""].filter(Boolean).join(" · "), box.fillText];
    hint.replaceChildren(h("b", { text: box.title }), ...[...facts, ...box.badges.map((badge) => `${badge.sign} ${badge.text}`)].filter(Boolean).map((words) => h("span", { text: words })));
    const { width: w, height: hh } = { width: graphArea.clientWidth || 800, height: graphArea.clientHeight || 320 };
    const left = at.x + (element && element.offsetLeft ? element.offsetLeft : 0);
    hint.style.setProperty("left", `${Math.max(4, Math.min(left + 14, w - 310))}px`);
    hint.style.setProperty("top", at.y > hh / 2 ? "auto" : `${at.y + 18}px`);
    hint.style.setProperty("bottom", at.y > hh / 2 ? `${hh - at.y + 12}px` : "auto");
  }

  map.addEventListener("pointerdown", guard((/** @type {any} */ event) => jump(event)));
  map.addEventListener("pointermove", guard((/** @type {any} */ event) => { if (event.buttons & 1) jump(event); }));
  /** @param {any} event */
  function jump(event) {
    const rect = map.getBoundingClientRect();
    const scale = map.ceScale;
    if (!scale || !rect.width) return;
    camera = { k: camera.k, x: (((event.clientX - rect.left) * 300) / rect.width - scale.ox) / scale.k, y: (((event.clientY - rect.top) * 200) / rect.height - scale.oy) / scale.k };
    handled();
  }

  // -- selecting

  /** @param {string} id @param {boolean} add */
  function choose(id, add) {
    marks = { ...marks, focus: id };
    if (!add && options.many !== true) select(selection.length === 1 && selection[0] === id ? [] : [id]);
    else select(selection.includes(id) ? selection.filter((other) => other !== id) : [...selection, id]);
    if (!hasFocus() || inGraph()) for (const pane of panes) if (pane.picture && pane.picture.byId.has(id)) return pane.scene.focus(id);
  }

  /** @param {string[]} ids */
  function select(ids) {
    if (ids.length === selection.length && ids.every((id, index) => id === selection[index])) return;
    selection = ids;
    focused = false;
    marks = { ...marks, selected: new Set(ids) };
    mark();
    line();
    tell({ selection: ids });
    drawSide();
  }

  /** @param {number} way */
  function turn(way) {
    const hulls = picture ? picture.hulls : [];
    if (!hulls.length) return;
    const at = hulls.findIndex((hull) => hull.id === marks.hull);
    const next = at < 0 ? (way > 0 ? 0 : hulls.length - 1) : (at + way + hulls.length) % hulls.length;
    lightHull(hulls[next].id);
  }

  /** @param {string} id */
  function lightHull(id) {
    marks = { ...marks, hull: id === marks.hull ? "" : id };
    setView({ hull: marks.hull });
    const hull = picture && picture.hulls.find((item) => item.id === marks.hull);
    drawPager();
    if (hull) {
      for (const box of hull.boxes.slice(0, 1)) reveal(box);
      live.textContent = pagerText.textContent;
      select(hull.boxes.map((box) => box.id));
    }
    mark();
  }

  function drawPager() {
    const hulls = picture ? picture.hulls : [];
    pager.hidden = !hulls.length;
    const at = hulls.findIndex((hull) => hull.id === marks.hull);
    const hull = hulls[at];
    /** @type {Record<string, number>} */
    const counts = {};
    for (const item of hulls) counts[item.kind] = (counts[item.kind] || 0) + 1;
    /** @type {Record<string, string>} */
    const plural = { match: "matches", winner: "winners", lost: "lost", "near-miss": "near misses" };
    const all = Object.entries(counts).map(([kind, count]) => `${count} ${count === 1 ? HULL_WORDS[kind] || kind : plural[kind] || kind}`).join(", ");
    pagerText.textContent = hull ? `${at + 1} of ${hulls.length}: ${sayHull(hull)}` : all;
    pagerText.setAttribute("title", pagerText.textContent);
  }

  // -- search

  /** @param {boolean} [go] */
  function find(go = true) {
    const words = search.value.trim().toLowerCase();
    const boxes = panes.flatMap((pane) => (pane.picture ? pane.picture.boxes : []));
    const hits = words
      ? boxes.filter((box) => `${box.title} ${box.detail} ${box.kind} ${box.id} ${box.ids.map((id) => `#${id}`).join(" ")} ${box.change}`.toLowerCase().includes(words))
      : [];
    marks = { ...marks, found: words ? new Set(hits.map((box) => box.id)) : null };
    found.textContent = words ? (hits.length ? `${marks.found ? marks.found.size : 0} found` : "none") : "";
    if (go && hits.length && words) reveal(hits[0]);
    mark();
  }

  /** @param {any} event */
  function searchKey(event) {
    if (event.key === "Enter" && marks.found && marks.found.size) {
      const ids = [...marks.found];
      const next = ids[(ids.indexOf(marks.focus) + (event.shiftKey ? -1 : 1) + ids.length) % ids.length];
      marks = { ...marks, focus: next };
      const box = boxOf(next);
      if (box) reveal(box);
      select([next]);
      mark();
      event.stopPropagation();
    }
    if (event.key === "Escape" && search.value) {
      search.value = "";
      find(false);
      event.stopPropagation();
      event.preventDefault();
    }
  }

  // -- table, inspector, help

  function drawTable() {
    tableButton.setAttribute("aria-pressed", String(showTable));
    table.hidden = !showTable || !picture;
    if (table.hidden || !picture) table.replaceChildren();
    else table.replaceChildren(...tableOf(make, picture, showAllRows, guard(() => { showAllRows = true; drawTable(); })));
    drawMap();
  }

  function drawSide() {
    const kind = inspector();
    const open = kind !== "none" && (asDrawer() ? showSide : !showSide);
    sideButton.setAttribute("aria-expanded", String(open));
    const was = side.hidden;
    side.hidden = !open;
    if (was !== side.hidden && !asDrawer()) settle();
    if (!open) {
      side.replaceChildren();
      return;
    }
    const box = boxOf(selection[selection.length - 1] || "");
    const current = steps[step];
    /** @type {Details | null} */
    let shown = null;
    const told = asking() ? null : details;
    if (told && told.id && selection.includes(told.id)) shown = told;
    else if (box && picture) shown = factsOf(box, picture.byId.has(box.id) ? picture : picture.other || picture);
    else if (told && !told.id && told.sections.length) shown = told;
    else if (current) shown = factsOfStep(current);
    if (selection.length > 1 && shown) {
      const names = selection.map(boxOf).filter(Boolean).map((item) => /** @type {Box} */ (item).title);
      shown = { ...shown, sections: [{ heading: `${selection.length} boxes selected`, rows: [], lines: [names.slice(0, 12).join(", ") + (names.length > 12 ? ` and ${names.length - 12} more` : "")] }, ...shown.sections] };
    }
    const top = side.scrollTop;
    side.replaceChildren(
      h("h2", {}, h("span", { text: shown ? shown.title : "Details" }), asDrawer() ? button("Close the drawer", "close", () => { showSide = false; drawSide(); sideButton.focus(); }, { class: "ce-bare" }) : null),
      ...(box ? [sectionButtons(shown)].filter(Boolean) : []),
      ...(shown ? detailsOf(make, shown, closedHeadings) : [h("p", { text: "Select a box to see what it is." })]),
      ...(compact() ? [compactSettings()] : []));
    side.scrollTop = top;
  }

  /** In compact form the drawer contains everything that has no room elsewhere. */
  function compactSettings() {
    const parts = [];
    if (!colourBy.element.hidden || !groupBy.element.hidden) parts.push(colourBy.element, groupBy.element);
    parts.push(searchGroup, h("div", { class: "ce-group" }, tableButton, h("span", { text: "Table" })));
    return h("div", {}, h("details", { open: !closedHeadings.has("View") }, h("summary", { text: "View" }), h("div", { class: "ce-settings" }, parts)),
      h("details", { open: true }, h("summary", { text: "Legend" }), h("ul", { class: "ce-legend" }, picture ? legendOf(make, picture, palette) : [])));
  }

  /** Buttons for the keys h, w, t, for sections in the details or requests that the host handles. @param {Details | null} shown */
  function sectionButtons(shown) {
    const answered = list(options.requests);
    const parts = SECTIONS.filter(({ name, heading }) => answered.includes(name) || (shown && shown.sections.some((section) => heading.test(section.heading))));
    return parts.length ? h("div", { class: "ce-group ce-goto" }, parts.map(({ name, heading, words, key: letterKey }) =>
      h("button", { type: "button", title: `${words} (${letterKey})`, text: words, onclick: guard(() => goToSection(name, heading)) }))) : null;
  }

  /** Open the inspector at a section, for the keys h, w, t. @param {string} tab @param {RegExp} heading */
  function goToSection(tab, heading) {
    setView({ tab });
    if (asDrawer()) showSide = true;
    drawSide();
    for (const child of side.childNodes) {
      if (child.getAttribute && heading.test(child.getAttribute("data-heading") || "")) {
        child.setAttribute("open", "");
        if (child.scrollIntoView) child.scrollIntoView({ block: "nearest" });
        const summary = child.firstChild;
        if (summary && summary.focus) summary.focus();
        return;
      }
    }
    ask(tab);
  }

  function toggleHelp(open = !showHelp) {
    if (open) helpFrom = activeElement();
    showHelp = open;
    drawHelp();
    if (open) help.focus();
    else (helpFrom && helpFrom.focus && root.contains(helpFrom) ? helpFrom : helpButton).focus();
  }

  function drawHelp() {
    helpButton.setAttribute("aria-expanded", String(showHelp));
    help.hidden = !showHelp;
    if (!showHelp) return;
    const letters = h("input", { type: "checkbox", checked: options.letter_keys !== false, onchange: guard(() => { options = { ...options, letter_keys: letters.checked }; tell({ options }); }) });
    help.replaceChildren(
      h("h2", { text: "Keys, while this view has focus" }),
      h("ul", {}, KEYS.map(([name, does]) => h("li", {}, h("kbd", { text: name }), h("span", { text: does })))),
      h("label", { class: "ce-label" }, letters, h("span", { text: "Enable letter keys (each also has a button)" })),
      h("p", { text: "Drag, or use the map, to pan. Pinch, Ctrl + wheel and the buttons zoom (the wheel alone while the graph has focus). Fill: colour by. Border: change. Badge: warning. Hatch: removed. Symbol: kind of node." }),
      h("button", { type: "button", text: "Close", onclick: guard(() => toggleHelp(false)) }));
  }

  // -- keys

  const activeElement = () => {
    const tree = root.getRootNode ? root.getRootNode() : doc;
    return tree.activeElement || doc.activeElement || null;
  };
  const hasFocus = () => { const active = activeElement(); return Boolean(active && active !== root && root.contains(active)); };
  const inGraph = () => { const active = activeElement(); return Boolean(active && views.contains(active)); };
  const heldBox = () => { const active = activeElement(); return inGraph() && active.getAttribute ? active.getAttribute("data-id") || marks.focus || "" : ""; };

  /** @param {any} event */
  function key(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const target = event.target;
    const tag = text(target && target.tagName).toLowerCase();
    const typing = tag === "textarea" || (tag === "input" && target.getAttribute("type") === "search");
    if (typing && event.key !== "Escape") return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pressing = tag === "button" || tag === "summary" || (tag === "input" && target.getAttribute("type") === "checkbox");
    if (tag === "select" && event.key !== "Escape") return;
    if (act(event, inGraph(), pressing)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** @param {any} event @param {boolean} graph @param {boolean} pressing @returns {boolean} whether the key was used */
  function act(event, graph, pressing) {
    const name = event.key;
    if (name === "ArrowLeft" || name === "ArrowRight") {
      walk(name === "ArrowLeft" ? -1 : 1, event.shiftKey || !onlyChanging);
      return true;
    }
    if (name === "Home" || name === "End") {
      goTo(name === "Home" ? 0 : steps.length - 1);
      return true;
    }
    if (name === "Escape") return escape();
    if (name === " " && !pressing) {
      if (graph) fit();
      else setPlaying(!playing);
      return true;
    }
    if (graph && (name === "ArrowUp" || name === "ArrowDown")) return stepTo(name === "ArrowUp" ? "up" : "down");
    if (!graph && target(event) === slider && (name === "ArrowUp" || name === "ArrowDown")) {
      walk(name === "ArrowUp" ? 1 : -1);
      return true;
    }
    if (graph && name === "Enter" && picture && picture.boxes.length) {
      choose(picture.other && picture.other.byId.has(marks.focus) ? marks.focus : current(picture), event.shiftKey);
      return true;
    }
    if (options.letter_keys === false || name.length !== 1) return false;
    return letter(name, graph);
  }

  /** @param {any} event */
  const target = (event) => event.target;

  /** @param {string} name @param {boolean} graph @returns {boolean} */
  function letter(name, graph) {
    if (name === "[" || name === "]") turn(name === "[" ? -1 : 1);
    else if (name === "+" || name === "=") zoom(1.35);
    else if (name === "-" || name === "_") zoom(1 / 1.35);
    else if (name === "f") focusOrFit();
    else if (name === "/") {
      if (compact()) {
        showSide = true;
        drawSide();
      }
      search.focus();
    } else if (name === "d") setMode(text(view.mode, "diff") === "diff" ? "after" : "diff");
    else if (SECTIONS.some((section) => section.key === name)) {
      for (const section of SECTIONS) if (section.key === name) goToSection(section.name, section.heading);
    } else if (name === "?") toggleHelp();
    else if (graph && (name === "," || name === ".")) return stepTo(name === "," ? "previous" : "next");
    else return false;
    return true;
  }

  /** The box that has focus, or else the first. @param {Picture} shown */
  const current = (shown) => (shown.byId.has(marks.focus) ? marks.focus : shown.boxes[0].id);

  /** Move the focus from box to box. @param {"up" | "down" | "previous" | "next"} way @returns {boolean} */
  function stepTo(way) {
    const pane = panes.find((item) => item.element.contains(activeElement())) || panes[0];
    if (!pane || !pane.picture || !pane.picture.boxes.length) return false;
    const next = beside(pane.picture, current(pane.picture), way);
    if (!next) return true;
    marks = { ...marks, focus: next.id };
    reveal(next);
    mark();
    pane.scene.focus(next.id);
    if (compact()) live.textContent = "";
    return true;
  }

  /** @returns {boolean} */
  function escape() {
    if (!hint.hidden) hint.hidden = true;
    if (showHelp) toggleHelp(false);
    else if (playing) setPlaying(false);
    else if (search.value) {
      search.value = "";
      find(false);
    } else if (marks.hull || selection.length) {
      if (marks.hull) lightHull("");
      select([]);
    } else if (asDrawer() && showSide) {
      showSide = false;
      drawSide();
      sideButton.focus();
    } else {
      const active = activeElement();
      if (active && active.blur) active.blur();
    }
    return true;
  }

  // -- lifetime

  /** Called when the size has changed. */
  function settle() {
    arrange();
    if (!picture) return;
    if (auto && !moving) camera = automatic();
    look();
  }

  function readSelection() {
    const ids = asList(model.get("selection")).map((id) => text(id));
    if (ids.length === selection.length && ids.every((id, index) => id === selection[index])) return;
    selection = ids;
    marks = { ...marks, selected: new Set(ids) };
    mark();
    line();
    drawSide();
  }

  function readView() {
    const next = asDict(model.get("view"));
    const zoomed = JSON.stringify(next.zoom || null) !== JSON.stringify(view.zoom || null);
    view = next;
    if (zoomed && view.zoom && number(view.zoom.k) > 0) {
      camera = { k: number(view.zoom.k, 1), x: number(view.zoom.x), y: number(view.zoom.y) };
      auto = false;
      look();
    }
    if (text(view.hull) !== marks.hull) {
      marks = { ...marks, hull: text(view.hull) };
      drawPager();
      mark();
    }
    arrange();
    if (picture) expect();
    arrived();
  }

  /** @type {Record<string, () => void>} */
  const readers = {
    picture: () => readNow(),
    coordinates: () => readNow(),
    steps: () => {
      steps = readSteps(model.get("steps"));
      step = Math.min(Math.max(0, steps.length - 1), Math.max(0, number(model.get("step"))));
      arrange();
      drawTicks();
      drawSteps();
      drawSide();
    },
    step: () => {
      const next = number(model.get("step"));
      if (next !== step) {
        step = steps.length ? Math.min(steps.length - 1, Math.max(0, next)) : next;
        drawSteps();
        if (picture) expect();
        arrived();
      }
    },
    selection: () => readSelection(),
    view: () => readView(),
    details: () => {
      details = readDetails(model.get("details"));
      drawSide();
    },
    options: () => {
      options = asDict(model.get("options"));
      arrange();
      for (const { scene } of panes) scene.recolour();
      drawWords(picture);
      drawSide();
      settle();
    },
  };

  /** Changes that arrive together (a picture and its coordinates) are processed together. @type {Set<string>} */
  const changed = new Set();
  let alive = true;
  for (const name of Object.keys(readers)) {
    const note = () => {
      if (!changed.size) Promise.resolve().then(readChanged);
      changed.add(name);
    };
    model.on(`change:${name}`, note);
    closing.push(() => model.off(`change:${name}`, note));
  }
  function readChanged() {
    const names = Object.keys(readers).filter((name) => changed.has(name) && !(name === "coordinates" && changed.has("picture")));
    changed.clear();
    if (!alive) return;
    // Options, steps and view first: drawing the picture depends on them.
    for (const name of ["options", "steps", "step", "view", "selection", "picture", "coordinates", "details"]) {
      if (names.includes(name)) guard(readers[name], name === "coordinates" ? "picture" : name)();
    }
  }

  const retheme = guard(() => {
    if (!alive) return;
    arrange();
    for (const { scene } of panes) scene.recolour();
    mark();
    drawWords(picture);
    drawSide();
    look();
  });
  if (typeof matchMedia === "function") {
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      const media = matchMedia(query);
      if (!media.addEventListener) continue;
      media.addEventListener("change", retheme);
      closing.push(() => media.removeEventListener("change", retheme));
    }
  }
  if (typeof MutationObserver === "function") {
    const watch = new MutationObserver(() => { if (root.getAttribute("data-theme") !== hostTheme(doc)) retheme(); });
    const filter = { attributes: true, attributeFilter: ["class", "theme", "data-theme", "data-jp-theme-light", "data-mui-color-scheme", "data-bs-theme", "data-vscode-theme-kind"] };
    for (const element of [doc.documentElement, doc.body]) if (element) watch.observe(element, filter);
    closing.push(() => watch.disconnect());
  }
  if (typeof ResizeObserver === "function") {
    const watch = new ResizeObserver(() => guard(settle)());
    watch.observe(root);
    watch.observe(graphArea);
    closing.push(() => watch.disconnect());
  }

  el.appendChild(sheet);
  el.appendChild(root);
  for (const name of ["options", "view", "steps", "selection", "details", "picture"]) guard(readers[name], name)();
  if (!picture) guard(() => drawPicture(null))();

  return () => {
    alive = false;
    stop();
    for (const timer of Object.values(timers)) clearTimeout(timer);
    for (const close of closing) close();
    for (const { scene } of panes) scene.close();
    sheet.remove();
    root.remove();
  };
}

/**
 * The next box in a direction; `previous` and `next` follow the rows in reading order.
 * @param {Picture} picture @param {string} id @param {"up" | "down" | "previous" | "next"} way @returns {Box | undefined}
 */
export function beside(picture, id, way) {
  const rows = rowsOf(picture.boxes);
  const row = rows.findIndex((item) => item.boxes.some((box) => box.id === id));
  if (row < 0) return rows[0].boxes[0];
  const box = /** @type {Box} */ (picture.byId.get(id));
  if (way === "up" || way === "down") {
    const other = rows[row + (way === "up" ? -1 : 1)];
    return other && other.boxes.reduce((best, item) => (Math.abs(item.x - box.x) < Math.abs(best.x - box.x) ? item : best));
  }
  const order = rows.flatMap((item) => item.boxes);
  return order[order.indexOf(box) + (way === "previous" ? -1 : 1)];
}

export default { render };
