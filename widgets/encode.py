"""How plain data travels to the drawing: topology and words as one JSON string, places as bytes."""

import json
from typing import Any

from widgets.schema import PictureView

BYTES_PER_BOX = 16
"""x, y, width, height as 32-bit floats."""


def to_json(data: object) -> str:
    """Compact JSON; the same data gives the same text."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def picture_traits(picture: PictureView, coordinates: bytes) -> dict[str, Any]:
    """The two traits of a picture.

    Raises: ValueError where the bytes are not four 32-bit floats for each of its nodes.
    """
    other = picture.get("other")
    boxes = len(picture["nodes"]) + (len(other["nodes"]) if other else 0)
    if len(coordinates) != BYTES_PER_BOX * boxes:
        raise ValueError(
            f"coordinates of {boxes} boxes: {BYTES_PER_BOX * boxes} bytes wanted, {len(coordinates)} found; "
            "give x, y, width, height of each node as little-endian 32-bit floats, those of `other` behind"
        )
    return {"picture": to_json(picture), "coordinates": bytes(coordinates)}
