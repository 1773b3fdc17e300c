/**
 * The time line of the trace: its clock with a lens and a race, the button that starts to measure, the progress, and the
 * table of backends.
 */

import { isOfBackend, isRecorded, laneClass, laneName, lanesOf, timeWords } from "../shared/lanes.js";
import { STYLE as CLOCK, kernelsOf, stairOf, stripsElement, stripsOf } from "./clock.js";
import { STYLE as RACE, heatsOf, makeRace } from "./race.js";
import { guessOf, isAsking, isPresenting } from "./state.js";

/**
 * @import { Frame, Step } from "../picture/types.js"
 * @import { Changed } from "./state.js"
 * @import { Clock, Lane, Stair, Strip } from "./clock.js"
 */

/**
 * The steps with times of backends of this machine, and the lanes that these have; nothing if the time line shows them all.
 * @param {Frame[]} frames of all steps @param {number} shown the step that the time line shows
 * @returns {{frames: Frame[], lanes: string[]}}
 */
export function backendsOf(frames, shown) {
  const found = frames.filter(({ times }) => Object.keys(times).some((lane) => isOfBackend(lane) && !isRecorded(lane)));
  if (!found.some(({ step }) => step !== shown)) return { frames: [], lanes: [] };
  return { frames: found, lanes: lanesOf(Object.assign({}, ...found.map(({ times }) => times))) };
}

/** @param {import("./ui.js").Ui} ui @param {(step: number) => void} go */
export function makeBackendTable({ make: { h }, textButton }, go) {
  const element = h("table", { class: "ce-backends", hidden: true });

  /** @param {Frame} frame @param {string} lane @param {number} longest */
  function cell(frame, lane, longest) {
    const time = frame.times[lane];
    if (time === undefined) return h("td", { text: "–", title: "not measured" });
    const badge = frame.certified[lane];
    return h(
      "td",
      badge ? { title: badge } : {},
      h("span", { text: `${timeWords(time)}${badge?.startsWith("✓") ? " ✓" : ""}` }),
      h("i", { class: laneClass(lane), style: `width:${(100 * time) / longest}%`, "aria-hidden": "true" }),
    );
  }

  return {
    element,
    /** @param {Frame[]} all frames of all steps @param {number} shown */
    show(all, shown) {
      const { frames, lanes } = backendsOf(all, shown);
      element.hidden = !frames.length;
      element.replaceChildren();
      if (!frames.length) return;
      const longest = Math.max(...frames.flatMap(({ times }) => lanes.map((lane) => times[lane] ?? 0)));
      const head = ["step", ...lanes.map(laneName)].map((text) => h("th", { scope: "col", text }));
      const rows = frames.map((frame) => {
        const name = textButton(frame.label, () => go(frame.step));
        const known = frame.step === shown ? { scope: "row", "aria-current": "step" } : { scope: "row" };
        return h("tr", {}, h("th", known, name), ...lanes.map((lane) => cell(frame, lane, longest)));
      });
      element.replaceChildren(
        h("caption", { text: "Backends of all measured steps; ✓ all rows certified" }),
        h("tr", {}, ...head),
        ...rows,
      );
    },
  };
}

const BACKENDS = `
.ce-backends{flex:1 0 100%;border-collapse:collapse;font-size:12.5px}
.ce-backends caption{text-align:left;color:var(--ce-muted);padding:2px 0}
.ce-backends :is(th,td){padding:1px 10px 1px 0;text-align:left;font-weight:400;white-space:nowrap}
.ce-backends tr:first-of-type th{color:var(--ce-muted)}
.ce-backends th[aria-current] button{font-weight:600}
.ce-backends td i{display:block;height:4px;min-width:1px}
`;

/** The clock of the trace, which comes with the first step. @param {Step[]} steps */
const clockOf = (steps) => steps[0]?.clock ?? null;
const NOT_SMALL = "No time is much shorter than the longest one: there is nothing to magnify.";

/** Whether times are on it, not calls. @param {Clock | null} clock */
const isTimed = (clock) => Boolean(clock?.lanes.some(({ lane }) => lane));

/** @param {import("../graph.js").Page} page */
export function makeTimeline({ ui, store: { state }, timing, stepping: { goTo }, selecting: { say } }) {
  const { make, textButton, guard } = ui;
  const { h } = make;
  const backends = makeBackendTable(ui, goTo);
  const rows = h("div", { class: "ce-clock" });
  const bar = h("progress", { max: 1, "aria-label": "Progress of the measurement" });
  const words = h("span", { role: "status" });
  const running = h("div", { class: "ce-timing", hidden: true }, words, bar, textButton("Cancel", timing.cancel));
  const unmeasured = h("span", {});
  const offer = textButton("Time it", timing.start, { title: "Measure every step and its layers (t)" });
  const race = makeRace(ui, (heats) => drawRows(heats.flatMap(({ runners }) => runners)));
  const raceButton = textButton("Race", flipRace, { title: "Run through before and after, slowed down (r)" });
  const lensButton = textButton("Magnify", flipLens, { title: "Open the end of the time line at a larger scale (z)" });
  const missing = h("div", { class: "ce-run-missing" });
  const side = h(
    "div",
    { class: "ce-run-side" },
    running,
    unmeasured,
    h("div", { class: "ce-group" }, offer, raceButton, lensButton),
  );
  const element = h(
    "div",
    { class: "ce-timeline", role: "group", "aria-label": "Time line", hidden: true },
    race.words,
    rows,
    side,
    missing,
    backends.element,
  );
  /** Whether the end is magnified. */
  let magnified = false;
  /** What a race is of. */
  let raced = "";
  /** Where stairs are drawn. @type {Map<Stair, {track: any, y: number}>} */
  const places = new Map();

  /** The frame whose stair is thick: that of the step, or else the last one before it. @returns {Frame | null} */
  function frameShown() {
    const frames = state.steps.slice(0, state.step + 1).flatMap((step) => step.frame ?? []);
    const isBefore = state.view.slides && state.view.mode === "before";
    return frames[frames.length - (isBefore ? 2 : 1)] ?? frames[0] ?? null;
  }

  /** The thick stairs of a lane. @param {Lane} lane @param {Frame} frame @param {Stair[]} racing */
  function strongOf(lane, frame, racing) {
    const known = racing.filter((stair) => lane.stairs.includes(stair));
    const story = state.view.slides === "clock" ? lane.stairs.slice(0, 1) : [];
    const found = [...story, stairOf(lane, frame.step), kernelsOf(lane, frame.step)];
    return new Set(known.length ? known : found.flatMap((stair) => stair ?? []));
  }

  /** @param {Lane} lane @param {Stair | undefined} stair @param {Stair | undefined} kernels */
  function timeElement({ about, stairs }, stair, kernels) {
    const told = [stair, kernels].flatMap((one) => (one ? [one.about] : []));
    const text = stair?.text ?? (stairs.length ? "not measured" : "");
    const sign = kernels?.certified.startsWith("✓") ? " ✓" : "";
    const more = [stair?.gain, kernels ? `${kernels.backend} ${kernels.text}${sign}` : ""].filter(Boolean).join("; ");
    return h(
      "span",
      { class: "ce-clock-time", title: [...told, about].filter(Boolean).join("\n") },
      h("b", { text }),
      h("span", { class: "ce-clock-name", text: more ? ` ${more}` : "" }),
    );
  }

  /** @param {number} step */
  const frameAt = (step) => state.steps[step]?.frame ?? null;
  /** @param {Lane} lane @param {Strip[]} strips @param {number} [factor] */
  const trackElement = (lane, strips, factor) =>
    h("div", { class: "ce-track" }, stripsElement(ui, lane, strips, frameAt, state.palette, factor));

  /** @param {Stair[]} racing the stairs of a race */
  function drawRows(racing = []) {
    const [clock, frame] = [clockOf(state.steps), frameShown()];
    places.clear();
    if (!clock || !frame) return rows.replaceChildren();
    const lanes = clock.lanes.map((lane) => {
      const strips = stripsOf(lane, strongOf(lane, frame, racing));
      const track = trackElement(lane, strips);
      for (const { stair, y, height } of strips) places.set(stair, { track, y: y + height / 2 });
      const name = h("b", { text: lane.name });
      const machine = lane.machine ? ` ${lane.machine}` : "";
      const label = h(
        "span",
        { class: "ce-clock-name", title: `${lane.name}${machine}\n${lane.about}` },
        name,
        h("span", { text: machine }),
      );
      return {
        lane,
        strips,
        track,
        parts: [label, track, timeElement(lane, stairOf(lane, frame.step), kernelsOf(lane, frame.step))],
      };
    });
    const last = lanes[lanes.length - 1];
    const longest = Math.max(0, ...last.strips.map(({ strong, stair }) => (strong ? stair.share : 0)));
    if (longest < ROOM && last.lane.lane) {
      const style = `left:${(100 * longest).toFixed(2)}%`;
      last.track.appendChild(h("span", { class: "ce-clock-scale", style, title: clock.scale, text: clock.scale }));
    }
    rows.replaceChildren(...lanes.flatMap(({ parts }) => parts), ...lensElements(clock, lanes));
  }

  /** The end of the clock at the scale of the lens. @param {Clock} clock @param {{lane: Lane, strips: Strip[]}[]} lanes */
  function lensElements({ lens }, lanes) {
    if (!lens || !magnified) return [];
    const path = make.s("path", { d: `M0 0H${100 / lens.factor}L100 8H0z` });
    const view = { class: "ce-wedge", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" };
    const wedge = [h("span", {}), make.s("svg", view, path), h("span", { class: "ce-clock-name", text: lens.words })];
    const magnifiedLanes = lanes.flatMap(({ lane, strips }) => {
      const strong = strips.filter(({ strong }) => strong).map(({ stair }) => stair);
      const stairs = strong.filter(({ share }) => share * lens.factor <= 1);
      const own = { ...lane, stairs };
      const track = trackElement(own, stripsOf(own, new Set(stairs)), lens.factor);
      const cut = strong.filter((stair) => !stairs.includes(stair)).map(({ text }) => `${text} does not fit`);
      return [
        h("span", { class: "ce-clock-name" }, h("b", { text: lane.name }), h("span", { text: " magnified" })),
        track,
        h("span", { class: "ce-clock-name", text: cut.join("; ") }),
      ];
    });
    return [...wedge, ...magnifiedLanes];
  }

  function flipLens() {
    magnified = !magnified;
    race.stop();
    drawRows();
    drawButtons();
  }

  function flipRace() {
    const [clock, frame] = [clockOf(state.steps), frameShown()];
    if (race.isOn() || !clock || !frame) race.stop();
    else race.start(clock, frame.step, (stair) => places.get(stair) ?? null);
    drawButtons();
  }

  function drawButtons() {
    const [clock, frame] = [clockOf(state.steps), frameShown()];
    raceButton.hidden = !clock?.race || !frame || !heatsOf(clock, frame.step).length;
    raceButton.setAttribute("aria-pressed", String(race.isOn()));
    lensButton.hidden = !clock?.lens;
    lensButton.setAttribute("aria-pressed", String(magnified && !lensButton.hidden));
  }

  function drawProgress() {
    const { progress } = state;
    running.hidden = !progress;
    words.textContent = progress ? progress.text : "";
    if (progress && progress.share !== null) bar.setAttribute("value", progress.share);
    else bar.removeAttribute("value");
    const told = clockOf(state.steps)?.unmeasured ?? "";
    offer.hidden = !told || Boolean(progress) || !timing.isOffered() || isPresenting(state);
    unmeasured.hidden = offer.hidden;
    unmeasured.textContent = told;
  }

  /** Why the time line cannot do something. @param {"race" | "magnify"} what */
  function unable(what) {
    const clock = clockOf(state.steps);
    if (state.alive) return `The time line is hidden while beliefs are shown: there is nothing to ${what}.`;
    if (!isTimed(clock)) return `Nothing was measured yet: there are no times to ${what}.`;
    if (element.hidden) return `The time line is not shown: there is nothing to ${what}.`;
    return what === "race" ? "This step has no time to race with the first one." : NOT_SMALL;
  }

  return {
    element,
    /** Whether a race can be run now. */
    race: guard(() => (raceButton.hidden || element.hidden ? say(unable("race")) : flipRace())),
    /** Open or close the lens. */
    magnify: guard(() => (lensButton.hidden || element.hidden ? say(unable("magnify")) : flipLens())),
    reads: /** @type {const} */ ([
      "steps",
      "step",
      "options",
      "palette",
      "progress",
      "view",
      "guess",
      "picture",
      "alive",
    ]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      const [clock, frame] = [clockOf(state.steps), frameShown()];
      const timed = isTimed(clock);
      const undrawn = frame?.undrawn ?? "";
      element.hidden =
        !frame ||
        (!timed && !undrawn && !state.progress && !(isPresenting(state) && clock)) || // the film shows the calls
        (state.alive && !state.progress) || // what is believed has its room
        state.options.film === false ||
        state.options.stepper === false ||
        isAsking(state) ||
        Boolean(guessOf(state));
      drawProgress();
      if (element.hidden) return race.stop();
      if (changed.size === 1 && changed.has("progress")) return;
      const what = JSON.stringify([clock, frame?.step, state.view.slides]);
      if (what !== raced) race.stop();
      raced = what;
      if (!race.isOn()) {
        if (timed || isPresenting(state)) drawRows();
        else rows.replaceChildren();
      }
      drawButtons();
      backends.show(state.view.slides ? [] : state.steps.flatMap((step) => step.frame ?? []), frame?.step ?? 0);
      missing.textContent = [undrawn, isPresenting(state) ? "" : clock?.note].filter(Boolean).join(" ");
    },
  };
}

/** A longer bar has no room for the words of the scale behind it. */
const ROOM = 0.6;

export const STYLE = `
.ce-timeline{position:relative;flex:none;display:flex;flex-wrap:wrap;align-items:center;gap:3px 14px;padding:4px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-run-side{display:flex;flex:0 1 max-content;flex-wrap:wrap;justify-content:flex-end;align-items:center;gap:0 8px;font-size:12px;line-height:16px;color:var(--ce-muted)}
.ce-root .ce-run-side button{height:24px;color:var(--ce-fg)}
.ce-run-missing{flex:1 0 100%;color:var(--ce-muted);font-size:12.5px}
.ce-run-missing:empty{display:none}
.ce-timing{display:flex;align-items:center;gap:8px;font-size:12.5px;color:var(--ce-fg)}
.ce-timing progress{width:90px;accent-color:var(--ce-accent)}
${CLOCK}${RACE}${BACKENDS}`;
