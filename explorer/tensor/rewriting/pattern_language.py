"""The language of patterns: which patterns are valid, their text, and the variables that they build.

A pattern is a tuple of an operator and the patterns of its inputs. A string is a variable of the pattern; a number
matches a constant filled with that number; a `Constant` matches one with the same content; `Asterisk("xs")`
matches all remaining inputs; `{"pattern": p, "constraint": f}` calls f with the variable that p matched.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from explorer.errors import OperatorError, RuleError
from explorer.tensor.ir.ops import Op, apply_op, number_constant
from explorer.tensor.ir.variables import Constant, Variable
from explorer.tensor.rewriting.rewriters import OpPattern, tracked_name


@dataclass(frozen=True, slots=True)
class Asterisk:
    """As the last input of a pattern: all remaining inputs, possibly none, bound as a tuple of variables."""

    name: str


Bindings = Mapping[str, Any]


def check_pattern(pattern: Any) -> None:
    """Check a pattern. Raises: RuleError if it is not valid."""
    if isinstance(pattern, tuple):
        if not pattern or not isinstance(pattern[0], Op | OpOverload | OpOverloadPacket | OpPattern):
            raise RuleError(f"expected a tuple that begins with an operator, got {pattern!r}")
        _check_count(pattern)
        for i, part in enumerate(pattern[1:]):
            if isinstance(part, Asterisk):
                if i != len(pattern) - 2:
                    raise RuleError(f"Asterisk({part.name!r}) must be the last input of its operator")
                continue
            check_pattern(part)
    elif isinstance(pattern, dict):
        if set(pattern) != {"pattern", "constraint"} or not callable(pattern["constraint"]):
            raise RuleError(f"expected a dictionary with 'pattern' and 'constraint', got {sorted(map(str, pattern))}")
        check_pattern(pattern["pattern"])
    elif isinstance(pattern, bool) or not isinstance(pattern, str | int | float | Constant):
        raise RuleError(f"expected a tuple, name, number or constant in a pattern, got {pattern!r}")


def check_replacement(replacement: Any) -> None:
    """Check a replacement. Raises: RuleError if `build` cannot turn it into a variable."""
    check_pattern(replacement)
    if isinstance(replacement, dict):
        raise RuleError("a replacement cannot have a constraint; put it into the pattern")
    if not isinstance(replacement, tuple):
        return
    op, parts = _operator(replacement[0]), replacement[1:]
    if not any(isinstance(part, Asterisk) for part in parts) and len(parts) != op.num_inputs:
        raise RuleError(f"{op.name} accepts {op.num_inputs} inputs; got {len(parts)} in {pattern_text(replacement)}")
    for part in parts:
        if not isinstance(part, Asterisk):
            check_replacement(part)


def _check_count(pattern: tuple[Any, ...]) -> None:
    """Check the number of inputs of an operator in a pattern. Raises: RuleError."""
    target: Any = pattern[0].target if isinstance(pattern[0], OpPattern) else pattern[0]
    is_packet = isinstance(target, OpOverloadPacket)
    overloads: list[Any] = [getattr(target, name) for name in target.overloads()] if is_packet else [target]
    counts = dict.fromkeys(map(_counts, overloads))
    given = len(pattern) - 1
    several = given > 0 and isinstance(pattern[-1], Asterisk)
    if not any(given <= most and (several or least <= given) for least, most in counts):
        accepted = " or ".join(f"{least}" if least == most else f"{least} to {most:g}" for least, most in counts)
        what = tracked_name(pattern[0])
        raise RuleError(f"{what} accepts {accepted} inputs; got {given} in {pattern_text(pattern)}")


def _counts(target: Op | OpOverload) -> tuple[int, float]:
    """Return the minimum and maximum number of tensors that an operator accepts."""
    if isinstance(target, Op):
        return target.num_inputs, target.num_inputs
    kinds = [str(argument.type) for argument in target._schema.arguments]
    if any(kind.startswith("List[") and "Tensor" in kind for kind in kinds):
        return 0, inf
    return kinds.count("Tensor"), kinds.count("Tensor") + kinds.count("Optional[Tensor]")


def names_in(pattern: Any) -> set[str]:
    """Return the names of the variables in a pattern."""
    if isinstance(pattern, str):
        return {pattern}
    if isinstance(pattern, Asterisk):
        return {pattern.name}
    if isinstance(pattern, dict):
        return names_in(pattern["pattern"])
    return {name for part in pattern[1:] for name in names_in(part)} if isinstance(pattern, tuple) else set()


def pattern_text(pattern: Any) -> str:
    """Return a pattern written as an expression: `div(mul(x, y), y)`."""
    if isinstance(pattern, tuple):
        return f"{tracked_name(pattern[0])}({', '.join(map(pattern_text, pattern[1:]))})"
    if isinstance(pattern, dict):
        return f"{pattern_text(pattern['pattern'])} with {function_name(pattern['constraint'])}"
    if isinstance(pattern, Asterisk):
        return f"*{pattern.name}"
    if callable(pattern):
        return function_name(pattern)
    return pattern if isinstance(pattern, str) else repr(pattern)


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function in messages."""
    name = getattr(function, "__name__", type(function).__name__)
    return "a condition" if name == "<lambda>" else name


def num_entries(pattern: Any) -> int:
    """Return the number of entries of a pattern."""
    if isinstance(pattern, dict):
        return num_entries(pattern["pattern"])
    return 1 + sum(num_entries(part) for part in pattern[1:]) if isinstance(pattern, tuple) else 1


def build(pattern: Any, bindings: Bindings, like: Variable) -> Variable:
    """Return the variable that a replacement pattern builds from the bindings of its variables."""
    if isinstance(pattern, str):
        return bindings[pattern]
    if isinstance(pattern, Constant):
        return pattern
    if isinstance(pattern, int | float):
        kind = like.tensor_type
        return Constant(torch.full(kind.shape, pattern, dtype=kind.dtype))
    head, *parts = pattern
    inputs: list[Any] = []
    for part in parts:
        if isinstance(part, Asterisk):
            inputs.extend(bindings[part.name])
        else:
            inputs.append(part if isinstance(part, int | float) else build(part, bindings, like))
    known = [value for value in inputs if isinstance(value, Variable)]
    inputs = [value if isinstance(value, Variable) else number_constant(value, known) for value in inputs]
    return apply_op(_operator(head), inputs).outputs[0]


def _operator(head: Any) -> Op:
    """Return the operator of a replacement. Raises: RuleError if it is not determined."""
    if isinstance(head, Op):
        return head
    target, attributes = (head.target, dict(head.attributes)) if isinstance(head, OpPattern) else (head, {})
    if not isinstance(target, OpOverload):
        known = ", ".join(f"{target}.{name}" for name in target.overloads())
        raise RuleError(f"expected one overload in a replacement, got {target}; choose one of {known}")
    try:
        return Op.of(target, **attributes)
    except OperatorError as error:
        raise RuleError(f"{error}; pass it as in Op.of({target}, ...)") from error
