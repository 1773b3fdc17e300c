"""Circuits that operators made: a square, a sum of squares, a circuit with evidence."""

import numpy as np

from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    EmbeddingLayer,
    NormalInitializer,
    Parameterization,
    constant,
)
from explorer.symbolic.operators import evidence, integrate, multiply
from explorer.templates.gallery.lessons import blackboard
from explorer.templates.gallery.registry import GALLERY
from explorer.templates.inputs import CategoricalInput


@GALLERY.add("squared")
def squared() -> Circuit:
    """A circuit times itself: its weights are Kronecker products; those of 16 units are shattered, those of 10 are not.

    `wide` is a sum of 16 units: its square has a weight of 256 x 256, which is never built. `narrow` has 10: its square
    has one of 100 x 100, where two small sums would cost more than one.
    """
    b = CircuitBuilder()
    wide = [b.add(CategoricalInput(2)(v, 16), name=f"x{v}") for v in (0, 1)]
    narrow = [b.add(CategoricalInput(2)(v, 10), name=f"x{v}") for v in (2, 3)]
    tops: list[int] = []
    for name, inputs, units in (("wide", wide, 16), ("narrow", narrow, 10)):
        inner = b.sum(b.hadamard(*inputs, name=f"{name}-product"), num_units=units, name=name)
        tops.append(b.sum(inner, num_units=2, name=f"{name}-top"))
    circuit = b.build(b.sum(b.hadamard(*tops, name="product"), num_units=1, name="root"))
    return multiply(circuit, circuit)


@GALLERY.add("sos", semiring="complex-lse-sum")
def sum_of_squares() -> Circuit:
    """A sum of three squares with weights of any sign, in the semiring complex-lse-sum: its value is never negative.

    Three circuits share their inputs; a fourth variable says which of them is meant. The square of all, summed over
    this variable, is the sum of their squares. See Loconte et al. 2025, Sum of Squares Circuits.
    """
    b = CircuitBuilder()
    signed = Parameterization("none", NormalInitializer())
    x = [
        b.add(EmbeddingLayer(scope=(v,), num_output_units=4, num_states=3, weight=signed((4, 3))), name=f"x{v}")
        for v in range(3)
    ]
    pair = b.sum(b.hadamard(x[0], x[1], name="pair-product"), num_units=4, weights=signed, name="pair")
    three = b.sum(b.hadamard(pair, x[2], name="product"), num_units=3, weights=signed, name="three")
    which = EmbeddingLayer(scope=(3,), num_output_units=3, num_states=3, weight=constant(np.eye(3)))
    chosen = b.hadamard(three, b.add(which, name="which"), name="chosen")
    circuit = b.build(b.sum(chosen, num_units=1, weight=constant(np.ones((1, 3))), name="root"))
    return integrate(multiply(circuit, circuit), [3])


@GALLERY.add("evidence")
def observed() -> Circuit:
    """The blackboard with two coins seen: their layers are constants now, and three variables are left."""
    return evidence(blackboard(), {1: 0, 4: 1})
