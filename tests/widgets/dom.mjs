/** As much of a browser's document as the views use, and a model as the hosts give one. No layout, no painting. */

class Element {
  constructor(document, tagName, space = "") {
    Object.assign(this, {
      ownerDocument: document,
      tagName,
      namespaceURI: space,
      childNodes: [],
      parentNode: null,
      words: "",
    });
    Object.assign(this, {
      attributes: new Map(),
      listeners: new Map(),
      scrollTop: 0,
      offsetLeft: 0,
      value: "",
      checked: false,
      disabled: false,
    });
    this.clientHeight = 400;
    const properties = new Map();
    this.style = {
      setProperty: (name, value) => properties.set(name, value),
      getPropertyValue: (name) => properties.get(name) ?? "",
    };
  }
  get firstChild() {
    return this.childNodes[0] ?? null;
  }
  get hidden() {
    return this.attributes.has("hidden");
  }
  set hidden(on) {
    if (on) this.attributes.set("hidden", "");
    else this.attributes.delete("hidden");
  }
  get open() {
    return this.attributes.has("open");
  }
  get textContent() {
    return this.words + this.childNodes.map((child) => child.textContent).join("");
  }
  set textContent(words) {
    this.replaceChildren();
    this.words = String(words);
  }
  /** A view is wider than its pictures. */
  get clientWidth() {
    return this.measured ?? (this.getAttribute("class")?.startsWith("ce-root") ? 1200 : 900);
  }
  set clientWidth(width) {
    this.measured = width;
  }
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  setAttribute(name, value) {
    this.attributes.set(name, String(value));
    if (name === "checked") this.checked = true;
    if (name === "value") this.value = String(value);
  }
  removeAttribute(name) {
    this.attributes.delete(name);
  }
  appendChild(child) {
    child.remove();
    child.parentNode = this;
    this.childNodes.push(child);
    return child;
  }
  replaceChildren(...children) {
    for (const child of this.childNodes) child.parentNode = null;
    this.childNodes = [];
    this.words = "";
    for (const child of children) this.appendChild(child);
  }
  remove() {
    if (this.parentNode) this.parentNode.childNodes = this.parentNode.childNodes.filter((child) => child !== this);
    this.parentNode = null;
  }
  contains(other) {
    for (let node = other; node; node = node.parentNode) if (node === this) return true;
    return false;
  }
  getRootNode() {
    return this.ownerDocument;
  }
  getBoundingClientRect() {
    return { left: 0, top: 0, width: this.clientWidth, height: this.clientHeight };
  }
  scrollIntoView() {}
  focus() {
    this.ownerDocument.activeElement = this;
    this.dispatch("focusin");
  }
  blur() {
    this.ownerDocument.activeElement = this.ownerDocument.body;
  }
  addEventListener(type, callback) {
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), callback]);
  }
  removeEventListener(type, callback) {
    this.listeners.set(
      type,
      (this.listeners.get(type) ?? []).filter((one) => one !== callback),
    );
  }
  /** Sends an event up from here, as the browser does; gives the event back. */
  dispatch(type, fields = {}) {
    const event = {
      type,
      target: this,
      key: "",
      shiftKey: false,
      ctrlKey: false,
      metaKey: false,
      altKey: false,
      button: 0,
      buttons: 0,
      clientX: 0,
      clientY: 0,
      defaultPrevented: false,
      stopped: false,
      ...fields,
    };
    event.preventDefault = () => {
      event.defaultPrevented = true;
    };
    event.stopPropagation = () => {
      event.stopped = true;
    };
    const path = [];
    for (let node = this; node; node = node.parentNode) path.push(node);
    if (path.at(-1) === this.ownerDocument.documentElement) path.push(this.ownerDocument);
    event.composedPath = () => path;
    for (const node of path) {
      if (event.stopped) break;
      for (const callback of node.listeners.get(type) ?? []) callback(event);
    }
    return event;
  }
  /** All elements below for which the test holds. */
  all(test) {
    return this.childNodes.flatMap((child) => [...(test(child) ? [child] : []), ...child.all(test)]);
  }
  /** Those with a class. */
  of(name) {
    return this.all((element) => (element.getAttribute("class") ?? "").split(" ").includes(name));
  }
  /** The button with this name (its label or its words). */
  button(name) {
    return this.all(
      (element) =>
        element.tagName === "button" && (element.getAttribute("aria-label") ?? element.textContent).startsWith(name),
    )[0];
  }
}

export function newDocument() {
  const document = { defaultView: null, activeElement: null, listeners: new Map() };
  const { addEventListener, removeEventListener } = Element.prototype;
  const dispatchEvent = (event) => document.listeners.get(event.type)?.forEach((callback) => callback(event));
  Object.assign(document, { addEventListener, removeEventListener, dispatchEvent });
  document.createElement = (tag) => new Element(document, tag);
  document.createElementNS = (space, tag) => new Element(document, tag, space);
  document.documentElement = document.createElement("html");
  document.body = document.createElement("body");
  document.documentElement.appendChild(document.body);
  document.activeElement = document.body;
  return document;
}

/** A model with these traits; `sent` holds what the view saved, `put` is Python setting traits. */
export function newModel(traits) {
  const values = {
    picture: "",
    coordinates: new Uint8Array(0),
    steps: "[]",
    step: 0,
    selection: [],
    view: {},
    details: "",
    options: {},
    request: {},
    ...traits,
  };
  const listeners = new Map();
  let pending = {};
  const model = {
    sent: [],
    get: (name) => values[name],
    set: (name, value) => {
      pending[name] = value;
      values[name] = value;
    },
    save_changes: () => {
      model.sent.push(pending);
      pending = {};
    },
    on: (event, callback) => listeners.set(event, [...(listeners.get(event) ?? []), callback]),
    off: (event, callback) =>
      listeners.set(
        event,
        (listeners.get(event) ?? []).filter((one) => one !== callback),
      ),
    listening: () => [...listeners.values()].flat().length,
    put: async (changes) => {
      Object.assign(values, changes);
      for (const name of Object.keys(changes)) for (const callback of listeners.get(`change:${name}`) ?? []) callback();
      await settled();
    },
  };
  return model;
}

const realTimeout = setTimeout;

/** After what was announced has been read. */
export const settled = () => new Promise((resolve) => realTimeout(resolve, 0));

const FRAME_MS = 10;

/** Stops the clock of a test and returns a function that advances it by some milliseconds, frame by frame. */
export function stopTime(test) {
  let now = 0;
  test.mock.timers.enable({ apis: ["setTimeout"] });
  test.mock.method(performance, "now", () => now);
  return async (ms) => {
    for (const end = now + ms; now < end;) {
      now += FRAME_MS;
      test.mock.timers.tick(FRAME_MS);
      await settled();
    }
  };
}
