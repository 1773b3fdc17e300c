/** SVG elements of a page as a file of their own: with their styles, to the clipboard or else to disk. */

import { maker } from "./elements.js";
import { FONT } from "./measuring.js";

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
/** How long a saved file can be fetched from the page. */
const KEPT_MS = 10_000;
/** Attributes for the page only. */
const PAGE_ONLY = /^(class|style|role|tabindex|aria-.*|data-.*)$/;

/** Text inside an element or an attribute. @param {string} words */
export const escaped = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/**
 * The text of an SVG file. @param {number} width @param {number} height @param {string} ground colour
 * @param {string} inside elements
 */
export const svgFile = (width, height, ground, inside) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
  `font-family='${FONT}'><rect width="100%" height="100%" fill="${ground}"/>${inside}</svg>`;

/**
 * Copy the text of an SVG file, or save it where the clipboard is closed or the address not secure; says what was done.
 * @param {any} doc @param {string} svg @param {string} name of the file
 */
export async function copyOrSave(doc, svg, name) {
  try {
    await toClipboard(doc.defaultView, svg);
    return "Copied";
  } catch {
    const href = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    maker(doc).h("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), KEPT_MS);
    return "Saved as a file";
  }
}

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
export function insideOf(svg) {
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
