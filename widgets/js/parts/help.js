/** The keys and what they do, and the switch for letter keys. */

import { focusedIn } from "../shared/elements.js";

/** What `t` does where the host does not measure, and where it does. */
const [TIMING, TIME_IT] = ["times in the details", "time every step and its layers, on this machine"];
const KEYS = [
  ["← →", "previous, next step that changes something"],
  ["Shift + ← →", "any step"],
  ["Home, End", "first, last step"],
  ["[ ]", "previous, next kind of match, near miss or conflict"],
  ["{ }", "previous, next match in the rule lens"],
  ["Space", "play, or fit on the graph"],
  ["↑ ↓", "box above, below"],
  [", .", "previous, next box; . enters the picture"],
  ["Enter", "select the box (with Shift: add it)"],
  ["+ −", "zoom"],
  ["f", "focus on the selection, again: fit all"],
  ["/", "search"],
  ["d", "diff, after"],
  ["h", "lineage"],
  ["b, s", "what layers believe, of an image or a table; sample from it"],
  ["w", "why not; without a selection, the near miss that got furthest"],
  ["t", TIMING],
  ["r, z", "race of before and after on the time line; magnify its end"],
  ["Esc", "clear, then leave"],
  ["?", "this help"],
  ["On buffers", "↑ ↓: another one, Enter: choose it, Shift + Enter: does it share memory with the first?"],
  ["On slides", "→ Space: next, ←: previous, 1 2 Enter: slide 12, f: full screen, Esc: close"],
  ["On a question", ", .: previous, next plate, Space: choose it, Enter: answer"],
];
const POINTER =
  "A click selects, a Shift-click adds or removes. Drag, or use the map, to pan. A double click opens a box. Pinch, Ctrl + wheel and the buttons zoom (in a notebook, the wheel alone while the " +
  "graph has focus). Fill: colour by. Border: change. Badge: warning. Hatch: removed. Symbol: kind of node.";
const LABEL = "Keys and help (?)";

/** @param {import("../graph.js").Page} page */
export function makeHelp({ ui: { h, guard, textButton }, store, saving: { save }, timing, root }) {
  const { state } = store;
  /** What had the focus before. @type {any} */
  let from = null;
  const element = h("div", {
    class: "ce-help",
    role: "region",
    "aria-label": "Keys and help",
    tabindex: "0",
    hidden: true,
  });
  const toggle = h("button", {
    type: "button",
    "aria-label": LABEL,
    title: LABEL,
    "aria-expanded": "false",
    onclick: guard(() => open()),
    text: "?",
  });

  function open(on = !state.showHelp) {
    if (on) from = focusedIn(root);
    store.set({ showHelp: on });
    if (on) element.focus();
    else (from && from.focus && root.contains(from) ? from : toggle).focus();
  }

  /** @param {any} event */
  function setLetters(event) {
    const options = { ...state.options, letter_keys: event.target.checked };
    store.set({ options });
    save({ options });
  }

  return {
    element,
    toggle,
    open,
    reads: /** @type {const} */ (["showHelp"]),
    draw() {
      toggle.setAttribute("aria-expanded", String(state.showHelp));
      element.hidden = !state.showHelp;
      if (!state.showHelp) return;
      const checked = state.options.letter_keys !== false;
      const letters = h("input", { type: "checkbox", checked, onchange: guard(setLetters) });
      const row = (/** @type {string[]} */ [name, does]) =>
        h(
          "li",
          {},
          h("kbd", { text: name }),
          h("span", { text: does === TIMING && timing.isOffered() ? TIME_IT : does }),
        );
      element.replaceChildren(
        h("h2", { text: state.options.main === true ? "Keys" : "Keys, while this view has focus" }),
        h("ul", {}, KEYS.map(row)),
        h("label", { class: "ce-label" }, letters, h("span", { text: "Enable letter keys (each also has a button)" })),
        h("p", { text: POINTER }),
        textButton("Close", () => open(false)),
      );
    },
  };
}
/** @typedef {ReturnType<typeof makeHelp>} Help */

export const STYLE = `
.ce-help{position:absolute;inset:0;z-index:5;overflow:auto;background:var(--ce-panel);padding:12px 16px}
.ce-help h2{margin:0 0 8px;font-size:14px}
.ce-help ul{columns:2 300px;column-gap:28px;margin:0 0 10px;padding:0;list-style:none}
.ce-help li{break-inside:avoid;display:flex;gap:10px;padding:2px 0}
.ce-help kbd{flex:0 0 92px;font:600 12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:none;border:0;padding:0;color:inherit}
`;
