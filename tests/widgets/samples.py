"""A small recording, written by hand: five layers, a fuse of four layers into two, a fold of two into one."""

import base64
import struct
from itertools import pairwise
from typing import Any

from explorer.views.bars import bars_view
from explorer.views.looks import box_look
from explorer_widgets.schema import BarsView, BarView, NodeView, PictureView, QuestionView, RecordingView, StepView

TITLES = ("Step 0 of 2: compile", "Step 1 of 2: fuse, round 1", "Step 2 of 2: fold, level 1")


def node(name: str, level: int, **more: Any) -> NodeView:
    made = {
        "id": name,
        "ids": [level],
        "title": name,
        "detail": "2 → 2",
        "kind": "sum",
        "level": level,
        "count": 1,
        "folds": 1,
        "change": "kept",
        "look": 0,
        "fill_text": "",
        "matched": False,
        "badges": [],
    }
    return {**made, **more}  # pyright: ignore[reportReturnType]


def picture(step: int, nodes: list[NodeView], **more: Any) -> PictureView:
    edges = [
        {
            "source": a["id"],
            "target": b["id"],
            "change": "kept",
            "count": 1,
            "read": None,
            "copied_bytes": 0,
            "label": "",
        }
        for a, b in pairwise(nodes)
    ]
    rows = [[node["title"], node["change"]] for node in nodes]
    made = {
        "version": 1,
        "step": step,
        "mode": "diff",
        "colour_by": "change",
        "group_by": "fold",
        "title": TITLES[step],
        "caption": f"caption of step {step}",
        "note": f"{len(nodes)} layers.",
        "message": "",
        "width": 400,
        "height": 120 * len(nodes),
        "looks": [box_look("change", node["kind"], node["change"], node["matched"], None, None) for node in nodes],
        "nodes": [{**node, "look": position} for position, node in enumerate(nodes)],
        "edges": edges,
        "hulls": [],
        "actions": [],
        "legend": [{"channel": "border", "role": "added", "sign": "+", "text": "created by this step"}],
        "table": {"columns": ["node", "change"], "rows": rows},
    }
    return {**made, **more}  # pyright: ignore[reportReturnType]


def coordinates(shown: PictureView) -> bytes:
    places = [(200.0, 110.0 * (len(shown["nodes"]) - i) - 40, 152.0, 46.0) for i in range(len(shown["nodes"]))]
    return b"".join(struct.pack("<4f", *place) for place in places)


def pictures() -> list[PictureView]:
    inputs = node("Categorical", 0, kind="input", count=4)
    match = {
        "id": "m",
        "kind": "match",
        "nodes": ["Sum", "Hadamard"],
        "label": "Candecomp",
        "reason": "in the optimizer",
    }
    return [
        picture(0, [inputs, node("Hadamard", 1, kind="product"), node("Sum", 2)]),
        picture(
            1,
            [
                inputs,
                node("Hadamard", 1, kind="product", change="removed", matched=True),
                node("Sum", 2, change="removed", matched=True),
                node("CPT", 3, kind="fused", change="added", came_from=["Sum", "Hadamard"]),
            ],
            hulls=[match],
        ),
        picture(2, [node("Categorical", 0, kind="input", folds=4, change="changed"), node("CPT", 3, kind="fused")]),
    ]


def steps() -> list[StepView]:
    return [
        {
            "index": i,
            "path": f"step {i}",
            "title": title,
            "summary": f"summary {i}",
            "changed": True,
            "ok": True,
            "error": "",
            "layers": 3,
            "folds": 3,
            "matches": 1,
            "near_misses": 0,
            "seconds": 0.001,
        }
        for i, title in enumerate(TITLES)
    ]


def recording(title: str = "Three layers") -> RecordingView:
    made = {f"{shown['step']}/diff/change/fold": shown for shown in pictures()}
    return {
        "version": 1,
        "title": title,
        "steps": steps(),
        "pictures": made,
        "coordinates": {key: base64.b64encode(coordinates(shown)).decode() for key, shown in made.items()},
        "details": {
            "0/Sum": {
                "id": "0/Sum",
                "title": "Sum %7",
                "sections": [{"heading": "Lineage", "rows": [["created by", "compile"]], "lines": []}],
            }
        },
    }


def bars() -> BarsView:
    shown: BarView = {"label": "plain", "value": 1.5, "low": 1.4, "high": 1.7, "series": "CPU", "missing": ""}
    return bars_view("Forward", "ms", ["CPU"], [shown], "", ["what", "ms"], [["plain", "1.5"]])


def question() -> QuestionView:
    return {
        "version": 1,
        "text": "How many?",
        "asking": {"step": 0, "mode": "diff", "colour_by": "change", "group_by": "fold", "selection": ["Sum"]},
        "revealing": {"step": 1, "mode": "diff", "colour_by": "change", "group_by": "fold", "selection": ["CPT"]},
        "number": {"noun": "Layers", "answer": 4, "right": "Right: 4 layers.", "wrong": "No: 4 layers are left."},
        "hint": "Count the boxes.",
    }
