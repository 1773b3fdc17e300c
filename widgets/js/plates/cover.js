/** A mask for lines above the canvas that pass below cells: numbers and images in cells stay whole. */

import { uniqueName } from "../shared/elements.js";
import { short } from "../picture/shapes.js";
import { cellsOf } from "./cells.js";

/**
 * @import { Box, Picture } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 * @import { Area } from "./cells.js"
 */

/** A plate of more cells is one area: lines do not show in its gaps. */
const MOST = 400;
/** Lines may leave the picture by so much while cells move. */
const AROUND = 1_000;

/** @param {Area} area */
const rectangle = ({ x, y, w, h }) => `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}z`;

/** @param {Box} box @returns {Area} */
const areaOf = ({ x, y, w, h }) => ({ x: x - w / 2, y: y - h / 2, w, h });

/** @param {Make} make */
export function makeCover({ s }) {
  const id = uniqueName("ce-cover");
  const seen = s("rect", { fill: "#fff" });
  const hidden = s("path", { fill: "#000" });
  const element = s("mask", { id, maskUnits: "userSpaceOnUse" });
  return {
    element,
    url: `url(#${id})`,
    /**
     * Cover lines where cells are now. @param {Picture | null} picture without such lines null
     * @param {(area: Area, layer: number) => Area} moved  where a cell is, or a folded plate with this first layer
     */
    lay(picture, moved) {
      element.replaceChildren(...(picture ? [seen, hidden] : []));
      const areas = (picture?.boxes ?? []).flatMap((box) => {
        const layers = box.plate?.cells ?? [];
        if (box.plate?.gap === 0 || layers.length > MOST) return [moved(areaOf(box), layers[0])];
        return cellsOf(box).map(({ area, layer }) => moved(area, layer));
      });
      hidden.setAttribute("d", areas.map(rectangle).join(""));
      const [left, top] = [Math.min(0, ...areas.map(({ x }) => x)), Math.min(0, ...areas.map(({ y }) => y))];
      const right = Math.max(0, ...areas.map(({ x, w }) => x + w));
      const bottom = Math.max(0, ...areas.map(({ y, h }) => y + h));
      for (const one of [element, seen]) {
        one.setAttribute("x", short(left - AROUND));
        one.setAttribute("y", short(top - AROUND));
        one.setAttribute("width", short(right - left + 2 * AROUND));
        one.setAttribute("height", short(bottom - top + 2 * AROUND));
      }
    },
  };
}
