import assert from "node:assert/strict";
import { test } from "node:test";

import themes from "../../widgets/explorer_widgets/theme.json" with { type: "json" };
import { heat, inkOn, luminance } from "../../widgets/js/shared/theme.js";

const GROUNDS = ["bg", "ground", "panel"];
const TEXTS = ["fg", "muted", "accent", "good", "bad", "error"];
const LINES = ["kept", "edge", "added", "removed", "changed", "matchedLine", "nearMiss", "lost", "control"];
const CELLS = ["input", "sum", "product", "fused", "operator", "matmul", "view"];
const BADGES = ["added", "removed", "changed", "matched", "info", "warning", "error"];

/** The contrast of two colours (WCAG 2). */
function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

for (const name of ["light", "dark"]) {
  const { roles, categories, series } = themes[name];
  const check = (one, other, least) => {
    const [a, b] = [roles[one] ?? one, roles[other] ?? other];
    assert.ok(contrast(a, b) >= least, `${one} on ${other}: ${contrast(a, b).toFixed(2)}`);
  };

  test(`text has a contrast of at least 4.5 (${name})`, () => {
    for (const ground of GROUNDS) for (const text of TEXTS) check(text, ground, 4.5);
    for (const badge of BADGES) check(inkOn(badge), badge, 4.5);
    for (const fill of [...categories, "box", "soft", "addedFill", "removedFill", "changedFill", "matchedFill"]) {
      check("fg", fill, 4.5);
    }
    for (const kind of CELLS) check("onCell", kind, 4.5);
    for (const read of ["copy", "free"]) check(read, `${read}Fill`, 4.5);
  });

  test(`lines have a contrast of at least 3 (${name})`, () => {
    for (const ground of GROUNDS) for (const line of [...LINES, ...series]) check(line, ground, 3);
  });
}

test("every theme has all roles", () => {
  const names = Object.keys(themes.light.roles);
  for (const theme of [themes.dark, themes.forced]) assert.deepEqual(Object.keys(theme.roles), names);
  assert.equal(themes.light.categories.length, themes.dark.categories.length);
  for (const { line, fill } of Object.values(themes.hulls)) assert.ok(names.includes(line) && names.includes(fill));
});

test("text on the heat scale has a contrast of at least 4.5", () => {
  for (let at = 0; at <= 1; at += 0.02) {
    const ground = heat(at);
    const ink = luminance(ground) > 0.18 ? "#000000" : "#ffffff";
    assert.ok(contrast(ground, ink) >= 4.5, `${contrast(ground, ink)} at ${at}`);
  }
});
