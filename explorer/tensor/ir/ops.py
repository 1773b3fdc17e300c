"""Operators (overloads of PyTorch with all their arguments but the tensors), and applying them to variables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from explorer.errors import OperatorError, UnknownNameError
from explorer.tensor.ir.result_types import check_inputs, infer_types, with_names
from explorer.tensor.ir.schemas import (
    NATURAL,
    PythonNumber,
    accepts_numbers,
    accepts_tensor,
    bind_arguments,
    call_kernel,
    exact,
    flat_results,
    freeze,
    operands,
    schema_defaults,
)
from explorer.tensor.ir.types import ValueType
from explorer.tensor.ir.variables import NOWHERE, Apply, Constant, SourceLocation, Variable


class Slot(Enum):
    """Placeholder of a tensor among the arguments."""

    SLOT = "SLOT"

    def __repr__(self) -> str:
        return "SLOT"


SLOT = Slot.SLOT
Arguments = tuple[tuple[str, Any], ...]
"""All arguments by the names of the schema; tensors are `SLOT`, lists are tuples."""


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """An overload with all arguments fixed but the tensors. Two are equal if they compute the same from equal tensors.

    `target` is a functional overload of PyTorch (`torch.ops.aten.add.Tensor`, or a custom one); `arguments` are all
    its arguments, defaults included. To an operator 2, 2.0 and True are different numbers, and so are 0.0 and -0.0.
    """

    target: OpOverload
    arguments: Arguments
    _key: tuple[Any, ...] = field(init=False, repr=False)
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        key = (self.target, exact(self.arguments))
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_hash", hash(key))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    @classmethod
    def of(cls, target: OpOverload, **attributes: Any) -> "Op":
        """Return the operator with one slot for each tensor argument; for a list of tensors pass `name=slots(n)`.

        Raises: OperatorError for an unknown or a missing attribute.
        """
        slots = {argument.name: SLOT for argument in target._schema.arguments if str(argument.type) == "Tensor"}
        found = bind_arguments(target, (), {**slots, **attributes})
        return cls(target, tuple((name, freeze(value)) for name, value in found.items()))

    @property
    def name(self) -> str:
        """The name without namespace and overload: `add`."""
        return self.target._schema.name.rpartition("::")[2]

    @property
    def packet(self) -> OpOverloadPacket:
        """All overloads of that name."""
        return self.target.overloadpacket

    @property
    def is_random(self) -> bool:
        """Whether it draws random numbers."""
        return torch.Tag.nondeterministic_seeded in self.target.tags

    @property
    def num_inputs(self) -> int:
        """The number of tensors that it accepts."""
        return sum(1 for _, value in self.arguments for _ in _slots_in(value))

    @property
    def attributes(self) -> dict[str, Any]:
        """The arguments without tensors."""
        return {name: value for name, value in self.arguments if not any(True for _ in _slots_in(value))}

    @property
    def settings(self) -> dict[str, Any]:
        """The attributes that differ from the defaults of the schema, for text forms."""
        defaults = schema_defaults(self.target)
        return {k: v for k, v in self.attributes.items() if k not in defaults or exact(defaults[k]) != exact(v)}

    def __getitem__(self, name: str) -> Any:
        """Return an argument by name. Raises: UnknownNameError."""
        for known, value in self.arguments:
            if known == name:
                return value
        raise UnknownNameError(
            f"{self.target} has no argument {name!r}; it has {', '.join(k for k, _ in self.arguments)}"
        )

    def with_attributes(self, **attributes: Any) -> "Op":
        """Return the same operator with some attributes changed. Raises: OperatorError for an unknown one."""
        unknown = set(attributes) - {name for name, _ in self.arguments}
        if unknown:
            raise OperatorError(f"{self.target} has no argument {', '.join(sorted(unknown))}")
        return Op(self.target, tuple((k, freeze(attributes.get(k, v))) for k, v in self.arguments))

    def bind(self, tensors: Sequence[Any]) -> dict[str, Any]:
        """Fill the slots with tensors; return all arguments by name. Raises: OperatorError if the numbers differ."""
        if len(tensors) != self.num_inputs:
            raise OperatorError(f"{self.name} accepts {self.num_inputs} tensors, got {len(tensors)}")
        waiting = iter(tensors)
        return {name: _fill(value, waiting) for name, value in self.arguments}

    def __call__(self, *inputs: Any) -> Any:
        """Apply it to variables: the result, or a tuple of several. Numbers become constants. Raises: OperatorError."""
        outputs = apply_op(self, inputs).outputs
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def input_names(self) -> tuple[str, ...]:
        """Return the name of the argument of each tensor."""
        return tuple(name for name, value in self.arguments for _ in _slots_in(value))

    def run(self, tensors: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        """Return the results of PyTorch's kernel for these tensors."""
        return flat_results(call_kernel(self.target, self.bind(operands(self.target, tensors))))

    def result_types(
        self, inputs: Sequence[ValueType], known: Sequence[ValueType] | None = None
    ) -> tuple[ValueType, ...]:
        """Infer the types of the results for inputs of these types, with fake tensors.

        `known` are dtypes and shapes that were inferred for the same call before.
        Raises: OperatorError if PyTorch refuses the inputs, with its reason.
        """
        if known is None:
            found = infer_types(self, tuple(inputs))
        else:
            check_inputs(self, inputs)
            found = known
        # not cached: equal types may have different names
        return tuple(with_names(self, inputs, kind) for kind in found)

    def __str__(self) -> str:
        return self.name + "".join(f" {name}={value!r}" for name, value in self.settings.items())

    __repr__ = __str__


def slots(count: int) -> tuple[Slot, ...]:
    """Return a list of `count` tensors: `Op.of(torch.ops.aten.cat.default, tensors=slots(2), dim=1)`."""
    return (SLOT,) * count


def apply_op(
    op: Op,
    inputs: Sequence["Variable | float"],
    location: SourceLocation = NOWHERE,
    known: Sequence[ValueType] | None = None,
) -> Apply:
    """Apply an operator to variables; numbers become constants that act in it as the numbers do.

    `known` are the types of the results, if they have been inferred before.
    Raises: OperatorError if the number or the types of the inputs do not fit.
    """
    if len(inputs) != op.num_inputs:
        raise OperatorError(f"{op.name} accepts {op.num_inputs} tensors, got {len(inputs)}")
    given = [value for value in inputs if isinstance(value, Variable)]
    variables = [value if isinstance(value, Variable) else number_constant(value, given) for value in inputs]
    if not accepts_numbers(op.target):
        variables = [_plain(variable) for variable in variables]
    node = Apply(op, variables, location=location)
    types = op.result_types([variable.type for variable in variables], known)
    device = _device(op, variables)
    requires_grad = any(variable.requires_grad for variable in variables)
    node.outputs = [Variable(kind, node, i, "", device, requires_grad) for i, kind in enumerate(types)]
    return node


def _device(op: Op, inputs: Sequence[Variable]) -> torch.device | None:
    named = op.attributes.get("device")
    return torch.device(named) if named is not None else next((v.device for v in inputs if v.device is not None), None)


def number_constant(value: complex, others: Sequence[Variable]) -> Constant:
    """Make a zero-dimensional constant that acts as the number in an operator on `others`. Raises: OperatorError."""
    python = next(known for known in NATURAL if isinstance(value, known))
    kinds = [v.tensor_type for v in others if not isinstance(v, Constant) or not isinstance(v.data, PythonNumber)]
    other = torch.empty(kinds[0].shape, dtype=kinds[0].dtype, device="meta") if kinds else python(1)
    return Constant(PythonNumber.of(python(value), torch.result_type(other, python(1))))


def _plain(variable: Variable) -> Variable:
    """Return a Python number as the tensor that it acts as; any other variable unchanged."""
    if isinstance(variable, Constant) and isinstance(variable.data, PythonNumber):
        return Constant(variable.data.plain)
    return variable


def call(target: OpOverload, *args: Any, location: SourceLocation = NOWHERE, **kwargs: Any) -> Any:
    """Apply an overload as one would call it, with variables for tensors: the result, or a tuple of several.

    A number where the schema expects a tensor becomes a constant.
    Raises: OperatorError for arguments that do not fit, in number, name or type.
    """
    node = make_apply(target, args, kwargs, location)
    return node.outputs[0] if len(node.outputs) == 1 else tuple(node.outputs)


def make_apply(
    target: OpOverload,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    location: SourceLocation = NOWHERE,
    known: Sequence[ValueType] | None = None,
) -> Apply:
    """Apply an overload as one would call it; `known` is as in `apply_op`. Raises: OperatorError."""
    values = bind_arguments(target, args, kwargs)
    variables = [v for value in values.values() for v in _variables_in(value)]
    inputs: list[Variable] = []
    arguments: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, int | float | complex) and accepts_tensor(target, name):
            value = number_constant(value, variables)
        arguments.append((name, _with_slots(value, inputs)))
    return apply_op(Op(target, tuple(arguments)), inputs, location, known)


def _variables_in(value: Any) -> list[Variable]:
    if isinstance(value, Variable):
        return [value]
    if isinstance(value, list | tuple):
        return [v for item in value for v in _variables_in(item)]
    return []


def _with_slots(value: Any, inputs: list[Variable]) -> Any:
    """Replace the variables in an argument by slots, and append them to `inputs`."""
    if isinstance(value, Variable):
        inputs.append(value)
        return SLOT
    if isinstance(value, list | tuple):
        return tuple(_with_slots(item, inputs) for item in value)
    return freeze(value)


def _slots_in(value: Any) -> Iterator[Slot]:
    if value is SLOT:
        yield SLOT
    elif isinstance(value, tuple):
        for item in value:
            yield from _slots_in(item)


def _fill(value: Any, tensors: Iterator[Any]) -> Any:
    if value is SLOT:
        return next(tensors)
    if isinstance(value, tuple):
        return [_fill(item, tensors) for item in value]
    return value
