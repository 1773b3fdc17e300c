"""Operators of our own with channels last: the values, gradients, shapes and refusals of PyTorch's operators."""

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import OperatorError
from explorer.tensor import FunctionGraph, TensorType, Variable, call, library

aten = torch.ops.aten
LAST, SECOND = (0, 2, 3, 1), (0, 3, 1, 2)


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape)))


STATISTICS = (random(6), random(6), random(6), random(6).abs() + 0.5)

CASES = [
    (library.conv2d_nhwc, aten.conv2d.default, (random(4, 3, 3, 6), random(4), [2, 1], [1, 2], [1, 2], 1)),
    (library.conv2d_nhwc, aten.conv2d.default, (random(6, 3, 3, 2), None, [1, 1], [0, 0], [1, 1], 3)),
    (library.max_pool2d_nhwc, aten.max_pool2d.default, ([3, 2], [2, 2], [1, 1], [1, 2], True)),
    (library.max_pool2d_nhwc, aten.max_pool2d.default, ([2, 2],)),
    (library.avg_pool2d_nhwc, aten.avg_pool2d.default, ([3, 2], [2, 2], [1, 1], True, False, None)),
    (library.avg_pool2d_nhwc, aten.avg_pool2d.default, ([3, 3], [1, 1], [0, 0], False, True, 5)),
    (library.adaptive_avg_pool2d_nhwc, aten.adaptive_avg_pool2d.default, ([3, 2],)),
    (library.batch_norm, aten._native_batch_norm_legit_no_training.default, (*STATISTICS, 0.01)),
    (library.batch_norm, aten._native_batch_norm_legit_no_training.default, (None, None, *STATISTICS[2:], 0.01)),
]


def by_hand(target, rest, x):
    """The same by PyTorch's operator, between transposes."""
    if target.name().endswith("no_training"):
        return target(x.permute(SECOND), *rest[:4], 0.1, rest[4])[0].permute(LAST)
    if rest[0] is not None and isinstance(rest[0], torch.Tensor):
        rest = (rest[0].permute(SECOND), *rest[1:])
    return target(x.permute(SECOND), *rest).permute(LAST)


@pytest.mark.parametrize(("op", "target", "rest"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_operator_with_channels_last_equals_that_of_pytorch_between_transposes(op, target, rest):
    x = random(2, 7, 8, 6).requires_grad_()
    rest = (*rest, 3) if op is library.batch_norm else rest
    found, wanted = op(x, *rest), by_hand(target, rest, x)
    assert torch.equal(found, wanted)
    weights = torch.randn_like(found)
    gradients = [torch.autograd.grad((result * weights).sum(), x)[0] for result in (found, wanted)]
    assert torch.equal(*gradients)
    checks = ("test_schema", "test_faketensor", "test_aot_dispatch_static")
    torch.library.opcheck(op, (x.detach(), *rest), test_utils=checks)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_a_batch_norm_works_along_any_axis(axis):
    x = random(6, 6, 6)
    weight, bias, mean, var = STATISTICS
    moved = library.batch_norm(x.movedim(axis, 1), weight, bias, mean, var, 1e-3, 1)
    found = library.batch_norm(x, weight, bias, mean, var, 1e-3, axis)
    assert torch.equal(found, moved.movedim(1, axis))
    along = [1] * 3
    along[axis] = 6
    by_formula = (x - mean.view(along)) / (var.view(along) + 1e-3).sqrt() * weight.view(along) + bias.view(along)
    assert torch.allclose(found, by_formula, rtol=1e-12)


class NormOfTransposed(nn.Module):
    """Normalizes the last axis, as transformers of time series do."""

    def __init__(self):
        super().__init__()
        self.norm, self.top = nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x):
        return self.top(self.norm(x.transpose(1, 2)).transpose(1, 2))


def test_a_batch_norm_along_the_last_axis_compiles_with_the_views_behind_it():
    """Of the module itself it does not: PyTorch's fake batch norm keeps the strides of the input, the real one not."""
    module, x = NormOfTransposed().eval(), torch.randn(4, 5, 8)
    compiled = explorer.record(module, (x,)).compiled
    torch.compiler.reset()
    with torch.no_grad():
        fast = torch.compile(compiled, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(fast(x), module(x))
    torch.compiler.reset()


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_batch_norm_with_channels_last_keeps_the_strides(layout):
    x = random(2, 6, 4, 5).contiguous(memory_format=layout).permute(LAST)
    found = library.batch_norm(x, None, None, *STATISTICS[2:], 1e-3, 3)
    assert found.stride() == x.stride()


def test_shapes_are_inferred_and_inputs_without_batch_are_refused():
    x = Variable(TensorType(torch.float32, (2, 7, 8, 6)), name="x")
    weight = Variable(TensorType(torch.float32, (4, 3, 3, 6)), name="w")
    found = call(library.conv2d_nhwc, x, weight, None, [2, 2], [1, 1])
    assert str(found.type) == "f32[2,4,4,4] NHWC"
    assert FunctionGraph([x, weight], [found]).text().splitlines()[2] == (
        "%0 = explorer.conv2d_nhwc.default(%x, %w, stride=[2, 2], padding=[1, 1]) : f32[2,4,4,4] NHWC"
    )
    flat = Variable(TensorType(torch.float32, (7, 8, 6)))
    with pytest.raises(OperatorError, match=r"expected the axes .batch, height, width, channels., got 3 axes"):
        call(library.max_pool2d_nhwc, flat, [2, 2])


def test_axis_names_follow_transposes_regardless_of_caching():
    shape = (2, 3, 4, 4)
    named = [Variable(TensorType(torch.float32, shape, layout)) for layout in ("", "NCHW", "NHWC")]
    layouts = [call(aten.relu.default, variable).type.layout for variable in named]
    assert layouts == ["", "NCHW", "NHWC"]
    assert call(aten.permute.default, named[1], [0, 2, 3, 1]).type.layout == "NHWC"
    assert call(aten.transpose.int, named[1], -1, -2).type.layout == "NCWH"
    assert call(aten.cat.default, [named[1], named[1]], 1).type.layout == "NCHW"
    assert call(aten.view.default, named[1], [2, 3, 2, 8]).type.layout == ""


def test_a_view_of_an_argument_with_other_strides_copies():
    x = Variable(TensorType(torch.float32, (2, 3, 4)), name="x")
    graph = FunctionGraph([x], [call(aten.view.default, x, [6, 4])])
    from explorer.tensor import to_module

    turned = torch.randn(4, 3, 2).permute(2, 1, 0)
    assert torch.equal(to_module(graph)(turned), turned.reshape(6, 4))
    assert torch.equal(next(iter(graph.nodes)).op.run([turned])[0], turned.reshape(6, 4))
