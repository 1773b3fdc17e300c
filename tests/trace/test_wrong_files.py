"""Trace files with one wrong value: a typed error that says where, or a trace that every view can show."""

import json
import random
from functools import cache
from typing import Any

import pytest
import torch

import explorer
from explorer.errors import FileFormatError
from explorer.templates import gallery
from explorer.trace.reading import trace_from_json
from explorer.trace.writing import trace_to_json
from explorer.views import TraceIndex, film, fold_level, fold_levels, recording
from tests.fuzzing import seeded

WRONG = (None, -1, 0, 1, 3, 12, 10**9, 1.5, "x", "", "12.weight", "a.b", [], {}, [1], [[0, 0]], True, {"a": 1})
OPERATORS = "operators"


@cache
def text_of(name: str) -> str:
    """A trace file of a circuit of the gallery, or of a small module."""
    if name == OPERATORS:
        module = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()).eval()
        return json.dumps(trace_to_json(explorer.record(module, (torch.zeros(1, 1, 4, 4),))))
    return json.dumps(trace_to_json(explorer.record(gallery.load_named(name))))


def spoil(data: Any, random: random.Random) -> None:
    """Remove a value anywhere in the data, or replace it."""
    parent: Any = None
    key: Any = None
    value = data
    while isinstance(value, dict | list) and value and (parent is None or random.random() < 0.93):
        parent, key = value, random.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value = parent[key]
    assert parent is not None
    if random.random() < 0.1:
        del parent[key]
    elif isinstance(value, int) and random.random() < 0.3:
        parent[key] = value + random.choice((-1, 1, 2))
    else:
        parent[key] = random.choice(WRONG)


def show_everything(trace: explorer.Trace) -> None:
    """What `circuit-explorer html` and `show` draw and print."""
    index = TraceIndex(trace)
    recording(index, "wrong", modes=("diff", "before", "after"))
    film(index)
    for level in fold_levels(index):
        fold_level(index, level)
    str((trace, trace.near_misses(), trace.conflicts(), trace.rule_stats(), trace.missed_folds()))


@seeded(100)
@pytest.mark.parametrize("name", ["blackboard", "conflict", "near-misses", OPERATORS])
def test_a_file_with_one_wrong_value_is_a_typed_error_or_can_be_shown(name, seed):
    data = json.loads(text_of(name))
    spoil(data, random.Random(seed))
    try:
        trace = trace_from_json(data)
    except FileFormatError:
        return
    if trace.steps:
        show_everything(trace)


def odd_path(data: Any) -> None:
    next(step for step in data["steps"] if step["rewrites"])["rewrites"][0][4] = "weight"


def odd_stage(data: Any) -> None:
    data["steps"][3]["stages"] = "fuse"


def node_of_a_refusal(data: Any) -> None:
    next(step for step in data["steps"] if step["refusals"])["refusals"][0]["node"] = 12_000


def owner_that_never_was(data: Any) -> None:
    next(step for step in data["steps"] if step["rewrites"])["rewrites"][0][4] = "9999.weight"


def error_in_the_middle(data: Any) -> None:
    data["steps"][1]["error"] = "too early"


def slice_that_never_was(data: Any) -> None:
    next(group for step in data["steps"] for group in step["folds"] if "read" in group)["read"]["index"][0][0][1] = 50


def unknown_rule(data: Any) -> None:
    next(step for step in data["steps"] if step["matches"])["matches"][0][0] = "NoRule"


def second_member(data: Any) -> None:
    group = next(group for step in data["steps"] for group in step["folds"] if len(group["members"]) > 1)
    group["members"][1] = group["members"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (odd_path, r"'weight' is not the path of a parameter, such as 12.weight"),
        (odd_stage, r"steps\[3\].stages is 'fuse'; expected a list"),
        (node_of_a_refusal, r"node 12000 does not exist before step \d+ \(.*\), which names it"),
        (owner_that_never_was, r"node 9999 does not exist before step \d+"),
        (error_in_the_middle, r"step 1 \(.*\) failed, but is not the last step"),
        (slice_that_never_was, r"reads slice 50 of node \d+, which has fewer"),
        (unknown_rule, r"names the rule NoRule, which the trace does not have"),
        (second_member, r"folds a layer twice"),
    ],
)
def test_the_error_names_the_step_and_the_wrong_reference(change, message):
    data = json.loads(text_of("blackboard"))
    change(data)
    with pytest.raises(FileFormatError, match=f"trace data: not a whole trace: .*{message}"):
        trace_from_json(data)
