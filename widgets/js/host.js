/**
 * Browser features: the theme of the page and of the system, the clipboard, and the address with its history.
 *
 * Sets the theme of the page as `data-theme`: the system's, until an increment of the trait `flips` toggles it.
 * Increments `hello` until `answer` arrives, then sets `ready`: from then on messages are delivered. Until then the
 * page is inert: a key pressed earlier would only move its slider. Reads `copy` ({text, n}): copies the text to the
 * clipboard and writes `copied` ({n, ok}). Reads and writes `address`, the query of the address: Back and Forward
 * set it. The first value replaces the current entry of the history, a later one adds an entry unless it `replaces`.
 */

import { asDict, text } from "./shared/reading.js";

const HELLO_MS = 150;
const MAX_HELLOS = 400;

/** @param {import("./shared/contract.js").Context} context @returns {() => void} */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const media = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
  /** @param {string} name @param {any} value */
  const save = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  /** @param {boolean} dark */
  const theme = (dark) => doc.documentElement.setAttribute("data-theme", dark ? "dark" : "light");
  const follow = () => theme(Boolean(media && media.matches));
  const flip = () => theme(doc.documentElement.getAttribute("data-theme") !== "dark");
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
  write("replaceState");
  follow();
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
    save("ready", true);
  };
  doc.body.inert = !model.get("answer");
  model.on("change:answer", answered);
  if (media && media.addEventListener) media.addEventListener("change", follow);
  model.on("change:flips", flip);
  model.on("change:copy", copy);
  model.on("change:address", show);
  doc.defaultView.addEventListener("popstate", read);
  return () => {
    opened();
    model.off("change:answer", answered);
    if (media && media.removeEventListener) media.removeEventListener("change", follow);
    model.off("change:flips", flip);
    model.off("change:copy", copy);
    model.off("change:address", show);
    doc.defaultView.removeEventListener("popstate", read);
    doc.documentElement.removeAttribute("data-theme");
  };
}

export default { render };
