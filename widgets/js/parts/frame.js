/** The root of a view: its theme, size and common controls; the room it gives to pictures and to the column beside them. */

import { heightFor } from "../controls/camera_views.js";
import { classes, setChildren } from "../shared/elements.js";
import { FONT } from "../shared/measuring.js";
import { makeSplit } from "../shared/splitting.js";
import { applyPalette, heightOf } from "../shared/theme.js";
import { legendItems } from "./legend.js";
import {
  followsContent,
  hasAllTools,
  hasLegend,
  hasMenu,
  isCompact,
  isDrawer,
  isGuessing,
  isNarrow,
  isPresenting,
  picturesOf,
} from "./state.js";

const HEIGHT = "640px";

/** @param {import("../graph.js").Page} page */
export function makeFrame({ store: { state }, root }) {
  return {
    reads: /** @type {const} */ (["options", "palette", "width", "view", "steps", "guess"]),
    draw() {
      const compact = isCompact(state);
      applyPalette(root, state.palette, "ce");
      root.style.setProperty("height", followsContent(state) ? "auto" : heightOf(state.options.height, HEIGHT));
      const forms = [compact && "ce-compact", isDrawer(state) && "ce-drawer", isNarrow(state) && "ce-narrow"];
      forms.push(isPresenting(state) && "ce-slides", isGuessing(state) && "ce-guessing");
      root.setAttribute("class", classes("ce-root", ...forms));
    },
  };
}

export const STYLE = `
.ce-root{--ce-radius:8px;box-sizing:border-box;position:relative;display:flex;flex-direction:column;width:100%;min-height:min-content;overflow:hidden;
  font:13px/1.4 ${FONT};color:var(--ce-fg);background:var(--ce-bg);border:1px solid var(--ce-line);border-radius:var(--ce-radius);text-align:left}
.ce-root *{box-sizing:border-box}
.ce-root [hidden]{display:none!important}
.ce-said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.ce-root button.ce-skip:not(:focus){clip-path:inset(50%);pointer-events:none}
.ce-root button.ce-skip{position:absolute;left:8px;top:8px;z-index:9}
.ce-root.ce-slides .ce-skip{display:none}
.ce-bar{display:flex;flex-wrap:wrap;align-items:center;gap:6px 10px;padding:6px 10px;border-bottom:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-group{display:flex;align-items:center;gap:2px}
.ce-root button,.ce-root select,.ce-root input[type=search]{font:inherit;color:inherit;height:28px;min-width:28px;padding:0 8px;margin:0;border:1px solid var(--ce-control);
  border-radius:6px;background:var(--ce-panel);cursor:pointer;white-space:nowrap;line-height:1;box-shadow:none;text-transform:none;letter-spacing:0}
.ce-root select{appearance:none;padding-right:26px;background:linear-gradient(45deg,transparent 50%,currentColor 50%) right 14px center/5px 5px no-repeat,linear-gradient(135deg,currentColor 50%,transparent 50%) right 9px center/5px 5px no-repeat var(--ce-panel)}
.ce-root select option{background:var(--ce-panel)}
.ce-root button{display:inline-flex;align-items:center;justify-content:center;gap:5px;font-weight:500}
.ce-root button.ce-bare{border-color:transparent;padding:0 6px}
.ce-root button:hover:not(:disabled){background:var(--ce-soft)}
.ce-root button:is(:disabled,[aria-disabled=true]){opacity:.45;cursor:default}
.ce-root button[aria-pressed=true],.ce-root button[aria-expanded=true]{background:var(--ce-soft);border-color:var(--ce-accent);box-shadow:inset 0 -2px 0 var(--ce-accent)}
.ce-root :focus{outline:none}
.ce-root :focus-visible{outline:2px solid var(--ce-accent);outline-offset:2px}
.ce-root:focus-visible{outline:none}
.ce-root:focus-visible::after{content:"";position:absolute;inset:0;z-index:9;border:2px solid var(--ce-accent);border-radius:inherit;pointer-events:none}
.ce-root svg.ce-icon{display:block;fill:none;stroke:currentColor;stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round;flex:none}
.ce-root .ce-solid-icon svg.ce-icon path{fill:currentColor}
.ce-label{display:inline-flex;min-height:24px;align-items:center;gap:5px;color:var(--ce-muted);white-space:nowrap}
.ce-label select{color:var(--ce-fg)}
.ce-main{position:relative;display:flex;flex:1 0 clamp(180px,50vh,240px);min-height:0;background:var(--ce-ground)}
.ce-float{position:absolute;display:flex;gap:4px}
.ce-more{position:relative}
.ce-more>summary{display:flex;align-items:center;height:28px;padding:0 8px;border:1px solid var(--ce-control);border-radius:6px;font-weight:500;cursor:pointer;white-space:nowrap}
.ce-more>summary:hover,.ce-more[open]>summary{background:var(--ce-soft)}
.ce-more-panel{position:absolute;right:0;top:32px;z-index:6;display:flex;flex-direction:column;align-items:flex-start;gap:8px;padding:10px 12px;border:1px solid var(--ce-control);border-radius:8px;background:var(--ce-panel);box-shadow:0 3px 12px var(--ce-shade)}
`;

/**
 * Rules for paper and for what users ask of their system; they come last. Nothing draws a picture again for paper: it is
 * scaled as a whole, canvas and words alike. Of what only a screen can use, the pressed mode stays, as a word.
 */
export const SYSTEM_STYLE = `
@media print{
  .ce-root{print-color-adjust:exact}
  .ce-root canvas.ce-canvas{object-fit:contain}
  .ce-root svg.ce-stage{width:100%;height:100%}
  .ce-strips{max-width:100%;height:auto}
  .ce-zoom,.ce-map,.ce-hint,.ce-root .ce-skip,.ce-lens-done,.ce-living button,.ce-root :is(input,select,.ce-label){display:none}
  .ce-root :is(.ce-group,.ce-toolbar,.ce-lens) button:not(.ce-segments>[aria-pressed=true]){display:none}
  .ce-root .ce-segments>[aria-pressed=true]{border:0;box-shadow:none;background:none;padding:0}
}
@media (prefers-reduced-motion:reduce){.ce-root *,.ce-root ::before{animation:none!important;transition:none!important}}
@media (forced-colors:active){
  .ce-root button[aria-pressed=true]{background:Highlight;color:HighlightText;forced-color-adjust:none}
  .ce-stage,.ce-legend svg{forced-color-adjust:none}
  .ce-hull .ce-tint{opacity:0!important}
}
`;

/** @param {import("../graph.js").Page} page */
export function makeRoom({ store: { state }, stage, main }) {
  /** What the heights of pictures are compared for: between steps the page below does not jump up and down. */
  let compared = "";
  let height = 0;
  return {
    reads: /** @type {const} */ (["picture", "options", "width", "view"]),
    draw() {
      const pictures = picturesOf(state);
      const isFree = followsContent(state) && !isPresenting(state);
      if (!isFree) main.style.setProperty("flex-basis", "");
      if (!isFree || !pictures.length) return;
      const form = [state.width, pictures.length, pictures[0].groupBy].join(" ");
      const needed = heightFor(pictures, { ...stage.viewport(), width: state.width / pictures.length });
      height = form === compared ? Math.max(height, needed) : needed;
      compared = form;
      main.style.setProperty("flex-basis", `${height}px`);
    },
  };
}

/** The width of the column at the right, for the page: the tools of a host read it. */
const SIDE_WIDTH = "--explorer-side-width";

/**
 * The bar beside the inspector, or beside the tool that a host shows in its place.
 * @param {import("../graph.js").Page} page
 */
export function makeSideSplit({ ui: { make, doc }, store, inspector }) {
  const { state } = store;
  /** @param {string} width */
  function apply(width) {
    doc.documentElement.style.setProperty(SIDE_WIDTH, width);
    store.set({ side: width });
  }
  const part = () => (inspector.element.hidden ? null : inspector.element);
  const { element } = makeSplit(make, { name: "side", words: "the inspector", across: true, part, apply });
  return {
    element,
    reads: /** @type {const} */ (["options", "showSide", "selection", "picture", "hull", "width"]),
    draw() {
      element.hidden = isDrawer(state) || (inspector.element.hidden && state.options.tool !== true);
    },
  };
}

/**
 * Where parts are that move: in compact form most of the toolbar is in the inspector, and the close-up is below the picture
 * wherever the inspector covers it.
 * @param {import("../graph.js").Page} page
 */
export function makeArrangement(page) {
  const { toolbar, search, slides, copying, table, stepper, below, closeup } = page;
  const { make, h } = page.ui;
  const { state } = page.store;
  const rest = h("div", { class: "ce-more-panel" });
  const menu = h(
    "details",
    { class: "ce-more" },
    h("summary", { text: "More", title: "Search, copy, colours, groups" }),
    rest,
  );
  menu.addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.removeAttribute("open");
    menu.firstChild.focus?.();
    event.stopPropagation();
  });
  const common = [search.element, slides.buttons, copying.button, toolbar.time, table.toggle];
  const tableWords = h("span", { text: "Table" });
  const tableLine = h("div", { class: "ce-group" });
  /** What has no room in the toolbar. */
  function moved() {
    const own = isCompact(state) ? [slides.buttons, toolbar.time] : [];
    setChildren(tableLine, [table.toggle, tableWords]);
    const choosers = toolbar.choosers.some((item) => !item.hidden) ? toolbar.choosers : [];
    return [...choosers, search.element, ...own, copying.button, tableLine];
  }
  return {
    reads: /** @type {const} */ (["options", "picture", "width"]),
    /** Open the menu of what has no room. */
    openMenu() {
      menu.setAttribute("open", "");
    },
    draw() {
      const compact = isCompact(state);
      const buttons = [page.inspector.toggle, page.help.toggle];
      const parts = compact ? [] : hasAllTools(state) ? common : [slides.buttons, toolbar.time];
      const all = [
        stepper.words,
        toolbar.modes,
        page.livingBar.switching,
        ...parts,
        ...(hasMenu(state) ? [menu] : []),
        ...buttons,
      ];
      setChildren(toolbar.element, state.options.toolbar === false ? [stepper.words] : all);
      const holder = isDrawer(state) ? below : page.inspector.closeup;
      if (closeup.element.parentNode !== holder) holder.replaceChildren(closeup.element);
      if (hasMenu(state)) setChildren(rest, moved());
      setChildren(toolbar.choosing, hasAllTools(state) ? toolbar.choosers : []);
    },
    /** What has no room elsewhere. @param {Set<string>} closed headings that the user has closed */
    settings(closed) {
      const hasOwn = !hasAllTools(state) && !hasMenu(state);
      const settings = h("div", { class: "ce-settings" }, ...(hasOwn ? moved() : []), stepper.only);
      const view = h("details", { open: !closed.has("View") }, h("summary", { text: "View" }), settings);
      view.addEventListener("toggle", () => (view.open ? closed.delete("View") : closed.add("View")));
      if (hasLegend(state)) return h("div", {}, view);
      const legend = h("ul", { class: "ce-legend" }, legendItems(make, state));
      return h("div", {}, view, h("details", { open: true }, h("summary", { text: "Legend" }), legend));
    },
  };
}
