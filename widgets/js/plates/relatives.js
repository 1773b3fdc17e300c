/** Everything that a cell depends on, and everything that depends on it. */

/** @import { Edge, Picture } from "../picture/types.js" */

/** The name of a cell in a picture. @param {string} box @param {number} index */
export const nameOf = (box, index) => `${box} ${index}`;

/**
 * The names of a cell and of its relatives; without cell, of a whole plate.
 * @param {Picture} picture @param {string} box @param {number} index -1: all cells of the plate
 * @returns {Set<string>}
 */
export function relativesOf(picture, box, index) {
  const [down, up] = neighbours(picture);
  const plate = picture.byId.get(box)?.plate;
  const count = plate ? plate.cells.length : 0;
  const start = index >= 0 ? [nameOf(box, index)] : Array.from({ length: count }, (_, at) => nameOf(box, at));
  const found = new Set(start);
  for (const next of [down, up]) {
    const queue = [...start];
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      for (const other of next.get(name) || []) {
        if (found.has(other)) continue;
        found.add(other);
        queue.push(other);
      }
    }
  }
  return found;
}

/** @type {WeakMap<Picture, [Map<string, string[]>, Map<string, string[]>]>} */
const known = new WeakMap();

/**
 * What each cell reads, and what reads it.
 * @param {Picture} picture @returns {[Map<string, string[]>, Map<string, string[]>]}
 */
function neighbours(picture) {
  const before = known.get(picture);
  if (before) return before;
  /** @type {[Map<string, string[]>, Map<string, string[]>]} */
  const maps = [new Map(), new Map()];
  /** @param {Map<string, string[]>} map @param {string} one @param {string} other */
  const add = (map, one, other) => {
    const others = map.get(one);
    if (others) others.push(other);
    else map.set(one, [other]);
  };
  for (const { source, target, pairs } of picture.edges) {
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      const [from, to] = [nameOf(source.id, pairs[at]), nameOf(target.id, pairs[at + 1])];
      add(maps[0], to, from);
      add(maps[1], from, to);
    }
  }
  known.set(picture, maps);
  return maps;
}
