/** What the attempt of a pin shows, in words where they cover least of the picture, and what would be if the check had passed. */

import { focusedIn } from "../shared/elements.js";
import { pinKey, triedPin } from "./state.js";

const WHAT_IF = "What if this check had passed?";
/** Where the words may be, the best place first. */
const PLACES = ["bottom", "top", "bottom left", "bottom right", "top left"];

/** @typedef {{left: number, top: number, right: number, bottom: number}} Area */

/** How many areas an area meets. @param {Area} area @param {Area[]} others */
const countMet = (area, others) =>
  others.filter(
    ({ left, top, right, bottom }) => left < area.right && area.left < right && top < area.bottom && area.top < bottom,
  ).length;

/** Where an element is on the screen. @param {any} element @returns {Area} */
const areaOf = (element) => element.getBoundingClientRect();

/** @param {import("../graph.js").Page} page */
export function makeAttemptCaption({ ui: { h, button, textButton, announce }, store, root, attempts }) {
  const { state } = store;
  const element = h("div", { class: "ce-tried", role: "group", "aria-label": "Why not", hidden: true });
  const words = h("p", {});
  const ask = textButton(WHAT_IF, () => attempts.shut());
  const close = button("Close (Esc)", "close", () => attempts.play(""), { class: "ce-bare" });
  element.replaceChildren(words, ask, close);
  /** The pin and the words that have a place. */
  let placed = "";

  /** Put the words where they cover the fewest words and pins of the picture. @param {string} what */
  function place(what) {
    if (what === placed) return;
    placed = what;
    const drawn = [...root.querySelectorAll(".ce-plate text:not(.ce-name),.ce-pin-key")];
    const taken = drawn.filter(({ textContent, className }) => textContent || className === "ce-pin-key").map(areaOf);
    let least = Infinity;
    let best = PLACES[0];
    for (const at of PLACES) {
      element.setAttribute("data-at", at);
      const met = countMet(areaOf(element), taken);
      if (met < least) [least, best] = [met, at];
      if (!met) break;
    }
    element.setAttribute("data-at", best);
  }
  return {
    element,
    reads: /** @type {const} */ (["picture", "tried", "shut", "options", "guess", "view"]),
    draw() {
      const pin = triedPin(state);
      const had = element.contains(focusedIn(root));
      element.hidden = !pin;
      if (!pin) {
        placed = "";
        return;
      }
      const said = (state.shut && pin.whatIf?.text) || pin.verdict || pin.reason;
      if (words.textContent !== said) announce(said);
      words.textContent = said;
      ask.hidden = !pin.whatIf;
      ask.setAttribute("aria-pressed", String(state.shut));
      place(pinKey(state, pin.id));
      if (had && ask.hidden) close.focus();
    },
  };
}

export const STYLE = `
.ce-tried{position:absolute;bottom:14px;left:50%;transform:translateX(-50%);max-width:min(720px,92%);display:flex;align-items:center;gap:10px;padding:8px 8px 8px 14px;border:1.5px solid var(--ce-nearMiss);border-radius:9px;background:var(--ce-panel);box-shadow:0 4px 18px var(--ce-shade);z-index:2}
.ce-tried[hidden]{display:none}
.ce-tried[data-at^=top]{top:14px;bottom:auto}
.ce-tried[data-at~=left]{left:14px;transform:none}
.ce-tried[data-at~=right]{left:auto;right:14px;transform:none}
.ce-tried p{margin:0;font-weight:600}
.ce-tried button{flex:none}
`;
