/** Showing another picture: what was lit stays lit if it is still there, and screen readers hear what changed. */

import { foundIn } from "../parts/search.js";
import { knownMatch } from "../plates/lens.js";
import { captionOf, messageOf, picturesOf } from "../parts/state.js";

/** @typedef {import("../picture/types.js").Picture} Picture */

const MISSING = "The match that the link names is not in this picture.";

/**
 * @param {import("../parts/ui.js").Ui} ui @param {import("../parts/state.js").Store} store
 * @param {{camera: import("./camera.js").CameraControl, hint: import("../parts/hint.js").Hint,
 *   words(): string}} page `words`: what a slide says of its scene
 */
export function makeShowing({ announce }, store, { camera, hint, words }) {
  const { state } = store;

  /** @param {Picture} picture @param {Picture} before */
  const isOther = (picture, before) =>
    before.step !== picture.step || before.mode !== picture.mode || before.caption !== picture.caption;

  return {
    /** @param {Picture | null} picture @param {string[]} [selection] the selection in it, if it is another one */
    show(picture, selection = state.selection) {
      const before = state.picture;
      if (picture && state.options.numbers === true) {
        for (const box of picture.boxes) box.numbered = box.ids.length === 1 ? String(box.ids[0]) : "";
      }
      const pictures = picturesOf({ ...state, picture });
      const hover = pictures.some(({ byId }) => byId.has(state.hover)) ? state.hover : "";
      const hull = picture?.stops.some(({ id }) => id === state.hull) ? state.hull : "";
      hint.hide();
      const match = before && picture?.step !== before.step ? 0 : knownMatch(picture, hull, state.match);
      const notice = picture && !before && state.hull && !hull ? MISSING : "";
      store.set({ picture, notice, hover, hull, match, selection, found: foundIn(pictures, state.query) });
      if (notice) announce(notice);
      if (picture && before && isOther(picture, before)) {
        announce([words() || captionOf(state) || messageOf(state), picture.note].filter(Boolean).join(". "));
      }
      camera.animate(before);
    },
  };
}
/** @typedef {ReturnType<typeof makeShowing>} Showing */
