/** The film: a frame for each step that changed something, and the sentence of the step below it. */

import { laneClass, laneName, lanesOf, timeWords } from "../shared/lanes.js";
import { isAsking } from "./state.js";

/**
 * @import { Step } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 * @import { Palette } from "../shared/theme.js"
 * @import { Changed } from "./state.js"
 */

/** @param {import("../graph.js").Page} page */
export function makeFilm({ ui: { make, guard }, store: { state }, stepping: { goTo } }) {
  const { h } = make;
  const frames = h("div", {
    class: "ce-frames",
    role: "group",
    "aria-label": "Film: the steps that changed something",
  });
  const sentence = h("p", { class: "ce-sentence" });
  const element = h("div", { class: "ce-film", hidden: true }, frames, sentence);
  /** @type {Map<number, any>} */
  let buttons = new Map();

  function drawFrames() {
    const shown = state.steps.filter((step) => step.frame);
    const most = Math.max(1, ...shown.map((step) => countOf(step.frame)));
    const longest = Math.max(0, ...shown.flatMap((step) => Object.values(step.frame?.times || {})));
    buttons = new Map(shown.map((step) => [step.index, frameButton(step, most, longest)]));
    frames.replaceChildren(...buttons.values());
  }

  /** @param {Step} step @param {number} most @param {number} longest */
  function frameButton(step, most, longest) {
    const frame = /** @type {NonNullable<Step["frame"]>} */ (step.frame);
    const lanes = lanesOf(frame.times);
    const bars = lanes.length
      ? lanes.map((lane) => bar(laneClass(lane), frame.times[lane] / longest))
      : [bar("ce-bar-of-calls", countOf(frame) / most)];
    const measured = lanes.map((lane) => `${laneName(lane)} ${timeWords(frame.times[lane])}`).join(", ");
    const noun = frame.calls === 1 ? "call" : "calls";
    const time = lanes.length ? h("em", { text: timeWords(frame.times[lanes[0]]) }) : null;
    return h(
      "button",
      {
        type: "button",
        class: `ce-frame${step.error || step.ok === false ? " ce-wrong" : ""}`,
        title: [frame.label, frame.sentence, measured].filter(Boolean).join("\n"),
        "data-frame": step.index,
        onclick: guard(() => goTo(step.index)),
      },
      frame.plates.length ? smallPlates(make, frame.plates, state.palette) : null,
      h(
        "b",
        { text: frame.memory ? frame.memory[0] : frame.calls.toLocaleString("en-US") },
        h("span", { class: "ce-said", text: frame.memory ? " of memory after" : ` ${noun} after` }),
        time,
      ),
      h("span", { text: frame.label }),
      ...bars,
    );
  }

  /** A bar of the scale of all frames, which differ in width. @param {string} name @param {number} share */
  const bar = (name, share) =>
    h("i", { class: name, style: `width:calc(${Math.min(1, share).toFixed(3)} * var(--ce-longest))` });

  return {
    element,
    reads: /** @type {const} */ (["steps", "step", "options", "palette"]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      if (changed.has("steps") || changed.has("palette")) drawFrames();
      const { step, steps, options } = state;
      element.hidden = buttons.size < 2 || options.stepper === false || options.film === false || isAsking(state);
      if (element.hidden) return;
      for (const [index, button] of buttons) {
        if (index === step) button.setAttribute("aria-current", "step");
        else button.removeAttribute("aria-current");
      }
      const current = steps[step];
      sentence.textContent = current ? current.frame?.sentence || current.summary : "";
      const button = buttons.get(step);
      if (button && frames.scrollTo) frames.scrollTo({ left: button.offsetLeft - frames.clientWidth / 2 });
    },
  };
}

/** What the bar of a frame shows: the most memory at one moment, or the calls. @param {Step["frame"]} frame */
const countOf = (frame) => frame?.memory?.[1] ?? frame?.calls ?? 0;

export const STYLE = `
.ce-film{--ce-longest:74px;flex:none;padding:6px 10px 4px;border-bottom:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-frames{display:flex;gap:6px;overflow-x:auto;padding:3px;scrollbar-width:thin}
.ce-root button.ce-frame{flex:0 0 auto;display:grid;grid-template-columns:auto minmax(0,auto);align-items:center;justify-items:start;gap:0 8px;height:auto;min-width:92px;max-width:240px;padding:4px 8px 5px;text-align:left;line-height:1.25;border-color:var(--ce-line)}
.ce-root button.ce-frame[aria-current]{border-color:var(--ce-accent);box-shadow:0 0 0 1.5px var(--ce-accent);background:var(--ce-soft)}
.ce-frame svg{grid-row:1/3;display:block}
.ce-frame b{font-size:16px;font-variant-numeric:tabular-nums}
.ce-frame em{margin-left:8px;font-size:12px;font-style:normal;font-weight:400}
.ce-frame span{font-size:12px;color:var(--ce-muted);max-width:min(132px,100%);overflow:hidden;white-space:normal;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2}
.ce-frame i{grid-column:1/3;height:4px;margin-top:2px;border-radius:2px;background:var(--ce-kept);min-width:2px}
.ce-frame i.ce-lane-recorded{opacity:.55}
.ce-frame.ce-wrong b::after{content:" ✕";color:var(--ce-error)}
.ce-sentence{margin:4px 3px 2px;font-size:14px;min-height:1.4em}
.ce-compact .ce-frame svg{display:none}
.ce-compact .ce-film{--ce-longest:56px;padding:3px 8px 2px}
.ce-compact button.ce-frame{min-width:74px}
`;

/** @typedef {{kind: string, at: number[], calls: number, ms: Record<string, number>}} SmallPlate  `ms`: by lane */

const [WIDTH, MAX_HEIGHT] = [86, 36];
/** Separate calls are told apart if a part of the plate is at least this large, in percent of the width. */
const [PART, MAX_PARTS] = [2.4, 8];
/** A smaller plate, in percent of the width, has no frame: it would hide its colour. */
const FRAMED = 5;

/** @param {Make} make @param {SmallPlate[]} plates @param {Palette} palette */
export function smallPlates({ s }, plates, { roles }) {
  const right = Math.max(...plates.map(({ at }) => at[0] + at[2]));
  const bottom = Math.max(...plates.map(({ at }) => at[1] + at[3]));
  const [left, top] = [Math.min(...plates.map(({ at }) => at[0])), Math.min(...plates.map(({ at }) => at[1]))];
  const height = Math.min(MAX_HEIGHT, (WIDTH * (bottom - top)) / Math.max(1, right - left));
  const view = `${left - 1} ${top - 1} ${right - left + 2} ${bottom - top + 2}`;
  return s(
    "svg",
    { viewBox: view, width: WIDTH, height: Math.max(10, height), "aria-hidden": "true" },
    plates.map((plate) => s("path", { d: pathOf(plate), fill: roles[plate.kind] || roles.operator })),
    plates
      .filter(({ calls, at: [, , w, h] }) => calls === 1 && Math.min(w, h) >= FRAMED)
      .map(({ at: [x, y, w, h] }) =>
        s("rect", { x, y, width: w, height: h, fill: "none", stroke: roles.fg, "stroke-width": 0.9 }),
      ),
  );
}

/** One area, or, if it is several calls, some squares. @param {SmallPlate} plate */
function pathOf({ at: [x, y, w, h], calls }) {
  const parts = calls === 1 ? 1 : Math.min(MAX_PARTS, Math.ceil(Math.sqrt(calls)));
  const [across, down] = [w, h].map((size) => Math.max(1, Math.min(parts, Math.floor(size / PART))));
  const gap = calls === 1 ? 0 : 0.7;
  const [width, height] = [w / across - gap, h / down - gap];
  let d = "";
  for (let i = 0; i < across * down; i += 1) {
    const [left, top] = [x + ((i % across) * w) / across, y + (Math.floor(i / across) * h) / down];
    d += `M${left.toFixed(2)} ${top.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
  }
  return d;
}
