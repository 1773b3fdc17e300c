"""The first law on random circuits: one value per input, however the circuit is compiled, recorded, saved or loaded."""

import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, strategies as st

from explorer.compiler import TorchCompiler
from explorer.rewrite import OptMatchStrategy
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    DirichletInitializer,
    GaussianLayer,
    LogParameter,
    LogSoftmaxParameter,
    NormalInitializer,
    OuterSumParameter,
    Parameterization,
    ReduceLSEParameter,
    ReduceSumParameter,
    SoftplusParameter,
    SumParameter,
    TensorParameter,
    UniformInitializer,
)
from explorer.templates import load_named
from tests.fuzzing import examples
from tests.levels.modes import MODE_IDS, MODES, PRESETS, Mode, compile_and_watch, compile_circuit, output
from tests.oracle import LeafValues, assert_equals_oracle, constant_leaf_values, parameter_value
from tests.strategies import circuits, random_inputs

SEEDS = st.integers(0, 2**16)
CHOICES: tuple[dict[str, Any], ...] = (
    *({**mode, "preset": preset} for mode, preset in product(MODES, PRESETS)),
    {"preset": "default", "strategy": "first-match"},
    {"preset": "default", "strategy": "lowest-cost"},
    {"preset": "handbook", "strategy": "lowest-cost"},
    {"preset": "default", "max_rounds": 1},
    {"preset": "default", "levels": "longest-distance"},
    {"preset": "handbook", "levels": "fewest-groups", "strategy": "first-match"},
)
"""Every mode with every preset, and each further option at least once."""


CANCELLING = (
    LogParameter,
    LogSoftmaxParameter,
    OuterSumParameter,
    ReduceLSEParameter,
    ReduceSumParameter,
    SumParameter,
)


def has_no_weight_of_noise(circuit: Circuit, values: LeafValues) -> bool:
    """Whether no parameter is zero by cancellation, because its value would be a rounding error."""
    return all(
        np.abs(parameter_value(node, values)).min() > 1e-9
        for _, parameter in circuit.parameters()
        for node in parameter.nodes()
        if isinstance(node, CANCELLING)
    )


def drawn_parameters() -> Circuit:
    """A circuit with random leaves of every kind of initializer; one leaf has two users."""
    b = CircuitBuilder()
    probs = TensorParameter((2, 3), initializer=DirichletInitializer(0.7, axis=-1))
    mean = TensorParameter((2,), initializer=NormalInitializer(1.0, 2.0))
    spread = SoftplusParameter((TensorParameter((2,), initializer=UniformInitializer(0.5, 1.5), name="spread"),))
    left = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=3, probs=probs))
    right = b.add(GaussianLayer(scope=(1,), num_output_units=2, mean=mean, stddev=spread))
    again = b.add(CategoricalLayer(scope=(2,), num_output_units=2, num_categories=3, probs=probs))
    weights = Parameterization("softmax", UniformInitializer(-1.0, 1.0))
    pairs = [b.sum(b.hadamard(left, right), num_units=2, weights=weights) for _ in range(2)]
    return b.build(b.sum(b.hadamard(b.sum(*pairs, num_units=2, weights=weights), again), num_units=1, weights=weights))


@examples(16)
@given(circuits(positive=True), SEEDS)
def test_a_positive_circuit_has_its_value_in_every_semiring_mode_and_preset(circuit: Circuit, seed: int):
    x, values = random_inputs(circuit, seed=seed), constant_leaf_values(circuit)
    for i, choice in enumerate(CHOICES):
        semiring = ("lse-sum", "sum-product", "lse-sum", "complex-lse-sum")[(seed + i) % 4]
        assert_equals_oracle(output(compile_circuit(circuit, semiring, **choice), x), semiring, circuit, values, x)


@examples(10)
@given(circuits(positive=False, complex_leaves=True), SEEDS)
def test_a_circuit_with_complex_weights_has_its_value_in_every_mode_and_preset(circuit: Circuit, seed: int):
    x, values = random_inputs(circuit, seed=seed), constant_leaf_values(circuit)
    assume(has_no_weight_of_noise(circuit, values))
    for choice in CHOICES:
        found = output(compile_circuit(circuit, "complex-lse-sum", **choice), x)
        assert_equals_oracle(found, "complex-lse-sum", circuit, values, x)


@examples(10)
@given(circuits(positive=False), SEEDS)
def test_a_circuit_with_negative_weights_has_its_value_in_every_mode_and_preset(circuit: Circuit, seed: int):
    x, values = random_inputs(circuit, seed=seed), constant_leaf_values(circuit)
    assume(has_no_weight_of_noise(circuit, values))
    for i, choice in enumerate(CHOICES):
        semiring = ("sum-product", "complex-lse-sum")[(seed + i) % 2]
        assert_equals_oracle(output(compile_circuit(circuit, semiring, **choice), x), semiring, circuit, values, x)


@examples(10)
@given(circuits(), SEEDS)
def test_a_listener_changes_nothing(circuit: Circuit, seed: int):
    x = random_inputs(circuit, seed=seed)
    for preset in PRESETS:
        alone = compile_circuit(circuit, preset=preset)
        seen, watcher = compile_and_watch(circuit, preset=preset)
        assert str(seen.graph) == str(alone.graph)
        assert np.array_equal(output(seen, x), output(alone, x))
        assert watcher.stats()[-1]["layers"] == len(alone.layers)  # the statistics can be computed


@examples(10)
@given(circuits(), SEEDS)
def test_saving_and_loading_a_circuit_changes_nothing(circuit: Circuit, seed: int):
    x = random_inputs(circuit, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        circuit.save(Path(folder) / "circuit.json")
        loaded = Circuit.load(Path(folder) / "circuit.json")
    first, second = compile_circuit(circuit), compile_circuit(loaded)
    assert str(first.graph) == str(second.graph)
    assert list(first.leaf_state()) == list(second.leaf_state())
    assert np.array_equal(output(first, x), output(second, x))


@examples(8)
@given(circuits(), circuits(), SEEDS)
def test_the_order_in_which_circuits_are_compiled_does_not_matter(one: Circuit, other: Circuit, seed: int):
    forwards, backwards = TorchCompiler(), TorchCompiler()
    first = [forwards.compile(circuit) for circuit in (one, other)]
    second = [backwards.compile(circuit) for circuit in (other, one)][::-1]
    for circuit, a, b in zip((one, other), first, second, strict=True):
        x = random_inputs(circuit, seed=seed)
        assert str(a.graph) == str(b.graph)
        assert np.array_equal(output(a, x), output(b, x))


@examples(8)
@given(circuits(), SEEDS)
def test_leaf_state_carries_values_between_all_modes(circuit: Circuit, seed: int):
    x = random_inputs(circuit, seed=seed)
    torch.manual_seed(seed)
    source = compile_circuit(circuit, **MODES[seed % 4])
    state = {
        name: value * torch.empty(value.shape).uniform_(0.8, 1.0) if value.is_floating_point() else value
        for name, value in source.leaf_state().items()
    }
    values = {leaf: state[name].numpy() for leaf, name in circuit.leaf_names.items()}
    for mode in MODES:
        target = compile_circuit(circuit, **mode)
        before = output(target, x)
        target.load_leaf_state(state)
        assert {name: value.tolist() for name, value in target.leaf_state().items()} == {
            name: value.tolist() for name, value in state.items()
        }
        assert_equals_oracle(output(target, x), "lse-sum", circuit, values, x)
        target.load_leaf_state(source.leaf_state())
        np.testing.assert_allclose(output(target, x), before, rtol=1e-12)


@pytest.mark.parametrize("circuit", [drawn_parameters(), load_named("levels"), load_named("hmm")])
def test_equal_seeds_produce_equal_values_in_every_mode(circuit: Circuit):
    wanted = compile_circuit(circuit, optimize=False, fold=False, seed=3).leaf_state()
    assert list(wanted) == list(circuit.leaf_names.values())
    for mode in MODES:
        found = compile_circuit(circuit, seed=3, **mode).leaf_state()
        assert list(found) == list(wanted)
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)
    other = compile_circuit(circuit, seed=4).leaf_state()
    assert not any(torch.equal(other[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_drawn_values_follow_their_initializers(mode: Mode):
    state = compile_circuit(drawn_parameters(), **mode).leaf_state()
    np.testing.assert_allclose(state["0.probs"].sum(-1), 1.0)
    assert ((state["spread"] >= 0.5) & (state["spread"] < 1.5)).all()
    assert len({tuple(value.ravel().tolist()) for value in state.values()}) == len(state)


def test_random_circuits_are_compiled_with_every_strategy():
    chosen = {choice.get("strategy", OptMatchStrategy.LARGEST_MATCH.value) for choice in CHOICES}
    assert chosen == {strategy.value for strategy in OptMatchStrategy}
