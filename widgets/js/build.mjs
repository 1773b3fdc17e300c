/**
 * Bundles each view into one self-contained module in `widgets/explorer_widgets/static/`: `npm run build`.
 * With --check, fails instead if a bundle differs from what its sources give.
 */

import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const VIEWS = ["ask", "bars", "derivation", "graph", "host", "page", "query", "question"];
const HERE = dirname(fileURLToPath(import.meta.url));
const STATIC = join(HERE, "..", "explorer_widgets", "static");
const BANNER = "// Made from widgets/js/ by `npm run build` there: edit the sources, not this file.";

/** A page embeds the modules, so they are short: all names but those of their exports are. */
const SHORT = /** @type {const} */ ({ minifyWhitespace: true, minifySyntax: true, charset: "utf8", target: "es2022" });
/** What the module of a view exports, under the name that pages use. */
const RENDER =
  "function render({ model, el }) { return view.default.render({ model, el }); }\nexport default { render };\n";

/** The bundle of a view, or of the page, whose functions other modules call. @param {string} name */
async function bundleOf(name) {
  const { outputFiles } = await build({
    ...SHORT,
    entryPoints: [join(HERE, `${name}.js`)],
    absWorkingDir: HERE,
    bundle: true,
    write: false,
    ...(name === "page" ? { format: "esm" } : { format: "iife", globalName: "view", minifyIdentifiers: true }),
  });
  if (name === "page") return `${BANNER}\n${outputFiles[0].text}`;
  const { default: _, ...named } = await import(`./${name}.js`);
  const others = Object.keys(named).map((one) => `export const ${one} = view.${one};\n`);
  return `${BANNER}\n${outputFiles[0].text}${RENDER}${others.join("")}`;
}

const texts = await Promise.all(VIEWS.map(bundleOf));
const bundles = new Map(VIEWS.map((name, index) => [name, texts[index]]));

// `widgets/explorer_widgets/page.py` puts the page into one module with the graph, and calls `render` of each view: no name may clash.
await transform(`${bundles.get("graph")}\n${bundles.get("page")}`, { format: "esm" });
for (const [name, code] of bundles) {
  if (name !== "page" && !/\bfunction render\(/.test(code)) throw new Error(`${name}.js has no function "render"`);
}

if (process.argv.includes("--check")) {
  const stale = [];
  for (const [name, code] of bundles) {
    if ((await readFile(join(STATIC, `${name}.js`), "utf8")) !== code)
      stale.push(`widgets/explorer_widgets/static/${name}.js`);
  }
  if (stale.length) {
    console.error(
      `Not what the sources give: ${stale.join(", ")}. Run \`make fix\`, or \`npm run build\` in widgets/js.`,
    );
    process.exit(1);
  }
} else {
  for (const [name, code] of bundles) await writeFile(join(STATIC, `${name}.js`), code);
}
