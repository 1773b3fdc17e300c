/** The close-up of the selected plate, below the picture: the user switches between its parts. */

import { inspectedBox, isAsking } from "../parts/state.js";
import { memoryDrawing, memoryTable } from "./memory.js";

/**
 * @typedef {import("../parts/state.js").Changed} Changed
 * @typedef {import("./reading.js").Closeup} Closeup
 */

/** Pixels at the left and the right of the strips. */
const MARGIN = 26;

/** @param {import("../parts/ui.js").Ui} ui @param {import("../parts/state.js").Store} store */
export function makeCloseup({ make, h, button, textButton, guard }, store) {
  const { state } = store;
  const title = h("h2");
  const choices = h("div", { class: "ce-group", role: "group", "aria-label": "Parts of the close-up" });
  const sentence = h("p", { class: "ce-closeup-sentence" });
  const body = h("div", { class: "ce-closeup-body" });
  const toggle = button("Show the close-up", "panel", () => store.set({ showCloseup: !state.showCloseup }), {});
  const bar = h("div", { class: "ce-closeup-bar" }, title, choices, sentence, toggle);
  const element = h("section", { class: "ce-closeup", "aria-label": "Close-up", hidden: true }, bar, body);
  /** @type {import("./memory.js").Drawing | null} */
  let drawing = null;

  /** The close-up of the selection. @returns {Closeup | null} */
  function shown() {
    const { details, selection, options } = state;
    if (isAsking(state) || options.closeup === false || !details?.closeup) return null;
    return details.id && selection.includes(details.id) ? details.closeup : null;
  }

  /** Point at a slice: it is the cell at the pointer in the picture, too. @param {number} slice */
  function hover(slice) {
    const box = inspectedBox(state);
    if (box) store.set({ hover: slice < 0 ? "" : box.id, cell: slice });
  }

  /** The slice whose lines are emphasized. */
  const lit = () => {
    const box = inspectedBox(state)?.id;
    return state.hover && state.hover === box && state.cell >= 0 ? state.cell : state.slice;
  };

  /** @param {Closeup} closeup */
  function drawParts(closeup) {
    const { memory } = closeup;
    drawing = null;
    if (!memory) return;
    const width = (element.clientWidth || state.width) - MARGIN;
    sentence.textContent = memory.sentence;
    if (state.closeup === "table") body.replaceChildren(memoryTable(h, memory));
    else {
      drawing = memoryDrawing(make, memory, state.palette, width, guard(hover));
      drawing.light(lit());
      body.replaceChildren(drawing.element);
    }
  }

  /** @param {string} name @param {string} words */
  const choice = (name, words) =>
    textButton(words, () => store.set({ closeup: name, showCloseup: true }), {
      "aria-pressed": String(state.showCloseup && state.closeup === name),
    });

  return {
    element,
    reads: /** @type {const} */ ([
      "details",
      "selection",
      "options",
      "palette",
      "width",
      "hover",
      "cell",
      "slice",
      "closeup",
      "showCloseup",
    ]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      const closeup = shown();
      const pointed = [...changed].every((name) => name === "hover" || name === "cell" || name === "slice");
      if (pointed && drawing) return drawing.light(lit());
      if (pointed) return undefined;
      element.hidden = !closeup;
      if (!closeup) return undefined;
      title.textContent = closeup.title;
      toggle.setAttribute("aria-expanded", String(state.showCloseup));
      body.hidden = sentence.hidden = !state.showCloseup;
      choices.replaceChildren(choice("memory", "Memory"), choice("table", "Index table"));
      return drawParts(closeup);
    },
  };
}

export const STYLE = `
.ce-closeup{flex:none;max-height:46vh;overflow:auto;padding:6px 12px 8px;border-top:2px solid var(--ce-accent);background:var(--ce-panel)}
.ce-closeup-bar{display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px}
.ce-closeup h2{font-size:14px;font-weight:650;margin:0;color:inherit}
.ce-closeup-sentence{flex:1;min-width:200px;margin:0;font-size:13px}
.ce-strips{display:block;font:12px system-ui,sans-serif}
.ce-closeup-words{margin:4px 0 0;min-height:1.4em;font-size:13px;overflow-wrap:anywhere}
.ce-closeup-table{max-height:200px;overflow:auto;margin-top:6px}
.ce-closeup-table table{border-collapse:collapse;font-size:12.5px;font-variant-numeric:tabular-nums}
.ce-closeup-table :is(th,td){text-align:left;padding:2px 16px 2px 0;border-bottom:1px solid var(--ce-line)}
`;
