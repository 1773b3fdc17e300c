/** The close-up of memory: what a plate reads, what is copied, and its own slices, with lines between them. */

import { clip } from "../shared/measuring.js";

/** @import { Memory, Strip } from "./reading.js" */

/** @typedef {{element: any, light(slices: number[]): void}} Drawing */

/** Width of the names at the left of the strips. */
const NAMES = 76;
/** Above it lines are drawn fainter. */
const MANY_LINES = 200;
const MAX_ROWS = 300;
/** Of more slices than this the words below say nothing. */
const MAX_WORDS = 6;
const [TITLE_SIZE, MIN_TITLE] = [12, 60];

/**
 * The strips as an image. `hover` is called with the slice at the pointer, or -1.
 * @param {import("../shared/elements.js").Make} make @param {Memory} memory
 * @param {import("../shared/theme.js").Palette} palette @param {number} width @param {(slice: number) => void} hover
 * @returns {Drawing}
 */
export function memoryDrawing({ h, s }, memory, { roles }, width, hover) {
  const laid = layStrips(memory, Math.max(120, width - NAMES));
  const { rows, copy, own } = laid;
  const faint = memory.reads.length > MANY_LINES ? 0.45 : 0.9;
  const colour = roles[memory.line] || roles.edge;
  const lines = rows.length ? linesPath(memory, laid, 0, own.strip.count) : "";
  const lit = s("path", { fill: "none", stroke: roles.fg, "stroke-width": 2.4 });
  const frame = s("path", { fill: "none", stroke: roles.fg, "stroke-width": 2.4 });
  const size = { width, height: laid.height, viewBox: `0 0 ${width} ${laid.height}` };
  const svg = s(
    "svg",
    { class: "ce-strips", ...size, role: "img", "aria-label": memory.sentence },
    s(
      "g",
      { transform: `translate(${NAMES} 0)` },
      rows.flatMap((row) => [titleElement(s, row, roles), ...stripElements(s, row, roles)]),
      s("path", { d: lines, fill: "none", stroke: colour, "stroke-width": 1.3, opacity: faint, class: "ce-reads" }),
      copy ? copyElements(s, laid, roles) : [],
      stripElements(s, own, roles),
      lit,
      frame,
    ),
    [
      rows.length ? name(s, rows[0].y, STRIP, "in memory", roles.muted) : null,
      copy ? name(s, copy.y, COPY, "copy", roles.copyLine) : null,
      name(s, own.y, STRIP, own.strip.apart ? "outputs" : "slices", roles.muted),
    ],
  );
  const words = h("p", { class: "ce-closeup-words" });
  const sentence = [own.strip.title, memory.copy, memory.cut].filter(Boolean).join(" · ");

  /** @param {any} event */
  function sliceAt(event) {
    const at = Math.floor((event.clientX - svg.getBoundingClientRect().left - NAMES) / own.unit);
    return at >= 0 && at < own.strip.count ? at : -1;
  }
  svg.addEventListener("pointermove", (/** @type {any} */ event) => hover(sliceAt(event)));
  svg.addEventListener("pointerleave", () => hover(-1));

  /** @param {number} slice */
  function wordsOf(slice) {
    const inputs = readsOf(memory, slice).map((at) => sourceName(memory, at));
    return `${nameOf(own.strip, slice)} reads ${inputs.join(", ")}`;
  }

  /** @param {number[]} slices */
  function light(slices) {
    const on = slices.filter((slice) => slice >= 0 && slice < own.strip.count);
    const paths = on.map((slice) => linesPath(memory, laid, slice, slice + 1));
    lit.setAttribute("d", rows.length ? paths.join("") : "");
    const width = Math.max(1, own.unit);
    const top = own.y - 1.5;
    const frames = on.map((slice) => `M${own.x + slice * own.unit} ${top}h${width}v${STRIP + 3}h${-width}z`);
    frame.setAttribute("d", frames.join(""));
    words.textContent = on.slice(0, MAX_WORDS).map(wordsOf).join(" · ") || sentence;
  }
  light([]);
  return { element: h("div", {}, svg, words), light };
}

/** @param {import("../shared/elements.js").Make["s"]} s @param {number} y @param {number} height @param {string} text @param {string} fill */
const name = (s, y, height, text, fill) =>
  s("text", { x: NAMES - 10, y: y + height / 2, "text-anchor": "end", "dominant-baseline": "central", fill, text });

/** @param {import("../shared/elements.js").Make["s"]} s @param {Row} row @param {Record<string, string>} roles */
function titleElement(s, { strip, x, y, unit }, roles) {
  const room = Math.max(strip.count * unit, MIN_TITLE);
  return s("text", { x, y: y - 6, fill: roles.muted, text: clip(strip.title, TITLE_SIZE, room) });
}

/**
 * A strip and the numbers of its slices.
 * @param {import("../shared/elements.js").Make["s"]} s @param {Row} row @param {Record<string, string>} roles
 */
function stripElements(s, row, roles) {
  const { strip, x, y, unit } = row;
  const line = strip.apart ? roles.kept : roles.ground;
  const look = { fill: roles[strip.kind] || roles.operator, stroke: line, "stroke-width": unit > 6 ? 1 : 0 };
  const parts = [s("path", { d: slicesPath(row, STRIP), ...look })];
  if (!strip.apart) {
    const size = { x, y, width: strip.count * unit, height: STRIP };
    parts.push(s("rect", { ...size, fill: "none", stroke: roles.fg, "stroke-width": 1.6 }));
  }
  const { texts, turned } = numbersIn(row);
  texts.forEach((text, at) => {
    const [left, middle] = [x + (at + 0.5) * unit, y + STRIP / 2];
    const look = turned ? { transform: `rotate(-90 ${left} ${middle})`, "font-size": TURNED_SIZE } : {};
    const place = { x: left, y: middle, "text-anchor": "middle", "dominant-baseline": "central" };
    parts.push(s("text", { ...place, ...look, fill: roles.onCell, text }));
  });
  return parts;
}

/**
 * The copied slices, and what leads from them to the slices that read them.
 * @param {import("../shared/elements.js").Make["s"]} s @param {Laid} laid @param {Record<string, string>} roles
 */
function copyElements(s, { copy, own }, roles) {
  if (!copy) return [];
  const { x, y, unit, count } = copy;
  const shape = { count, apart: false };
  const strip = { strip: /** @type {any} */ (shape), x, y, unit, gap: 0 };
  const width = unit > 5 ? 1.2 : 0;
  const look = { fill: roles.copyFill, stroke: roles.copyLine, "stroke-width": width };
  let down = "";
  for (let at = 0; unit > 3 && at < count; at += 1) {
    down += `M${(x + (at + 0.5) * unit).toFixed(1)} ${y + COPY}V${own.y}`;
  }
  return [
    s("path", { d: down, stroke: roles.edge, "stroke-width": 1, opacity: 0.6 }),
    s("path", { d: slicesPath(strip, COPY), ...look }),
    s("rect", { x, y, width: unit * count, height: COPY, fill: "none", stroke: roles.copyLine, "stroke-width": 1.6 }),
  ];
}

/**
 * The same as an index table; `hover` is called with the slice of the row at the pointer, or -1.
 * @param {import("../shared/elements.js").Make["h"]} h @param {Memory} memory @param {(slice: number) => void} hover
 */
export function memoryTable(h, memory, hover) {
  const { arity, reads, own } = memory;
  const inputs = Array.from({ length: arity }, (_, at) => (arity > 1 ? `input ${at + 1}` : "input"));
  const count = Math.min(MAX_ROWS, arity ? Math.floor(reads.length / arity) : own.count);
  const rows = Array.from({ length: count }, (_, slice) => [
    nameOf(own, slice),
    ...readsOf(memory, slice).map((at) => sourceName(memory, at)),
  ]);
  const head = [own.apart ? "layer" : "slice", ...inputs].map((text) => h("th", { scope: "col", text }));
  const elements = rows.map((row, slice) =>
    h(
      "tr",
      { onpointerenter: () => hover(slice) },
      row.map((text) => h("td", { text })),
    ),
  );
  const element = h(
    "div",
    { class: "ce-closeup-table", tabindex: "0", role: "region", "aria-label": "Index table" },
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", { onpointerleave: () => hover(-1) }, elements)),
    count < own.count ? h("p", { text: `The first ${count} of ${own.count.toLocaleString("en-US")} slices.` }) : null,
  );
  return {
    element,
    /** Emphasize the rows of slices. @param {number[]} slices @param {boolean} scrolls to the last one */
    light(slices, scrolls) {
      elements.forEach((row, at) => row.setAttribute("class", slices.includes(at) ? "ce-lit" : ""));
      if (scrolls && slices.length) elements[slices[slices.length - 1]]?.scrollIntoView?.({ block: "nearest" });
    },
  };
}

/**
 * @typedef {{x: number, y: number, w: number}} Slice  x: its left edge
 * @typedef {{strip: Strip, x: number, y: number, unit: number, gap: number}} Row
 * @typedef {{rows: Row[], copy: {x: number, y: number, unit: number, count: number} | null, own: Row, height: number}} Laid
 */

/** Heights of a strip, of the copied slices, and of the room for lines. */
export const [STRIP, COPY, LINES] = [22, 14, 52];
const TITLE = 20;
/** The width of a digit, of a smaller one that is written upwards, and the size of that. */
const [DIGIT, TURNED_DIGIT, TURNED_SIZE] = [7.7, 6.1, 9.5];
/** The widest slice, and the distance of strips of different layers. */
const [WIDEST, APART] = [40, 14];

/** The name of a slice. @param {Strip} strip @param {number} at */
export const nameOf = ({ prefix, suffix, numbers }, at) => `${prefix}${numbers[at] ?? at}${suffix}`;

/** The numbers in the slices of a strip, written upwards if they are wider than a slice; none if that has no room. @param {Row} row */
export function numbersIn({ strip, unit, gap }) {
  const texts = Array.from({ length: strip.count }, (_, at) => String(strip.numbers[at] ?? at));
  const longest = Math.max(0, ...texts.map((text) => text.length));
  const turned = longest * DIGIT > unit - gap;
  const fits = !turned || (TURNED_SIZE <= unit - gap && longest * TURNED_DIGIT <= STRIP);
  return { texts: fits ? texts : [], turned };
}

/** The name of a slice of the sources, counted through. @param {Memory} memory @param {number} at */
export function sourceName({ sources }, at) {
  let left = at;
  for (const strip of sources) {
    if (left < strip.count) return nameOf(strip, left);
    left -= strip.count;
  }
  return "";
}

/** What a slice reads, as positions in the sources. @param {Memory} memory @param {number} slice */
export const readsOf = ({ reads, arity }, slice) => reads.slice(slice * arity, (slice + 1) * arity);

/** Lay the strips out in a width. @param {Memory} memory @param {number} width @returns {Laid} */
export function layStrips(memory, width) {
  const { sources, own, arity, copy } = memory;
  const total = sources.reduce((sum, { count }) => sum + count, 0);
  const room = width - APART * Math.max(0, sources.length - 1);
  const span = Math.max(1, own.count * Math.max(1, arity));
  // Equal units where possible: then reading in order gives vertical lines.
  const unit = Math.min(WIDEST, room / Math.max(1, total));
  const each = Math.min(WIDEST, width / span, Math.max(unit, (unit * total) / span));
  let x = 0;
  let y = TITLE;
  const rows = sources.map((strip) => {
    const row = { strip, x, y, unit, gap: gapOf(strip, unit) };
    x += strip.count * unit + APART;
    return row;
  });
  if (sources.length) y += STRIP + LINES;
  const copies = copy ? { x: 0, y, unit: each, count: memory.reads.length } : null;
  if (copies) y += COPY + LINES / 2;
  const wide = each * Math.max(1, arity);
  return { rows, copy: copies, own: { strip: own, x: 0, y, unit: wide, gap: gapOf(own, wide) }, height: y + STRIP + 2 };
}

/** @param {Strip} strip @param {number} unit */
const gapOf = (strip, unit) => (strip.apart ? Math.min(4, unit / 4) : 0);

/** The middle of a slice of the sources, counted through. @param {Laid} laid @param {number} at */
function middleOf({ rows }, at) {
  let left = at;
  for (const { strip, x, unit } of rows) {
    if (left < strip.count) return x + (left + 0.5) * unit;
    left -= strip.count;
  }
  return 0;
}

/**
 * The lines of some slices, as the data of a path.
 * @param {Memory} memory @param {Laid} laid @param {number} first @param {number} end
 */
export function linesPath({ reads, arity }, laid, first, end) {
  const step = laid.own.unit / Math.max(1, arity);
  const target = laid.copy ? laid.copy.y : laid.own.y;
  let d = "";
  for (let at = first * arity; at < Math.min(end * arity, reads.length); at += 1) {
    const from = middleOf(laid, reads[at]);
    d += line(from, laid.rows[0].y + STRIP, laid.own.x + (at + 0.5) * step, target);
  }
  return d;
}

/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function line(x1, y1, x2, y2) {
  const [a, b, middle] = [x1.toFixed(1), x2.toFixed(1), ((y1 + y2) / 2).toFixed(1)];
  return a === b ? `M${a} ${y1}V${y2}` : `M${a} ${y1}C${a} ${middle} ${b} ${middle} ${b} ${y2}`;
}

/** The slices of a strip as the data of a path, each a rectangle if there is room. @param {Row} row @param {number} height */
export function slicesPath({ strip, x, y, unit, gap }, height) {
  if (unit < 2.5) return `M${x} ${y}h${(strip.count * unit).toFixed(1)}v${height}H${x}z`;
  let d = "";
  for (let at = 0; at < strip.count; at += 1) {
    const left = (x + at * unit + gap / 2).toFixed(1);
    d += `M${left} ${y}h${(unit - gap).toFixed(1)}v${height}H${left}z`;
  }
  return d;
}
