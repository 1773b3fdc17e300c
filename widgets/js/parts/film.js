/**
 * The film, which is the stepper: a frame for each step that changed something, as wide as its gain, so that the calls
 * become a staircase, and ticks between them for steps that changed nothing.
 */

import { isRecorded, laneClass, laneName, lanesOf, timeWords } from "../shared/lanes.js";
import { classes, focusedIn } from "../shared/elements.js";
import { itemsOf, largest } from "./film_items.js";
import { smallPlates } from "./small_plates.js";
import { isAsking, isCompact, isPresenting, isTold } from "./state.js";

/**
 * @import { Step } from "../picture/types.js"
 * @import { Changed } from "./state.js"
 * @import { Frame, Item } from "./film_items.js"
 */

/** The width of a frame that shows its number, and what the buttons beside the film need, in pixels. */
const [FRAME, BUTTONS] = [30, 260];
/** The least width of a frame with a thumbnail, and of another one beside them. */
const [PICTURED, PLAIN] = [146, 18];
/** The share of the width that is equal for all frames. */
const EQUAL = 0.5;
/** The lowest stair, in percent. */
const LEAST = 4;

/** @param {import("../graph.js").Page} page */
export function makeFilm({ ui: { make, guard }, store: { state }, stepping: { goTo }, root }) {
  const { h } = make;
  const element = h("div", { class: "ce-film", role: "group", "aria-label": "Film: the steps that changed something" });
  /** The element of each step, and of the steps that changed nothing. @type {Map<number, any>} */
  let marks = new Map();
  /** The frame in the order of Tab: that of the step, or else the last one before it. @type {any} */
  let stop = null;
  /** What was drawn. @type {any[]} */
  let drawn = [];

  /** How many frames have room. */
  const room = () => Math.max(8, Math.floor((state.width - BUTTONS) / FRAME));

  /** How many frames have room for a thumbnail, of so many. @param {number} count */
  const pictures = (count) => Math.max(0, Math.floor((state.width - BUTTONS - PLAIN * count) / (PICTURED - PLAIN)));

  function drawItems() {
    const { steps, step } = state;
    const told = isTold(state);
    const items = itemsOf(steps, room(), step);
    const key = [
      steps,
      state.options,
      state.palette,
      isCompact(state),
      pictures(items.length),
      ...items.map(({ frames }) => frames[0].step.index),
    ];
    if (key.length === drawn.length && key.every((one, at) => one === drawn[at])) return;
    drawn = key;
    const held = element.contains(focusedIn(root));
    marks = new Map();
    const frames = items.flatMap((item) => item.frames);
    const scales = {
      most: Math.max(1, ...frames.map(({ count }) => count)),
      longest: Math.max(0, ...frames.flatMap(({ step: { frame } }) => ownTimes(frame?.times ?? {}))),
      gains: frames.reduce((sum, { gain }) => sum + gain, 0) || 1,
      equal: EQUAL / items.length,
      pictured: new Set(isCompact(state) ? [] : largest(frames).slice(0, pictures(items.length))),
    };
    /** @param {Item} item */
    const elementsOf = (item) => {
      const frame = told ? toldFrame(item, scales) : plainFrame(item);
      for (const one of item.frames) marks.set(one.step.index, frame);
      return item.ticks.length ? [frame, ticksElement(item.ticks)] : [frame];
    };
    element.replaceChildren(...items.flatMap(elementsOf));
    stop = null;
    if (held) mark(true);
  }

  /** A frame that does not tell what its step does. @param {Item} item */
  const plainFrame = ({ frames: [{ step }] }) =>
    frameButton(step.index, { class: "ce-frame", "aria-label": `Step ${step.index} of ${state.steps.length - 1}` });

  /** @param {number} index @param {Record<string, any>} attributes @param {any[]} children */
  const frameButton = (index, attributes, ...children) =>
    h("button", { type: "button", ...attributes, "data-frame": index, onclick: guard(() => goTo(index)) }, ...children);

  /**
   * @param {Item} item
   * @param {{most: number, longest: number, gains: number, equal: number, pictured: ReadonlySet<Frame>}} scales
   */
  function toldFrame({ frames }, scales) {
    const [first, last] = [frames[0], frames[frames.length - 1]];
    const { step } = first;
    const isRun = frames.length > 1;
    const gain = frames.reduce((sum, frame) => sum + frame.gain, 0);
    const grow = scales.equal + (1 - EQUAL) * (gain / scales.gains);
    const { words, noun } = countWords(last);
    const name = isRun ? `${frames.length} steps like ${step.title}` : step.title;
    const lane = step.frame && ownLanes(step.frame.times)[0];
    const time = lane && step.frame ? h("em", { text: timeWords(step.frame.times[lane]) }) : null;
    const plates = (!isRun && scales.pictured.has(first) && step.frame?.plates) || [];
    const attributes = {
      class: classes(
        "ce-frame",
        (step.error || step.ok === false) && "ce-wrong",
        isRun && "ce-run-of-frames",
        plates.length && "ce-pictured",
      ),
      title: titleOf(frames),
      style: `flex-grow:${grow.toFixed(4)}`,
    };
    return frameButton(
      step.index,
      attributes,
      h("span", { class: "ce-stairs", "aria-hidden": "true" }, stairs(last, scales)),
      plates.length ? smallPlates(make, plates, state.palette) : null,
      h("span", { class: "ce-said", text: `${name}. ${words} ${noun}` }),
      h(
        "span",
        { class: "ce-frame-words", "aria-hidden": "true" },
        h("b", {}, h("span", { text: words }), h("span", { class: "ce-said", text: ` ${noun} after` }), time),
        h("span", { text: isRun ? `${first.family} ×${frames.length}` : (step.frame?.label ?? "") }),
      ),
    );
  }

  /** The steps that changed nothing; a click shows the one below it. @param {Step[]} steps */
  function ticksElement(steps) {
    const ticks = steps.map((step) => {
      const tick = h("i", { title: isTold(state) ? step.title : null, onclick: guard(() => goTo(step.index)) });
      marks.set(step.index, tick);
      return tick;
    });
    return h("span", { class: "ce-ticks", style: `flex-basis:${Math.min(4 * steps.length, 32)}px` }, ticks);
  }

  /** The bars of a frame: its measured times, or what it counts. @param {Frame} frame @param {{most: number, longest: number}} scales */
  function stairs({ step: { frame }, count }, { most, longest }) {
    const lanes = frame ? ownLanes(frame.times) : [];
    const share = frame?.memory ? count / most : Math.log(1 + count) / Math.log(1 + most);
    const times = lanes.map((lane) => stair(laneClass(lane), (frame?.times[lane] ?? 0) / longest));
    return [stair("ce-stair", share), ...times];
  }

  /** @param {string} name @param {number} share */
  const stair = (name, share) =>
    h("i", { class: name, style: `height:${Math.max(LEAST, 100 * Math.min(1, share)).toFixed(1)}%` });

  /** @param {boolean} [focuses] the frame that had the focus is gone */
  function mark(focuses = false) {
    const { step } = state;
    const own = marks.get(step);
    const isFrame = (/** @type {any} */ one) => one.getAttribute("data-frame") !== null;
    for (const [index, one] of marks) if (index <= step && isFrame(one)) stop = one;
    for (const one of new Set(marks.values())) {
      if (one === own) one.setAttribute("aria-current", "step");
      else one.removeAttribute("aria-current");
      if (isFrame(one)) one.setAttribute("tabindex", one === stop ? "0" : "-1");
    }
    const active = focusedIn(root);
    if (focuses || (active !== stop && element.contains(active))) stop?.focus();
  }

  return {
    element,
    /** Put the focus on the frame of the step, or on the last one before it. */
    focus: () => stop?.focus(),
    reads: /** @type {const} */ (["steps", "step", "options", "palette", "width", "view", "guess"]),
    draw() {
      element.hidden = state.steps.length < 2 || isAsking(state) || isPresenting(state);
      if (element.hidden) return;
      element.setAttribute("class", `ce-film${hasFilm(state.steps) && isTold(state) ? "" : " ce-film-low"}`);
      drawItems();
      mark();
    },
  };
}
/** @typedef {ReturnType<typeof makeFilm>} Film */

/** The lanes of this machine: the clock names the others. @param {Record<string, number>} times */
const ownLanes = (times) => lanesOf(times).filter((lane) => !isRecorded(lane));
/** @param {Record<string, number>} times */
const ownTimes = (times) => ownLanes(times).map((lane) => times[lane]);

/** Whether frames were recorded. @param {Step[]} steps */
const hasFilm = (steps) => steps.filter(({ frame }) => frame).length > 1;

/** What a frame counts, in words: the number, and of what it is. @param {Frame} frame */
function countWords({ step: { frame, counted, layers } }) {
  if (frame?.memory) return { words: frame.memory[0], noun: "of memory" };
  const count = (frame ? frame.calls : layers).toLocaleString("en-US");
  const noun = frame ? (frame.calls === 1 ? "call" : "calls") : counted.toLowerCase() || "calls";
  return { words: count, noun };
}

/** What the pointer shows of a frame, or of a run. @param {Frame[]} frames */
function titleOf(frames) {
  const [{ step }] = frames;
  if (frames.length > 1) return [`${frames.length} steps like this one:`, step.title].join("\n");
  const times = step.frame?.times ?? {};
  const measured = lanesOf(times).map((lane) => `${laneName(lane)} ${timeWords(times[lane])}`);
  return [step.title, step.frame?.sentence || step.summary, measured.join(", ")].filter(Boolean).join("\n");
}

export const STYLE = `
.ce-film{display:flex;flex:1 1 auto;min-width:0;height:56px;align-items:stretch;gap:2px}
.ce-film-low{height:30px}
.ce-root button.ce-frame{position:relative;flex:1 1 0;min-width:12px;height:auto;padding:0;overflow:hidden;justify-content:flex-start;border-color:var(--ce-line);border-radius:4px;container-type:inline-size;gap:0;text-align:left;line-height:1.2}
.ce-root button.ce-frame[aria-current]{border-color:var(--ce-accent);box-shadow:0 0 0 2px var(--ce-accent);z-index:1}
.ce-root button.ce-frame:focus-visible{outline-offset:2px;z-index:2}
.ce-stairs{position:absolute;inset:0;display:flex;align-items:flex-end;gap:1px}
.ce-stairs i{flex:0 0 4px}
.ce-stairs .ce-stair{flex:1 1 0;min-width:0;background:var(--ce-changedFill)}
.ce-stairs i.ce-lane-recorded{opacity:.55}
.ce-frame svg{position:relative;flex:none;width:min(86px,28cqw);margin-left:6px}
.ce-frame-words{position:relative;display:none;flex-direction:column;min-width:0;padding:0 6px}
.ce-frame b{font-size:15px;font-variant-numeric:tabular-nums;text-shadow:0 0 3px var(--ce-panel)}
.ce-frame em{margin-left:6px;font-size:12px;font-style:normal;font-weight:400}
.ce-frame-words>span{display:none;font-size:12px;overflow:hidden;text-overflow:ellipsis;text-shadow:0 0 3px var(--ce-panel)}
.ce-root button.ce-frame:first-child{min-width:46px}
.ce-root button.ce-frame.ce-pictured{min-width:${PICTURED}px}
@container (min-width:24px){.ce-frame-words{display:flex;padding:0 2px}.ce-frame b{font-size:12px}}
@container (min-width:54px){.ce-frame-words{padding:0 6px}.ce-frame b{font-size:15px}}
@container (min-width:64px){.ce-frame-words>span{display:block}}
.ce-film-low .ce-frame-words>span,.ce-film-low svg{display:none!important}
.ce-frame.ce-wrong b::after{content:" ✕";color:var(--ce-error)}
.ce-root button.ce-run-of-frames{border-style:double;border-width:3px}
.ce-ticks{display:flex;flex:0 1 auto;min-width:3px;align-items:stretch;justify-content:center}
.ce-ticks i{flex:0 1 5px;cursor:pointer;background:linear-gradient(var(--ce-kept),var(--ce-kept)) 50% 100%/2px 9px no-repeat}
.ce-ticks i[aria-current]{flex:0 0 7px;border-radius:3px;background:var(--ce-accent)}
`;
