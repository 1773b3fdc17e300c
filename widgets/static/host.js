// Made from widgets/js/ by `npm run build` there: edit the sources, not this file.

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
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const media = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
  const save = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
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
  const write = (how) => {
    const address = text(model.get("address"));
    if (address && address !== location.search) history[how](null, "", address);
  };
  const show = () => write(model.get("replaces") ? "replaceState" : "pushState");
  const read = () => save("address", location.search);
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
var host_default = { render };
export {
  host_default as default
};
