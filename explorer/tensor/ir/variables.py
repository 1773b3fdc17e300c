"""The nodes of a tensor graph: variables, constants, and applications of operators."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.errors import OperatorError
from explorer.tensor.ir.numbers import NATURAL, PythonNumber, operands, takes_numbers
from explorer.tensor.ir.ops import SLOT, Op, bound, frozen, takes_tensor
from explorer.tensor.ir.types import Quantization, TensorType, ValueType, type_of

PYTORCH = str(Path(torch.__file__).parent)


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where in the user's program an operator comes from: the innermost frames, and the path of the module."""

    stack: str = ""
    module: str = ""

    @property
    def line(self) -> str:
        """`file.py:line` of the innermost frame that is not PyTorch's own; if there is none, of the innermost one."""
        fallback = ""
        for text in reversed(self.stack.splitlines()):
            parts = text.strip().split(", ")
            path = parts[0].removeprefix("File ").strip('"')
            if not text.strip().startswith('File "') or path.startswith("<"):
                continue
            name = path.replace("\\", "/").rpartition("/")[2]
            line = f"{name}:{parts[1].removeprefix('line ')}" if len(parts) > 1 else name
            if not path.startswith(PYTORCH):
                return line
            fallback = fallback or line
        return fallback


NOWHERE = SourcePlace()


class Variable:
    """A value on an edge. Compared by identity: two calls of an operator on the same inputs are two variables."""

    __slots__ = ("clients", "device", "index", "name", "owner", "trained", "type")

    def __init__(
        self,
        type: ValueType,
        owner: "Apply | None" = None,
        index: int = 0,
        name: str = "",
        device: torch.device | None = None,
        trained: bool = False,
    ) -> None:
        self.type = type
        self.device = device
        """Where it lies; None if what it is made of does not tell, as a constant of no axes on the processor."""
        self.trained = trained
        """Whether it may depend on what gets a gradient: a trainable constant, an input; what does is always marked."""
        self.owner = owner
        self.index = index
        self.name = name
        self.clients: dict[tuple[Any, int], None] = {}
        """Who reads it in the graph it is in: (application or None for an output of the graph, position)."""

    @property
    def tensor_type(self) -> TensorType:
        """Its type, which is that of a tensor. Raises: OperatorError if it is none."""
        if not isinstance(self.type, TensorType):
            raise OperatorError(f"a tensor is needed; {self} is a {self.type}")
        return self.type

    def __repr__(self) -> str:
        from explorer.tensor.ir.text import expression

        return expression([self])[1:-1]


class Constant(Variable):
    """A value that is known: a tensor, with its content as identity; `data` may be a `PythonNumber`.

    `name` is that of the parameter or buffer it comes from. A `trainable` one may change between two calls; passes
    treat it as unknown, and only it itself is the same.
    """

    __slots__ = ("__dict__", "data", "trainable")

    def __init__(
        self,
        data: torch.Tensor,
        name: str = "",
        trainable: bool = False,
        layout: str = "",
        quantization: Quantization | None = None,
    ) -> None:
        device = data.device if data.ndim or data.device.type != "cpu" else None
        super().__init__(type_of(data, layout, quantization), None, 0, name, device, trainable)
        self.data = data
        self.trainable = trainable

    @cached_property
    def signature(self) -> tuple[Any, ...]:
        """Equal for constants that hold the same: type and bytes, so NaN equals NaN and 0 differs from -0."""
        if self.trainable:
            return ("trainable", self.name, id(self.data))
        python = (type(self.data.value), repr(self.data.value)) if isinstance(self.data, PythonNumber) else ()
        return (self.type, self.digest, *python)

    @cached_property
    def digest(self) -> str:
        """A check sum of its bytes."""
        flat = self.data.detach().cpu().contiguous().reshape(-1)
        if flat.stride(0) != 1:  # one number that was expanded
            flat = flat.clone(memory_format=torch.contiguous_format)
        raw = flat.view(torch.uint8).numpy().tobytes()
        return hashlib.blake2b(raw, digest_size=16).hexdigest()

    @property
    def number(self) -> Any:
        """The number that all its elements are; None if they differ, if there is none, or if it is trainable."""
        return self._number

    @cached_property
    def _number(self) -> Any:
        if self.trainable or not self.data.numel():
            return None
        if isinstance(self.data, PythonNumber):
            return self.data.number
        first = self.data.detach().reshape(-1)[0]
        if self.data.numel() > 1 and not bool((self.data == first).all()):
            return None
        return first.item()


@dataclass(eq=False, slots=True, weakref_slot=True)
class Apply:
    """An operator applied to variables. Only the graph that holds it changes `inputs`.

    `id` is its number in that graph, -1 before it is in one.
    """

    op: Op
    inputs: list[Variable]
    outputs: list[Variable] = field(default_factory=list[Variable])
    place: SourcePlace = NOWHERE
    id: int = -1

    def __repr__(self) -> str:
        from explorer.tensor.ir.text import expression

        return expression(self.outputs[:1])[1:-1]

    def input_of(self, argument: str) -> Variable | None:
        """The tensor that stands in an argument; None if there is none."""
        for name, variable in zip(self.op.input_names(), self.inputs, strict=True):
            if name == argument:
                return variable
        return None

    @property
    def numbers(self) -> dict[Variable, Any]:
        """The inputs that the operator takes as Python numbers, and these numbers."""
        data = [v.data if isinstance(v, Constant) else v for v in self.inputs]
        given = zip(self.inputs, data, operands(self.op.target, data), strict=True)
        return {variable: value for variable, tensor, value in given if value is not tensor}


def apply_op(
    op: Op,
    inputs: Sequence["Variable | float"],
    place: SourcePlace = NOWHERE,
    known: Sequence[ValueType] | None = None,
) -> Apply:
    """Apply an operator to variables; numbers become constants that act in it as the numbers do.

    `known`, where given, are the types of the results, as PyTorch gave them before.
    Raises: OperatorError if the number or the types of the inputs do not fit.
    """
    if len(inputs) != op.num_inputs:
        raise OperatorError(f"{op.name} takes {op.num_inputs} tensors; {len(inputs)} were given")
    given = [value for value in inputs if isinstance(value, Variable)]
    variables = [value if isinstance(value, Variable) else number_constant(value, given) for value in inputs]
    if not takes_numbers(op.target):
        variables = [_plain(variable) for variable in variables]
    node = Apply(op, variables, place=place)
    types = op.result_types([variable.type for variable in variables], known)
    device = _device(op, variables)
    trained = any(variable.trained for variable in variables)
    node.outputs = [Variable(kind, node, i, "", device, trained) for i, kind in enumerate(types)]
    return node


def _device(op: Op, inputs: Sequence[Variable]) -> torch.device | None:
    named = op.attributes.get("device")
    return torch.device(named) if named is not None else next((v.device for v in inputs if v.device is not None), None)


def number_constant(value: complex, others: Sequence[Variable]) -> Constant:
    """A constant of no axes that acts in an operator with `others` as the number does. Raises: OperatorError."""
    python = next(known for known in NATURAL if isinstance(value, known))
    kinds = [v.tensor_type for v in others if not isinstance(v, Constant) or not isinstance(v.data, PythonNumber)]
    beside = torch.empty(kinds[0].shape, dtype=kinds[0].dtype, device="meta") if kinds else python(1)
    return Constant(PythonNumber.of(python(value), torch.result_type(beside, python(1))))


def _plain(variable: Variable) -> Variable:
    """A Python number as the tensor that it acts as; any other variable as it is."""
    if isinstance(variable, Constant) and isinstance(variable.data, PythonNumber):
        return Constant(variable.data.plain)
    return variable


def call(target: OpOverload, *args: Any, place: SourcePlace = NOWHERE, **kwargs: Any) -> Any:
    """Apply an overload as one would call it, with variables for tensors: the result, or a tuple of several.

    A number where the schema takes a tensor becomes a constant.
    Raises: OperatorError for arguments that do not fit, in number, name or type.
    """
    node = make_apply(target, args, kwargs, place)
    return node.outputs[0] if len(node.outputs) == 1 else tuple(node.outputs)


def make_apply(
    target: OpOverload,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    place: SourcePlace = NOWHERE,
    known: Sequence[ValueType] | None = None,
) -> Apply:
    """Apply an overload as one would call it; `known` is as in `apply_op`. Raises: OperatorError."""
    values = bound(target, args, kwargs)
    variables = [v for value in values.values() for v in _variables_in(value)]
    inputs: list[Variable] = []
    arguments: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, int | float | complex) and takes_tensor(target, name):
            value = number_constant(value, variables)
        arguments.append((name, _opened(value, inputs)))
    return apply_op(Op(target, tuple(arguments)), inputs, place, known)


def _variables_in(value: Any) -> list[Variable]:
    if isinstance(value, Variable):
        return [value]
    if isinstance(value, list | tuple):
        return [v for item in value for v in _variables_in(item)]
    return []


def _opened(value: Any, inputs: list[Variable]) -> Any:
    """An argument with slots instead of variables, which are put into `inputs`."""
    if isinstance(value, Variable):
        inputs.append(value)
        return SLOT
    if isinstance(value, list | tuple):
        return tuple(_opened(item, inputs) for item in value)
    return frozen(value)
