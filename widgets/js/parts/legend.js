/** The legend: the roles that occur in the picture, and the scale of its values. */

import { uniqueName } from "../shared/elements.js";
import { heat } from "../shared/theme.js";
import { isCompact } from "./state.js";
import { swatch } from "./swatches.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../picture/types.js").LegendItem} LegendItem
 */

const STOPS = 10;

/** @param {Make} make @param {Readonly<import("./state.js").State>} state */
export function legendItems(make, { picture, palette }) {
  const { h } = make;
  const items = picture ? picture.legend : [];
  const scale = items.filter((item) => item.role === "scale");
  const roles = items.filter((item) => item.role !== "scale");
  return [
    ...(scale.length ? [scaleItem(make, scale)] : []),
    ...roles.map((item) => h("li", {}, swatch(make, item, palette), h("span", { text: item.text }))),
  ];
}

/** The ramp from the smallest to the largest value. @param {Make} make @param {LegendItem[]} scale */
function scaleItem({ h, s }, scale) {
  const id = `${uniqueName("ce")}-scale`;
  const stops = Array.from({ length: STOPS + 1 }, (_, index) =>
    s("stop", { offset: index / STOPS, "stop-color": heat(index / STOPS) }),
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

/** @param {import("./ui.js").Ui} ui @param {import("./state.js").Store} store */
export function makeLegend({ make, h }, { state }) {
  const element = h("ul", { class: "ce-legend", "aria-label": "Legend" });
  return {
    element,
    reads: /** @type {const} */ (["picture", "palette", "options"]),
    draw() {
      element.replaceChildren(...legendItems(make, state));
      element.hidden = isCompact(state) || state.options.legend === false || !element.childNodes.length;
    },
  };
}

export const STYLE = `
.ce-legend{display:flex;flex-wrap:wrap;align-items:center;gap:3px 14px;padding:5px 12px;margin:0;border-top:1px solid var(--ce-line);background:var(--ce-panel);font-size:12px;list-style:none}
.ce-legend li{display:inline-flex;align-items:center;gap:6px;margin:0;padding:0}
.ce-legend svg{flex:none}
.ce-side .ce-legend{flex-direction:column;align-items:flex-start;padding:0;border:0}
`;
