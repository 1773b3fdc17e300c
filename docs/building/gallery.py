"""The pages with living pictures: the front page, the gallery of stories, and what a circuit believes."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import cast

import torch

import explorer
from docs.building.sources import ROOT, keep
from explorer.app.dashboard.front_page import STYLE, Card, card_html, card_of, colours, load_cards
from explorer.app.notebook.recorder import PictureRecorder
from explorer.app.notebook.trace_widget import TraceWidget
from explorer.app.session.reproduce import page_recording
from explorer.templates import gallery
from explorer.trace import Trace
from explorer.views import TraceIndex
from explorer_widgets.page import page_html, stores_html, view_html
from explorer_widgets.schema import EmbeddedView, GraphOptions

RECORDED = ROOT / "notebooks" / "recorded"
STORY = "?slides=circuit"
LARGE = ("poon-domingos",)
"""Circuits whose pages would be too large."""


def write_gallery(output: Path, kept: Path) -> dict[str, str]:
    """Write the stories into the output; return the cards that lead to them, by the comment of `gallery.md`.

    `kept` has the stories of earlier builds.
    """
    folder = output / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    cards = load_cards()
    names = [name for name in gallery.names() if name not in LARGE]
    traces = {name: partial(_recorded, name) for name in names} | {name: make for name, _, make in NETWORKS}
    for name, make in traces.items():
        (folder / f"{name}.html").write_text(keep(kept, name, [], partial(_story, name, make)), encoding="utf-8")
    return {
        "<!-- circuits -->": _cards(_card(name, cards.get(name), "") for name in names),
        "<!-- networks -->": _cards(_card(name, card_of(TraceIndex(make())), words) for name, words, make in NETWORKS),
    }


def _recorded(name: str) -> Trace:
    load = gallery.load_trained if name in gallery.trained_names() else gallery.load_named
    return explorer.record(load(name))


def _story(name: str, make: Callable[[], Trace]) -> str:
    return page_html(page_recording(TraceIndex(make()), name), "../_static/pictures.js")


class Block(torch.nn.Module):
    """A residual block, as in a ResNet."""

    def __init__(self) -> None:
        super().__init__()
        convolutions = [torch.nn.Conv2d(8, 8, 3, padding=1, bias=False) for _ in range(2)]
        norms = [torch.nn.BatchNorm2d(8) for _ in range(2)]
        self.body = torch.nn.Sequential(convolutions[0], norms[0], torch.nn.ReLU(), convolutions[1], norms[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.body(x))


def block() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Return a residual block with an input."""
    torch.manual_seed(0)
    return Block().eval(), (torch.randn(1, 8, 16, 16),)


NETWORKS: tuple[tuple[str, str, Callable[[], Trace]], ...] = (
    (
        "residual-block",
        "A residual block, rewritten here: its batch norms become part of its convolutions.",
        lambda: explorer.record(*block()),
    ),
    (
        "two-outputs-torch",
        "A function with two outputs, compiled by torch.compile: what is fused, and what is not.",
        lambda: Trace.load(RECORDED / "two-outputs-torch.trace.json.gz"),
    ),
    (
        "network-xla",
        "A small network, compiled by XLA: what is fused, and what is called from a library.",
        lambda: Trace.load(RECORDED / "network-xla.trace.json.gz"),
    ),
)
"""Name, description and trace of each network."""


def _card(name: str, card: Card | None, words: str) -> str:
    return card_html(name, card, f"gallery/{name}.html", f"gallery/{name}.html{STORY}", words)


def _cards(cards: Iterable[str]) -> str:
    return f'<ul class="cards">{"".join(cards)}</ul>'


def cards_css() -> str:
    """Return the style of cards, with the colours of both themes."""
    light, dark = colours()
    in_the_dark = f"@media(prefers-color-scheme:dark){{body:not([data-theme=light]){{{dark}}}}}"
    return f"body{{{light}}}{in_the_dark}body[data-theme=dark]{{{dark}}}{STYLE}"


# ---------------------------------------------------------------------- the living circuit


BELIEFS = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>What a circuit believes</title>
<style>html{color-scheme:light dark}body{margin:0 .6rem;font:15px/1.4 system-ui,sans-serif}
@media (prefers-color-scheme:dark){html{background:#0f1216;color:#eceef1}a{color:#7cc0ff}}
h1{font-size:1.05rem;display:inline-block;margin:.5rem 1rem .5rem 0}</style>
</head>
<body>
<main>
<h1>What a circuit believes</h1>
<a href="index.html">Circuit Explorer</a>
VIEW
</main>
STORES
<script defer src="_static/pictures.js"></script>
</body>
</html>
"""

LIVING = "A circuit that has learned handwritten digits: paint on it, and every layer answers."
FILM = "The same circuit while it is compiled, from 170 calls to 5."


def write_living(output: Path) -> dict[str, str]:
    """Write the page of the trained digits circuit alone; return the pictures of the front page, by its comments."""
    recorder = PictureRecorder()
    trace = _recorded("digits")
    living, film = (
        recorder.graph(cast(TraceWidget, explorer.show(trace, step=0, beliefs=beliefs, film=not beliefs)))
        for beliefs in (True, False)
    )
    recordings = recorder.recordings()
    options: GraphOptions = {**living.get("options", {}), "stepper": False, "modes": ["diff"]}
    living["options"] = options
    alone: EmbeddedView = {**living, "options": {**options, "height": "calc(100vh - 3rem)", "compact": False}}
    page = BELIEFS.replace("VIEW", view_html(0, {}, LIVING)).replace("STORES", stores_html([alone], recordings))
    output.mkdir(parents=True, exist_ok=True)
    (output / "beliefs.html").write_text(page, encoding="utf-8")
    script = '<script defer src="_static/pictures.js"></script>'
    return {
        "<!-- living -->": view_html(0, {}, LIVING),
        "<!-- film -->": f"{view_html(1, {}, FILM)}{stores_html([living, film], recordings)}{script}",
    }
