/** Where the slices of the strips of a memory view are, and the lines between them; no elements. */

/**
 * @typedef {import("./reading.js").Memory} Memory
 * @typedef {import("./reading.js").Strip} Strip
 * @typedef {{x: number, y: number, w: number}} Slice  x: its left edge
 * @typedef {{strip: Strip, x: number, y: number, unit: number, gap: number}} Row
 * @typedef {{rows: Row[], copy: {x: number, y: number, unit: number, count: number} | null, own: Row, height: number}} Laid
 */

/** Heights of a strip, of the copied slices, and of the room for lines. */
export const [STRIP, COPY, LINES] = [22, 14, 52];
const TITLE = 20;
/** A slice that is less wide has no number; the width of a digit, and the distance of numbers. */
const [NUMBERED, DIGIT, BETWEEN] = [17, 7, 3];
/** The widest slice, and the distance of strips of different layers. */
const [WIDEST, APART] = [40, 14];

/** The name of a slice. @param {Strip} strip @param {number} at */
export const nameOf = ({ prefix, suffix, numbers }, at) => `${prefix}${numbers[at] ?? at}${suffix}`;

/** The numbers that are written in the slices of a strip: of each, or of every second or third if they are long. @param {Row} row */
export function numbersIn({ strip, unit }) {
  if (unit < NUMBERED) return [];
  const texts = Array.from({ length: strip.count }, (_, at) => String(strip.numbers[at] ?? at));
  const longest = Math.max(0, ...texts.map((text) => text.length));
  const step = Math.ceil((longest * DIGIT + BETWEEN) / unit);
  return texts.map((text, at) => ({ at, text })).filter(({ at }) => at % step === 0);
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
