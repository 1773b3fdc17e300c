/**
 * The race: dots that run along the original and the present step in all lanes, in true proportion of their times, slowed
 * by a factor that is said. Where motion is not wanted, a still picture: both lengths, and the words.
 */

import { matchesMedia } from "../shared/theme.js";
import { clock as now, frameOf, unframe } from "../shared/timing.js";
import { kernelsOf, stairOf } from "./clock.js";

/**
 * @import { Clock, Lane, Stair } from "./clock.js"
 * @typedef {{lane: Lane, runners: Stair[]}} Heat  the first runner is the original, or else the layers without kernels
 */

/**
 * What runs in each lane: the original, what is there after the step, or else after the last one, and its kernels.
 * @param {Clock} clock @param {number} step @returns {Heat[]}
 */
export function heatsOf({ lanes }, step) {
  return lanes.flatMap((lane) => {
    const [first] = lane.stairs;
    const last = lane.stairs[lane.stairs.length - 1];
    const here = stairOf(lane, step);
    const at = !here || here === first ? last.step : step;
    const found = [first, stairOf(lane, at), kernelsOf(lane, at)];
    const runners = found.filter((stair, i) => stair !== undefined && found.indexOf(stair) === i);
    return runners.length > 1 ? [{ lane, runners: /** @type {Stair[]} */ (runners) }] : [];
  });
}

/** What the race of a lane shows, in words. @param {Heat} heat */
function wordsOf({ lane: { name, machine }, runners: [first, ...others] }) {
  const parts = others.map(({ text, gain, backend }) =>
    [backend ? `${backend} ${text}` : text, gain].filter(Boolean).join(", "),
  );
  return `${name}, ${machine}: ${first.text} → ${parts.join("; ")}.`;
}

/** @param {import("./ui.js").Ui} ui @param {(heats: Heat[]) => void} redraw shows the strips of those that race, or of none */
export function makeRace({ make: { h }, announce, guard }, redraw) {
  const words = h("div", { class: "ce-race-words", hidden: true });
  /** @type {any} */
  let handle = null;
  /** @type {Heat[]} */
  let heats = [];

  function stop() {
    unframe(handle);
    handle = null;
    if (!heats.length) return;
    heats = [];
    words.hidden = true;
    redraw(heats);
  }

  /**
   * @param {Clock} clock @param {number} step
   * @param {(stair: Stair) => {track: any, y: number} | null} placeOf where a stair is drawn, once `redraw` was called
   */
  function start(clock, step, placeOf) {
    const race = clock.race;
    heats = race ? heatsOf(clock, step) : [];
    if (!race || !heats.length) return;
    redraw(heats);
    const dots = heats.flatMap(({ runners }) =>
      runners.flatMap((stair) => {
        const place = placeOf(stair);
        const dot = h("i", { class: "ce-racer", style: `top:${place?.y ?? 0}px` });
        place?.track.appendChild(dot);
        return place ? [{ stair, dot }] : [];
      }),
    );
    const told = heats.map(wordsOf).join("\n");
    words.hidden = false;
    /** @param {number} share of the full width that has passed */
    function show(share) {
      for (const { stair, dot } of dots) {
        dot.style.setProperty("left", `${100 * Math.min(share, stair.share)}%`);
        if (share >= stair.share) dot.setAttribute("class", "ce-racer ce-there");
      }
      return dots.every(({ stair }) => share >= stair.share);
    }
    const finish = () => {
      show(1);
      handle = null;
      words.textContent = told;
      announce(told);
    };
    if (matchesMedia("(prefers-reduced-motion: reduce)")) return finish();
    words.textContent = `${capital(race.words)}.`;
    const began = now();
    const tick = guard(() => {
      if (show((now() - began) / 1000 / race.seconds)) finish();
      else handle = frameOf(tick);
    });
    handle = frameOf(tick);
  }

  return { words, start, stop, /** Whether dots run or are shown. */ isOn: () => heats.length > 0 };
}

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const STYLE = `
.ce-race-words{white-space:pre-line;position:absolute;left:12px;bottom:100%;z-index:3;max-width:calc(100% - 24px);margin-bottom:6px;padding:4px 10px;border:1px solid var(--ce-line);border-radius:8px;background:var(--ce-panel);box-shadow:0 2px 8px var(--ce-shade);font-size:13px}
`;
