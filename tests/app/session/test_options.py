"""The options of a trace reproduce the same trace."""

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.compiler import options_of
from explorer.options import CompilerOptions
from explorer.templates import gallery
from explorer.trace import Trace

OPTION_SETS: list[dict[str, Any]] = [
    {},
    {"preset": "handbook"},
    {"preset": "handbook", "disable": ("SumCollapse",), "strategy": "first-match"},
    {"semiring": "sum-product", "seed": 7},
    {"optimize": False},
    {"fold": False, "max_rounds": 7},
    {"disable": ("SumCollapse", "Candecomp"), "levels": "longest-distance"},
    {"skip": ("optimize/round 1/fuse",)},
    {"optimize": False, "fold": False},
]


def save_without_times(trace: Trace, path: Path) -> Any:
    trace.save(path, times=False)
    return json.loads(path.read_text())


@pytest.mark.parametrize("given", OPTION_SETS, ids=str)
def test_a_trace_keeps_its_compiler_options(given: dict[str, Any], tmp_path: Path) -> None:
    circuit = gallery.load_named("conflict")
    trace = explorer.record(circuit, **given)
    found = options_of(trace)
    again = explorer.record(circuit, **found.non_defaults())
    assert save_without_times(again, tmp_path / "b.json") == save_without_times(trace, tmp_path / "a.json")
    assert options_of(again) == found
    assert found == CompilerOptions(**given)
    assert options_of(Trace.load(tmp_path / "a.json")) == found


def test_default_options_are_not_listed() -> None:
    assert CompilerOptions().non_defaults() == {}
    assert options_of(explorer.record(gallery.load_named("blackboard"))) == CompilerOptions()
    assert CompilerOptions(fold=False, skip=("a",)).non_defaults() == {"fold": False, "skip": ("a",)}
