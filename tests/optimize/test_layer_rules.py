"""The layer rules: what each makes of its match, and that values stay what they were."""

from typing import Any

import numpy as np
import pytest
import torch

from explorer.backend import (
    TorchCategoricalLayer,
    TorchMixingLayer,
    TorchSumLayer,
    TorchTensorDotLayer,
    TorchTuckerLayer,
)
from explorer.backend.parameters import TorchLogSoftmaxParameter
from explorer.compiler import TorchCompiler
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    KroneckerParameter,
    MixingWeightParameter,
    SoftmaxParameter,
    TensorParameter,
)
from explorer.templates import load_named
from tests.levels.modes import PRESETS, compile_and_watch, compile_circuit, only
from tests.optimize.building import inputs, kronecker_of, normalized_weight, optimize, positive, types_above_inputs

EACH_PRESET = pytest.mark.parametrize("preset", PRESETS)


def weight_shapes(circuit: object) -> list[tuple[int, ...]]:
    layers = getattr(circuit, "layers", ())
    return [
        layer.weight.shape for layer in layers if hasattr(layer, "weight") and "Embedding" not in type(layer).__name__
    ]


# ---- SumCollapse


def two_sums(arity: int = 1) -> Circuit:
    b = CircuitBuilder()
    x = inputs(b, 1, units=3) * arity
    low = b.sum(*x, num_units=4, weight=normalized_weight(4, 3 * arity))
    return b.build(b.sum(low, num_units=2, weight=normalized_weight(2, 4)))


@EACH_PRESET
@pytest.mark.parametrize("arity", [1, 2, 3])
def test_collapse_sums_keeps_the_arity_of_the_lower_sum(preset: str, arity: int):
    module, watcher = optimize(two_sums(arity), preset=preset)
    assert watcher.applied() == {"SumCollapse": 1}
    layer = module.layers[-1]
    assert isinstance(layer, TorchSumLayer)
    assert (layer.num_output_units, layer.num_input_units, layer.arity) == (2, 3, arity)
    assert repr(layer.weight) == f"Tensor>Softmax>Tensor>Softmax>MatMul{(2, 3 * arity)}"


@EACH_PRESET
def test_a_sum_of_several_inputs_over_sums_is_not_collapsed(preset: str):
    b = CircuitBuilder()
    lows = [b.sum(x, num_units=2, weight=positive(2, 2)) for x in inputs(b, 1, units=2) * 2]
    circuit = b.build(b.sum(*lows, num_units=2, weight=positive(2, 4)))
    module, watcher = optimize(circuit, preset=preset)
    assert types_above_inputs(module) == ["Sum", "Sum", "Sum"]
    assert watcher.refusals_of("SumCollapse")[-1] == "node 3 reads 2 nodes; only the last entry may read more than one"


WEIGHTS = {
    "a leaf": lambda: positive(3, 3),
    "a softmax along the columns": lambda: SoftmaxParameter((TensorParameter((3, 3)),), axis=0),
    "a Kronecker product with a leaf": lambda: KroneckerParameter((normalized_weight(3, 1), positive(1, 3))),
}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_the_default_preset_multiplies_only_normalized_weights_in_log_space(weight: Any):
    b = CircuitBuilder()
    (x,) = inputs(b, 1, units=3)
    low = b.sum(x, num_units=3, weight=normalized_weight(3, 3))
    circuit = b.build(b.sum(low, num_units=3, weight=weight()))
    _, watcher = compile_and_watch(circuit, disable=("DenseKronecker",))
    declined = "the rule declined: the rows of the weight of layer 2 need not sum to one, so the product may leave"
    assert watcher.refusals_of("SumCollapse")[-1].startswith(declined)
    for semiring, preset in (("sum-product", "default"), ("lse-sum", "handbook")):
        _, watcher = compile_and_watch(circuit, semiring, preset=preset, disable=("DenseKronecker",))
        assert watcher.applied() == {"SumCollapse": 1}


NORMALIZED = {
    "a mixing weight": lambda: MixingWeightParameter((normalized_weight(3, 1),)),
    "a Kronecker product": lambda: KroneckerParameter((normalized_weight(3, 1), normalized_weight(1, 3))),
}


@pytest.mark.parametrize("weight", NORMALIZED.values(), ids=NORMALIZED)
def test_weights_whose_rows_sum_to_one_are_multiplied(weight: Any):
    b = CircuitBuilder()
    (x,) = inputs(b, 1, units=3)
    low = b.sum(x, num_units=3, weight=normalized_weight(3, 3))
    circuit = b.build(b.sum(low, num_units=3, weight=weight()))
    _, watcher = optimize(circuit, disable=("DenseKronecker",))
    assert watcher.applied() == {"SumCollapse": 1}


@pytest.mark.parametrize("size", [1e-18, 1e15])
def test_a_finite_log_likelihood_stays_finite_in_single_precision(size: float):
    torch.set_default_dtype(torch.float32)
    b = CircuitBuilder()
    (top,) = inputs(b, 1, units=1)
    for _ in range(3):
        top = b.sum(top, num_units=1, weight=TensorParameter((1, 1), initializer=ConstantInitializer([[size]])))
    circuit, x = b.build(top), torch.zeros(1, 1, dtype=torch.long)
    plain = TorchCompiler(optimize=False).compile(circuit)(x)
    assert torch.isfinite(plain).all()
    torch.testing.assert_close(TorchCompiler().compile(circuit)(x), plain)


# ---- Tucker and Candecomp


def sum_over_product(arity: int, kronecker: bool) -> Circuit:
    b = CircuitBuilder()
    x = inputs(b, arity, units=2)
    product = b.kronecker(*x) if kronecker else b.hadamard(*x)
    return b.build(b.sum(product, num_units=3, weight=positive(3, b.width(product))))


@EACH_PRESET
@pytest.mark.parametrize("arity", [1, 2, 3, 4])
def test_a_sum_over_a_kronecker_product_becomes_a_tucker_layer(preset: str, arity: int):
    module, watcher = optimize(sum_over_product(arity, kronecker=True), preset=preset)
    assert watcher.applied() == {"Tucker": 1}
    layer = module.layers[-1]
    assert isinstance(layer, TorchTuckerLayer)
    assert (layer.num_output_units, layer.num_input_units, layer.arity) == (3, 2, arity)
    assert layer.weight.shape == (3, 2**arity)


@EACH_PRESET
@pytest.mark.parametrize("arity", [1, 2, 3, 5])
def test_a_sum_over_a_hadamard_product_becomes_a_cpt_layer(preset: str, arity: int):
    module, watcher = optimize(sum_over_product(arity, kronecker=False), preset=preset)
    assert watcher.applied() == {"Candecomp": 1}
    assert types_above_inputs(module) == ["CPT"]
    assert weight_shapes(module) == [(3, 2)]


def test_sums_over_a_shared_product_are_not_fused():
    b = CircuitBuilder()
    product = b.hadamard(*inputs(b, 2, units=2))
    sums = [b.sum(product, num_units=2, weight=positive(2, 2)) for _ in range(2)]
    module, watcher = optimize(b.build(*sums))
    assert types_above_inputs(module) == ["Hadamard", "Sum", "Sum"]
    reason = "node 2 is read by 2 nodes; only the first entry may be read by more than one"
    assert watcher.refusals_of("Candecomp") == [reason, reason]


@EACH_PRESET
def test_an_output_that_a_rule_would_swallow_keeps_its_value(preset: str):
    b = CircuitBuilder()
    product = b.hadamard(*inputs(b, 2, units=2))
    total = b.sum(product, num_units=2, weight=positive(2, 2))
    module, watcher = optimize(b.build(product, total, product), preset=preset)
    assert types_above_inputs(module) == ["Hadamard", "Sum"]
    assert watcher.applied() == {}
    assert watcher.refusals_of("Candecomp") == ["node 2 is an output and would be lost inside the match"]


def test_the_gallery_circuit_of_near_misses_shows_every_kind_of_refusal():
    _, watcher = compile_and_watch(load_named("near-misses"), preset="handbook")
    kinds = {event.refusal.kind.value for event in watcher.refused}
    assert kinds >= {"wrong type", "several inputs", "several users", "output inside", "sub-pattern failed"}
    assert watcher.lost


# ---- DenseKronecker and TensorDotKronecker


def sum_with_kronecker_weight(*shapes: tuple[int, int]) -> Circuit:
    b = CircuitBuilder()
    columns = int(np.prod([shape[1] for shape in shapes]))
    (x,) = inputs(b, 1, units=columns)
    weight = kronecker_of(*shapes)
    return b.build(b.sum(x, num_units=weight.shape[0], weight=weight))


def test_a_kronecker_weight_is_shattered_into_one_layer_per_factor():
    module, watcher = optimize(sum_with_kronecker_weight((2, 3), (5, 4)), preset="handbook")
    assert watcher.applied() == {"DenseKronecker": 1}
    assert types_above_inputs(module) == ["TensorDot", "TensorDot"]
    assert weight_shapes(module) == [(2, 3), (5, 4)]
    assert [(layer.num_input_units, layer.num_output_units) for layer in _tensor_dots(module)] == [(12, 8), (8, 10)]


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2), (2, 2)), ((1, 2), (2, 1), (3, 2)), ((2, 2), (1, 1), (2, 3))])
def test_three_factors_are_shattered_in_two_rounds(shapes: tuple[tuple[int, int], ...]):
    module, watcher = optimize(sum_with_kronecker_weight(*shapes), preset="handbook")
    assert watcher.applied() == {"DenseKronecker": 1, "TensorDotKronecker": 1}
    assert [done["shatter"] for done in watcher.rounds()] == [1, 1, 0]
    assert weight_shapes(module) == list(shapes)


def test_four_factors_associated_either_way_are_shattered_into_four():
    b = CircuitBuilder()
    (x,) = inputs(b, 1, units=16)
    weight = KroneckerParameter((kronecker_of((2, 2), (1, 2)), kronecker_of((3, 2), (2, 2))))
    module, watcher = optimize(b.build(b.sum(x, num_units=12, weight=weight)), preset="handbook")
    assert watcher.applied() == {"DenseKronecker": 1, "TensorDotKronecker": 2}
    assert weight_shapes(module) == [(2, 2), (1, 2), (3, 2), (2, 2)]


def test_a_kronecker_product_that_is_not_the_whole_weight_is_not_shattered():
    b = CircuitBuilder()
    (x,) = inputs(b, 1, units=4)
    weight = SoftmaxParameter((kronecker_of((2, 2), (2, 2)),))
    module, watcher = optimize(b.build(b.sum(x, num_units=4, weight=weight)), preset="handbook")
    assert types_above_inputs(module) == ["Sum"]
    assert watcher.refusals_of("DenseKronecker") == [
        "the parameter 'weight' of node 1 does not match KroneckerOut "
        "(node 3 is a Softmax parameter, not a Kronecker parameter)"
    ]


def test_the_default_preset_shatters_only_where_it_pays():
    small, watcher = optimize(sum_with_kronecker_weight((2, 3), (3, 2), (2, 2)), preset="default")
    assert types_above_inputs(small) == ["Sum"]
    assert only(watcher.refusals_of("DenseKronecker")).startswith("the rule declined: it does not pay: the cost")
    large = compile_circuit(load_named("kronecker"), preset="default", fold=False)
    assert types_above_inputs(large).count("TensorDot") >= 2


def _tensor_dots(module: object) -> list[TorchTensorDotLayer]:
    return [layer for layer in getattr(module, "layers", ()) if isinstance(layer, TorchTensorDotLayer)]


# ---- SumCollapse where it pays


def bottleneck() -> Circuit:
    b = CircuitBuilder()
    (x,) = inputs(b, 1, units=256)
    narrow = b.sum(x, num_units=1, weight=normalized_weight(1, 256))
    return b.build(b.sum(narrow, num_units=256, weight=normalized_weight(256, 1)))


def test_a_narrow_pair_of_sums_is_not_collapsed_into_a_wide_one():
    module, watcher = optimize(bottleneck(), preset="default")
    assert weight_shapes(module) == [(1, 256), (256, 1)]
    (reason,) = (r for r in watcher.refusals_of("SumCollapse") if "declined" in r)
    numbers = [int(word.replace(",", "")) for word in reason.split() if word.replace(",", "").isdigit()]
    assert reason.startswith("the rule declined: it does not pay: the cost for one example would go from ")
    assert len(numbers) == 2
    assert numbers[0] < numbers[1]


def test_the_handbook_preset_collapses_a_narrow_pair_too():
    module, _ = optimize(bottleneck(), preset="handbook")
    assert weight_shapes(module) == [(256, 256)]


@pytest.mark.parametrize("semiring", ["lse-sum", "sum-product"])
def test_the_default_preset_collapses_sums_of_equal_width(semiring: str):
    _, watcher = optimize(two_sums(), semiring, preset="default")
    assert watcher.applied() == {"SumCollapse": 1}


# ---- what the default preset adds


def mixing() -> Circuit:
    b = CircuitBuilder()
    (x,) = inputs(b, 1, units=3)
    lows = [b.sum(x, num_units=3, weight=positive(3, 3)) for _ in range(2)]
    weight = MixingWeightParameter((SoftmaxParameter((TensorParameter((3, 2)),)),))
    return b.build(b.sum(*lows, num_units=3, weight=weight))


def test_a_mixing_sum_keeps_one_weight_per_input_and_unit():
    module, watcher = optimize(mixing(), preset="default")
    assert watcher.applied() == {"Mixing": 1}
    layer = module.layers[-1]
    assert isinstance(layer, TorchMixingLayer)
    assert (layer.num_output_units, layer.num_input_units, layer.arity) == (3, 3, 2)
    assert repr(layer.weight) == "Tensor>Softmax(3, 2)"


def test_the_handbook_preset_leaves_a_mixing_sum_dense():
    module, _ = optimize(mixing(), preset="handbook")
    assert weight_shapes(module)[-1] == (3, 6)
    assert types_above_inputs(module) == ["Sum", "Sum", "Sum"]


def test_a_sum_of_several_inputs_with_a_dense_weight_does_not_become_a_mixing_layer():
    b = CircuitBuilder()
    (x,) = inputs(b, 1, units=2)
    module, watcher = optimize(b.build(b.sum(x, x, num_units=2, weight=positive(2, 4))), preset="default")
    assert types_above_inputs(module) == ["Sum"]
    assert "does not match MixingWeightOut" in only(watcher.refusals_of("Mixing"))


def softmax_coin(axis: int = 1) -> Circuit:
    b = CircuitBuilder()
    probs = SoftmaxParameter((TensorParameter((2, 3)),), axis=axis)
    return b.build(b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=3, probs=probs)))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_softmax_is_fused_into_a_categorical_as_log_softmax(axis: int):
    module, watcher = optimize(softmax_coin(axis), preset="default")
    assert watcher.applied() == {"CategoricalLogSoftmax": 1}
    layer = only(module.layers)
    assert isinstance(layer, TorchCategoricalLayer)
    assert layer.probs is None
    assert layer.logits is not None
    assert repr(layer.logits) == "Tensor>LogSoftmax(2, 3)"
    assert isinstance(layer.logits.output, TorchLogSoftmaxParameter)
    assert layer.logits.output.axis == axis


def test_log_softmax_is_not_fused_unless_activations_are_logarithms():
    module, watcher = optimize(softmax_coin(), "sum-product", preset="default")
    assert repr(only(module.layers).probs) == "Tensor>Softmax(2, 3)"
    assert watcher.refusals_of("CategoricalLogSoftmax") == [
        "the rule declined: activations are not logarithms under sum-product, so nothing is gained"
    ]


def test_log_softmax_does_not_underflow():
    circuit = softmax_coin()
    module = TorchCompiler().compile(circuit)
    far = np.array([[0.0, -2000.0, 0.0], [0.0, 0.0, -3000.0]])
    module.load_leaf_state({"0.probs": torch.from_numpy(far)})
    found = module(torch.tensor([[1], [2]])).detach().numpy()[:, 0]
    np.testing.assert_allclose(found[0, 0], -2000.0 - np.log(2))
    np.testing.assert_allclose(found[1, 1], -3000.0 - np.log(2))
