"""From outside: own layers, operators, initializers and optimization rules; nothing leaks into another compiler."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.backend import (
    Semiring,
    TorchEmbeddingLayer,
    TorchHadamardLayer,
    TorchInnerLayer,
    TorchKroneckerLayer,
    TorchSumLayer,
)
from explorer.backend.parameters import TorchLogParameter, TorchParameterOp, TorchSquareParameter, apply_op
from explorer.compiler import (
    TorchCompiler,
    initializer_rules,
    layer_rule,
    layer_rules,
    operator_rule,
    parameter_rules,
    record,
)
from explorer.errors import CircuitError, DuplicateNameError, LimitWarning, RuleError
from explorer.rewrite import GraphOptMatch, LayerOptPattern, ParameterOptPattern
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    EntrywiseParameterOp,
    ExpParameter,
    Initializer,
    LogParameter,
    SumLayer,
    TensorParameter,
    constant,
)
from tests.compiler.building import PowerLayer, embeddings
from tests.levels.modes import MODE_IDS, MODES, Mode, Watcher, layer_types, only, output

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchPowerLayer(TorchInnerLayer):
    """The compiled form of it."""

    exponent: int

    @property
    def flops(self) -> int:
        return self.exponent * self.num_input_units

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.product(torch.stack([x[:, 0]] * self.exponent), dim=0)


@dataclass(frozen=True, eq=False, repr=False)
class HalfParameter(EntrywiseParameterOp):
    """x / 2: an operator that the package does not have."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchHalfParameter(TorchParameterOp):
    """The compiled form of it."""

    def forward(self, *operands: Tensor) -> Tensor:
        return operands[0] / 2


@dataclass(frozen=True)
class CountingInitializer(Initializer):
    """0, 1, 2, ...: an initializer that the package does not have."""

    def _check(self) -> None:
        return None


def powers(*exponents: int) -> Circuit:
    b = CircuitBuilder()
    x = embeddings(b, len(exponents))
    layers = [
        b.add(PowerLayer(num_input_units=2, num_output_units=2, exponent=e), (node,))
        for node, e in zip(x, exponents, strict=True)
    ]
    return b.build(b.hadamard(*layers))


# ---- own layers


@EACH_MODE
def test_a_custom_layer_is_compiled_optimized_and_folded_like_any_other(mode: Mode):
    compiler = TorchCompiler(**mode)
    compiler.layer_rules.rule(PowerLayer)(layer_rule(TorchPowerLayer))
    module = compiler.compile(powers(2, 3, 2))
    found = np.exp(output(module, np.array([[0, 1, 1]])))
    np.testing.assert_allclose(found, [[[1**2 * 2**3 * 2**2, 3**2 * 4**3 * 4**2]]])
    if mode["fold"]:
        assert [(name, layer.num_folds) for name, layer in zip(layer_types(module), module.layers, strict=True)] == [
            ("Embedding", 3),
            ("Power", 2),
            ("Power", 1),
            ("Hadamard", 1),
        ]


class TorchSingleLayer(TorchPowerLayer):
    """A layer that cannot be folded with another one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_folds > 1:
            raise ValueError("one fold only")


def compiler_of_powers(layer: type[TorchPowerLayer]) -> TorchCompiler:
    compiler = TorchCompiler()
    compiler.layer_rules.rule(PowerLayer)(layer_rule(layer))
    return compiler


def test_a_level_that_cannot_be_folded_is_a_failed_step():
    reason = "fold/level 1: folding 2 nodes of type TorchSingleLayer failed: ValueError: one fold only"
    with pytest.raises(RuleError) as raised:
        record(powers(2, 2), compiler_of_powers(TorchSingleLayer))
    assert str(raised.value) == reason
    trace: Any = raised.value.trace
    *done, failed = trace.steps
    assert done[-1].path == "fold/level 0"
    assert (failed.path, failed.error, failed.changed) == ("fold/level 1", reason, False)
    assert failed.snapshot.stats == done[-1].snapshot.stats
    assert failed.snapshot.graph.nodes == done[-1].snapshot.graph.nodes


def test_the_first_level_that_cannot_be_folded_leaves_the_layers_as_they_were(monkeypatch: pytest.MonkeyPatch):
    def fail(self: TorchEmbeddingLayer) -> None:
        if self.num_folds > 1:
            raise ValueError("one fold only")

    monkeypatch.setattr(TorchEmbeddingLayer, "__post_init__", fail)
    with pytest.raises(RuleError, match="fold/level 0: folding 2 nodes of type TorchEmbeddingLayer failed") as raised:
        record(powers(2, 3), compiler_of_powers(TorchPowerLayer))
    trace: Any = raised.value.trace
    *done, failed = trace.steps
    assert failed.path == "fold/level 0"
    assert failed.snapshot.stats == done[-1].snapshot.stats
    assert failed.snapshot.graph is done[-1].snapshot.graph


def test_a_layer_without_a_rule_is_refused_with_the_decorator_to_use():
    advice = r"declare `compiles = PowerLayer` in its compiled class, or register one with"
    advice += r" @compiler.layer_rules.rule\(PowerLayer\)"
    with pytest.raises(CircuitError, match=rf"no compile rule for layer PowerLayer \(.*exponent=2.*\); {advice}"):
        TorchCompiler().compile(powers(2))


def test_rules_do_not_leak_from_one_compiler_into_another():
    before = [len(registry.rules) for registry in (layer_rules, parameter_rules, initializer_rules)]
    compiler = TorchCompiler()
    compiler.layer_rules.rule(PowerLayer)(layer_rule(TorchPowerLayer))
    compiler.parameter_rules.rule(HalfParameter)(operator_rule(TorchHalfParameter))
    compiler.initializer_rules.rule(CountingInitializer)(lambda compiler, initializer: lambda tensor, generator: tensor)
    compiler.compile(powers(2))
    assert [len(registry.rules) for registry in (layer_rules, parameter_rules, initializer_rules)] == before
    with pytest.raises(CircuitError, match="PowerLayer"):
        TorchCompiler().compile(powers(2))


def test_a_rule_registered_twice_is_refused():
    with pytest.raises(DuplicateNameError, match="layer SumLayer has a compile rule already"):
        TorchCompiler().layer_rules.rule(SumLayer)


def test_a_subclass_needs_its_own_rule():
    class OtherSumLayer(SumLayer):
        pass

    b = CircuitBuilder()
    (x,) = embeddings(b, 1)
    layer = OtherSumLayer(num_input_units=2, num_output_units=1, weight=constant([[1.0, 1.0]]))
    with pytest.raises(CircuitError, match="no compile rule for layer OtherSumLayer"):
        TorchCompiler().compile(b.build(b.add(layer, (x,))))


# ---- own operators and initializers


def test_a_custom_operator_and_a_custom_initializer_are_compiled():
    b = CircuitBuilder()
    initializers = (ConstantInitializer(1.0), CountingInitializer())
    plain, counted = (HalfParameter((TensorParameter((2, 2), initializer=i),)) for i in initializers)
    compiler = TorchCompiler(semiring="sum-product")
    with pytest.raises(CircuitError, match=r"parameter node HalfParameter .*@compiler.parameter_rules"):
        compiler.compile_parameter(plain)
    compiler.parameter_rules.rule(HalfParameter)(operator_rule(TorchHalfParameter))
    with pytest.raises(CircuitError, match=r"initializer CountingInitializer .*@compiler.initializer_rules"):
        compiler.compile_parameter(counted)

    @compiler.initializer_rules.rule(CountingInitializer)
    def counting(compiler: Any, initializer: CountingInitializer) -> Any:
        return lambda tensor, generator: tensor.copy_(torch.arange(tensor.numel()).reshape(tensor.shape))

    (x,) = embeddings(b, 1, counted)
    found = output(compiler.compile(b.build(x)), np.array([[0], [1]]))
    assert found[:, 0].tolist() == [[0.0, 1.0], [0.5, 1.5]]


# ---- own optimization rules


def unary_hadamard() -> Circuit:
    b = CircuitBuilder()
    (x,) = embeddings(b, 1)
    return b.build(b.hadamard(b.hadamard(b.hadamard(x))))


TWO_HADAMARDS = LayerOptPattern("TwoHadamards", (TorchHadamardLayer,) * 2, config_patterns=({"arity": 1},))
HALF_SUM = LayerOptPattern("HalfSum", (TorchSumLayer,), config_patterns=({"num_output_units": 3},))


def test_a_rule_added_with_the_decorator_is_applied_and_recorded():
    watcher = Watcher()
    compiler = TorchCompiler(listeners=(watcher,), fold=False)

    @compiler.rules.fuse.rule(TWO_HADAMARDS)
    def one_hadamard(compiler: Any, match: GraphOptMatch) -> tuple[Any, ...]:
        """A product of a product is one product."""
        return match.entries[1:]

    module = compiler.compile(unary_hadamard())
    assert layer_types(module) == ["Embedding", "Hadamard"]
    assert watcher.applied() == {"TwoHadamards": 2}
    np.testing.assert_allclose(np.exp(output(module, np.array([[1]]))), [[[2.0, 4.0]]])
    described = only([rule for rule in watcher.events[0].rules if rule.name == "TwoHadamards"])  # type: ignore[union-attr]
    assert (described.kind, described.doc) == ("fuse", "A product of a product is one product.")
    assert described.source == f"tests/compiler/test_extending.py:{one_hadamard.__code__.co_firstlineno}"


def test_an_optimization_rule_does_not_leak_into_another_compiler():
    compiler = TorchCompiler()
    compiler.rules.fuse.rule(TWO_HADAMARDS)(lambda compiler, match: match.entries[1:])
    assert "TwoHadamards" in compiler.rules.names
    assert "TwoHadamards" not in TorchCompiler().rules.names
    assert "TwoHadamards" not in TorchCompiler(rules=TorchCompiler().rules).rules.names
    given = TorchCompiler(rules=compiler.rules)
    assert "TwoHadamards" in given.rules.names
    given.rules.fuse.rule(LayerOptPattern("Later", (TorchSumLayer,)))(lambda compiler, match: match.entries)
    assert "Later" not in compiler.rules.names


def test_a_parameter_rule_from_outside_is_applied():
    watcher = Watcher()
    compiler = TorchCompiler(semiring="sum-product", listeners=(watcher,))

    @compiler.rules.parameter.rule(ParameterOptPattern("SquareLog", (TorchSquareParameter, TorchLogParameter)))
    def never(compiler: Any, match: GraphOptMatch) -> tuple[Any, ...]:
        raise AssertionError("there is no square in the circuit")

    from explorer.backend.parameters import TorchExpParameter

    @compiler.rules.parameter.rule(ParameterOptPattern("ExpLog", (TorchExpParameter, TorchLogParameter)))
    def absolute(compiler: Any, match: GraphOptMatch) -> tuple[Any, ...]:
        """exp(log(x)) of something positive is x; twice half of it shows that the rule ran."""
        half = TorchHalfParameter(shape=match.entries[0].shape, in_shapes=match.entries[1].in_shapes)
        return (half, replace(half))

    b = CircuitBuilder()
    weight = ExpParameter((LogParameter((constant([[4.0, 8.0], [4.0, 8.0]]),)),))
    (x,) = embeddings(b, 1, weight)
    module = compiler.compile(b.build(x))
    assert watcher.applied() == {"ExpLog": 1}
    assert output(module, np.array([[0], [1]]))[:, 0].tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_a_layer_rule_may_build_a_new_parameter_from_existing_ones():
    compiler = TorchCompiler(semiring="sum-product", fold=False, max_rounds=2, disable=("Candecomp",))

    @compiler.rules.shatter.rule(HALF_SUM)
    def half(compiler: Any, match: GraphOptMatch) -> tuple[Any, ...]:
        (layer,) = match.entries
        weight = apply_op(TorchHalfParameter, layer.weight, shape=layer.weight.shape)
        first = replace(layer, weight=weight)
        return (TorchHadamardLayer(num_input_units=2, num_output_units=2, arity=1), first)

    b = CircuitBuilder()
    (x,) = embeddings(b, 1)
    circuit = b.build(b.sum(x, num_units=3, weight=constant([[2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])))
    with pytest.warns(LimitWarning, match="limit of 2 rounds"):  # the rule matches its own result for ever
        module = compiler.compile(circuit)
    assert layer_types(module) == ["Embedding", "Hadamard", "Hadamard", "Sum"]
    assert output(module, np.array([[0]])).tolist() == [[[0.5, 1.5, 2.0]]]


BAD_RULES = {
    "other width": (
        lambda match: (replace(match.entries[0], num_output_units=3, weight=match.entries[0].weight),),
        "weight must have shape",
    ),
    "other inputs": (
        lambda match: (TorchHadamardLayer(num_input_units=2, num_output_units=2, arity=2), match.entries[0]),
        r"the first layer reads \(arity, units\) \(2, 2\), the one it replaces \(1, 2\)",
    ),
    "too few units": (
        lambda match: (TorchHadamardLayer(num_input_units=2, num_output_units=2, arity=1),),
        "the last layer has 2 output units, the root it replaces 1",
    ),
    "a chain that does not fit": (
        lambda match: (
            TorchKroneckerLayer(num_input_units=2, num_output_units=2, arity=1),
            match.entries[0],
            match.entries[0],
        ),
        "TorchSumLayer does not fit on TorchSumLayer: each layer reads the previous one",
    ),
    "no layer": (lambda match: ("a layer",), "expected layers from a rule on layers, got a str"),
    "nothing": (lambda match: (), r"returned \(\) for"),
    "no tuple": (lambda match: None, "returned None for"),
    "an error": (lambda match: match.entries[5], "IndexError: tuple index out of range"),
}


@pytest.mark.parametrize("kind", BAD_RULES)
@pytest.mark.parametrize("listening", [False, True])
def test_a_rule_that_returns_illegal_layers_is_named_with_match_and_location(kind: str, listening: bool):
    make, message = BAD_RULES[kind]
    watcher = Watcher()
    compiler = TorchCompiler(listeners=(watcher,) if listening else ())

    @compiler.rules.fuse.rule(LayerOptPattern("Bad", (TorchSumLayer,)))
    def bad(compiler: Any, match: GraphOptMatch) -> Any:
        return make(match)

    b = CircuitBuilder()
    (x,) = embeddings(b, 1)
    circuit = b.build(b.sum(x, num_units=1))
    place = rf"tests/compiler/test_extending.py:{bad.__code__.co_firstlineno}"
    with pytest.raises(RuleError, match=rf"the rule Bad \({place}\) .*{message}") as found:
        compiler.compile(circuit)
    assert "the match Bad at 1" in str(found.value)
    if listening:
        assert type(watcher.events[-1]).__name__ == "StepFailed"
        assert watcher.paths[-1] == "optimize/round 1/fuse"
