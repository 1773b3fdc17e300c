"""The answers of the quiz about products of circuits agree with the engine."""

import explorer
from explorer.symbolic import Circuit, CircuitBuilder, EmbeddingLayer, SumLayer, TensorParameter
from explorer.symbolic.operators import multiply
from tests.notebooks.quiz import SHATTER, says


def one_sum(inputs: int, outputs: int) -> Circuit:
    b = CircuitBuilder()
    leaf = TensorParameter((inputs, 2))
    x = b.add(EmbeddingLayer(scope=(0,), num_output_units=inputs, num_states=2, weight=leaf))
    return b.build(b.sum(x, num_units=outputs, weight=TensorParameter((outputs, inputs))))


def test_25_the_sum_of_a_product() -> None:
    one, other = one_sum(6, 5), one_sum(4, 3)
    product = multiply(one, other)
    (rows, columns) = next(layer.weight.shape for layer in product.layers if isinstance(layer, SumLayer))
    assert set(product.leaf_names) == {*one.leaf_names, *other.leaf_names}
    says(25, f"{rows} × {columns}, and no leaf is new")
    trace = explorer.record(product, preset="handbook", fold=False, semiring="sum-product")
    before, after = (trace.stats(step)["flops"] - columns for step in ("compile", SHATTER))  # an operation per input
    says(25, f"As one matrix {before // 2} multiplications, in two steps {after // 2}")
    says(25, f"{multiply(one, one).layers[0].num_output_units} units of the square differ")


def test_26_what_is_true() -> None:
    says(26, "Only 2 and 4 are true")
