"""A custom layer and input layers for the tests of this folder."""

from dataclasses import dataclass

from explorer.symbolic import CircuitBuilder, EmbeddingLayer, InnerLayer, ParameterNode, constant


@dataclass(frozen=True, eq=False, kw_only=True)
class PowerLayer(InnerLayer):
    """y_k = x_k ^ exponent: a layer that the package does not have."""

    arity: int = 1
    exponent: int


def embeddings(b: CircuitBuilder, count: int, weight: ParameterNode | None = None) -> list[int]:
    table = constant([[1.0, 2.0], [3.0, 4.0]]) if weight is None else weight
    return [b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=table)) for v in range(count)]
