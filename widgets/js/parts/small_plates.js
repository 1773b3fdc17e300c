/** The thumbnail of a frame of the film: its plates. */

/**
 * @import { Make } from "../shared/elements.js"
 * @import { Palette } from "../shared/theme.js"
 */

/** @typedef {{kind: string, at: number[], calls: number, ms: Record<string, number>}} SmallPlate  `ms`: by lane */

const [WIDTH, MAX_HEIGHT] = [86, 36];
/** Separate calls are told apart if a part of the plate is at least this large, in percent of the width. */
const [PART, MAX_PARTS] = [2.4, 8];
/** A smaller plate, in percent of the width, has no frame: it would hide its colour. */
const FRAMED = 5;

/** @param {Make} make @param {SmallPlate[]} plates @param {Palette} palette */
export function smallPlates({ s }, plates, { roles }) {
  const right = Math.max(...plates.map(({ at }) => at[0] + at[2]));
  const bottom = Math.max(...plates.map(({ at }) => at[1] + at[3]));
  const [left, top] = [Math.min(...plates.map(({ at }) => at[0])), Math.min(...plates.map(({ at }) => at[1]))];
  const height = Math.min(MAX_HEIGHT, (WIDTH * (bottom - top)) / Math.max(1, right - left));
  const view = `${left - 1} ${top - 1} ${right - left + 2} ${bottom - top + 2}`;
  return s(
    "svg",
    { viewBox: view, width: WIDTH, height: Math.max(10, height), "aria-hidden": "true" },
    plates.map((plate) => s("path", { d: pathOf(plate), fill: roles[plate.kind] || roles.operator })),
    plates
      .filter(({ calls, at: [, , w, h] }) => calls === 1 && Math.min(w, h) >= FRAMED)
      .map(({ at: [x, y, w, h] }) =>
        s("rect", { x, y, width: w, height: h, fill: "none", stroke: roles.fg, "stroke-width": 0.9 }),
      ),
  );
}

/** One area, or, if it is several calls, some squares. @param {SmallPlate} plate */
function pathOf({ at: [x, y, w, h], calls }) {
  const parts = calls === 1 ? 1 : Math.min(MAX_PARTS, Math.ceil(Math.sqrt(calls)));
  const [across, down] = [w, h].map((size) => Math.max(1, Math.min(parts, Math.floor(size / PART))));
  const gap = calls === 1 ? 0 : 0.7;
  const [width, height] = [w / across - gap, h / down - gap];
  let d = "";
  for (let i = 0; i < across * down; i += 1) {
    const [left, top] = [x + ((i % across) * w) / across, y + (Math.floor(i / across) * h) / down];
    d += `M${left.toFixed(2)} ${top.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
  }
  return d;
}
