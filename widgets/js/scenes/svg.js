/** A picture as SVG elements: boxes, edges and hulls. */

import { curve, head, moved, startOf } from "../picture/motion.js";
import { hullStyle, lineOf, paintOf } from "../picture/fills.js";
import { boxPath, cornersOf, short, STACK, symbolCentre, symbolOf } from "../picture/shapes.js";
import { layHulls, layLabels } from "../picture/tags.js";
import { describeBox, growthAt, wordsOf } from "../picture/words.js";
import { classes, uniqueName } from "../shared/elements.js";
import { dashes } from "../shared/theme.js";
import { ease } from "../shared/timing.js";

/**
 * @import { LaidHull } from "../picture/tags.js"
 * @import { Box, Edge, Picture, Point, Rect, Scene } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 * @import { Palette } from "../shared/theme.js"
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
  /** @type {DrawnEdge[]} */
  let lines = [];
  /** @type {DrawnHull[]} */
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
    edgeLayer.replaceChildren(...lines.map(({ group }) => group), ...lines.flatMap(({ label }) => label ?? []));
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
      for (const { edge, group, label } of lines) {
        const [a, b] = [edge.source.id, edge.target.id];
        const near = hover ? a === hover || b === hover : selected.has(a) || selected.has(b);
        const dim = (members && !(members.has(a) && members.has(b))) || (found && !found.has(a) && !found.has(b));
        group.setAttribute("class", classes("ce-edge", `ce-is-${edge.change}`, near && "ce-near", dim && "ce-dim"));
        label?.setAttribute("class", classes(labelClass(edge), dim && "ce-dim"));
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
      far.setAttribute("style", `${style.style}${style.style && ";"}font-size:${short(words.farSize)}px`);
      if (!detail) return;
      detail.textContent = words.detail;
      detail.setAttribute("y", 9.5 * grown.near);
    },
  };
}

/** @param {Make["s"]} s @param {import("../picture/shapes.js").Corner} corner */
const cornerElement = (s, { name, x, y, w, h, r, fill, stroke, ink, words }) =>
  s(
    "g",
    { class: name, transform: `translate(${x} ${y})` },
    s("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: r, fill, stroke }),
    s("text", { y: 0.5, fill: ink, text: words }),
  );

/**
 * @typedef {{edge: Edge, group: any, line: any, head: any, label: any}} DrawnEdge
 * @typedef {{hull: import("../picture/types.js").Hull, group: any, tag: any, at: Rect | null}} DrawnHull
 */

/**
 * An edge without its path, which changes as its boxes move.
 * @param {Make} make @param {Edge} edge @param {Palette} palette @param {{words: string, at: Rect} | undefined} label
 * @returns {DrawnEdge}
 */
export function edgeElement({ s }, edge, palette, label) {
  const style = lineOf(edge, palette);
  const stroke = { stroke: style.stroke, "stroke-width": style.width, "stroke-dasharray": dashes(style.dash) };
  const line = s("path", { class: "ce-line", ...stroke });
  const head = s("path", { class: "ce-tip", fill: style.stroke });
  const pill = label ? labelElement(s, edge, palette.roles, label) : null;
  const group = s("g", { class: `ce-edge ce-is-${edge.change}` }, line, head);
  return { edge, line, head, label: pill, group };
}

/** @param {Edge} edge */
const labelClass = (edge) => `ce-edge-label${edge.read ? "" : " ce-plain"}`;

/**
 * How an edge reads: a copy has a solid frame, a view a dotted one.
 * @param {Make["s"]} s @param {Edge} edge @param {Record<string, string>} roles
 * @param {{words: string, at: Rect}} label
 */
function labelElement(s, edge, roles, { words, at }) {
  const [fill, ink] = edge.copiedBytes > 0 ? [roles.copyFill, roles.copy] : [roles.freeFill, roles.free];
  const look = edge.read
    ? { rx: 4, fill, stroke: ink, "stroke-dasharray": edge.copiedBytes > 0 ? null : "2 2" }
    : { rx: 8, fill: roles.ground, stroke: roles.line };
  const text = { x: (at.r - at.l) / 2, y: 8.5, fill: edge.read ? ink : roles.muted, text: words };
  return s(
    "g",
    { class: labelClass(edge), transform: `translate(${at.l} ${at.t})` },
    s("rect", { width: at.r - at.l, height: 16, ...look }),
    s("text", text),
  );
}

/**
 * @param {Make} make @param {LaidHull} laid @param {Palette} palette @param {(hatch: string) => string} hatchUrl
 * @returns {DrawnHull}
 */
export function hullElement({ s }, { hull, d, tag }, palette, hatchUrl) {
  const style = hullStyle(hull.kind, palette);
  const line = { stroke: style.stroke, "stroke-width": style.width, "stroke-dasharray": dashes(style.dash) };
  const group = s(
    "g",
    { class: `ce-hull ce-hull-${hull.kind}`, "data-hull": hull.id },
    s("path", { d, fill: style.fill, class: "ce-tint" }),
    style.hatch ? s("path", { d, fill: hatchUrl("lost"), class: "ce-lost-hatch" }) : null,
    s("path", { d, fill: "none", ...line, "stroke-linecap": "round" }),
  );
  if (!tag) return { hull, group, tag: null, at: null };
  const place = { "data-hull": hull.id, transform: `translate(${tag.at.l} ${tag.at.t})` };
  const element = s(
    "g",
    { class: `ce-tag ce-tag-${hull.kind}`, ...place },
    s("rect", { width: tag.at.r - tag.at.l, height: 18, rx: 9, stroke: style.stroke }),
    s("text", { class: "ce-tag-sign", x: 10, y: 9.5, fill: style.stroke, text: tag.sign }),
    s("text", { x: 18, y: 9.5, text: tag.words }),
  );
  return { hull, group, tag: element, at: tag.at };
}
