/** Copying the picture as SVG: as it is on the screen, in one piece, to the clipboard or else to a file. */

import { FONT } from "../shared/measuring.js";
import { isPresenting } from "../parts/state.js";
import { escaped } from "../plates/svg_pen.js";
import { svgScene } from "../scenes/svg.js";

/** @typedef {import("../parts/stage.js").Pane} Pane */

/** How long the button says what was done. */
const SAID_MS = 2000;
/** Properties that a style sheet may set, and the values that say nothing. */
const PROPERTIES = {
  fill: "rgb(0, 0, 0)",
  "fill-opacity": "1",
  stroke: "none",
  "stroke-width": "1px",
  "stroke-opacity": "1",
  "stroke-dasharray": "none",
  "stroke-linecap": "butt",
  "stroke-linejoin": "miter",
  opacity: "1",
  "font-size": "",
  "font-weight": "400",
  "font-style": "normal",
  "text-anchor": "start",
  "dominant-baseline": "auto",
  "paint-order": "normal",
  "vector-effect": "none",
};
/** Attributes for the page only. */
const PAGE_ONLY = /^(class|style|role|tabindex|aria-.*|data-.*)$/;

/**
 * @param {import("../parts/ui.js").Ui} ui @param {import("../parts/state.js").Store} store
 * @param {import("../parts/stage.js").Stage} stage
 */
export function makeCopying({ make, doc, textButton, guard, timers, announce }, { state }, stage) {
  const label = "Copy SVG";
  const buttons = [0, 1].map(() => textButton(label, () => copy(), { title: "Copy the picture as SVG" }));

  /** The picture as an SVG file. */
  function svgText() {
    const panes = stage.panes();
    const { width, height } = stage.viewport();
    const size = `width="${panes.length * width}" height="${height}"`;
    const parts = panes.map((pane, at) => {
      const name = panes.length > 1 ? pane.title.textContent : "";
      const title = `<text x="10" y="22" font-size="13" font-weight="600" fill="${state.palette.roles.fg}">${escaped(name)}</text>`;
      return `<g transform="translate(${at * width} 0)">${drawingOf(pane, width, height)}${name ? title : ""}</g>`;
    });
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${panes.length * width} ${height}" ` +
      `font-family='${FONT}'><rect width="100%" height="100%" fill="${state.palette.roles.ground}"/>${parts.join("")}</svg>`
    );
  }

  /** @param {Pane} pane @param {number} width @param {number} height */
  function drawingOf(pane, width, height) {
    const { scene, picture, kind } = pane;
    if (kind !== "canvas" || !picture) return (scene.canvasSvg?.() ?? "") + insideOf(scene.list);
    // Its boxes are on a canvas because they are many: draw them once as elements.
    const twin = svgScene(make, () => state.palette);
    pane.element.appendChild(twin.stage);
    try {
      twin.recolour();
      twin.show(picture, new Map());
      twin.frame(1);
      twin.look(state.camera, width, height);
      return insideOf(twin.list);
    } finally {
      twin.close();
    }
  }

  function save() {
    const link = make.h("a", {
      href: URL.createObjectURL(new Blob([svgText()], { type: "image/svg+xml" })),
      download: `step-${state.step}.svg`,
    });
    link.click();
    timers.after("saved", SAID_MS, () => URL.revokeObjectURL(link.href));
  }

  async function copy() {
    let done = "Copied";
    try {
      await toClipboard(doc.defaultView, svgText());
    } catch {
      save(); // the browser does not allow it, or the page is not from a secure address
      done = "Saved as a file";
    }
    for (const button of buttons) button.textContent = done;
    announce(`${done} as SVG.`);
    timers.after("copied", SAID_MS, () => buttons.forEach((button) => (button.textContent = label)));
  }

  return {
    /** One for the tool bar, one for slides. */
    button: buttons[0],
    slideButton: buttons[1],
    svgText,
    reads: /** @type {const} */ (["picture", "view"]),
    draw: guard(() => {
      for (const button of buttons) button.hidden = !state.picture?.boxes.length;
      buttons[1].hidden ||= !isPresenting(state);
    }),
  };
}
/** @typedef {ReturnType<typeof makeCopying>} Copying */

/**
 * As an image where the browser can, and as text, for editors of pictures and of text.
 * @param {any} view @param {string} svg
 */
async function toClipboard(view, svg) {
  const type = "image/svg+xml";
  if (!view.ClipboardItem?.supports?.(type)) return view.navigator.clipboard.writeText(svg);
  const item = new view.ClipboardItem({
    [type]: new Blob([svg], { type }),
    "text/plain": new Blob([svg], { type: "text/plain" }),
  });
  return view.navigator.clipboard.write([item]);
}

/** The content of an SVG element, with its styles as attributes. @param {any} svg @returns {string} */
function insideOf(svg) {
  const copy = svg.cloneNode(true);
  inline(svg, copy);
  const writer = new XMLSerializer();
  return [...copy.childNodes]
    .map((child) => writer.serializeToString(child))
    .join("")
    .replaceAll(' xmlns="http://www.w3.org/2000/svg"', "");
}

/** @param {any} live @param {any} copy */
function inline(live, copy) {
  const copies = [...copy.children];
  [...live.children].forEach((child, at) => {
    const style = getComputedStyle(child);
    const isSeen = style.display !== "none" && style.visibility !== "hidden" && style.opacity !== "0";
    const isName = child.getAttribute("class") === "ce-name"; // for screen readers
    if (isSeen && !isName) inline(child, copies[at]);
    else copies[at].remove();
  });
  const style = getComputedStyle(live);
  const shape = live.children.length === 0 || live.tagName === "text";
  for (const { name } of [...copy.attributes]) if (PAGE_ONLY.test(name)) copy.removeAttribute(name);
  for (const [name, plain] of Object.entries(PROPERTIES)) {
    const value = style.getPropertyValue(name);
    const isText = live.tagName === "text";
    const applies = name === "opacity" || (shape && (isText || !/^(font|text|dominant)/.test(name)));
    if (applies && value && value !== plain) copy.setAttribute(name, value);
  }
}
