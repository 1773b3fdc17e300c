/**
 * Bundles each view into one self-contained module in `widgets/static/`: `npm run build`.
 * With --check, fails instead if a bundle differs from what its sources give.
 */

import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const VIEWS = ["bars", "graph", "host", "page", "question", "steps"];
const HERE = dirname(fileURLToPath(import.meta.url));
const STATIC = join(HERE, "..", "static");
const BANNER = "// Made from widgets/js/ by `npm run build` there: edit the sources, not this file.";

const { outputFiles } = await build({
  entryPoints: VIEWS.map((name) => join(HERE, `${name}.js`)),
  absWorkingDir: HERE,
  outdir: STATIC,
  bundle: true,
  write: false,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  minifyWhitespace: true, // a page embeds the modules
  banner: { js: BANNER },
});

const bundles = new Map(VIEWS.map((name, index) => [name, outputFiles[index].text]));

// `widgets/page.py` puts the page into one module with the graph, and calls `render` of each view: no name may clash.
await transform(`${bundles.get("graph")}\n${bundles.get("page")}`, { format: "esm" });
for (const [name, code] of bundles) {
  if (name !== "page" && !/\bfunction render\(/.test(code)) throw new Error(`${name}.js has no function "render"`);
}

if (process.argv.includes("--check")) {
  const stale = [];
  for (const [name, code] of bundles) {
    if ((await readFile(join(STATIC, `${name}.js`), "utf8")) !== code) stale.push(`widgets/static/${name}.js`);
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
