"""Views, copies, selections and casts: structure and equal bits; constant evaluation."""

import pytest
import torch
from torch import nn

from explorer.tensor import Constant, call, from_module, to_module
from explorer.tensor.ir.scalars import add, mul
from explorer.tensor.rules import canonicalize, casts, constants, views
from explorer.tensor.rules.optdb import optdb
from tests.tensor.rule_checks import apply, aten, canonical, check_rewrite, declined, graph_of, tensor
from tests.tensor.text_form import rewrites

x = tensor("x", 2, 3, 4)
matrix = tensor("m", 3, 4)


def ops(variable, *calls):
    for target, *arguments in calls:
        variable = call(target, variable, *arguments)
    return variable


@pytest.mark.parametrize(("before", "after"), rewrites("""
    view(x, [6, 4]) -> reshape(x, shape=[6, 4])
    flatten(x, start_dim=1) -> reshape(x, shape=[2, 12])
    unsqueeze(x, dim=1) -> reshape(x, shape=[2, 1, 3, 4])
    squeeze(unsqueeze(x, dim=1), dim=1) -> x
    view(view(x, [24]), [2, 12]) -> reshape(x, shape=[2, 12])
    view(view(x, [24]), [2, 3, 4]) -> x
    transpose(x, 0, 2) -> permute(x, dims=[2, 1, 0])
    transpose(transpose(x, 0, -1), 2, 0) -> x
    movedim(x, 0, 2) -> permute(x, dims=[1, 2, 0])
    permute(permute(x, [1, 2, 0]), [1, 2, 0]) -> permute(x, dims=[2, 0, 1])
    permute(x, [0, 1, -1]) -> x
    transpose(unsqueeze(x, dim=0), dim0=0, dim1=1) -> reshape(x, shape=[2, 1, 3, 4])
    squeeze(permute(unsqueeze(x, dim=3), dims=[1, 3, 0, 2]), dim=1) -> permute(x, dims=[1, 0, 2])
    permute(view(x, [2, 1, 3, 4]), [2, 0, 1, 3]) -> reshape(permute(x, dims=[1, 0, 2]), shape=[3, 2, 1, 4])
    expand(expand(x, [5, 2, 3, 4]), [6, 5, 2, 3, 4]) -> expand(x, size=[6, 5, 2, 3, 4])
    expand(x, [-1, 3, 4]) -> x
    neg(repeat(x, [1, 1, 1])) -> neg(x)
    neg(clone(x)) -> neg(x)
    neg(contiguous(x)) -> neg(x)
    detach(alias(x)) -> x
    neg(dropout(x, p=0.5, train=False)) -> neg(x)
    slice(x, start=0, end=9) -> x
    slice(slice(x, dim=2, start=1, end=4), dim=2, start=1, end=2) -> slice(x, dim=2, start=2, end=3)
    slice(slice(x, dim=2, start=-3), dim=2, start=-2) -> slice(x, dim=2, start=2, end=4)
    slice(slice(x, 2, 0, 4, 2), 2, 1, 2) -> slice(slice(x, dim=2, start=0, end=4, step=2), dim=2, start=1, end=2)
"""))  # fmt: skip
def test_chains_of_views(before, after):
    check_rewrite(canonicalize, before, after, {"x": x}, exact=True)


def test_a_view_of_a_tensor_with_other_strides_still_runs():
    class Shuffled(nn.Module):
        def forward(self, x):
            return x.permute(2, 0, 1).contiguous().view(4, 6) @ torch.arange(12.0).view(6, 2)

    data = torch.randn(2, 3, 4)
    graph = from_module(Shuffled(), (data,))
    optdb.query("+fast_run").rewrite(graph)
    assert "clone" not in graph.text()
    assert torch.equal(to_module(graph)(data), Shuffled()(data))


def test_a_reshape_with_two_users_stays_below_the_permutation():
    wide = call(aten.reshape.default, x, [2, 1, 3, 4])
    text = canonical([x], call(aten.neg.default, wide), call(aten.permute.default, wide, [2, 0, 1, 3]), exact=True)
    assert text == "[neg(*1 -> reshape(x, shape=[2, 1, 3, 4])), permute(*1, dims=[2, 0, 1, 3])]"


@pytest.mark.parametrize(
    ("rule", "calls", "reason"),
    [
        (views.drop_copy, [(aten.clone.default,)], "an output of the graph would share its memory with x"),
        (views.drop_copy, [(aten.clone.default,), (aten.alias.default,)], "an output of the graph would share"),
        (views.drop_single_cat, [], "an output of the graph would share"),
        (
            views.permute_before_reshape,
            [(aten.reshape.default, [6, 4]), (aten.permute.default, [1, 0])],
            "more than axes",
        ),
    ],
)
def test_rules_on_views_are_declined_with_a_reason(rule, calls, reason):
    made = ops(x, *calls) if calls else call(aten.cat.default, [x])
    assert reason in declined(rule, [x], made)


def test_a_copy_in_another_order_of_memory_stays():
    image = tensor("image", 1, 2, 3, 3)
    copy = call(aten.clone.default, image, memory_format=torch.channels_last)
    assert "channels_last" in declined(views.drop_copy, [image], call(aten.neg.default, copy))


def test_dropout_in_training_stays():
    graph = graph_of([x], call(aten.neg.default, call(aten.dropout.default, x, 0.5, True)))
    optdb.query("+fast_run", "-inplace").rewrite(graph)
    assert repr(graph) == "[neg(dropout(x, p=0.5, train=True))]"


def test_detach_stays_where_it_blocks_a_gradient():
    weight = Constant(nn.Parameter(torch.ones(2, 3, 4)), "weight", trainable=True)
    kept = call(aten.mul.Tensor, call(aten.detach.default, call(aten.exp.default, weight)), x)
    assert declined(views.drop_alias, [x], kept) == "it stops the gradient of weight"


def index(*rows):
    return Constant(torch.tensor(rows), "rows")


def test_selections_by_known_positions():
    def selected(*rows, dim=1, source=x):
        return call(aten.index_select.default, source, dim, index(*rows))

    assert canonical([x], call(aten.neg.default, selected(0, 1, 2)), exact=True) == "[neg(x)]"
    assert (
        canonical([x], call(aten.neg.default, selected(1, 2)), exact=True) == "[neg(slice(x, dim=1, start=1, end=3))]"
    )
    assert canonical([x], selected(2, 0, 1), exact=True) == "[index_select(x, rows, dim=1)]"
    twice = selected(1, 2, 0, source=selected(2, 0, 1))
    assert canonical([x], call(aten.neg.default, twice), exact=True) == "[neg(x)]"
    crossed = selected(1, 0, dim=0, source=selected(2, 0, 1))
    assert canonical([x], crossed, exact=True) == "[index_select(index_select(x, rows, dim=1), rows, dim=0)]"
    assert declined(views.merge_selects, [x], crossed) == "the two select along different axes"
    unknown = tensor("unknown", 2, dtype=torch.int64)
    both = call(aten.index_select.default, selected(2, 0, 1), 1, unknown)
    assert declined(views.merge_selects, [x, unknown], both) == "one of the two selections is unknown"


def test_where_with_a_known_condition_is_one_side():
    true = Constant(torch.ones(3, 4, dtype=torch.bool))
    other = tensor("o", 3, 4)
    both = call(aten.where.self, true, matrix, other)
    assert canonical([matrix, other], call(aten.neg.default, both), exact=True) == "[neg(m)]"
    number = call(aten.where.ScalarSelf, true, 1.0, other)
    assert declined(views.drop_decided_where, [other], number) == "the selected side is a number, not a tensor"


# ---------------------------------------------------------------------- casts


def cast(variable, *dtypes):
    for dtype in dtypes:
        variable = call(aten._to_copy.default, variable, dtype=dtype)
    return variable


f16, f32, f64, i8, i32, i64, u8 = (
    torch.float16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.int32,
    torch.int64,
    torch.uint8,
)


@pytest.mark.parametrize(
    ("start", "dtypes", "kept"),
    [
        (f32, [f32], []),
        (f32, [f64, f32], []),
        (f32, [f64, f16], [f16]),
        (f32, [f16, f32], [f16, f32]),
        (i32, [i64, i32], []),
        (i32, [i64, u8], [u8]),
        (i32, [f32, i32], [f32, i32]),
        (i32, [f64, i32], []),
        (i32, [f64, u8], [f64, u8]),
        (i8, [u8, i8], [u8, i8]),
        (torch.bool, [i32, i64, f32], [f32]),
        (f16, [torch.bfloat16, f32], [torch.bfloat16, f32]),
    ],
)
def test_casts(start, dtypes, kept):
    v = tensor("v", 3, dtype=start)
    text = canonical([v], call(aten.ne.Scalar, cast(v, *dtypes), 0), exact=True)
    assert text == repr(graph_of([v], call(aten.ne.Scalar, cast(v, *kept), 0)))


def test_casts_by_other_names_and_reasons():
    v, w = tensor("v", 3), tensor("w", 3, dtype=f64)
    assert canonical([v], call(aten.to.dtype, v, f64), exact=True) == "[_to_copy(v, dtype=torch.float64)]"
    assert canonical([v, w], call(aten.type_as.default, v, w), exact=True) == "[_to_copy(v, dtype=torch.float64)]"
    moved = call(aten._to_copy.default, v, dtype=f32, device=torch.device("cpu"))
    assert "another device" in declined(casts.drop_same_cast, [v], call(aten.neg.default, moved))
    assert "does not represent every" in declined(casts.merge_casts, [v], cast(v, f16, f32))


# ---------------------------------------------------------------------- constants


def constant(*shape, name="w", trainable=False):
    data = torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)
    return Constant(nn.Parameter(data) if trainable else data, name, trainable)


def test_constant_expressions_are_evaluated_once():
    weight = call(aten.permute.default, call(aten.softmax.int, constant(4, 3), -1), [1, 0])
    graph = apply(canonicalize.query("+fast_run"), [matrix], call(aten.mul.Tensor, matrix, weight), exact=True)
    assert repr(graph) == "[mul(m, w.softmax.moved)]"
    (found,) = graph.constants
    assert torch.equal(found.data, torch.softmax(constant(4, 3).data, -1).T)


def test_operators_without_inputs_are_evaluated_too():
    steps = call(aten.arange.default, 12, device=torch.device("cpu"), pin_memory=False)
    total = call(aten.add.Tensor, tensor("v", 3, 4, dtype=i64), call(aten.reshape.default, steps, [3, 4]))
    graph = graph_of([total.owner.inputs[0]], total)
    canonicalize.query("+fast_compile").rewrite(graph)
    assert len(graph) == 1
    assert graph.constants[0].data.tolist()[2] == [8, 9, 10, 11]


def test_several_results_and_random_ones():
    largest = call(aten.max.dim, constant(3, 4), 0)
    v = tensor("v", 4)
    graph = apply(canonicalize.query("+fast_run"), [v], mul(v, largest[0]), add(v, largest[1]))
    assert repr(graph) == "[mul(v, w.max_0), add(v, w.max_1)]"
    noise = call(aten.rand_like.default, constant(4))
    graph = graph_of([v], mul(v, noise))
    canonicalize.query("+fast_run").rewrite(graph)
    assert repr(graph) == "[mul(v, rand_like(w))]"


def test_trained_or_growing_constants_are_declined_with_a_reason():
    v = tensor("v", 4)
    requires_grad = mul(v, call(aten.exp.default, constant(4, trainable=True)))
    assert declined(constants.evaluate_constant, [v], requires_grad) == "w is trained, so its value is unknown"
    wide = tensor("wide", 600, 600)
    outer = mul(wide, call(aten.mul.Tensor, constant(600, 1), constant(1, 600, name="u")))
    reason = declined(constants.evaluate_constant, [wide], outer)
    assert reason.startswith("its result needs 1,440,000 bytes and its inputs 4,800;")
    half = mul(wide, call(aten.exp.default, constant(600, 600)))
    assert canonical([wide], half, low=0, high=1e-30) == "[mul(wide, w.exp)]", "as large as what it replaces"
    spread = mul(wide, call(aten.expand.default, constant(600, 1), [600, 600]))
    assert canonical([wide], spread) == "[mul(wide, w.moved)]", "a view takes no memory"
