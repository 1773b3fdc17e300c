"""An operator: an overload of PyTorch, and its arguments that are no tensors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

from explorer.errors import OperatorError, UnknownNameError
from explorer.tensor.ir.fakes import on_fakes
from explorer.tensor.ir.numbers import operands
from explorer.tensor.ir.types import LETTERS, Quantization, TensorType, ValueType, type_of


class Slot:
    """Where an operator takes a tensor. There is one slot, `SLOT`."""

    def __repr__(self) -> str:
        return "SLOT"

    def __copy__(self) -> "Slot":
        return self

    def __deepcopy__(self, memo: object) -> "Slot":
        return self

    def __reduce__(self) -> str:
        return "SLOT"


SLOT = Slot()
Arguments = tuple[tuple[str, Any], ...]
"""All arguments by the names of the schema; where a tensor goes stands `SLOT`, lists are tuples."""


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """An overload with everything fixed but its tensors. Two are equal if they compute the same of equal tensors.

    `target` is a functional overload of PyTorch (`torch.ops.aten.add.Tensor`, or one of our own); `arguments` are all
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
        """The operator whose tensors are all open, each one given once; a list of tensors is given as `name=slots(n)`.

        Raises: OperatorError for an attribute that the schema does not have, or one that it needs and is not given.
        """
        found: dict[str, Any] = {}
        for argument in target._schema.arguments:
            if argument.name in attributes:
                found[argument.name] = frozen(attributes.pop(argument.name))
            elif str(argument.type) == "Tensor":
                found[argument.name] = SLOT
            elif argument.has_default_value():
                found[argument.name] = frozen(argument.default_value)
            else:
                raise OperatorError(f"{target} needs the argument {argument.name!r}; its schema is {target._schema}")
        if attributes:
            raise OperatorError(f"{target} has no argument {', '.join(attributes)}; its schema is {target._schema}")
        return cls(target, tuple(found.items()))

    @property
    def name(self) -> str:
        """The name without namespace and overload: `add`."""
        return self.target._schema.name.rpartition("::")[2]

    @property
    def packet(self) -> OpOverloadPacket:
        """All overloads of that name."""
        return self.target.overloadpacket

    @property
    def num_inputs(self) -> int:
        """How many tensors it takes."""
        return sum(1 for _, value in self.arguments for _ in _slots_in(value))

    @property
    def attributes(self) -> dict[str, Any]:
        """The arguments that hold no tensor."""
        return {name: value for name, value in self.arguments if not any(True for _ in _slots_in(value))}

    @property
    def settings(self) -> dict[str, Any]:
        """The attributes that differ from the defaults of the schema: what a text shows."""
        defaults = _defaults(self.target)
        return {k: v for k, v in self.attributes.items() if k not in defaults or exact(defaults[k]) != exact(v)}

    def __getitem__(self, name: str) -> Any:
        """An argument by name. Raises: UnknownNameError."""
        for known, value in self.arguments:
            if known == name:
                return value
        raise UnknownNameError(
            f"{self.target} has no argument {name!r}; it has {', '.join(k for k, _ in self.arguments)}"
        )

    def changed(self, **attributes: Any) -> "Op":
        """The same operator with some attributes changed. Raises: OperatorError for one that it does not have."""
        unknown = set(attributes) - {name for name, _ in self.arguments}
        if unknown:
            raise OperatorError(f"{self.target} has no argument {', '.join(sorted(unknown))}")
        return Op(self.target, tuple((k, frozen(attributes.get(k, v))) for k, v in self.arguments))

    def bind(self, tensors: Sequence[Any]) -> dict[str, Any]:
        """All arguments by name, with these tensors where the slots are. Raises: OperatorError for another number."""
        if len(tensors) != self.num_inputs:
            raise OperatorError(f"{self.name} takes {self.num_inputs} tensors; {len(tensors)} were given")
        waiting = iter(tensors)
        return {name: _filled(value, waiting) for name, value in self.arguments}

    def __call__(self, *inputs: Any) -> Any:
        """Apply it to variables: the result, or a tuple of several. Numbers become constants. Raises: OperatorError."""
        from explorer.tensor.ir.variables import apply_op

        outputs = apply_op(self, inputs).outputs
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def input_names(self) -> tuple[str, ...]:
        """For each tensor the name of the argument in which it stands."""
        return tuple(name for name, value in self.arguments for _ in _slots_in(value))

    def run(self, tensors: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        """The results for these tensors, by PyTorch's own kernel."""
        return flat_results(_call(self.target, self.bind(operands(self.target, tensors))))

    def result_types(
        self, inputs: Sequence[ValueType], known: Sequence[ValueType] | None = None
    ) -> tuple[ValueType, ...]:
        """Types of the results for inputs of these types, as PyTorch's fake tensors give them.

        `known` are those that they gave for this very call before, dtypes and shapes.
        Raises: OperatorError if PyTorch refuses them; the message holds its reason.
        """
        if known is None:
            found = _result_types(self, tuple(inputs))
        else:
            _check_inputs(self, inputs)
            found = known
        return tuple(_with_names(self, inputs, kind) for kind in found)  # not cached: equal types differ in names

    def __str__(self) -> str:
        return self.name + "".join(f" {name}={value!r}" for name, value in self.settings.items())

    __repr__ = __str__


def slots(count: int) -> tuple[Slot, ...]:
    """A list of so many tensors: `Op.of(torch.ops.aten.cat.default, tensors=slots(2), dim=1)`."""
    return (SLOT,) * count


def overload(target: "OpOverload | OpOverloadPacket") -> OpOverload:
    """The overload itself, or the only or default one of a packet. Raises: OperatorError."""
    if isinstance(target, OpOverload):
        return target
    names = target.overloads()
    if len(names) == 1 or "default" in names:
        return getattr(target, names[0] if len(names) == 1 else "default")
    raise OperatorError(f"{target} has the overloads {', '.join(names)}; name one of them")


def bound(target: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names, defaults included. Raises: OperatorError for those that do not fit."""
    schema = target._schema.arguments
    positional = [argument for argument in schema if not argument.kwarg_only]
    if len(args) > len(positional):
        raise OperatorError(f"{target} takes {len(positional)} positional arguments; {len(args)} were given")
    found: dict[str, Any] = {}
    given = {**{argument.name: value for argument, value in zip(positional, args, strict=False)}, **kwargs}
    for argument in schema:
        if argument.name in given:
            found[argument.name] = given.pop(argument.name)
        elif argument.has_default_value():
            found[argument.name] = argument.default_value
        else:
            raise OperatorError(f"{target} needs the argument {argument.name!r}; its schema is {target._schema}")
    if given:
        raise OperatorError(f"{target} has no argument {', '.join(given)}; its schema is {target._schema}")
    return found


@cache
def takes_tensor(target: OpOverload, name: str) -> bool:
    """Whether an argument of the schema is one tensor, maybe an optional one."""
    kind = next(str(argument.type) for argument in target._schema.arguments if argument.name == name)
    return kind in ("Tensor", "Optional[Tensor]")


def frozen(value: Any) -> Any:
    """An argument as a hashable value: lists become tuples."""
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    return value


def exact(value: Any) -> Any:
    """A value that is equal for arguments that an operator cannot tell apart: same kind of number, same bits."""
    if isinstance(value, tuple):
        return tuple(map(exact, value))
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, complex):
        return ("complex", value.real.hex(), value.imag.hex())
    return value


def flat_results(value: Any) -> tuple[Any, ...]:
    """What a kernel returned as a flat tuple: lists of tensors count as so many results."""
    if isinstance(value, list | tuple):
        return tuple(item for part in value for item in flat_results(part))
    return (value,)


def _slots_in(value: Any) -> Iterator[Slot]:
    if value is SLOT:
        yield SLOT
    elif isinstance(value, tuple):
        for item in value:
            yield from _slots_in(item)


def _filled(value: Any, tensors: Iterator[Any]) -> Any:
    if value is SLOT:
        return next(tensors)
    if isinstance(value, tuple):
        return [_filled(item, tensors) for item in value]
    return value


@cache
def _positional(target: OpOverload) -> tuple[str, ...]:
    return tuple(argument.name for argument in target._schema.arguments if not argument.kwarg_only)


@cache
def _defaults(target: OpOverload) -> dict[str, Any]:
    return {a.name: frozen(a.default_value) for a in target._schema.arguments if a.has_default_value()}


def split_call(target: OpOverload, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by name as positional ones and keywords, those that have their default left out at the end."""
    defaults = _defaults(target)
    args = [values[name] for name in _positional(target)]
    names = list(_positional(target))
    while names and names[-1] in defaults and _is_default(args[-1], defaults[names[-1]]):
        names.pop()
        args.pop()
    rest = {k: v for k, v in values.items() if k not in _positional(target)}
    kept = {k: v for k, v in rest.items() if k not in defaults or not _is_default(v, defaults[k])}
    return tuple(args), kept


def _is_default(value: Any, default: Any) -> bool:
    return not isinstance(value, torch.Tensor) and exact(frozen(value)) == exact(default)


def kernel(target: OpOverload) -> OpOverload:
    """What computes an operator: a view of a tensor whose numbers lie in another order than its axes is a copy."""
    return torch.ops.aten.reshape.default if target in VIEWS else target


VIEWS = (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default)
"""Operators that PyTorch refuses, depending on how a tensor lies in memory; a rewrite may change that."""


def _call(target: OpOverload, values: Mapping[str, Any]) -> Any:
    names = _positional(target)
    return kernel(target)(*[values[name] for name in names], **{k: v for k, v in values.items() if k not in names})


KERNEL_ERRORS = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)
"""What a kernel of PyTorch raises for tensors that it does not take."""


@lru_cache(maxsize=100_000)
def _result_types(op: Op, inputs: tuple[ValueType, ...]) -> tuple[ValueType, ...]:
    shown = ", ".join(map(str, inputs))
    _check_inputs(op, inputs)
    try:
        with on_fakes():
            tensors = [torch.empty(kind.shape, dtype=kind.dtype) for kind in inputs if isinstance(kind, TensorType)]
            results = flat_results(_call(op.target, op.bind(tensors)))
    except (DynamicOutputShapeException, DataDependentOutputException) as error:
        raise OperatorError(
            f"the shape of {op.name}({shown}) depends on the data; such operators are not taken"
        ) from error
    except KERNEL_ERRORS as error:
        raise OperatorError(f"PyTorch refuses {op}({shown}): {str(error).splitlines()[0]}") from error
    return tuple(map(type_of, results))


def _check_inputs(op: Op, inputs: Sequence[ValueType]) -> None:
    """Whether they are tensors, quantized as the operator needs them. Raises: OperatorError."""
    for kind in inputs:
        if not isinstance(kind, TensorType):
            raise OperatorError(f"{op.name} takes tensors; one of its inputs is a {kind}")
    _check_quantization(op, inputs)


def _check_quantization(op: Op, inputs: Sequence[ValueType]) -> None:
    """Whether scales and offsets among the arguments are those of the tensors. Raises: OperatorError.

    An operator of ours that takes `x_scale` and `x_offset` takes a tensor `x` that is quantized so (None: a plain
    one). Operators that move numbers must find all of them quantized alike.
    """
    kinds = [kind for kind in inputs if isinstance(kind, TensorType)]
    if op.name in MOVES_DATA and any(kind.quantization != kinds[0].quantization for kind in kinds):
        raise OperatorError(f"{op.name} takes tensors quantized alike; found {', '.join(map(str, kinds))}")
    if op.target.namespace != "explorer":
        return
    given = dict(op.arguments)
    for name, kind in zip(op.input_names(), kinds, strict=True):
        if f"{name}_scale" not in given:
            continue
        scale, offset = given[f"{name}_scale"], given[f"{name}_offset"]
        wanted = None if scale is None else Quantization(scale, offset)
        if kind.quantization != wanted:
            told = f"quantized by {wanted}" if wanted is not None else "of plain numbers"
            raise OperatorError(f"{op.name} takes a tensor {name} {told}; it is a {kind}")
        if wanted is not None:
            _check_offset(op, kind.dtype, wanted)


def _check_offset(op: Op, dtype: torch.dtype, quantization: Quantization) -> None:
    if dtype.is_floating_point or not torch.iinfo(dtype).min <= quantization.offset <= torch.iinfo(dtype).max:
        name = LETTERS.get(dtype, dtype)
        raise OperatorError(f"{op.name} has a tensor of {name} with the offset {quantization.offset}, which is none")


def _with_names(op: Op, inputs: Sequence[ValueType], result: ValueType) -> ValueType:
    """The type of a result with what fake tensors do not know: layout and quantization."""
    if not isinstance(result, TensorType) or not inputs or not isinstance(inputs[0], TensorType):
        return result
    first = inputs[0]
    names = dict(op.arguments)
    quantization = first.quantization if op.name in MOVES_DATA and result.dtype == first.dtype else None
    if "out_scale" in names:
        quantization = Quantization(names["out_scale"], names["out_offset"])
        _check_offset(op, result.dtype, quantization)
    return TensorType(result.dtype, result.shape, _layout(op, first, result), quantization)


def _layout(op: Op, first: TensorType, result: TensorType) -> str:
    """The names of the axes of a result, as far as they follow from those of the first input."""
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
"""Operators that change sizes but not which axis is which, as long as there are as many."""

MOVES_DATA = frozenset(
    (
        *("permute", "transpose", "t", "numpy_T", "view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze"),
        *("unsqueeze", "clone", "expand", "slice", "select", "narrow", "cat", "stack", "split", "split_with_sizes"),
        *("chunk", "repeat", "max_pool2d", "max_pool2d_nhwc", "alias", "contiguous"),
    )
)
"""Operators that give numbers of their input as they are: quantized inputs give results of the same quantization."""
