"""Samples, jointly and given evidence, through every type of inner layer."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

import explorer
from explorer.backend import (
    TorchChainLayer,
    TorchCircuit,
    TorchCPTLayer,
    TorchHadamardLayer,
    TorchInnerLayer,
    TorchKroneckerLayer,
    TorchMixingLayer,
    TorchRearrangeLayer,
    TorchSumLayer,
    TorchTensorDotLayer,
    TorchTuckerLayer,
    queries,
)
from explorer.graph import subclasses
from explorer.optimize import put_rule_first
from explorer.rewrite import LayerOptPattern
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    KroneckerParameter,
    MixingWeightParameter,
    RearrangeLayer,
)
from tests.backend.queries.brute import chi_square_p
from tests.backend.queries.deciding import leaf
from tests.levels.modes import compile_circuit

MIN_P = 1e-5


def coins(b: CircuitBuilder, random: np.random.Generator, scope: int) -> int:
    probs = leaf(random.dirichlet(np.ones(3), size=2))
    return b.add(CategoricalLayer(scope=(scope,), num_output_units=2, num_categories=3, probs=probs))


def product_circuit(kind: str) -> Circuit:
    """A sum of products of two variables: unit by unit, or of all pairs of units, also with a Kronecker weight."""
    random = np.random.default_rng(0)
    b = CircuitBuilder()
    leaves = coins(b, random, 0), coins(b, random, 1)
    if kind == "Hadamard":
        return b.build(b.sum(b.hadamard(*leaves), num_units=1, weight=leaf(random.uniform(0.1, 1.0, (1, 2)))))
    pairs = b.kronecker(*leaves)
    if kind == "Kronecker":
        return b.build(b.sum(pairs, num_units=1, weight=leaf(random.uniform(0.1, 1.0, (1, 4)))))
    factors = leaf(random.uniform(0.1, 1.0, (2, 2))), leaf(random.uniform(0.1, 1.0, (2, 2)))
    below = b.sum(pairs, num_units=4, weight=KroneckerParameter(factors))
    return b.build(b.sum(below, num_units=1, weight=leaf(random.uniform(0.1, 1.0, (1, 4)))))


def mixing_circuit() -> Circuit:
    random = np.random.default_rng(0)
    b = CircuitBuilder()
    products = [b.hadamard(coins(b, random, 0), coins(b, random, 1)) for _ in range(3)]
    weight = MixingWeightParameter((leaf(random.uniform(0.1, 1.0, (2, 3))),))
    return b.build(b.sum(b.sum(*products, num_units=2, weight=weight), num_units=1, weight=leaf([[0.3, 0.7]])))


def rearranged_circuit() -> Circuit:
    """All pairs of units with the second variable varying slower."""
    random = np.random.default_rng(0)
    b = CircuitBuilder()
    pairs = b.kronecker(coins(b, random, 0), coins(b, random, 1))
    swapped = b.add(RearrangeLayer(num_input_units=4, num_output_units=4, sizes=(2, 2), axes=(1, 0)), (pairs,))
    return b.build(b.sum(swapped, num_units=1, weight=leaf(random.uniform(0.1, 1.0, (1, 4)))))


def chain() -> TorchCircuit:
    compiler = explorer.TorchCompiler(disable=["Candecomp"])
    put_rule_first(compiler.rules, LayerOptPattern("Chains", (TorchSumLayer, TorchHadamardLayer)), "one layer")
    return compiler.compile(product_circuit("Hadamard"))


CIRCUITS: dict[type, Callable[[], TorchCircuit]] = {
    TorchSumLayer: lambda: compile_circuit(product_circuit("Hadamard"), optimize=False),
    TorchHadamardLayer: lambda: compile_circuit(product_circuit("Hadamard"), optimize=False),
    TorchKroneckerLayer: lambda: compile_circuit(product_circuit("Kronecker"), optimize=False),
    TorchCPTLayer: lambda: compile_circuit(product_circuit("Hadamard")),
    TorchTuckerLayer: lambda: compile_circuit(product_circuit("Kronecker")),
    TorchTensorDotLayer: lambda: compile_circuit(product_circuit("Kronecker weight"), preset="handbook"),
    TorchMixingLayer: lambda: compile_circuit(mixing_circuit()),
    TorchChainLayer: chain,
    TorchRearrangeLayer: lambda: compile_circuit(rearranged_circuit()),
}


def test_every_type_of_inner_layer_is_sampled():
    ours = [kind for kind in subclasses(TorchInnerLayer) if kind.__module__.startswith("explorer.backend.")]
    assert {kind for kind in ours if not kind.__abstractmethods__} == set(CIRCUITS)


@pytest.mark.parametrize("kind", CIRCUITS, ids=lambda kind: kind.__name__)
def test_a_layer_is_sampled_jointly_and_given_evidence(kind: type):
    circuit = CIRCUITS[kind]()
    assert any(isinstance(layer, kind) for layer in circuit.layers)
    states = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    with torch.no_grad():
        p = circuit(states)[:, 0, 0].exp().numpy()
    generator = torch.Generator().manual_seed(0)
    joint = queries.sample(circuit, 3000, generator=generator)
    assert chi_square_p(joint.numpy(), states.numpy(), p / p.sum()) > MIN_P
    x, first = torch.tensor([[0, 0], [2, 1]]), torch.tensor([True, False])
    found = queries.sample(circuit, 3000, x, first, generator=generator)
    for row, samples in zip(x, found.transpose(0, 1), strict=True):
        share = np.where(states[:, 0] == row[0], p, 0.0)
        assert chi_square_p(samples.numpy(), states.numpy(), share / share.sum()) > MIN_P
