/** The bar with the modes, the choices of colour and group, the search, and the buttons of table, details and help. */

import { isRecorded } from "../shared/lanes.js";
import { list, text } from "../shared/reading.js";
import { COLOUR_WORDS, GROUP_WORDS, MODE_WORDS } from "../picture/words.js";
import { chosenMode } from "./state.js";

/** A graph with a box for each of more layers is not offered. */
const MAX_GRAPH = 60;

/** @param {import("../graph.js").Page} page */
export function makeToolbar({
  ui: { h, guard, textButton },
  store: { state },
  saving: { setView },
  requesting,
  timing,
}) {
  const { setMode } = requesting;
  /**
   * A list of choices for a key of the view.
   * @param {string} name @param {string} label @param {string} option @param {Record<string, string>} words
   */
  function chooser(name, label, option, words) {
    const select = h("select", {
      onchange: guard(() => {
        setView({ [name]: select.value });
        if (select.value === "time" && isUnmeasured() && timing.isOffered()) timing.start();
      }),
    });
    const element = h("label", { class: "ce-label" }, h("span", { text: label }), select);
    const draw = () => {
      const names = offered(name, choices(option, words));
      element.hidden = names.length < 2 || (name === "colour_by" && Boolean(state.picture?.score));
      if (select.getAttribute("data-names") !== names.join(" ")) {
        select.setAttribute("data-names", names.join(" "));
        select.replaceChildren(...names.map((value) => h("option", { value, text: words[value] || value })));
      }
      const wanted = text(state.view[name], names[0]);
      select.value = names.includes(wanted) ? wanted : names[0];
    };
    return { element, draw };
  }

  const isOfPlates = () => state.picture?.groupBy === "plates";
  /** Whether this machine has no times: a recorded run is another machine's. */
  const isUnmeasured = () =>
    !state.steps.some(({ frame }) => Object.keys(frame?.times ?? {}).some((lane) => !isRecorded(lane)));

  /** `change` and `kind` are the same colours; a graph of many boxes is not legible. @param {string} name @param {string[]} names */
  function offered(name, names) {
    const chosen = text(state.view[name], names[0]);
    const isMany = (state.steps[state.step]?.layers ?? 0) > MAX_GRAPH;
    const hasValues = isOfPlates() && !state.steps[state.step]?.counted; // of layers, not of operators
    const excluded = [
      name === "colour_by" && (chosen === "kind" ? "change" : "kind"),
      name === "colour_by" && !hasValues && "value",
      name === "group_by" && isMany && "none",
    ];
    return names.filter((one) => !excluded.includes(one) || one === chosen);
  }

  /**
   * What the options allow, or else everything.
   * @param {string} option @param {Record<string, string>} words @returns {string[]}
   */
  const choices = (option, words) => {
    const allowed = list(state.options[option]);
    return allowed.length ? allowed : Object.keys(words);
  };

  const choosers = [
    chooser("colour_by", "Colour by", "colours", COLOUR_WORDS),
    chooser("group_by", "Group by", "groups", GROUP_WORDS),
  ];
  const modes = h("div", {
    class: "ce-group ce-segments",
    role: "group",
    "aria-label": "Compare with the step before",
  });
  /** @type {Map<string, any>} */
  let modeButtons = new Map();

  function drawModes() {
    const shown = choices("modes", MODE_WORDS);
    if (shown.join(" ") !== [...modeButtons.keys()].join(" ")) {
      modeButtons = new Map(shown.map((mode) => [mode, modeButton(mode)]));
      modes.replaceChildren(...modeButtons.values());
    }
    modes.hidden = shown.length < 2;
    const current = chosenMode(state);
    for (const [mode, button] of modeButtons) button.setAttribute("aria-pressed", String(mode === current));
  }

  /** @param {string} mode */
  const modeButton = (mode) =>
    h("button", {
      type: "button",
      "aria-pressed": "false",
      "data-mode": mode,
      onclick: guard(() => setMode(mode)),
      text: MODE_WORDS[mode] || mode,
    });

  const element = h("div", { class: "ce-bar ce-toolbar", role: "group", "aria-label": "View" });
  const choosing = h("div", { class: "ce-choosing" });
  const time = textButton("Time it", timing.start, { title: "Measure every step and its layers (t)" });
  return {
    element,
    modes,
    /** Starts a measurement. */
    time,
    /** For the choices of colour and group, beside the legend. */
    choosing,
    choosers: choosers.map((item) => item.element),
    reads: /** @type {const} */ (["options", "view", "picture", "progress", "steps", "step"]),
    draw() {
      drawModes();
      for (const item of choosers) item.draw();
      time.hidden = !timing.isOffered();
      time.setAttribute("aria-disabled", String(Boolean(state.progress))); // it stays, so that nothing slides below the pointer
      element.hidden = state.options.toolbar === false && state.options.stepper === false;
    },
  };
}

export const STYLE = `
.ce-segments button{border-radius:0;margin-left:-1px}
.ce-segments button:first-child{border-radius:6px 0 0 6px;margin-left:0}
.ce-segments button:last-child{border-radius:0 6px 6px 0}
.ce-segments button[aria-pressed=true]{position:relative;z-index:1}
.ce-bar.ce-toolbar{padding-top:0;gap:4px 8px}
.ce-choosing{display:flex;flex:none;align-items:center;gap:4px 12px;padding:4px 0 4px 12px}
.ce-choosing:empty{display:none}
.ce-choosing select{height:26px}
`;
