/** A picture from its JSON string and the bytes of its coordinates. */

import { checkVersion, parseJson } from "../shared/contract.js";
import { asFloats, list, number, record, text, texts } from "../shared/reading.js";
import { CHANGES } from "../shared/theme.js";
import { route } from "./routing.js";

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {import("./types.js").Edge} Edge
 * @typedef {import("./types.js").Picture} Picture
 * @typedef {import("./types.js").Table} Table
 */

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
    if (!node || typeof node !== "object" || node.id == null)
      throw new Error(`Node ${index} of the picture has no id.`);
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
      change: node.change in CHANGES ? node.change : "kept",
      fill: typeof node.fill === "number" ? Math.min(1, Math.max(0, node.fill)) : null,
      fillText: text(node.fill_text),
      category: typeof node.category === "number" ? node.category : null,
      matched: node.matched === true,
      badges: list(node.badges).map((badge) => ({
        sign: text(record(badge).sign, "!"),
        text: text(record(badge).text),
        tone: text(record(badge).tone, "info"),
      })),
      cameFrom: texts(node.came_from),
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
      change: edge.change in CHANGES ? edge.change : "kept",
      count: number(edge.count, 1),
      read: text(edge.read),
      copied: number(edge.copied_bytes),
      label: text(edge.label),
      bends: list(edge.points)
        .filter(Array.isArray)
        .map((at) => ({ x: number(at[0]), y: number(at[1]) })),
      points: [],
      run: "v",
    });
  }
  route(boxes, edges);

  const hulls = list(raw.hulls).map((hull, index) => ({
    id: text(record(hull).id, String(index)),
    kind: text(record(hull).kind, "match"),
    boxes: /** @type {Box[]} */ (
      list(record(hull).nodes)
        .map((id) => byId.get(text(id)))
        .filter(Boolean)
    ),
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
  const note =
    text(raw.note) + (lost ? ` ${lost} ${lost === 1 ? "arrow leads" : "arrows lead"} outside the picture.` : "");
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
      name: text(record(action).name),
      label: text(record(action).label),
      beside: text(record(action).beside, raw.message ? "message" : "note"),
    })),
    other: null,
  };
}
