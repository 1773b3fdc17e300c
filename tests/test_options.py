"""The options of a compilation: given once, read everywhere."""

from dataclasses import fields, replace
from typing import Any

import pytest

import explorer
from explorer.compiler import TorchCompiler, options_of
from explorer.errors import DataTypeError, UnknownNameError, ValueRangeError
from explorer.options import PRESETS, CompilerOptions
from explorer.rewrite import OptMatchStrategy
from explorer.templates import load_named

OTHER: dict[str, Any] = {
    "preset": "handbook",
    "semiring": "sum-product",
    "optimize": False,
    "fold": False,
    "order_slices": True,
    "strategy": "first-match",
    "disable": ("Tucker",),
    "skip": ("fold/level 1",),
    "max_rounds": 3,
    "levels": "longest-distance",
    "seed": 4,
}


def test_the_values_here_differ_from_all_defaults():
    assert list(OTHER) == [f.name for f in fields(CompilerOptions)]
    default = CompilerOptions()
    assert all(getattr(default, name) != value for name, value in OTHER.items())


@pytest.mark.parametrize("name", OTHER)
def test_an_option_is_kept_by_the_compiler_its_copy_the_trace_and_its_json(name: str):
    options = CompilerOptions(**{name: OTHER[name]})
    assert TorchCompiler(**{name: OTHER[name]}).options == options
    compiler = TorchCompiler(options)
    assert compiler.options == compiler.fresh_copy().options == options
    trace = explorer.record(load_named("blackboard"), compiler)
    assert options_of(trace) == options
    assert CompilerOptions.from_json(options.to_json()) == options
    assert CompilerOptions(**options.non_defaults()) == options


def test_the_limit_on_rounds_and_the_levels_are_those_of_the_preset():
    for preset, (max_rounds, levels) in PRESETS.items():
        options = CompilerOptions(preset=preset)
        assert (options.max_rounds, options.levels) == (max_rounds, levels)
        assert CompilerOptions(max_rounds=3, disable=("Tucker",), seed=2).with_preset(preset) == replace(
            options, seed=2
        )


def test_another_preset_keeps_the_skipped_steps_and_drops_the_skipped_matches():
    options = CompilerOptions(skip=("Mixing@5", "fold/level 0")).with_preset("handbook")
    assert options.skip == ("fold/level 0",)
    TorchCompiler(options).compile(load_named("blackboard"))


def test_a_strategy_is_a_name_or_a_member():
    for strategy in ("first-match", "FIRST_MATCH", OptMatchStrategy.FIRST_MATCH):
        assert TorchCompiler(strategy=strategy).options.strategy == "first-match"


@pytest.mark.parametrize("arguments", [("lse-sum", {}), (None, {"preset": 3}), (None, {"disable": 3})])
def test_options_of_a_wrong_type_are_refused(arguments: tuple[Any, dict[str, Any]]):
    options, keywords = arguments
    with pytest.raises((DataTypeError, UnknownNameError), match=r"expected|no preset named"):
        TorchCompiler(options, **keywords)


def test_options_and_keywords_do_not_mix():
    with pytest.raises(DataTypeError, match=r"got both options and fold; use dataclasses.replace\(options, ...\)"):
        TorchCompiler(CompilerOptions(), fold=False)


def test_a_copy_keeps_rules_that_were_disabled_by_name():
    compiler = TorchCompiler(disable=("Tucker",))
    assert compiler.fresh_copy().rules.names == compiler.rules.names
    assert "Tucker" not in compiler.rules.names


def test_json_that_lacks_an_option_is_refused():
    data = CompilerOptions().to_json()
    del data["seed"], data["levels"], data["skip"], data["order_slices"]  # older files lack the last two
    with pytest.raises(ValueRangeError, match="the options lack levels, seed"):
        CompilerOptions.from_json(data)
