"""One self-contained HTML file of a recording: it steps, selects and shows details from `file://`, with no network."""

import base64
import gzip
import html
import json

from widgets.schema import RecordingView
from widgets.static import GRAPH, PAGE

PACK_FROM_BYTES = 200_000
"""From this size on the recording is written as gzip in base64, which takes about a tenth."""

# The page may run its own script and style, and reach nothing: a browser refuses every request that it would make.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

START = """
const store = document.getElementById("recording");
const el = document.getElementById("view");
try {
  const recording = await readRecording(store.textContent, store.dataset.packed === "true");
  const keep = (hash) => { try { history.replaceState(null, "", hash); } catch { /* some hosts forbid it */ } };
  const model = recordingModel(recording, { hash: location.hash, keep, height: "calc(100vh - 3.6rem)" });
  globalThis.circuitExplorer = { model, close: render({ model, el }) };
} catch (error) {
  el.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : error}`;
}
"""

STYLE = """
html{color-scheme:light dark;background:#fff;color:#16191d}
body{margin:0;padding:0 .6rem .6rem;font:13px/1.4 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
h1{font-size:1.05rem;line-height:2.4rem;margin:0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
@media (prefers-color-scheme:dark){html{background:#0f1216;color:#eceef1}}
"""


def page_html(recording: RecordingView) -> str:
    """The page as text: the drawing, the recording and a small model that answers from it, in one module."""
    text = json.dumps(recording, ensure_ascii=False, separators=(",", ":"))
    packed = len(text.encode()) > PACK_FROM_BYTES
    if packed:
        store = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    else:
        store = text.replace("<", "\\u003c")
    module = "\n".join([GRAPH.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8"), START])
    steps = "".join(
        f"<li>{html.escape(step['title'])}: {html.escape(step['summary'])}</li>" for step in recording["steps"]
    )
    title = html.escape(recording["title"])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
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
<noscript><p>The pictures need JavaScript. The steps:</p><ol>{steps}</ol></noscript>
<script type="application/json" id="recording" data-packed="{str(packed).lower()}">{store}</script>
<script type="module">
{_inside_script(module)}
</script>
</body>
</html>
"""


def _inside_script(code: str) -> str:
    """JavaScript that cannot end the element it stands in, nor open a comment of HTML."""
    return code.replace("</", "<\\/").replace("<!--", "<\\!--")
