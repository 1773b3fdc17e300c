/** The entries of a rule docking onto the cells that they bind, as SVG elements above the plates. */

import { textWidth } from "../shared/measuring.js";
import { allCells } from "./cells.js";
import { attemptOf, beatsOf } from "./lens.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../picture/types.js").Attempt} Attempt
 * @typedef {import("../picture/types.js").Hull} Hull
 * @typedef {import("../picture/types.js").Picture} Picture
 * @typedef {import("./cells.js").Area} Area
 * @typedef {{side: number, entry: number, area: Area, group: any}} Dock
 */

/** Size of a tag in pixels of the screen, and its distance from the one above it at the same cell. */
const [SIZE, TAG] = [12, 20];
const PAD = 3;

/** Whether the tag of an entry is above its cell. @param {number} entry */
const isAbove = (entry) => entry % 2 === 0;

/** @type {WeakMap<Picture, Map<number, Area>>} */
const known = new WeakMap();

/** Where the cell of each layer is. @param {Picture} picture @returns {Map<number, Area>} */
function areasOf(picture) {
  const before = known.get(picture);
  if (before) return before;
  const areas = new Map(allCells(picture).map(({ layer, area }) => [layer, area]));
  known.set(picture, areas);
  return areas;
}

/** @param {Make} make */
export function makeDocking({ s }) {
  const element = s("g", { class: "ce-docks", "aria-hidden": "true" });
  /** What is drawn. */
  let drawn = "";
  /** @type {Dock[]} */
  let docks = [];
  /** @type {any[]} */
  let blamed = [];
  /** The frames of what would match if the lit near miss were not refused. */
  const others = s("g", { class: "ce-otherwise" });

  /**
   * The frame of an entry and its tag, by turns above and below the cell, so that those of neighbours do not meet.
   * @param {string} words @param {number} side @param {number} entry @param {Area} area @param {number} k
   * @param {number} number of tags that the cell has on this side
   */
  function dock(words, side, entry, area, k, number) {
    const pad = (PAD + (side ? 4 : 0)) / k;
    const frame = { x: area.x - pad, y: area.y - pad, width: area.w + 2 * pad, height: area.h + 2 * pad, rx: 4 / k };
    const width = textWidth(words, SIZE, true) + 12;
    const y = isAbove(entry) ? area.y - pad : area.y + area.h + pad;
    const shift = isAbove(entry) ? -4 - TAG * number : TAG + TAG * number;
    const scale = `translate(${area.x + area.w / 2} ${y}) scale(${1 / k}) translate(0 ${shift})`;
    const tag = s(
      "g",
      { transform: scale, class: "ce-dock-tag" },
      s("rect", { x: -width / 2, y: -16, width, height: 18, rx: 5 }),
      s("text", { x: 0, y: -3, "font-size": SIZE, text: words }),
    );
    const group = s("g", { class: "ce-dock" }, s("rect", { ...frame, class: "ce-dock-frame" }), tag);
    return { side, entry, area, group };
  }

  /** @param {Area} from @param {Area} to */
  function line(from, to) {
    const [x1, y1, x2, y2] = [from.x + from.w, from.y + from.h / 2, to.x, to.y + to.h / 2];
    const bend = Math.max(12, Math.abs(x2 - x1) / 2);
    return s("path", { class: "ce-blamed", d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
  }

  /** @param {Picture} picture @param {Hull} hull @param {Attempt} attempt @param {number} k */
  function build(picture, hull, attempt, k) {
    const areas = areasOf(picture);
    const titles = (/** @type {string} */ name) =>
      picture.rules.get(name)?.finds.map(({ place, title }) => `${place}: ${title}`) || [];
    /** How many tags each layer has above and below. @type {Map<string, number>} */
    const tags = new Map();
    /** @param {number[]} cells @param {number} side @param {string} rule */
    const dockAll = (cells, side, rule) =>
      cells.flatMap((layer, entry) => {
        const area = areas.get(layer);
        const place = `${layer} ${isAbove(entry)}`;
        const number = tags.get(place) || 0;
        tags.set(place, number + 1);
        return area ? [dock(titles(rule)[entry] || rule, side, entry, area, k, number)] : [];
      });
    const rival = attempt.rival;
    docks = dockAll(attempt.cells, 0, hull.lens?.rule || "");
    if (rival) docks.push(...dockAll(rival.cells, 1, rival.rule));
    blamed = [];
    for (let at = 0; at + 1 < attempt.lines.length; at += 2) {
      const [from, to] = [areas.get(attempt.lines[at]), areas.get(attempt.lines[at + 1])];
      if (from && to) blamed.push(line(from, to));
    }
    const refused = attempt.cells.length - 1;
    const sign =
      hull.kind === "near-miss" ? signOf(hull.lens?.sign || "", areas.get(attempt.cells[refused]), k, refused) : [];
    blamed.push(...sign);
    const frames = (hull.lens?.whatIf?.matches || []).flat().flatMap((layer) => areas.get(layer) ?? []);
    others.replaceChildren(
      ...frames.map(({ x, y, w, h }) =>
        s("rect", { x: x - PAD / k, y: y - PAD / k, width: w + (2 * PAD) / k, height: h + (2 * PAD) / k, rx: 4 / k }),
      ),
    );
    element.replaceChildren(others, ...blamed, ...docks.map(({ group }) => group));
  }

  /**
   * The reason in a few words, below the layer that refused.
   * @param {string} words @param {Area | undefined} area @param {number} k @param {number} entry
   */
  function signOf(words, area, k, entry) {
    if (!area || !words) return [];
    const width = textWidth(`✕ ${words}`, SIZE, true) + 14;
    const below = isAbove(entry) ? 0 : TAG;
    const place = `translate(${area.x + area.w / 2} ${area.y + area.h}) scale(${1 / k}) translate(0 ${below})`;
    const rect = s("rect", { x: -width / 2, y: 8, width, height: 20, rx: 5 });
    return [
      s(
        "g",
        { class: "ce-blamed-sign", transform: place },
        rect,
        s("text", { x: 0, y: 22, "font-size": SIZE, text: `✕ ${words}` }),
      ),
    ];
  }

  return {
    element,
    /**
     * Draw the first beats of a match; entries that have not docked yet wait at `home`.
     * @param {Picture | null} picture @param {Hull | null} hull @param {{match: number, beats: number, otherwise: boolean}} lens
     * @param {{k: number, home: {x: number, y: number}}} look
     */
    draw(picture, hull, { match, beats, otherwise }, { k, home }) {
      const attempt = hull && attemptOf(hull, match);
      if (!picture || !hull || !attempt) {
        if (drawn) element.replaceChildren();
        drawn = "";
        return;
      }
      const key = `${picture.step} ${picture.mode} ${hull.id} ${match} ${k}`;
      if (key !== drawn) build(picture, hull, attempt, k);
      drawn = key;
      const all = beatsOf(attempt, picture.rules.get(hull.lens?.rule || ""), hull.kind === "near-miss");
      const past = all.slice(0, beats);
      const failed = past.some(({ passed }) => !passed);
      for (const { side, entry, area, group } of docks) {
        const docked = past.some((beat) => beat.side === side && beat.entry === entry);
        const refused = failed && side === 0 && entry === attempt.cells.length - 1;
        const kind = side ? (hull.kind === "lost" ? "winner" : "lost") : refused ? "refused" : hull.kind;
        group.setAttribute("class", `ce-dock ce-dock-${kind}${docked ? "" : " ce-waiting"}`);
        const way = docked ? "none" : `translate(${home.x - area.x}px,${home.y - area.y}px)`;
        group.style.setProperty("transform", way);
      }
      others.setAttribute("visibility", otherwise ? "visible" : "hidden");
      for (const item of blamed) item.setAttribute("visibility", failed ? "visible" : "hidden");
    },
  };
}

export const STYLE = `
.ce-plates .ce-hidden{visibility:hidden}
.ce-dock{transition:transform .38s ease-in-out,opacity .2s}
.ce-dock.ce-waiting{opacity:0}
.ce-dock-frame{fill:none;stroke:var(--ce-fg);stroke-width:3px;vector-effect:non-scaling-stroke}
.ce-dock-tag rect{fill:var(--ce-panel);stroke:var(--ce-fg);stroke-width:1.2px}
.ce-stage .ce-dock-tag text,.ce-stage .ce-blamed-sign text{dominant-baseline:auto;text-anchor:middle;font-weight:600;fill:var(--ce-fg)}
.ce-dock-refused .ce-dock-frame,.ce-dock-refused .ce-dock-tag rect{stroke:var(--ce-nearMiss);stroke-width:4.5px}
.ce-dock-refused .ce-dock-tag rect{stroke-width:2px}
.ce-dock-lost .ce-dock-frame,.ce-dock-lost .ce-dock-tag rect{stroke:var(--ce-lost);stroke-dasharray:5 4}
.ce-otherwise rect{fill:none;stroke:var(--ce-matched);stroke-width:3px;stroke-dasharray:6 4;vector-effect:non-scaling-stroke}
.ce-blamed{fill:none;stroke:var(--ce-nearMiss);stroke-width:5px;vector-effect:non-scaling-stroke}
.ce-blamed-sign rect{fill:var(--ce-panel);stroke:var(--ce-nearMiss);stroke-width:2px}
`;
