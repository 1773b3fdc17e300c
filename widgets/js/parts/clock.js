/**
 * The clock: the times of all measured steps on one scale, which no step changes. The stair of the step is thick, in the
 * colours of its plates; the others are faint. Python decides what is on it: `explorer/views/clock.py`.
 */

import { laneClass } from "../shared/lanes.js";

/**
 * @import { Frame, Step } from "../picture/types.js"
 * @typedef {NonNullable<Step["clock"]>} Clock
 * @typedef {Clock["lanes"][0]} Lane
 * @typedef {Lane["stairs"][0]} Stair
 * @typedef {{stair: Stair, y: number, height: number, strong: boolean}} Strip
 */

const WIDTH = 1000;
/** The height of a lane, and the least of its thick stairs, in pixels; these are so many times as high as a faint one. */
const [HEIGHT, STRONG, TIMES] = [15, 8, 4];
/** Calls narrower than this are drawn without gaps between them. */
const MIN_CALL = 2.5;

/** The time of the layers after a step, if there is one. @param {Lane} lane @param {number} step */
export const stairOf = ({ stairs }, step) => stairs.find((stair) => stair.step === step && !stair.backend);
/** The time of the kernels after a step. @param {Lane} lane @param {number} step */
export const kernelsOf = ({ stairs }, step) => stairs.find((stair) => stair.step === step && stair.backend);

/**
 * The strips of a lane from top to bottom, which fill its height: those of `strong` are thick.
 * @param {Lane} lane @param {ReadonlySet<Stair>} strong @returns {Strip[]}
 */
export function stripsOf({ stairs }, strong) {
  const faint = stairs.filter((stair) => !strong.has(stair)).length;
  const many = stairs.length - faint;
  const most = many ? Math.max(STRONG, (HEIGHT * TIMES * many) / (TIMES * many + faint)) : 0;
  const [thick, thin] = [most / (many || 1), (HEIGHT - most) / (faint || 1)];
  let y = 0;
  return stairs.map((stair) => {
    const height = strong.has(stair) ? thick : thin;
    y += height;
    return { stair, y: y - height, height, strong: strong.has(stair) };
  });
}

/**
 * The strips of a lane as an SVG element.
 * @param {import("./ui.js").Ui} ui @param {Lane} lane @param {Strip[]} strips @param {(step: number) => Frame | null} frameAt
 * @param {import("../shared/theme.js").Palette} palette @param {number} [factor] of the lens
 */
export function stripsElement({ make: { s } }, lane, strips, frameAt, palette, factor = 1) {
  const view = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", class: "ce-run" };
  const isFaint = (/** @type {Strip} */ { strong }) => !strong;
  const children = [...strips.filter(isFaint), ...strips.filter(({ strong }) => strong)].flatMap((strip) => {
    const { stair, y, height, strong } = strip;
    const width = Math.min(WIDTH, WIDTH * stair.share * factor);
    const title = s("title", { text: stair.about });
    if (!strong) {
      return s("rect", { y, width, height, class: `${laneClass(lane.lane)} ce-faint` }, title);
    }
    const parts = stair.backend ? [] : partsOf(frameAt(stair.step), lane.lane);
    if (!parts.length) return s("rect", { y, width, height, class: laneClass(lane.lane) }, title);
    const whole = parts.reduce((sum, { length }) => sum + length, 0);
    let x = 0;
    const blocks = parts.map(({ kind, calls, length }) => {
      const size = (WIDTH * stair.share * factor * length) / whole;
      x += size;
      return s("path", {
        d: blocksPath(x - size, Math.max(0, Math.min(size, WIDTH - x + size)), calls, y, height),
        fill: palette.roles[kind] || palette.roles.operator,
      });
    });
    return s("g", {}, title, blocks);
  });
  return s("svg", { ...view, "aria-hidden": "true" }, children);
}

/**
 * The plates in the order in which they run, with their lengths: their measured times if all are known, or for calls one
 * for each. Nothing if only the whole was measured.
 * @param {Frame | null} frame @param {string} lane @returns {{kind: string, calls: number, length: number}[]}
 */
function partsOf(frame, lane) {
  const called = frame?.plates.filter(({ calls }) => calls > 0) ?? [];
  if (!lane) return called.map(({ kind, calls }) => ({ kind, calls, length: calls }));
  const sum = called.reduce((total, { ms }) => total + (ms[lane] ?? NaN), 0);
  return sum > 0 ? called.map(({ kind, calls, ms }) => ({ kind, calls, length: ms[lane] })) : [];
}

/** Calls one after the other. @param {number} x @param {number} size @param {number} calls @param {number} y @param {number} height */
function blocksPath(x, size, calls, y, height) {
  const call = size / Math.max(1, calls);
  const [top, bottom] = [y.toFixed(2), (y + height).toFixed(2)];
  if (call <= MIN_CALL) return `M${x.toFixed(2)} ${top}h${size.toFixed(2)}V${bottom}H${x.toFixed(2)}z`;
  const width = call - Math.min(2, call / 4);
  let d = "";
  for (let i = 0; i < calls; i += 1) {
    const left = (x + i * call).toFixed(2);
    d += `M${left} ${top}h${width.toFixed(2)}V${bottom}H${left}z`;
  }
  return d;
}

export const STYLE = `
.ce-clock{flex:1 1 320px;min-width:0;display:grid;grid-template-columns:fit-content(34%) minmax(80px,1fr) auto;gap:3px 10px;align-items:center;font-size:12.5px}
.ce-clock>span{line-height:${HEIGHT}px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.ce-clock-name{color:var(--ce-muted)}
.ce-clock-name b{color:var(--ce-fg);font-weight:600}
.ce-track{position:relative;height:${HEIGHT}px;background:var(--ce-soft)}
.ce-run{display:block;width:100%;height:100%}
.ce-root .ce-track .ce-lane{stroke:none}
.ce-root .ce-track .ce-faint{fill-opacity:.3}
.ce-clock-time{font-variant-numeric:tabular-nums}
.ce-clock-time b{font-weight:600}
.ce-clock-scale{position:absolute;right:4px;bottom:0;padding-left:6px;text-align:right;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;line-height:${HEIGHT}px;font-size:12px;color:var(--ce-muted);text-shadow:0 0 3px var(--ce-soft),0 0 3px var(--ce-soft)}
.ce-wedge{display:block;width:100%;height:8px;fill:var(--ce-line)}
.ce-racer{position:absolute;left:0;top:0;width:10px;height:10px;margin:-5px 0 0 -5px;border-radius:5px;border:2px solid var(--ce-panel);background:var(--ce-fg);pointer-events:none}
.ce-racer.ce-there{background:var(--ce-accent)}
`;
