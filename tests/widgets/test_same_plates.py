"""Plates look alike live and saved: canvas and elements of the view give the shapes, colours and words of the image."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from explorer.timings import Estimate, PartTime
from explorer.views import Picture, picture
from explorer.views.plates.pins import THICK
from explorer.views.plates.plates_svg import plates_elements
from explorer_widgets.plate_look import PLATES
from explorer_widgets.theme import DARK, DARK_VALUES, LANES, LIGHT, LIGHT_VALUES
from tests.needed import is_missing
from tests.views.showing import index_of
from tests.waiting import PATIENCE

LOOKS = Path(__file__).with_name("plate_looks.mjs")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
VARIABLE = re.compile(r"var\(--(?:ce-)?([\w-]+)\)")
LIGHT_ROLES, DARK_ROLES = {**LIGHT, **LIGHT_VALUES}, {**DARK, **DARK_VALUES}
UNSEEN = {"ce-name", "ce-ring", "ce-plate-face", "ce-link-reach", "ce-port-whole", "ce-docks"}
"""Parts for screen readers, the pointer, the selection and the rule lens."""

Shape = tuple[str, list[float], Any]


def time(median: float) -> PartTime:
    return PartTime(Estimate(median, median, median, median, median, 20, 0.96))


def pictures() -> dict[str, Picture]:
    times = {
        "cpu": {0: dict.fromkeys(range(12), time(0.5))},
        "recorded-cuda": {0: {layer: time(0.1) for layer in range(4)}},
    }
    digits, conflict, kronecker = index_of("digits"), index_of("conflict"), index_of("kronecker")
    return {
        "an unfolded mosaic": picture(digits, 0, group_by="plates"),
        "a fold": picture(digits, 8, group_by="plates"),
        "folded blocks": picture(digits, 10, group_by="plates"),
        "fused outlines": picture(conflict, 3, "before", group_by="plates"),
        "after fusing": picture(conflict, 3, group_by="plates"),
        "near misses": picture(index_of("near-misses"), 3, near_misses="SumCollapse", group_by="plates"),
        "links": picture(kronecker, 7, group_by="plates"),
        "half bars": picture(conflict, 0, group_by="plates", layer_times=times),
        **{
            colour_by: picture(digits, 9, colour_by=colour_by, group_by="plates")
            for colour_by in ("memory", "fold", "time", "kind")
        },
        "several lines": picture(index_of("levels"), 0, group_by="plates"),
    }


def numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


def shapes(element: ET.Element, roles: Mapping[str, str]) -> Iterator[Shape]:
    """Return what an SVG element draws, in order; classes mean the rows of the table that both style sheets read."""
    names = (element.get("class") or "").split()
    style = dict(part.split(":", 1) for part in (element.get("style") or "").split(";") if ":" in part)
    look = {name: style.get(name, element.get(name, "")) for name in ("fill", "stroke")}
    fill, stroke = (VARIABLE.sub(lambda role: roles[role[1]], colour) for colour in look.values())
    if UNSEEN & set(names) or element.get("visibility") == "hidden" or element.tag in ("title", "defs"):
        return
    if element.tag == "text":
        if element.text:
            kind = names[-1].split("-", 1)[1] if names else "number"
            place = [float(element.get(name) or 0) for name in "xy"]
            yield f"words: {kind}", place, element.text if kind != "number" else (element.text, fill)
    elif element.tag == "circle":
        yield "port", [float(element.get(name) or 0) for name in ("cx", "cy", "r")], stroke
    elif element.get("transform") and element.find("rect") is not None:
        yield "tag", numbers(element.get("transform") or ""), [child.text for child in element if child.tag == "text"]
    elif element.tag in ("path", "rect"):
        yield from _strokes(element, names, fill, stroke, roles)
    else:
        for child in element:
            yield from shapes(child, roles)


def _strokes(
    element: ET.Element, names: list[str], fill: str, stroke: str, roles: Mapping[str, str]
) -> Iterator[Shape]:
    opacity = float(element.get("opacity") or 1)
    faint = opacity
    lane = next((LANES[name[8:]] for name in names if name[8:] in LANES), None)
    if "ce-lane-track" in names:
        fill = roles["line"]
    elif lane is not None:
        fill = stroke = roles[lane.line]
        faint = PLATES["bars"]["recorded"] if lane.recorded else 1.0
    elif "ce-tint" in names:
        faint = PLATES["tint"]
    d = numbers(element.get("d") or "")
    if element.tag == "rect":
        x, y, width, height = (float(element.get(name) or 0) for name in ("x", "y", "width", "height"))
        d = [x, y, width, height, -width]
    if {"x-missed", "ce-link-line"} & set(names):
        yield "link", d, ""
    elif fill.startswith("url"):
        yield "hatch", d, ""
    else:
        if fill and fill != "none":
            yield "fill", d, (fill, faint)
        if stroke:
            width, dash = float(element.get("stroke-width") or 1), numbers(element.get("stroke-dasharray") or "")
            yield "stroke", d, (stroke, round(width, 2), dash, opacity)


def is_above(shape: Shape) -> bool:
    """All but the thick lines of pins: images draw them before cells, the view after them, masked."""
    return not (shape[0] == "stroke" and shape[2][1] == THICK)


def saved(one: Picture, roles: Mapping[str, str]) -> list[Shape]:
    elements = "".join(plates_elements(one.view, one.places))
    return list(shapes(ET.fromstring(f"<svg>{elements}</svg>"), roles))


@pytest.fixture(scope="module")
def drawn() -> tuple[dict[str, Picture], dict[str, list[str]]]:
    """The pictures, and how the view draws them."""
    node = shutil.which("node")
    if node is None:
        is_missing("node 20.11 or later", "apt-get install nodejs, brew install node, or https://nodejs.org")
    shown = pictures()
    data = [{"view": one.view, "coordinates": one.coordinates.ravel().tolist()} for one in shown.values()]
    done = subprocess.run(
        [node, str(LOOKS)], input=json.dumps(data), capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return shown, json.loads(done.stdout)


@pytest.mark.parametrize(("theme", "roles"), [("light", LIGHT_ROLES), ("dark", DARK_ROLES), ("selected", LIGHT_ROLES)])
def test_live_and_saved_plates_are_the_same_list(drawn: Any, theme: str, roles: Mapping[str, str]) -> None:
    shown, svgs = drawn
    for (name, one), svg in zip(shown.items(), svgs[theme], strict=True):
        both = shapes(ET.fromstring(svg), roles), saved(one, roles)
        live, image = (sorted(one_side, key=is_above) for one_side in both)
        assert [(kind, rest) for kind, _, rest in live] == [(kind, rest) for kind, _, rest in image], name
        for (kind, d, _), (_, expected, _) in zip(live, image, strict=True):
            assert d == pytest.approx(expected, abs=0.16), (name, kind)


def test_the_pictures_have_every_part(drawn: Any) -> None:
    shown, _ = drawn
    found = {kind for one in shown.values() for kind, _, _ in saved(one, LIGHT_ROLES)}
    words = {f"words: plate-{kind}" for kind in PLATES["words"]} | {"words: number", "words: port-number"}
    assert found == {"fill", "stroke", "tag", "link", "port", "hatch", *words}
    marks = {
        mark
        for one in shown.values()
        for node in one.view["nodes"]
        if "plate" in node
        for mark in node["plate"].get("marks", {})
    }
    assert marks == set(PLATES["marks"])
    assert any("points" in edge for one in shown.values() for edge in one.view["edges"])
