/** The keys of a view, pressed in it or, if it asks for that, anywhere in the page. Each also has a button. */

import { text } from "../shared/reading.js";
import { focusedIn } from "../shared/elements.js";
import { beside } from "../picture/near.js";
import {
  chosenMode,
  hasAllTools,
  hasMenu,
  isAlive,
  isCompact,
  isDrawer,
  isPresenting,
  triedPin,
} from "../parts/state.js";
import { ZOOM_STEP } from "../parts/zoom.js";

/** @import { Picture } from "../picture/types.js" */

const NO_SECTION = "The details of what is selected do not say that.";
const NO_SELECTION = "Select a layer first.";
const NO_BELIEFS = "What layers believe is not known here: it is of the plates of a circuit.";

/** @param {import("../graph.js").Page} page */
export function makeKeys(page) {
  const { store, root, stage, camera, stepping, selecting, search, inspector, help, hint, slides, timing } = page;
  const { announce, guard } = page.ui;
  const { setMode } = page.requesting;
  const { state } = store;

  /** The box that has the focus, or else the first. @param {Picture} picture */
  const currentBox = (picture) => (picture.byId.has(state.focus) ? state.focus : picture.boxes[0].id);

  /** Move the focus from box to box. @param {"up" | "down" | "previous" | "next"} way @returns {boolean} */
  function moveFocus(way) {
    const pane = stage.currentPane();
    if (!pane || !pane.picture || !pane.picture.boxes.length) return false;
    const next = beside(pane.picture, currentBox(pane.picture), way);
    if (!next) return true;
    store.set({ focus: next.id });
    camera.reveal(next);
    pane.scene.focus(next.id);
    if (isCompact(state)) announce("");
    return true;
  }

  /** @param {boolean} add @returns {boolean} */
  function enter(add) {
    const { picture, focus } = state;
    if (!picture || !picture.boxes.length) return false;
    selecting.choose(picture.other?.byId.has(focus) ? focus : currentBox(picture), add);
    return true;
  }

  /** Undo the innermost thing: hint, help, playing, attempt, search, selection, drawer, focus. */
  function escape() {
    hint.hide();
    if (state.showHelp) help.open(false);
    else if (state.learning) page.living.stop();
    else if (state.playing) stepping.setPlaying(false);
    else if (triedPin(state)) page.attempts.play("");
    else if (state.query) search.clear();
    else if (state.hull || state.selection.length) {
      if (state.hull) selecting.light("");
      selecting.select([]);
    } else if (isDrawer(state) && state.showSide) inspector.close();
    else focusedIn(root)?.blur?.();
  }

  /** Show a section of the details, or say that there is none. @param {string} name */
  const openSection = (name) =>
    inspector.openSection(name) || selecting.say(state.selection.length ? NO_SECTION : NO_SELECTION);

  /** What the letters and signs do. @type {Record<string, (graph: boolean) => boolean | void>} */
  const letters = {
    "[": () => selecting.turn(-1),
    "]": () => selecting.turn(1),
    "{": () => selecting.turnMatch(-1),
    "}": () => selecting.turnMatch(1),
    "+": () => camera.zoom(ZOOM_STEP),
    "=": () => camera.zoom(ZOOM_STEP),
    "-": () => camera.zoom(1 / ZOOM_STEP),
    _: () => camera.zoom(1 / ZOOM_STEP),
    f: () => camera.focusOrFit(),
    "/": () => {
      if (hasMenu(state)) page.arrangement.openMenu();
      else if (!hasAllTools(state)) inspector.open();
      search.focus();
    },
    d: () => setMode(chosenMode(state) === "diff" ? "after" : "diff"),
    "?": () => help.open(),
    b: () => (page.livingBar.switching.hidden ? selecting.say(NO_BELIEFS) : page.living.toggle()),
    s: () => isAlive(state) && page.living.sample(),
    t: () => (timing.isOffered() ? timing.start() : openSection("timing")),
    r: () => page.timeline.race(),
    z: () => page.timeline.magnify(),
    ",": (graph) => graph && moveFocus("previous"),
    ".": (graph) => (graph ? moveFocus("next") : stage.focus(state.focus)),
    h: () => openSection("lineage"),
    w: () => (state.selection.length ? openSection("why-not") : selecting.turnToNearMiss()),
  };

  /**
   * @param {any} event @param {boolean} graph in a picture @param {boolean} pressing on something that Space presses
   * @returns {boolean} whether the key was used
   */
  function act({ key, shiftKey, target }, graph, pressing) {
    const vertical = key === "ArrowUp" || key === "ArrowDown";
    if (key === "ArrowLeft" || key === "ArrowRight") {
      stepping.walk(key === "ArrowLeft" ? -1 : 1, shiftKey || !state.onlyChanging);
    } else if (key === "Home") stepping.goTo(0);
    else if (key === "End") stepping.goToEnd();
    else if (key === "Escape") escape();
    else if (key === " " && !pressing) {
      if (state.learning) page.living.watch();
      else if (graph) camera.fit();
      else stepping.setPlaying(!state.playing);
    } else if (graph && vertical) return moveFocus(key === "ArrowUp" ? "up" : "down");
    else if (PAGES[key] && page.film.element.contains(target)) stepping.walk(PAGES[key]);
    else if (graph && key === "Enter") return enter(shiftKey);
    else if (state.options.letter_keys === false || !Object.hasOwn(letters, key)) return false;
    else return letters[key](graph) !== false;
    return true;
  }

  /** @param {any} event */
  function press(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const target = targetOf(event);
    const tag = text(target && target.tagName).toLowerCase();
    const type = tag === "input" ? target.getAttribute("type") : "";
    const typing = tag === "textarea" || tag === "select" || type === "search" || type === "number";
    if (typing && event.key !== "Escape") return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pressing = tag === "button" || tag === "summary" || type === "checkbox";
    const { key, shiftKey } = event;
    const used = isPresenting(state)
      ? page.guessing.press(event, { inPicture: stage.hasFocus(), pressing, moveFocus }) ||
        slides.press(event, pressing)
      : act({ key, shiftKey, target }, stage.hasFocus(), pressing);
    if (!used) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * With the option `main`, keys work wherever the focus is in the page, except in what uses them itself.
   * @param {any} doc @returns {() => void} stops it
   */
  function listenToPage(doc) {
    const listen = guard((/** @type {any} */ event) => {
      if (state.options.main !== true || doc.body.inert) return;
      const path = event.composedPath();
      if (!path.includes(root) && !path.some(usesKeys)) press(event);
    });
    doc.addEventListener("keydown", listen);
    return () => doc.removeEventListener("keydown", listen);
  }

  return { press, listenToPage };
}

/** What these keys do on the film: to the next step. @type {Record<string, number>} */
const PAGES = { PageUp: 1, PageDown: -1 };

/** The element that has the focus, also in a shadow root. @param {any} event */
const targetOf = (event) => event.composedPath?.()[0] ?? event.target;

const FIELDS = ["input", "select", "textarea"];
/** What is no field although it is an `input`. */
const PRESSED = ["button", "checkbox", "file", "reset", "submit"];
/** Roles of elements that use arrows, letters or Escape themselves. */
const ROLES =
  "combobox dialog grid listbox menu menubar option radio radiogroup searchbox slider spinbutton tab tablist textbox tree treeitem";
const KEY_ROLES = new Set(ROLES.split(" "));

/** @param {any} element an element, or another target on the path of an event */
function usesKeys(element) {
  if (!element.getAttribute) return false;
  if (element.isContentEditable || KEY_ROLES.has(element.getAttribute("role"))) return true;
  return FIELDS.includes(text(element.tagName).toLowerCase()) && !PRESSED.includes(element.getAttribute("type"));
}
