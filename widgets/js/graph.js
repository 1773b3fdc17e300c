/**
 * The graph of one step of a trace: stepper, picture, legend, table, inspector.
 *
 * It draws plain data (the contract is `widgets/explorer_widgets/schema/`) that Python computed: positions, colour roles, words. It
 * runs unchanged as an anywidget (Jupyter), as a Panel AnyWidgetComponent (shadow root, smaller model) and in a
 * stand-alone page.
 *
 * Traits read: `picture`, `coordinates`, `steps`, `details`, `options`; read and written: `step`, `selection`, `view`;
 * written: `request` ({name, n}: what a button asks Python to do). See ../README.md.
 */

import { STOPPED } from "./shared/contract.js";
import { makeStore } from "./shared/store.js";
import { paletteFor, watchTheme } from "./shared/theme.js";
import { onChangesTogether } from "./shared/traits.js";
import { makeBuffers } from "./parts/buffers.js";
import { makeCloseup } from "./closeup/panel.js";
import { makeAhead, makeShowing } from "./controls/showing.js";
import { makeCamera } from "./controls/camera.js";
import { makeAsking, makeClosingUp } from "./controls/closeup.js";
import { makeAttempts } from "./controls/attempts.js";
import { makeCopying } from "./controls/copying.js";
import { makeGuessing } from "./controls/guessing.js";
import { makeFocusing } from "./controls/focusing.js";
import { makeKeys } from "./controls/keys.js";
import { makeLiving } from "./controls/living.js";
import { makePointing } from "./controls/pointing.js";
import { makeReaders } from "./controls/readers.js";
import { makeRequesting, makeSaving, makeStepping, makeTiming } from "./controls/stepping.js";
import { makeSelecting } from "./controls/selecting.js";
import { makeAttemptCaption } from "./parts/attempt_caption.js";
import { makeColumns } from "./parts/columns.js";
import { makeEpochs } from "./parts/epochs.js";
import { makeFilm } from "./parts/film.js";
import { makeFoot, makePager } from "./parts/foot.js";
import { makeArrangement, makeFrame, makeRoom, makeSideSplit } from "./parts/frame.js";
import { makeHelp } from "./parts/help.js";
import { makeHint } from "./parts/hint.js";
import { makeInspector } from "./parts/inspector.js";
import { makeLegend } from "./parts/legend.js";
import { makeDockingClock, makeLens } from "./parts/lens.js";
import { makeLivingBar } from "./parts/living.js";
import { makeLoading } from "./parts/loading.js";
import { makeMinimap } from "./parts/minimap.js";
import { makeSearch } from "./parts/search.js";
import { makeSlides } from "./parts/slides.js";
import { makeStage } from "./parts/stage.js";
import { initialState } from "./parts/state.js";
import { makeStepper } from "./parts/stepper.js";
import { makeStrip } from "./parts/strip.js";
import { STYLE } from "./parts/style.js";
import { makeTable } from "./parts/table.js";
import { makeTimeline } from "./parts/timeline.js";
import { makeToolbar } from "./parts/toolbar.js";
import { makeUi } from "./parts/ui.js";
import { makeZoom } from "./parts/zoom.js";

/** @import { Store } from "./parts/state.js" */

/**
 * What the user can do, and the parts of the page: a name and what makes it, of those above it. What one needs of those
 * below it, it finds in the page when it is used.
 */
const PARTS = {
  saving: makeSaving,
  hint: makeHint,
  stage: makeStage,
  camera: makeCamera,
  loading: makeLoading,
  showing: makeShowing,
  ahead: makeAhead,
  stepping: makeStepping,
  requesting: makeRequesting,
  guessing: makeGuessing,
  selecting: makeSelecting,
  attempts: makeAttempts,
  tried: makeAttemptCaption,
  timing: makeTiming,
  closingUp: makeClosingUp,
  living: makeLiving,
  pointing: makePointing,
  film: makeFilm,
  stepper: makeStepper,
  closeup: makeCloseup,
  timeline: makeTimeline,
  buffers: makeBuffers,
  copying: makeCopying,
  slides: makeSlides,
  epochs: makeEpochs,
  columns: makeColumns,
  livingBar: makeLivingBar,
  toolbar: makeToolbar,
  search: makeSearch,
  strip: makeStrip,
  zoom: makeZoom,
  map: makeMinimap,
  table: makeTable,
  arrangement: makeArrangement,
  inspector: makeInspector,
  help: makeHelp,
  frame: makeFrame,
  room: makeRoom,
  legend: makeLegend,
  split: makeSideSplit,
  pager: makePager,
  lens: makeLens,
  foot: makeFoot,
  focusing: makeFocusing,
  docking: makeDockingClock,
  asking: makeAsking,
  keys: makeKeys,
};

/** The parts that draw, in order, between those that keep the focus. */
const DRAWN = /** @type {const} */ ([
  ...[
    "frame",
    "room",
    "arrangement",
    "film",
    "stepper",
    "timeline",
    "buffers",
    "slides",
    "copying",
    "toolbar",
    "stage",
  ],
  ...[
    "search",
    "strip",
    "legend",
    "foot",
    "pager",
    "lens",
    "tried",
    "inspector",
    "split",
    "docking",
    "asking",
    "closeup",
  ],
  ...["epochs", "columns", "livingBar"],
  ...["table", "help", "map", "loading"],
]);

/**
 * @typedef {{[Name in keyof typeof PARTS]: ReturnType<(typeof PARTS)[Name]>}} Parts
 * @typedef {Parts & {ui: import("./parts/ui.js").Ui, store: Store, model: import("./shared/contract.js").Model, root: any,
 *   area: any, main: any, below: any, settle(): void}} Page  `area`: of the pictures; `main`: what holds it; `below`: for the close-up, if it
 *   is below the picture; `settle`: the size of the view has changed
 */

/** Minimum height of a window with room for a legend below the picture. */
const ROOMY = 640;

/**
 * Draws the view into `el`; returns a function that removes it.
 * @param {import("./shared/contract.js").Context} context @returns {() => void}
 */
function render({ model, el }) {
  const ui = makeUi(el.ownerDocument || document);
  const { doc, h, guard, timers } = ui;
  const store = makeStore(initialState(paletteFor(doc, "auto")));
  const { state } = store;
  const root = h("div", {
    class: "ce-root",
    role: "region",
    "aria-label": "Circuit explorer",
    tabindex: "-1",
    "data-lm-suppress-shortcuts": "true",
    onkeydown: guard((/** @type {any} */ event) => page.keys.press(event)),
  });
  const [area, main] = [h("div", { class: "ce-views" }), h("div", { class: "ce-main" })];
  const below = h("div", { class: "ce-below" });
  /** While a host hides the view, it has no size: keep the last one. */
  function settle() {
    const roomy = (doc.defaultView?.innerHeight ?? ROOMY) >= ROOMY;
    store.set({ width: root.clientWidth || state.width, roomy });
    page.camera.settle();
  }
  const page = /** @type {Page} */ ({ ui, store, model, root, area, main, below, settle });
  for (const [name, make] of Object.entries(PARTS)) Object.assign(page, { [name]: make(page) });

  const { camera, stage, hint, table, loading, focusing } = page;
  const { lens, inspector, help } = page;
  area.replaceChildren(
    ...[
      stage.element,
      stage.empty,
      page.zoom.element,
      page.map.element,
      page.tried.element,
      hint.element,
      table.element,
    ],
    ...loading.elements,
  );
  main.replaceChildren(area, lens.element, page.split.element, inspector.element, help.element);
  const bottom = h("div", { class: "ce-bottom" }, page.toolbar.choosing, page.legend.element, page.foot.element);
  const skip = ui.textButton("Skip to the picture", () => stage.focus(state.focus), { class: "ce-skip" });
  root.replaceChildren(
    ...[skip, page.slides.head, page.stepper.element, page.toolbar.element, page.strip.element, ui.wrong],
    ...[
      main,
      page.livingBar.element,
      page.below,
      page.timeline.element,
      page.buffers.element,
      bottom,
      page.slides.foot,
      ui.live,
    ],
  );
  store.add(focusing.before, ...DRAWN.map((name) => page[name]), focusing.after);

  const readers = makeReaders(page);
  const stop = guard(page.requesting.stop);
  const closing = [
    onChangesTogether(model, readers),
    watchTheme(
      doc,
      guard(() => store.set({ palette: paletteFor(doc, state.options.theme) })),
    ),
    page.keys.listenToPage(doc),
    () => doc.removeEventListener(STOPPED, stop),
  ];
  doc.addEventListener(STOPPED, stop);
  if (typeof ResizeObserver === "function") {
    const watch = new ResizeObserver(guard(settle));
    watch.observe(root);
    watch.observe(area);
    closing.push(() => watch.disconnect());
  }
  const sheet = h("style", { text: STYLE });
  el.appendChild(sheet);
  el.appendChild(root);
  store.draw();
  for (const read of new Set(Object.values(readers))) read();
  if (model.get("ready") === false) page.saving.save({ ready: true });

  return () => {
    camera.stop();
    timers.close();
    for (const close of closing) close();
    stage.close();
    sheet.remove();
    root.remove();
  };
}

export default { render };
