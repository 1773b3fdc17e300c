/** The entries of a rule docking onto the cells that they bind, as SVG elements above the plates. */

import { textWidth } from "../shared/measuring.js";
import { cellsArea, meet } from "./titles.js";
import { allCells } from "./cells.js";
import { attemptOf, beatsOf } from "./lens.js";

/**
 * @import { Attempt, Hull, Picture, Rect } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 * @import { Area, Cell } from "./cells.js"
 */

/** @typedef {{side: number, entry: number, area: Area, group: any, line: any}} Dock */

/** Size of the words of a tag, and its height, in pixels of the screen. */
const [SIZE, TAG] = [12, 18];
const PAD = 3;
/** Distance of a tag from its cell, if words or other tags leave room there, and from these. */
const [NEAR, APART] = [6, 2];
/** A tag that would be further away than this covers what is there. */
const FAR = 120;

/** How much of a tag is at one side of its line, where it is not in the middle. */
const END = 10;

/**
 * Where a tag is above or below a point: how far, in pixels of the screen, and how far to the right. It is next to the point,
 * or to one side or beyond where words and tags are.
 * @param {{x: number, y: number}} at @param {number} width @param {boolean} above @param {number} k
 * @param {Rect[]} taken areas of words and of tags, to which the area of this one is added
 */
export function freePlace({ x, y }, width, above, k, taken) {
  /** @param {number} distance @param {number} right @returns {Rect} */
  const areaAt = (distance, right) => {
    const [near, far] = [y + ((above ? -1 : 1) * distance) / k, y + ((above ? -1 : 1) * (distance + TAG)) / k];
    const [l, r] = [right - width / 2, right + width / 2].map((end) => x + end / k);
    return { l, t: Math.min(near, far), r, b: Math.max(near, far) };
  };
  const aside = width / 2 - END;
  let best = { distance: FAR, right: 0 };
  for (const right of [0, -aside, aside]) {
    let distance = NEAR;
    while (distance < best.distance && taken.some((area) => meet(areaAt(distance, right), area))) distance += 1;
    if (distance < best.distance) best = { distance, right };
  }
  if (best.distance >= FAR) best.distance = NEAR;
  const { l, t, r, b } = areaAt(best.distance, best.right);
  taken.push({ l: l - APART / k, t: t - APART / k, r: r + APART / k, b: b + APART / k });
  return best;
}

/** Whether the tag of an entry is above its cell: where its plate ends sooner, else by turns. @param {Cell} cell @param {number} entry */
function isAbove({ area, box }, entry) {
  const off = area.y + area.h / 2 - box.y;
  return Math.abs(off) > 1 ? off < 0 : entry % 2 === 0;
}

/** @type {WeakMap<Picture, Map<number, Cell>>} */
const known = new WeakMap();

/** The cell of each layer. @param {Picture} picture @returns {Map<number, Cell>} */
function cellsByLayer(picture) {
  const before = known.get(picture);
  if (before) return before;
  const cells = new Map(allCells(picture).map((cell) => [cell.layer, cell]));
  known.set(picture, cells);
  return cells;
}

/** @param {Make} make */
export function makeDocking({ s }) {
  const element = s("g", { class: "ce-docks", "aria-hidden": "true" });
  const lines = s("g", { "aria-hidden": "true" });
  /** What is drawn, and around which words. */
  let drawn = "";
  /** @type {readonly Rect[]} */
  let around = [];
  /** @type {Dock[]} */
  let docks = [];
  /** @type {any[]} */
  let blamed = [];
  /** The frames of what would match if the lit near miss were not refused. */
  const others = s("g", { class: "ce-otherwise" });

  /**
   * Words in a frame above or below a point of a cell, and a line to it, which is behind the words of plates.
   * @param {{x: number, y: number}} at @param {string} words @param {boolean} above @param {number} k @param {Rect[]} taken
   */
  function tagAt(at, words, above, k, taken) {
    const width = textWidth(words, SIZE, true) + 12;
    const { distance, right } = freePlace(at, width, above, k, taken);
    const top = above ? -distance - TAG : distance;
    const tag = s(
      "g",
      { transform: `translate(${at.x} ${at.y}) scale(${1 / k})`, class: "ce-dock-tag" },
      s("rect", { x: right - width / 2, y: top, width, height: TAG, rx: 5 }),
      s("text", { x: right, y: top + 13, "font-size": SIZE, text: words }),
    );
    const line = s("path", { class: "ce-dock-line", d: `M${at.x} ${at.y}v${(above ? -distance : distance) / k}` });
    return { tag, line };
  }

  /**
   * The frame of an entry and its tag, above or below the plate.
   * @param {string} words @param {number} side @param {number} entry @param {Cell} cell @param {number} k @param {Rect[]} taken
   */
  function dock(words, side, entry, cell, k, taken) {
    const { area } = cell;
    const above = isAbove(cell, entry);
    const pad = (PAD + (side ? 4 : 0)) / k;
    const frame = { x: area.x - pad, y: area.y - pad, width: area.w + 2 * pad, height: area.h + 2 * pad, rx: 4 / k };
    const y = above ? area.y - pad : area.y + area.h + pad;
    const { tag, line } = tagAt({ x: area.x + area.w / 2, y }, words, above, k, taken);
    const group = s("g", { class: "ce-dock" }, s("rect", { ...frame, class: "ce-dock-frame" }), tag);
    return { side, entry, area, group, line };
  }

  /** @param {Area} from @param {Area} to */
  function line(from, to) {
    const [x1, y1, x2, y2] = [from.x + from.w, from.y + from.h / 2, to.x, to.y + to.h / 2];
    const bend = Math.max(12, Math.abs(x2 - x1) / 2);
    return s("path", { class: "ce-blamed", d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
  }

  /**
   * @param {Picture} picture @param {Hull} hull @param {Attempt} attempt @param {number} k @param {readonly Rect[]} words areas
   * that tags do not cover
   */
  function build(picture, hull, attempt, k, words) {
    const taken = [...words];
    const cells = cellsByLayer(picture);
    const areaOf = (/** @type {number} */ layer) => cells.get(layer)?.area;
    taken.push(...picture.boxes.filter(({ plate }) => plate).map(cellsArea));
    const titles = (/** @type {string} */ name) =>
      picture.rules.get(name)?.finds.map(({ place, title }) => `${place} ${title}`) || [];
    /** @param {number[]} layers @param {number} side @param {string} rule */
    const dockAll = (layers, side, rule) =>
      layers.flatMap((layer, entry) => {
        const cell = cells.get(layer);
        return cell ? [dock(titles(rule)[entry] || rule, side, entry, cell, k, taken)] : [];
      });
    const rival = attempt.rival;
    docks = dockAll(attempt.cells, 0, hull.lens?.rule || "");
    if (rival) docks.push(...dockAll(rival.cells, 1, rival.rule));
    blamed = [];
    for (let at = 0; at + 1 < attempt.lines.length; at += 2) {
      const [from, to] = [areaOf(attempt.lines[at]), areaOf(attempt.lines[at + 1])];
      if (from && to) blamed.push(line(from, to));
    }
    const area = areaOf(attempt.cells[attempt.cells.length - 1]);
    const reason = hull.kind === "near-miss" ? hull.lens?.sign : "";
    const sign = area && reason ? signOf(reason, area, k, taken) : null;
    if (sign) blamed.push(sign.group);
    const frames = (hull.lens?.whatIf?.matches || []).flat().flatMap((layer) => areaOf(layer) ?? []);
    others.replaceChildren(
      ...frames.map(({ x, y, w, h }) =>
        s("rect", { x: x - PAD / k, y: y - PAD / k, width: w + (2 * PAD) / k, height: h + (2 * PAD) / k, rx: 4 / k }),
      ),
    );
    element.replaceChildren(others, ...blamed, ...docks.map(({ group }) => group));
    lines.replaceChildren(...docks.map(({ line }) => line), ...(sign ? [sign.line] : []));
    if (sign) blamed.push(sign.line);
  }

  /**
   * The reason in a few words, below the layer that refused.
   * @param {string} words @param {Area} area @param {number} k @param {Rect[]} taken
   */
  function signOf(words, area, k, taken) {
    const at = { x: area.x + area.w / 2, y: area.y + area.h };
    const { tag, line } = tagAt(at, `✕ ${words}`, false, k, taken);
    return { group: s("g", { class: "ce-blamed-sign" }, tag), line };
  }

  return {
    element,
    lines,
    /**
     * Draw the first beats of a match; entries that have not docked yet wait at `home`.
     * @param {Picture | null} picture @param {Hull | null} hull @param {{match: number, beats: number, otherwise: boolean}} lens
     * @param {{k: number, home: {x: number, y: number}, words: readonly Rect[]}} look  `words`: areas that tags do not cover
     */
    draw(picture, hull, { match, beats, otherwise }, { k, home, words }) {
      const attempt = hull && attemptOf(hull, match);
      if (!picture || !hull || !attempt) {
        if (drawn) for (const layer of [element, lines]) layer.replaceChildren();
        drawn = "";
        return;
      }
      const key = `${picture.step} ${picture.mode} ${hull.id} ${match} ${k}`;
      if (key !== drawn || words !== around) build(picture, hull, attempt, k, words);
      [drawn, around] = [key, words];
      const all = beatsOf(attempt, picture.rules.get(hull.lens?.rule || ""), hull.kind === "near-miss");
      const past = all.slice(0, beats);
      const failed = past.some(({ passed }) => !passed);
      for (const { side, entry, area, group, line } of docks) {
        const docked = past.some((beat) => beat.side === side && beat.entry === entry);
        const refused = failed && side === 0 && entry === attempt.cells.length - 1;
        const kind = side ? (hull.kind === "lost" ? "winner" : "lost") : refused ? "refused" : hull.kind;
        group.setAttribute("class", `ce-dock ce-dock-${kind}${docked ? "" : " ce-waiting"}`);
        const way = docked ? "none" : `translate(${home.x - area.x}px,${home.y - area.y}px)`;
        group.style.setProperty("transform", way);
        line.setAttribute("visibility", docked ? "visible" : "hidden");
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
.ce-dock-line{stroke:var(--ce-fg);stroke-width:1.2px;vector-effect:non-scaling-stroke}
.ce-stage .ce-dock-tag text{dominant-baseline:auto;text-anchor:middle;font-weight:600;fill:var(--ce-fg)}
.ce-dock-refused .ce-dock-frame,.ce-dock-refused .ce-dock-tag rect{stroke:var(--ce-nearMiss);stroke-width:4.5px}
.ce-dock-refused .ce-dock-tag rect{stroke-width:2px}
.ce-dock-lost .ce-dock-frame,.ce-dock-lost .ce-dock-tag rect{stroke:var(--ce-lost);stroke-dasharray:5 4}
.ce-otherwise rect{fill:none;stroke:var(--ce-matched);stroke-width:3px;stroke-dasharray:6 4;vector-effect:non-scaling-stroke}
.ce-blamed{fill:none;stroke:var(--ce-nearMiss);stroke-width:5px;vector-effect:non-scaling-stroke}
.ce-blamed-sign .ce-dock-tag rect{stroke:var(--ce-nearMiss);stroke-width:2px}
`;
