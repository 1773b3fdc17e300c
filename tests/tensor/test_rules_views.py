"""Views, copies, selections and casts: structure and equal bits; constant evaluation."""

import pytest
import torch
from torch import nn

from explorer.tensor import Constant, call, from_module, to_module
from explorer.tensor.ir.scalars import add, mul
from explorer.tensor.rules import canonicalize, casts, constants, optdb, views
from tests.tensor.rule_checks import (
    apply,
    aten,
    canonical,
    check_declined,
    check_rewrite,
    decline_reason,
    graph_of,
    read,
    tensor,
    tensors,
)
from tests.tensor.text_form import rewrites

TENSORS = {
    **tensors(x=(2, 3, 4), m=(3, 4), o=(3, 4), image=(1, 2, 3, 3)),
    **tensors(torch.float64, double=(3, 4)),
    **tensors(torch.int64, unknown=(2,)),
    "r012": Constant(torch.tensor([0, 1, 2]), "r012"),
    "r12": Constant(torch.tensor([1, 2]), "r12"),
    "r201": Constant(torch.tensor([2, 0, 1]), "r201"),
    "r120": Constant(torch.tensor([1, 2, 0]), "r120"),
    "r10": Constant(torch.tensor([1, 0]), "r10"),
    "true": Constant(torch.ones(3, 4, dtype=torch.bool), "true"),
    "w": Constant(torch.arange(1.0, 13.0).reshape(4, 3), "w"),
    "weight": Constant(nn.Parameter(torch.ones(2, 3, 4)), "weight", trainable=True),
}


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
    check_rewrite(canonicalize, before, after, TENSORS, exact=True)


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
    before = "wide = reshape(x, [2, 1, 3, 4]); [neg(wide), permute(wide, [2, 0, 1, 3])]"
    after = "neg(*1 -> reshape(x, shape=[2, 1, 3, 4])), permute(*1, dims=[2, 0, 1, 3])"
    check_rewrite(canonicalize, before, after, TENSORS, exact=True)


@pytest.mark.parametrize(("rule", "before", "reason"), [
    (views.drop_copy, "clone(x)", "an output of the graph would share its memory with x"),
    (views.drop_copy, "alias(clone(x))", "an output of the graph would share"),
    (views.drop_copy, "neg(clone(image, memory_format=torch.channels_last))", "channels_last"),
    (views.drop_single_cat, "cat(x)", "an output of the graph would share"),
    (views.permute_before_reshape, "permute(reshape(x, [6, 4]), [1, 0])", "more than axes"),
    (views.drop_alias, "mul(detach(exp(weight)), x)", "it stops the gradient of weight"),
    (views.merge_selects, "index_select(index_select(x, 1, r201), 0, r10)", "the two select along different axes"),
    (views.merge_selects, "index_select(index_select(x, 1, r201), 1, unknown)", "one of the two selections is unknown"),
    (views.drop_decided_where, "where.ScalarSelf(true, 1.0, m)", "the selected side is a number, not a tensor"),
    (casts.merge_casts, "_to_copy(_to_copy(m, dtype=torch.float16), dtype=torch.float32)", "does not represent every"),
])  # fmt: skip
def test_rules_on_views_are_declined_with_a_reason(rule, before, reason):
    check_declined(rule, before, reason, TENSORS)


def test_dropout_in_training_stays():
    graph = graph_of(*read("neg(dropout(x, 0.5, True))", TENSORS))
    optdb.query("+fast_run", "-inplace").rewrite(graph)
    assert repr(graph) == "[neg(dropout(x, p=0.5, train=True))]"


@pytest.mark.parametrize(("before", "after"), rewrites("""
    neg(index_select(x, 1, r012)) -> neg(x)
    neg(index_select(x, 1, r12)) -> neg(slice(x, dim=1, start=1, end=3))
    index_select(x, 1, r201) -> index_select(x, r201, dim=1)
    neg(index_select(index_select(x, 1, r201), 1, r120)) -> neg(x)
    index_select(index_select(x, 1, r201), 0, r10) -> index_select(index_select(x, r201, dim=1), r10, dim=0)
    neg(where(true, m, o)) -> neg(m)
"""))  # fmt: skip
def test_selections_by_known_positions_and_conditions(before, after):
    check_rewrite(canonicalize, before, after, TENSORS, exact=True)


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


def test_casts_by_other_names_and_to_a_device():
    cast = "_to_copy(m, dtype=torch.float64)"
    check_rewrite(canonicalize, "to.dtype(m, torch.float64)", cast, TENSORS, exact=True)
    check_rewrite(canonicalize, "type_as(m, double)", cast, TENSORS, exact=True)
    m = tensor("m", 3)
    moved = call(aten._to_copy.default, m, dtype=f32, device=torch.device("cpu"))
    assert "another device" in decline_reason(casts.drop_same_cast, [m], call(aten.neg.default, moved))


# ---------------------------------------------------------------------- constants


def constant(*shape, name="w", trainable=False):
    data = torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)
    return Constant(nn.Parameter(data) if trainable else data, name, trainable)


def test_constant_expressions_are_evaluated_once():
    before, after = "mul(m, permute(softmax(w, -1), [1, 0]))", "mul(m, w.softmax.moved)"
    check_rewrite(canonicalize, before, after, TENSORS, exact=True)


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
    assert decline_reason(constants.evaluate_constant, [v], requires_grad) == "w is trained, so its value is unknown"
    wide = tensor("wide", 600, 600)
    outer = mul(wide, call(aten.mul.Tensor, constant(600, 1), constant(1, 600, name="u")))
    reason = decline_reason(constants.evaluate_constant, [wide], outer)
    assert reason.startswith("its result needs 1,440,000 bytes and its inputs 4,800;")
    half = mul(wide, call(aten.exp.default, constant(600, 600)))
    assert canonical([wide], half, low=0, high=1e-30) == "[mul(wide, w.exp)]", "as large as what it replaces"
    spread = mul(wide, call(aten.expand.default, constant(600, 1), [600, 600]))
    assert canonical([wide], spread) == "[mul(wide, w.moved)]", "a view takes no memory"
