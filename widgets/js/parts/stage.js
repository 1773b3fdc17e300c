/** The stage: a pane for each picture, with its boxes as SVG elements or, if they are many, on a canvas. */

import { canvasScene } from "../scenes/canvas.js";
import { platesScene } from "../scenes/plates.js";
import { scoreScene } from "../scenes/score.js";
import { svgScene } from "../scenes/svg.js";
import { focusedIn } from "../shared/elements.js";
import { number } from "../shared/reading.js";
import { lensHull } from "../plates/lens.js";
import { isAlive, isPresenting, marksOf, picturesOf } from "./state.js";

/**
 * @import { Picture, Scene } from "../picture/types.js"
 * @import { Changed } from "./state.js"
 */

/** Above it, boxes are drawn on a canvas. */
const MAX_SVG_BOXES = 1000;

/** @typedef {{scene: Scene, element: any, title: any, picture: Picture | null, kind: keyof typeof SCENES}} Pane */

/** Height of the titles and buttons at the top of a pane. */
const INSET = 34;
/** Height of the tags of the rule lens above the titles of plates. */
const LENS_INSET = 26;
/** How long boxes move. */
const MOVE_MS = 320;
/** The smallest text of plates on the screen, in pixels, and on a slide. */
const [TEXT, SLIDE_TEXT] = [12, 16];
/** Plates are enlarged up to this scale, and more on a slide. */
const [MAX_FIT, SLIDE_FIT] = [1.2, 1.8];
const EMPHASIZED = /** @type {const} */ (["selection", "found", "lit", "hull", "hover", "focus", "cell"]);
const VALUES = /** @type {const} */ (["details", "closeup", "showCloseup", "values", "run"]);
const LENS = /** @type {const} */ ([
  "match",
  "docked",
  "showDone",
  "otherwise",
  "tried",
  "shut",
  "guess",
  "view",
  "steps",
]);
const LIFE = /** @type {const} */ (["alive", "believed"]);
const MARKS = [...EMPHASIZED, ...VALUES, ...LENS, ...LIFE];
/** How pictures are drawn. */
const SCENES = { plates: platesScene, score: scoreScene, canvas: canvasScene, svg: svgScene };

/** @param {import("../graph.js").Page} page */
export function makeStage(page) {
  const { root } = page;
  const { make, h } = page.ui;
  const { state } = page.store;
  const element = h("div", { class: "ce-views" });
  const emptyWords = h("span", { text: "Nothing to show yet." });
  const empty = h("div", { class: "ce-empty" }, emptyWords);
  /** @type {Pane[]} */
  let panes = [];
  /** While a host hides the view (scrolled out of a notebook) it has no size: keep the last one. */
  let lasts = MOVE_MS;
  const size = { width: 800, height: 320 };

  /** @param {keyof typeof SCENES} kind @returns {Pane} */
  function newPane(kind) {
    const scene = SCENES[kind](make, () => state.palette);
    const title = h("div", { class: "ce-view-title" });
    /** @type {Pane} */
    const pane = { scene, element: h("div", { class: "ce-view" }, scene.stage, title), title, picture: null, kind };
    page.pointing.attach(pane);
    return pane;
  }

  /** @param {Picture[]} shown */
  function matchPanes(shown) {
    const limit = number(state.options.svg_limit, MAX_SVG_BOXES);
    const kinds = shown.map(({ boxes, groupBy }) =>
      groupBy === "plates" || groupBy === "score" ? groupBy : boxes.length > limit ? "canvas" : "svg",
    );
    if (panes.length === shown.length && panes.every((pane, index) => pane.kind === kinds[index])) return;
    for (const pane of panes) pane.scene.close();
    panes = kinds.map(newPane);
    element.replaceChildren(...panes.map((pane) => pane.element));
  }

  function show() {
    const shown = picturesOf(state);
    const from = panes.map(({ scene }) => scene.places());
    matchPanes(shown);
    const twins = shown.length > 1 && shown[0].title === shown[1].title;
    panes.forEach((pane, index) => {
      const picture = shown[index];
      const { title, note, boxes } = picture;
      pane.picture = picture;
      pane.title.hidden = shown.length < 2;
      pane.title.textContent = twins || !title ? (index ? "After" : "Before") : title;
      const words = [title, note].filter(Boolean).join(". ");
      pane.scene.list.setAttribute("aria-label", `Graph, ${boxes.length} boxes. ${words}`);
      const shownTitle = pane.title.hidden ? "" : pane.title.textContent;
      lasts = pane.scene.show(picture, from[index] || from[0] || new Map(), shownTitle) || MOVE_MS;
    });
    const { picture } = state;
    empty.hidden = Boolean(picture && picture.boxes.length);
    emptyWords.textContent = picture ? picture.message || "Nothing to show here." : "Nothing to show yet.";
  }

  /** Draw as much as the camera sees. */
  function look() {
    const least = isPresenting(state) ? SLIDE_TEXT : TEXT;
    for (const { scene } of panes) scene.look(state.camera, size.width, size.height, least);
    root.setAttribute("data-zoom", state.camera.k.toFixed(3));
  }

  /** Read the size, which makes the browser lay out the page: not in each frame of a movement, nor for each part. */
  function measure() {
    size.width = panes[0]?.element.clientWidth || size.width;
    size.height = panes[0]?.element.clientHeight || size.height;
  }

  /** As it was measured last. @returns {import("../controls/camera_views.js").Viewport} */
  function viewport() {
    const lens = lensHull(state.picture, state.hull) ? LENS_INSET : 0;
    const inset = panes.length > 1 ? INSET : lens;
    const maxFit = isPresenting(state) ? SLIDE_FIT : MAX_FIT;
    return { ...size, panes: panes.length, inset, maxFit, row: panes[0]?.picture?.score?.left ?? 0 };
  }

  /** Whether the focus is in a picture. */
  const hasFocus = () => {
    const active = focusedIn(root);
    return Boolean(active && element.contains(active));
  };
  /** The box that has the focus. @returns {string} */
  const focusedBox = () => {
    const active = focusedIn(root);
    return hasFocus() && active.getAttribute ? active.getAttribute("data-id") || state.focus || "" : "";
  };
  /** @param {string} id */
  const paneOf = (id) => panes.find(({ picture }) => picture?.byId.has(id));

  return {
    element,
    empty,
    look,
    measure,
    viewport,
    hasFocus,
    focusedBox,
    reads: /** @type {const} */ (["picture", "palette", "camera", ...EMPHASIZED, ...VALUES, ...LENS, ...LIFE]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      const redrawn = changed.has("picture") || changed.has("palette");
      if (changed.has("picture")) show();
      else if (changed.has("palette")) for (const { scene } of panes) scene.recolour();
      if (redrawn || MARKS.some((name) => changed.has(name))) {
        const beliefs = isAlive(state) ? page.living.beliefOf : null;
        for (const { scene } of panes) scene.mark({ ...marksOf(state), beliefs });
      }
      if (redrawn || changed.has("camera")) look();
    },
    /** Draw the movement to the picture at progress `t`. @param {number} t */
    frame(t) {
      for (const { scene } of panes) scene.frame(t);
    },
    /** How long the movement to the picture takes, in milliseconds. */
    lasts: () => lasts,
    /** How far it is at `t`. @param {number} t */
    progress: (t) => panes[0]?.scene.progress?.(t) ?? t,
    /** Whether a pane shows a box. @param {string} id */
    has: (id) => Boolean(paneOf(id)),
    /** Put the focus on a box, else on the first; on the view if there is none. @param {string} id @param {number} [first] */
    focus(id, first = 0) {
      const pane = panes[first]?.picture?.byId.has(id) ? panes[first] : paneOf(id) || panes[0];
      const boxes = pane?.picture?.boxes || [];
      if (boxes.length) pane.scene.focus(paneOf(id) ? id : boxes[0].id);
      else root.focus();
    },
    /** The pane with the focus, or else the first. @returns {Pane | undefined} */
    currentPane: () => panes.find((pane) => pane.element.contains(focusedIn(root))) || panes[0],
    panes: () => panes,
    close() {
      for (const { scene } of panes) scene.close();
    },
  };
}
/** @typedef {ReturnType<typeof makeStage>} Stage */

export const STYLE = `
.ce-views{position:relative;display:flex;flex:1 1 auto;min-width:0;min-height:0}
.ce-view{position:relative;flex:1 1 0;min-width:0;min-height:0;overflow:hidden;cursor:grab;touch-action:none}
.ce-view+.ce-view{border-left:2px solid var(--ce-line)}
.ce-view.ce-dragging{cursor:grabbing}
.ce-view-title{position:absolute;left:10px;top:8px;padding:1px 8px;border-radius:5px;background:var(--ce-panel);border:1px solid var(--ce-line);font-weight:600;font-size:12px;pointer-events:none}
.ce-score~.ce-view-title{top:3px;padding:0 8px}
.ce-stage{position:absolute;inset:0;display:block;overflow:hidden}
.ce-root canvas.ce-canvas{position:absolute;inset:0;width:100%;height:100%;display:block}
.ce-empty{position:absolute;inset:0;display:flex;flex-direction:column;align-items:center;justify-content:center;gap:10px;padding:24px;text-align:center;color:var(--ce-muted);pointer-events:none}
`;
