"""Exact rules keep all bits: signs of zeros, NaN, infinities, integers that overflow; also types."""

import pytest
import torch

from explorer.rewrite import Exactness
from explorer.tensor import Constant, FunctionGraph, call, library, to_module
from tests.tensor.passes.checking import (
    aten,
    bits,
    constant,
    full,
    graph_pass,
    ops,
    optimized,
    promised,
    reasons,
    run,
    special_values,
    tensor,
    values,
)

SHAPE = (3, 37)


def test_zeros_with_different_signs_and_nan_are_distinguished():
    nan, zero = torch.tensor([float("nan")]), torch.tensor([0.0])
    assert not torch.equal(bits(zero), bits(-zero))
    assert not torch.equal(bits(nan), bits(torch.tensor([7.0])))
    assert torch.equal(bits(nan), bits(-nan))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.bool])
def test_special_values_are_drawn(dtype):
    (drawn,) = special_values(FunctionGraph([tensor(400, dtype=dtype)], []))
    assert drawn.dtype is dtype
    if dtype.is_floating_point:
        zeros = drawn[drawn == 0]
        assert drawn.isnan().any()
        assert drawn.isinf().any()
        assert zeros.signbit().any()
        assert not zeros.signbit().all()
    elif dtype is torch.int8:
        assert {-128, 0, 127} <= set(drawn.tolist())


def exactness_of(name, label):
    """What one rule of a pass promises."""
    return next(rule.exactness for rule in graph_pass(name).local_rewriters() if rule.label == label)


INEXACT = {  # a rule that loses the sign of a zero, or rounds otherwise, and a graph where it does
    "add_zero": ("OptimizeArithmeticNodes", lambda x: call(aten.add.Tensor, x, full(0.0, dtype=x.type.dtype))),
    "max_is_leaky_relu": (
        "FoldLeakyRelu",
        lambda x: call(aten.maximum.default, x, call(aten.mul.Tensor, x, full(-0.5, dtype=x.type.dtype))),
    ),
    "min_max_is_clip": (
        "FoldMinMaxToClip",
        lambda x: call(
            aten.minimum.default,
            call(aten.maximum.default, x, full(0.0, dtype=x.type.dtype)),
            full(6.0, dtype=x.type.dtype),
        ),
    ),
    "relu_below_max_pool": (
        "OptimizePool",
        lambda x: call(aten.max_pool2d.default, call(aten.relu.default, x), [2, 2]),
    ),
    "average_of_one": ("EliminateNoop", lambda x: call(aten.avg_pool2d.default, x, [1, 1])),
    "extremum_without_index": ("EliminateIndices", lambda x: call(aten.max.dim, x, 2)[0]),
}


@pytest.mark.parametrize("label", INEXACT)
def test_rules_that_lose_the_sign_of_a_zero_are_not_exact(label, dtype):
    name, make = INEXACT[label]
    x = tensor(2, 7, 10, dtype=dtype)
    graph = FunctionGraph([x], [call(aten.neg.default, make(x))])
    mark = graph.checkpoint()
    run(graph, name)
    assert promised(graph, mark, name) is Exactness.REAL
    assert exactness_of(name, label) is Exactness.REAL


def test_a_batch_norm_of_a_slice_rounds_differently(dtype):
    assert exactness_of("SinkCode", "batch_norm_below_slice") is Exactness.REAL
    assert exactness_of("SinkCode", "reshape_below_batch_norm") is Exactness.REAL


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.int32])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_the_position_of_a_number_matters_to_the_sign_of_a_maximum_of_zeros(name, kind):
    """PyTorch's kernels take another one of two zeros in the middle of a row than at its end."""
    x, y = tensor(*SHAPE, dtype=kind), tensor(*SHAPE, dtype=kind, name="y")
    target = getattr(aten, name).default
    graph = FunctionGraph([x, y], [call(target, *(call(aten.permute.default, v, [1, 0]) for v in (x, y)))])
    mark = graph.checkpoint()
    run(graph, "SinkCode")
    assert ops(graph) == [name, "permute"]
    assert promised(graph, mark, "SinkCode") is Exactness.REAL


@pytest.mark.parametrize("name", ["add", "sub"])
def test_a_product_and_a_sum_may_be_rounded_once_or_twice(name):
    x, y = tensor(*SHAPE, dtype=torch.float16), tensor(*SHAPE, dtype=torch.float16, name="y")
    turned = [call(aten.permute.default, v, [1, 0]) for v in (x, y)]
    graph = FunctionGraph([x, y], [call(getattr(aten, name).Tensor, *turned, alpha=0.3)])
    mark = graph.checkpoint()
    run(graph, "SinkCode")
    assert ops(graph) == [name, "permute"]
    assert promised(graph, mark, "SinkCode") is Exactness.REAL
    plain = FunctionGraph([x, y], [call(getattr(aten, name).Tensor, *turned)])
    run(plain, "SinkCode")
    assert promised(plain, 0, "SinkCode") is Exactness.EXACT


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.int32])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: call(aten.relu.default, call(aten.clamp.default, x, -1, 1)),
        lambda x: call(aten.clamp.default, call(aten.clamp.default, x, -2, 0), 0, 5),
        lambda x: call(aten.clamp.default, call(aten.relu.default, x), 0, 5),
        lambda x: call(aten.hardtanh.default, call(aten.clamp.default, x, -2, 3), -1, 5),
    ],
)
def test_nested_clips_preserve_every_bit(make, kind):
    x = tensor(*SHAPE, dtype=kind)
    graph = optimized([x], make(x), "OptimizeClips")
    assert len(graph) == 1 or not kind.is_floating_point


@pytest.mark.parametrize("name", ["OptimizeClips", "SinkCode"])
def test_a_bound_of_negative_zero_is_not_rewritten(name):
    x = tensor(*SHAPE)
    graph = optimized([x], call(aten.relu.default, call(aten.clamp.default, x, -0.0, 1.0)), name)
    assert ops(graph) == ["clamp", "relu"]


@pytest.mark.parametrize("kind", [torch.int8, torch.int32, torch.int64])
@pytest.mark.parametrize("above", ["abs", "square"])
def test_a_relu_of_integers_that_overflow_stays(above, kind):
    x = tensor(*SHAPE, dtype=kind)
    y = call(getattr(aten, above).default, x)
    assert ops(optimized([x], call(aten.relu.default, y), "RemoveIdentityRelu")) == [above, "relu"]
    assert ops(optimized([x], call(aten.clamp.default, y, 0), "RemoveIdentityClip")) == [above, "clamp"]


@pytest.mark.parametrize("above", ["abs", "square", "exp", "sqrt", "sigmoid"])
def test_a_relu_of_a_nonnegative_value_preserves_every_bit(above, dtype):
    x = tensor(*SHAPE, dtype=dtype)
    y = call(aten.relu.default, call(getattr(aten, above).default, x))
    assert ops(optimized([x], y, "RemoveIdentityRelu")) == [above]


def pooled(x, padding, dilation):
    return call(aten.max_pool2d.default, x, [2, 2], [1, 1], [padding, padding], [dilation, dilation])


def test_a_relu_stays_above_pooling_whose_windows_may_hold_padding_only(dtype):
    x = tensor(1, 1, 2, 2, dtype=dtype)
    declined = reasons([x], pooled(call(aten.relu.default, x), 1, 3), "OptimizePool")
    assert declined == ["a window may contain only padding, which counts as -inf"]
    assert ops(optimized([x], pooled(call(aten.relu.default, x), 1, 1), "OptimizePool"))[-1] == "relu"
    apart = tensor(1, 1, 6, 6, dtype=dtype)
    assert ops(optimized([apart], pooled(call(aten.relu.default, apart), 0, 3), "OptimizePool"))[-1] == "relu"


def test_a_relu_of_pooling_whose_windows_may_hold_padding_only_stays(dtype):
    x = tensor(1, 1, 2, 2, dtype=dtype)
    y = call(aten.relu.default, pooled(call(aten.relu.default, x), 1, 3))
    assert ops(optimized([x], y, "RemoveIdentityRelu")) == ["relu", "max_pool2d", "relu"]


def test_complex_products_with_one_stay_and_keep_the_order_of_their_factors():
    x = tensor(3, 37, dtype=torch.complex64)
    product = call(aten.mul.Tensor, x, full(1.0, dtype=torch.complex64))
    assert reasons([x], product, "OptimizeArithmeticNodes") == []
    product = call(aten.mul.Tensor, Constant(torch.randn(3, 37, dtype=torch.complex64)), x)
    assert reasons([x], product, "OptimizeArithmeticNodes") == []


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_a_constant_with_a_zero_keeps_its_operand_position_in_a_maximum(name, dtype):
    x = tensor(*SHAPE, dtype=dtype)
    target = getattr(aten, name).default
    with_zero = call(target, full(0.0, *SHAPE, dtype=dtype), x)
    assert reasons([x], with_zero, "OptimizeArithmeticNodes") == []
    without = optimized([x], call(target, full(2.0, *SHAPE, dtype=dtype), x), "OptimizeArithmeticNodes")
    assert isinstance(without.toposort()[0].inputs[1], Constant)


@pytest.mark.parametrize("factor", [float("inf"), float("nan")])
def test_zero_times_an_infinite_number_is_nan(factor):
    x = tensor(3)
    assert reasons([x], call(aten.add.Tensor, x, full(0.0), alpha=factor), "OptimizeArithmeticNodes") == []


def test_lossy_conversions_from_floating_point_to_integers_stay():
    n = tensor(40, dtype=torch.int8, name="n")
    there = call(aten._to_copy.default, n, dtype=torch.float32)
    for narrow in (torch.uint8, torch.bool):
        (why,) = reasons([n], call(aten._to_copy.default, there, dtype=narrow), "OptimizeConversions")
        assert why == f"from torch.int8 to {narrow} via torch.float32 may round differently"
    wide = call(aten._to_copy.default, there, dtype=torch.int64)
    assert ops(optimized([n], wide, "OptimizeConversions")) == ["_to_copy"]


# ---------------------------------------------------------------------- what PyTorch's kernels refuse


OTHER_TYPES = [(torch.float32, torch.float64), (torch.int64, torch.float32), (torch.float16, torch.float32)]


@pytest.mark.parametrize(("kind", "other"), OTHER_TYPES)
@pytest.mark.parametrize("known", [True, False])
def test_a_sum_of_a_different_dtype_is_not_fused_into_a_product(known, kind, other):
    """PyTorch's fake tensors would take it, its kernels do not."""
    x, w, b = tensor(2, 3, dtype=kind), tensor(3, 4, dtype=kind, name="w"), tensor(4, dtype=other, name="b")
    weight = Constant(torch.ones(3, 4, dtype=kind)) if known else w
    total = call(aten.add.Tensor, call(aten.matmul.default, x, weight), b)
    declined = reasons([x, w, b], total, "FoldMatMulAddIntoFullyConnected")
    assert declined == ["the other summand has another type than the product"]
    graph = FunctionGraph([x, w, b], [total])
    to_module(graph)(*(torch.ones_like(given) for given in values(graph)))


def test_products_of_integers_and_sums_of_them_run():
    x, b = tensor(2, 3, dtype=torch.int64), full(3, 4, dtype=torch.int64)
    product = call(aten.mm.default, x, full(2, 3, 4, dtype=torch.int64))
    assert ops(optimized([x], call(aten.add.Tensor, product, b), "FoldMatMulAddIntoFullyConnected")) == ["linear"]


def test_a_maximum_of_bools_is_not_a_clip():
    x = tensor(4, dtype=torch.bool)
    y = call(aten.maximum.default, x, Constant(torch.tensor(False)))
    y = call(aten.minimum.default, y, Constant(torch.tensor(True)))
    assert reasons([x], y, "FoldMinMaxToClip") == []


def test_in_place_operators_are_not_evaluated_on_constants():
    c = constant(3)
    before = c.data.clone()
    assert reasons([], call(aten.add_.Tensor, c, 1.0), "ConstantFold") == []
    assert torch.equal(c.data, before)


def test_a_batch_norm_without_weight_next_to_one_with_constant_weight():
    x = tensor(2, 3, 4, 4)
    y = call(library.batch_norm, x, None, None, constant(3), constant(3, seed=1), 1e-3, 1)
    assert ops(optimized([x], call(aten.mul.Tensor, y, 2.0), "FoldBatchNormalizationWithArithmeticChain")) == [
        "batch_norm"
    ]
