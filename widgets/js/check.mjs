/** Checks the sources of the views: types, format, bundles. With --fix, formats and bundles them instead. */

import { spawnSync } from "node:child_process";

const FORMAT = ["--config=.prettierrc.json", "--log-level=warn"];
const FORMATTED = [".", "../explorer_widgets/theme.json", "../../tests/widgets"];
const fix = process.argv.includes("--fix");
const steps = [
  ...(fix ? [] : [["node_modules/typescript/bin/tsc"]]),
  ["node_modules/prettier/bin/prettier.cjs", fix ? "--write" : "--check", ...FORMAT, ...FORMATTED],
  ["build.mjs", ...(fix ? [] : ["--check"])],
];
const failed = steps.filter(
  (step) => spawnSync(process.execPath, step, { stdio: "inherit", cwd: import.meta.dirname }).status !== 0,
);
process.exit(failed.length ? 1 : 0);
