/** Functions that create HTML and SVG elements. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Attributes: functions named `on...` are listeners, `text` is text, null and false are omitted. Text never becomes
 * markup: a layer whose name is an HTML tag shows that name.
 * @param {any} doc
 */
export function maker(doc) {
  /** @param {any} element @param {Record<string, any>} attributes @param {any[]} children */
  const fill = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value == null || value === false) continue;
      if (name === "text") element.textContent = value;
      else if (typeof value === "function") element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat()) if (child) element.appendChild(child);
    return element;
  };
  return {
    doc,
    /** @param {string} tag @param {Record<string, any>} [attributes] @param {any[]} children @returns {any} */
    h: (tag, attributes = {}, ...children) => fill(doc.createElement(tag), attributes, children),
    /** @param {string} tag @param {Record<string, any>} [attributes] @param {any[]} children @returns {any} */
    s: (tag, attributes = {}, ...children) => fill(doc.createElementNS(SVG, tag), attributes, children),
  };
}
/** @typedef {ReturnType<typeof maker>} Make */

/** A prefix of this copy of the module: hosts load it once per widget, all in one document. */
const OWN = Math.random().toString(36).slice(2, 8);
let serial = 0;

/** An id that no other element of the document has. @param {string} prefix */
export const uniqueName = (prefix) => `${prefix}${OWN}-${(serial += 1)}`;

/**
 * Replace the children of an element only if they differ, so that none of them loses the focus.
 * @param {any} parent @param {any[]} children
 */
export function setChildren(parent, children) {
  const now = [...parent.childNodes];
  if (now.length !== children.length || now.some((child, index) => child !== children[index])) {
    parent.replaceChildren(...children);
  }
}

/** The element that has the focus in the document or the shadow root of `root`. @param {any} root */
export function focusedIn(root) {
  const tree = root.getRootNode ? root.getRootNode() : root.ownerDocument;
  return tree.activeElement || root.ownerDocument.activeElement || null;
}

/** The element around this one that the user can scroll, if there is one. @param {any} element */
export function scrollerOf(element) {
  const window = element.ownerDocument.defaultView;
  for (let at = element.parentNode; at && window; at = at.host || at.parentNode) {
    if (!(at.scrollHeight > at.clientHeight + 1)) continue;
    const overflow = at.nodeType === 1 ? window.getComputedStyle(at).overflowY : "";
    if (at === element.ownerDocument.documentElement || overflow === "auto" || overflow === "scroll") return at;
  }
  return null;
}

/** A class attribute of the names that apply. @param {(string | false | null | undefined | 0)[]} names */
export const classes = (...names) => names.filter(Boolean).join(" ");
