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
import { setChildren } from "./shared/elements.js";
import { makeStore } from "./shared/store.js";
import { paletteFor, watchTheme } from "./shared/theme.js";
import { onChangesTogether } from "./shared/traits.js";
import { makeBuffers } from "./parts/buffers.js";
import { makeCloseup } from "./closeup/panel.js";
import { makeAhead, makeShowing } from "./controls/showing.js";
import { makeCamera } from "./controls/camera.js";
import { makeAsking, makeClosingUp } from "./controls/closeup.js";
import { makeDockingClock } from "./controls/docking.js";
import { makeCopying } from "./controls/copying.js";
import { makeGuessing } from "./controls/guessing.js";
import { makeFocusing } from "./controls/focusing.js";
import { makeKeys } from "./controls/keys.js";
import { makePointing } from "./controls/pointing.js";
import { makeReaders } from "./controls/readers.js";
import { makeRequesting, makeStepping, makeTiming } from "./controls/stepping.js";
import { makeRowLighting } from "./controls/row_lighting.js";
import { makeSaving } from "./controls/saving.js";
import { makeSelecting } from "./controls/selecting.js";
import { makeFilm } from "./parts/film.js";
import { makeFoot, makePager } from "./parts/foot.js";
import { makeFrame, makeRoom, makeToolSplit } from "./parts/frame.js";
import { makeHelp } from "./parts/help.js";
import { makeHint } from "./parts/hint.js";
import { makeInspector } from "./parts/inspector.js";
import { legendItems, makeLegend } from "./parts/legend.js";
import { makeLens } from "./parts/lens.js";
import { makeLoading } from "./parts/loading.js";
import { makeMinimap } from "./parts/minimap.js";
import { makeSearch } from "./parts/search.js";
import { makeSlides } from "./parts/slides.js";
import { makeStage } from "./parts/stage.js";
import { hasLegend, initialState, isCompact } from "./parts/state.js";
import { makeStepper } from "./parts/stepper.js";
import { makeStrip } from "./parts/strip.js";
import { STYLE } from "./parts/style.js";
import { makeTable } from "./parts/table.js";
import { makeTimeline } from "./parts/timeline.js";
import { makeToolbar } from "./parts/toolbar.js";
import { makeUi } from "./parts/ui.js";
import { makeZoom } from "./parts/zoom.js";

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
  const saving = makeSaving(model, store);
  const root = h("div", {
    class: "ce-root",
    role: "region",
    "aria-label": "Circuit explorer",
    tabindex: "-1",
    "data-lm-suppress-shortcuts": "true",
    onkeydown: guard((/** @type {any} */ event) => keys.press(event)),
  });

  // What the user can do.
  const area = h("div", { class: "ce-views" });
  const hint = makeHint(ui, area);
  const stage = makeStage(ui, store, { root, attach: (pane) => pointing.attach(pane) });
  const camera = makeCamera(ui, store, saving, stage, root);
  const loading = makeLoading(ui, store, { root, cancel: () => requesting.cancel() });
  const showing = makeShowing(ui, store, { camera, hint, words: () => slides.words() });
  const ahead = makeAhead(store, showing);
  const stepping = makeStepping(ui, store, saving, loading, ahead);
  const requesting = makeRequesting(store, saving, loading, stepping);
  const guessing = makeGuessing(ui, store);
  const selecting = makeSelecting(ui, store, saving, { root, stage, camera, guessing, lit: () => pager.words() });
  const timing = makeTiming(store, saving);
  const closingUp = makeClosingUp(store, saving);
  const pointing = makePointing(ui, store, { root, stage, camera, selecting, hint, closingUp, saving });

  // The parts of the page.
  const stepper = makeStepper(ui, store, stepping, saving);
  const film = makeFilm(ui, store, stepping);
  const closeup = makeCloseup(ui, store, closingUp);
  const timeline = makeTimeline(ui, store, timing, stepping.goTo);
  const buffers = makeBuffers(ui, store, selecting);
  const copying = makeCopying(ui, store, stage);
  const slides = makeSlides(ui, store, saving, loading, { root, guessing, copy: copying.slideButton });
  const toolbar = makeToolbar(ui, store, saving, requesting.setMode);
  const search = makeSearch(ui, store, selecting);
  const strip = makeStrip(ui, store, saving);
  const zoom = makeZoom(ui, camera);
  const map = makeMinimap(ui, store, stage, camera);
  const table = makeTable(ui, store);
  const inspector = makeInspector(ui, store, saving, compactSettings);
  const help = makeHelp(ui, store, saving, timing, root);
  const legend = makeLegend(ui, store);
  const split = makeToolSplit(ui, store);
  const pager = makePager(ui, store, selecting.turn);
  const lens = makeLens(ui, store, selecting, saving, { root, pager: pager.element });
  const foot = makeFoot(ui, store, saving, pager.element);
  const focusing = makeFocusing(store, { root, stage, stepper });
  const keys = makeKeys(ui, store, {
    root,
    slider: stepper.slider,
    setMode: requesting.setMode,
    stage,
    camera,
    stepping,
    selecting,
    search,
    inspector,
    help,
    hint,
    timing,
    slides,
    guessing,
  });

  // Where they are.
  const floatModes = h("div", { class: "ce-float ce-modes" });
  const gap = h("span", { class: "ce-grow" });
  area.replaceChildren(
    stage.element,
    stage.empty,
    floatModes,
    zoom.element,
    map.element,
    hint.element,
    table.element,
    ...loading.elements,
  );
  const main = h("div", { class: "ce-main" }, area, lens.element, inspector.element, help.element);
  root.replaceChildren(
    slides.head,
    stepper.element,
    film.element,
    toolbar.element,
    strip.element,
    ui.wrong,
    main,
    closeup.element,
    timeline.element,
    buffers.element,
    h("div", { class: "ce-bottom" }, legend.element, foot.element),
    slides.foot,
    split.element,
    ui.live,
  );

  /**
   * In compact form there is no toolbar: the modes float, two buttons join the stepper, the rest is in the inspector.
   */
  const arrangement = {
    reads: /** @type {const} */ (["options"]),
    draw() {
      const compact = isCompact(state);
      const buttons = [inspector.toggle, help.toggle];
      floatModes.hidden = !compact;
      setChildren(floatModes, compact ? [toolbar.modes] : []);
      setChildren(stepper.element, [...stepper.parts, ...(compact ? buttons : [])]);
      if (compact) return;
      setChildren(toolbar.element, [
        toolbar.modes,
        ...toolbar.choosers,
        search.element,
        gap,
        slides.buttons,
        copying.button,
        table.toggle,
        ...buttons,
      ]);
    },
  };

  /**
   * What has no room elsewhere in compact form.
   * @param {ReadonlySet<string>} closed headings that the user has closed
   */
  function compactSettings(closed) {
    const choosers = toolbar.choosers.some((item) => !item.hidden) ? toolbar.choosers : [];
    const tables = h("div", { class: "ce-group" }, table.toggle, h("span", { text: "Table" }));
    const settings = h(
      "div",
      { class: "ce-settings" },
      ...choosers,
      search.element,
      slides.buttons,
      copying.button,
      tables,
    );
    const open = !closed.has("View");
    return h(
      "div",
      {},
      h("details", { open }, h("summary", { text: "View" }), settings),
      hasLegend(state)
        ? null
        : h(
            "details",
            { open: true },
            h("summary", { text: "Legend" }),
            h("ul", { class: "ce-legend" }, legendItems(ui.make, state)),
          ),
    );
  }

  store.add(
    focusing.before,
    makeFrame(store, root),
    makeRoom(store, stage, main),
    arrangement,
    stepper,
    film,
    timeline,
    buffers,
    slides,
    copying,
    toolbar,
    stage,
    search,
    strip,
    legend,
    foot,
    split,
    pager,
    lens,
    inspector,
    makeDockingClock(ui, store),
    makeAsking(ui, store, closingUp),
    closeup,
    table,
    help,
    map,
    loading,
    focusing.after,
  );

  /** The size of the view has changed. While a host hides it, it has none: keep the last one. */
  function settle() {
    const roomy = (doc.defaultView?.innerHeight ?? ROOMY) >= ROOMY;
    store.set({ width: root.clientWidth || state.width, roomy });
    camera.settle();
  }
  const retheme = guard(() => store.set({ palette: paletteFor(doc, state.options.theme) }));
  const readers = makeReaders(ui, store, model, { camera, loading, showing, ahead, slides, closingUp, settle });
  const closing = [
    onChangesTogether(model, readers),
    watchTheme(doc, retheme),
    keys.listenToPage(doc),
    makeRowLighting(ui, store),
  ];
  const stop = guard(requesting.stop);
  doc.addEventListener(STOPPED, stop);
  closing.push(() => doc.removeEventListener(STOPPED, stop));
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
  if (model.get("ready") === false) saving.save({ ready: true });

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
