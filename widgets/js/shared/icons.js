/** Icons of buttons. */

/** Strokes, in a square of 16. @type {Record<string, string>} */
const ICONS = {
  first: "M4 3v10M13 3.5L6.5 8l6.5 4.5z",
  previous: "M11 3.5L4.5 8 11 12.5z",
  next: "M5 3.5L11.5 8 5 12.5z",
  last: "M12 3v10M3 3.5L9.5 8 3 12.5z",
  play: "M4.5 3L13 8l-8.5 5z",
  pause: "M5 3v10M11 3v10",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  close: "M4 4l8 8M12 4l-8 8",
  table: "M2.5 3h11v10h-11zM2.5 6.5h11M2.5 9.800h11M6.5 6.5V13",
  panel: "M2.5 3h11v10h-11zM9.5 3v10",
  focus: "M8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3M8 5.5a2.5 2.5 0 1 0 .01 0z",
};

/** @param {import("./elements.js").Make} make @param {string} name */
export const icon = ({ s }, name) =>
  s(
    "svg",
    { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "ce-icon" },
    s("path", { d: ICONS[name] }),
  );

/** Attributes of a button whose icon is filled. */
export const SOLID = { class: "ce-solid-icon" };
