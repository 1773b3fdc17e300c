"""Every rule on all legal shapes up to a bound: it never raises, and the circuit keeps its values."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from explorer.backend import TorchHadamardLayer, TorchKroneckerLayer, TorchSumLayer
from explorer.compiler import TorchCompiler
from explorer.optimize import ONE_LAYER, RuleSet, preset_rules, put_rule_first, replacements_of
from explorer.rewrite import LayerOptPattern
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantValueLayer,
    KroneckerParameter,
    LogParameter,
    MixingWeightParameter,
    OuterProductParameter,
    ParameterNode,
    ReduceSumParameter,
    SoftmaxParameter,
    TensorParameter,
)
from tests.levels.modes import compile_and_watch, compile_circuit, output
from tests.optimize.building import inputs, normalized_weight, positive
from tests.strategies import random_inputs

SIZES = (1, 2, 3)
ALWAYS: dict[str, Any] = {"preset": "handbook"}
"""The handbook's rules without guards, so that each is applied wherever it matches."""


def sum_collapse() -> Iterator[Circuit]:
    for arity, below, middle, top in product(SIZES, repeat=4):
        b = CircuitBuilder()
        x = inputs(b, 1, units=below) * arity
        lower = b.sum(*x, num_units=middle, weight=normalized_weight(middle, arity * below))
        yield b.build(b.sum(lower, num_units=top, weight=normalized_weight(top, middle)))


def tucker() -> Iterator[Circuit]:
    for arity, below, top in product(SIZES, repeat=3):
        b = CircuitBuilder()
        yield b.build(
            b.sum(b.kronecker(*inputs(b, arity, units=below)), num_units=top, weight=positive(top, below**arity))
        )


def candecomp() -> Iterator[Circuit]:
    for arity, below, top in product(SIZES, repeat=3):
        b = CircuitBuilder()
        yield b.build(b.sum(b.hadamard(*inputs(b, arity, units=below)), num_units=top, weight=positive(top, below)))


def sum_with_weight(weight: ParameterNode, arity: int = 1) -> Circuit:
    """A sum with this weight over `arity` inputs."""
    top, columns = weight.shape
    b = CircuitBuilder()
    return b.build(b.sum(*inputs(b, 1, units=columns // arity) * arity, num_units=top, weight=weight))


def dense_kronecker() -> Iterator[Circuit]:
    for a, b, c, d in product(SIZES, repeat=4):
        weight = KroneckerParameter((positive(a, b), positive(c, d)))
        yield sum_with_weight(weight)
        if b * d % 2 == 0:
            yield sum_with_weight(weight, arity=2)
    shared = positive(2, 3)
    yield sum_with_weight(KroneckerParameter((shared, shared)))


def tensor_dot_kronecker() -> Iterator[Circuit]:
    for shape in product((1, 2), repeat=6):
        factors = [positive(*shape[i : i + 2]) for i in (0, 2, 4)]
        yield sum_with_weight(KroneckerParameter((KroneckerParameter((factors[0], factors[1])), factors[2])))
        yield sum_with_weight(KroneckerParameter((factors[0], KroneckerParameter((factors[1], factors[2])))))
    yield sum_with_weight(KroneckerParameter((KroneckerParameter((positive(2, 3), positive(3, 1))),) * 2))


def mixing() -> Iterator[Circuit]:
    for arity, below, top in product((1, 2, 3, 4), repeat=3):
        columns = arity * below
        if columns % top == 0:
            yield sum_with_weight(MixingWeightParameter((positive(top, columns // top),)), arity)


def categorical_log_softmax() -> Iterator[Circuit]:
    for units, categories, axis in product(SIZES, SIZES, (0, 1, -1)):
        probs = SoftmaxParameter((TensorParameter((units, categories)),), axis=axis)
        b = CircuitBuilder()
        layer = CategoricalLayer(scope=(0,), num_output_units=units, num_categories=categories, probs=probs)
        yield b.build(b.sum(b.add(layer), num_units=1, weight=positive(1, units)))


def log_softmax() -> Iterator[Circuit]:
    for units, categories, axis in product(SIZES, SIZES, (0, 1, -1)):
        logits = LogParameter((SoftmaxParameter((TensorParameter((units, categories)),), axis=axis),))
        b = CircuitBuilder()
        layer = CategoricalLayer(scope=(0,), num_output_units=units, num_categories=categories, logits=logits)
        yield b.build(b.sum(b.add(layer), num_units=1, weight=positive(1, units)))


def reduce_sum_outer_product() -> Iterator[Circuit]:
    for rank in (2, 3):
        negative = -rank if rank == 2 else 0  # negative axes are the same axes
        for outer, reduce, *sizes in product(range(rank), range(negative, rank), *[(1, 2)] * (rank + 1)):
            left, right = sizes[:rank], [*sizes[:rank]]
            right[outer] = sizes[rank]
            value: ParameterNode = OuterProductParameter((positive(*left), positive(*right)), axis=outer)
            value = ReduceSumParameter((value,), axis=reduce)
            while len(value.shape) > 1:  # down to a vector, by sums that no rule matches
                value = ReduceSumParameter((value,), axis=0)
            b = CircuitBuilder()
            yield b.build(b.add(ConstantValueLayer(num_output_units=sum(value.shape), value=value)))


CIRCUITS: dict[str, tuple[Callable[[], Iterator[Circuit]], dict[str, Any]]] = {
    "SumCollapse": (sum_collapse, ALWAYS),
    "Tucker": (tucker, ALWAYS),
    "Candecomp": (candecomp, ALWAYS),
    "DenseKronecker": (dense_kronecker, ALWAYS),
    "TensorDotKronecker": (tensor_dot_kronecker, ALWAYS),
    "Mixing": (mixing, {}),
    "CategoricalLogSoftmax": (categorical_log_softmax, {}),
    "LogSoftmax": (log_softmax, ALWAYS),
    "ReduceSumOuterProduct": (reduce_sum_outer_product, ALWAYS),
}


def test_every_rule_of_the_presets_has_its_shapes_here():
    assert set(CIRCUITS) == set(preset_rules("default").names)


@pytest.mark.parametrize("rule", CIRCUITS)
def test_a_rule_keeps_the_values_on_all_small_shapes(rule: str):
    circuits, options = CIRCUITS[rule]
    applied: Counter[str] = Counter()
    for circuit in circuits():
        module, watcher = compile_and_watch(circuit, fold=False, **options)
        applied += watcher.applied()
        plain = compile_circuit(circuit, optimize=False, fold=False)
        plain.load_leaf_state(module.leaf_state())
        x = random_inputs(circuit, batch=2)
        np.testing.assert_allclose(output(module, x), output(plain, x), rtol=1e-9, atol=1e-12)
    assert applied[rule] > 10


def chains() -> Iterator[tuple[tuple[type, ...], Circuit]]:
    """All chains of two or three inner layers, with the types of the layers from the root."""
    kinds = {TorchSumLayer: "sum", TorchHadamardLayer: "hadamard", TorchKroneckerLayer: "kronecker"}
    for length, arity, units in product((2, 3), (1, 2), (1, 2)):
        for types in product(kinds, repeat=length):
            b = CircuitBuilder()
            tops = inputs(b, arity, units)
            width = units
            for kind in reversed(types):
                if kind is TorchSumLayer:
                    tops = [b.sum(*tops, num_units=2, weight=normalized_weight(2, width * len(tops)))]
                    width = 2
                else:
                    width = width ** len(tops) if kind is TorchKroneckerLayer else width
                    tops = [getattr(b, kinds[kind])(*tops)]
            yield types, b.build(tops[0])


def test_every_replacement_of_a_user_defined_pattern_keeps_the_values():
    used: Counter[str] = Counter()
    for types, circuit in chains():
        pattern = LayerOptPattern("Mine", types)
        plain = compile_circuit(circuit, optimize=False, fold=False)
        x = random_inputs(circuit, batch=2)
        for replacement in replacements_of(pattern):
            compiler = TorchCompiler(rules=RuleSet(), fold=False)
            put_rule_first(compiler.rules, pattern, replacement)
            module = compiler.compile(circuit)
            plain.load_leaf_state(module.leaf_state())
            np.testing.assert_allclose(output(module, x), output(plain, x), rtol=1e-9, atol=1e-12)
            used[replacement] += len(module.layers) < len(plain.layers)
    assert used[ONE_LAYER] > 50
    assert set(used) >= {ONE_LAYER, "SumCollapse", "Tucker", "Candecomp"}


def test_a_weight_with_blocks_wider_than_the_inputs_is_refused_with_the_reason():
    _, watcher = compile_and_watch(sum_with_weight(MixingWeightParameter((positive(1, 12),)), arity=3))
    assert watcher.refusals_of("Mixing") == ["node 1 has keeps_width False, wanted True"]
