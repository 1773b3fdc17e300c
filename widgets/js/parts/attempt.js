/** What the attempt of a pin shows, in words below the picture, and what would be if the check had passed. */

import { focusedIn } from "../shared/elements.js";
import { triedPin } from "./state.js";

const WHAT_IF = "What if this check had passed?";

/** @param {import("../graph.js").Page} page */
export function makeAttemptWords({ ui: { h, button, textButton, announce }, store, root, attempts }) {
  const { state } = store;
  const element = h("div", { class: "ce-tried", role: "group", "aria-label": "Why not", hidden: true });
  const words = h("p", {});
  const ask = textButton(WHAT_IF, () => attempts.shut());
  const close = button("Close (Esc)", "close", () => attempts.play(""), { class: "ce-bare" });
  element.replaceChildren(words, ask, close);
  return {
    element,
    reads: /** @type {const} */ (["picture", "tried", "shut", "options", "guess", "view"]),
    draw() {
      const pin = triedPin(state);
      const had = element.contains(focusedIn(root));
      element.hidden = !pin;
      if (!pin) return;
      const said = (state.shut && pin.whatIf?.text) || pin.verdict || pin.reason;
      if (words.textContent !== said) announce(said);
      words.textContent = said;
      ask.hidden = !pin.whatIf;
      ask.setAttribute("aria-pressed", String(state.shut));
      if (had && ask.hidden) close.focus();
    },
  };
}

export const STYLE = `
.ce-tried{position:absolute;left:50%;bottom:14px;transform:translateX(-50%);max-width:min(720px,92%);display:flex;align-items:center;gap:10px;padding:8px 8px 8px 14px;border:1.5px solid var(--ce-nearMiss);border-radius:9px;background:var(--ce-panel);box-shadow:0 4px 18px var(--ce-shade);z-index:2}
.ce-tried[hidden]{display:none}
.ce-tried p{margin:0;font-weight:600}
.ce-tried button{flex:none}
`;
