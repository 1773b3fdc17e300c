/** What the film shows: a frame for each step that changed something; runs of equal passes, if not all frames have room. */

/** @import { Step } from "../picture/types.js" */

/** @typedef {{step: Step, count: number, gain: number, family: string}} Frame  `family`: what equal passes share */
/** @typedef {{frames: Frame[], ticks: Step[]}} Item  a frame, or a run of equal passes; `ticks`: what follows and changed nothing */

/** Only the largest gains have thumbnails. */
const THUMBNAILS = 6;
/** The length of the shortest run. */
const RUN = 3;

/** The most memory at one moment, or the calls. @param {Step} step */
const countOf = ({ frame, layers }) => (frame ? (frame.memory?.[1] ?? frame.calls) : layers);

/** @param {Step[]} steps @returns {Frame[]} */
function framesOf(steps) {
  const isFilm = steps.some(({ frame }) => frame);
  const shown = steps.filter(
    (step, at) => !at || step.error || step.ok === false || (isFilm ? step.frame : step.changed),
  );
  return shown.map((step, at) => {
    const [before, count] = [at ? countOf(shown[at - 1]) : 0, countOf(step)];
    const gain = before > count ? Math.log((before + 1) / (count + 1)) : 0;
    return { step, count, gain, family: step.path.split("/")[0] };
  });
}

/** The frames with the largest gains, and the first. @param {Frame[]} frames */
export const largest = (frames) => [...frames].sort((a, b) => b.gain - a.gain).slice(0, THUMBNAILS);

/**
 * The frames in order. If more than `fit`, equal passes in a row with small gains are one item; the run of `step` is open.
 * @param {Step[]} steps @param {number} fit @param {number} step @returns {Item[]}
 */
export function itemsOf(steps, fit, step) {
  const frames = framesOf(steps);
  const places = new Map(frames.map((frame, at) => [frame, at]));
  /** The steps after a frame that changed nothing. @param {Frame} frame */
  const ticksOf = (frame) => steps.slice(frame.step.index + 1, frames[(places.get(frame) ?? 0) + 1]?.step.index);
  return runsOf(frames, frames.length > fit).flatMap((run) => {
    const ticks = run.map(ticksOf);
    const last = ticks[ticks.length - 1];
    const end = (last[last.length - 1] ?? run[run.length - 1].step).index;
    const isOpen = run.length < RUN || (step >= run[0].step.index && step <= end);
    if (!isOpen) return [{ frames: run, ticks: ticks.flat() }];
    return run.map((frame, at) => ({ frames: [frame], ticks: ticks[at] }));
  });
}

/** @param {Frame[]} frames @param {boolean} closes whether equal passes in a row are one run @returns {Frame[][]} */
function runsOf(frames, closes) {
  const large = new Set(largest(frames));
  /** @type {Frame[][]} */
  const runs = [];
  for (const frame of frames) {
    const run = runs[runs.length - 1];
    const joins = closes && run && run[0].family === frame.family && !large.has(run[0]) && !large.has(frame);
    if (joins) run.push(frame);
    else runs.push([frame]);
  }
  return runs;
}
