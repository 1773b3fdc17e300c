"""Data as hosts take it: topology and text as one JSON string, coordinates as bytes, images as PNG."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from explorer_widgets.schema import PictureView

BYTES_PER_BOX = 16
"""x, y, width, height as 32-bit floats."""


@dataclass(frozen=True, slots=True)
class Png:
    """The bytes of an image and its size in CSS pixels."""

    data: bytes
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Fallback:
    """Shown where widgets do not run: an image with its alt text, and plain text. The image takes long to draw."""

    draw: Callable[[], Png]
    alt: str
    text: str


def to_json(data: object) -> str:
    """Return compact JSON; equal data returns equal text."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def picture_traits(picture: PictureView, coordinates: bytes) -> dict[str, Any]:
    """Return the two traits of a picture.

    Raises: ValueError unless the bytes are four 32-bit floats for each of its nodes.
    """
    other = picture.get("other")
    boxes = len(picture["nodes"]) + (len(other["nodes"]) if other else 0)
    if len(coordinates) != BYTES_PER_BOX * boxes:
        raise ValueError(
            f"coordinates of {boxes} boxes: expected {BYTES_PER_BOX * boxes} bytes, got {len(coordinates)}; "
            "pass x, y, width, height of each node as little-endian 32-bit floats, followed by those of `other`"
        )
    return {"picture": to_json(picture), "coordinates": bytes(coordinates)}
