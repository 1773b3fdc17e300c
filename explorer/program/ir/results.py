"""Results of operators: their types with strides, which are views, and which an `out=` overload writes in place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.errors import OperatorError
from explorer.program.ir.instructions import Number
from explorer.program.ir.types import BufferType, contiguous_strides
from explorer.tensor.ir.aliasing import destroyed_inputs
from explorer.tensor.ir.numbers import PythonNumber
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.result_types import on_fakes
from explorer.tensor.ir.schemas import KERNEL_ERRORS, aten, overloads

FILLS = overloads("zeros ones full")
"""Operators without tensors, whose `out=` overloads fill the memory that they are given."""

FILLED = ("dtype", "layout", "device", "pin_memory")
"""Arguments of these operators that the memory has."""

CHANGES = overloads("index_add index_copy scatter.src scatter.value scatter_add")
"""Operators that change elements of their first input; their `out=` overloads copy it, unless it is there already."""

FROM_OUT = overloads("abs logical_and logical_or logical_xor logical_not nan_to_num")
"""Operators without kernels of their own that only allocate their result, and then call their `out=` overload."""

WITH_SEVERAL_RESULTS = overloads(
    "_linalg_det _linalg_eigh _linalg_slogdet _linalg_solve_ex _linalg_svd adaptive_max_pool2d adaptive_max_pool3d "
    "aminmax fractional_max_pool2d fractional_max_pool3d geqrf linalg_cholesky_ex linalg_eig linalg_inv_ex "
    "linalg_ldl_factor_ex linalg_lu linalg_lu_factor_ex log_sigmoid_forward lu_unpack max.dim "
    "max_pool2d_with_indices max_pool3d_with_indices min.dim sort.stable topk triangular_solve"
)
"""Operators of several results whose `out=` overloads write them into one storage, as `test_out_overloads.py` checks.

All others are computed elsewhere and copied. `linalg_qr` mistakes two results in one storage for one tensor, and leaves
one of them unwritten; the batch norm of an input with other strides leaves all of them unwritten.
"""


@cache
def out_overload(target: OpOverload) -> tuple[OpOverload, tuple[str, ...]] | None:
    """The overload that writes its results, and the names of these results; or None.

    It has the same arguments, but for the dtype and device of an operator that fills memory.
    """
    left_out = FILLED if target in FILLS else ()
    mine = [_signature(argument) for argument in target._schema.arguments if argument.name not in left_out]
    packet = target.overloadpacket
    for name in packet.overloads():
        other: OpOverload = getattr(packet, name)
        arguments = other._schema.arguments
        outs = [argument for argument in arguments if argument.is_out]
        same = [_signature(argument) for argument in arguments if not argument.is_out] == mine
        if outs and same and len(outs) == len(target._schema.returns):
            return other, tuple(argument.name for argument in outs)
    return None


def _signature(argument: Any) -> tuple[str, str]:
    return argument.name, str(argument.type)


@cache
def computes_in_place(target: OpOverload, device: str) -> bool:
    """Whether the `out=` overload computes the same bits as the operator, without memory of its own for the results.

    Both have kernels for the device then. PyTorch generates the `out=` overloads that have none: they compute as
    without `out=`, and copy. An operator that has none is composed of others, maybe other ones than its `out=`
    overload: the average pool of a whole picture is a mean, but only without `out=`. Losses enlarge the memory of
    their result, and use it for the losses of all elements. Of operators with several results only those in
    `WITH_SEVERAL_RESULTS` compute in place.
    """
    found = out_overload(target)
    if target in FILLS:
        return True
    if len(target._schema.returns) > 1 and target not in WITH_SEVERAL_RESULTS:
        return False
    if any(argument.name == "reduction" for argument in target._schema.arguments):
        return False
    key = {"cpu": "CPU", "cuda": "CUDA"}.get(device, device.upper())
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    if found is None or not has_kernel(found[0].name(), key):
        return False
    return target in FROM_OUT or has_kernel(target.name(), key)


@cache
def may_overwrite(target: OpOverload, position: int) -> bool:
    """Whether the `out=` overload of an operator may write its result over the input at a position."""
    return torch.Tag.pointwise in target.tags or (target in CHANGES and position == 0)


QUANTIZED = (torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.quint2x4)
"""Dtypes of tensors that have a scale next to their memory."""
META = torch.device("meta")
"""The device of tensors without data."""

WORKSPACES = {aten.mkldnn_rnn_layer.default: (3,), aten._cudnn_rnn.default: (3, 4), aten.miopen_rnn.default: (3, 4)}
"""Positions of the results that are only for the kernel of the gradient: PyTorch does not tell their types."""

SELECT = aten.select.int
SHARED_BY_DEVICES = frozenset(overloads("mm bmm addmm baddbmm amax amin sum.dim_IntList reshape"))
"""Operators that are neither elementwise nor plain views, and have results of the same types on all devices."""

BATCH_NORMS = overloads(
    "native_batch_norm _native_batch_norm_legit.no_stats _native_batch_norm_legit_functional "
    "_native_batch_norm_legit_no_training native_batch_norm_backward"
)
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
"""The memory format with the channels last of images with so many axes."""


@dataclass(frozen=True, slots=True)
class Result:
    """A tensor that an operator returns; `source` is the position of the input whose memory it is in, or None.

    `offset_bytes` lie between the first element of that input and its own first one.
    """

    type: BufferType
    source: int | None = None
    offset_bytes: int = 0


def results_of(op: Op, inputs: tuple[BufferType | Number, ...]) -> tuple[Result | None, ...]:
    """The results of an operator for inputs of these types; None for one that is not a tensor, or of unknown type.

    Raises: OperatorError if PyTorch refuses the inputs, or the shape of a result depends on numbers.
    """
    return _results_of(op, inputs, torch.get_default_dtype())  # a quotient of integers has the default dtype


@lru_cache(maxsize=100_000)
def _results_of(
    op: Op, inputs: tuple[BufferType | Number, ...], default_dtype: torch.dtype
) -> tuple[Result | None, ...]:
    _check_dtypes(op)
    known = _selected(op, inputs) if op.target is SELECT else _grown(op, inputs, default_dtype)
    return run_without_data(op, inputs) if known is None else (known,)


def _selected(op: Op, inputs: tuple[BufferType | Number, ...]) -> Result | None:
    """The slice of a tensor, by its first one, since a circuit reads each of its variables; None if there is none."""
    (kind,), dim, index = inputs, op["dim"], op["index"]
    if not isinstance(kind, BufferType) or not -len(kind.shape) <= dim < len(kind.shape):
        return None
    if not 0 <= index < kind.shape[dim]:
        return None
    first = _first_slice(dim, kind)
    return None if first is None else replace(first, offset_bytes=index * kind.strides[dim] * kind.dtype.itemsize)


@lru_cache(maxsize=1_000)
def _first_slice(dim: int, kind: BufferType) -> Result | None:
    (first,) = run_without_data(Op.of(SELECT, dim=dim, index=0), (kind,))
    return first


def _grown(op: Op, inputs: tuple[BufferType | Number, ...], default_dtype: torch.dtype) -> Result | None:
    """The result of an elementwise operator on contiguous tensors, by that for small ones; None for other operators.

    If all shapes are equal, the result has that shape. If not, PyTorch orders its axes as those of the inputs, which
    depends on the axes longer than 1, whatever their length. So if the small result is contiguous, the large one is it
    too. Many types of inputs have the same small ones.
    """
    if torch.Tag.pointwise not in op.target.tags or not _is_equal_on_all_devices(op.target):
        return None
    kinds = [kind for kind in inputs if isinstance(kind, BufferType)]
    if not kinds or not all(kind.strides == contiguous_strides(kind.shape) and kind.size for kind in kinds):
        return None
    shapes = [kind.shape for kind in kinds]
    small_shapes = _small_shapes(shapes)
    waiting = iter(small_shapes)
    small = tuple(
        BufferType.contiguous(kind.dtype, next(waiting), kind.device) if isinstance(kind, BufferType) else kind
        for kind in inputs
    )
    if small == inputs:
        return None
    try:
        shape, small_shape = (tuple(torch.broadcast_shapes(*all_)) for all_ in (shapes, small_shapes))
        (found,) = _results_of(op, small, default_dtype)
    except (OperatorError, RuntimeError, ValueError):
        return None  # they do not fit, which is an error about the large ones; or there are several results
    if found is None:
        return None
    dtype, device = found.type.dtype, found.type.device
    is_expected = found == Result(BufferType.contiguous(dtype, small_shape, device))
    return Result(BufferType.contiguous(dtype, shape, device)) if is_expected else None


def _small_shapes(shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Shapes with at most two elements per axis, and at most one axis if they are equal."""
    if all(shape == shapes[0] for shape in shapes):
        return [(2,) if shape else () for shape in shapes]
    return [tuple([min(size, 2) for size in shape]) for shape in shapes]


def run_without_data(op: Op, inputs: tuple[BufferType | Number, ...]) -> tuple[Result | None, ...]:
    """The results of an operator, by running it. Raises: as `results_of`."""
    destroyed = destroyed_inputs(op)
    devices = [kind.device for kind in inputs if isinstance(kind, BufferType)]
    on_meta = len(set(devices)) == 1 and _is_equal_on_all_devices(op.target)
    given = [PythonNumber.of(kind.value, kind.dtype) if isinstance(kind, Number) else kind for kind in inputs]
    try:
        with torch.no_grad() if on_meta else on_fakes():
            tensors = [_empty(kind, on_meta) if isinstance(kind, BufferType) else kind for kind in given]
            memory = [tensor.untyped_storage()._cdata for tensor in tensors]
            found: list[Result | None] = []
            for position, value in enumerate(op.run(tensors)):
                if not isinstance(value, torch.Tensor) or _is_unknown(op, position):
                    found.append(None)
                    continue
                source = _source(value, tensors, memory, destroyed)
                offset = int(value.storage_offset()) * value.dtype.itemsize if source is not None else 0
                device = devices[0] if on_meta else _device(value, devices)
                kind = BufferType.of(value, device)
                if position == 0 and op.target in BATCH_NORMS:
                    kind = _of_batch_norm(kind, value)
                found.append(Result(kind, source, offset))
            return tuple(found)
    except KERNEL_ERRORS as error:
        kinds = ", ".join(str(kind) for kind in inputs)
        raise OperatorError(f"{op.name} has no results of fixed types for ({kinds}): {error}") from error


def _check_dtypes(op: Op) -> None:
    """Raises: OperatorError for a dtype that no buffer and no fake tensor has."""
    named = next((value for _, value in op.arguments if value in QUANTIZED), None)
    if named is not None:
        raise OperatorError(
            f"{op.name} returns a tensor of {named}, whose scale is not in its memory; use the operators of "
            "quantized_decomposed"
        )


@cache
def _is_equal_on_all_devices(target: OpOverload) -> bool:
    """Whether shapes, strides and views do not depend on the device, as for elementwise operators and plain views.

    Matrix products and reductions have one function for these that all devices share.
    Such an operator runs on the device `meta`, which is much faster than fake tensors: these emulate a device. It must
    not be in place, because `meta` accepts results that do not fit, and not be composed of others, as `x.cpu()` is.
    """
    schema = target._schema
    if target in SHARED_BY_DEVICES:
        return True
    if schema.is_mutable or torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), "CompositeImplicitAutograd"):
        return False
    return torch.Tag.pointwise in target.tags or all(result.alias_info is not None for result in schema.returns)


def _empty(kind: BufferType, on_meta: bool) -> torch.Tensor:
    device = META if on_meta else kind.device
    return torch.empty_strided(kind.shape, kind.strides, dtype=kind.dtype, device=device)


def _is_unknown(op: Op, position: int) -> bool:
    """Whether only the kernel knows what a result is; one that `output_mask` leaves out is often no tensor."""
    mask = next((value for name, value in op.arguments if name == "output_mask"), ())
    return position in WORKSPACES.get(op.target, ()) or (position < len(mask) and not mask[position])


def _of_batch_norm(kind: BufferType, value: torch.Tensor) -> BufferType:
    """The type of a normalized image: on the CPU contiguous or channels last, though fake ones have other strides."""
    last = CHANNELS_LAST.get(value.ndim)
    if kind.device.type != "cpu" or (last is not None and value.is_contiguous(memory_format=last)):
        return kind
    return BufferType.contiguous(kind.dtype, kind.shape, kind.device)


def _source(
    value: torch.Tensor, tensors: Sequence[Any], memory: Sequence[int], destroyed: tuple[int, ...]
) -> int | None:
    """The input whose memory a result is in; one that the operator overwrites first."""
    if value.is_conj() or value.is_neg():  # its numbers are not those in memory
        return None
    mine = value.untyped_storage()._cdata
    order = [*destroyed, *(i for i in range(len(tensors)) if i not in destroyed)]
    return next((i for i in order if memory[i] == mine), None)


def _device(value: torch.Tensor, devices: list[torch.device]) -> torch.device:
    """The device of a result, with its index where the inputs have one."""
    alike = (device for device in devices if device.type == value.device.type)
    return value.device if value.device.index is not None else next(alike, value.device)
