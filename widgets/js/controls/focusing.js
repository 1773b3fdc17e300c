/**
 * Keeping the focus in the view: if drawing lost it, the keys of the view would go to the page.
 *
 * The focus follows the selection: while the box that has it is selected, it moves to the boxes that replace that box.
 * If its box disappears, it moves to a box that replaces it, else to a selected one, else to the first.
 */

import { focusedIn } from "../shared/elements.js";

/**
 * @import { State } from "../parts/state.js"
 * @import { Picture } from "../picture/types.js"
 */

/**
 * The box of `after` that replaces a box of `before`; after a step back, the box that was replaced.
 * @param {string} id @param {Picture | null} before @param {Picture} after
 */
export function heirOf(id, before, after) {
  const later = after.boxes.find((box) => box.cameFrom.includes(id));
  if (later) return later.id;
  return before?.byId.get(id)?.cameFrom.find((origin) => after.byId.has(origin)) ?? "";
}

/**
 * Two parts: `before` all others it notes what has the focus, `after` all others it moves a lost focus.
 * @param {import("../graph.js").Page} page
 */
export function makeFocusing({ store, root, stage, stepper, film }) {
  const { state } = store;
  const reads = /** @type {(keyof State)[]} */ (Object.keys(state));
  /** The element of the view that had the focus, and its box. @type {any} */
  let active = null;
  let box = "";
  let pane = 0;
  /** The picture that was drawn last. @type {Picture | null} */
  let drawn = null;
  /** Whether the focus follows the selection. */
  let follows = false;
  /** The box that got the focus because its box is gone: the user did not choose it. */
  let given = "";

  const before = {
    reads,
    draw() {
      const at = focusedIn(root);
      active = root.contains(at) ? at : null;
      box = active ? stage.focusedBox() : "";
      pane = stage.panes().findIndex(({ element }) => element.contains(at));
    },
  };

  /** Whether no element of the view has the focus any more, or one that was disabled or hidden. */
  function isLost() {
    const now = focusedIn(root);
    if (!now || now.disabled || !root.contains(now)) return true;
    for (let at = now; at !== root; at = at.parentNode) if (at.hidden) return true;
    return false;
  }

  /** The box to which the focus goes. @param {Picture | null} was */
  function successor(was) {
    const { picture, selection } = state;
    const here = stage.has(box);
    if (!picture || (here && (!follows || selection.includes(box)))) return box;
    const selected = [...selection].reverse().find(stage.has) || "";
    return (follows && selected) || (here ? box : heirOf(box, was, picture) || selected);
  }

  /** @param {unknown} _ @param {ReadonlySet<keyof State>} changed */
  function draw(_, changed) {
    const was = drawn;
    drawn = state.picture;
    if (changed.has("focus") && state.focus !== given) follows = state.selection.includes(state.focus);
    else if (changed.has("selection"))
      follows = state.selection.includes(box) || (follows && state.selection.length > 0);
    if (!active) return;
    if (!box) {
      const steps = stepper.element.contains(active) && !state.stopped;
      if (isLost()) (steps ? film : stage).focus("");
      return;
    }
    const target = changed.has("picture") || changed.has("selection") ? successor(was) : box;
    if (target === box && !isLost()) return;
    const following = follows || !target; // nobody chose the first box: the selection may arrive later
    stage.focus(target, pane);
    given = stage.focusedBox();
    if (target) store.set({ focus: target });
    follows = following;
  }
  return { before, after: { reads, draw } };
}
