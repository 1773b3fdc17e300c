/** Textures tell the series of bars apart without colour. */

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../shared/theme.js").Palette} Palette
 * @typedef {{fill: string, colour: string}} Look
 */

const TILE = { width: 6, height: 6, patternUnits: "userSpaceOnUse" };

/**
 * The looks of series and tones, and the patterns that they use. `prefix` makes their ids unique.
 * @param {Make} make @param {Palette} palette @param {string} prefix
 */
export function makeTextures({ s }, { roles, series }, prefix) {
  /** @type {Map<string, any>} */
  const patterns = new Map();
  return {
    /**
     * Plain, stripes, dots, lines, by the number of the series; the colour of the tone, if there is one.
     * @param {number} index @param {string} tone @returns {Look}
     */
    lookOf(index, tone) {
      const colour = tone ? roles[tone] : series[index % series.length];
      const kind = index % 4;
      if (!kind) return { fill: colour, colour };
      const id = `${prefix}-${index}${tone}`;
      if (!patterns.has(id)) {
        const mark =
          kind === 2
            ? s("circle", { cx: 3, cy: 3, r: 1.2, fill: roles.bg })
            : s("path", { d: "M0 0V6", stroke: roles.bg, "stroke-width": 2 });
        const turn = { patternTransform: kind === 1 ? "rotate(45)" : null };
        patterns.set(
          id,
          s("pattern", { id, ...TILE, ...turn }, s("rect", { width: 6, height: 6, fill: colour }), mark),
        );
      }
      return { fill: `url(#${id})`, colour };
    },
    /** The hatch of a missing value. @returns {string} its fill */
    missing() {
      const id = `${prefix}-missing`;
      const line = s("path", { d: "M0 0V6", stroke: roles.control, "stroke-width": 2 });
      patterns.set(id, s("pattern", { id, ...TILE, patternTransform: "rotate(-45)" }, line));
      return `url(#${id})`;
    },
    /** The patterns in use. */
    defs: () => (patterns.size ? s("defs", {}, [...patterns.values()]) : null),
  };
}
/** @typedef {ReturnType<typeof makeTextures>} Textures */
