/** The close-up of memory: what a plate reads, what is copied, and its own slices, with lines between them. */

import { clip } from "../shared/measuring.js";
import { COPY, STRIP, layStrips, linesPath, nameOf, numbersIn, readsOf, slicesPath, sourceName } from "./strips.js";

/**
 * @typedef {import("./reading.js").Memory} Memory
 * @typedef {import("./strips.js").Laid} Laid
 * @typedef {import("./strips.js").Row} Row
 * @typedef {{element: any, light(slice: number): void}} Drawing
 */

/** Width of the names at the left of the strips. */
const NAMES = 76;
/** Above it lines are drawn fainter. */
const MANY_LINES = 200;
const MAX_ROWS = 300;
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
  const frame = s("rect", { y: own.y - 1.5, height: STRIP + 3, fill: "none", stroke: roles.fg, "stroke-width": 2.4 });
  frame.setAttribute("visibility", "hidden");
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
  function light(slice) {
    const on = slice >= 0 && slice < own.strip.count;
    lit.setAttribute("d", on && rows.length ? linesPath(memory, laid, slice, slice + 1) : "");
    frame.setAttribute("visibility", on ? "visible" : "hidden");
    frame.setAttribute("x", String(own.x + slice * own.unit));
    frame.setAttribute("width", String(Math.max(1, own.unit)));
    const inputs = on ? readsOf(memory, slice).map((at) => sourceName(memory, at)) : [];
    words.textContent = on ? `${nameOf(own.strip, slice)} reads ${inputs.join(", ")}` : sentence;
  }
  light(-1);
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
  for (const { at, text } of numbersIn(row)) {
    const middle = { x: x + (at + 0.5) * unit, y: y + STRIP / 2, "text-anchor": "middle" };
    parts.push(s("text", { ...middle, "dominant-baseline": "central", fill: roles.onCell, text }));
  }
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
    /** Emphasize the row of a slice; -1: none. @param {number} slice @param {boolean} scrolls to the row */
    light(slice, scrolls) {
      elements.forEach((row, at) => row.setAttribute("class", at === slice ? "ce-lit" : ""));
      if (scrolls && slice >= 0) elements[slice]?.scrollIntoView?.({ block: "nearest" });
    },
  };
}
