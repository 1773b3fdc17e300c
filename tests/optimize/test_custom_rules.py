"""Rules for user-defined patterns: which known rules fit, and that their conditions are added."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from explorer.backend import TorchCategoricalLayer, TorchHadamardLayer, TorchInnerLayer, TorchSumLayer
from explorer.backend.parameters import TorchKroneckerParameter, TorchSoftmaxParameter
from explorer.compiler import TorchCompiler
from explorer.errors import DuplicateNameError, RuleError, UnknownNameError
from explorer.optimize import ONE_LAYER, must_pay, preset_rules, put_rule_first, replacements_of, rule_replacing
from explorer.optimize.default_rules import DEFAULT_LAYER_FUSE_OPT_RULES, DEFAULT_LAYER_SHATTER_OPT_RULES
from explorer.rewrite import LayerOptPattern, ParameterOptPattern, Rule, all_of, at_least, at_most, other_than

SUM = (TorchSumLayer,)


def pattern(*entries, name="Mine", **options):
    return LayerOptPattern(name, entries, **options)


def sub(*entries, **options):
    return ({"weight": ParameterOptPattern("Sub", entries, **options)},)


@pytest.mark.parametrize(
    ("mine", "fitting"),
    [
        (pattern(TorchSumLayer, TorchSumLayer), ("SumCollapse", ONE_LAYER)),
        (pattern(TorchSumLayer, TorchSumLayer, TorchSumLayer), (ONE_LAYER,)),
        (pattern(TorchInnerLayer, TorchHadamardLayer), (ONE_LAYER,)),
        (pattern(TorchSumLayer, TorchCategoricalLayer), ()),
        (pattern(TorchHadamardLayer), ()),
        (pattern(*SUM), ("DenseKronecker", "Mixing")),
        (pattern(*SUM, sub_patterns=sub(TorchKroneckerParameter, is_output=True)), ("DenseKronecker",)),
        (pattern(*SUM, sub_patterns=sub(TorchKroneckerParameter)), ()),
        (pattern(*SUM, sub_patterns=sub(TorchSoftmaxParameter, is_output=True)), ()),
    ],
)
def test_replacements_of_a_pattern(mine, fitting):
    known = ("SumCollapse", "DenseKronecker", "Mixing", ONE_LAYER)  # a rule that is added later may fit, too
    assert tuple(name for name in replacements_of(mine) if name in known) == fitting


def test_the_conditions_of_the_known_rule_are_added():
    mine = pattern(*SUM, config_patterns=({"arity": at_most(4), "num_output_units": 2},))
    merged = rule_replacing(mine, "Mixing").pattern
    assert (
        repr(dict(merged.config_of_entry(0)))
        == "{'arity': at most 4 and at least 2, 'keeps_width': True, 'num_output_units': 2}"
    )
    assert [p.name for p in merged.sub_patterns_of_entry(0).values()] == ["MixingWeightOut"]
    assert (merged.name, merged.source) == ("Mine", mine.source)


def test_a_rule_for_a_user_defined_pattern_does_not_check_its_cost():
    assert preset_rules("default").fuse["SumCollapse"].replacement_guard is must_pay
    assert rule_replacing(pattern(TorchSumLayer, TorchSumLayer), "SumCollapse").replacement_guard is None


@pytest.mark.parametrize("name", ["SumCollapse", "DenseKronecker"])
def test_the_default_preset_keeps_the_guard_of_a_rule(name: str, monkeypatch: pytest.MonkeyPatch):
    registries = (DEFAULT_LAYER_SHATTER_OPT_RULES, DEFAULT_LAYER_FUSE_OPT_RULES)
    rules = next(registry.rules for registry in registries if name in registry.rules)
    monkeypatch.setitem(rules, name, replace(rules[name], guard=lambda compiler, match: "not today"))
    preset = preset_rules("default")
    guard = next(rule.guard for registry in (preset.shatter, preset.fuse) for rule in registry if rule.name == name)
    assert guard is not None
    match: Any = SimpleNamespace(nodes=(), entries=())
    assert guard(TorchCompiler(), match) == "not today"


def test_the_default_preset_keeps_the_replacement_guard_of_a_rule(monkeypatch: pytest.MonkeyPatch):
    rules = DEFAULT_LAYER_FUSE_OPT_RULES.rules
    monkeypatch.setitem(
        rules,
        "SumCollapse",
        replace(rules["SumCollapse"], replacement_guard=lambda compiler, match, nodes: "not today"),
    )
    guard = preset_rules("default").fuse["SumCollapse"].replacement_guard
    assert guard is not None
    match: Any = SimpleNamespace(nodes=(), entries=())
    assert guard(TorchCompiler(), match, ()) == "not today"


def test_the_rule_is_the_first_of_its_pass():
    rules = preset_rules("default")
    put_rule_first(rules, pattern(TorchSumLayer, TorchSumLayer, name="A"), "SumCollapse")
    put_rule_first(rules, pattern(*SUM, name="B"), "DenseKronecker")
    assert [next(iter(rules.fuse)).name, next(iter(rules.shatter)).name] == ["A", "B"]
    assert "A" not in preset_rules("default").names


def test_a_taken_name_and_an_incompatible_replacement_are_refused():
    rules = preset_rules("default")
    with pytest.raises(DuplicateNameError, match="a rule named 'LogSoftmax' is registered already"):
        put_rule_first(rules, pattern(TorchSumLayer, TorchSumLayer, name="LogSoftmax"), "SumCollapse")
    with pytest.raises(UnknownNameError, match=r"no replacement named 'Tucker'; known are: DenseKronecker, Mixing"):
        put_rule_first(rules, pattern(*SUM), "Tucker")
    with pytest.raises(RuleError, match="expected a LayerOptPattern"):
        rules.fuse.put_first(Rule(ParameterOptPattern("P", (TorchSoftmaxParameter,)), lambda compiler, match: ()))
    known = rules.fuse["Tucker"]
    with pytest.raises(DuplicateNameError):
        rules.fuse.put_first(known)


def test_conditions_print_as_text():
    both = all_of(at_least(2), 3, other_than(4))
    assert repr(both) == "at least 2 and 3 and other than 4"
    assert [both.test(value) for value in (2, 3, 4)] == [False, True, False]
    assert [at_most(2).test(value) for value in (2, 3, None)] == [True, False, False]
