"""What an operator becomes in a program, which depends only on the operator and on the types of its inputs."""

from dataclasses import dataclass
from enum import Enum

from explorer.program.ir.instructions import Number, Way
from explorer.program.ir.results import Result, computes_in_place, results_of
from explorer.program.ir.types import BufferType
from explorer.tensor.ir.aliasing import destroyed_inputs
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.schemas import overloads

COPIES = overloads("clone _to_copy lift_fresh_copy")
"""Operators that copy the elements of their input, maybe into another dtype or with other strides."""


class Kind(Enum):
    """The instructions that an operator becomes."""

    VIEWS = "views"
    """A view for each result."""
    COPY = "copy"
    CALL = "call"
    """A call that writes into new buffers."""
    OVERWRITE = "overwrite"
    """A call whose results are inputs that it overwrites."""


@dataclass(frozen=True, slots=True)
class Form:
    """The instructions that an operator becomes for inputs of some types.

    `buffers` are the types of the memory for its results; a result that is not a tensor has none.
    """

    kind: Kind
    results: tuple[Result | None, ...]
    buffers: tuple[BufferType | None, ...]
    way: Way


def form_of(op: Op, inputs: tuple[BufferType | Number, ...]) -> Form:
    """The form of an operator for inputs of these types. Raises: OperatorError, as `results_of`."""
    results = results_of(op, inputs)
    buffers = tuple(None if result is None else _buffer_for(result.type) for result in results)
    if destroyed_inputs(op):
        return Form(Kind.OVERWRITE, results, buffers, Way.ITSELF)
    if results and all(result is not None and result.source is not None for result in results):
        return Form(Kind.VIEWS, results, buffers, Way.OUT)
    is_copy = op.target in COPIES and len(inputs) == 1 and isinstance(inputs[0], BufferType)
    if is_copy and buffers[0] is not None:
        return Form(Kind.COPY, results, buffers, Way.OUT)
    return Form(Kind.CALL, results, buffers, _way(op, results))


def _buffer_for(kind: BufferType) -> BufferType:
    """The type of a result in memory of its own: contiguous if elements of it would share a place."""
    if kind.is_dense or kind.size == 0:
        return kind
    return BufferType.contiguous(kind.dtype, kind.shape, kind.device)


def _way(op: Op, results: tuple[Result | None, ...]) -> Way:
    """How an operator writes its results: into their buffers, if all of them have memory of their own."""
    first = results[0] if results else None
    if first is None or any(result is None or result.source is not None for result in results):
        return Way.COPIED
    return Way.OUT if computes_in_place(op.target, first.type.device.type) else Way.COPIED
