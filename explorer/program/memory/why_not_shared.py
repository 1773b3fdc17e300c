"""Why two values are in different memory."""

from collections.abc import Iterator

from explorer.errors import UnknownNameError
from explorer.program.ir.instructions import Weight
from explorer.program.ir.program import Program
from explorer.program.memory.call_reasons import call_reasons
from explorer.program.memory.record import memory_record
from explorer.trace import SharingAnswer


def why_not_shared(program: Program, one: int, other: int) -> SharingAnswer:
    """Whether two values share memory, and if not, why: weights, lifetimes, and what `ShareBuffers` says.

    Values are weights, buffers and views, by number. Raises: UnknownNameError.
    """
    for value in (one, other):
        if value not in program.definitions:
            raise UnknownNameError(f"the program has no value %{value}")
    first, second = program.origin(one), program.origin(other)
    views = "".join(f"%{v} is a view of %{program.origin(v)}; " for v in (one, other) if v != program.origin(v))
    if first == second:
        return SharingAnswer(True, views.removesuffix("; ") or f"%{one} is one value")
    if first in program.allocs and second in program.allocs:
        answer = memory_record(program).compare(first, second)
        return SharingAnswer(answer.shared, views + answer.why)
    reasons = [reason.why for reason in call_reasons(program) if reason.is_of(first, second)]
    return SharingAnswer(False, views + "; ".join([*_weight_reasons(program, first, second), *reasons]))


def _weight_reasons(program: Program, *origins: int) -> Iterator[str]:
    for origin in origins:
        weight = program.definitions[origin]
        if not isinstance(weight, Weight):
            continue
        if weight.is_returned:
            yield f"%{origin} is the {weight.role.value} {weight.name}: only what is copied into it can be made there"
        else:
            yield f"%{origin} is the {weight.role.value} {weight.name}, which is only read"
