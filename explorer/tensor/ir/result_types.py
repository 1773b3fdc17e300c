"""Types of an operator's results: shape and dtype from PyTorch's fake tensors, layout and quantization from rules.

Fake tensors have shapes and no numbers. While PyTorch runs operators on them, or exports a module, it keeps global
state, so only one thread at a time does either: two users of the dashboard may request both at once.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import RLock
from typing import TYPE_CHECKING

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

from explorer.errors import OperatorError
from explorer.tensor.ir.schemas import KERNEL_ERRORS, call_kernel, flat_results
from explorer.tensor.ir.types import LETTERS, Quantization, TensorType, ValueType, type_of

if TYPE_CHECKING:
    from explorer.tensor.ir.ops import Op


_ONE_AT_A_TIME = RLock()
LOGGER = logging.getLogger(FakeTensorMode.__module__)
"""Logs the traceback of each operator that PyTorch refuses."""


@contextmanager
def on_fakes() -> Iterator[None]:
    """Create fake tensors inside; refused operators are not logged, because the error has the reason."""
    with exclusively():
        LOGGER.addFilter(drop_record)
        try:
            with _mode(), torch.no_grad():
                yield
        finally:
            LOGGER.removeFilter(drop_record)


@contextmanager
def exclusively() -> Iterator[None]:
    """Exclude other threads from this and from `on_fakes`."""
    with _ONE_AT_A_TIME:
        yield


@cache
def _mode() -> FakeTensorMode:
    """Create the mode on demand, because it imports much of PyTorch."""
    return FakeTensorMode(allow_non_fake_inputs=False)


def drop_record(record: logging.LogRecord) -> bool:
    """Filter out all records of a logger."""
    del record
    return False


DATA_DEPENDENT = (DynamicOutputShapeException, DataDependentOutputException)
"""Errors of operators that need the numbers of tensors, which fake tensors do not have."""


def depends_on_data(op: "Op", inputs: Sequence[ValueType]) -> OperatorError:
    """Return the error for an operator that needs the numbers of its inputs."""
    shown = ", ".join(map(str, inputs))
    return OperatorError(f"the shape of {op.name}({shown}) depends on the data; such operators are not supported")


@lru_cache(maxsize=100_000)
def infer_types(op: "Op", inputs: tuple[ValueType, ...]) -> tuple[ValueType, ...]:
    """Infer the types of the results with fake tensors. Raises: OperatorError if PyTorch refuses the inputs."""
    shown = ", ".join(map(str, inputs))
    check_inputs(op, inputs)
    try:
        with on_fakes():
            tensors = [torch.empty(kind.shape, dtype=kind.dtype) for kind in inputs if isinstance(kind, TensorType)]
            results = flat_results(call_kernel(op.target, op.bind(tensors)))
    except DATA_DEPENDENT as error:
        raise depends_on_data(op, inputs) from error
    except KERNEL_ERRORS as error:
        raise OperatorError(f"PyTorch refuses {op}({shown}): {str(error).splitlines()[0]}") from error
    return tuple(map(type_of, results))


def check_inputs(op: "Op", inputs: Sequence[ValueType]) -> None:
    """Check that they are tensors, quantized as the operator expects. Raises: OperatorError."""
    for kind in inputs:
        if not isinstance(kind, TensorType):
            raise OperatorError(f"{op.name} expects tensors, got a {kind}")
    _check_quantization(op, inputs)


def _check_quantization(op: "Op", inputs: Sequence[ValueType]) -> None:
    """Check that scales and offsets among the arguments agree with the tensors. Raises: OperatorError.

    A custom operator with the arguments `x_scale` and `x_offset` expects a tensor `x` with this quantization (None: a
    tensor of plain numbers). Operators that move numbers expect the same quantization of all their inputs.
    """
    kinds = [kind for kind in inputs if isinstance(kind, TensorType)]
    if op.name in MOVES_DATA and any(kind.quantization != kinds[0].quantization for kind in kinds):
        raise OperatorError(f"{op.name} expects tensors of the same quantization, got {', '.join(map(str, kinds))}")
    if op.target.namespace != "explorer":
        return
    given = dict(op.arguments)
    for name, kind in zip(op.input_names(), kinds, strict=True):
        if f"{name}_scale" not in given:
            continue
        scale, offset = given[f"{name}_scale"], given[f"{name}_offset"]
        wanted = None if scale is None else Quantization(scale, offset)
        if kind.quantization != wanted:
            expected = f"quantized by {wanted}" if wanted is not None else "of plain numbers"
            raise OperatorError(f"{op.name} expects a tensor {name} {expected}, got {kind}")
        if wanted is not None:
            _check_offset(op, kind.dtype, wanted)


def _check_offset(op: "Op", dtype: torch.dtype, quantization: Quantization) -> None:
    if dtype.is_floating_point or not torch.iinfo(dtype).min <= quantization.offset <= torch.iinfo(dtype).max:
        name = LETTERS.get(dtype, dtype)
        raise OperatorError(f"the offset {quantization.offset} of a tensor of {op.name} does not fit its dtype {name}")


def with_names(op: "Op", inputs: Sequence[ValueType], result: ValueType) -> ValueType:
    """Return the type of a result with the parts that fake tensors do not have: layout and quantization."""
    if not isinstance(result, TensorType) or not inputs or not isinstance(inputs[0], TensorType):
        return result
    first = inputs[0]
    names = dict(op.arguments)
    quantization = first.quantization if op.name in MOVES_DATA and result.dtype == first.dtype else None
    if "out_scale" in names:
        quantization = Quantization(names["out_scale"], names["out_offset"])
        _check_offset(op, result.dtype, quantization)
    return TensorType(result.dtype, result.shape, _layout(op, first, result), quantization)


def _layout(op: "Op", first: TensorType, result: TensorType) -> str:
    """Return the names of the axes of a result, as far as they follow from the first input."""
    if op.name.endswith("_nhwc"):
        return "NHWC"
    names = first.layout
    if not names or result.rank != first.rank:
        return ""
    if op.name == "permute":
        return "".join(names[axis] for axis in op["dims"])
    if op.name == "transpose":
        swapped = list(names)
        swapped[op["dim0"]], swapped[op["dim1"]] = names[op["dim1"]], names[op["dim0"]]
        return "".join(swapped)
    return names if op.name in KEEPS_AXES or result.shape == first.shape else ""


KEEPS_AXES = frozenset(
    (
        *("conv2d", "convolution", "max_pool2d", "max_pool2d_with_indices", "avg_pool2d", "adaptive_avg_pool2d"),
        *("cat", "slice", "narrow", "split", "split_with_sizes", "chunk", "constant_pad_nd", "pad", "repeat", "mean"),
    )
)
"""Operators that keep the meaning of each axis if they keep their number; they may change sizes."""

MOVES_DATA = frozenset(
    (
        *("permute", "transpose", "t", "numpy_T", "view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze"),
        *("unsqueeze", "clone", "expand", "slice", "select", "narrow", "cat", "stack", "split", "split_with_sizes"),
        *("chunk", "repeat", "max_pool2d", "max_pool2d_nhwc", "alias", "contiguous"),
    )
)
"""Operators that return numbers of their input unchanged, and so keep the quantization."""
