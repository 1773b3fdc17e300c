/** Moving the camera: by the user, and by itself as long as the user has not moved it. */

import { around } from "../picture/shapes.js";
import { number } from "../shared/reading.js";
import { matchesMedia } from "../shared/theme.js";
import { clock, ease, frameOf, unframe } from "../shared/timing.js";
import { automatic, between, revealing, showing, showsAll, staying, unionOf, whole, zoomedTo } from "./camera_views.js";
import { boxOf, inspectedBox, isAsking, picturesOf, rootsOf } from "../parts/state.js";

/** @import { Box, Camera, Picture, Point } from "../picture/types.js" */

/** After the last movement the view is saved. */
const SAVE_MS = 400;
const [MIN_ZOOM, MAX_ZOOM] = [0.01, 4];
const FOCUS_PAD = 60;

/** @param {number} value */
const rounded = (value) => Math.round(value * 1000) / 1000;

/** @param {import("../graph.js").Page} page */
export function makeCamera({ ui: { guard, timers }, store, saving: { setView }, stage, root }) {
  const { state } = store;
  /** Whether the camera moves by itself. */
  let auto = true;
  /** Whether it shows the selection. */
  let focused = false;
  /** Whether a box was selected in this picture: then it stays where it is while parts open around the stage, if it fits. */
  let held = false;
  /** The size of the view and of its window. */
  let room = { width: 0, height: 0, window: 0 };
  let moving = 0;

  /** Parts that were drawn just now may have changed the size. */
  const measured = () => {
    stage.measure();
    return stage.viewport();
  };
  const wholeView = () => whole(picturesOf(state), measured());
  const automaticView = () => automatic(picturesOf(state), measured(), isAsking(state), keptInView());

  /** The selected boxes, and with them the root: they stay in view when a part opens below the picture. */
  function keptInView() {
    const selected = state.selection.flatMap((id) => boxOf(state, id) ?? []);
    return selected.length ? [...selected, ...rootsOf(state.picture)] : [];
  }

  /** Record the size; return whether the host or the window changed it, and not only a part that opened or closed. */
  function recordSize() {
    const before = room;
    room = {
      width: root.clientWidth,
      height: root.clientHeight,
      window: root.ownerDocument.defaultView?.innerHeight ?? 0,
    };
    return room.width !== before.width || room.window !== before.window || room.height < before.height;
  }

  function stop() {
    if (moving) unframe(moving);
    moving = 0;
  }

  /** The picture is at once as it will be. */
  function arrive() {
    stop();
    stage.frame(1);
    root.setAttribute("data-moving", "false");
  }

  /** Move as the user wants, even while the picture moves; from now on the camera stays there. @param {Camera} camera */
  function moveTo(camera) {
    if (moving) arrive();
    auto = false;
    store.set({ camera });
    timers.after("zoom", SAVE_MS, () => {
      const { k, x, y } = state.camera;
      setView({ zoom: { k: rounded(k), x: rounded(x), y: rounded(y) } });
    });
  }

  /** @param {number} by @param {Point} [at] point in the viewport that stays fixed */
  function zoom(by, at) {
    const viewport = stage.viewport();
    const k = Math.min(
      MAX_ZOOM,
      Math.max(Math.min(MIN_ZOOM, whole(picturesOf(state), viewport).k), state.camera.k * by),
    );
    moveTo(zoomedTo(state.camera, k, at || { x: viewport.width / 2, y: viewport.height / 2 }, viewport));
  }

  /** From now on the camera moves by itself. */
  function release() {
    focused = held = false;
    auto = true;
    timers.cancel("zoom");
  }

  /** Show everything; from now on the camera moves by itself. */
  function fit() {
    if (moving) arrive();
    release();
    store.set({ camera: wholeView() });
    setView({ zoom: null });
  }

  function focusOrFit() {
    const boxes = state.selection.flatMap((id) => boxOf(state, id) ?? []);
    if (focused || !boxes.length) {
      fit();
      return;
    }
    focused = true;
    moveTo(showing(unionOf(boxes.map((box) => around(box, FOCUS_PAD))), measured()));
  }

  /** Move the picture from one step to the next, and the camera with it. @param {Picture | null} before */
  function animate(before) {
    held = false;
    const start = state.camera;
    const target = auto ? automaticView() : start;
    stop();
    const still =
      !before || !state.picture || state.options.animate === false || matchesMedia("(prefers-reduced-motion: reduce)");
    /** @param {number} t */
    const at = (t) => {
      stage.frame(t);
      // The stage may have another size by now.
      store.set({
        camera: t >= 1 ? (auto ? automaticView() : target) : between(start, target, ease(stage.progress(t))),
      });
    };
    if (still) {
      at(1);
      root.setAttribute("data-moving", "false");
      return;
    }
    const lasts = stage.lasts();
    let began = 0;
    const next = guard(() => {
      began ||= clock(); // what is drawn for the first frame may take longer than some frames
      const t = Math.min(1, (clock() - began) / lasts);
      moving = t < 1 ? frameOf(next) : 0; // before the stage asks for a frame, which then paints what this one sets
      at(t);
      root.setAttribute("data-moving", String(t < 1));
    });
    at(0);
    root.setAttribute("data-moving", "true");
    moving = frameOf(next);
    // A page in the background paints no frames: finish without them.
    timers.after("arrive", lasts + 200, () => {
      if (!moving) return;
      stop();
      at(1);
      root.setAttribute("data-moving", "false");
    });
  }

  return {
    stop,
    moveTo,
    zoom,
    fit,
    release,
    focusOrFit,
    animate,
    /** Show a part of the picture; from now on the camera stays there. @param {import("../picture/types.js").Rect} rect */
    show(rect) {
      moveTo(showing(rect, measured()));
    },
    whole: () => whole(picturesOf(state), stage.viewport()),
    /** Bring a box into view. @param {Box | undefined} box */
    reveal(box) {
      const camera = box && revealing(box, state.camera, measured());
      if (camera) moveTo(camera);
    },
    /** The selection has changed: `f` shows it, and the picture stays where it is. @param {string[]} selection */
    keepStill(selection) {
      focused = false;
      held = selection.length > 0;
    },
    /** Go where a view was saved. @param {Record<string, any>} zoom */
    restore({ k, x, y }) {
      if (moving) arrive();
      auto = false;
      stage.measure();
      store.set({ camera: { k: number(k, 1), x: number(x), y: number(y) } });
    },
    /** The size of the stage has changed. */
    settle() {
      if (!state.picture) return;
      const [isResized, { width, height }] = [recordSize(), stage.viewport()];
      stage.measure();
      if (held && !isResized && !moving && !stage.viewport().row) {
        const still = staying(state.camera, { width, height }, stage.viewport(), inspectedBox(state));
        const arePlates = state.picture.groupBy === "plates"; // they are few: the next one can be selected
        const fits = !auto || !arePlates || showsAll(still, stage.viewport(), state.picture.boxes);
        store.set({ camera: fits ? still : automaticView() });
      } else if (auto && !moving) store.set({ camera: automaticView() });
      stage.look();
    },
  };
}
/** @typedef {ReturnType<typeof makeCamera>} CameraControl */
