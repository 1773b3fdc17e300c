/** The bar with the steps: buttons, slider with ticks, title, and whether the values are the same. */

import { SOLID, icon } from "../shared/icons.js";
import { isCompact } from "./state.js";

/** @import { Changed } from "./state.js" */

const [PLAY, PAUSE] = ["Play (Space on the stepper)", "Pause"];
/** Below this width there is no room for "changing steps only". */
const ONLY_WIDTH = 900;

/** @param {import("../graph.js").Page} page */
export function makeStepper({ ui: { make, h, button, guard }, store, stepping, saving: { setView } }) {
  const { goTo, nextOf, slideTo, goToEnd, walk, setPlaying } = stepping;
  const { state } = store;
  const slide = guard(() => {
    slideTo(Number(slider.value));
    slider.value = String(state.step);
  });
  const range = { type: "range", min: "0", max: "0", step: "1", value: "0", "aria-label": "Step" };
  const slider = h("input", { ...range, oninput: slide, onchange: slide });
  const ticks = h("div", { class: "ce-ticks", "aria-hidden": "true" });
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
  const only = h("label", { class: "ce-label" }, check, h("span", { text: "changing steps only" }));
  const title = h("div", { class: "ce-step-title" });
  const verdict = h("span", { class: "ce-ok" });
  const parts = [
    h("div", { class: "ce-group" }, back),
    h("div", { class: "ce-slider" }, ticks, slider),
    h("div", { class: "ce-group" }, forward, play),
    only,
    h("div", { class: "ce-step-words" }, title, verdict),
  ];

  function drawTicks() {
    const last = Math.max(1, state.steps.length - 1);
    const wrong = state.steps.map((item) => Boolean(item.error || item.ok === false));
    const marked = state.steps.filter((item, at) => item.changed || wrong[at]);
    const tick = (/** @type {import("../picture/types.js").Step} */ item) =>
      h("i", { style: `left:${(100 * item.index) / last}%`, class: item.error || item.ok === false ? "ce-bad" : null });
    ticks.replaceChildren(...marked.map(tick));
  }

  function drawTitle() {
    const current = state.steps[state.step];
    const words = current ? current.title : "";
    slider.setAttribute("aria-valuetext", words);
    title.textContent = words;
    title.setAttribute("title", [words, current && current.summary].filter(Boolean).join("\n"));
    verdict.hidden = !current?.verdict;
    if (!current?.verdict) return;
    const [tone, sign] = current.ok === null ? ["", ""] : current.ok ? [" ce-good", "✓ "] : [" ce-bad", "✕ "];
    verdict.setAttribute("class", `ce-ok${tone}`);
    verdict.textContent = sign + current.verdict;
  }

  const element = h("div", { class: "ce-bar ce-steps", role: "group", "aria-label": "Steps" }, parts);
  return {
    element,
    parts,
    slider,
    reads: /** @type {const} */ (["steps", "step", "playing", "stopped", "options", "width", "onlyChanging"]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      const last = Math.max(0, state.steps.length - 1);
      if (changed.has("steps")) drawTicks();
      slider.setAttribute("max", String(last));
      slider.max = String(last);
      slider.value = String(state.step);
      check.checked = state.onlyChanging;
      drawTitle();
      for (const item of back) item.disabled = state.stopped || state.step <= 0;
      forward[0].disabled = state.stopped || nextOf(1) === state.step;
      forward[1].disabled = state.stopped || state.step >= last;
      play.disabled = state.stopped || state.steps.length < 2;
      slider.disabled = state.stopped;
      play.setAttribute("aria-pressed", String(state.playing));
      play.setAttribute("aria-label", state.playing ? PAUSE : PLAY);
      const word = h("span", { class: "ce-play-word", text: state.playing ? "Pause" : "Play" });
      play.replaceChildren(icon(make, state.playing ? "pause" : "play"), word);
      element.hidden = state.options.stepper === false || !state.steps.length;
      only.hidden = isCompact(state) || state.width < ONLY_WIDTH;
    },
  };
}

export const STYLE = `
.ce-bar.ce-steps{flex-wrap:nowrap}
.ce-slider{position:relative;flex:1 1 160px;min-width:90px;height:28px}
.ce-slider input{-webkit-appearance:none;appearance:none;position:absolute;inset:0;width:100%;height:28px;margin:0;padding:0;background:transparent;cursor:pointer}
.ce-slider input::-webkit-slider-runnable-track{height:4px;border-radius:2px;background:var(--ce-line)}
.ce-slider input::-moz-range-track{height:4px;border-radius:2px;background:var(--ce-line)}
.ce-slider input::-webkit-slider-thumb{-webkit-appearance:none;width:16px;height:16px;margin-top:-6px;border-radius:50%;background:var(--ce-accent);border:2px solid var(--ce-panel);box-shadow:0 0 0 1px var(--ce-accent)}
.ce-slider input::-moz-range-thumb{width:12px;height:12px;border-radius:50%;background:var(--ce-accent);border:2px solid var(--ce-panel);box-shadow:0 0 0 1px var(--ce-accent)}
.ce-ticks{position:absolute;left:8px;right:8px;bottom:1px;height:5px;pointer-events:none}
.ce-ticks i{position:absolute;width:3px;height:5px;margin-left:-1.5px;border-radius:1px;background:var(--ce-changed)}
.ce-ticks i.ce-bad{background:var(--ce-error);height:8px;bottom:0;width:4px}
.ce-step-words{flex:0 0 42%;min-width:0;display:flex;align-items:center;justify-content:flex-end;gap:10px}
.ce-play-word{min-width:2.9em}
.ce-step-title{flex:0 1 auto;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-weight:600}
.ce-ok{display:inline-flex;align-items:center;gap:4px;padding:1px 8px;border-radius:10px;border:1px solid currentColor;font-size:12px;font-weight:600;white-space:nowrap}
.ce-ok.ce-good{color:var(--ce-free)}.ce-ok.ce-bad{color:var(--ce-error)}
.ce-narrow .ce-bar.ce-steps{flex-wrap:wrap}
.ce-narrow .ce-step-words{flex:1 1 12em;justify-content:flex-start}
.ce-narrow .ce-play-word{display:none}
`;
