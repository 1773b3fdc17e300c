/** A picture as SVG elements. */

import { classes, uniqueName } from "../shared/elements.js";
import { ease } from "../shared/timing.js";
import { curve, head } from "../picture/curves.js";
import { moved, startOf } from "../picture/motion.js";
import { short } from "../picture/shapes.js";
import { layHulls, layLabels } from "../picture/tags.js";
import { growthAt } from "../picture/words.js";
import { boxElement } from "./svg_box.js";
import { edgeElement, hullElement } from "./svg_lines.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../shared/theme.js").Palette} Palette
 * @typedef {import("../picture/types.js").Box} Box
 * @typedef {import("../picture/types.js").Picture} Picture
 * @typedef {import("../picture/types.js").Point} Point
 * @typedef {import("../picture/types.js").Scene} Scene
 */

/** Scales below which less text is drawn. */
const [FAR, FARTHEST] = [0.62, 0.36];

/**
 * Boxes as SVG elements, each an option of a list box, so that screen readers and the keyboard can reach them.
 * @param {Make} make @param {() => Palette} palette @returns {Scene}
 */
export function svgScene(make, palette) {
  const { s } = make;
  const name = uniqueName("ce");
  const defs = s("defs");
  const [hullLayer, edgeLayer, tagLayer] = ["ce-hulls", "ce-edges", "ce-tags"].map((layer) =>
    s("g", { class: layer, "aria-hidden": "true" }),
  );
  const boxLayer = s("g", { class: "ce-boxes", role: "presentation" });
  const world = s("g", { role: "presentation" }, hullLayer, edgeLayer, boxLayer, tagLayer);
  const stage = s("svg", { class: "ce-stage", role: "listbox", "aria-multiselectable": "true" }, defs, world);
  /** @type {Picture | null} */
  let picture = null;
  /** @type {Map<string, {box: Box, group: any, lay: ReturnType<typeof boxElement>["lay"], from: Point, grown: boolean, now: Point}>} */
  let drawn = new Map();
  /** @type {import("./svg_lines.js").DrawnEdge[]} */
  let lines = [];
  /** @type {import("./svg_lines.js").DrawnHull[]} */
  let hulls = [];
  /** @type {Map<string, Point>} */
  let starts = new Map();
  let grown = growthAt(1);

  /** @param {string} id @param {string} stroke @param {string} ground @param {string} turn @param {number} gap */
  const hatch = (id, stroke, ground, turn, gap) =>
    s(
      "pattern",
      {
        id: `${name}-${id}`,
        width: gap,
        height: gap,
        patternUnits: "userSpaceOnUse",
        patternTransform: `rotate(${turn})`,
      },
      ground ? s("rect", { width: gap, height: gap, fill: ground }) : null,
      s("path", { d: `M0 0V${gap}`, stroke, "stroke-width": 2 }),
    );

  function recolour() {
    const { roles } = palette();
    defs.replaceChildren(
      hatch("removed", roles.removed, "", "45", 8),
      hatch("missing", roles.hatch, "", "-45", 7),
      hatch("lost", roles.lost, "", "45", 9),
    );
    if (picture) redraw(picture);
  }

  /** @param {string} hatch */
  const hatchUrl = (hatch) => `url(#${name}-${hatch})`;

  /** @param {Picture} shown */
  function redraw(shown) {
    const colours = palette();
    const laid = layHulls(shown);
    const labels = new Map(layLabels(shown).map((label) => [label.edge, label]));
    hulls = laid.map((item) => hullElement(make, item, colours, hatchUrl));
    hullLayer.replaceChildren(...hulls.map(({ group }) => group));
    tagLayer.replaceChildren(...hulls.map(({ tag }) => tag).filter(Boolean));
    lines = shown.edges.map((edge) => edgeElement(make, edge, colours, labels.get(edge)));
    edgeLayer.replaceChildren(...lines.map(({ group }) => group));
    drawn = new Map(
      shown.boxes.map((box) => {
        const { at, grown: isKnown } = startOf(box, starts);
        const { group, lay } = boxElement(make, box, colours, hatchUrl);
        lay(grown);
        return [box.id, { box, group, lay, from: at, grown: isKnown, now: { x: box.x, y: box.y } }];
      }),
    );
    boxLayer.replaceChildren(...[...drawn.values()].map(({ group }) => group));
    place(1, true);
  }

  /** Lay out the words of boxes for a scale. @param {number} k */
  function layWords(k) {
    const next = growthAt(k);
    if (next.near === grown.near && next.far === grown.far) return;
    grown = next;
    stage.style.setProperty("--ce-near", String(grown.near));
    stage.style.setProperty("--ce-away", String(grown.far));
    for (const { lay } of drawn.values()) lay(grown);
  }

  /** @param {number} t @param {boolean} all */
  function place(t, all) {
    const e = ease(t);
    for (const item of drawn.values()) {
      const { box, group, from, grown } = item;
      const still = from.x === box.x && from.y === box.y;
      item.now =
        t >= 1 || still
          ? { x: box.x, y: box.y }
          : { x: from.x + (box.x - from.x) * e, y: from.y + (box.y - from.y) * e };
      if (!all && still && grown) continue;
      const size = grown || t >= 1 ? "" : ` scale(${short(0.7 + 0.3 * e)})`;
      group.setAttribute("transform", `translate(${short(item.now.x)} ${short(item.now.y)})${size}`);
      if (grown || t >= 1) group.removeAttribute("opacity");
      else group.setAttribute("opacity", short(e));
    }
    for (const { edge, line, head: tip, label } of lines) {
      const [a, b] = [edge.source, edge.target].map((box) => {
        const item = /** @type {{now: Point}} */ (drawn.get(box.id));
        return { x: item.now.x - box.x, y: item.now.y - box.y };
      });
      const away = a.x || a.y || b.x || b.y;
      if (label) label.setAttribute("visibility", away ? "hidden" : "visible");
      if (!all && !away && t < 1) continue;
      const points = away ? moved(edge, a, b) : edge.points;
      line.setAttribute("d", curve(points));
      tip.setAttribute("d", head(points));
    }
    hullLayer.setAttribute("opacity", short(t >= 1 ? 1 : e * e));
    tagLayer.setAttribute("opacity", short(t >= 1 ? 1 : e * e));
  }

  recolour();
  return {
    stage,
    list: stage,
    recolour,
    show(shown, from) {
      picture = shown;
      starts = from;
      redraw(shown);
    },
    frame(t) {
      place(t, t >= 1);
    },
    look(camera, width, height) {
      stage.setAttribute("width", width);
      stage.setAttribute("height", height);
      stage.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const { k, x, y } = camera;
      layWords(k);
      const corner = `${short(width / 2 - k * x)} ${short(height / 2 - k * y)}`;
      world.setAttribute("transform", `translate(${corner}) scale(${Math.round(k * 1e4) / 1e4})`);
      stage.setAttribute("class", classes("ce-stage", k < FARTHEST ? "ce-farthest" : k < FAR && "ce-far"));
    },
    mark({ selected, found, hull, hover, focus }) {
      const lit = picture && hull ? picture.hulls.find((item) => item.id === hull) : null;
      const members = lit ? new Set(lit.boxes.map((box) => box.id)) : null;
      const first = picture && picture.boxes.length ? picture.boxes[0].id : "";
      const stop = drawn.has(focus) ? focus : first;
      for (const [id, { box, group }] of drawn) {
        const dim = (members && !members.has(id)) || (found && !found.has(id));
        const on = selected.has(id);
        const state = [on && "ce-selected", dim && "ce-dim", found?.has(id) && "ce-found", id === hover && "ce-hover"];
        group.setAttribute("class", classes("ce-box", `ce-${box.kind}`, `ce-is-${box.change}`, ...state));
        group.setAttribute("aria-selected", String(on));
        group.setAttribute("tabindex", id === stop ? "0" : "-1");
      }
      for (const { edge, group } of lines) {
        const [a, b] = [edge.source.id, edge.target.id];
        const near = hover ? a === hover || b === hover : selected.has(a) || selected.has(b);
        const dim = (members && !(members.has(a) && members.has(b))) || (found && !found.has(a) && !found.has(b));
        group.setAttribute("class", classes("ce-edge", `ce-is-${edge.change}`, near && "ce-near", dim && "ce-dim"));
      }
      for (const { hull: item, group, tag } of hulls) {
        const state = [item === lit && "ce-lit", lit && item !== lit && "ce-dim"];
        group.setAttribute("class", classes("ce-hull", `ce-hull-${item.kind}`, ...state));
        if (tag) tag.setAttribute("class", classes("ce-tag", `ce-tag-${item.kind}`, ...state));
      }
    },
    focus(id) {
      const item = drawn.get(id);
      if (item) item.group.focus({ preventScroll: true });
    },
    places: () => new Map([...drawn].map(([id, { now }]) => [id, now])),
    close() {
      stage.remove();
    },
  };
}
