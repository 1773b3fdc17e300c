"""Logarithms of the parameters of which numbers have underflowed, computed from those of their operands."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from explorer.backend.numeric import is_captured
from explorer.backend.plan import PlannedParameter, PlannedRead
from explorer.backend.semiring import ComplexLSESumSemiring, Semiring, real_log

SMALLEST_NORMAL = torch.finfo(torch.float32).tiny
"""Numbers of parameters below it have underflowed; also of double precision, which may be rounded."""

NodeValues = Mapping[int, Tensor]
"""The value (F, *shape) of each node of a parameter graph."""
ReadOperand = Callable[[PlannedRead, NodeValues], Tensor]
"""Returns what is read from the values of nodes."""
Key = TypeVar("Key", bound=Hashable)


def logarithms_of_underflowed(
    semiring: Semiring,
    parameters: Mapping[Key, tuple[PlannedParameter, NodeValues]],
    read: ReadOperand,
    *,
    by_value: bool = False,
) -> dict[Key, Tensor]:
    """The logarithms (F, *shape) of those parameters of which an operator has computed a number that underflowed.

    With `by_value`, those of an operator of one operand that may underflow, such as a softmax, are of its value and
    not from its operand: the value then has the gradient. In a semiring of linear values there are none.
    """
    if not semiring.is_logarithmic:
        return {}
    computed = [
        [values[step.node] for step in parameter.nodes if step.op is not None and step.op.may_underflow]
        for parameter, values in parameters.values()
    ]
    found = {
        key: _logarithm(parameter, values, read, by_value)
        for (key, (parameter, values)), is_small in zip(parameters.items(), _have_underflowed(computed), strict=True)
        if is_small
    }
    return found if semiring.is_complex else {key: real_log(logs) for key, logs in found.items()}


def _logarithm(parameter: PlannedParameter, values: NodeValues, read: ReadOperand, by_value: bool) -> Tensor:
    """The complex logarithm (F, *shape), since operands may be negative where the result is not."""
    semiring, logs = ComplexLSESumSemiring(), dict[int, Tensor]()
    for step in parameter.nodes:
        if step.op is None or (by_value and step.op.may_underflow and len(step.reads) == 1):
            logs[step.node] = semiring.from_linear(values[step.node])
        else:
            operands, of_operands = ([read(one, given) for one in step.reads] for given in (values, logs))
            logs[step.node] = step.op.log_forward(semiring, operands, of_operands)
    return logs[parameter.last] if parameter.result is None else read(parameter.result, logs)


def _have_underflowed(every: Sequence[Sequence[Tensor]]) -> list[bool]:
    """For each sequence of tensors, whether one of them has a number that is zero or below all normal numbers.

    A graph that cannot branch on values does not ask; where values are unknown, as under vmap, they may be so.
    """
    flat = [value.detach() for values in every for value in values]
    if not flat or any(map(is_captured, flat)):
        return [False] * len(every)
    try:
        is_small = _are_below_normal([value.abs() if value.is_complex() else value for value in flat])
        negative = [n for n, value in enumerate(flat) if is_small[n] and not value.is_complex()]
        for n, is_below in zip(negative, _are_below_normal([flat[n].abs() for n in negative]), strict=True):
            is_small[n] = is_below
    except RuntimeError:
        return [True] * len(every)
    of_values = iter(is_small)
    return [True in [next(of_values) for _ in values] for values in every]


def _are_below_normal(values: Sequence[Tensor]) -> list[bool]:
    """Whether each real tensor has a number below all positive normal numbers, in one transfer from a GPU."""
    if not values:
        return []
    least = torch.stack([value.amin() for value in values]).tolist()
    return [low < max(torch.finfo(value.dtype).tiny, SMALLEST_NORMAL) for low, value in zip(least, values, strict=True)]
