"""Live and saved pictures look alike: the functions that decide colours, signs and lines agree on the same data."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.templates import gallery
from explorer.views import Picture, TraceIndex, picture
from explorer.views.graph_painter import box_path, symbol_centre
from explorer.views.lines import Point, arrow_head, curve
from explorer.views.looks import line_look
from explorer_widgets.schema import EdgeView, HullView, NodeView, PictureView
from explorer_widgets.theme import HULLS, KINDS, LIGHT, LIGHT_VALUES
from tests.needed import is_missing
from tests.waiting import PATIENCE

LOOKS = Path(__file__).with_name("looks.mjs")


def colour(name: str) -> str:
    return {**LIGHT, **LIGHT_VALUES}.get(name, name)


def saved_box(node: NodeView, place: tuple[float, ...], view: PictureView) -> dict[str, Any]:
    look, (_, _, width, height) = view["looks"][node["look"]], place
    return {
        **{name: colour(look[name]) for name in ("fill", "ink")},
        "stroke": colour(look.get("stroke", "kept")),
        "signs": [{name: colour(str(text)) for name, text in sign.items()} for sign in look.get("signs", ())],
        "path": box_path(node["kind"], width, height),
        "symbol": [KINDS[node["kind"]].symbol, symbol_centre(node["kind"], width)],
    }


def saved_line(edge: EdgeView) -> dict[str, Any]:
    look = line_look(edge)
    points = [Point(x, y, bool(flat)) for x, y, *flat in edge.get("points", [])]
    ends = {"path": curve(points), "head": arrow_head(points)}
    return {"stroke": colour(look.stroke), "width": pytest.approx(look.width), "dash": list(look.dash), **ends}


def saved_hull(hull: HullView) -> dict[str, Any]:
    style = HULLS[hull["kind"]]
    return {
        "path": hull.get("outline"),
        "sign": style.sign,
        "corner": hull.get("tag"),
        "stroke": colour(style.line),
        "fill": colour(style.fill),
        "width": style.width,
        "dash": list(style.dash),
        "hatch": style.hatch,
    }


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    """Pictures with every change, kind, badge and hull."""
    near, conflict, digits = (
        TraceIndex(explorer.record(gallery.load_named(name))) for name in ("near-misses", "conflict", "digits")
    )
    return [
        *(picture(conflict, step, group_by="fold") for step in (3, 6, 10, 12)),
        *(
            picture(conflict, 6, colour_by=colour_by, group_by="none")
            for colour_by in ("kind", "memory", "fold", "time")
        ),
        picture(near, 3, near_misses="SumCollapse", group_by="none"),
        *(picture(digits, step, mode, group_by="fold") for step in (3, 9) for mode in ("before", "diff")),
    ]


def test_live_and_saved_pictures_have_the_same_colours_signs_and_lines(pictures: list[Picture]) -> None:
    node = shutil.which("node")
    if node is None:
        is_missing("node 20.11 or later", "apt-get install nodejs, brew install node, or https://nodejs.org")
    data = [{"view": one.view, "coordinates": one.coordinates.ravel().tolist()} for one in pictures]
    done = subprocess.run(
        [node, str(LOOKS)], input=json.dumps(data), capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    for live, one in zip(json.loads(done.stdout), pictures, strict=True):
        view = one.view
        assert live["boxes"] == [saved_box(*pair, view) for pair in zip(view["nodes"], one.places, strict=True)]
        assert live["lines"] == [saved_line(edge) for edge in view["edges"]]
        assert live["hulls"] == [saved_hull(hull) for hull in view["hulls"]]


def test_the_pictures_have_every_change_and_every_kind_of_hull(pictures: list[Picture]) -> None:
    assert {node["change"] for one in pictures for node in one.view["nodes"]} == {"kept", "added", "removed", "changed"}
    assert {hull["kind"] for one in pictures for hull in one.view["hulls"]} == set(HULLS)
