/** Colours of a theme by role, from the table that all renderers read, and which theme applies. */

import themes from "../../explorer_widgets/theme.json" with { type: "json" };
import { list, text } from "./reading.js";

/**
 * @typedef
 * {{theme: "light" | "dark", forced: boolean, roles: Record<string, string>, categories: string[], series: string[]}}
 * Palette
 */

/** @type {Record<string, {roles: Record<string, string>, categories: string[], series: string[]}>} */
const TABLES = { light: themes.light, dark: themes.dark, forced: themes.forced };
/** @type {Map<string, Palette>} */
const palettes = new Map();

/**
 * The palette of a theme; the same object each time.
 * @param {"light" | "dark"} theme @param {boolean} forced @returns {Palette}
 */
export function paletteOf(theme, forced) {
  const key = `${theme} ${forced}`;
  const known = palettes.get(key);
  if (known) return known;
  const made = { theme, forced, ...TABLES[forced ? "forced" : theme] };
  palettes.set(key, made);
  return made;
}

/**
 * The palette that the option `theme` asks for, else the one of the page or the system.
 * @param {any} doc @param {any} wish @returns {Palette}
 */
export const paletteFor = (doc, wish) =>
  paletteOf(wish === "dark" || wish === "light" ? wish : hostTheme(doc), matchesMedia("(forced-colors: active)"));

/**
 * Give a root element the roles as CSS variables, `--ce-accent` for a prefix `ce`.
 * @param {any} root @param {Palette} palette @param {string} prefix
 */
export function applyPalette(root, { theme, roles }, prefix) {
  root.setAttribute("data-theme", theme);
  for (const [role, colour] of Object.entries(roles)) root.style.setProperty(`--${prefix}-${role}`, colour);
  root.style.setProperty("color-scheme", theme);
}

/** @param {string} query */
export const matchesMedia = (query) => typeof matchMedia === "function" && matchMedia(query).matches;

/** The theme requested by the surrounding page, or by the system. @param {any} doc @returns {"light" | "dark"} */
function hostTheme(doc) {
  for (const element of [doc.body, doc.documentElement]) {
    if (!element || !element.getAttribute) continue;
    const lab = element.getAttribute("data-jp-theme-light");
    if (lab) return lab === "true" ? "light" : "dark";
    for (const name of ["data-theme", "data-mui-color-scheme", "data-bs-theme", "data-vscode-theme-kind", "theme"]) {
      const value = element.getAttribute(name) || "";
      if (/dark/.test(value)) return "dark";
      if (/light/.test(value)) return "light";
    }
    const classes = element.getAttribute("class") || "";
    if (/(^|\s)(dark|dark-theme|dark-mode)(\s|$)/.test(classes)) return "dark";
    if (/(^|\s)(light|light-theme|light-mode)(\s|$)/.test(classes)) return "light";
  }
  return matchesMedia("(prefers-color-scheme: dark)") ? "dark" : "light";
}

const WATCHED = [
  "class",
  "theme",
  "data-theme",
  "data-jp-theme-light",
  "data-mui-color-scheme",
  "data-bs-theme",
  "data-vscode-theme-kind",
];

/**
 * Call back when the theme of the page or of the system may have changed; returns a function that stops it.
 * @param {any} doc @param {() => void} callback @returns {() => void}
 */
export function watchTheme(doc, callback) {
  /** @type {(() => void)[]} */
  const closing = [];
  if (typeof matchMedia === "function") {
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      const media = matchMedia(query);
      if (!media.addEventListener) continue;
      media.addEventListener("change", callback);
      closing.push(() => media.removeEventListener("change", callback));
    }
  }
  if (typeof MutationObserver === "function") {
    const watch = new MutationObserver(callback);
    const filter = { attributes: true, attributeFilter: WATCHED };
    for (const element of [doc.documentElement, doc.body]) if (element) watch.observe(element, filter);
    closing.push(() => watch.disconnect());
  }
  return () => closing.forEach((close) => close());
}

// ---- signs and outlines ---------------------------------------------------------------------------------------------

/**
 * Signs and dash patterns of the changes.
 * @type {Record<string, {sign: string, dash: number[], edgeDash: number[]}>}
 */
export const CHANGES = themes.changes;
/**
 * Signs and outlines of the kinds of hulls.
 * @type {Record<string, {sign: string, line: string, fill: string, width: number, dash: number[], hatch: boolean}>}
 */
export const HULLS = themes.hulls;
/** Signs, names and symbols of the kinds of nodes. @type {Record<string, {sign: string, words: string, symbol: string}>} */
export const KINDS = themes.kinds;

/** The role of text on a role: `onAdded` for `added`. @param {string} role */
export const inkOn = (role) => `on${role[0].toUpperCase()}${role.slice(1)}`;

/** A dash pattern as an attribute. @param {number[]} dash */
export const dashes = (dash) => dash.join(" ") || null;

/** @param {any} value the option `height`: pixels, or CSS @param {string} [otherwise] */
export const heightOf = (value, otherwise = "") => (typeof value === "number" ? `${value}px` : text(value, otherwise));

// ---- heat -----------------------------------------------------------------------------------------------------------

/** @param {string} hex */
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** A colour between two others. @param {string} one @param {string} other @param {number} share of the other */
export function mixed(one, other, share) {
  const [a, b] = [rgb(one), rgb(other)];
  const found = a.map((value, channel) => Math.round(value + (b[channel] - value) * share));
  return `#${found.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** Cividis at a value from 0 to 1. @param {number} at */
export function heat(at) {
  const ramp = list(themes.heat);
  const scaled = Math.min(1, Math.max(0, at)) * (ramp.length - 1);
  const low = Math.min(ramp.length - 2, Math.floor(scaled));
  return mixed(ramp[low], ramp[low + 1], scaled - low);
}

/**
 * The colour of a value from 0 to 1, to the percent: the largest is the one that differs most from the ground.
 * @param {number} at @param {Palette} palette
 */
export function valueColour(at, { theme }) {
  const share = Math.round(100 * Math.min(1, Math.max(0, at))) / 100;
  return heat(theme === "dark" ? share : 1 - share);
}

/**
 * The colour of a role: one of the theme, of a category (`category-3`), of a series of bars (`series-1`), of a value (`value-37`, or `heat-37` in both themes) or of text on that.
 * @param {string} role @param {Palette} palette @returns {string}
 */
export function roleColour(role, palette) {
  const { roles, categories, series, forced } = palette;
  if (role in roles) return roles[role];
  const [name, number] = role.split("-");
  if (name === "series") return series[Number(number) % series.length];
  if (name === "category" && categories.length) return categories[Number(number) % categories.length];
  if (/heat$/i.test(name)) return inked(name === "heat", heat(Number(number) / 100));
  if (forced || !/value/i.test(name)) return name === "onValue" ? roles.fg : roles.box;
  return inked(name === "value", valueColour(Number(number) / 100, palette));
}

/** A fill, or the colour of text on it. @param {boolean} isFill @param {string} fill */
const inked = (isFill, fill) => (isFill ? fill : luminance(fill) > 0.18 ? "#000000" : "#ffffff");

/** Relative luminance (WCAG 2). @param {string} hex */
export function luminance(hex) {
  const [r, g, b] = rgb(hex).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
