"""Exact rules keep all bits: signs of zeros, NaN, infinities, integers that overflow; also types."""

import pytest
import torch

from explorer.rewrite import Exactness
from explorer.tensor import Constant, FunctionGraph, call, to_module
from tests.tensor.passes.checking import (
    aten,
    bits,
    check_pass,
    check_reason,
    constant,
    graph_pass,
    optimize,
    read,
    reasons,
    special_values,
    tensor,
    values,
    weakest_exactness,
)
from tests.tensor.text_form import rewrites

SHAPE = (3, 37)
SHAPES = {"x": SHAPE, "y": SHAPE, "image": (2, 7, 10), "small": (1, 1, 2, 2), "square": (1, 1, 6, 6)}


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
    """The exactness of one rule of a pass."""
    return next(rule.exactness for rule in graph_pass(name).local_rewriters() if rule.label == label)


@pytest.mark.parametrize(("label", "name", "before"), [  # a rule, and a graph in which it loses the sign of a zero
    ("add_zero", "OptimizeArithmeticNodes", "add(image, splat(0.0))"),
    ("max_is_leaky_relu", "FoldLeakyRelu", "maximum(image, mul(image, splat(-0.5)))"),
    ("min_max_is_clip", "FoldMinMaxToClip", "minimum(maximum(image, splat(0.0)), splat(6.0))"),
    ("relu_below_max_pool", "OptimizePool", "max_pool2d(relu(image), [2, 2])"),
    ("average_of_one", "EliminateNoop", "avg_pool2d(image, [1, 1])"),
    ("extremum_without_index", "EliminateIndices", "max.dim(image, 2)[0]"),
])  # fmt: skip
def test_rules_that_lose_the_sign_of_a_zero_are_not_exact(label, name, before, dtype):
    graph = optimize(*read(f"neg({before})", SHAPES, dtype), name)
    assert weakest_exactness(graph, 0, name) is Exactness.REAL
    assert exactness_of(name, label) is Exactness.REAL


def test_a_batch_norm_of_a_slice_rounds_differently(dtype):
    assert exactness_of("SinkCode", "batch_norm_below_slice") is Exactness.REAL
    assert exactness_of("SinkCode", "reshape_below_batch_norm") is Exactness.REAL


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.int32])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_the_position_of_a_number_matters_to_the_sign_of_a_maximum_of_zeros(name, kind):
    """PyTorch's kernels take another one of two zeros in the middle of a row than at its end."""
    before, after = f"{name}(permute(x, [1, 0]), permute(y, [1, 0]))", f"permute({name}(x, y), dims=[1, 0])"
    graph = check_pass("SinkCode", before, after, SHAPES, kind)
    assert weakest_exactness(graph, 0, "SinkCode") is Exactness.REAL


@pytest.mark.parametrize("name", ["add", "sub"])
@pytest.mark.parametrize(("alpha", "exactness"), [(", alpha=0.3", Exactness.REAL), ("", Exactness.EXACT)])
def test_a_product_and_a_sum_may_be_rounded_once_or_twice(alpha, exactness, name):
    before = f"{name}(permute(x, [1, 0]), permute(y, [1, 0]){alpha})"
    graph = check_pass("SinkCode", before, f"permute({name}(x, y{alpha}), dims=[1, 0])", SHAPES, torch.float16)
    assert weakest_exactness(graph, 0, "SinkCode") is exactness


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.int32])
@pytest.mark.parametrize("before", [
    "relu(clamp(x, -1, 1))",
    "clamp(clamp(x, -2, 0), 0, 5)",
    "clamp(relu(x), 0, 5)",
    "hardtanh(clamp(x, -2, 3), -1, 5)",
])  # fmt: skip
def test_nested_clips_preserve_every_bit(before, kind):
    graph = optimize(*read(before, SHAPES, kind), "OptimizeClips")
    assert len(graph) == 1 or not kind.is_floating_point


@pytest.mark.parametrize("name", ["OptimizeClips", "SinkCode"])
def test_a_bound_of_negative_zero_is_not_rewritten(name):
    check_pass(name, "relu(clamp(x, -0.0, 1.0))", "relu(clamp(x, min=-0.0, max=1.0))", SHAPES)


@pytest.mark.parametrize("kind", [torch.int8, torch.int32, torch.int64])
@pytest.mark.parametrize("above", ["abs", "square"])
def test_a_relu_of_integers_that_overflow_stays(above, kind):
    check_pass("RemoveIdentityRelu", f"relu({above}(x))", f"relu({above}(x))", SHAPES, kind)
    check_pass("RemoveIdentityClip", f"clamp({above}(x), 0)", f"clamp({above}(x), min=0)", SHAPES, kind)


@pytest.mark.parametrize("above", ["abs", "square", "exp", "sqrt", "sigmoid"])
def test_a_relu_of_a_nonnegative_value_preserves_every_bit(above, dtype):
    check_pass("RemoveIdentityRelu", f"relu({above}(x))", f"{above}(x)", SHAPES, dtype)


def test_a_relu_stays_above_pooling_whose_windows_may_hold_padding_only(dtype):
    before = "max_pool2d(relu(small), [2, 2], [1, 1], [1, 1], [3, 3])"
    check_reason("OptimizePool", before, "a window may contain only padding, which counts as -inf", SHAPES, dtype)
    before = f"relu({before})"
    after = "relu(max_pool2d(relu(small), kernel_size=[2, 2], stride=[1, 1], padding=[1, 1], dilation=[3, 3]))"
    check_pass("RemoveIdentityRelu", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    max_pool2d(relu(small), [2, 2], [1, 1], [1, 1])
        -> relu(max_pool2d(small, kernel_size=[2, 2], stride=[1, 1], padding=[1, 1]))
    max_pool2d(relu(square), [2, 2], [1, 1], [0, 0], [3, 3])
        -> relu(max_pool2d(square, kernel_size=[2, 2], stride=[1, 1], dilation=[3, 3]))
"""))  # fmt: skip
def test_a_relu_moves_below_pooling_whose_windows_hold_numbers(before, after, dtype):
    check_pass("OptimizePool", before, after, SHAPES, dtype)


def test_complex_products_with_one_stay_and_keep_the_order_of_their_factors():
    known = {"x": SHAPE, "C": SHAPE}
    for product in ("mul(x, splat(1.0))", "mul(C, x)"):
        assert reasons(*read(product, known, torch.complex64), "OptimizeArithmeticNodes") == []


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_a_constant_with_a_zero_keeps_its_operand_position_in_a_maximum(name, dtype):
    check_pass("OptimizeArithmeticNodes", f"{name}(splat(0.0, 3, 37), x)", f"{name}(full(0), x)", SHAPES, dtype)
    check_pass("OptimizeArithmeticNodes", f"{name}(splat(2.0, 3, 37), x)", f"{name}(x, full(2))", SHAPES, dtype)


@pytest.mark.parametrize("factor", ["inf", "nan"])
def test_zero_times_an_infinite_number_is_nan(factor):
    assert reasons(*read(f"add(x, splat(0.0), alpha={factor})", SHAPES), "OptimizeArithmeticNodes") == []


def test_lossy_conversions_from_floating_point_to_integers_stay():
    shapes = {"n": "i8[40]"}
    for narrow in (torch.uint8, torch.bool):
        before = f"_to_copy(_to_copy(n, dtype=torch.float32), dtype={narrow})"
        reason = f"from torch.int8 to {narrow} via torch.float32 may round differently"
        check_reason("OptimizeConversions", before, reason, shapes)
    wide = "_to_copy(_to_copy(n, dtype=torch.float32), dtype=torch.int64)"
    check_pass("OptimizeConversions", wide, "_to_copy(n, dtype=torch.int64)", shapes)


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
    before, after = "add(mm(n, splat(2, 3, 4)), splat(3, 4))", "linear(n, full(2), full(3))"
    check_pass("FoldMatMulAddIntoFullyConnected", before, after, {"n": (2, 3)}, torch.int64)


def test_a_maximum_of_bools_is_not_a_clip():
    before = "minimum(maximum(x, splat(False)), splat(True))"
    assert reasons(*read(before, SHAPES, torch.bool), "FoldMinMaxToClip") == []


def test_in_place_operators_are_not_evaluated_on_constants():
    c = constant(3)
    before = c.data.clone()
    assert reasons([], call(aten.add_.Tensor, c, 1.0), "ConstantFold") == []
    assert torch.equal(c.data, before)


def test_a_batch_norm_without_weight_next_to_one_with_constant_weight():
    before = "mul(explorer.batch_norm(x, None, None, A, B, 0.001, 1), 2.0)"
    after = "batch_norm(x, full(2), full(0), A, B, eps=0.001, axis=1)"
    shapes = {"x": (2, 3, 4, 4), "A": (3,), "B": (3,)}
    check_pass("FoldBatchNormalizationWithArithmeticChain", before, after, shapes)
