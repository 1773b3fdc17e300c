"""The nodes of a tensor graph (variables, constants, applications of operators) and their topological order."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from explorer.errors import CycleError, OperatorError
from explorer.tensor.ir.schemas import PythonNumber, operands
from explorer.tensor.ir.types import Quantization, TensorType, ValueType, type_of

if TYPE_CHECKING:
    from explorer.tensor.ir.ops import Op

PYTORCH = str(Path(torch.__file__).parent)


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Location of an operator in the user's program: the innermost frames, and the path of the module."""

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


NOWHERE = SourceLocation()


class Variable:
    """A value on an edge. Compared by identity: two calls of an operator on the same inputs are two variables."""

    __slots__ = ("clients", "device", "index", "name", "owner", "requires_grad", "type")

    def __init__(
        self,
        type: ValueType,
        owner: "Apply | None" = None,
        index: int = 0,
        name: str = "",
        device: torch.device | None = None,
        requires_grad: bool = False,
    ) -> None:
        self.type = type
        self.device = device
        """Its device; None if unknown, as for a zero-dimensional constant on the CPU."""
        self.requires_grad = requires_grad
        """Whether it may depend on a trainable constant or input; all variables that do are marked."""
        self.owner = owner
        self.index = index
        self.name = name
        self.clients: dict[tuple[Any, int], None] = {}
        """Its users in its graph: (application or None for an output of the graph, position)."""

    @property
    def tensor_type(self) -> TensorType:
        """Its type. Raises: OperatorError if it is not a tensor."""
        if not isinstance(self.type, TensorType):
            raise OperatorError(f"expected a tensor, got {self}, which is a {self.type}")
        return self.type

    def __repr__(self) -> str:
        return expression([self])[1:-1]


class Constant(Variable):
    """A tensor, identified by its content; `data` may be a `PythonNumber`.

    `name` is the name of the parameter or buffer that it comes from. A `trainable` constant may change between two
    calls: passes treat it as unknown, and it equals only itself.
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
        """Equal for constants of equal type and bytes, so NaN equals NaN and 0 differs from -0."""
        if self.trainable:
            return ("trainable", self.name, id(self.data))
        python = (type(self.data.value), repr(self.data.value)) if isinstance(self.data, PythonNumber) else ()
        return (self.type, self.digest, *python)

    @cached_property
    def digest(self) -> str:
        """A checksum of its bytes."""
        flat = self.data.detach().cpu().contiguous().reshape(-1)
        if flat.stride(0) != 1:  # one number that was expanded
            flat = flat.clone(memory_format=torch.contiguous_format)
        raw = flat.view(torch.uint8).numpy().tobytes()
        return hashlib.blake2b(raw, digest_size=16).hexdigest()

    @cached_property
    def number(self) -> Any:
        """The number that all its elements are; None if they differ, if there is none, or if it is trainable."""
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
    """An operator applied to variables. Only the graph that contains it changes `inputs`.

    `id` is its number in that graph, -1 before it is in one. `draw` is its position among the random operators, -1 for
    other operators: for a seed to draw the same numbers in every graph, they must run in that order.
    """

    op: "Op"
    inputs: list[Variable]
    outputs: list[Variable] = field(default_factory=list[Variable])
    location: SourceLocation = NOWHERE
    id: int = -1
    draw: int = -1

    def __repr__(self) -> str:
        return expression(self.outputs[:1])[1:-1]

    def input_of(self, argument: str) -> Variable | None:
        """Return the variable of a tensor argument, or None."""
        for name, variable in zip(self.op.input_names(), self.inputs, strict=True):
            if name == argument:
                return variable
        return None

    @property
    def numbers(self) -> dict[Variable, Any]:
        """The inputs that the operator receives as Python numbers, and these numbers."""
        data = [v.data if isinstance(v, Constant) else v for v in self.inputs]
        if not any(isinstance(value, PythonNumber) for value in data):
            return {}
        given = zip(self.inputs, data, operands(self.op.target, data), strict=True)
        return {variable: value for variable, tensor, value in given if value is not tensor}


MAX_APPLICATIONS = 200
"""Maximum number of applications in an expression; of larger graphs only the number is printed."""


def expression(outputs: Sequence[Variable]) -> str:
    """Write outputs as nested expressions; applications that are read twice are numbered.

    >>> expression([div(mul(add(y, z), x), add(y, z))])  # doctest: +SKIP
    '[div(mul(add(y, z), x), add(y, z))]'
    """
    nodes = toposort(outputs)
    if len(nodes) > MAX_APPLICATIONS:
        return f"[a graph of {len(nodes):,} applications; text() has a line for each]"
    reads: dict[Variable, int] = {}
    for variable in [*outputs, *(v for node in nodes for v in node.inputs)]:
        reads[variable] = reads.get(variable, 0) + 1
    owners: dict[Any, int] = {}
    for variable, count in reads.items():
        if variable.owner is not None:
            owners[variable.owner] = owners.get(variable.owner, 0) + count
    numbers: dict[Any, int] = {}

    def write(variable: Variable) -> str:
        owner = variable.owner
        if owner is None:
            return leaf_text(variable)
        result = f"::{variable.index}" if len(owner.outputs) > 1 else ""
        if owner in numbers:
            return f"*{numbers[owner]}{result}"
        if owners.get(owner, 0) < 2:
            return f"{owner.op.name}({write_arguments(owner)}){result}"
        numbers[owner] = len(numbers) + 1
        number = numbers[owner]
        return f"*{number}{result} -> {owner.op.name}({write_arguments(owner)})"

    def write_arguments(owner: Any) -> str:
        return ", ".join([*map(write, owner.inputs), *settings_text(owner.op.settings)])

    return f"[{', '.join(map(write, outputs))}]"


def leaf_text(variable: Variable) -> str:
    """Return a variable without owner: its name, or the number that a constant holds."""
    if isinstance(variable, Constant):
        return variable.name or constant_text(variable)
    return variable.name or f"<{variable.type}>"


def constant_text(constant: Constant) -> str:
    """Return a constant in a few characters: its number if all its elements are equal, else a checksum."""
    if constant.trainable:
        return "parameter"
    number = constant.number
    if number is None:
        return f"constant {constant.digest[:8]}" if constant.data.numel() else "constant (empty)"
    text = repr(number)
    text = text.removesuffix(".0") if isinstance(number, float) else text
    return text if not constant.tensor_type.shape else f"full({text})"


def settings_text(settings: dict[str, Any]) -> list[str]:
    """Write attributes as `name=value`."""
    return [f"{name}={_value(value)}" for name, value in settings.items()]


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value) if isinstance(value, str) else str(value)


def toposort(
    outputs: Iterable[Variable],
    before: Mapping[Apply, Sequence[Apply]] | None = None,
    stop: Mapping[Apply, None] | None = None,
) -> list[Apply]:
    """Sort the applications that outputs need, each after its inputs, depth first in the order of the inputs.

    `before` maps an application to others that must precede it. Applications in `stop` are omitted, with everything
    that only they need.
    Raises: CycleError.
    """
    before, stop = before or {}, stop or {}
    done: set[Apply] = set()
    open_: set[Apply] = set()
    order: list[Apply] = []
    for output in outputs:
        if output.owner is None or output.owner in done or output.owner in stop:
            continue
        stack: list[tuple[Apply, Iterator[Apply]]] = [(output.owner, _predecessors(output.owner, before))]
        open_.add(output.owner)
        while stack:
            node, sources = stack[-1]
            for source in sources:
                if source in done or source in stop:
                    continue
                if source in open_:
                    raise CycleError(f"{source.op.name} and {node.op.name} depend on each other")
                open_.add(source)
                stack.append((source, _predecessors(source, before)))
                break
            else:
                stack.pop()
                open_.discard(node)
                done.add(node)
                order.append(node)
    return order


def _predecessors(node: Apply, before: Mapping[Apply, Sequence[Apply]]) -> Iterator[Apply]:
    for variable in node.inputs:
        if variable.owner is not None:
            yield variable.owner
    yield from before.get(node, ())
