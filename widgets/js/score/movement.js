/** How the marks of a score move from one step to the next. */

/** @typedef {import("./reading.js").Mark} Mark */
/** @typedef {{mark: Mark, from: number[] | null}} Moving  `from`: null for one that appears */

/**
 * Where marks come from, and which disappear. A mark comes from the one with its key, or from the one that it came out of
 * in its step; back from a step, from one that came out of it.
 * @param {Mark[]} marks @param {Map<string, {mark: Mark, at: number[]}>} before
 */
export function movement(marks, before) {
  /** @type {Map<string, number[]>} */
  const back = new Map();
  for (const { mark, at } of before.values()) if (mark.was && !back.has(mark.was)) back.set(mark.was, at);
  const used = new Set();
  const moving = marks.map((mark) => {
    const own = before.has(mark.key) ? mark.key : mark.was;
    used.add(own);
    return { mark, from: before.get(own)?.at ?? back.get(mark.key) ?? null };
  });
  const leaving = [...before.values()].filter(({ mark }) => !used.has(mark.key));
  return { moving, leaving };
}

/** @param {number[]} from @param {number[]} to @param {number} e */
export const between = (from, to, e) => to.map((end, index) => from[index] + (end - from[index]) * e);

/** A body that appears or disappears is flat at first, or at last. @param {Mark} mark @param {number[]} at */
export function flat(mark, at) {
  const [left, top, width, height] = at;
  return mark.shape === "body" ? [left, top + height * 0.45, width, height * 0.1] : at;
}
