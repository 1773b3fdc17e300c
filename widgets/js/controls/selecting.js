/** Selecting boxes, and lighting one match after the other. */

import { focusedIn } from "../shared/elements.js";
import { boxOf, isDrawer } from "../parts/state.js";

/** @param {readonly string[]} a @param {readonly string[]} b */
export const isSame = (a, b) => a.length === b.length && a.every((item, index) => item === b[index]);

/**
 * @param {import("../parts/ui.js").Ui} ui @param {import("../parts/state.js").Store} store
 * @param {import("./saving.js").Saving} saving
 * @param {{root: any, stage: import("../parts/stage.js").Stage, camera: import("./camera.js").CameraControl, lit(): string}}
 * page
 * `lit`: what the pager says about the lit match
 */
export function makeSelecting({ announce }, store, { save, setView }, { root, stage, camera, lit }) {
  const { state } = store;

  /** @param {string[]} ids */
  function select(ids) {
    if (isSame(ids, state.selection)) return;
    camera.forgetFocus();
    if (!ids.length !== !state.selection.length && !isDrawer(state)) store.set({ showSide: false });
    store.set({ selection: ids, slice: -1 });
    save({ selection: ids });
  }

  /** Select a box; select it no longer if it was alone. @param {string} id @param {boolean} add to the others */
  function choose(id, add) {
    const { selection } = state;
    store.set({ focus: id });
    if (!add && state.options.many !== true) select(selection.length === 1 && selection[0] === id ? [] : [id]);
    else select(selection.includes(id) ? selection.filter((other) => other !== id) : [...selection, id]);
    const active = focusedIn(root);
    const elsewhere = active && active !== root && root.contains(active) && !stage.hasFocus();
    if (!elsewhere) stage.focus(id);
  }

  /** Light a match and select its boxes; light none if it was lit. @param {string} id */
  function light(id) {
    const hull = id === state.hull ? "" : id;
    store.set({ hull });
    setView({ hull });
    const shown = state.picture?.hulls.find((item) => item.id === hull);
    if (!shown) return;
    camera.reveal(shown.boxes[0]);
    announce(lit());
    select(shown.boxes.map((box) => box.id));
  }

  return {
    select,
    choose,
    light,
    /** Light the next match. @param {number} way */
    turn(way) {
      const hulls = state.picture ? state.picture.hulls : [];
      // What plates show as the difference is the state after: matches are on the state before.
      if (!hulls.length && state.picture?.matches.length) setView({ mode: "before" });
      if (!hulls.length) return;
      const at = hulls.findIndex((hull) => hull.id === state.hull);
      const next = at < 0 ? (way > 0 ? 0 : hulls.length - 1) : (at + way + hulls.length) % hulls.length;
      light(hulls[next].id);
    },
    /** Bring a box into view, and select it. @param {string} id @param {boolean} selected */
    goTo(id, selected) {
      camera.reveal(boxOf(state, id));
      if (selected) select([id]);
    },
  };
}
/** @typedef {ReturnType<typeof makeSelecting>} Selecting */
