"""Parameter graphs: expressions over leaves, without tensors.

A parameter is an expression: `SoftmaxParameter((TensorParameter((4, 8)),), axis=1)`. Operands are node objects, so an
expression cannot be cyclic; a leaf that is used twice is shared, within a circuit and between circuits. Shapes and axes
do not count the fold axis; a negative axis counts from the end. Every node has a shape; operands that do not fit are
refused at construction.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.errors import DataTypeError, ShapeError, ValueRangeError
from explorer.graph import config_of, value_text
from explorer.symbolic.checks import check_fields, is_integer, wrong_type
from explorer.symbolic.initializers import (
    ConstantInitializer,
    DirichletInitializer,
    Initializer,
    NormalInitializer,
    SoftmaxInitializer,
)

Shape = tuple[int, ...]
Zeros = NDArray[np.bool_]


class DataType(Enum):
    """The type of the numbers of a leaf; real and complex numbers have the precision of torch's default dtype."""

    INTEGER = "integer"
    REAL = "real"
    COMPLEX = "complex"


@dataclass(frozen=True, eq=False, repr=False)
class ParameterNode(ABC):
    """A node of a parameter graph."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """Shape of the value, without the fold axis."""

    @property
    @abstractmethod
    def operands(self) -> "tuple[ParameterNode, ...]":
        """The operands of this node, in order."""

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        """Return which entries are zero for all values of the learned leaves, from the known zeros of the operands.

        None if no entry is known to be zero, which is what an operator without this method says.
        """
        return None

    def nodes(self) -> "Iterator[ParameterNode]":
        """All nodes of the expression in topological order, this one last, and shared nodes once."""
        done: set[ParameterNode] = set()
        path: list[ParameterNode] = [self]
        while path:
            node = path[-1]
            for operand in node.operands:
                if operand not in done:
                    path.append(operand)
                    break
            else:
                done.add(path.pop())
                yield node


@dataclass(frozen=True, eq=False, repr=False)
class TensorParameter(ParameterNode):
    """A leaf: a tensor of numbers, learned or fixed.

    `name` is optional and unique in a circuit; a leaf without a name is known by the path of its first use.
    Raises: DataTypeError for a field of a different type, a learned integer leaf, or initial values of a type that the
    leaf cannot hold; ShapeError for a size or initial values that do not fit; ValueRangeError for an axis out of range.
    """

    size: Shape
    dtype: DataType = DataType.REAL
    learnable: bool = True
    initializer: Initializer = field(default_factory=NormalInitializer)
    name: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "size", _check_size(self.size))
        if self.learnable and self.dtype is DataType.INTEGER:
            raise DataTypeError("an integer leaf cannot be learned; use learnable=False")
        if isinstance(self.initializer, ConstantInitializer):
            _check_initial_values(self, self.initializer)
        elif isinstance(self.initializer, DirichletInitializer):
            _check_concentrations(self.initializer, self.size)
        elif isinstance(self.initializer, SoftmaxInitializer):
            _axis_in(self.initializer, self.initializer.axis, self.size)

    @property
    def shape(self) -> Shape:
        return self.size

    @property
    def operands(self) -> tuple[ParameterNode, ...]:
        return ()

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        values = fixed_values(self)
        return None if values is None else np.asarray(values == 0)

    def __repr__(self) -> str:
        return f"TensorParameter{self.size}" if self.name is None else f"TensorParameter[{self.name}]{self.size}"


def constant(value: ArrayLike) -> TensorParameter:
    """A fixed leaf with the values, shape and type of an array. Raises: DataTypeError."""
    initializer = ConstantInitializer(value)
    kind = {"i": DataType.INTEGER, "u": DataType.INTEGER, "c": DataType.COMPLEX}
    dtype = kind.get(initializer.value.dtype.kind, DataType.REAL)
    return TensorParameter(initializer.value.shape, dtype, learnable=False, initializer=initializer)


def fixed_values(parameter: ParameterNode | None) -> NDArray[np.generic] | None:
    """Return the values of a fixed leaf, with its shape; None for any other parameter."""
    if not isinstance(parameter, TensorParameter) or parameter.learnable:
        return None
    if not isinstance(parameter.initializer, ConstantInitializer):
        return None
    return np.broadcast_to(parameter.initializer.value, parameter.shape)


def known_zeros(parameter: ParameterNode) -> Zeros | None:
    """Return which entries of a parameter are certainly zero, with its shape; None if none are known.

    Only fixed leaves are known; entries that become zero by learning, underflow or cancellation are not.
    """
    known: dict[ParameterNode, Zeros | None] = {}
    for node in parameter.nodes():
        zeros = node.known_zeros(*(known[operand] for operand in node.operands))
        known[node] = zeros if zeros is not None and zeros.any() else None
    return known[parameter]


def may_be_nonzero(operand: ParameterNode, zeros: Zeros | None) -> Zeros:
    """Return the entries of an operand that are not known to be zero."""
    return np.ones(operand.shape, dtype=bool) if zeros is None else ~zeros


def _check_size(size: object) -> Shape:
    if not isinstance(size, (tuple, list)):
        raise ShapeError(f"the size of a parameter leaf must be a tuple of integers; found {size!r}")
    given = cast("Sequence[int]", size)
    for n in given:
        if not is_integer(n):
            raise ShapeError(f"the size of a parameter leaf must consist of integers; found {size!r}")
        if n < 1:
            raise ShapeError(f"the size of a parameter leaf must be positive; found {size!r}")
    return tuple([int(n) for n in given])


def _check_initial_values(leaf: TensorParameter, initializer: ConstantInitializer) -> None:
    value = initializer.value
    if value.ndim > 0 and value.shape != leaf.size:
        raise ShapeError(f"the initial value has shape {value.shape}, the leaf {leaf.size}; they must be equal")
    if value.dtype.kind == "c" and leaf.dtype is not DataType.COMPLEX:
        raise DataTypeError(f"complex initial values need dtype=DataType.COMPLEX; found {leaf.dtype.name}")
    if value.dtype.kind == "f" and leaf.dtype is DataType.INTEGER:
        raise DataTypeError("an integer leaf needs integers as initial values; found real numbers")


def _check_concentrations(initializer: DirichletInitializer, size: Shape) -> None:
    axis = _axis_in(initializer, initializer.axis, size)
    if isinstance(initializer.alpha, tuple) and len(initializer.alpha) != size[axis]:
        raise ShapeError(
            f"DirichletInitializer has {len(initializer.alpha)} concentrations for an axis of {size[axis]} entries"
        )


def _axis_in(owner: object, axis: int, shape: Shape) -> int:
    """The axis, counted from the front. Raises: ValueRangeError."""
    rank = len(shape)
    if not -rank <= axis < rank:
        raise ValueRangeError(f"{type(owner).__name__}: axis {axis} is out of range for a shape with {rank} axes")
    return axis % rank


@dataclass(frozen=True, eq=False, repr=False)
class ParameterOp(ParameterNode, ABC):
    """An operator on parameters. A subclass declares `num_operands`, its config as fields, and `_result_shape`.

    A field `axis` is an axis of the first operand, and is stored as counted from the front.
    Raises: DataTypeError, ShapeError, ValueRangeError for operands or config that do not fit.
    """

    num_operands: ClassVar[int] = 1

    inputs: tuple[ParameterNode, ...] = field(metadata={"role": "operands"})
    result_shape: Shape = field(init=False, metadata={"role": "derived"})

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "inputs", _check_operands(self, self.inputs))
        shapes = [node.shape for node in self.inputs]
        axis: int | None = getattr(self, "axis", None)
        if axis is not None:
            object.__setattr__(self, "axis", _axis_in(self, axis, shapes[0]))
        self._check()
        object.__setattr__(self, "result_shape", self._result_shape(*shapes))

    @property
    def shape(self) -> Shape:
        return self.result_shape

    @property
    def operands(self) -> tuple[ParameterNode, ...]:
        return self.inputs

    @abstractmethod
    def _result_shape(self, *shapes: Shape) -> Shape:
        """The shape of the result from the shapes of the operands. Raises: ShapeError."""

    def _check(self) -> None:
        """Hook: checks of the config at construction."""

    def __repr__(self) -> str:
        return _expression_text(self)


def _check_operands(op: ParameterOp, inputs: object) -> tuple[ParameterNode, ...]:
    wanted = "a tuple of parameter nodes (for fixed values use constant(...))"
    if not isinstance(inputs, (tuple, list)):
        raise wrong_type(op, "inputs", wanted, inputs)
    operands = tuple(cast("Sequence[object]", inputs))
    for operand in operands:
        if not isinstance(operand, ParameterNode):
            raise wrong_type(op, "inputs", wanted, operand)
    if len(operands) != op.num_operands:
        raise ShapeError(f"{type(op).__name__} needs {op.num_operands} operand(s); found {len(operands)}")
    return cast("tuple[ParameterNode, ...]", operands)


def _expression_text(top: ParameterNode) -> str:
    """The source text of an expression; an operator with several users is shown once, as `#1=...`, and then as `#1`."""
    uses = Counter(id(operand) for node in top.nodes() for operand in node.operands)
    labels: dict[int, str] = {}
    parts: list[str] = []
    waiting: list[ParameterNode | str] = [top]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
        elif not isinstance(item, ParameterOp):
            parts.append(repr(item))
        elif id(item) in labels:
            parts.append(labels[id(item)])
        else:
            if uses[id(item)] > 1:
                labels[id(item)] = f"#{len(labels) + 1}"
                parts.append(f"{labels[id(item)]}=")
            config = [f"{name}={value_text(value)}" for name, value in config_of(item).items() if value is not None]
            inner = [*item.operands, *config]
            between: list[ParameterNode | str] = [x for part in inner for x in (part, ", ")]
            parts.append(f"{type(item).__name__}(")
            waiting.extend([")", *reversed(between[:-1])])
    return "".join(parts)


@dataclass(frozen=True, eq=False, repr=False)
class EntrywiseParameterOp(ParameterOp, ABC):
    """An operator that keeps the shape of its operand."""

    def _result_shape(self, *shapes: Shape) -> Shape:
        return shapes[0]
