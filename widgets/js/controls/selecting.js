/** Selecting boxes, and lighting one match after the other. */

import { focusedIn } from "../shared/elements.js";
import { lensHull } from "../plates/lens.js";
import { text } from "../shared/reading.js";
import { boxOf, guessOf, isDrawer, layersOf, withoutLens } from "../parts/state.js";

/** The id of the first match of a step, in the state before it. */
const FIRST = "hull-0";

/** @param {readonly (string | number)[]} a @param {readonly (string | number)[]} b */
export const isSame = (a, b) => a.length === b.length && a.every((item, index) => item === b[index]);

/** @param {import("../graph.js").Page} page */
export function makeSelecting(page) {
  const { store, root, stage, camera, guessing } = page;
  const { announce } = page.ui;
  const { setView } = page.saving;
  const { state } = store;

  /** @param {string[]} ids @param {number[]} [layers] those that were clicked in selected plates */
  function select(ids, layers = []) {
    const isNew = !isSame(ids, state.selection);
    if ((!isNew && isSame(layers, layersOf(state))) || guessOf(state)) return;
    if (isNew) {
      camera.keepStill(ids);
      if (!ids.length !== !state.selection.length && !isDrawer(state)) store.set({ showSide: false });
      store.set({ slice: -1 });
    }
    store.set({ selection: ids });
    setView({ layers }, isNew ? { selection: ids } : {});
  }

  /**
   * Select a box and, in a plate, the layer that was clicked; select it no longer if it was alone.
   * @param {string} id @param {boolean} add to the others, or remove from them @param {number} [layer] or -1: the whole box
   */
  function choose(id, add, layer = -1) {
    const { selection, options } = state;
    const layers = layersOf(state);
    const many = options.many === true;
    const picked = many || layer < 0 ? [] : [layer];
    const isOn = selection.includes(id) && picked.every((one) => layers.includes(one));
    store.set({ focus: id });
    guessing.toggle(id);
    if (isOn && !add && selection.length === 1 && layers.length <= 1) select([]);
    else if (!add && !many) select([id], picked);
    else if (isOn) remove(id, picked);
    else select([...selection.filter((other) => other !== id), id], [...layers, ...picked]);
    const active = focusedIn(root);
    const elsewhere = active && active !== root && root.contains(active) && !stage.hasFocus();
    if (!elsewhere) stage.focus(id);
  }

  /** Remove layers of a plate from the selection, and the box with the last one. @param {string} id @param {number[]} removed */
  function remove(id, removed) {
    const own = new Set(boxOf(state, id)?.plate?.cells);
    const layers = layersOf(state).filter((layer) => !removed.includes(layer));
    if (removed.length && layers.some((layer) => own.has(layer))) return select(state.selection, layers);
    select(
      state.selection.filter((other) => other !== id),
      layers.filter((layer) => !own.has(layer)),
    );
  }

  /**
   * Light a match, and select its boxes unless the rule lens shows it; light none if it was lit.
   * @param {string} id @param {number} [match] the one among those of the hull that the rule lens shows
   */
  function light(id, match = 0) {
    const hull = id === state.hull && match === state.match ? "" : id;
    if (!hull) return closeLens();
    store.set({ hull, match });
    setView({ hull, match });
    const shown = state.picture?.stops.find((item) => item.id === hull);
    if (!shown) return;
    camera.reveal(shown.boxes[0]);
    announce(page.pager.words());
    select(shown.lens ? [] : shown.boxes.map((box) => box.id));
  }

  /** The picture is again as it was chosen. */
  function closeLens() {
    const closed = withoutLens(state);
    store.set({ hull: "", match: 0 });
    setView({ hull: "", match: 0, ...closed });
    if (closed.mode) page.loading.expect();
  }

  /** Light a match of the state before the step, over what is shown; the first one by default. */
  function openBefore(hull = FIRST) {
    const under = text(state.view.under) || text(state.view.mode, state.picture?.mode);
    store.set({ hull, match: 0 });
    setView({ mode: "before", hull, match: 0, under });
    page.loading.expect();
  }

  /** The near miss that got furthest. */
  function bestNearMiss() {
    const near = (state.picture?.stops || []).filter(({ kind, lens }) => kind === "near-miss" && lens);
    const bound = (/** @type {import("../picture/types.js").Hull} */ { lens }) => {
      const [{ cells, question }] = lens?.attempts ?? [{ cells: [], question: 0 }];
      return cells.length + question / 100;
    };
    return near.reduce((best, hull) => (!best || bound(hull) > bound(best) ? hull : best), near[0]);
  }

  /** Whether the near miss that got furthest is lit once the state before the step is shown. */
  let awaitsNearMiss = false;

  /** Whether the state before the step has matches or near misses that this picture, the state after, does not show. */
  const hasStopsBefore = () => {
    const { picture, steps, step, options } = state;
    const modes = Array.isArray(options.modes) ? options.modes : [];
    if (picture?.groupBy !== "plates" || (modes.length && !modes.includes("before"))) return false;
    return Boolean(picture.matches.length || steps[step]?.nearStops);
  };

  /** Why there is no match to go to. */
  function missing() {
    const { picture, steps, step } = state;
    if (picture?.groupBy === "plates" && (picture.matches.length || steps[step]?.nearStops)) {
      return "The matches of this step are on the state before it, which is not shown here.";
    }
    const count = steps[step]?.nearMisses;
    if (count && picture?.groupBy === "plates") {
      return `This step has no matches. Its near misses, ${count} in all, ended at layers of another type.`;
    }
    return "This step has no matches and no near misses.";
  }

  /** Why there is no near miss to go to. */
  function missingNearMiss() {
    const { picture, steps, step } = state;
    const count = steps[step]?.nearMisses;
    if (count) return `The rule lens shows none of the near misses of this step, ${count} in all.`;
    if (picture?.pins.length) return "This step has no near misses of a rule; the pins say why layers are not fewer.";
    if (picture?.links.length)
      return "This step has no near misses of a rule; dotted lines join layers not folded together.";
    return "This step has no near misses.";
  }

  /** Say in the status line what a key could not do. @param {string} notice */
  function say(notice) {
    store.set({ notice });
    announce(notice);
  }

  return {
    select,
    choose,
    light,
    lightBefore: openBefore,
    say,
    /** Light the next match. @param {number} way */
    turn(way) {
      const stops = state.picture ? state.picture.stops : [];
      // What plates show as the difference is the state after: matches are on the state before.
      if (!stops.length) {
        if (hasStopsBefore()) openBefore();
        else say(missing());
        return;
      }
      const at = stops.findIndex((hull) => hull.id === state.hull);
      const next = at < 0 ? (way > 0 ? 0 : stops.length - 1) : (at + way + stops.length) % stops.length;
      if (next !== at) light(stops[next].id);
    },
    /** Light the near miss of the step that got furthest. */
    turnToNearMiss() {
      const best = bestNearMiss();
      awaitsNearMiss = !best && !state.picture?.stops.length && hasStopsBefore();
      if (awaitsNearMiss) openBefore();
      else if (best && best.id !== state.hull) light(best.id);
      else if (!best) say(missingNearMiss());
    },
    /** Another picture is shown. */
    arrive() {
      if (!awaitsNearMiss || !state.picture?.stops.length) return;
      awaitsNearMiss = false;
      const best = bestNearMiss();
      if (best && best.id !== state.hull) light(best.id);
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
      const first = way > 0 ? 0 : (next.lens?.attempts.length || 1) - 1;
      if (next !== hull || first !== state.match) light(next.id, first);
    },
    /** Bring a box into view, and select it. @param {string} id @param {boolean} selected */
    goTo(id, selected) {
      camera.reveal(boxOf(state, id));
      if (selected) select([id]);
    },
  };
}
/** @typedef {ReturnType<typeof makeSelecting>} Selecting */
