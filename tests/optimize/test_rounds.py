"""Rounds: until nothing changes or the limit speaks; which rules there are, and how to switch them off."""

import warnings
from typing import Any

import numpy as np
import pytest

from explorer.backend import TorchHadamardLayer
from explorer.backend.parameters import TorchConjugateParameter
from explorer.compiler import TorchCompiler
from explorer.errors import GraphError, LimitWarning, UnknownNameError, ValueRangeError
from explorer.graph import Graph
from explorer.optimize import RuleSet, layer_cost, layers_cost, must_pay, preset_rules
from explorer.optimize.rounds import verify_layers
from explorer.options import PRESETS
from explorer.rewrite import GraphOptMatch, LayerOptPattern, ParameterOptPattern
from explorer.symbolic import Circuit, CircuitBuilder, ConjugateParameter
from explorer.templates import load_named, sum_chain
from tests.levels.modes import Watcher, compile_and_watch, compile_circuit, layer_types, only
from tests.optimize.building import (
    assert_same_values,
    inputs,
    kronecker_of,
    normalized_weight,
    positive,
    types_above_inputs,
)

HANDBOOK = (
    "LogSoftmax",
    "ReduceSumOuterProduct",
    "DenseKronecker",
    "TensorDotKronecker",
    "SumCollapse",
    "Tucker",
    "Candecomp",
)
EXTRAS = ("Mixing", "CategoricalLogSoftmax")


def chain(length: int) -> Circuit:
    """A chain of sums, wide enough that collapsing pays at every place."""
    b = CircuitBuilder()
    (top,) = inputs(b, 1, units=3)
    for _ in range(length):
        top = b.sum(top, num_units=3, weight=normalized_weight(3, 3))
    return b.build(top)


# ---- the fixpoint and the limit


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 100])
def test_a_chain_of_any_length_becomes_one_sum_under_the_default_preset(length: int):
    circuit = sum_chain(length, num_units=3)
    module, watcher = compile_and_watch(circuit, preset="default", fold=False)
    assert types_above_inputs(module) == ["Sum"]
    assert watcher.limits == []
    assert_same_values(circuit, module)


@pytest.mark.parametrize(("length", "left"), [(31, 1), (32, 1), (33, 2), (100, 4)])
def test_the_handbook_preset_stops_after_five_rounds_and_says_so(length: int, left: int):
    circuit = sum_chain(length, num_units=3)
    watcher = Watcher()
    compiler = TorchCompiler(preset="handbook", fold=False, listeners=(watcher,))
    if left == 1:
        module = compiler.compile(circuit)
        assert watcher.limits == []
    else:
        with pytest.warns(
            LimitWarning, match=r"Stopped optimizing at the limit of 5 rounds.* Increase max_rounds to continue"
        ):
            module = compiler.compile(circuit)
        event = only(watcher.limits)
        assert (event.what, event.limit) == ("rounds", 5)
        assert "more rewrites were possible" in event.message
    assert types_above_inputs(module) == ["Sum"] * left
    assert_same_values(circuit, module)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_last_round_is_the_one_that_changes_nothing(preset: str):
    _, watcher = compile_and_watch(chain(8), preset=preset)
    nothing = {"parameters": 0, "shatter": 0, "fuse": 0}
    assert watcher.rounds() == [{**nothing, "fuse": n} for n in (4, 2, 1, 0)]
    assert watcher.paths[:5] == [
        "compile",
        "optimize/round 1/parameters",
        "optimize/round 1/shatter",
        "optimize/round 1/fuse",
        "optimize/round 2/parameters",
    ]


def test_a_limit_that_is_reached_exactly_is_not_reported():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module, watcher = compile_and_watch(chain(8), max_rounds=3)
    assert types_above_inputs(module) == ["Sum"]
    assert watcher.limits == []


@pytest.mark.parametrize(("max_rounds", "left"), [(1, 4), (2, 2)])
def test_a_smaller_limit_stops_earlier_and_warns(max_rounds: int, left: int):
    with pytest.warns(LimitWarning, match=f"limit of {max_rounds} rounds"):
        module = TorchCompiler(max_rounds=max_rounds).compile(chain(8))
    assert types_above_inputs(module) == ["Sum"] * left


def test_a_limit_warns_of_parameter_and_shattering_rules_too():
    b = CircuitBuilder()
    (x,) = inputs(b, 1, units=8)
    circuit = b.build(b.sum(x, num_units=8, weight=kronecker_of((2, 2), (2, 2), (2, 2))))
    with pytest.warns(LimitWarning, match="limit of 1 rounds"):
        TorchCompiler(preset="handbook", max_rounds=1).compile(circuit)


def test_zero_rounds_or_no_optimization_changes_nothing():
    module, watcher = compile_and_watch(chain(3), max_rounds=0, fold=False)
    assert types_above_inputs(module) == ["Sum"] * 3
    assert watcher.rounds() == compile_and_watch(chain(3), optimize=False)[1].rounds() == []


def test_a_negative_limit_is_refused():
    with pytest.raises(ValueRangeError, match="max_rounds: expected at least 0, got -1"):
        TorchCompiler(max_rounds=-1)


# ---- rules that grow the circuit


def growing(max_rounds: int, listeners: tuple[Watcher, ...] = ()) -> TorchCompiler:
    """A compiler with a rule that matches both layers that it returns."""
    compiler = TorchCompiler(fold=False, max_rounds=max_rounds, disable=["Candecomp"], listeners=listeners)

    @compiler.rules.shatter.rule(LayerOptPattern("Twice", (TorchHadamardLayer,), config_patterns=({"arity": 1},)))
    def twice(compiler: Any, match: GraphOptMatch) -> tuple[Any, ...]:
        """A product of one factor, twice."""
        return (match.entries[0], match.entries[0])

    return compiler


def product_of_one() -> Circuit:
    b = CircuitBuilder()
    return b.build(b.sum(b.hadamard(*inputs(b, 1, units=2)), num_units=1, weight=positive(1, 2)))


def test_a_rule_that_doubles_the_circuit_each_round_ends_at_a_limit_with_a_warning():
    watcher = Watcher()
    circuit = product_of_one()
    warned = r"Stopped optimizing after 10 rounds: the circuit has grown to 1,0\d\d nodes, over the limit of 1,000.*C"
    with pytest.warns(LimitWarning, match=warned) as caught:
        module = growing(100, (watcher,)).compile(circuit)
    assert caught[0].filename == __file__
    event = only(watcher.limits)
    assert (event.what, event.limit) == ("growth", 1_000)
    assert layer_types(module).count("Hadamard") == 2**10
    assert_same_values(circuit, module)


def test_growth_below_the_limit_is_allowed():
    with pytest.warns(LimitWarning, match="at the limit of 5 rounds"):
        module = growing(5).compile(product_of_one())
    assert layer_types(module).count("Hadamard") == 2**5


def test_a_large_circuit_may_grow_in_proportion():
    factors = ((2, 2),) * 8
    b = CircuitBuilder()
    tops = [b.sum(x, num_units=256, weight=kronecker_of(*factors)) for x in inputs(b, 8, units=256)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module, _ = compile_and_watch(b.build(*tops), preset="handbook", max_rounds=20)
    assert layer_types(module).count("TensorDot") > 0


def test_parameter_rules_that_grow_a_parameter_end_at_the_limit_too():
    compiler = TorchCompiler(optimize=True, fold=False)

    @compiler.rules.parameter.rule(ParameterOptPattern("Twice", (TorchConjugateParameter,)))
    def twice(compiler: Any, match: GraphOptMatch) -> tuple[Any, ...]:
        """The conjugate of the conjugate of a conjugate is the conjugate."""
        return (match.entries[0],) * 3

    b = CircuitBuilder()
    weight = ConjugateParameter((positive(1, 2),))
    circuit = b.build(b.sum(*inputs(b, 1, units=2), num_units=1, weight=weight))
    with pytest.warns(LimitWarning, match="after 7 rounds: the circuit has grown"):
        module = compiler.compile(circuit)
    assert_same_values(circuit, module)


def test_a_circuit_whose_widths_do_not_fit_is_refused_at_the_end():
    graph = compile_circuit(load_named("blackboard"), optimize=False, fold=False).graph
    verify_layers(graph)
    last = graph.outputs[0]
    broken = Graph(dict(graph.nodes), {**graph.inputs, last: graph.inputs[last] * 2}, graph.outputs)
    with pytest.raises(
        GraphError, match=rf"{last}: expected 1 layers of \d+ units as inputs, got layers of \[\d+, \d+\]"
    ):
        verify_layers(broken)


# ---- the order of passes


def test_a_round_shatters_before_fusing():
    b = CircuitBuilder()
    product = b.hadamard(*inputs(b, 2, units=4))
    circuit = b.build(b.sum(product, num_units=4, weight=kronecker_of((2, 2), (2, 2))))
    module, watcher = compile_and_watch(circuit, preset="handbook", fold=False)
    assert types_above_inputs(module) == ["Hadamard", "TensorDot", "TensorDot"]
    assert watcher.applied() == {"DenseKronecker": 1}
    assert_same_values(circuit, module)


# ---- conflicts


@pytest.mark.parametrize("strategy", ["largest-match", "first-match", "lowest-cost"])
def test_a_middle_sum_is_rewritten_by_one_rule_only_and_values_are_preserved(strategy: str):
    circuit = load_named("conflict")
    module, watcher = compile_and_watch(circuit, preset="handbook", fold=False, strategy=strategy)
    assert watcher.applied().total() >= 3
    assert watcher.lost
    assert {event.strategy for event in watcher.lost} == {strategy}
    assert_same_values(circuit, module)


def test_the_first_match_strategy_follows_the_order_of_the_rules():
    b = CircuitBuilder()
    low = b.sum(b.hadamard(*inputs(b, 2, units=2)), num_units=2, weight=normalized_weight(2, 2))
    circuit = b.build(b.sum(low, num_units=2, weight=normalized_weight(2, 2)))
    _, watcher = compile_and_watch(circuit, preset="handbook", strategy="first-match", max_rounds=1)
    assert watcher.applied() == {"SumCollapse": 1}  # registered before Candecomp
    loss = only(watcher.lost)
    assert [watcher.found[n].rule for n in (loss.loser, loss.winner)] == ["Candecomp", "SumCollapse"]
    module, _ = compile_and_watch(circuit, preset="handbook", strategy="first-match")
    assert types_above_inputs(module) == ["CPT"]


def test_the_lowest_cost_prefers_the_rule_that_saves_most():
    b = CircuitBuilder()
    low = b.sum(b.hadamard(*inputs(b, 2, units=64)), num_units=1, weight=normalized_weight(1, 64))
    circuit = b.build(b.sum(low, num_units=64, weight=normalized_weight(64, 1)))
    rules = {
        s: compile_and_watch(circuit, preset="handbook", strategy=s)[1].applied()
        for s in ("largest-match", "lowest-cost")
    }
    assert rules["largest-match"] == {"SumCollapse": 1, "Candecomp": 1}
    assert rules["lowest-cost"] == {"Candecomp": 1}  # collapsing 64 -> 1 -> 64 would cost more than it saves


def test_the_lowest_cost_counts_the_operations_of_parameter_rules():
    def cheap(compiler: Any, match: GraphOptMatch) -> tuple[Any, ...]:
        """One operator in the place of two."""
        return (match.entries[0],)

    def dear(compiler: Any, match: GraphOptMatch) -> tuple[Any, ...]:
        """Three operators in the place of two."""
        return (match.entries[0], match.entries[0], match.entries[0])

    won: dict[str, list[str]] = {}
    for strategy in ("first-match", "lowest-cost"):
        watcher = Watcher()
        compiler = TorchCompiler(
            strategy=strategy, fold=False, max_rounds=1, listeners=(watcher,), disable=["SumCollapse"]
        )
        for name, rule in (("Dear", dear), ("Cheap", cheap)):
            pattern = ParameterOptPattern(name, (TorchConjugateParameter, TorchConjugateParameter))
            compiler.rules.parameter.rule(pattern)(rule)
        b = CircuitBuilder()
        weight = ConjugateParameter((ConjugateParameter((positive(1, 2),)),))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)
            compiler.compile(b.build(b.sum(*inputs(b, 1, units=2), num_units=1, weight=weight)))
        won[strategy] = list(watcher.applied())
    assert won == {"first-match": ["Dear"], "lowest-cost": ["Cheap"]}
    assert only(watcher.lost).reason == "Cheap changes the cost by -2, the other by +2, so it wins"


# ---- presets and rules by name


def test_each_preset_has_its_rules():
    assert preset_rules("handbook").names == HANDBOOK
    assert sorted(preset_rules("default").names) == sorted(HANDBOOK + EXTRAS)
    assert PRESETS == {"default": (100, "fewest-groups"), "handbook": (5, "longest-distance")}


def test_only_the_default_preset_asks_whether_a_rule_pays():
    handbook, default = (
        {
            rule.name: rule.replacement_guard
            for registry in (rules.parameter, rules.shatter, rules.fuse)
            for rule in registry
        }
        for rules in map(preset_rules, ("handbook", "default"))
    )
    assert set(handbook.values()) == {None}
    assert {name for name, guard in default.items() if guard is must_pay} == {
        "SumCollapse",
        "DenseKronecker",
        "TensorDotKronecker",
    }


@pytest.mark.parametrize("name", preset_rules("default").names)
def test_a_rule_is_disabled_by_its_name(name: str):
    compiler = TorchCompiler(disable=(name,))
    assert compiler.rules.names == tuple(n for n in preset_rules("default").names if n != name)
    assert name in TorchCompiler().rules.names


def test_a_rule_that_is_switched_off_is_not_applied():
    circuit = load_named("levels")
    assert "CPT" in layer_types(compile_circuit(circuit))
    module, watcher = compile_and_watch(circuit, disable=("Candecomp", "CategoricalLogSoftmax"))
    assert "CPT" not in layer_types(module)
    assert watcher.applied() == {}
    assert_same_values(circuit, module)


@pytest.mark.parametrize("disable", [("Candecomb",), ("Mixing", "Candecomb")])
def test_an_unknown_rule_is_refused_with_the_known_ones(disable: tuple[str, ...]):
    with pytest.raises(UnknownNameError, match=r"no rule named 'Candecomb'; known are: .*LogSoftmax, .*Candecomp"):
        TorchCompiler(disable=disable)


def test_a_rule_of_the_default_preset_is_unknown_to_the_handbook():
    with pytest.raises(UnknownNameError, match="no rule named 'Mixing'"):
        TorchCompiler(preset="handbook", disable=("Mixing",))


def test_an_unknown_preset_is_refused():
    with pytest.raises(UnknownNameError, match="no preset named 'fast'; known are: default, handbook"):
        TorchCompiler(preset="fast")


def test_rules_can_be_passed_as_a_rule_set():
    module = compile_circuit(load_named("levels"), rules=RuleSet())
    assert set(layer_types(module)) == {"Categorical", "Hadamard", "Sum"}
    fuse_only = RuleSet(fuse=preset_rules("handbook").fuse)
    assert TorchCompiler(rules=fuse_only).rules.names == ("SumCollapse", "Tucker", "Candecomp")


# ---- the cost model


@pytest.mark.parametrize("semiring", ["lse-sum", "sum-product"])
def test_a_layer_costs_more_with_more_units_and_more_in_log_space(semiring: str):
    def cost(units: int, semiring: str) -> float:
        b = CircuitBuilder()
        (x,) = inputs(b, 1, units=units)
        compiler = TorchCompiler(semiring=semiring, optimize=False)
        module = compiler.compile(b.build(b.sum(x, num_units=units, weight=positive(units, units))))
        assert layers_cost(module.layers, compiler.semiring) == sum(
            layer_cost(layer, compiler.semiring) for layer in module.layers
        )
        return layer_cost(module.layers[-1], compiler.semiring)

    costs = [cost(units, semiring) for units in (1, 8, 64, 256)]
    assert costs == sorted(costs)
    assert cost(64, "lse-sum") > cost(64, "sum-product")


def test_a_rule_that_pays_makes_the_circuit_cheaper():
    for circuit in (chain(8), load_named("kronecker")):
        compiler = TorchCompiler(fold=False)
        after = layers_cost(compiler.compile(circuit).layers, compiler.semiring)
        plain = TorchCompiler(fold=False, optimize=False)
        before = layers_cost(plain.compile(circuit).layers, plain.semiring)
        assert after < before
        assert np.isfinite(after)
