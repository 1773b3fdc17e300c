/** Links into a page: what the address says of the step, the display and the selection, and back. */

import { list } from "../shared/reading.js";

/** @import { Recording } from "./opening.js" */

/**
 * @typedef {{hash?: string, search?: string, closeups?: string[]}} Link  `closeups`: the parts of the close-up that it may name
 */

/** What a link says of the match in the rule lens and of the close-up. */
const CLOSER = ["hull", "match", "closeup"];

/** @param {string | undefined} hash */
const wordsOf = (hash) => new URLSearchParams((hash || "").replace(/^#/, ""));

/** The recorded values of a part of the looks: 0 is the step, 1 the mode, 2 the colouring, 3 the grouping. @param {Recording} recording @param {number} at */
const recorded = ({ looks }, at) => [...new Set(looks.map((look) => look.split("/")[at]))];

/** What a page offers to choose from; `side` can be composed of `before` and `after`. @param {Recording} recording */
export function choicesOf(recording) {
  const known = recorded(recording, 1);
  const modes = ["diff", "before", "after", "side"].filter((mode) => known.includes(mode));
  if (modes.includes("before") && modes.includes("after") && !modes.includes("side")) modes.push("side");
  return { modes, colours: recorded(recording, 2), groups: recorded(recording, 3) };
}

/** Whether a link asks for slides. @param {string | undefined} search */
export const asksForSlides = (search) => new URLSearchParams(search || "").has("slides");

/**
 * The slides that are asked for: the name of a scene, or else the steps; empty if none are.
 * @param {Recording} recording @param {string} name
 */
function knownSlides({ steps }, name) {
  const scenes = steps.flatMap((step) => list(step.scenes).map((scene) => scene.name));
  return name && !scenes.includes(name) ? "steps" : name;
}

/**
 * Where a link leads: a `PictureStateView`, with defaults for what it does not say or cannot be read.
 * @param {Recording} recording @param {Link} link
 */
export function linkedPlace(recording, { hash, search, closeups }) {
  const asked = wordsOf(hash);
  const { modes, colours, groups } = choicesOf(recording);
  const mode = asked.get("mode") || "";
  const closeup = asked.get("closeup") || "";
  const slides = asksForSlides(search) ? new URLSearchParams(search).get("slides") || "steps" : "";
  return {
    slides: knownSlides(recording, asked.get("slides") ?? slides),
    step: Math.min(recording.steps.length - 1, Math.max(0, parseInt(asked.get("step") || "0", 10) || 0)),
    selection: asked.getAll("box"),
    mode: modes.includes(mode) ? mode : modes[0] || "diff",
    hull: asked.get("hull") || "",
    match: parseInt(asked.get("match") || "0", 10) || 0,
    closeup: closeups?.includes(closeup) ? closeup : "",
    colour_by: colours[0],
    group_by: groups[0],
  };
}

/**
 * The hash that leads to a view of a step, and the entry of the history that it belongs to: another match in the lens, or
 * another box, is the same entry.
 * @param {{step: number, view: Record<string, any>, selection: string[]}} shown @param {boolean} asks for slides
 */
export function linkTo({ step, view, selection }, asks) {
  const hash = new URLSearchParams([
    ["step", String(step)],
    ["mode", view.mode],
  ]);
  if (view.slides || asks) hash.append("slides", view.slides || "");
  for (const name of CLOSER) if (view[name]) hash.append(name, view[name]);
  for (const id of selection) hash.append("box", id);
  const entry = ["step", "mode", "slides"].map((name) => hash.get(name)).concat(hash.has("hull") ? "lens" : "");
  return { hash: `#${hash}`, entry: entry.join() };
}

/**
 * What of a link is not understood, in a sentence; empty if all is.
 * @param {Recording} recording @param {string} hash @param {string[]} closeups the parts of the close-up
 */
export function problemOf(recording, hash, closeups) {
  const steps = recording.steps.length;
  const modes = ["side", ...recorded(recording, 1)];
  /** @type {Record<string, (value: string) => boolean>} */
  const fits = {
    step: (value) => /^\d+$/.test(value) && Number(value) < steps,
    match: (value) => /^\d+$/.test(value),
    mode: (value) => modes.includes(value),
    closeup: (value) => closeups.includes(value),
  };
  const wrong = [...wordsOf(hash)].filter(([name, value]) => fits[name]?.(value) === false);
  return wrong.length ? `Not understood in the link: ${wrong.map((pair) => pair.join("=")).join(", ")}.` : "";
}
