"""What the quiz says of products of circuits agrees with the engine."""

import explorer
from explorer.symbolic import Circuit, CircuitBuilder, EmbeddingLayer, SumLayer, TensorParameter
from explorer.symbolic.operators import multiply
from tests.notebooks.quiz import SHATTER, says


def circuit() -> Circuit:
    b = CircuitBuilder()
    x = b.add(EmbeddingLayer(scope=(0,), num_output_units=6, num_states=2, weight=TensorParameter((6, 2))))
    return b.build(b.sum(x, num_units=5, weight=TensorParameter((5, 6))))


def weight_of(product: Circuit) -> tuple[int, ...]:
    (layer,) = [layer for layer in product.layers if isinstance(layer, SumLayer)]
    return layer.weight.shape


def test_25_shapes_leaves_and_multiplications_of_a_square() -> None:
    one = circuit()
    square, cube = multiply(one, one), multiply(one, one, one)
    rows = [" × ".join(map(str, weight_of(product))) for product in (square, cube)]
    assert set(square.leaf_names) == set(cube.leaf_names) == set(one.leaf_names)
    trace = explorer.record(square, preset="handbook", fold=False, semiring="sum-product")
    read = 6 * 6  # the input layer counts one operation per unit
    before, after = (trace.stats(step)["flops"] - read for step in ("compile", SHATTER))
    says(25, f"{rows[0]} in the square, {rows[1]} in the cube, and no leaf is new")
    says(25, f"As one matrix {before // 2} multiplications, in two steps {after // 2}")


def test_26_what_is_true() -> None:
    says(26, "Only 2 and 4 are true")
