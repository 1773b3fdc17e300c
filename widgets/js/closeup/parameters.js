/** The close-up of parameters: what each is computed from, and the values of one slice as heat maps. */

import { heat } from "../shared/theme.js";

/**
 * @typedef {import("./reading.js").Parameters} Parameters
 * @typedef {import("./reading.js").Sheet} Sheet
 */

/** The longest side of a sheet, and the side of a value, in pixels. */
const [SIDE, LEAST, MOST] = [150, 2, 18];

/**
 * `turn` shows another slice: 1 for the next, -1 for the previous one.
 * @param {import("../parts/ui.js").Ui} ui @param {Parameters} parameters
 * @param {import("../shared/theme.js").Palette} palette @param {((way: number) => void) | null} turn
 */
export function parametersPanel({ h, textButton }, parameters, palette, turn) {
  const { of, sheets, overview, missing, count } = parameters;
  const words = h("p", { class: "ce-closeup-words" });
  const turning = turn && sheets.length > 0 && count > 1;
  const pick = turning
    ? [textButton("Previous", () => turn(-1)), h("b", { text: of }), textButton("Next", () => turn(1))]
    : of
      ? [h("b", { text: of })]
      : [];
  return h(
    "div",
    { class: "ce-parameters" },
    missing ? h("p", { class: "ce-values-note", text: missing }) : null,
    h("div", { class: "ce-group ce-parameters-pick" }, pick),
    h(
      "div",
      { class: "ce-sheets" },
      sheets.map((sheet) => sheetElement(h, sheet, palette, words)),
    ),
    overview.length ? h("b", { text: "All of them" }) : null,
    h(
      "div",
      { class: "ce-sheets" },
      overview.map((sheet) => sheetElement(h, sheet, palette, words)),
    ),
    words,
  );
}

/** @param {any} h @param {Sheet} sheet @param {import("../shared/theme.js").Palette} palette @param {any} words */
function sheetElement(h, sheet, palette, words) {
  const { title, shape, rows, columns, values, scale } = sheet;
  const side = Math.max(LEAST, Math.min(MOST, Math.floor(SIDE / Math.max(rows, columns, 1))));
  const label = `${title}, ${shape}, from ${scale.join(" to ")}`;
  const canvas = h("canvas", { width: columns * side, height: rows * side, role: "img", "aria-label": label });
  paintSheet(canvas, sheet, side, palette);
  canvas.addEventListener("pointermove", (/** @type {any} */ event) => {
    const rect = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - rect.left) / rect.width) * columns);
    const row = Math.floor(((event.clientY - rect.top) / rect.height) * rows);
    const value = values[row * columns + column];
    words.textContent = `${title}, row ${row}, column ${column}: ${value === null ? "not finite" : value}`;
  });
  return h(
    "figure",
    { class: "ce-sheet" },
    h("figcaption", {}, h("b", { text: title }), h("span", { text: shape })),
    canvas,
    h("span", { class: "ce-sheet-scale", text: scale[0] === scale[1] ? scale[0] : scale.join(" to ") }),
  );
}

/** @param {any} canvas @param {Sheet} sheet @param {number} side @param {import("../shared/theme.js").Palette} palette */
function paintSheet(canvas, { columns, values }, side, palette) {
  const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
  if (!pen) return;
  const known = values.filter((value) => value !== null);
  const low = Math.min(...known);
  const span = Math.max(...known) - low || 1;
  values.forEach((value, at) => {
    pen.fillStyle = value === null ? palette.roles.box : heat((value - low) / span);
    pen.fillRect((at % columns) * side, Math.floor(at / columns) * side, side, side);
  });
}

export const STYLE = `
.ce-parameters p{margin:4px 0}
.ce-parameters-pick{gap:8px;margin:4px 0}
.ce-sheets{display:flex;flex-wrap:wrap;gap:8px 22px;align-items:flex-start}
.ce-sheet{margin:0;display:flex;flex-direction:column;gap:3px;font-size:12.5px}
.ce-sheet figcaption{display:flex;flex-direction:column}
.ce-sheet figcaption span,.ce-sheet-scale{color:var(--ce-muted)}
.ce-sheet canvas{border:1px solid var(--ce-line);align-self:flex-start}
`;
