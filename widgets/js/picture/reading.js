/** A picture from its JSON string and the bytes of its coordinates. */

import { checkVersion, parseJson } from "../shared/contract.js";
import { asFloats, list, number, record, text, texts } from "../shared/reading.js";
import { CHANGES } from "../shared/theme.js";
import { readBuffers } from "./buffers.js";
import { facing } from "./shapes.js";
import { readScore } from "../score/reading.js";

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {import("./types.js").Edge} Edge
 * @typedef {import("./types.js").Hull} Hull
 * @typedef {import("./types.js").LegendItem} LegendItem
 * @typedef {import("./types.js").Picture} Picture
 * @typedef {import("./types.js").Table} Table
 */

/** Margin around the boxes, in pixels, as in `layout.py`. */
const MARGIN = 24;
/** Minimum width and height of a box. */
const MIN_SIZE = 8;

/** @param {any} value @returns {Table} */
const readTable = (value) => ({
  columns: texts(record(value).columns),
  rows: list(record(value).rows).map(texts),
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
  const looks = list(raw.looks).map((look) => readLook(record(look)));
  const boxes = readBoxes(raw.nodes, floats, start).map((box) => ({ ...box, look: looks[box.look] ?? PLAIN }));
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const all = list(raw.edges).map((edge) => readEdge(record(edge), byId));
  const edges = all.filter((edge) => edge !== null);
  const lost = all.length - edges.length;
  const lostWords = lost ? ` ${lost} ${lost === 1 ? "arrow leads" : "arrows lead"} outside the picture.` : "";
  const legend = list(raw.legend).map((item) => readLegendItem(record(item)));
  const right = boxes.reduce((most, box) => Math.max(most, box.x + box.w / 2 + MARGIN), 0);
  const bottom = boxes.reduce((most, box) => Math.max(most, box.y + box.h / 2 + MARGIN), 0);
  const hulls = readHulls(raw.hulls, byId);
  return {
    step: number(raw.step),
    mode: text(raw.mode, "diff"),
    colourBy: text(raw.colour_by, "change"),
    groupBy: text(raw.group_by, "fold"),
    title: text(raw.title),
    caption: text(raw.caption),
    note: text(raw.note) + lostWords,
    message: text(raw.message),
    width: Math.max(number(raw.width), right),
    height: Math.max(number(raw.height), bottom),
    boxes,
    byId,
    edges,
    hulls,
    legend,
    table: readTable(raw.table),
    actions: list(raw.actions).map((action) => ({
      name: text(record(action).name),
      label: text(record(action).label),
      beside: text(record(action).beside, raw.message ? "message" : "note"),
    })),
    buffers: raw.buffers ? readBuffers(record(raw.buffers)) : null,
    origins: list(raw.origins).map(numbers),
    matches: list(raw.matches).map((match) => ({ ...readHull(record(match)), nodes: texts(record(match).nodes) })),
    stops: [...hulls, ...readHulls(raw.misses, byId)],
    rules: readRules(raw.rules),
    links: list(raw.links).flatMap((link) => readLink(record(link), byId) ?? []),
    score: readScore(raw.score),
    other: null,
  };
}

/** @param {any} pair @returns {import("./types.js").Point} */
const pointOf = ([x, y]) => ({ x: number(x), y: number(y) });

/** @param {Record<string, any>} link @param {Map<string, Box>} byId @returns {import("./types.js").Link | null} */
function readLink(link, byId) {
  const [source, target] = [byId.get(text(link.source)), byId.get(text(link.target))];
  const points = list(link.points).filter(Array.isArray).map(pointOf);
  if (!source || !target || points.length < 2) return null;
  return { source, target, points, lines: texts(link.lines), at: Array.isArray(link.at) ? pointOf(link.at) : null };
}

/** @param {any} value */
const numbers = (value) => list(value).map((item) => number(item));

/** @param {any} value @returns {import("./types.js").Plate | null} */
function readPlate(value) {
  if (!value || typeof value !== "object") return null;
  const { calls, news, reads, shape } = value;
  return {
    cells: numbers(value.cells),
    names: list(value.names).map((name) => text(name)),
    places: numbers(value.places),
    unit: numbers(value.unit),
    gap: number(value.gap),
    room: number(value.room, 80),
    marks: Object.fromEntries(Object.entries(record(value.marks)).map(([mark, cells]) => [mark, numbers(cells)])),
    calls: text(calls),
    news: text(news),
    reads: text(reads),
    shape: text(shape),
    times: list(value.times).map((bar) => ({
      lane: text(record(bar).lane),
      share: Math.min(1, Math.max(0, number(record(bar).share))),
      text: text(record(bar).text),
    })),
  };
}

/** @param {Record<string, any>} look @returns {import("./types.js").Look} */
const readLook = ({ fill, ink, stroke, width, dash, hatch, signs }) => ({
  fill: text(fill, "box"),
  ink: text(ink, "fg"),
  stroke: text(stroke, "kept"),
  width: number(width, 1.2),
  dash: numbers(dash),
  hatch: text(hatch),
  signs: list(signs).map((one) => ({
    sign: text(one.sign),
    fill: text(one.fill),
    ink: text(one.ink),
    stroke: text(one.stroke),
  })),
});
/** Of a box without a look. */
const PLAIN = readLook({});

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

/** What a box says and how it looks. @param {any} node */
const readBox = (node) => ({
  ids: list(node.ids),
  title: text(node.title),
  detail: text(node.detail),
  kind: text(node.kind, "operator"),
  count: number(node.count, 1),
  folds: number(node.folds, 1),
  change: changeOf(node),
  look: number(node.look),
  fillText: text(node.fill_text),
  matched: node.matched === true,
  pill: text(node.pill),
  badges: list(node.badges).map((badge) => ({
    sign: text(record(badge).sign, "!"),
    text: text(record(badge).text),
    tone: text(record(badge).tone, "info"),
  })),
  cameFrom: texts(node.came_from),
  numbered: "",
  plate: readPlate(node.plate),
});

/** A change that is not known is none. @param {any} part @returns {string} */
const changeOf = ({ change }) => (Object.hasOwn(CHANGES, text(change)) ? change : "kept");

/**
 * An edge; null if it leads to a box that is not in the picture.
 * @param {Record<string, any>} edge @param {Map<string, Box>} byId @returns {Edge | null}
 */
function readEdge(edge, byId) {
  const [source, target] = [byId.get(text(edge.source)), byId.get(text(edge.target))];
  if (!source || !target) return null;
  const points = list(edge.points)
    .filter(Array.isArray)
    .map((point) => ({ ...pointOf(point), flat: point[2] === 1 }));
  return {
    source,
    target,
    change: changeOf(edge),
    count: number(edge.count, 1),
    read: text(edge.read),
    copied: number(edge.copied_bytes),
    label: text(edge.label),
    pairs: numbers(edge.pairs),
    bends: points,
    points: points.length > 1 ? points : facing(source, target),
    labelAt: Array.isArray(edge.label_at) ? pointOf(edge.label_at) : null,
  };
}

/** @param {any} hulls @param {Map<string, Box>} byId @returns {Hull[]} */
function readHulls(hulls, byId) {
  const all = list(hulls).map((hull, index) => ({
    ...readHull(record(hull), index),
    lens: readLens(record(hull).lens),
    boxes: texts(record(hull).nodes).flatMap((id) => byId.get(id) ?? []),
  }));
  return all.filter((hull) => hull.boxes.length);
}

/** @param {any} value @returns {Map<string, import("./types.js").Rule>} */
const readRules = (value) =>
  new Map(
    Object.entries(record(value)).map(([name, rule]) => {
      const { meaning, finds, makes } = record(rule);
      return [
        name,
        { name, meaning: text(meaning), finds: list(finds).map(readPart), makes: list(makes).map(readPart) },
      ];
    }),
  );

/** @param {any} part @returns {import("./types.js").RulePart} */
const readPart = (part) => ({
  title: text(record(part).title),
  kind: text(record(part).kind, "operator"),
  questions: texts(record(part).questions),
  place: text(record(part).place),
});

/** @param {any} value @returns {import("./types.js").Lens | null} */
function readLens(value) {
  if (!value || typeof value !== "object") return null;
  const { rule, count, attempts, noun, first, total, stop, verdict, sign, saved, made, what_if, at_least } = value;
  const read = list(attempts).map((attempt) => readAttempt(record(attempt), text(verdict)));
  return {
    rule: text(rule),
    count: number(count, read.length),
    attempts: read,
    noun: text(noun),
    first: number(first, 1),
    total: number(total, read.length),
    atLeast: at_least === true,
    stop: text(stop),
    sign: text(sign),
    saved: number(saved),
    made: list(made).map(readPart),
    whatIf: what_if ? { text: text(record(what_if).text), matches: list(record(what_if).matches).map(numbers) } : null,
  };
}

/** @param {Record<string, any>} attempt @param {string} verdict if it has none @returns {import("./types.js").Attempt} */
const readAttempt = ({ cells, lines, question, rival, verdict: own }, verdict) => ({
  cells: numbers(cells),
  verdict: text(own, verdict),
  question: number(question, -1),
  lines: numbers(lines),
  rival: rival ? { rule: text(record(rival).rule), cells: numbers(record(rival).cells) } : null,
});

/** @param {Record<string, any>} hull @param {number} [index] */
const readHull = (hull, index = 0) => ({
  id: text(hull.id, String(index)),
  kind: text(hull.kind, "match"),
  label: text(hull.label),
  reason: text(hull.reason),
  outline: text(hull.outline),
  tag: Array.isArray(hull.tag) ? pointOf(hull.tag) : null,
});

/** @param {Record<string, any>} item @returns {LegendItem} */
const readLegendItem = ({ channel, role, sign, text: words }) => ({
  channel: text(channel),
  role: text(role),
  sign: text(sign),
  text: text(words),
});
