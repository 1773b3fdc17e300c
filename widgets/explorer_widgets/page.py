"""Self-contained HTML of recordings: stepping, selection and details work from `file://`, without network.

`page_html` returns a page with one view, `frame_html` one for a frame of another page; `view_html`, `stores_html` and
`shared_script` embed views in pages of a site.
The data is gzip in base64: an element with the heads of the recordings, and one for each part (see `parts.py`).
"""

import base64
import gzip
import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from explorer_widgets.encode import to_json
from explorer_widgets.parts import cut
from explorer_widgets.schema import EmbeddedView, Mode, RecordingView
from explorer_widgets.static import BARS, GRAPH, PAGE, QUESTION
from explorer_widgets.theme import CLOSEUPS

RECORDED_MODES: tuple[Mode, ...] = ("diff", "before", "after")
"""The modes recorded for a page; it composes side by side itself."""

DRAWINGS = {"graph": GRAPH, "bars": BARS, "question": QUESTION}
"""The modules that draw the kinds of views."""

# The page may run its own script and style; the browser refuses every request.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

START = """
const el = document.getElementById("view");
try {
  const { recordings: [recording] } = await openPage(document);
  const { hash, search } = location;
  const place = linkedPlace(recording, { hash, search, closeups });
  await recording.load(place.step);
  const entries = makeEntries(history);
  let leaps = false;
  const keep = (hash, adds) => entries.keep(hash, adds && !leaps);
  const model = recordingModel(recording, { search, start: place, keep, height: "calc(100vh - 3.6rem)" });
  addEventListener("popstate", () => {
    entries.forget();
    leaps = true;
    follow(model, linkedPlace(recording, { hash: location.hash, search, closeups }));
    leaps = false;
  });
  const problem = problemOf(recording, hash, closeups);
  if (problem) el.before(Object.assign(document.createElement("p"), { role: "status", textContent: problem }));
  globalThis.circuitExplorer = { model, close: render({ model, el }) };
} catch (error) {
  el.textContent = `Cannot show this page: ${error instanceof Error ? error.message : error}`;
}
"""

START_VIEWS = """
const models = [];
globalThis.circuitExplorer = { ...globalThis.circuitExplorer, models };
const { views, recordings } = await openPage(document);
const show = async (el) => {
  try {
    return await showEmbedded(el, views[Number(el.dataset.view)], recordings, circuitExplorer.drawings);
  } catch (error) {
    el.append(`Cannot show this view: ${error instanceof Error ? error.message : error}`);
    return null;
  }
};
models.push(...await Promise.all([...document.querySelectorAll("[data-view]")].map(show)));
"""

SHARED_START = """
globalThis.circuitExplorer = { drawings };
const render = drawings.graph;
const start = async () => {
if (document.getElementById("view")) {START}
else if (document.getElementById("recording")) {START_VIEWS
document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView(); // pictures above it have grown
}
};
if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
else start();
"""

# The code as gzip, because a notebook contains it once for each picture. Until it runs, the frame is transparent.
UNPACK = """
const bytes = Uint8Array.from(atob(document.getElementById("code").textContent.trim()), (c) => c.charCodeAt(0));
new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text().then((code) => {
document.documentElement.className = "shown";
document.head.append(Object.assign(document.createElement("script"), { textContent: code }));
});
"""

STYLE = """
html{color-scheme:light dark;background:#fff;color:#16191d;print-color-adjust:exact}
body{margin:0;padding:0 .6rem .6rem;font:13px/1.4 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
h1{font-size:1.05rem;line-height:2.4rem;margin:0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
@media (prefers-color-scheme:dark){html{background:#0f1216;color:#eceef1}}
"""
FRAME_STYLE = """
body{margin:0;font:13px/1.4 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
html.shown{color-scheme:light dark;background:#fff;color:#16191d;print-color-adjust:exact}
@media (prefers-color-scheme:dark){html.shown{background:#0f1216;color:#eceef1}}
"""


def page_html(recording: RecordingView, script: str = "") -> str:
    """Return the page: the drawing code, the recording and a small model that answers from it, in one module.

    A page of a site loads the code from the address `script` instead, where `shared_script` is.
    """
    closeups = f"const closeups = {json.dumps(list(CLOSEUPS))};"
    module = "\n".join([GRAPH.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8"), closeups, START])
    policy = POLICY.replace("'unsafe-inline'", "'self' file:", 1) if script else POLICY
    code = f'<script defer src="{html.escape(script)}"></script>' if script else _module_html(module)
    steps = "".join(
        f"<li>{html.escape(step['title'])}: {html.escape(step['summary'])}</li>" for step in recording["steps"]
    )
    title = html.escape(recording["title"])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<div id="view"></div>
</main>
<noscript><p>The pictures require JavaScript. The steps:</p><ol>{steps}</ol></noscript>
{stores_html([], [recording])}
{code}
</body>
</html>
"""


def frame_html(view: EmbeddedView, recordings: Sequence[RecordingView]) -> str:
    """Return a page with only a view, for a frame over an image: transparent and empty if scripts do not run."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<style>{FRAME_STYLE}</style>
</head>
<body>
{view_html(0, view.get("tables", {}), "")}
{stores_html([view], recordings)}
{_packed_html("code", shared_script())}
<script>{UNPACK}</script>
</body>
</html>
"""


def view_html(number: int, tables: Mapping[str, str], words: str) -> str:
    """Return the element that shows view `number` of `stores_html`; `words` is shown without JavaScript.

    `tables` maps steps to HTML below the graph; the empty name is for all other steps.
    """
    told = f"<noscript><pre>{html.escape(words)}</pre></noscript>" if words else ""
    below = "".join(f'<div data-step="{html.escape(step)}" hidden>{text}</div>' for step, text in tables.items())
    return f'<div class="view" data-view="{number}">{below}{told}</div>'


def shared_script() -> str:
    """Return the drawing code of all pages of a site as one classic script, which browsers load from disk, too.

    It starts the view of `page_html(recording, script)`, or those of `view_html` with the data of `stores_html`.
    """
    parts = [_without_exports(PAGE), f"const closeups = {json.dumps(list(CLOSEUPS))};", "const drawings = {};"]
    for name, file in DRAWINGS.items():
        parts.append(f"drawings.{name} = (() => {{\n{_without_exports(file)}\nreturn render;\n}})();")
    parts.append(SHARED_START.replace("START_VIEWS", START_VIEWS).replace("START", START))
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "})();\n"


def _without_exports(module: Path) -> str:
    code = re.sub(r"\bexport(?: default)? ?\{[^}]*\};", "", module.read_text(encoding="utf-8"))
    return re.sub(r"^export (?=const )", "", code, flags=re.MULTILINE)


def stores_html(views: Sequence[EmbeddedView], recordings: Sequence[RecordingView]) -> str:
    """Return the elements that `openPage` reads: the views without what `view_html` has, and the recordings."""
    kept = [{name: value for name, value in view.items() if name != "tables"} for view in views]
    cuts = [cut(recording) for recording in recordings]
    stores = [_store_html("recording", {"views": kept, "recordings": [head for head, _ in cuts]})]
    for number, (_, parts) in enumerate(cuts):
        stores += [_store_html(f"part-{number}-{at}", part) for at, part in enumerate(parts)]
    return "\n".join(stores)


def _store_html(name: str, data: object) -> str:
    return _packed_html(name, to_json(data))


def _packed_html(name: str, text: str) -> str:
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f'<script type="text/plain" id="{name}">{packed}</script>'


def _module_html(code: str) -> str:
    return f'<script type="module">\n{_inside_script(code)}\n</script>'


def _inside_script(code: str) -> str:
    """Escape JavaScript so that it can neither end its element nor open an HTML comment."""
    return code.replace("</", "<\\/").replace("<!--", "<\\!--")
