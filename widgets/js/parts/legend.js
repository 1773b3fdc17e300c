/** The legend: the roles that occur in the picture, with small pictures of them, and the scale of its values. */

import { classes, setChildren, uniqueName } from "../shared/elements.js";
import { markElements } from "../shared/marks.js";
import { KINDS, valueColour } from "../shared/theme.js";
import { scale as valueScale } from "../closeup/values.js";
import { cellValues, hasLegend, isColouredByValue, isNarrow } from "./state.js";

/**
 * @import { LegendItem } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 */

const STOPS = 10;

/** @param {Make} make @param {Readonly<import("./state.js").State>} state */
export function legendItems(make, state) {
  const { h } = make;
  const { picture, palette } = state;
  const items = picture ? picture.legend : [];
  const { values } = state;
  const drawn = values && cellValues(state) ? values.runs[state.run].label : "";
  const scale = items.filter((item) => item.role === "scale");
  const roles = items.filter((item) => item.role !== "scale" && !(drawn && item.role in KINDS));
  return [
    ...(values && drawn ? [h("li", {}, h("span", { text: `input ${drawn}:` }), valueScale(h, values))] : []),
    ...(isColouredByValue(state) && !drawn ? [h("li", { text: values?.missing || "Running some inputs …" })] : []),
    ...(scale.length && !drawn ? [scaleItem(make, scale, palette)] : []),
    ...roles.map((item) => h("li", {}, swatch(make, item.swatch, palette), h("span", { text: item.text }))),
  ];
}

/** @param {Make} make @param {import("../shared/marks.js").Mark[]} marks @param {import("../shared/theme.js").Palette} palette */
const swatch = (make, marks, palette) =>
  make.s(
    "svg",
    { viewBox: "0 0 26 16", width: 26, height: 16, "aria-hidden": "true" },
    markElements(make, marks, palette),
  );

/**
 * The ramp from the smallest to the largest value.
 * @param {Make} make @param {LegendItem[]} scale @param {import("../shared/theme.js").Palette} palette
 */
function scaleItem({ h, s }, scale, palette) {
  const id = `${uniqueName("ce")}-scale`;
  const stops = Array.from({ length: STOPS + 1 }, (_, index) =>
    s("stop", { offset: index / STOPS, "stop-color": valueColour(index / STOPS, palette) }),
  );
  const bar = s(
    "svg",
    { width: 120, height: 14, "aria-hidden": "true" },
    s("defs", {}, s("linearGradient", { id }, stops)),
    s("rect", { width: 120, height: 14, rx: 3, fill: `url(#${id})` }),
  );
  const high = scale.length > 1 ? scale[scale.length - 1].text : "";
  return h("li", {}, h("span", { text: scale[0].text }), bar, high ? h("span", { text: high }) : null);
}

/**
 * Below the picture; where there is little room, behind a button over it.
 * @param {import("../graph.js").Page} page
 */
export function makeLegend({ ui: { make, h }, store: { state } }) {
  const items = h("ul", { class: "ce-legend", "aria-label": "Legend" });
  const folded = h("details", {}, h("summary", { text: "Legend" }));
  const element = h("div", { class: "ce-legends" });
  return {
    element,
    reads: /** @type {const} */ ([
      ...["picture", "palette", "options", "width", "roomy"],
      ...["values", "run", "closeup", "showCloseup", "details", "selection", "view"],
    ]),
    draw() {
      items.replaceChildren(...legendItems(make, state));
      const folds = !state.roomy || isNarrow(state);
      if (folds) folded.appendChild(items);
      setChildren(element, [folds ? folded : items]);
      element.setAttribute("class", classes("ce-legends", folds && "ce-folded"));
      element.hidden = !hasLegend(state) || !items.childNodes.length;
    },
  };
}

export const STYLE = `
.ce-legend{display:flex;flex-wrap:wrap;align-items:center;gap:3px 14px;padding:5px 12px;margin:0;background:var(--ce-panel);font-size:12px;list-style:none}
.ce-bottom .ce-legend{gap:0 14px;padding:2px 12px;line-height:17px}
.ce-legend li{display:inline-flex;align-items:center;gap:6px;margin:0;padding:0}
.ce-legend svg{flex:none}
.ce-legend text{font-size:10.5px;font-weight:700;text-anchor:middle;dominant-baseline:central}
.ce-side .ce-legend{flex-direction:column;align-items:flex-start;padding:0;border:0}
.ce-legend .ce-values-scale{margin:0}
.ce-legends{position:relative;flex:none}
.ce-folded{background:var(--ce-panel)}
.ce-folded summary{cursor:pointer;font-weight:600;min-height:26px;padding:3px 12px}
.ce-folded .ce-legend{position:absolute;left:0;right:0;bottom:100%;z-index:4;max-height:180px;overflow:auto;box-shadow:0 -2px 10px var(--ce-shade)}
`;
