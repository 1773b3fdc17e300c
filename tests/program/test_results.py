"""Results of operators: the same on the device `meta`, which is fast, as on fake tensors."""

from random import Random

import pytest
import torch

from explorer.errors import OperatorError
from explorer.program.ir import results
from explorer.program.ir.instructions import Number
from explorer.program.ir.results import results_of, run_without_data
from explorer.program.ir.types import BufferType
from explorer.tensor.ir.ops import SLOT, Op
from tests.fuzzing import seeded

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
    "bmm": Op.of(aten.bmm.default),
    "baddbmm": Op.of(aten.baddbmm.default),
    "amax": Op.of(aten.amax.default, dim=(1,), keepdim=True),
    "amin": Op.of(aten.amin.default, dim=(-1,)),
    "sum": Op.of(aten.sum.dim_IntList, dim=(0, 2)),
    "reshape": Op.of(aten.reshape.default, shape=(4, 6)),
}
MATRICES = {"mm": Op.of(aten.mm.default), "addmm": Op.of(aten.addmm.default)}


@pytest.mark.parametrize("strides", STRIDES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_that_ignore_the_device_return_on_meta_what_fake_tensors_return(name, strides, monkeypatch):
    op = OPERATORS[name]
    shape = (3, 4, 4) if "bmm" in name else SHAPE
    kinds = tuple(BufferType(torch.float32, shape, STRIDES[strides]) for _ in range(op.num_inputs))
    assert_same_as_on_fakes(op, kinds, monkeypatch)


@pytest.mark.parametrize("strides", [(4, 1), (1, 4), (8, 2), (0, 1)])
@pytest.mark.parametrize("name", MATRICES)
def test_products_of_matrices_return_on_meta_what_fake_tensors_return(name, strides, monkeypatch):
    kinds = tuple(BufferType(torch.float32, (4, 4), strides) for _ in range(MATRICES[name].num_inputs))
    assert_same_as_on_fakes(MATRICES[name], kinds, monkeypatch)


def assert_same_as_on_fakes(op, kinds, monkeypatch):
    assert results._is_equal_on_all_devices(op.target)
    found = results._results_of.__wrapped__(op, kinds, torch.float32)
    monkeypatch.setattr(results, "_is_equal_on_all_devices", lambda target: False)
    assert found == results._results_of.__wrapped__(op, kinds, torch.float32)


def elementwise_operators():
    """Operators of PyTorch with tensors as arguments, or defaults."""
    for name in torch.ops.aten:
        packet = getattr(aten, name)
        for overload in packet.overloads():
            target = getattr(packet, overload)
            required = [one for one in target._schema.arguments if not one.has_default_value()]
            if torch.Tag.pointwise in target.tags and all(str(one.type) == "Tensor" for one in required):
                yield Op.of(target)


ELEMENTWISE = list(elementwise_operators())
BROADCAST = [((5, 4), (5, 4)), ((5, 4), (1, 4)), ((3, 1, 4), (5, 1)), ((1, 4), (3, 1, 1)), ((), (3, 4)), ((1, 3), (1,))]
DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64)


@seeded(20)
def test_the_result_of_an_elementwise_operator_is_that_for_small_tensors_enlarged(seed):
    random = Random(seed)
    num_enlarged = 0
    for op in ELEMENTWISE:
        shapes = random.choice(BROADCAST)
        shapes = [random.choice(shapes) for _ in range(op.num_inputs)]
        kinds = tuple(BufferType.contiguous(random.choice(DTYPES), shape) for shape in shapes)
        found = results._grown(op, kinds, torch.float32)
        num_enlarged += found is not None
        assert found is None or (found,) == run_without_data(op, kinds), op
    assert num_enlarged > 50


@pytest.mark.parametrize("strides", STRIDES)
def test_a_slice_is_that_at_index_0_moved(strides):
    kind = BufferType(torch.int16, SHAPE, STRIDES[strides])
    for dim in range(-4, 4):
        for index in range(-5, 6):
            op = Op.of(aten.select.int, dim=dim, index=index)
            assert result_or_error(results_of, op, (kind,)) == result_or_error(run_without_data, op, (kind,))


def result_or_error(find, op, kinds):
    try:
        return find(op, kinds)
    except OperatorError as error:
        return str(error)


def test_the_error_of_an_elementwise_operator_names_its_own_inputs():
    kinds = tuple(BufferType.contiguous(torch.float32, (size,)) for size in (3, 5))
    with pytest.raises(OperatorError, match=r"f32\[3\], f32\[5\]"):
        results_of(Op.of(aten.add.Tensor), kinds)


@pytest.mark.parametrize(
    "target", [aten.relu_.default, aten.convolution.default, aten.to.device, aten.index_select.default]
)
def test_operators_that_may_depend_on_the_device_do_not_run_on_meta(target):
    assert not results._is_equal_on_all_devices(target)


def test_a_number_promotes_on_meta_as_in_a_call():
    kind = BufferType.contiguous(torch.int64, (3,))
    (found,) = results_of(Op.of(aten.mul.Tensor), (kind, Number(2.5, torch.float32)))
    assert found is not None
    assert (found.type.dtype, found.type.device.type, found.source) == (torch.float32, "cpu", None)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 1, 2), (0, 1, 3, 2), (1, 0, 2, 3), (3, 1, 2, 0)])
def test_a_normalized_image_has_the_strides_that_the_kernel_gives_it(order):
    x = torch.rand(2, 4, 5, 6).permute(order)
    scale = torch.rand(x.shape[1])
    settings = {"weight": SLOT, "bias": SLOT, "momentum": 0.1, "eps": 1e-3}
    op = Op.of(aten._native_batch_norm_legit_no_training.default, **settings)
    (found, *_) = results_of(op, tuple(map(BufferType.of, (x, *[scale] * 4))))
    (wanted, *_) = op.run([x, *[scale] * 4])
    assert found is not None
    assert found.type == BufferType.of(wanted)
