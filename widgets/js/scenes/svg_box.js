/** A box as SVG elements. */

import { clip, textWidth } from "../shared/measuring.js";
import { dashes } from "../shared/theme.js";
import { borderOf, fillOf } from "../picture/fills.js";
import { STACK, boxPath, symbolCentre, symbolOf } from "../picture/shapes.js";
import { BADGE_STEP, MAX_BADGES, SIGN_STEP, badgeColours, placePill, signsOf } from "../picture/signs.js";
import { describeBox, wordsOf } from "../picture/words.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../shared/theme.js").Palette} Palette
 * @typedef {import("../picture/types.js").Box} Box
 * @typedef {import("../picture/types.js").Picture} Picture
 */

/**
 * The group of a box, around (0, 0), and how its words are laid out for a scale. `hatchUrl` is the address of the pattern
 * of a hatch.
 * @param {Make} make @param {Box} box @param {Picture} picture @param {Palette} palette
 * @param {(hatch: string) => string} hatchUrl
 */
export function boxElement({ s }, box, picture, palette, hatchUrl) {
  const { fill, ink, hatch } = fillOf(box, picture, palette);
  const border = borderOf(box, palette, picture);
  const d = boxPath(box.kind, box.w, box.h);
  const stroke = { stroke: border.stroke, "stroke-width": border.width, "stroke-dasharray": dashes(border.dash) };
  const inner = { fill: "none", stroke: border.stroke, "stroke-width": 1.2 };
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
    signElements(s, box, picture, palette.roles),
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

/** @param {Make["s"]} s @param {Box} box @param {Picture} picture @param {Record<string, string>} roles */
function signElements(s, box, picture, roles) {
  const tags = signsOf(box, picture, roles).map(({ sign, fill, ink, stroke }, index) =>
    s(
      "g",
      { class: "ce-sign", transform: `translate(${-box.w / 2 + 3 + index * SIGN_STEP} ${-box.h / 2})` },
      s("circle", { r: 8, fill, stroke }),
      s("text", { y: 0.5, fill: ink, text: sign }),
    ),
  );
  const pill = placePill(box, (words) => textWidth(words, 11, true));
  const pillElement =
    pill &&
    s(
      "g",
      {
        class: `ce-pill ${pill.solid ? "ce-solid" : ""}`,
        transform: `translate(${pill.right - pill.width / 2} ${pill.y})`,
      },
      s("rect", { x: -pill.width / 2, y: -9, width: pill.width, height: 18, rx: 9 }),
      s("text", { y: 0.5, text: pill.words }),
    );
  const badges = box.badges.slice(0, MAX_BADGES).map((badge, index) => {
    const more = box.badges.length > MAX_BADGES && index === MAX_BADGES - 1;
    const sign = more ? "…" : clip(badge.sign, 10, 24, true) || "!";
    const width = Math.max(17, 9 + textWidth(sign, 10.5, true));
    const { fill, ink } = badgeColours(badge.tone, roles);
    return s(
      "g",
      { class: "ce-badge", transform: `translate(${box.w / 2 - 4 - index * BADGE_STEP - width / 2 + 8} ${box.h / 2})` },
      s("rect", { x: -width / 2, y: -8.5, width, height: 17, rx: 5, fill, stroke: roles.box }),
      s("text", { y: 0.5, fill: ink, text: sign }),
    );
  });
  return [...tags, pillElement, ...badges];
}
