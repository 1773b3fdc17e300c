"""Read the data of a page as the page does."""

import base64
import gzip
import json
import re
from collections.abc import Mapping
from typing import Any

STORE = re.compile(r'<script type="text/plain" id="(recording|part-\d+-\d+)">(.*?)</script>', re.DOTALL)


def stores(html: str) -> dict[str, Any]:
    """The data of each element, by its name."""
    return {name: json.loads(gzip.decompress(base64.b64decode(packed))) for name, packed in STORE.findall(html)}


def read_page(html: str) -> dict[str, Any]:
    """The views of a page, and its recordings with the content of all their parts."""
    found = stores(html)
    for number, recording in enumerate(found["recording"]["recordings"]):
        for part in sorted({*recording["part_of"].values()}):
            for name, values in whole(found[f"part-{number}-{part}"]).items():
                recording[name] = {**recording.get(name, {}), **values}
    return found["recording"]


def whole(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part with its shared values in the places that name them."""
    shared = part["shared"]

    def filled(owner: Mapping[str, Any]) -> dict[str, Any]:
        long = {name: shared[place] for name, place in owner.get("shared", {}).items()}
        return {name: value for name, value in owner.items() if name != "shared"} | long

    owners = {kind: {key: filled(one) for key, one in part[kind].items()} for kind in ("pictures", "details")}
    coordinates = {key: shared[place] for key, place in part["coordinates"].items()}
    return {**owners, "coordinates": coordinates, "buffers": part["buffers"]}
