/** Selecting boxes, and lighting one match after the other. */

import { focusedIn } from "../shared/elements.js";
import { lensHull } from "../plates/lens.js";
import { boxOf, guessOf, isDrawer } from "../parts/state.js";

/** The id of the first match of a step, in the state before it. */
const FIRST = "hull-0";

/** @param {readonly string[]} a @param {readonly string[]} b */
export const isSame = (a, b) => a.length === b.length && a.every((item, index) => item === b[index]);

/**
 * @param {import("../parts/ui.js").Ui} ui @param {import("../parts/state.js").Store} store
 * @param {import("./saving.js").Saving} saving
 * @param {{root: any, stage: import("../parts/stage.js").Stage, camera: import("./camera.js").CameraControl, lit(): string,
 *   guessing: import("./guessing.js").Guessing}} page
 * `lit`: what the pager says about the lit match
 */
export function makeSelecting({ announce }, store, { save, setView }, { root, stage, camera, lit, guessing }) {
  const { state } = store;

  /** @param {string[]} ids */
  function select(ids) {
    if (isSame(ids, state.selection) || guessOf(state)) return;
    camera.forgetFocus();
    if (!ids.length !== !state.selection.length && !isDrawer(state)) store.set({ showSide: false });
    store.set({ selection: ids, slice: -1 });
    save({ selection: ids });
  }

  /** Select a box; select it no longer if it was alone. @param {string} id @param {boolean} add to the others */
  function choose(id, add) {
    const { selection } = state;
    store.set({ focus: id });
    guessing.toggle(id);
    if (!add && state.options.many !== true) select(selection.length === 1 && selection[0] === id ? [] : [id]);
    else select(selection.includes(id) ? selection.filter((other) => other !== id) : [...selection, id]);
    const active = focusedIn(root);
    const elsewhere = active && active !== root && root.contains(active) && !stage.hasFocus();
    if (!elsewhere) stage.focus(id);
  }

  /**
   * Light a match, and select its boxes unless the rule lens shows it; light none if it was lit.
   * @param {string} id @param {number} [match] the one among those of the hull that the rule lens shows
   */
  function light(id, match = 0) {
    const hull = id === state.hull && match === state.match ? "" : id;
    store.set({ hull, match });
    setView({ hull, match });
    const shown = state.picture?.stops.find((item) => item.id === hull);
    if (!shown) return;
    camera.reveal(shown.boxes[0]);
    announce(lit());
    select(shown.lens ? [] : shown.boxes.map((box) => box.id));
  }

  /** Whether the state before the step has matches or near misses that this picture, the state after, does not show. */
  const hasStopsBefore = () => {
    const { picture, steps, step, options } = state;
    const modes = Array.isArray(options.modes) ? options.modes : [];
    if (picture?.groupBy !== "plates" || (modes.length && !modes.includes("before"))) return false;
    return Boolean(picture.matches.length || steps[step]?.nearMisses);
  };

  /** Why there is no match to go to. */
  function missing() {
    const { picture, steps, step } = state;
    if (picture?.groupBy === "plates" && (picture.matches.length || steps[step]?.nearMisses)) {
      return "The matches of this step are on the state before it, which is not shown here.";
    }
    return "This step has no matches and no near misses.";
  }

  /** @param {string} notice */
  function say(notice) {
    store.set({ notice });
    announce(notice);
  }

  return {
    select,
    choose,
    light,
    /** Light the next match. @param {number} way */
    turn(way) {
      const stops = state.picture ? state.picture.stops : [];
      // What plates show as the difference is the state after: matches are on the state before.
      if (!stops.length && hasStopsBefore()) setView({ mode: "before", hull: FIRST, match: 0 });
      if (!stops.length) {
        if (!hasStopsBefore()) say(missing());
        return;
      }
      const at = stops.findIndex((hull) => hull.id === state.hull);
      const next = at < 0 ? (way > 0 ? 0 : stops.length - 1) : (at + way + stops.length) % stops.length;
      if (next !== at) light(stops[next].id);
    },
    /** Show the next match of the lit hull, then those of the next hull. @param {number} way */
    turnMatch(way) {
      const stops = (state.picture?.stops || []).filter((stop) => stop.lens);
      const hull = lensHull(state.picture, state.hull);
      if (!hull) return;
      const at = stops.indexOf(hull);
      const match = state.match + way;
      const last = (hull.lens?.attempts.length || 1) - 1;
      if (match >= 0 && match <= last) return light(hull.id, match);
      const next = stops[(at + way + stops.length) % stops.length];
      light(next.id, way > 0 ? 0 : (next.lens?.attempts.length || 1) - 1);
    },
    /** Bring a box into view, and select it. @param {string} id @param {boolean} selected */
    goTo(id, selected) {
      camera.reveal(boxOf(state, id));
      if (selected) select([id]);
    },
  };
}
/** @typedef {ReturnType<typeof makeSelecting>} Selecting */
