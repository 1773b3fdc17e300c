/** Sizes, strokes and the styles of words of plates, from the table that `widgets/explorer_widgets/plate_look.py` reads, too. */

import themes from "../../explorer_widgets/theme.json" with { type: "json" };

/** @typedef {{size: number, weight: number, style: string, ink: string}} WordLook */

export const PLATES = themes.plates;
/** The fonts and the colours of words. @type {Record<string, WordLook>} */
export const WORDS = PLATES.words;
/** The outlines of marked cells. @type {Record<string, {line: string, width: number, dash: number[]}>} */
export const MARKS = PLATES.marks;
/** The opacity of lines between cells, by role. @type {Record<string, number>} */
export const READS = PLATES.reads;

/** The style of words at plates, without their size. @param {string} selector @param {WordLook} look */
export const wordStyle = (selector, { weight, style, ink }) =>
  `${selector}{dominant-baseline:auto;text-anchor:middle;font-weight:${weight};font-style:${style};fill:var(--ce-${ink});` +
  `paint-order:stroke;stroke:var(--ce-ground);stroke-width:${PLATES.halo}px;stroke-linejoin:round}\n`;
