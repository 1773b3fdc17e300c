"""What the front page says of the circuits of the gallery: calls before and after, thumbnails, recorded times.

They are recorded in `gallery.json` by `make pictures`, because compiling all circuits takes longer than a page may.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorer.views import TraceIndex, calls_of, thumbnail
from explorer_widgets.schema import ThumbnailView

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
