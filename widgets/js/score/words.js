/** The words of a score, as SVG elements: those that have room. */

import { clipWords, textWidth } from "../shared/measuring.js";
import { roleColour } from "../shared/theme.js";
import { short } from "../picture/shapes.js";
import { hasSign } from "./paint.js";

/**
 * @typedef {import("./reading.js").Mark} Mark
 * @typedef {import("./reading.js").Area} Area
 */

/** Around words, in pixels; the least size of a turned text, and the shortest text that is cut. */
const [PAD, LEAST, SHORTEST] = [4, 9, 3];

/**
 * What is written at a mark, whether it is turned, and its size; null if nothing has room.
 * @param {Mark} mark @param {Area} area @returns {{words: string, turned: boolean, size: number} | null}
 */
export function wordsAt({ shape, words, size, bold }, { width, height }) {
  const last = words[words.length - 1];
  const room = width ? width - PAD : Infinity;
  const whole = words.find((one) => textWidth(one, size, bold) <= room);
  if (whole !== undefined) return whole ? { words: whole, turned: false, size } : null;
  if (shape === "rect" && height > 2 * size) {
    const small = Math.min(size, width - 1);
    const turned = small >= LEAST ? clipWords(last, small, height - 6, bold) : "";
    return turned ? { words: turned, turned: true, size: small } : null;
  }
  const cut = clipWords(last, size, room, bold);
  return cut.length > SHORTEST ? { words: cut, turned: false, size } : null;
}

/**
 * The element of the words of a mark; null if it has none, or if it is out of sight.
 * @param {import("../shared/elements.js").Make} make @param {Mark} mark @param {Area} area
 * @param {import("../shared/theme.js").Palette} palette @param {number} left where the row begins @param {number} end of the view
 */
export function wordElement({ s }, mark, area, palette, left, end) {
  if (!mark.words.length || (mark.shape === "dot" && !hasSign(area))) return null;
  const from = mark.fixed ? area.left : Math.max(area.left, left);
  const until = mark.fixed ? area.left + area.width : Math.min(area.left + area.width, end);
  if (!mark.fixed && (mark.shape === "dot" ? area.left < left || area.left > end : until <= from)) return null;
  const seen = mark.shape === "dot" ? { ...area, width: 0 } : { ...area, left: from, width: until - from };
  const shown = wordsAt(mark, mark.fixed ? { ...area, width: Math.max(0, end - area.left) } : seen);
  if (!shown) return null;
  const x = mark.shape === "dot" || mark.start ? area.left : (from + until) / 2;
  const y = mark.shape === "dot" || mark.start ? area.top : area.top + area.height / 2;
  const turn = shown.turned ? `translate(${short(x)} ${short(y)}) rotate(-90)` : `translate(${short(x)} ${short(y)})`;
  return s("text", {
    class: mark.shape === "text" ? "ce-score-word ce-score-loose" : "ce-score-word",
    transform: turn,
    "font-size": shown.size,
    "font-weight": mark.bold || mark.shape === "dot" ? 700 : 400,
    "text-anchor": mark.start ? "start" : "middle",
    fill: roleColour(mark.ink || mark.stroke || "fg", palette),
    text: shown.words,
  });
}

export const STYLE = `
.ce-score-word{pointer-events:none}
.ce-score-loose{paint-order:stroke;stroke:var(--ce-ground);stroke-width:3px;stroke-linejoin:round}
.ce-score-hit{cursor:pointer}
`;
