/**
 * Browser features: the theme of the page and of the system, the clipboard, the address with its history, files that
 * are dropped, and whether the server still answers.
 *
 * Sets the theme of the page as `data-theme`: the one chosen last, else the system's; an increment of the trait `flips`
 * toggles it, which the browser remembers. When the connection to the server is lost, it says so in a banner, and tells
 * the views of the page with the event `circuit-explorer-stopped` of the document.
 * Increments `hello` until `answer` arrives, then sets `ready`: from then on messages are delivered. Until then the
 * page is inert: a key pressed earlier would only move its slider. Reads `copy` ({text, n}): copies the text to the
 * clipboard and writes `copied` ({n, ok}). Reads and writes `address`, the query of the address: Back and Forward
 * set it. Increments `drops` when files are dropped. Writes `width`, the window's, once messages are delivered. The first value of the address replaces the current entry of the history, a later one adds an entry unless it `replaces`.
 */

import { STOPPED } from "./shared/contract.js";
import { acceptDrops } from "./shared/drops.js";
import { maker } from "./shared/elements.js";
import { asDict, text } from "./shared/reading.js";

const HELLO_MS = 150;
const MAX_HELLOS = 400;
/** After this time without a change of its size, a window has been resized. */
const RESIZE_MS = 150;
/** Where the browser remembers the theme; the head of the page reads it, too. */
const THEME = "circuit-explorer-theme";
const BANNER =
  "position:fixed;z-index:1400;top:0;left:0;right:0;padding:10px 16px;display:flex;gap:12px;align-items:center;" +
  "justify-content:center;font:14px system-ui,sans-serif;background:#8f1d1d;color:#fff";
const BUTTON = "font:inherit;min-height:28px;padding:2px 12px;cursor:pointer";

/** @param {import("./shared/contract.js").Context} context @returns {() => void} */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const media = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
  /** @param {string} name @param {any} value */
  const save = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  /** @param {string} name */
  const theme = (name) => doc.documentElement.setAttribute("data-theme", name);
  const follow = () => theme(chosenTheme(doc) || (media && media.matches ? "dark" : "light"));
  const flip = () => {
    const name = doc.documentElement.getAttribute("data-theme") === "dark" ? "light" : "dark";
    theme(name);
    try {
      doc.defaultView.localStorage.setItem(THEME, name);
    } catch {
      // The browser forbids it: the choice ends with the page.
    }
  };
  const copy = async () => {
    const { text: words, n } = asDict(model.get("copy"));
    if (!n) return;
    let ok = false;
    try {
      await doc.defaultView.navigator.clipboard.writeText(text(words));
      ok = true;
    } catch {
      ok = false;
    }
    save("copied", { n, ok });
  };
  const { history, location } = doc.defaultView;
  /** @param {"pushState" | "replaceState"} how */
  const write = (how) => {
    const address = text(model.get("address"));
    if (address && address !== location.search) history[how](null, "", address);
  };
  const show = () => write(model.get("replaces") ? "replaceState" : "pushState");
  const read = () => save("address", location.search);
  const measure = () => save("width", doc.defaultView.innerWidth);
  const resize = () => {
    clearTimeout(resized);
    resized = setTimeout(measure, RESIZE_MS);
  };
  /** @type {any} */
  let resized = 0;
  write("replaceState");
  follow();
  const stopDrops = acceptDrops(doc, el, () => save("drops", (Number(model.get("drops")) || 0) + 1));
  // While a page loads, messages can be lost in both directions: send hello until an answer arrives, then be ready.
  const opened = () => {
    clearInterval(hello);
    doc.body.inert = false;
  };
  const hello = setInterval(() => {
    if (model.get("answer") || Number(model.get("hello")) >= MAX_HELLOS) opened();
    else save("hello", (Number(model.get("hello")) || 0) + 1);
  }, HELLO_MS);
  const answered = () => {
    opened();
    measure();
    save("ready", true);
  };
  doc.body.inert = !model.get("answer");
  let closed = false;
  const lose = () => {
    if (!closed && !el.firstChild) showStopped(doc, el);
  };
  for (const page of doc.defaultView.Bokeh?.documents ?? []) page.on_event("connection_lost", lose);
  model.on("change:answer", answered);
  if (media && media.addEventListener) media.addEventListener("change", follow);
  model.on("change:flips", flip);
  model.on("change:copy", copy);
  model.on("change:address", show);
  doc.defaultView.addEventListener("popstate", read);
  doc.defaultView.addEventListener("resize", resize);
  return () => {
    closed = true;
    opened();
    stopDrops();
    model.off("change:answer", answered);
    if (media && media.removeEventListener) media.removeEventListener("change", follow);
    model.off("change:flips", flip);
    model.off("change:copy", copy);
    model.off("change:address", show);
    doc.defaultView.removeEventListener("popstate", read);
    doc.defaultView.removeEventListener("resize", resize);
    clearTimeout(resized);
    doc.documentElement.removeAttribute("data-theme");
    el.replaceChildren();
  };
}

/** The theme that the user has chosen, if any. @param {any} doc */
function chosenTheme(doc) {
  try {
    return doc.defaultView.localStorage.getItem(THEME);
  } catch {
    return null;
  }
}

/** Say that the server does not answer any more, to the user and to the views. @param {any} doc @param {any} el */
function showStopped(doc, el) {
  const { h } = maker(doc);
  const words = "The server has stopped. The picture stays; start the server again and reload this page.";
  const reload = () => doc.defaultView.location.reload();
  const button = h("button", { type: "button", style: BUTTON, onclick: reload, text: "Reload" });
  el.appendChild(h("div", { role: "alert", style: BANNER }, h("span", { text: words }), button));
  doc.dispatchEvent(new Event(STOPPED));
}

export default { render };
