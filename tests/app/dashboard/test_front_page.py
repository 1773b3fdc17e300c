"""The front page: its recorded cards agree with the traces, its links open circuits, and names are escaped."""

import re
from pathlib import Path

import pytest

from explorer.app.dashboard.front_page import Card, RecordedTime, card_of, front_page_html, load_cards
from explorer.app.session.library import Library
from explorer.compiler import record
from explorer.templates import gallery
from explorer.views import TraceIndex

LARGE = ("mnist", "poon-domingos")


def told_by(card: Card) -> tuple[object, ...]:
    """Return the content of a card: its calls, and the plates of its drawings with their cells, without positions."""
    drawings = (
        [(p["kind"], p["folded"], p["path"].count("M")) for p in one["plates"]] for one in (card.before, card.after)
    )
    return (card.calls, *drawings)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.fuzz if name in LARGE else ()) for name in gallery.names()]
)
def test_a_recorded_card_tells_what_the_trace_does(name: str) -> None:
    """If not: `make pictures`, or `python scripts/gallery.py --no-times`."""
    assert told_by(load_cards()[name]) == told_by(card_of(TraceIndex(record(gallery.load_named(name)))))


def test_each_circuit_has_a_card_and_a_time_names_its_device_and_version() -> None:
    cards = load_cards()
    assert tuple(cards) == gallery.names()
    assert cards["digits"].calls == (170, 5)
    for card in cards.values():
        if card.time is not None:
            assert card.time.before > card.time.after
            assert card.time.device
            assert re.fullmatch(r"\d+\.\d+\.\d+", card.time.torch)


def test_the_page_opens_circuits_stories_and_files(tmp_path: Path) -> None:
    (tmp_path / "<b>&.trace.json").touch()
    drawing = load_cards()["digits"].before
    time = RecordedTime(3.6, 1.0, 64, "Abacus <9>", "2.8.0")
    page = front_page_html(Library(tmp_path), {"digits": Card((170, 5), drawing, drawing, time)})
    assert page.count('<li class="card">') == len(gallery.names())
    assert '<a href="?circuit=digits">digits</a>' in page
    assert 'href="?circuit=hmm&amp;slides=circuit"' in page
    assert "170 → 5 calls" in page
    assert "3.6x faster on Abacus &lt;9&gt;, torch 2.8.0, batch of 64" in page
    assert '<a href="?circuit=%3Cb%3E%26.trace.json">&lt;b&gt;&amp;.trace.json</a>' in page
    assert page.count("faster") == 1
    assert "<b>" not in page
