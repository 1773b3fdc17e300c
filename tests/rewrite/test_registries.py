"""Registries of rules: filled by a decorator, copied by compilers, each name once."""

from typing import Any

import pytest

from explorer.errors import DuplicateNameError, RuleError, UnknownNameError
from explorer.rewrite import Exactness, GraphOptMatch, LayerOptRegistry, ParameterOptPattern, ParameterOptRegistry
from tests.rewrite.toys import A, B, pattern


def apply(compiler: Any, match: GraphOptMatch) -> tuple[Any, ...]:
    """Nothing becomes of it.

    Second paragraph.
    """
    return match.entries[:1]


def test_a_rule_has_its_name_doc_location_and_exactness():
    rules = LayerOptRegistry()
    assert rules.rule(pattern("AB", A, B), exactness=Exactness.EXACT)(apply) is apply
    rule = rules["AB"]
    assert (rule.name, rule.doc, rule.exactness) == ("AB", "Nothing becomes of it.", Exactness.EXACT)
    line = apply.__code__.co_firstlineno
    assert rule.source == f"tests/rewrite/test_registries.py:{line}"
    described = rule.describe("fuse")
    assert (described.name, described.entries, described.kind) == ("AB", ("A", "B"), "fuse")
    assert (described.exactness, described.doc, described.source) == ("exact", rule.doc, rule.source)


def test_rules_are_exact_in_real_arithmetic_by_default():
    rules = LayerOptRegistry()
    rules.rule(pattern("AB", A, B))(apply)
    assert rules["AB"].exactness is Exactness.REAL


def test_rules_are_in_registration_order():
    rules = LayerOptRegistry()
    for name in ("z", "a", "m"):
        rules.rule(pattern(name, A))(apply)
    assert [rule.name for rule in rules] == ["z", "a", "m"]
    assert len(rules) == 3


def test_a_name_registered_twice_is_refused():
    rules = LayerOptRegistry()
    rules.rule(pattern("AB", A, B))(apply)
    with pytest.raises(
        DuplicateNameError, match="a rule named 'AB' is registered already; give the pattern another name"
    ):
        rules.rule(pattern("AB", A))


def test_a_registry_refuses_patterns_of_the_wrong_type():
    with pytest.raises(RuleError, match="LayerOptRegistry: expected a LayerOptPattern, got a ParameterOptPattern"):
        LayerOptRegistry().rule(ParameterOptPattern("P", (A,)))
    with pytest.raises(RuleError, match="ParameterOptRegistry: expected a ParameterOptPattern, got a LayerOptPattern"):
        ParameterOptRegistry().rule(pattern("L", A))


def test_an_unknown_name_is_refused_with_the_known_ones():
    rules = LayerOptRegistry()
    rules.rule(pattern("AB", A, B))(apply)
    with pytest.raises(UnknownNameError, match="no rule named 'BA'; known are: AB"):
        rules["BA"]


def test_a_copy_grows_without_touching_the_original():
    rules = LayerOptRegistry()
    rules.rule(pattern("AB", A, B))(apply)
    copy = rules.without(())
    copy.rule(pattern("A", A))(apply)
    assert [rule.name for rule in rules] == ["AB"]
    assert [rule.name for rule in copy] == ["AB", "A"]
    assert isinstance(copy, LayerOptRegistry)


def test_removing_rules_from_a_registry_ignores_unknown_names():
    rules = LayerOptRegistry()
    for name in ("x", "y"):
        rules.rule(pattern(name, A))(apply)
    assert [rule.name for rule in rules.without(["y", "z"])] == ["x"]
    assert len(rules) == 2
