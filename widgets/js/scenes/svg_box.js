/** A box as SVG elements. */

import { dashes } from "../shared/theme.js";
import { paintOf } from "../picture/fills.js";
import { STACK, boxPath, symbolCentre, symbolOf } from "../picture/shapes.js";
import { cornersOf } from "../picture/signs.js";
import { describeBox, wordsOf } from "../picture/words.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../shared/theme.js").Palette} Palette
 * @typedef {import("../picture/types.js").Box} Box
 */

/**
 * The group of a box, around (0, 0), and how its words are laid out for a scale. `hatchUrl` is the address of the pattern
 * of a hatch.
 * @param {Make} make @param {Box} box @param {Palette} palette @param {(hatch: string) => string} hatchUrl
 */
export function boxElement({ s }, box, palette, hatchUrl) {
  const painted = paintOf(box, palette);
  const { fill, ink, hatch } = painted;
  const d = boxPath(box.kind, box.w, box.h);
  const stroke = { stroke: painted.stroke, "stroke-width": painted.width, "stroke-dasharray": dashes(painted.dash) };
  const inner = { fill: "none", stroke: painted.stroke, "stroke-width": 1.2 };
  const cards = box.folds > 1 ? STACK : [];
  const words = wordElements(s, box, fill, ink, hatch);
  const look = s(
    "g",
    { "aria-hidden": "true" },
    s("path", { class: "ce-ring", d: boxPath(box.kind, box.w + 11, box.h + 11) }),
    cards.map((by) => s("path", { class: "ce-card", d, transform: `translate(${by} ${-by})`, fill, ...stroke })),
    s("path", { class: "ce-face", d, fill, ...stroke }),
    hatch && s("path", { class: `ce-hatch ce-hatch-${hatch}`, d, fill: hatchUrl(hatch) }),
    box.change === "changed" && s("path", { d: boxPath(box.kind, box.w - 7, box.h - 7), ...inner }),
    symbolElements(s, box, fill, ink, hatch),
    words.elements,
    cornersOf(box, painted, palette).map((corner) => cornerElement(s, corner)),
  );
  const attributes = { role: "option", "aria-selected": "false", tabindex: "-1", "data-id": box.id };
  // The accessible name; the visible text is hidden from screen readers, so that nothing is read twice.
  const name = s("text", { class: "ce-name", text: describeBox(box) });
  const group = s("g", { class: `ce-box ce-${box.kind} ce-is-${box.change}`, ...attributes }, name, look);
  return { group, lay: words.lay };
}

/** On a hatch, a text needs an outline in the colour of the fill. @param {string} fill @param {string} hatch */
const haloOf = (fill, hatch) =>
  hatch ? `stroke:${fill};stroke-width:4px;paint-order:stroke;stroke-linejoin:round` : "";

/**
 * The symbol of the kind, and the large one (or the number) for far away.
 * @param {Make["s"]} s @param {Box} box @param {string} fill @param {string} ink @param {string} hatch
 */
function symbolElements(s, box, fill, ink, hatch) {
  const d = symbolOf(box.kind);
  const far = { class: "ce-big-symbol ce-big-number", y: 1, fill: ink, style: haloOf(fill, hatch) };
  return [
    s(
      "g",
      { class: "ce-symbol", transform: `translate(${symbolCentre(box)} 0)`, stroke: ink },
      s("circle", { r: 9.5, class: "ce-disc", fill }),
      s("path", { d, transform: "translate(-8 -8)" }),
    ),
    box.numbered
      ? s("text", { ...far, text: box.numbered })
      : s("g", { class: "ce-big-symbol", stroke: ink }, s("path", { d, transform: "scale(2) translate(-8 -8)" })),
  ];
}

/** @param {Make["s"]} s @param {Box} box @param {string} fill @param {string} ink @param {string} hatch */
function wordElements(s, box, fill, ink, hatch) {
  const { left, two } = wordsOf(box);
  const style = { fill: ink, style: haloOf(fill, hatch) };
  const title = s("text", { class: "ce-title", x: left, ...style });
  const detail = two && s("text", { class: "ce-detail", x: left, ...style });
  const far = s("text", { class: "ce-far-title", x: left - 2, y: 0.5, ...style });
  return {
    elements: [title, detail, far],
    /** @param {ReturnType<typeof import("../picture/words.js").growthAt>} grown */
    lay(grown) {
      const words = wordsOf(box, grown);
      title.textContent = words.title;
      title.setAttribute("y", two ? -7 * grown.near : 0.5);
      far.textContent = words.far;
      if (!detail) return;
      detail.textContent = words.detail;
      detail.setAttribute("y", 9.5 * grown.near);
    },
  };
}

/** @param {Make["s"]} s @param {import("../picture/signs.js").Corner} corner */
const cornerElement = (s, { name, x, y, w, h, r, fill, stroke, ink, words }) =>
  s(
    "g",
    { class: name, transform: `translate(${x} ${y})` },
    s("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: r, fill, stroke }),
    s("text", { y: 0.5, fill: ink, text: words }),
  );
