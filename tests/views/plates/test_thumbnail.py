"""Thumbnails: separate layers are cells, a folded layer is one area, and all plates fit."""

import pytest
from inline_snapshot import snapshot

from explorer.views import thumbnail
from explorer.views.plates.drawing import THUMBNAIL_HEIGHT, THUMBNAIL_WIDTH
from tests.views.showing import SMALL, index_of


def test_cells_become_one_framed_area():
    before, after = (thumbnail(index_of("conflict"), step) for step in (0, 11))
    assert [(plate["kind"], plate["folded"], plate["path"].count("M")) for plate in before["plates"]] == snapshot(
        [
            ("input", False, 4),
            ("product", False, 2),
            ("sum", False, 2),
            ("sum", False, 2),
            ("product", False, 1),
            ("sum", False, 1),
        ]
    )
    assert after == snapshot(
        {
            "width": 48.5,
            "height": 46.0,
            "plates": [
                {"kind": "input", "folded": True, "path": "M0 0h11.5v46h-11.5z"},
                {"kind": "fused", "folded": True, "path": "M18.5 0h11.5v46h-11.5z"},
                {"kind": "fused", "folded": False, "path": "M37 0h11.5v46h-11.5z"},
            ],
        }
    )


@pytest.mark.parametrize("name", SMALL)
def test_all_plates_fit(name):
    index = index_of(name)
    for step in (0, len(index.trace.steps) - 1):
        drawn = thumbnail(index, step)
        assert 0 < drawn["width"] <= THUMBNAIL_WIDTH
        assert 0 < drawn["height"] <= THUMBNAIL_HEIGHT
