/** The font of all views, the width of a text in it, and texts cut to a width, anywhere or between words. */

import themes from "../../explorer_widgets/theme.json" with { type: "json" };

export const FONT = themes.font;

const MAX_KNOWN = 20_000;
/** @type {CanvasRenderingContext2D | null} */
let pen = null;
/** @type {Map<string, number>} */
const known = new Map();

/** Measure with a canvas from now on; without one, widths are estimated. @param {any} doc */
export function prepareMeasuring(doc) {
  if (pen) return;
  const canvas = doc.createElement("canvas");
  pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
}

/** Width of a text in pixels. @param {string} words @param {number} size @param {boolean} [bold] */
export function textWidth(words, size, bold = false) {
  const key = `${bold ? "b" : ""}${size} ${words}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  if (known.size > MAX_KNOWN) known.clear();
  let width = words.length * size * (bold ? 0.6 : 0.56);
  if (pen) {
    pen.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    width = pen.measureText(words).width;
  }
  known.set(key, width);
  return width;
}

/**
 * A text cut to a width, with an ellipsis.
 * @param {string} words @param {number} size @param {number} room @param {boolean} [bold]
 */
export function clip(words, size, room, bold = false) {
  if (textWidth(words, size, bold) <= room) return words;
  let [low, high] = [0, words.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(`${words.slice(0, middle)}…`, size, bold) <= room) low = middle;
    else high = middle - 1;
  }
  return low ? `${words.slice(0, low).trimEnd()}…` : "";
}

/**
 * A text cut to a width between two words, with an ellipsis; empty if its first word has no room.
 * @param {string} words @param {number} size @param {number} room @param {boolean} [bold]
 */
export function clipWords(words, size, room, bold = false) {
  const cut = clip(words, size, room, bold);
  if (cut === words || !cut) return cut;
  const kept = cut.slice(0, -1);
  const inside = /\w/.test(words[kept.length] ?? "") && words[kept.length] !== "_";
  const found = (inside ? kept.replace(/[^\s_.+|]*$/, "") : kept).replace(/[\s_.+|(]+$/, "");
  return found ? `${found}…` : "";
}
