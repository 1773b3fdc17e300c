// Made from widgets/js/ by `npm run build` there: edit the sources, not this file.

// shared/contract.js
var STOPPED = "circuit-explorer-stopped";

// shared/elements.js
var SVG = "http://www.w3.org/2000/svg";
function maker(doc) {
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
    s: (tag, attributes = {}, ...children) => fill(doc.createElementNS(SVG, tag), attributes, children)
  };
}
var OWN = Math.random().toString(36).slice(2, 8);

// shared/reading.js
var text = (value, otherwise = "") => typeof value === "string" ? value : value == null ? otherwise : String(value);
var record = (value) => value && typeof value === "object" && !Array.isArray(value) ? value : {};
function asDict(value) {
  if (value instanceof Map) return Object.fromEntries(value);
  if (typeof value === "string") return value.trim() ? record(JSON.parse(value)) : {};
  return record(value);
}

// host.js
var HELLO_MS = 150;
var MAX_HELLOS = 400;
var RESIZE_MS = 150;
var THEME = "circuit-explorer-theme";
var BANNER = "position:fixed;z-index:1400;top:0;left:0;right:0;padding:10px 16px;display:flex;gap:12px;align-items:center;justify-content:center;font:14px system-ui,sans-serif;background:#8f1d1d;color:#fff";
var BUTTON = "font:inherit;min-height:28px;padding:2px 12px;cursor:pointer";
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const media = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
  const save = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  const theme = (name) => doc.documentElement.setAttribute("data-theme", name);
  const follow = () => theme(chosenTheme(doc) || (media && media.matches ? "dark" : "light"));
  const flip = () => {
    const name = doc.documentElement.getAttribute("data-theme") === "dark" ? "light" : "dark";
    theme(name);
    try {
      doc.defaultView.localStorage.setItem(THEME, name);
    } catch {
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
  let resized = 0;
  write("replaceState");
  follow();
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
function chosenTheme(doc) {
  try {
    return doc.defaultView.localStorage.getItem(THEME);
  } catch {
    return null;
  }
}
function showStopped(doc, el) {
  const { h } = maker(doc);
  const words = "The server has stopped. The picture stays; start the server again and reload this page.";
  const reload = () => doc.defaultView.location.reload();
  const button = h("button", { type: "button", style: BUTTON, onclick: reload, text: "Reload" });
  el.appendChild(h("div", { role: "alert", style: BANNER }, h("span", { text: words }), button));
  doc.dispatchEvent(new Event(STOPPED));
}
var host_default = { render };
export {
  host_default as default
};
