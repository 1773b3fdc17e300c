/** Files that are dropped on the page of the dashboard. */

import { maker } from "./elements.js";

const DROP =
  "position:fixed;z-index:1350;inset:8px;display:grid;place-items:center;pointer-events:none;border-radius:12px;" +
  "border:3px dashed currentColor;background:color-mix(in srgb, Canvas 85%, transparent);color:CanvasText;" +
  "font:600 22px system-ui,sans-serif";
const DROP_WORDS = "Drop a circuit, a trace or a checkpoint to open it";
/** The longest wait until the page has a field for the files that were dropped. */
const FIELD_MS = 5000;

/**
 * Open the first of the files that are dropped anywhere on the page: `request` asks the server for the Files tool,
 * whose field then has it as if it were chosen there.
 * @param {any} doc @param {any} el @param {() => void} request @returns {() => void} a function that ends it
 */
export function acceptDrops(doc, el, request) {
  const { h } = maker(doc);
  const sign = h("div", { style: DROP, text: DROP_WORDS });
  /** @param {any} event */
  const hasFiles = (event) => Boolean(event.dataTransfer && [...event.dataTransfer.types].includes("Files"));
  /** @param {any} event */
  const over = (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    if (!sign.isConnected) el.appendChild(sign);
  };
  /** @param {any} event */
  const leave = (event) => {
    if (!event.relatedTarget) sign.remove();
  };
  /** @param {any} event */
  const drop = (event) => {
    sign.remove();
    if (!hasFiles(event) || event.defaultPrevented) return;
    event.preventDefault();
    const one = new doc.defaultView.DataTransfer();
    for (const file of [...event.dataTransfer.files].slice(0, 1)) one.items.add(file);
    const ends = Date.now() + FIELD_MS;
    request();
    const hand = () => {
      const field = findField(doc);
      if (!field && Date.now() < ends) return void setTimeout(hand, 50);
      if (!field) return;
      field.files = one.files;
      field.dispatchEvent(new Event("change", { bubbles: true }));
    };
    hand();
  };
  doc.addEventListener("dragover", over);
  doc.addEventListener("dragleave", leave);
  doc.addEventListener("drop", drop);
  return () => {
    sign.remove();
    doc.removeEventListener("dragover", over);
    doc.removeEventListener("dragleave", leave);
    doc.removeEventListener("drop", drop);
  };
}

/** The field of the Files tool, which takes any file, also in the shadow of another element. @param {any} root @returns {any} */
function findField(root) {
  for (const one of root.querySelectorAll("*")) {
    if (one.localName === "input" && one.type === "file" && !one.accept) return one;
    const found = one.shadowRoot && findField(one.shadowRoot);
    if (found) return found;
  }
  return null;
}
