"""What a rule asks for, and a program with it done."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from explorer.errors import RuleError
from explorer.program.ir.instructions import Instruction, Weight
from explorer.program.ir.program import Program


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction that is put in, or moved if the program has it: right before another one, or at the end (None)."""

    instruction: Instruction
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a program.

    `matched` are the numbers of the calls and copies that it is about, the root first. `removed` are taken out,
    `changed` replaces instructions of the same number in place, `placed` puts instructions in or moves them. `weights`
    replaces weights of the same number. `offsets` is a new memory plan. `became` are the instructions that do the
    work of those removed.
    """

    matched: tuple[int, ...]
    removed: tuple[int, ...] = ()
    changed: tuple[Instruction, ...] = ()
    placed: tuple[Placed, ...] = ()
    weights: tuple[Weight, ...] = ()
    offsets: Mapping[int, int] | None = None
    became: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """Why something stays as it is, where that is worth telling."""

    root: int
    reason: str


Rule = Callable[[Program, Iterator[int]], Iterable[Edit | Kept]]
"""Looks at a program and says what to change; the iterator gives numbers that nothing has."""


def edited(program: Program, edits: Sequence[Edit]) -> Program:
    """The program with all edits done, in order: a later one may change or remove what an earlier one has changed.

    Raises: RuleError if an instruction is removed or moved twice.
    """
    removed = _once("removes", edits, lambda edit: edit.removed)
    placed = [found for edit in edits for found in edit.placed]
    moved = _once("moves", edits, lambda edit: tuple(found.instruction.id for found in edit.placed))
    changed = {one.id: one for edit in edits for one in edit.changed}
    before: dict[int | None, list[Instruction]] = {}
    for found in placed:
        before.setdefault(found.before, []).append(found.instruction)
    instructions: list[Instruction] = []
    for one in program.instructions:
        instructions += before.pop(one.id, ())
        if one.id not in removed and one.id not in moved:
            instructions.append(changed.get(one.id, one))
    instructions += before.pop(None, ())
    if before:
        raise RuleError(f"a rule puts instructions before {sorted(map(str, before))}, which the program does not have")
    weights = {weight.id: weight for edit in edits for weight in edit.weights}
    offsets = next((edit.offsets for edit in reversed(edits) if edit.offsets is not None), {})
    return replace(
        program,
        weights=tuple(weights.get(weight.id, weight) for weight in program.weights),
        instructions=tuple(instructions),
        offsets=offsets,
    )


def _once(verb: str, edits: Sequence[Edit], numbers: Callable[[Edit], Iterable[int]]) -> set[int]:
    seen: set[int] = set()
    for edit in edits:
        for number in dict.fromkeys(numbers(edit)):
            if number in seen:
                raise RuleError(f"a rule {verb} instruction {number} twice in one round")
            seen.add(number)
    return seen
