/** The pointer on a pane: hovering, dragging, clicking, and the wheel. */

import { focusedIn, scrollerOf } from "../shared/elements.js";
import { list } from "../shared/reading.js";
import { clock } from "../shared/timing.js";
import { edgeAt } from "../picture/near.js";
import { cellAt } from "../plates/cells.js";
import { guessOf, isAlive, isLifeAwaited, layersOf } from "../parts/state.js";
import { boxAt, pointOf } from "./camera_views.js";

/**
 * @import { Pane } from "../parts/stage.js"
 * @import { Camera, Point } from "../picture/types.js"
 */

/** A pointer that moves less than this is a click. */
const DRAG = 4;
/** Pixels between the pointer and a line that it names. */
const REACH = 5;
/** Zoom per unit of the wheel, and of a pinch. */
const [WHEEL, PINCH] = [0.0016, 0.008];
/** Events of the wheel that follow each other this fast are one turn. */
const TURN_MS = 200;

/** @param {import("../graph.js").Page} page */
export function makePointing({
  ui: { guard },
  store,
  root,
  stage,
  camera,
  selecting,
  attempts,
  hint,
  closingUp,
  living,
  saving,
}) {
  const { state } = store;
  /** The box that a double click has opened. */
  let opened = "";
  /** Where the pane of the last turn of the wheel is; to read it in each frame makes the browser lay out the page. */
  let wheeled = { element: /** @type {any} */ (null), rect: { left: 0, top: 0 }, at: -Infinity };

  /** @param {any} event @param {Pane} pane @returns {Point} */
  function pointIn(event, { element }, rect = element.getBoundingClientRect()) {
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  }

  /** @param {Point} at @param {Pane} pane */
  const hit = (at, { picture, scene }) =>
    picture && (scene.hit ? scene.hit(at) : boxAt(picture, state.camera, at, stage.viewport()));

  /** @param {Point} at @param {Pane} pane */
  function cellUnder(at, pane) {
    const box = hit(at, pane);
    const { x, y } = pointOf(state.camera, at, stage.viewport());
    return box?.plate ? cellAt(box, x, y) : null;
  }

  /** @param {Point} at @param {Pane} pane @param {any} target the element there */
  function hover(at, pane, target) {
    const box = hit(at, pane);
    const point = pointOf(state.camera, at, stage.viewport());
    const cell = cellUnder(at, pane);
    store.set({ hover: box ? box.id : "", cell: cell ? cell.index : -1 });
    const edge = !box && pane.picture && !pane.scene.hit ? edgeAt(pane.picture, point, REACH / state.camera.k) : null;
    const tip = pane.scene.tipAt?.(at, target);
    if (guessOf(state)) hint.hide();
    else if (tip) hint.showWords(tip, at, pane.element);
    else if (box) hint.show(box, at, pane.element, cell ? cell.index : -1, cell ? living.words(cell.layer) : []);
    else if (edge) hint.showEdge(edge, at, pane.element);
    else hint.hide();
  }

  function leave() {
    store.set({ hover: "", cell: -1 });
    hint.hide();
  }

  /**
   * Select the box and the layer, or light the match, that was clicked.
   * @param {any} event @param {Pane} pane @param {import("../plates/cells.js").Cell | null} cell the one at the pointer
   */
  function click(event, pane, cell) {
    const layerOf = (/** @type {string} */ id) => (cell?.box.id === id ? cell.layer : -1);
    const add = event.shiftKey || event.ctrlKey || event.metaKey;
    for (let target = event.target; target && target !== pane.element; target = target.parentNode) {
      const pin = target.getAttribute && target.getAttribute("data-pin");
      if (pin) return attempts.play(pin);
      const hull = target.getAttribute && target.getAttribute("data-hull");
      if (hull && target.getAttribute("class").includes("ce-tag")) return selecting.light(hull);
      const action = pane.scene.actionOf?.(target);
      if (action?.rect) return camera.show(action.rect);
      if (action?.pair.length) return selecting.select(action.pair);
      const id = target.getAttribute && target.getAttribute("data-id");
      if (id && target !== pane.scene.stage) return selecting.choose(id, add, layerOf(id));
    }
    const box = hit(pointIn(event, pane), pane);
    if (box) return selecting.choose(box.id, add, layerOf(box.id));
    if (add) return undefined; // beside what was to be added: the selection stays
    if (state.options.many !== true) selecting.select([]);
    if (state.hull) selecting.light("");
    return undefined;
  }

  /**
   * Open the box that was double-clicked: several layers of a graph as a plate with a cell for each, any other box by
   * zooming to it; a second time, show everything again.
   * @param {any} event @param {Pane} pane
   */
  function open(event, pane) {
    const box = hit(pointIn(event, pane), pane);
    if (!box || state.options.many === true) return;
    selecting.select([box.id]);
    const groups = list(state.options.groups);
    const asPlate = !groups.length || groups.includes("plates");
    if (box.count > 1 && !box.plate && asPlate) {
      saving.setView({ group_by: "plates" });
    } else if (opened === box.id) {
      opened = "";
      camera.fit();
    } else {
      opened = box.id;
      camera.focusOrFit();
    }
  }

  /**
   * The wheel scrolls the page until the user has clicked into the view; it zooms at once if the view is the main
   * content of a page that need not scroll. Pinching and Ctrl always zoom.
   * @param {any} event @param {Pane} pane
   */
  function wheel(event, pane) {
    const zooms = event.ctrlKey || event.metaKey || (state.options.main === true && !scrollerOf(root));
    if (!zooms && !root.contains(focusedIn(root))) return;
    event.preventDefault();
    const { element } = pane;
    const isOne = wheeled.element === element && clock() - wheeled.at < TURN_MS;
    wheeled = { element, rect: isOne ? wheeled.rect : element.getBoundingClientRect(), at: clock() };
    camera.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? PINCH : WHEEL)), pointIn(event, pane, wheeled.rect));
  }

  /** Listen to the pointer on a pane. @param {Pane} pane */
  function attach(pane) {
    const { element } = pane;
    /** @type {{x: number, y: number, camera: Camera, moved: boolean} | null} */
    let drag = null;
    let dragged = false;
    /** @param {string} type @param {(event: any) => void} action @param {object} [options] */
    const on = (type, action, options) => element.addEventListener(type, guard(action), options);

    /** The cell at the pointer, and where in it that is. @param {any} event @returns {import("./living.js").Spot} */
    function spot(event) {
      const at = pointIn(event, pane);
      const cell = cellUnder(at, pane);
      const { x, y } = pointOf(state.camera, at, stage.viewport());
      const across = cell ? (x - cell.area.x) / cell.area.w : 0;
      return { cell, across, height: cell ? 1 - (y - cell.area.y) / cell.area.h : 0, erases: event.shiftKey === true };
    }
    /** @param {any} event */
    function capture(event) {
      if (element.setPointerCapture && event.pointerId !== undefined) element.setPointerCapture(event.pointerId);
    }
    /** @param {any} event */
    function move(event) {
      if (event.buttons !== undefined && !(event.buttons & 1)) living.end(); // it was released elsewhere
      if (living.isPainting()) return living.stroke(spot(event));
      if (drag && event.buttons !== undefined && !(event.buttons & 1)) drag = null;
      if (!drag) return hover(pointIn(event, pane), pane, event.target);
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < DRAG) return;
      if (!drag.moved) capture(event);
      drag.moved = true;
      element.setAttribute("class", "ce-view ce-dragging");
      const { k, x, y } = drag.camera;
      camera.moveTo({ k, x: x - dx / k, y: y - dy / k });
      hint.hide();
    }
    function release() {
      dragged = living.end() || Boolean(drag && drag.moved) || (dragged && !drag);
      drag = null;
      element.setAttribute("class", "ce-view");
    }
    on("pointerdown", (event) => {
      if (event.button) return;
      dragged = isLifeAwaited(state); // a stroke that comes too early neither moves the picture nor selects
      if (dragged) return;
      if (isAlive(state) && living.begin(spot(event))) {
        hint.hide();
        return capture(event);
      }
      drag = { x: event.clientX, y: event.clientY, camera: state.camera, moved: false };
    });
    on("pointermove", move);
    on("pointerup", release);
    on("pointercancel", release);
    on("pointerleave", () => {
      if (!drag) leave();
    });
    on("click", (event) => {
      if (!dragged) {
        hint.hide();
        const cell = cellUnder(pointIn(event, pane), pane);
        click(event, pane, cell);
        const isPicked = cell && (cell.layer < 0 || layersOf(state).includes(cell.layer));
        closingUp.pickSlice(isPicked ? cell.index : -1);
      }
      dragged = false;
    });
    on("dblclick", (event) => open(event, pane));
    on("wheel", (event) => wheel(event, pane), { passive: false });
    on("focusin", (event) => {
      const id = event.target.getAttribute && event.target.getAttribute("data-id");
      if (id) store.set({ focus: id });
    });
  }

  return { attach };
}
