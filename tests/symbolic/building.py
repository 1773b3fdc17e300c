"""Small layers and a circuit for the tests of this folder."""

from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantValueLayer,
    ParameterNode,
    TensorParameter,
)


def leaf(*shape: int, name: str | None = None) -> TensorParameter:
    return TensorParameter(shape, name=name)


def coin(variable: int, units: int = 2, probs: ParameterNode | None = None) -> CategoricalLayer:
    probs = leaf(units, 2) if probs is None else probs
    return CategoricalLayer(scope=(variable,), num_output_units=units, num_categories=2, probs=probs)


def unit(units: int = 2) -> ConstantValueLayer:
    return ConstantValueLayer(num_output_units=units, value=leaf(units))


def chain() -> Circuit:
    """Two coins, their product, a sum named root, and a dead coin."""
    b = CircuitBuilder()
    product = b.hadamard(b.add(coin(0)), b.add(coin(3)))
    b.add(coin(5), name="dead")
    return b.build(b.sum(product, num_units=1, name="root"))
