/** Prints, for each state of the buffers on standard input, what a page answers for each pair of its buffers. */

import { readFileSync } from "node:fs";

import { readBuffers } from "../../widgets/js/picture/buffers.js";
import { whyNotShared } from "../../widgets/js/picture/sharing.js";

const answers = JSON.parse(readFileSync(0, "utf8")).map((raw) => {
  const shown = readBuffers(raw);
  const ids = shown.buffers.map(({ id }) => id);
  return ids.flatMap((one) =>
    ids.filter((id) => id !== one).map((other) => [one, other, whyNotShared(shown, one, other).text]),
  );
});
process.stdout.write(JSON.stringify(answers));
