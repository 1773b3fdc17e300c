"""Traces to compare with: options that fit the level of the open trace, and the words of a difference."""

from dataclasses import replace
from functools import cache

import pytest

from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, open_state, open_trace
from explorer.app.session.variants import SAME, Variant, likely_variant, side_names, variants
from explorer.app.session.view_state import TensorOptions, ViewState
from explorer.options import CompilerOptions
from explorer.trace import Trace
from explorer.views import compare_table, first_difference_of_traces


@cache
def opened_at(level: str, options: CompilerOptions | None = None, passes: tuple[str, ...] = ()) -> Opened:
    tensor = TensorOptions(level, passes=passes)
    return open_state(Library(), ViewState(circuit="blackboard", options=options or CompilerOptions(), tensor=tensor))


def test_a_compiled_circuit_is_compared_with_other_rules_and_strategies():
    opened = opened_at("compiled")
    found = variants(opened)
    assert {"without folding", "without optimization", "with ordered slices"} <= {*found}
    assert found["without rule SumCollapse"].options.disable == ("SumCollapse",)
    assert not any(name.startswith("without pass") for name in found)
    assert all(variant.tensor == opened.tensor for variant in found.values())


@pytest.mark.parametrize(
    ("level", "name"), [("program", "HoistDealloc"), ("tensor", "CSE"), ("kernels", "depth-first")]
)
def test_the_levels_below_are_compared_without_a_pass_of_theirs(level, name):
    opened = opened_at(level)
    found = variants(opened)
    assert not any(one.startswith(("without rule", "strategy")) for one in found)
    without = found[f"without pass {name}"]
    assert without.options == opened.options
    assert without.tensor.passes
    assert all(entry.split(":")[0] != name for entry in without.tensor.passes)
    assert found["compiled to train"].tensor.compile_for == "train"
    assert found["without folding"] == Variant(replace(opened.options, fold=False), opened.tensor)


def test_the_pass_that_did_most_is_offered_first():
    opened = opened_at("program")
    assert likely_variant(opened, variants(opened)) == "without pass ShareBuffers"
    assert likely_variant(opened, {}) == SAME


def test_the_trace_of_a_module_in_a_file_has_no_variants(tmp_path):
    opened_at("program").trace.save(tmp_path / "m.trace.json")
    item = Library(tmp_path).open("m.trace.json")
    assert isinstance(item, Trace)
    assert variants(open_trace(item, "m.trace.json")[0]) == {}


def test_two_programs_are_named_by_their_difference_and_compared():
    one = opened_at("program")
    without = variants(one)["without pass HoistDealloc"]
    other = opened_at("program", passes=without.tensor.passes)
    assert side_names(one, other) == ("with HoistDealloc", "without HoistDealloc")
    assert side_names(one, one) == ("left", "right, with the same options")
    difference = first_difference_of_traces(one.index, other.index)
    assert difference is not None
    assert difference.text == "Next is HoistDealloc in this trace, SinkAllocas in the other."
    rows = {row[0]: row[1:] for row in compare_table(one.index, other.index)["rows"]}
    assert rows["peak memory"][2].startswith("+")
    assert not {"folded groups", "rounds of optimization", "matches that lost a conflict"} & {*rows}
