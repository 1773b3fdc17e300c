/** Showing another picture: what was lit stays lit; pictures that the host has sent ahead are drawn at once. */

import { foundIn } from "../parts/search.js";
import { captionOf, messageOf, picturesOf } from "../parts/state.js";
import { readPicture } from "../picture/reading.js";
import { knownMatch } from "../plates/lens.js";
import { asDict, list, number, record, text, texts } from "../shared/reading.js";
import { isSame } from "./selecting.js";

/** @import { Picture } from "../picture/types.js" */

const MISSING = "The match that the link names is not in this picture.";

/** @param {import("../graph.js").Page} page */
export function makeShowing(page) {
  const { store, camera, hint } = page;
  const { announce } = page.ui;
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
        announce(
          [page.slides.words() || captionOf(state) || messageOf(state), picture.note].filter(Boolean).join(". "),
        );
      }
      camera.animate(before);
      page.selecting.arrive();
    },
  };
}
/** @typedef {ReturnType<typeof makeShowing>} Showing */

/** @typedef {{json: string, coordinates: Uint8Array}} Sent */

/** What determines a picture in addition to its step. */
const LOOK = ["mode", "colour_by", "group_by"];

/** @param {string} base64 */
const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** @param {import("../graph.js").Page} page */
export function makeAhead({ store: { state }, showing }) {
  /** Pictures by step. @type {Map<number, Sent>} */
  const sent = new Map();
  /** What they were sent for: the look, and the selections that follow from another. @type {Record<string, any>} */
  let known = {};
  /** The picture on the stage was sent ahead and the host has not confirmed it yet: its JSON. */
  let unconfirmed = "";

  /** @param {string[]} keep */
  const dropOthers = (keep) => {
    for (const step of sent.keys()) if (!keep.includes(String(step))) sent.delete(step);
  };

  return {
    /** Read what the host sends: which pictures to keep, one more of them, and their selections. @param {any} value */
    read(value) {
      known = asDict(value);
      dropOthers(texts(list(known.keep).map(String)));
      if (known.picture) {
        const coordinates = bytesOf(text(known.coordinates));
        sent.set(number(known.step), { json: text(known.picture), coordinates });
      }
    },
    /**
     * Draw the picture of the requested step if it is here, and the selection in it is known; returns whether it is drawn.
     */
    show() {
      const found = sent.get(state.step);
      const asked = record(known.view);
      if (!found || LOOK.some((name) => state.view[name] !== undefined && state.view[name] !== asked[name]))
        return false;
      const heirs = texts(record(known.selections)[state.step]);
      if (state.selection.length && !isSame(texts(known.from), state.selection)) return false;
      const picture = readPicture(found.json, found.coordinates);
      if (!picture || picture === "wait") return false;
      unconfirmed = found.json;
      showing.show(picture, state.selection.length ? heirs : []);
      return true;
    },
    /**
     * Whether a picture of the host is to be drawn: not if it confirms the one on the stage, or answers an earlier step.
     * @param {Picture | null} picture @param {string} json
     */
    isNews(picture, json) {
      if (!unconfirmed) return true;
      if (json !== unconfirmed && picture && picture.step !== state.step) return false;
      const confirmed = json === unconfirmed;
      unconfirmed = "";
      return !confirmed;
    },
    /** The host goes to a step itself; returns whether a picture of it may have been passed over. */
    forget() {
      const was = unconfirmed;
      unconfirmed = "";
      return was !== "";
    },
  };
}
/** @typedef {ReturnType<typeof makeAhead>} Ahead */
