"""What operators return: on the device `meta`, which is fast, the same as on fake tensors."""

import pytest
import torch

from explorer.program.ir import results
from explorer.program.ir.instructions import Number
from explorer.program.ir.results import results_of
from explorer.program.ir.types import BufferType
from explorer.tensor.ir.ops import Op

aten = torch.ops.aten
SHAPE = (2, 3, 4)
STRIDES = {"contiguous": (12, 4, 1), "transposed": (1, 2, 6), "apart": (24, 8, 2), "expanded": (0, 4, 1)}
OPERATORS = {
    "add": Op.of(aten.add.Tensor),
    "exp": Op.of(aten.exp.default),
    "gt": Op.of(aten.gt.Tensor),
    "select": Op.of(aten.select.int, dim=1, index=2),
    "slice": Op.of(aten.slice.Tensor, dim=2, start=1, end=3),
    "permute": Op.of(aten.permute.default, dims=(2, 0, 1)),
    "view": Op.of(aten.view.default, size=(6, 4)),
    "split": Op.of(aten.split.Tensor, split_size=2),
}


@pytest.mark.parametrize("strides", STRIDES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_that_ignore_the_device_return_on_meta_what_fake_tensors_return(name, strides, monkeypatch):
    op = OPERATORS[name]
    kinds = tuple(BufferType(torch.float32, SHAPE, STRIDES[strides]) for _ in range(op.num_inputs))
    assert results._is_equal_on_all_devices(op.target)
    found = results._results_of.__wrapped__(op, kinds, torch.float32)
    monkeypatch.setattr(results, "_is_equal_on_all_devices", lambda target: False)
    assert found == results._results_of.__wrapped__(op, kinds, torch.float32)


@pytest.mark.parametrize("target", [aten.relu_.default, aten.convolution.default, aten.to.device, aten.mm.default])
def test_operators_that_may_depend_on_the_device_do_not_run_on_meta(target):
    assert not results._is_equal_on_all_devices(target)


def test_a_number_promotes_on_meta_as_in_a_call():
    kind = BufferType.contiguous(torch.int64, (3,))
    (found,) = results_of(Op.of(aten.mul.Tensor), (kind, Number(2.5, torch.float32)))
    assert found is not None
    assert (found.type.dtype, found.type.device.type, found.source) == (torch.float32, "cpu", None)
