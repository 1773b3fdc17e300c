"""Changes of a program: the edits that rules ask for, and the driver that makes and reports them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from explorer.errors import RuleError
from explorer.levels import (
    Kept as Kept,
    Limit as Limit,
    Outcome,
    StateRecording,
    WorkingState,
    pause_garbage_collection,
)
from explorer.program.ir.instructions import Alloc, Dealloc, Instruction, View, Weight, with_values
from explorer.program.ir.program import Program
from explorer.program.ir.verify import verify


@dataclass(frozen=True, slots=True)
class Insertion:
    """An instruction to insert, or to move if the program has it: right before another one, or at the end (None)."""

    instruction: Instruction
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a program.

    `matched` are the numbers of the calls and copies that it is about, the root first. Instructions in `removed` go,
    `changed` replaces instructions of the same number, and `placed` inserts or moves instructions; an allocation or
    view that is used before its definition moves to its first use. `weights` replaces weights of the same number,
    `offsets` is a new memory plan, and `renamed` maps values to the values that all instructions use instead. `became`
    lists the instructions that do the work of the removed ones.
    """

    matched: tuple[int, ...]
    removed: tuple[int, ...] = ()
    changed: tuple[Instruction, ...] = ()
    placed: tuple[Insertion, ...] = ()
    weights: tuple[Weight, ...] = ()
    offsets: Mapping[int, int] | None = None
    became: tuple[int, ...] = ()
    renamed: Mapping[int, int] = field(default_factory=dict[int, int])


Rule = Callable[[Program, Iterator[int]], Iterable[Edit | Kept | Limit]]
"""A function of a program that yields changes; the iterator yields unused numbers."""


def apply_edits(program: Program, edits: Sequence[Edit]) -> Program:
    """Return the program after all edits, in order: a later one may change or remove the changes of an earlier one.

    Raises: RuleError if an instruction is removed twice, or inserted before an unknown one.
    """
    offsets = next((edit.offsets for edit in reversed(edits) if edit.offsets is not None), {})
    weights = {weight.id: weight for edit in edits for weight in edit.weights}
    instructions = _apply_to_instructions(program, edits)
    if not weights and instructions is program.instructions:
        return program.with_offsets(offsets)
    return replace(
        program,
        weights=tuple([weights.get(weight.id, weight) for weight in program.weights]) if weights else program.weights,
        instructions=instructions,
        offsets=offsets,
    )


def _apply_to_instructions(program: Program, edits: Sequence[Edit]) -> tuple[Instruction, ...]:
    """Return the instructions after all edits; the same tuple if no edit is about instructions."""
    if not any(edit.removed or edit.changed or edit.placed or edit.renamed for edit in edits):
        return program.instructions
    present = {one.id: one for one in program.instructions}
    places: dict[int, int | None] = {}
    for edit in edits:
        for number in edit.removed:
            if present.pop(number, None) is None:
                raise RuleError(f"a rule removes instruction {number}, which the program does not have any more")
        for one in edit.changed:
            present[one.id] = one
        for found in edit.placed:
            places[found.instruction.id] = found.before
            present[found.instruction.id] = found.instruction
    arriving: dict[int | None, list[Instruction]] = {}
    for number, before in places.items():
        if number in present:
            arriving.setdefault(before, []).append(present[number])
    instructions: list[Instruction] = []
    for one in program.instructions:
        number = one.id
        if number in arriving:
            instructions += arriving.pop(number)
        if number in present and number not in places:
            instructions.append(present[number])
    instructions += arriving.pop(None, ())
    if arriving:
        raise RuleError(f"a rule puts instructions before {list(arriving)}, which the program does not have")
    names = _resolved({old: new for edit in edits for old, new in edit.renamed.items()})
    if names:
        instructions = [with_values(one, names) for one in instructions]
    changed = (one for edit in edits for one in (*edit.changed, *(found.instruction for found in edit.placed)))
    if names or not all(type(one) is Dealloc for one in changed):
        instructions = _with_definitions_first(instructions)
    return tuple(instructions)


def _resolved(names: Mapping[int, int]) -> dict[int, int]:
    """Resolve chains of renames to the last name of each value."""
    found: dict[int, int] = {}
    for old, new in names.items():
        while new in names:
            new = found.get(new, names[new])
        found[old] = new
    return found


def _with_definitions_first(instructions: Sequence[Instruction]) -> list[Instruction]:
    """Move each allocation and view that is used before its definition to its first use."""
    waiting = {one.id: one for one in instructions if type(one) is Alloc or type(one) is View}
    found: list[Instruction] = []

    def define(value: int) -> None:
        chain: list[Instruction] = []
        while value in waiting:
            one = waiting.pop(value)
            chain.append(one)
            value = one.source if isinstance(one, View) else one.id
        found.extend(reversed(chain))

    for one in instructions:
        if type(one) is Alloc or type(one) is View:
            define(one.id)
            continue
        for value in one.values_read:
            if value in waiting:
                define(value)
        for value in one.values_written:
            if value in waiting:
                define(value)
        found.append(one)
    return found


class WorkingProgram(WorkingState[Program]):
    """A program that passes change. Numbers of instructions are never reused."""

    def __init__(self, program: Program, recording: StateRecording[Program] | None = None) -> None:
        super().__init__(program, program.next_id, recording)
        self._valid: Program | None = None
        """The last program that was verified."""

    @property
    def program(self) -> Program:
        """The present program."""
        return self.state

    def look(self, rule: Rule) -> Outcome[Program]:
        found = list(rule(self.state, self.fresh))
        edits = [one for one in found if isinstance(one, Edit)]
        after = apply_edits(self.state, edits) if edits else self.state
        kept = [one for one in found if isinstance(one, Kept)]
        return Outcome(after, edits, kept, [one for one in found if isinstance(one, Limit)])

    def verify(self) -> None:
        """Verify all changes since the last call. Raises: GraphError if the program is invalid."""
        if self.state is not self._valid:
            with pause_garbage_collection():
                verify(self.state, self._valid)
            self._valid = self.state

    def __len__(self) -> int:
        return len(self.state)
