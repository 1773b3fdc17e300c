"""Traces of the gallery, recorded once, and a picture as lines of text that a test can compare."""

from functools import cache
from textwrap import wrap

import pytest

import explorer
from explorer.optimize import preset_rules
from explorer.templates import gallery
from explorer.views import TraceIndex

SMALL = (
    *("blackboard", "conflict", "near-misses", "levels", "kronecker", "digits", "squared"),
    *(pytest.param(name, marks=pytest.mark.fuzz) for name in ("hmm", "sum-chain", "evidence")),
)


RULES = (
    *("LogSoftmax", "ReduceSumOuterProduct", "DenseKronecker", "TensorDotKronecker"),
    *("SumCollapse", "Tucker", "Candecomp", "Mixing", "CategoricalLogSoftmax"),
)
"""The rules of the traces: a new rule adds near misses, and changes no text that these tests expect."""


@cache
def index_of(name, preset="default", disable=(), **options):
    others = [rule for rule in preset_rules(preset).names if rule not in RULES]
    options |= {"preset": preset, "disable": (*disable, *others)}
    return TraceIndex(explorer.record(gallery.load_named(name), **options))


def every_step(name):
    return range(len(index_of(name).trace.steps))


def picture_text(view):
    lines = [f"{view['title']} | {view['caption']} | {view['note']}"]
    lines += wrap(view["message"], 110, initial_indent="! ")
    for node in view["nodes"]:
        size = f" {node['count']} layers" if node["count"] > 1 else ""
        folds = f" x{node['folds']}" if node["folds"] > 1 else ""
        matched = " matched" if node["matched"] else ""
        signs = "".join(f" [{badge['sign']} {badge['text']}]" for badge in node["badges"])
        lines.append(
            f"{node['id']}: {node['kind']} {node['title']}{folds} ({node['detail']}){size} level {node['level']} "
            f"{node['change']}{matched}{signs}"
        )
    for edge in view["edges"]:
        read = f" {edge['label']}" if edge["label"] else ""
        lines.append(f"{edge['source']} -> {edge['target']}: {edge['count']} {edge['change']}{read}")
    for hull in view["hulls"]:
        lines.append(f"{hull['kind']} {hull['label']}: {', '.join(hull['nodes'])} {hull['reason']}".rstrip())
    return "\n".join(lines)


def section(view, heading):
    """The section of details with a heading."""
    return next(section for section in view["sections"] if section["heading"] == heading)


def lines(verdict):
    """The words of a verdict in lines of up to 100 characters."""
    return wrap(verdict.text, 100)


MARKS = ("matched", "new", "lost", "near-miss")
"""The marks that tests expect cell by cell: a new one changes none of them."""


def marks_of(plate):
    """The cells of a plate by these marks."""
    return {mark: cells for mark, cells in plate.get("marks", {}).items() if mark in MARKS}
