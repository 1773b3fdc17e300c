/** The buttons at both ends of the film; below it the step's name and sentence, and whether the values are the same. */

import { SOLID, icon } from "../shared/icons.js";
import { isTold, sentenceOf } from "./state.js";

const [PLAY, PAUSE] = ["Play (Space)", "Pause"];
/** About the width of a letter and of a verdict, in pixels; the height of a line, in letters; longer sentences take room. */
const [LETTER, VERDICT, LINE, MAX_LINES] = [6.6, 120, 1.35, 3];

/** @param {import("../graph.js").Page} page */
export function makeStepper({ ui: { make, h, button, guard }, store, stepping, film, saving: { setView } }) {
  const { goTo, nextOf, goToEnd, walk, setPlaying } = stepping;
  const { state } = store;
  const back = [
    button("First step (Home)", "first", () => goTo(0), SOLID),
    button("Previous step (Left; any step: Shift + Left)", "previous", () => walk(-1), SOLID),
  ];
  const forward = [
    button("Next step (Right; any step: Shift + Right)", "next", () => walk(1), SOLID),
    button("Last step (End)", "last", () => goToEnd(), SOLID),
  ];
  const play = button(PLAY, "play", () => setPlaying(!state.playing), { ...SOLID, "aria-pressed": "false" });
  const setOnly = guard(() => {
    store.set({ onlyChanging: check.checked });
    setView({ any_step: !check.checked });
  });
  const check = h("input", { type: "checkbox", checked: true, onchange: setOnly });
  const only = h("label", { class: "ce-label" }, check, h("span", { text: "Left and Right: changing steps only" }));
  const title = h("b", { class: "ce-step-title" });
  const verdict = h("span", { class: "ce-ok" });
  const sentence = h("span", { class: "ce-sentence" });
  const words = h("p", { class: "ce-step-words" }, title, verdict, sentence);

  /** Keep the room of the longest sentence: from step to step the picture stays where it is. */
  function keepRoom() {
    const longest = Math.max(0, ...state.steps.map((step) => step.name.length + sentenceOf(step).length));
    const lines = Math.ceil((longest * LETTER + VERDICT) / (words.clientWidth || 1));
    words.style.setProperty("min-height", `${Math.max(1, Math.min(MAX_LINES, lines)) * LINE}em`);
  }

  function drawWords() {
    const current = state.steps[state.step];
    title.textContent = current ? current.name : "";
    sentence.textContent = isTold(state) ? sentenceOf(current) : "";
    verdict.hidden = !current?.verdict;
    if (!current?.verdict) return;
    const [tone, sign] = current.ok === null ? ["", ""] : current.ok ? [" ce-good", "✓ "] : [" ce-bad", "✕ "];
    verdict.setAttribute("class", `ce-ok${tone}`);
    verdict.textContent = sign + current.verdict;
  }

  const element = h(
    "div",
    { class: "ce-bar ce-steps", role: "group", "aria-label": "Steps" },
    h("div", { class: "ce-group" }, back),
    film.element,
    h("div", { class: "ce-group" }, forward, play),
  );
  return {
    element,
    /** What is below the film. */
    words,
    /** Whether the arrow keys stop at steps that changed nothing. */
    only,
    reads: /** @type {const} */ ([
      "steps",
      "step",
      "playing",
      "stopped",
      "options",
      "onlyChanging",
      "view",
      "guess",
      "width",
    ]),
    /** @param {unknown} _ @param {import("./state.js").Changed} changed */
    draw(_, changed) {
      const last = Math.max(0, state.steps.length - 1);
      check.checked = state.onlyChanging;
      drawWords();
      for (const item of back) item.disabled = state.stopped || state.step <= 0;
      forward[0].disabled = state.stopped || nextOf(1) === state.step;
      forward[1].disabled = state.stopped || state.step >= last;
      play.disabled = state.stopped || state.steps.length < 2;
      play.setAttribute("aria-pressed", String(state.playing));
      play.setAttribute("aria-label", state.playing ? PAUSE : PLAY);
      play.setAttribute("title", state.playing ? PAUSE : PLAY);
      play.replaceChildren(icon(make, state.playing ? "pause" : "play"));
      if (changed.has("steps") || changed.has("width") || changed.has("options")) keepRoom();
      element.hidden = words.hidden = state.options.stepper === false || !state.steps.length;
    },
  };
}

export const STYLE = `
.ce-bar.ce-steps{flex-wrap:nowrap;padding:6px 10px 5px;border-bottom:0}
.ce-step-words{flex:1 1 300px;min-width:0;margin:0;line-height:1.35;overflow-wrap:anywhere}
.ce-step-title{font-weight:650;margin-right:8px}
.ce-ok{display:inline-block;margin-right:8px;padding:0 7px;border-radius:10px;border:1px solid currentColor;font-size:12px;font-weight:600;white-space:nowrap}
.ce-ok.ce-good{color:var(--ce-free)}.ce-ok.ce-bad{color:var(--ce-error)}
.ce-narrow .ce-bar.ce-steps{flex-wrap:wrap}
.ce-narrow .ce-step-words{flex-basis:100%}
.ce-narrow .ce-film{order:-1;flex-basis:100%}
`;
