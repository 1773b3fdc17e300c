"""Strides: operators and outputs that depend on them keep them."""

from functools import cache

import pytest
import torch

import explorer
from explorer.rewrite import PassManager
from explorer.tensor import FunctionGraph, from_module, to_module
from explorer.tensor.passes import passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from explorer.tensor.rules import canonicalize, optdb
from tests.tensor.passes.checking import check_reason, graph_pass, ops, read

X = torch.linspace(-2.0, 2.0, 24).sin().reshape(2, 3, 4)


class Made(torch.nn.Module):
    """A module of one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *given):
        return self.function(*given)


@torch.library.custom_op("explorer_tests::as_they_lie", mutates_args=())
def as_they_lie(x: torch.Tensor) -> torch.Tensor:
    """The numbers in the order of memory: an operator that nobody knows."""
    return x.as_strided((x.numel(),), (1,)).clone()


@as_they_lie.register_fake
def _(x):
    return x.new_empty((x.numel(),))


LOOKING = {
    "as_strided": lambda x: (x * 2).transpose(0, 2).contiguous().as_strided((2, 2), (1, 2)),
    "as_strided behind a view": lambda x: (x * 2).transpose(0, 2).contiguous().view(4, 6).t().as_strided((3,), (5,)),
    "as_strided behind an operator": lambda x: (x * 2).transpose(0, 2).contiguous().relu().as_strided((2, 2), (1, 2)),
    "as_strided behind a sum": lambda x: ((x * 2).transpose(0, 2).contiguous() + x.mT.mT.T).as_strided((3, 2), (2, 5)),
    "complex": lambda x: torch.view_as_complex((x + 1).permute(1, 2, 0).contiguous()),
    "bits": lambda x: (x * 2).mT.contiguous().view(torch.int16),
    "an operator of someone else": lambda x: as_they_lie((x * 2).mT.contiguous()),
}


@cache
def imported(function):
    """The graph of a function of X, made once: rewrite a clone of it."""
    return from_module(Made(function), (X,))


def run_modes(function, pipeline):
    graph = imported(function).clone()
    if pipeline == "rules":
        optdb.query("+fast_run").rewrite(graph)
    else:
        PassManager(DEFAULT_PIPELINE, passes).run(graph)
    return to_module(graph)(X)


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.parametrize("pipeline", ["rules", "passes"])
@pytest.mark.parametrize("form", LOOKING)
def test_a_copy_stays_if_a_user_depends_on_its_strides(form, pipeline):
    assert torch.equal(run_modes(LOOKING[form], pipeline), LOOKING[form](X))


def test_a_decomposed_group_norm_runs_on_a_transposed_input():
    x = torch.randn(2, 2, 3, 4)
    module = Made(lambda x: torch.nn.functional.group_norm(x.transpose(2, 3), 1))
    compiled = explorer.record(module, (x,), operators="core").compiled
    torch.testing.assert_close(compiled(x), module(x))


def expanded_tensor(x):
    """A tensor with one number in memory along its first axis."""
    return (x * 2).sum(0, keepdim=True).expand(5, 3, 4)


MOVED = {
    "join": lambda x: torch.cat([(x * 2).mT, (x * 3).mT], 1).as_strided((2, 3), (1, 2)),
    "padding": lambda x: torch.nn.functional.pad((x * 2).mT, (1, 0)).as_strided((2, 3), (1, 2)),
    "repetition": lambda x: as_they_lie((x * 2).mT.repeat(2, 1, 1)),
    "complex": lambda x: torch.view_as_complex(torch.cat([(x * 2)[:, :2].mT, (x * 3)[:, :2].mT], 1)),
    "bits": lambda x: torch.cat([(x * 2).mT, (x * 3).mT], 2).view(torch.int16),
    "product": lambda x: as_they_lie(expanded_tensor(x) * 1),
    "convolution": lambda x: as_they_lie(
        torch.nn.functional.conv2d((x * 2)[None].permute(0, 3, 1, 2), torch.ones(5, 4, 1, 1))
    ),
}


@pytest.mark.parametrize("form", MOVED)
def test_no_pass_changes_strides_that_a_user_depends_on(form):
    torch.testing.assert_close(run_modes(MOVED[form], "passes"), MOVED[form](X))


OUTPUTS = {
    "contiguous": lambda x: (x * 2).mT.contiguous(),
    "an operator behind": lambda x: (x * 2).mT.contiguous().relu(),
    "a view behind": lambda x: (x * 2).mT.contiguous()[:, 1:],
    "expanded": lambda x: expanded_tensor(x).clone(),
    "joined alone": lambda x: torch.cat([expanded_tensor(x)]),
    "repeated once": lambda x: expanded_tensor(x).repeat(1, 1, 1),
    "padded by nothing": lambda x: torch.nn.functional.pad(expanded_tensor(x), (0, 0)),
    "all rows": lambda x: (x * 2).mT.index_select(1, torch.arange(4)),
}


@pytest.mark.parametrize("pipeline", ["rules", "passes"])
@pytest.mark.parametrize("form", OUTPUTS)
def test_outputs_keep_their_strides(form, pipeline):
    wanted = OUTPUTS[form](X)
    found = run_modes(OUTPUTS[form], pipeline)
    assert torch.equal(found, wanted)
    assert found.stride() == wanted.stride()


COPY = "contiguous(t(mul(x, 2.0)))"
SHAPES = {"x": (3, 4)}


def test_the_user_that_depends_on_a_copy_is_named():
    check_reason("EliminateNoop", COPY, "an output of the graph depends on the strides of the copy", SHAPES)
    strided = f"as_strided({COPY}, [2, 2], [1, 2])"
    check_reason("EliminateNoop", strided, "as_strided depends on the strides of the copy", SHAPES)


@pytest.mark.parametrize("before", [
    f"mm({COPY}, splat(1.0, 3, 3))",
    f"clone(relu({COPY}), memory_format=torch.contiguous_format)",
    f"reshape({COPY}, [12])",
])  # fmt: skip
def test_a_copy_is_removed_if_no_user_depends_on_its_strides(before):
    graph = FunctionGraph(*read(before, SHAPES))
    graph_pass("EliminateNoop").run(graph)
    assert "contiguous" not in ops(graph)


def test_a_copy_with_the_strides_of_its_source_is_removed():
    graph = FunctionGraph(*read("clone(relu(t(mul(x, 2.0))))", SHAPES))
    graph_pass("EliminateNoop").run(graph)
    assert ops(graph) == ["mul", "t", "relu"]


class Masked(torch.nn.Module):
    """The positions of the numbers of a copy that a dropout leaves."""

    def forward(self, x):
        copy = x.permute(1, 0).clone(memory_format=torch.contiguous_format)
        return (torch.nn.functional.dropout(copy * 2, 0.5, True) != 0).sum(0)


@pytest.mark.parametrize("pipeline", [None, "EliminateNoop"])
def test_the_same_seed_draws_the_same_mask(pipeline):
    x = torch.randn(8, 6)
    found = []
    for module in (Masked(), explorer.record(Masked(), (x,), pipeline).compiled):
        torch.manual_seed(1)
        found.append(module(x))
    assert torch.equal(*found)


def test_sums_of_tensors_with_other_strides_are_exact_only_with_the_copy():
    """Added up in another order they are rounded otherwise: then the rule that says so leaves the copy out."""
    exact, real = (FunctionGraph(*read("sum(contiguous(t(x)), [0])", {"x": (300, 257)})) for _ in range(2))
    canonicalize.query("+exact").rewrite(exact)
    canonicalize.query("+fast_run").rewrite(real)
    assert ops(exact) == ["permute", "contiguous", "sum"]
    assert ops(real) == ["permute", "sum"]
