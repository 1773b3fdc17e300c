"""The front page: a card for each circuit of the gallery, before and after it is compiled; a click opens it.

It is plain HTML without scripts of its own, so that it is usable at once.
"""

from collections.abc import Mapping
from html import escape
from urllib.parse import urlencode

from explorer.app.dashboard.cards import Card
from explorer.app.dashboard.theme import HEAD
from explorer.app.session.library import Library
from explorer.templates import gallery
from explorer.views import plural
from explorer_widgets.schema import ThumbnailView
from explorer_widgets.theme import DARK, KINDS, LIGHT

TITLE = "Circuit Explorer"
INTRODUCTION = (
    "A compiler for probabilistic circuits that you can watch. Each card shows a circuit before and after it is "
    "compiled: a separate square is a layer that PyTorch calls by itself, a framed block is many layers in one call."
)
SHOWN = ("input", "sum", "product", "fused")
"""The kinds of layers in the legend."""
STYLE = """
body{margin:0 auto;max-width:1240px;padding:16px 24px 40px;color:var(--fg);
  font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
h1{font-size:28px;margin:8px 0 4px}
p{margin:0 0 10px;max-width:80ch}
.cards,.legend{margin:0;padding:0;list-style:none}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;padding-bottom:18px;color:var(--muted)}
.legend svg{vertical-align:-2px;margin-right:6px}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,540px),1fr));gap:16px}
.card{position:relative;border:1px solid var(--line);border-radius:10px;padding:14px 16px;background:var(--panel)}
.card:hover,.card:focus-within{border-color:var(--accent);box-shadow:0 0 0 1px var(--accent)}
.card h2{font-size:19px;margin:0 0 2px}
.card h2 a{color:inherit;text-decoration:none}
.card h2 a::after{content:"";position:absolute;inset:0}
.card h2 a:focus-visible{outline:2px solid var(--accent);outline-offset:3px}
.drawing{display:flex;align-items:center;gap:12px;margin:8px 0}
.drawing svg{display:block;flex:0 1 auto;min-width:0;max-width:100%;height:auto}
.arrow{flex:none;font-size:24px;color:var(--muted)}
.calls{font-weight:650;font-size:17px;margin:0}
.time,.story{font-size:14px;margin:0;color:var(--muted)}
.story a,.files a{position:relative;display:inline-block;min-height:24px;color:var(--accent)}
svg .folded{stroke:var(--fg);stroke-width:1.2}
"""


def front_page_html(library: Library, cards: Mapping[str, Card]) -> str:
    """Return the page; a circuit without a recorded card has its sentence only."""
    shown = "".join(_card_html(name, cards.get(name)) for name in gallery.names())
    files = [name for name in library.names() if name not in gallery.names()]
    links = ", ".join(f'<a href="{_address(circuit=name)}">{escape(name)}</a>' for name in files)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{TITLE}</title>
{HEAD}
<style>{_colours()}{STYLE}</style>
</head>
<body>
<main>
<h1>{TITLE}</h1>
<p>{INTRODUCTION}</p>
<ul class="legend" aria-label="Colours">{"".join(map(_legend_html, SHOWN))}</ul>
{f'<p class="files">Files: {links}</p>' if files else ""}
<ul class="cards">{shown}</ul>
</main>
</body>
</html>
"""


def _card_html(name: str, card: Card | None) -> str:
    parts = [f'<h2><a href="{_address(circuit=name)}">{escape(name)}</a></h2>']
    if card is not None:
        before, after = card.calls
        drawings = [_svg(card.before, f"before: {plural(before, 'call')}"), _svg(card.after, f"after: {after:,}")]
        arrow = '<span class="arrow" aria-hidden="true">→</span>'
        parts.append(f'<div class="drawing">{arrow.join(drawings)}</div>')
        parts.append(f'<p class="calls">{before:,} → {plural(after, "call")}</p>')
        if card.time is not None:
            parts.append(f'<p class="time">{escape(card.time.words)}</p>')
    parts.append(f"<p>{escape(gallery.describe(name))}</p>")
    story = _address(circuit=name, slides="circuit")
    label = f"Play the story of {escape(name)}"
    parts.append(f'<p class="story"><a href="{story}" aria-label="{label}">Play the story</a></p>')
    return f'<li class="card">{"".join(parts)}</li>'


def _svg(drawing: ThumbnailView, label: str) -> str:
    frame = ' class="folded"'
    shapes = "".join(
        f'<path d="{plate["path"]}" fill="var(--{plate["kind"]})"{frame if plate["folded"] else ""}/>'
        for plate in drawing["plates"]
    )
    width, height = drawing["width"] + 2, drawing["height"] + 2
    size = f'width="{width:g}" height="{height:g}" viewBox="-1 -1 {width:g} {height:g}"'
    return f'<svg {size} role="img" aria-label="{label}">{shapes}</svg>'


def _legend_html(kind: str) -> str:
    square = f'<rect width="14" height="14" fill="var(--{kind})"/>'
    return f'<li><svg width="14" height="14" aria-hidden="true">{square}</svg>{KINDS[kind].words}</li>'


def _address(**values: str) -> str:
    return escape(f"?{urlencode(values)}")


def _colours() -> str:
    roles = (*SHOWN, "operator", "leaf", "fg", "muted", "line", "panel", "accent")
    light, dark = (";".join(f"--{role}:{theme[role]}" for role in roles if role in theme) for theme in (LIGHT, DARK))
    return f"html[data-theme]{{{light}}}html[data-theme=dark]{{{dark}}}"
