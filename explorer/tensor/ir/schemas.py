"""Schemas of PyTorch's operators: how a call binds their arguments, and how a kernel is called."""

from cmath import isfinite
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.errors import OperatorError

aten = torch.ops.aten
"""PyTorch's operators."""

NATURAL = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
"""The dtype in which PyTorch holds a number of each Python type."""


def overloads(*names: str) -> tuple[OpOverload, ...]:
    """Look up overloads of ATen by name: `overloads("relu exp", "add.Tensor")`; the suffix `default` is optional."""
    parts = [name.partition(".") for name in " ".join(names).split()]
    return tuple(getattr(getattr(aten, packet), suffix or "default") for packet, _, suffix in parts)


def bind_arguments(target: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Bind the arguments of a call by name, defaults included. Raises: OperatorError if they do not fit the schema."""
    schema = target._schema.arguments
    positional = [argument for argument in schema if not argument.kwarg_only]
    if len(args) > len(positional):
        raise OperatorError(f"{target} accepts {len(positional)} positional arguments, got {len(args)}")
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
def accepts_tensor(target: OpOverload, name: str) -> bool:
    """Return whether an argument of the schema is one tensor, maybe an optional one."""
    kind = next(str(argument.type) for argument in target._schema.arguments if argument.name == name)
    return kind in ("Tensor", "Optional[Tensor]")


def freeze(value: Any) -> Any:
    """Return an argument as a hashable value: lists become tuples."""
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def exact(value: Any) -> Any:
    """Return a key that is equal for equal arguments: the same kind of number with the same bits."""
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
    """Return the result of a kernel as a flat tuple; the tensors of a list are separate results."""
    if isinstance(value, list | tuple):
        return tuple(item for part in value for item in flat_results(part))
    return (value,)


def nested_results(target: OpOverload, results: Sequence[Any]) -> Any:
    """Nest flat results as a call returns them. Raises: OperatorError if the schema has several lists of tensors."""
    returns = target._schema.returns
    parts: list[Any] = list(results)
    lists = [i for i, part in enumerate(returns) if "List" in str(part.type)]
    if len(lists) > 1:
        raise OperatorError(f"{target} returns {len(lists)} lists of tensors; at most one is supported")
    for start in lists:
        end = len(parts) - (len(returns) - 1 - start)
        parts[start:end] = [tuple(parts[start:end])]
    return parts[0] if len(returns) == 1 else tuple(parts)


@cache
def _positional(target: OpOverload) -> tuple[str, ...]:
    return tuple(argument.name for argument in target._schema.arguments if not argument.kwarg_only)


@cache
def schema_defaults(target: OpOverload) -> dict[str, Any]:
    """Return the default values of the arguments that have one."""
    return {a.name: freeze(a.default_value) for a in target._schema.arguments if a.has_default_value()}


def split_call(target: OpOverload, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split arguments by name into positional ones and keywords, without defaults at the end."""
    defaults = schema_defaults(target)
    args = [values[name] for name in _positional(target)]
    names = list(_positional(target))
    while names and names[-1] in defaults and _is_default(args[-1], defaults[names[-1]]):
        names.pop()
        args.pop()
    rest = {k: v for k, v in values.items() if k not in _positional(target)}
    kept = {k: v for k, v in rest.items() if k not in defaults or not _is_default(v, defaults[k])}
    return tuple(args), kept


def _is_default(value: Any, default: Any) -> bool:
    return not isinstance(value, torch.Tensor) and exact(freeze(value)) == exact(default)


def kernel(target: OpOverload) -> OpOverload:
    """Return the overload that computes an operator: `reshape` for `view`, which copies if strides forbid a view."""
    return aten.reshape.default if target in VIEWS else target


VIEWS = (aten.view.default, aten._unsafe_view.default)
"""Operators that raise for some strides, which a rewrite may change."""


def call_kernel(target: OpOverload, values: Mapping[str, Any]) -> Any:
    """Call the kernel of an overload with its arguments by name."""
    names = _positional(target)
    return kernel(target)(*[values[name] for name in names], **{k: v for k, v in values.items() if k not in names})


KERNEL_ERRORS = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)
"""Errors that kernels of PyTorch raise for tensors that they do not accept."""


class PythonNumber(torch.Tensor):
    """A zero-dimensional tensor that represents a Python number, as `nn.Parameter` represents a weight.

    Its dtype is the one in which the number acts; `value` is the number itself. Operators that accept numbers receive
    `value`: kernels of short dtypes compute with all its digits, and an integer need not fit into the dtype. Results
    are plain tensors.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl  # pyright: ignore[reportAssignmentType]
    value: Any

    @classmethod
    def of(cls, value: complex, dtype: torch.dtype) -> "PythonNumber":
        """Return a number that acts in a dtype. Raises: OperatorError for an integer that PyTorch cannot hold."""
        try:
            data = torch.tensor(value, dtype=NATURAL[type(value)]).to(dtype)
        except (OverflowError, ValueError) as error:
            raise OperatorError(f"{value} is too large for a tensor") from error
        number = torch.Tensor._make_subclass(cls, data)
        number.value = value
        return number

    @property
    def number(self) -> Any:
        """The number as the Python type of its dtype; inf where kernels of that dtype cannot hold it.

        Kernels of 16 bits hold numbers in 32 bits.
        """
        kind: Any = type(self.item())
        held = torch.tensor(self.value, dtype=NATURAL[type(self.value)])
        held = held.to(torch.promote_types(self.dtype, torch.float32)).item()
        return kind(self.value if isfinite(held) else held)

    @property
    def plain(self) -> torch.Tensor:
        """The tensor alone, rounded to its dtype."""
        return self.as_subclass(torch.Tensor)

    def detach(self) -> "PythonNumber":
        """Return the number itself: no gradient passes through it."""
        return self

    def __deepcopy__(self, memo: object) -> "PythonNumber":
        return self


@cache
def accepts_numbers(target: OpOverload) -> bool:
    """Return whether PyTorch accepts a Python number for a tensor argument of this operator."""
    return torch._C._should_allow_numbers_as_tensors(target._schema.name.rpartition("::")[2])


def operands(target: OpOverload, tensors: Sequence[Any]) -> list[Any]:
    """Return the operands of a kernel: next to a tensor a Python number is passed as that number, alone as a tensor."""
    alone = all(isinstance(tensor, PythonNumber) for tensor in tensors)
    if alone or not accepts_numbers(target):
        return list(tensors)
    return [tensor.value if isinstance(tensor, PythonNumber) else tensor for tensor in tensors]
