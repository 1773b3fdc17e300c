/** The circuits of a derivation, and from which layers each layer comes. */

import { checkVersion, parseJson } from "../shared/contract.js";
import { textWidth } from "../shared/measuring.js";
import { like, record } from "../shared/reading.js";

const readPlate = like({ title: "", kind: "", units: "", at: [0], cells: [0], places: [0] });
/** @typedef {ReturnType<typeof readCircuit>} Drawn */
const readCircuit = like({ label: "", text: "", made: "", width: 0, height: 0, plates: [readPlate], lines: [[0]] });
/** @typedef {ReturnType<typeof readAll>} Derivation */
const readAll = like({ circuits: [readCircuit], origins: [[0]], chosen: [[0]], note: "" });

/** @param {any} json @returns {Derivation | null} null if there is none */
export function readDerivation(json) {
  if (!json) return null;
  const raw = record(parseJson("The derivation is", json));
  checkVersion("The derivation has", raw.version);
  return readAll(raw);
}

/** @param {number} circuit @param {number} layer */
export const keyOf = (circuit, layer) => `${circuit}/${layer}`;

/**
 * All layers that some were made of, and all that were made of them, through all operators.
 * @param {number[][]} origins @param {Iterable<string>} chosen keys @returns {Set<string>} keys
 */
export function relativesOf(origins, chosen) {
  /** @type {[Map<string, string[]>, Map<string, string[]>]} */
  const [sources, results] = [new Map(), new Map()];
  for (const [circuit, layer, operand, origin] of origins) {
    const [made, of] = [keyOf(circuit, layer), keyOf(operand, origin)];
    sources.set(made, [...(sources.get(made) ?? []), of]);
    results.set(of, [...(results.get(of) ?? []), made]);
  }
  const found = new Set(chosen);
  for (const next of [sources, results]) {
    const waiting = [...chosen];
    const seen = new Set(waiting);
    for (const key of waiting) {
      for (const one of next.get(key) ?? []) {
        if (seen.has(one)) continue;
        seen.add(one);
        waiting.push(one);
        found.add(one);
      }
    }
  }
  return found;
}

/** @typedef {{words: string, x: number, y: number}} Written the middle of the baseline */

/** The room around a word, and how far it may stand out of the drawing on the left and right, in heights of a line. */
const [ROOM, OUT] = [0.15, 1];

/** @param {number[]} one @param {number[]} other left, top, right and bottom */
const touch = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

/**
 * Place the numbers, then the titles; a word without room is left out.
 * @param {Drawn} drawn @param {number} line the height of a line, in the units of the drawing
 * @param {number} size of the font, in pixels
 * @returns {Written[]}
 */
export function placeWords({ plates, width, height }, line, size) {
  const taken = plates.map(({ at: [left, top, wide, high] }) => [left, top, left + wide, top + high]);
  const numbers = plates.map(({ units, at }) => ({ words: units, at, y: at[1] + at[3] + 1.1 * line }));
  const titles = plates.map(({ title, at }) => ({ words: title, at, y: at[1] - line / 2 }));
  return [...numbers, ...titles].flatMap(({ words, at: [left, , wide], y }) => {
    const x = left + wide / 2;
    const half = (textWidth(words, size, true) / size / 2 + ROOM) * line;
    const box = [x - half, y - 0.9 * line, x + half, y + ROOM * line];
    const isInside = box[0] >= -OUT * line && box[1] >= 0 && box[2] <= width + OUT * line && box[3] <= height;
    if (!isInside || taken.some((other) => touch(box, other))) return [];
    taken.push(box);
    return [{ words, x, y }];
  });
}
