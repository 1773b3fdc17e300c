/** Slides, for talks: one step, or one scene of the story, on the whole window. Keys only; each also has a button. */

import { focusedIn } from "../shared/elements.js";
import { text } from "../shared/reading.js";
import { guessOf, isAsking, isGuessing, isPresenting, NO_GUESS } from "./state.js";

/** @import { State } from "./state.js" */

/**
 * @typedef {{name: string, step: number, mode: string, title: string, sentence: string}} Slide
 * `name`: of the scene, or `steps`; `mode`: how the step is shown
 */

/** The slides that a view can show: a slide for each frame of the film, or the scenes of the story. */
const [STEPS, STORY] = ["steps", "circuit"];
const PLATES = "plates";
const NEXT = ["ArrowRight", "ArrowDown", "PageDown", " ", "Enter"];
const PREVIOUS = ["ArrowLeft", "ArrowUp", "PageUp"];

/** @param {Readonly<State>} state @returns {Slide[]} */
function framesOf({ steps }) {
  return steps.flatMap(({ frame, index }) =>
    frame
      ? {
          name: STEPS,
          step: index,
          mode: "diff",
          title: frame.label.replace(/^./, (letter) => letter.toUpperCase()),
          sentence: frame.sentence,
        }
      : [],
  );
}

/** @param {Readonly<State>} state @returns {Slide[]} */
const scenesOf = ({ steps }) =>
  steps.flatMap(({ scenes, index }) => scenes.map((scene) => ({ ...scene, step: index })));

/** The step that the stepper shows: the last one up to here that changes something or failed, or any. @param {Readonly<State>} state */
function stepBelow({ steps, step, onlyChanging }) {
  let found = step;
  while (onlyChanging && found > 0 && !steps[found].changed && !steps[found].error) found -= 1;
  return found;
}

/** @param {Readonly<State>} state */
const slidesOf = (state) => (text(state.view.slides) === STEPS ? framesOf(state) : scenesOf(state));

/**
 * The number of the slide that is shown: several scenes may have one name, each at its step.
 * @param {Readonly<State>} state @param {Slide[]} slides
 */
function numberOf({ view, step }, slides) {
  if (text(view.slides) === STEPS) return Math.max(0, slides.filter((slide) => slide.step <= step).length - 1);
  const here = slides.findIndex((slide) => slide.name === view.slides && slide.step === step);
  const named = slides.findIndex(({ name }) => name === view.slides);
  return Math.max(0, here < 0 ? named : here);
}

/** @param {import("../graph.js").Page} page */
export function makeSlides({
  ui: { h, textButton, guard },
  store,
  saving: { save },
  loading,
  root,
  copying,
  guessing,
}) {
  const { state } = store;
  /** The digits typed so far. */
  let typed = "";
  /** What the view returns to. */
  let former = { mode: "diff", group_by: PLATES };

  const title = h("h2", {});
  const sentence = h("p", {});
  const head = h("div", { class: "ce-slide-head" }, title, sentence);
  const position = h("span", { class: "ce-slide-position" });
  const previous = textButton("Previous (←)", () => turn(-1));
  const next = textButton("Next (→)", () => turn(1));
  const check = textButton("Answer (Enter)", () => guessing.check());
  const foot = h(
    "div",
    { class: "ce-slide-foot", role: "group", "aria-label": "Slides" },
    position,
    check,
    previous,
    next,
    copying.slideButton,
    textButton("Full screen (f)", () => flipFullScreen()),
    textButton("Close (Esc)", () => close()),
  );
  const story = textButton("Story", () => open(STORY));
  const slides = textButton("Slides", () => open(STEPS));
  story.setAttribute("title", "Play the story: the compilation in a few scenes");
  slides.setAttribute("title", "Slides, for talks: one step on the whole window");
  const buttons = h("div", { class: "ce-group" }, story, slides);

  /** Whether the host has a choice. @param {string} option @param {string} name */
  const allows = (option, name) => !Array.isArray(state.options[option]) || state.options[option].includes(name);

  /** The view of a slide: its mode, and plates if it is of a circuit. @param {Slide} slide */
  function viewOf(slide) {
    /** @type {Record<string, any>} */
    const view = { ...state.view, slides: slide.name, hull: "", match: 0, under: "" };
    if (allows("modes", slide.mode)) view.mode = slide.mode;
    if (allows("groups", PLATES) && scenesOf(state).length) view.group_by = PLATES;
    return view;
  }

  /** Show a slide. @param {Slide | undefined} slide */
  function show(slide) {
    if (!slide || state.stopped) return;
    const changes = { step: slide.step, view: viewOf(slide) };
    store.set({ ...changes, playing: false, guess: NO_GUESS });
    save(changes);
    loading.expect();
  }

  /** @param {string} kind */
  function open(kind) {
    former = {
      mode: text(state.view.under) || text(state.view.mode, former.mode),
      group_by: text(state.view.group_by, former.group_by),
    };
    const view = { ...state.view, slides: kind };
    store.set({ view });
    show(kind === STEPS ? current() : scenesOf(state)[0]);
    root.focus();
  }

  function close() {
    typed = "";
    const changes = { step: stepBelow(state), view: { ...state.view, slides: "", ...former } };
    store.set(changes);
    save(changes);
    loading.expect();
    if (root.ownerDocument.fullscreenElement) root.ownerDocument.exitFullscreen().catch(() => {});
  }

  /** @param {number} way */
  function turn(way) {
    const shown = slidesOf(state);
    go(numberOf(state, shown) + way);
  }

  /** @param {number} number counted from 0 */
  function go(number) {
    typed = "";
    const shown = slidesOf(state);
    show(shown[Math.min(shown.length - 1, Math.max(0, number))]);
    drawPosition();
  }

  function flipFullScreen() {
    const doc = root.ownerDocument;
    const done = doc.fullscreenElement ? doc.exitFullscreen() : root.requestFullscreen?.();
    done?.catch?.(() => {}); // the browser does not allow it: the window is full of the slide already
  }

  /** @param {string} digits */
  function type(digits) {
    typed = digits;
    drawPosition();
  }

  /** Keep the focus on the slide, which covers the rest of the page. @param {boolean} back @returns {boolean} */
  function turnFocus(back) {
    const stops = [...root.querySelectorAll("button:not([disabled]),[tabindex='0']")].filter((one) =>
      one.checkVisibility({ visibilityProperty: true }),
    );
    const at = focusedIn(root);
    const edge = back ? stops[0] : stops[stops.length - 1];
    if (at !== edge && at !== root && root.contains(at)) return false;
    (back ? stops[stops.length - 1] : stops[0])?.focus();
    return true;
  }

  /**
   * What a key does while slides are shown.
   * @param {{key: string, shiftKey: boolean}} event @param {boolean} pressing on something that Space presses
   * @returns {boolean} whether the key was used
   */
  function press({ key, shiftKey }, pressing) {
    if (key === "Tab") return turnFocus(shiftKey);
    if (pressing && (key === " " || key === "Enter")) return false;
    if (/^[0-9]$/.test(key)) type((typed + key).slice(-3));
    else if (key === "Enter" && typed) go(Number(typed) - 1);
    else if (key === "Backspace" && typed) type(typed.slice(0, -1));
    else if (key === "Escape" && typed) type("");
    else if (key === "Escape") close();
    else if (NEXT.includes(key)) turn(1);
    else if (PREVIOUS.includes(key) || key === "Backspace") turn(-1);
    else if (key === "Home") go(0);
    else if (key === "End") go(Infinity);
    else if (key === "f" && state.options.letter_keys !== false) flipFullScreen();
    else return false;
    return true;
  }

  function drawPosition() {
    const shown = slidesOf(state);
    const number = numberOf(state, shown);
    position.textContent = typed ? `Go to ${typed}: Enter` : `${number + 1} of ${shown.length}`;
    previous.disabled = number <= 0;
    next.disabled = number >= shown.length - 1;
  }

  const current = () => {
    const shown = slidesOf(state);
    return shown[numberOf(state, shown)];
  };

  return {
    head,
    foot,
    buttons,
    press,
    /** After a link has been opened: go to the step of its slide, in its mode. */
    align: guard(() => {
      if (!isPresenting(state) || !state.steps.length) return;
      const slide = current();
      if (!slide) return;
      const wanted = viewOf(slide);
      const differs = ["mode", "group_by", "slides"].some((name) => wanted[name] !== state.view[name]);
      if (differs || slide.step !== state.step) show(slide);
    }),
    /** What is said of the slide to screen readers; empty if there is none. */
    words: () =>
      isPresenting(state) && current() ? `${current()?.title}. ${guessing.words() || current()?.sentence}` : "",
    reads: /** @type {const} */ (["steps", "step", "view", "options", "guess", "picture"]),
    draw() {
      check.hidden = !isGuessing(state);
      check.disabled = !guessOf(state)?.chosen.length;
      const told = state.options.stepper !== false && state.options.film !== false && !isAsking(state);
      story.hidden = !told || scenesOf(state).length < 2;
      slides.hidden = !told || framesOf(state).length < 2;
      buttons.hidden = story.hidden && slides.hidden;
      head.hidden = foot.hidden = !isPresenting(state);
      if (head.hidden) return;
      title.textContent = current()?.title ?? "";
      sentence.textContent = guessing.words() || (current()?.sentence ?? "");
      drawPosition();
    },
  };
}
/** @typedef {ReturnType<typeof makeSlides>} Slides */

export const STYLE = `
.ce-root.ce-slides{position:fixed;inset:0;z-index:2000;height:auto!important;width:auto;border:0;border-radius:0;font-size:16px;padding:0 24px}
.ce-slides>.ce-bar,.ce-slides>.ce-film,.ce-slides>.ce-strip,.ce-slides>.ce-bottom,.ce-slides .ce-closeup,.ce-slides .ce-side,.ce-slides .ce-table,.ce-slides .ce-help,.ce-slides .ce-zoom,.ce-slides .ce-map{display:none!important}
.ce-guessing .ce-link-layer{display:none}
.ce-root.ce-slides:focus-visible{outline:none}
.ce-slide-head{flex:none;padding:18px 0 10px}
.ce-slide-head h2{margin:0;font-size:34px;line-height:1.2;font-weight:650}
.ce-slide-head p{margin:6px 0 0;font-size:22px;line-height:1.35;min-height:2.7em}
.ce-slide-foot{flex:none;display:flex;gap:8px;align-items:center;padding:10px 0 12px;font-size:16px}
.ce-root .ce-slide-foot button{height:34px;font-size:16px;flex:none}
.ce-narrow .ce-slide-foot{flex-wrap:wrap;padding-bottom:4px}
.ce-narrow .ce-slide-foot button{font-size:14px;padding:0 6px}
.ce-narrow .ce-slide-head{padding:8px 0 4px}
.ce-narrow .ce-slide-head h2{font-size:24px}
.ce-narrow .ce-slide-head p{font-size:17px}
.ce-slide-position{margin-right:auto;white-space:nowrap;font-size:18px;font-weight:600;font-variant-numeric:tabular-nums}
.ce-slides :is(.ce-clock,.ce-race-words){font-size:18px}
.ce-slides :is(.ce-clock-scale,.ce-run-side,.ce-run-side button){font-size:16px}
.ce-slides .ce-track{height:26px}
.ce-slides .ce-main{background:none}
`;
