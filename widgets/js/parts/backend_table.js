/** The backends of all measured steps: a row for each step, a column for each backend and device, bars of one scale. */

import { isOfBackend, laneClass, laneName, lanesOf, timeWords } from "../shared/lanes.js";

/** @typedef {import("../picture/types.js").Frame} Frame */

/**
 * The steps with times of backends, and the lanes that these have; nothing if the time line shows them all.
 * @param {Frame[]} frames of all steps @param {number} shown the step that the time line shows
 * @returns {{frames: Frame[], lanes: string[]}}
 */
export function backendsOf(frames, shown) {
  const found = frames.filter(({ times }) => Object.keys(times).some(isOfBackend));
  if (!found.some(({ step }) => step !== shown)) return { frames: [], lanes: [] };
  return { frames: found, lanes: lanesOf(Object.assign({}, ...found.map(({ times }) => times))) };
}

/**
 * @param {import("./ui.js").Ui} ui @param {(step: number) => void} go
 */
export function makeBackendTable({ make: { h }, textButton }, go) {
  const element = h("table", { class: "ce-backends", hidden: true });

  /** @param {Frame} frame @param {string} lane @param {number} longest */
  function cell(frame, lane, longest) {
    const time = frame.times[lane];
    if (time === undefined) return h("td", { text: "–", title: "not measured" });
    const badge = frame.certified[lane];
    return h(
      "td",
      badge ? { title: badge } : {},
      h("span", { text: `${timeWords(time)}${badge?.startsWith("✓") ? " ✓" : ""}` }),
      h("i", { class: laneClass(lane), style: `width:${(100 * time) / longest}%`, "aria-hidden": "true" }),
    );
  }

  return {
    element,
    /** @param {Frame[]} all frames of all steps @param {number} shown */
    show(all, shown) {
      const { frames, lanes } = backendsOf(all, shown);
      element.hidden = !frames.length;
      element.replaceChildren();
      if (!frames.length) return;
      const longest = Math.max(...frames.flatMap(({ times }) => lanes.map((lane) => times[lane] ?? 0)));
      const head = ["step", ...lanes.map(laneName)].map((text) => h("th", { scope: "col", text }));
      const rows = frames.map((frame) => {
        const name = textButton(frame.label, () => go(frame.step));
        const known = frame.step === shown ? { scope: "row", "aria-current": "step" } : { scope: "row" };
        return h("tr", {}, h("th", known, name), ...lanes.map((lane) => cell(frame, lane, longest)));
      });
      element.replaceChildren(
        h("caption", { text: "Backends of all measured steps; ✓ all rows certified" }),
        h("tr", {}, ...head),
        ...rows,
      );
    },
  };
}

export const STYLE = `
.ce-backends{flex:1 0 100%;border-collapse:collapse;font-size:12.5px}
.ce-backends caption{text-align:left;color:var(--ce-muted);padding:2px 0}
.ce-backends :is(th,td){padding:1px 10px 1px 0;text-align:left;font-weight:400;white-space:nowrap}
.ce-backends tr:first-of-type th{color:var(--ce-muted)}
.ce-backends th[aria-current] button{font-weight:600}
.ce-backends td i{display:block;height:4px;min-width:1px}
`;
