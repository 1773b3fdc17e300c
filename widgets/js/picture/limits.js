/** Sizes above which a picture is drawn with less detail. */

/** Above it, boxes are drawn on a canvas. */
export const MAX_SVG_BOXES = 1000;
/** Above it, edges do not avoid boxes. */
export const MAX_ROUTED_BOXES = 400;
/** Above it, hulls have no tags. */
export const MAX_HULLS = 60;
