"""The front page, with a card for each circuit of the gallery, and the themes of all pages.

It is plain HTML without scripts of its own, so that it is usable at once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Template
from panel.custom import ReactiveESM
from panel_material_ui.base import BASE_TEMPLATE

from explorer.app.session.library import Library
from explorer.templates import gallery
from explorer.views import TraceIndex, calls_of, plural, thumbnail
from explorer_widgets.schema import ThumbnailView
from explorer_widgets.theme import DARK, FONT, KINDS, LIGHT

FILE = Path(__file__).with_name("gallery.json")


@dataclass(frozen=True, slots=True)
class RecordedTime:
    """Median milliseconds of a batch before and after compiling, on a device with versions."""

    before: float
    after: float
    batch_size: int
    device: str
    torch: str

    @property
    def words(self) -> str:
        """Say how many times as fast the circuit became, and where that was measured."""
        factor = self.before / self.after
        return f"{factor:.1f}x faster on {self.device}, torch {self.torch}, batch of {self.batch_size}"


@dataclass(frozen=True, slots=True)
class Card:
    """A circuit before and after it is compiled."""

    calls: tuple[int, int]
    before: ThumbnailView
    after: ThumbnailView
    time: RecordedTime | None = None


def card_of(index: TraceIndex, time: RecordedTime | None = None) -> Card:
    """Return the card of a trace."""
    first, last = index.trace.start, len(index.trace.steps) - 1
    calls = (calls_of(index, first), calls_of(index, last))
    return Card(calls, thumbnail(index, first), thumbnail(index, last), time)


def load_cards(file: Path = FILE) -> Mapping[str, Card]:
    """Return the recorded cards by the name of their circuit."""
    return {name: _card(data) for name, data in json.loads(file.read_text(encoding="utf-8")).items()}


def _card(data: Mapping[str, Any]) -> Card:
    time = data.get("time")
    before, after = data["calls"]
    return Card((before, after), data["before"], data["after"], None if time is None else RecordedTime(**time))


# ---------------------------------------------------------------------- the page


TITLE = "Circuit Explorer"
INTRODUCTION = (
    "A compiler for probabilistic circuits that you can watch. Each card shows a circuit before and after it is "
    "compiled: a separate square is a layer that PyTorch calls by itself, a framed block is many layers in one call."
)
SHOWN = ("input", "sum", "product", "fused")
"""The kinds of layers in the legend."""
PAGE_STYLE = """
body{margin:0 auto;max-width:1240px;padding:16px 24px 40px;color:var(--fg);
  font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
h1{font-size:28px;margin:8px 0 4px}
p{margin:0 0 10px;max-width:80ch}
"""
STYLE = """
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
    shown = "".join(
        card_html(name, cards.get(name), _address(circuit=name), _address(circuit=name, slides="circuit"))
        for name in gallery.names()
    )
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
<style>{_colours()}{PAGE_STYLE}{STYLE}</style>
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


def card_html(name: str, card: Card | None, address: str, story: str, words: str = "") -> str:
    """Return the card of a circuit, or of something else that `words` describe, with the addresses of its pages."""
    parts = [f'<h2><a href="{address}">{escape(name)}</a></h2>']
    if card is not None:
        before, after = card.calls
        drawings = [_svg(card.before, f"before: {plural(before, 'call')}"), _svg(card.after, f"after: {after:,}")]
        arrow = '<span class="arrow" aria-hidden="true">→</span>'
        parts.append(f'<div class="drawing">{arrow.join(drawings)}</div>')
        parts.append(f'<p class="calls">{before:,} → {plural(after, "call")}</p>')
        if card.time is not None:
            parts.append(f'<p class="time">{escape(card.time.words)}</p>')
    words = words or f"{gallery.describe(name)} {gallery.describe_learned(name)}".rstrip()
    parts.append(f"<p>{escape(words)}</p>")
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


def colours() -> tuple[str, str]:
    """Return the colours of cards as CSS properties, of the light and of the dark theme."""
    roles = (*SHOWN, "operator", "leaf", "fg", "muted", "line", "panel", "accent")
    light, dark = (";".join(f"--{role}:{theme[role]}" for role in roles if role in theme) for theme in (LIGHT, DARK))
    return light, dark


def _colours() -> str:
    light, dark = colours()
    return f"html[data-theme]{{{light}}}html[data-theme=dark]{{{dark}}}"


# ---------------------------------------------------------------------- themes


# Buttons and fields have the look of the graph.
RADIUS = 6
BUTTON = {"textTransform": "none", "borderRadius": RADIUS, "minHeight": 30, "fontWeight": 400}
# What would move without an end stands still for readers who ask for less motion.
STILL = {"@media (prefers-reduced-motion: reduce)": {"animation": "none !important"}}


def _components(roles: Mapping[str, str]) -> dict[str, Any]:
    outlined = {"color": roles["fg"], "borderColor": roles["control"], "backgroundColor": roles["panel"]}
    return {
        "MuiButton": {"styleOverrides": {"root": BUTTON, "sizeSmall": {"fontSize": 13}, "outlined": outlined}},
        "MuiToggleButton": {
            "styleOverrides": {"root": {**BUTTON, "color": "inherit", "padding": "4px 12px", "fontSize": 13}}
        },
        "MuiOutlinedInput": {"styleOverrides": {"root": {"borderRadius": RADIUS}}},
        "MuiLinearProgress": {"styleOverrides": {"bar1": STILL, "bar2": STILL}},
        "MuiSkeleton": {"styleOverrides": {"root": STILL}},
        # Menus are the lists of selects: an option, not a menu item, belongs to a list box.
        "MuiMenuItem": {"defaultProps": {"role": "option"}},
    }


THEMES = {
    name: {
        "typography": {"fontFamily": FONT, "fontSize": 13, "button": {"fontSize": 13}},
        "palette": {"primary": {"main": roles["accent"], "contrastText": roles["bg"]}},
        "components": _components(roles),
    }
    for name, roles in (("light", LIGHT), ("dark", DARK))
}
# With these two class names a Page does not restyle the controls in its header.
HEADER_STYLE = {
    ".MuiAppBar-root": {
        "bgcolor": "primary.contrastText",
        "color": "primary.main",
        "boxShadow": "none",
        "borderBottom": "1px solid",
        "borderColor": "divider",
    },
    ".MuiAppBar-root .title": {"color": "text.primary", "fontSize": "1.05rem", "whiteSpace": "nowrap"},
    ".MuiAppBar-root a": {"minHeight": 24},
    ".MuiAppBar-root .MuiToolbar-root > .MuiBox-root": {"overflowX": "auto", "paddingTop": "8px"},
    "@media (max-width: 1100px)": {".MuiAppBar-root a:has(.title)": {"display": "none !important"}},
    # A Page reads `busy_indicator=None` as its default, a bar without a name that is always visible.
    ".MuiAppBar-root > .MuiLinearProgress-root": {"display": "none"},
}

# `host.js` stores the choice of the reader, under this name, and follows the system until there is one.
HEAD = """
<script>
{
  let chosen = null;
  try { chosen = localStorage.getItem("circuit-explorer-theme"); } catch { /* storage is forbidden */ }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
</script>
<style>
html[data-theme] { color-scheme: light; background: #ffffff; color: #16191d; }
html[data-theme=dark] { color-scheme: dark; background: #121212; color: #eceef1; }
/* It covers the page, which starts in the light theme. */
html[data-theme] #loader { background: inherit; }
html[data-theme] body { background: inherit; }
#skip { position: fixed; left: 8px; top: 8px; z-index: 3000; min-height: 28px; font: inherit; }
#skip:not(:focus) { clip-path: inset(50%); }
</style>
"""

MODULES = """
<script>
// The browser imports modules of this server itself and caches their compiled code; Panel's polyfill parses copies.
{
  const polyfill = window.importShim;
  const load = (name, ...more) =>
    name.startsWith("./") ? import(new URL(name, document.baseURI)) : polyfill(name, ...more);
  window.importShim = Object.assign(load, polyfill);
  for (const name of {{ modules | tojson }}) load(name);
}
// The first stop of Tab leads past the header: the graph enters its picture on this key, wherever the focus is.
{
  const skip = Object.assign(document.createElement("button"), { id: "skip", textContent: "Skip to the picture" });
  skip.onclick = () => {
    skip.blur();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: ".", bubbles: true }));
  };
  addEventListener("DOMContentLoaded", () => document.body.prepend(skip));
}
</script>
"""


def page_template(components: Sequence[type[ReactiveESM]]) -> Template:
    """Return the template of a page with this head, which starts to load the modules of these components."""
    text = f"{{% extends base_template %}}{{% block postamble %}}{HEAD}{MODULES}{{{{ super() }}}}{{% endblock %}}"
    modules = [component._render_esm(server=True) for component in components]
    return BASE_TEMPLATE.environment.from_string(text, globals={"base_template": BASE_TEMPLATE, "modules": modules})
