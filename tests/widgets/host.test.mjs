import assert from "node:assert/strict";
import { mock, test } from "node:test";

import view from "../../widgets/js/host.js";
import { newDocument, newModel, settled } from "./dom.mjs";

/** A system whose theme can change, as `matchMedia` tells it; until the view is closed. */
function system(dark) {
  const callbacks = [];
  const media = {
    matches: dark,
    addEventListener: (_, callback) => callbacks.push(callback),
    removeEventListener: (_, callback) => callbacks.splice(callbacks.indexOf(callback), 1),
  };
  globalThis.matchMedia = () => media;
  return {
    callbacks,
    turn: (to) => {
      media.matches = to;
      for (const callback of callbacks) callback();
    },
  };
}

/** A window with an address: its history is a list of entries, and `go` does what Back and Forward do. */
function newWindow() {
  const entries = [""];
  const callbacks = [];
  const resizing = [];
  const heard = (type) => (type === "resize" ? resizing : callbacks);
  const location = { search: "" };
  const stored = new Map();
  const lost = [];
  const write = (at) => (_, title, address) => entries.splice(at(), Infinity, (location.search = address));
  return {
    entries,
    callbacks,
    location,
    localStorage: { getItem: (name) => stored.get(name) ?? null, setItem: (name, value) => stored.set(name, value) },
    Bokeh: { documents: [{ on_event: (name, callback) => lost.push([name, callback]) }] },
    lose: () => lost.forEach(([name, callback]) => name === "connection_lost" && callback()),
    history: { pushState: write(() => entries.length), replaceState: write(() => entries.length - 1) },
    innerWidth: 1280,
    addEventListener: (type, callback) => heard(type).push(callback),
    removeEventListener: (type, callback) => heard(type).splice(heard(type).indexOf(callback), 1),
    resize(width) {
      this.innerWidth = width;
      for (const callback of resizing) callback();
    },
    go: (address) => {
      location.search = address;
      for (const callback of callbacks) callback();
    },
  };
}

/** The host in a page; `written` is what came to the clipboard, a refusing one throws. */
function open(more = {}, refuses = false, given = {}) {
  const document = newDocument();
  const written = [];
  const writeText = async (text) => {
    if (refuses) throw new Error("NotAllowedError");
    written.push(text);
  };
  const window = { ...newWindow(), navigator: { clipboard: { writeText } }, ...given };
  document.defaultView = window;
  const el = document.createElement("div");
  const model = newModel({ flips: 0, copy: {}, copied: {}, ...more });
  const unrender = view.render({ model, el });
  const close = () => {
    unrender();
    delete globalThis.matchMedia;
    mock.timers.reset();
  };
  return {
    document,
    window,
    el,
    model,
    written,
    close,
    theme: () => document.documentElement.getAttribute("data-theme"),
  };
}

test("the page has the theme of the system and follows it", () => {
  const { turn } = system(true);
  const { theme, close } = open();
  assert.equal(theme(), "dark");
  turn(false);
  assert.equal(theme(), "light");
  close();
});

test("the page is light by default", () => {
  const { theme, close } = open();
  assert.equal(theme(), "light");
  close();
});

test("each flip changes the theme", async () => {
  system(true);
  const { model, theme, close } = open();
  await model.put({ flips: 1 });
  assert.equal(theme(), "light");
  await model.put({ flips: 2 });
  assert.equal(theme(), "dark");
  close();
});

test("the chosen theme is remembered, unless the browser forbids it", async () => {
  const { turn } = system(false);
  const first = open();
  await first.model.put({ flips: 1 });
  turn(false);
  assert.equal(first.theme(), "dark");
  const { localStorage } = first.window;
  first.close();
  system(false);
  const second = open({}, false, { localStorage });
  assert.equal(second.theme(), "dark");
  second.close();
  system(false);
  const forbidding = open({}, false, { localStorage: null });
  await forbidding.model.put({ flips: 1 });
  assert.equal(forbidding.theme(), "dark");
  forbidding.close();
});

test("the width of the window is sent once messages are delivered and when resized", () => {
  system(false);
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const { window, model, close } = open({ hello: 0, answer: 0, width: 0 });
  assert.equal(model.get("width"), 0);
  model.put({ answer: 1 });
  assert.equal(model.get("width"), 1280);
  window.resize(700);
  window.resize(640);
  assert.equal(model.get("width"), 1280);
  mock.timers.tick(150);
  assert.equal(model.get("width"), 640);
  close();
});

test("a lost connection is told once, with a button to reload, and to the views", () => {
  const { document, window, el, close } = open();
  let told = 0;
  document.addEventListener("circuit-explorer-stopped", () => (told += 1));
  window.location.reload = () => (told += 10);
  window.lose();
  window.lose();
  assert.equal(told, 1);
  assert.match(el.textContent, /The server has stopped\. The picture stays/);
  assert.equal(el.childNodes[0].getAttribute("role"), "alert");
  el.button("Reload").dispatch("click");
  assert.equal(told, 11);
  close();
  assert.equal(el.childNodes.length, 0);
});

test("a text is copied, and the answer counts which one it was", async () => {
  const { model, written, close } = open();
  await model.put({ copy: { text: "import explorer", n: 1 } });
  await settled();
  assert.deepEqual(written, ["import explorer"]);
  assert.deepEqual(model.get("copied"), { n: 1, ok: true });
  assert.deepEqual(model.sent, [{ copied: { n: 1, ok: true } }]);
  await model.put({
    copy: new Map([
      ["text", "again"],
      ["n", 2],
    ]),
  });
  await settled();
  assert.deepEqual(written, ["import explorer", "again"]);
  assert.deepEqual(model.get("copied"), { n: 2, ok: true });
  close();
});

test("a browser that refuses, or has no clipboard, is reported as such", async () => {
  const refusing = open({}, true);
  await refusing.model.put({ copy: { text: "x", n: 1 } });
  await settled();
  assert.deepEqual(refusing.model.get("copied"), { n: 1, ok: false });
  refusing.close();
  const bare = open();
  bare.window.navigator = {};
  await bare.model.put({ copy: { text: "x", n: 3 } });
  await settled();
  assert.deepEqual(bare.model.get("copied"), { n: 3, ok: false });
  bare.close();
});

test("nothing is copied without a request", async () => {
  const { model, written, close } = open({ copy: { text: "old", n: 4 } });
  await settled();
  await model.put({ copy: {} });
  await settled();
  assert.deepEqual([written, model.sent], [[], []]);
  close();
});

test("a new address adds an entry unless it is the first or replaces one", async () => {
  const { window, model, close } = open({ address: "?circuit=digits" });
  assert.deepEqual(window.entries, ["?circuit=digits"]);
  await model.put({ address: "?circuit=digits&step=3" });
  await model.put({ address: "?circuit=digits&step=3" });
  assert.deepEqual(window.entries, ["?circuit=digits", "?circuit=digits&step=3"]);
  await model.put({ address: "?circuit=digits&step=6", replaces: true });
  assert.deepEqual(window.entries, ["?circuit=digits", "?circuit=digits&step=6"]);
  window.go("?circuit=digits");
  assert.deepEqual(model.sent, [{ address: "?circuit=digits" }]);
  assert.equal(window.entries.length, 2);
  close();
});

test("closing removes the theme and all listeners", async () => {
  const { callbacks } = system(true);
  const { window, model, theme, written, close } = open();
  assert.deepEqual([callbacks.length, window.callbacks.length], [1, 1]);
  close();
  assert.equal(window.callbacks.length, 0);
  assert.equal(theme(), null);
  assert.equal(callbacks.length, 0);
  assert.equal(model.listening(), 0);
  await model.put({ flips: 1, copy: { text: "x", n: 1 } });
  assert.equal(theme(), null);
  assert.deepEqual(written, []);
});

test("hello is sent until an answer arrives, then ready; until then the page is inert", async () => {
  system(false);
  mock.timers.enable({ apis: ["setInterval"] });
  const { document, model, close } = open({ hello: 0, answer: 0, ready: false });
  assert.equal(document.body.inert, true);
  mock.timers.tick(149);
  assert.equal(model.get("hello"), 0);
  mock.timers.tick(151);
  assert.equal(model.get("hello"), 2);
  assert.equal(model.get("ready"), false);
  await model.put({ answer: model.get("hello") });
  assert.equal(document.body.inert, false);
  assert.equal(model.get("ready"), true);
  mock.timers.tick(60_000);
  assert.equal(model.get("hello"), 2);
  close();
});
