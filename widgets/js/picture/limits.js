/** Sizes above which a picture is drawn with less detail. */

/** Above it, boxes are drawn on a canvas. */
export const MAX_SVG_BOXES = 1000;
