/** A picture from its JSON string and the bytes of its coordinates. */

import { readScore } from "../score/reading.js";
import { checkVersion, parseJson } from "../shared/contract.js";
import { readMarks } from "../shared/marks.js";
import { asFloats, dictOf, like, list, maybe, number, record, text, texts } from "../shared/reading.js";
import { CHANGES } from "../shared/theme.js";
import { readBuffers } from "./buffers.js";
import { facing } from "./shapes.js";

/** @import { Box, Edge, Hull, Picture, Point } from "./types.js" */

/** Margin around the boxes, in pixels, as in `layout.py`. */
const MARGIN = 24;
/** Minimum width and height of a box. */
const MIN_SIZE = 8;

/** @param {any} pair @returns {Point} */
const readPoint = ([x, y]) => ({ x: number(x), y: number(y) });
/** @param {any} value */
const pointOrNull = (value) => (Array.isArray(value) ? readPoint(value) : null);
/** Points; what is none is left out. @param {any} value */
const readPoints = (value) =>
  list(value)
    .filter(Array.isArray)
    .map((point) => ({ ...readPoint(point), flat: point[2] === 1 }));
/** A change that is not known is none. @param {any} change @returns {string} */
const readChange = (change) => (Object.hasOwn(CHANGES, text(change)) ? change : "kept");

export const readLook = like({
  fill: "box",
  ink: "fg",
  stroke: "kept",
  width: 1.2,
  dash: [0],
  hatch: "",
  signs: [{ sign: "", fill: "", ink: "", stroke: "" }],
});
/** Of a box without a look. */
const PLAIN = readLook({});

export const readPlate = like({
  cells: [0],
  names: [""],
  places: [0],
  unit: [0],
  gap: 0,
  room: 80,
  marks: dictOf([0]),
  calls: "",
  news: "",
  reads: "",
  copies: "",
  shape: "",
  columns: "",
  times: [{ lane: "", share: (/** @type {any} */ value) => Math.min(1, Math.max(0, number(value))), text: "" }],
});

/** What a box says and how it looks. */
export const readBox = like({
  ids: list,
  title: "",
  detail: "",
  kind: "operator",
  count: 1,
  folds: 1,
  change: readChange,
  look: 0,
  fillText: "",
  matched: false,
  pill: "",
  badges: [{ sign: "!", text: "", tone: "info" }],
  cameFrom: [""],
  numbered: "",
  plate: maybe(readPlate),
});

const readPort = like({ number: 0, out: readPoints, into: readPoints });
const readEnds = like({ source: "", target: "", points: readPoints });
export const readEdge = like({
  change: readChange,
  count: 1,
  read: "",
  copiedBytes: 0,
  label: "",
  pairs: [0],
  labelAt: pointOrNull,
  turns: [0],
  port: maybe(readPort),
});

export const readMatch = like({
  id: "",
  kind: "match",
  nodes: [""],
  label: "",
  reason: "",
  count: 1,
  outline: "",
  tag: pointOrNull,
});

export const readPart = like({ title: "", kind: "operator", questions: [""], place: "" });
const readRule = like({ meaning: "", finds: [readPart], makes: [readPart] });
const rival = maybe({ rule: "", cells: [0] });
export const readAttempt = like({ cells: [0], verdict: "", question: -1, lines: [0], rival });

export const readLens = like({
  rule: "",
  count: -1,
  attempts: [readAttempt],
  noun: "",
  first: 1,
  total: -1,
  atLeast: false,
  stop: "",
  verdict: "",
  sign: "",
  saved: 0,
  made: [readPart],
  fill: "",
  whatIf: maybe({ text: "", matches: [[0]] }),
});

/** @param {any} value */
const readBox4 = (value) => list(value).map((part) => number(part));
const readPinFields = like({
  id: "",
  kind: "waits",
  text: "",
  reason: "",
  box: readBox4,
  leader: readMarks,
  marks: readMarks,
  small: readMarks,
  strokes: readMarks,
  ends: [0],
  cells: [0],
  nodes: [""],
  verdict: "",
  hull: "",
  whatIf: maybe({ text: "", matches: [[0]] }),
});
/** A pin with its middle and its size. @param {any} value */
export function readPin(value) {
  const { box, ...pin } = readPinFields(value);
  const [x = 0, y = 0, w = 0, h = 0] = box;
  return { ...pin, x, y, w, h };
}

/** What a picture says of itself. */
export const readSelf = like({
  step: 0,
  mode: "diff",
  colourBy: "change",
  groupBy: "fold",
  title: "",
  caption: "",
  note: "",
  message: "",
  width: 0,
  height: 0,
  extent: [0],
  legend: [{ channel: "", role: "", sign: "", text: "", swatch: readMarks }],
  table: { columns: [""], rows: [[""]] },
  actions: [{ name: "", label: "", beside: "" }],
  buffers: maybe(readBuffers),
  origins: [[0]],
  matches: [readMatch],
  pins: [readPin],
  score: readScore,
});

/**
 * Parse a picture from its JSON string and floats; throws an Error with a message for the user if it is malformed.
 * Returns null for the empty string, and "wait" while the floats do not match it yet.
 * @param {any} json @param {any} bytes
 * @param {boolean} [insist] lay out the boxes here instead of waiting for their coordinates
 * @returns {Picture | null | "wait"}
 */
export function readPicture(json, bytes, insist = false) {
  if (json == null || json === "") return null;
  const raw = parseJson("The picture is", json);
  if (!raw || typeof raw !== "object" || Array.isArray(raw)) throw new Error("The picture is not an object.");
  if (!Object.keys(raw).length) return null;
  checkVersion("The picture has", raw.version);
  if (!Array.isArray(raw.nodes)) throw new Error("The picture has no list of nodes.");
  const floats = asFloats(bytes);
  const others = raw.other && Array.isArray(raw.other.nodes) ? raw.other.nodes.length : 0;
  const fits = floats.length === 4 * (raw.nodes.length + others) && floats.every(Number.isFinite);
  if (!fits && !insist) return "wait";
  const picture = build(raw, fits ? floats : null, 0);
  if (others) picture.other = build(raw.other, fits ? floats : null, 4 * raw.nodes.length);
  return picture;
}

/** @param {any} raw @param {Float32Array | null} floats @param {number} start @returns {Picture} */
function build(raw, floats, start) {
  const own = readSelf(raw);
  const looks = list(raw.looks).map(readLook);
  const boxes = readBoxes(raw.nodes, floats, start).map((box) => ({ ...box, look: looks[box.look] ?? PLAIN }));
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const edges = list(raw.edges).flatMap((edge) => edgeBetween(edge, byId) ?? []);
  const lost = list(raw.edges).length - edges.length;
  const lostWords = lost ? ` ${lost} ${lost === 1 ? "arrow leads" : "arrows lead"} outside the picture.` : "";
  const right = boxes.reduce((most, box) => Math.max(most, box.x + box.w / 2 + MARGIN), 0);
  const bottom = boxes.reduce((most, box) => Math.max(most, box.y + box.h / 2 + MARGIN), 0);
  const hulls = hullsAround(raw.hulls, byId);
  const beside = own.message ? "message" : "note";
  return {
    ...own,
    note: own.note + lostWords,
    width: Math.max(own.width, right),
    height: Math.max(own.height, bottom),
    boxes,
    byId,
    edges,
    hulls,
    actions: own.actions.map((action) => ({ ...action, beside: action.beside || beside })),
    stops: [...hulls, ...hullsAround(raw.misses, byId)],
    rules: new Map(Object.entries(record(raw.rules)).map(([name, rule]) => [name, { name, ...readRule(rule) }])),
    links: list(raw.links).flatMap((link) => linkBetween(link, byId) ?? []),
    other: null,
  };
}

/** @param {any} link @param {Map<string, Box>} byId @returns {import("./types.js").Link | null} */
function linkBetween(link, byId) {
  const { points, ...ends } = readEnds(link);
  const [source, target] = [byId.get(ends.source), byId.get(ends.target)];
  if (!source || !target || points.length < 2) return null;
  return { source, target, points, lines: texts(link.lines), at: pointOrNull(link.at) };
}

/**
 * An edge; null if it leads to a box that is not in the picture.
 * @param {any} edge @param {Map<string, Box>} byId @returns {Edge | null}
 */
function edgeBetween(edge, byId) {
  const { points: bends, ...ends } = readEnds(edge);
  const [source, target] = [byId.get(ends.source), byId.get(ends.target)];
  if (!source || !target) return null;
  const { port, ...others } = readEdge(edge);
  const points = port ? [] : bends.length > 1 ? bends : facing(source, target);
  return {
    source,
    target,
    bends,
    points,
    ...others,
    port: port?.out.length === 2 && port.into.length === 2 ? port : null,
  };
}

/** @param {any} hulls @param {Map<string, Box>} byId @returns {Hull[]} */
function hullsAround(hulls, byId) {
  const all = list(hulls).map((hull, index) => {
    const { id, nodes, ...others } = readMatch(hull);
    const boxes = nodes.flatMap((name) => byId.get(name) ?? []);
    return { id: id || String(index), ...others, boxes, lens: lensOf(record(hull).lens) };
  });
  return all.filter((hull) => hull.boxes.length);
}

/** A lens; what it does not say follows from its attempts. @param {any} value @returns {import("./types.js").Lens | null} */
function lensOf(value) {
  const lens = maybe(readLens)(value);
  if (!lens) return null;
  const count = lens.attempts.length;
  const attempts = lens.attempts.map((attempt) => ({ ...attempt, verdict: attempt.verdict || lens.verdict }));
  const [known, total] = [lens.count, lens.total].map((number) => (number < 0 ? count : number));
  return { ...lens, count: known, total, attempts };
}

/**
 * The boxes; without coordinates, in rows by level.
 * @param {any[]} nodes @param {Float32Array | null} floats @param {number} start
 */
function readBoxes(nodes, floats, start) {
  /** Number of boxes of each level so far. @type {Map<number, number>} */
  const used = new Map();
  const ids = new Set();
  return nodes.map((node, index) => {
    if (!node || typeof node !== "object" || node.id == null) {
      throw new Error(`Node ${index} of the picture has no id.`);
    }
    const id = text(node.id);
    if (ids.has(id)) throw new Error(`The id ${id} is not unique in the picture.`);
    ids.add(id);
    const level = number(node.level);
    const column = used.get(level) || 0;
    used.set(level, column + 1);
    const at = start + 4 * index;
    const [x, y, w, h] = floats ? floats.subarray(at, at + 4) : [100 + 180 * column, 60 + 100 * level, 152, 46];
    return { ...readBox(node), id, level, x, y, w: Math.max(MIN_SIZE, w), h: Math.max(MIN_SIZE, h) };
  });
}
