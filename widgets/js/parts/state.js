/** What a view of pictures shows and what the user did: the state that its parts draw, and facts derived from it. */

import { FIRST } from "../closeup/reading.js";
import { list, number, text } from "../shared/reading.js";

/**
 * @import { Box, Camera, Details, Marks, Picture, Step } from "../picture/types.js"
 * @import { Palette } from "../shared/theme.js"
 */

/**
 *
 * @typedef {{
 *   picture: Picture | null, steps: Step[], step: number, details: Details | null,
 *   view: Record<string, any>, options: Record<string, any>,
 *   selection: string[], found: Set<string> | null, lit: Set<string> | null, hull: string, hover: string, focus: string, cell: number,
 *   palette: Palette, width: number, side: string, roomy: boolean, camera: Camera,
 *   progress: {text: string, share: number | null} | null,
 *   playing: boolean, onlyChanging: boolean, query: string, stopped: boolean,
 *   showTable: boolean, showAllRows: boolean, showHelp: boolean, showSide: boolean,
 *   match: number, docked: {at: string, beats: number}, showDone: boolean, otherwise: string,
 *   tried: string, shut: boolean, notice: string, guess: {at: string, chosen: string[], checked: boolean},
 *   slice: number, closeup: string, showCloseup: boolean,
 *   values: import("../closeup/reading.js").Values | null, run: number, running: boolean,
 *   life: import("../living/model.js").Model | null, alive: boolean, evidence: import("../living/model.js").Evidence,
 *   believed: import("../living/beliefs.js").Believed | null, brush: import("../controls/living.js").Brush, epoch: number, row: import("../living/model.js").Evidence, sampling: boolean, learning: boolean,
 * }} State
 * `found`: the boxes that match `query`; `lit`: those that use the buffer at the pointer; `hull`: the lit match; `hover`, `focus`: boxes; `cell`: the cell at the pointer;
 * `width`: pixels of the view; `side`: the width of the inspector, for CSS, once it was chosen; `roomy`: the window is high enough for a legend below the picture; `stopped`: the host does
 * not answer any more; `showSide`: the inspector is open as a drawer, or closed beside the picture; `slice`: the cell that was
 * clicked, or -1; `closeup`: the part of the close-up that is shown; `progress`: of a measurement; `run`: the input of `values`
 * that is shown; `running`: the host was asked for values; `match`: the match of the lit hull that the rule lens shows;
 * `docked`: how much of it; `showDone`: with those before it done; `otherwise`: the near miss of which the
 * reader asks what if it were not so; `tried`: the pin whose attempt is shown, `shut`: as if its check had passed; `notice`: what the last key could not do; `life`: the circuit that the page evaluates, `alive`: cells show what their layers believe of the `evidence`: `believed`, or of the `row` with a sample of the rest; `learning`: the film of its epochs plays; `guess`: the plates chosen in the scene `at` of the story, which asks for them.
 * @typedef {ReturnType<typeof import("../shared/store.js").makeStore<State>>} Store
 * @typedef {ReadonlySet<keyof State>} Changed  the fields that have changed
 */

/** Below these widths some tools are in the inspector; the inspector is a drawer; all parts have less room. */
const [ALL_TOOLS, DRAWER_WIDTH, NARROW] = [1100, 760, 620];

/** No plate is chosen as an answer. @type {State["guess"]} */
export const NO_GUESS = { at: "", chosen: [], checked: false };

/** @param {Palette} palette @returns {State} */
export const initialState = (palette) => ({
  picture: null,
  steps: [],
  step: 0,
  details: null,
  view: {},
  options: {},
  selection: [],
  found: null,
  lit: null,
  hull: "",
  hover: "",
  focus: "",
  cell: -1,
  match: 0,
  docked: { at: "", beats: 0 },
  showDone: false,
  otherwise: "",
  tried: "",
  shut: false,
  notice: "",
  guess: NO_GUESS,
  slice: -1,
  palette,
  width: 1200,
  side: "",
  roomy: true,
  camera: { k: 1, x: 0, y: 0 },
  progress: null,
  playing: false,
  onlyChanging: true,
  query: "",
  stopped: false,
  showTable: false,
  showAllRows: false,
  showHelp: false,
  showSide: false,
  closeup: FIRST,
  values: null,
  run: 0,
  running: false,
  showCloseup: true,
  life: null,
  alive: false,
  evidence: [],
  believed: null,
  brush: "ink",
  epoch: -1,
  row: [],
  sampling: false,
  learning: false,
});

/** The compact form, for notebooks. @param {Readonly<State>} state */
export const isCompact = ({ options }) => options.compact === true;

/** Whether the height of the view follows what it shows. @param {Readonly<State>} state */
export const followsContent = (state) => isCompact(state) && state.options.height === undefined;

/**
 * Whether the legend is below the picture: by default, a compact view has room for it only if it is as high as it needs.
 * @param {Readonly<State>} state
 */
export const hasLegend = (state) =>
  state.options.legend ?? (!isCompact(state) || (followsContent(state) && !isAsking(state)));

/**
 * Whether a question is asked about the picture: then only the picture is shown, without captions.
 * @param {Readonly<State>} state
 */
export const isAsking = (state) => state.options.asking === true || isGuessing(state);

/** The scene of the story that asks a question, if it is shown. @param {Readonly<State>} state */
const askingScene = ({ steps, view }) =>
  text(view.slides)
    ? steps.flatMap(({ scenes }) => scenes).find(({ name, guess }) => guess && name === view.slides)
    : null;

/** What the scene asks, and what the reader has answered; null if it asks nothing. @param {Readonly<State>} state */
export function guessOf(state) {
  const scene = askingScene(state);
  if (!scene || !scene.guess) return null;
  const { at, chosen, checked } = state.guess;
  const own = at === scene.name;
  return {
    ...scene.guess,
    name: scene.name,
    answer: scene.sentence,
    chosen: own ? chosen : [],
    checked: own && checked,
  };
}

/** Whether a scene waits for an answer: then nothing on the screen may tell it. @param {Readonly<State>} state */
export const isGuessing = (state) => guessOf(state)?.checked === false;

/** Whether the view is full of a slide: `steps`, or a scene of the story. @param {Readonly<State>} state */
export const isPresenting = ({ view }) => text(view.slides) !== "";

/** @param {Readonly<State>} state @returns {string} `side`, `drawer` or `none` */
export const inspectorKind = (state) => text(state.options.inspector, isCompact(state) ? "drawer" : "side");

/** @param {Readonly<State>} state */
export const isDrawer = (state) => inspectorKind(state) === "drawer" || state.width < DRAWER_WIDTH;

/** Whether the toolbar has room for all that it can hold. @param {Readonly<State>} state */
export const hasAllTools = (state) => !isCompact(state) && state.width >= ALL_TOOLS;

/** Whether the rest is in a menu, as a tool of the host has the room of the inspector. @param {Readonly<State>} state */
export const hasMenu = (state) => state.options.tool === true && !isCompact(state) && !hasAllTools(state);

/** @param {Readonly<State>} state */
export const isNarrow = ({ width }) => width < NARROW;

/** Whether nothing is selected: then the details open only on request. @param {Readonly<State>} state */
export const isUnselected = ({ selection }) => !selection.length;

/** Whether the picture of the requested step and mode has not arrived yet. @param {Readonly<State>} state */
export const isAwaited = ({ picture, step, view }) =>
  !picture || picture.step !== step || Boolean(view.mode && picture.mode !== view.mode);

/** The pictures on the stage: one, or two side by side. @param {Readonly<State>} state @returns {Picture[]} */
export function picturesOf({ picture }) {
  if (!picture) return [];
  return picture.mode === "side" && picture.other ? [picture, picture.other] : [picture];
}

/** @param {Readonly<State>} state @param {string} id @returns {Box | undefined} */
export const boxOf = ({ picture }, id) =>
  picture && id ? picture.byId.get(id) || (picture.other ? picture.other.byId.get(id) : undefined) : undefined;

/** The layers that were clicked in the selected plates. @param {Readonly<State>} state @returns {number[]} */
export function layersOf(state) {
  const layers = list(state.view.layers).map((layer) => number(layer));
  const plates = layers.length ? state.selection.flatMap((id) => boxOf(state, id)?.plate ?? []) : [];
  return layers.filter((layer) => plates.some(({ cells }) => cells.includes(layer)));
}

/** The cells of the inspected plate that were clicked, by position. @param {Readonly<State>} state @returns {number[]} */
export function pickedIn(state) {
  const cells = inspectedBox(state)?.plate?.cells ?? [];
  const picked = layersOf(state).flatMap((layer) => (cells.includes(layer) ? [cells.indexOf(layer)] : []));
  return picked.length || state.slice < 0 ? picked : [state.slice];
}

/** The layer of the inspected box that was clicked last, if the box represents several; or else -1. @param {Readonly<State>} state */
export function inspectedLayer(state) {
  const ids = inspectedBox(state)?.ids ?? [];
  const layers = ids.length > 1 ? layersOf(state).filter((layer) => ids.includes(layer)) : [];
  return layers.length ? layers[layers.length - 1] : -1;
}

/** The boxes that no other one reads. @param {Picture | null} picture @returns {Box[]} */
export function rootsOf(picture) {
  const read = new Set(picture?.edges.map(({ source }) => source));
  return picture?.boxes.filter((box) => !read.has(box)) ?? [];
}

/** The box that is inspected: the last one selected. @param {Readonly<State>} state */
export const inspectedBox = (state) => boxOf(state, state.selection[state.selection.length - 1] || "");

/** Whether the film and a sentence tell what the steps do. @param {Readonly<State>} state */
export const isTold = (state) => state.options.film !== false && !isAsking(state);

/** Whether a sentence beside the film says what the step did. @param {Readonly<State>} state */
export const hasSentence = (state) =>
  state.options.stepper !== false && isTold(state) && Boolean(sentenceOf(state.steps[state.step]));

/** What a step did, in a sentence. @param {Step | undefined} step */
export const sentenceOf = (step) => step?.frame?.sentence || step?.summary || "";

/** @param {Readonly<State>} state */
export const captionOf = (state) => (state.picture && !isAsking(state) ? state.picture.caption : "");

/** @param {Readonly<State>} state */
export const messageOf = (state) => (state.picture && !isAsking(state) ? state.picture.message : "");

/** The close-up of the selected plate. @param {Readonly<State>} state */
export function closeupOf(state) {
  const { details, selection, options } = state;
  if (isAsking(state) || options.closeup === false || !details?.closeup) return null;
  return details.id && selection.includes(details.id) ? details.closeup : null;
}

/** Whether the details of the selected plate have not arrived yet. @param {Readonly<State>} state */
export const isCloseupAwaited = ({ details, selection, options, picture }) =>
  picture?.groupBy === "plates" &&
  selection.length > 0 &&
  options.asking !== true &&
  options.closeup !== false &&
  !(details && selection.includes(details.id));

/** Whether cells are to have the colours of their values: never on a slide or while a question is asked. @param {Readonly<State>} state */
export const isColouredByValue = (state) =>
  state.view.colour_by === "value" && !isPresenting(state) && !isAsking(state);

/** The values that the cells show: none on a slide, which has no close-up. @param {Readonly<State>} state */
export function cellValues(state) {
  const isOpen = state.closeup === "values" && state.showCloseup && !isPresenting(state);
  const shown = isColouredByValue(state) || (isOpen && (closeupOf(state) || isCloseupAwaited(state)));
  const { runs, looks } = (shown && state.values) || { runs: [], looks: [] };
  const run = runs[state.run];
  return run ? { cells: run.cells, looks } : null;
}

/** Whether cells show what their layers believe: never while a question is asked. @param {Readonly<State>} state */
export const isAlive = (state) => state.alive && state.believed !== null && !isAsking(state);

/** Whether beliefs are to be shown, and the weights have not arrived yet. @param {Readonly<State>} state */
export const isLifeAwaited = (state) =>
  state.alive &&
  !state.life &&
  state.options.living === true &&
  state.picture?.groupBy === "plates" &&
  !isAsking(state);

/** What is emphasized in the scenes, without beliefs. @param {Readonly<State>} state @returns {Omit<Marks, "beliefs">} */
export const marksOf = (state) => ({
  ...chosenOf(state),
  hull: state.hull,
  hover: state.hover,
  focus: state.focus,
  cell: state.cell,
  values: cellValues(state),
  lens: lensOf(state),
  layers: layersOf(state),
  pins: { tried: triedPin(state)?.id ?? "", shut: state.shut, hidden: isAsking(state) },
});

/** The selected boxes and those that were found; in a scene that asks, those that were chosen and then the right ones. @param {Readonly<State>} state */
function chosenOf(state) {
  const guess = guessOf(state);
  if (!guess) return { selected: new Set(state.selection), found: state.lit || state.found };
  return { selected: new Set(guess.chosen), found: guess.checked ? new Set(guess.wanted) : null };
}

/**
 * The mode that the reader has chosen: the rule lens, which is over the picture, may show the state before the step meanwhile.
 * @param {Readonly<State>} state
 */
export const chosenMode = ({ view, picture }) => text(view.under) || text(view.mode, picture ? picture.mode : "diff");

/** The changes of the view that close the rule lens; none if it is closed. @param {Readonly<State>} state @returns {Record<string, any>} */
export function withoutLens({ view, hull }) {
  if (!hull && !view.hull && !view.under) return {};
  return { hull: "", match: 0, ...(view.under ? { mode: view.under, under: "" } : {}) };
}

/** A pin of the picture that is shown. @param {Readonly<State>} state @param {string} id */
export const pinKey = ({ picture }, id) => `${picture?.step} ${picture?.mode} ${id}`;

/** The pin whose attempt is shown. @param {Readonly<State>} state */
export const triedPin = (state) =>
  (!isAsking(state) && state.picture?.pins.find(({ id }) => pinKey(state, id) === state.tried)) || null;

/** What the rule lens shows. @param {Readonly<State>} state */
export const lensKey = ({ picture, hull, match }) => `${picture?.step} ${picture?.mode} ${hull} ${match}`;

/** The match of the lit hull, and how much of it has been shown. @param {Readonly<State>} state */
export const lensOf = (state) => ({
  match: state.match,
  beats: state.docked.at === lensKey(state) ? state.docked.beats : 0,
  done: state.showDone,
  otherwise: state.otherwise === lensKey(state),
});
