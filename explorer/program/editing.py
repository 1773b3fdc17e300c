"""Changes of a program: the edits that rules ask for, and the driver that makes and reports them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol

from explorer.compiler.compiler import pause_garbage_collection
from explorer.errors import RuleError
from explorer.program.ir.instructions import Alloc, Dealloc, Instruction, View, Weight, with_values
from explorer.program.ir.program import Program
from explorer.program.ir.verify import verify


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction that is put in, or moved if the program has it: right before another one, or at the end (None)."""

    instruction: Instruction
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a program.

    `matched` are the numbers of the calls and copies that it is about, the root first. `removed` are taken out,
    `changed` replaces instructions of the same number in place, `placed` puts instructions in or moves them; an
    allocation or view that is used before its place moves to its first use. `weights`
    replaces weights of the same number. `offsets` is a new memory plan. `became` are the instructions that do the
    work of those removed. `renamed` maps values to the values that all instructions use instead.
    """

    matched: tuple[int, ...]
    removed: tuple[int, ...] = ()
    changed: tuple[Instruction, ...] = ()
    placed: tuple[Placed, ...] = ()
    weights: tuple[Weight, ...] = ()
    offsets: Mapping[int, int] | None = None
    became: tuple[int, ...] = ()
    renamed: Mapping[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True)
class Kept:
    """Why something stays as it is, where that is worth telling."""

    root: int
    reason: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit at which a rule stopped while more was possible; the message says what it did instead."""

    what: str
    limit: int
    message: str


Rule = Callable[[Program, Iterator[int]], Iterable[Edit | Kept | Limit]]
"""Looks at a program and says what to change; the iterator gives numbers that nothing has."""


def edited(program: Program, edits: Sequence[Edit]) -> Program:
    """The program with all edits done, in order: a later one may change or remove what an earlier one has changed.

    Raises: RuleError if an instruction is removed twice, or put before one that there is not.
    """
    offsets = next((edit.offsets for edit in reversed(edits) if edit.offsets is not None), {})
    weights = {weight.id: weight for edit in edits for weight in edit.weights}
    instructions = _edited_instructions(program, edits)
    if not weights and instructions is program.instructions:
        return program.with_offsets(offsets)
    return replace(
        program,
        weights=tuple([weights.get(weight.id, weight) for weight in program.weights]) if weights else program.weights,
        instructions=instructions,
        offsets=offsets,
    )


def _edited_instructions(program: Program, edits: Sequence[Edit]) -> tuple[Instruction, ...]:
    """The instructions after all edits; the same tuple if no edit is about instructions."""
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
    """The last name of each value: one that is renamed to a value that is renamed too has the name of that one."""
    found: dict[int, int] = {}
    for old, new in names.items():
        while new in names:
            new = found.get(new, names[new])
        found[old] = new
    return found


def _with_definitions_first(instructions: Sequence[Instruction]) -> list[Instruction]:
    """The instructions, with each allocation and view that is used before its place moved to its first use."""
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


class ProgramObserver(Protocol):
    """Receives what happens to a program."""

    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> AbstractContextManager[None]:
        """Record what happens inside under a name."""
        ...

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """A limit was reached while more was possible."""
        ...

    def on_round(self, rule: str, edits: Sequence[Edit], kept: Sequence[Kept], after: Program) -> None:
        """A rule looked at the program once; these are its edits, which were done."""
        ...

    def on_failure(self, error: str) -> None:
        """A rule raised."""
        ...


class NoObserver:
    """Nobody looks."""

    @contextmanager
    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> Iterator[None]:
        """Nothing to record."""
        yield

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """Nothing to record."""

    def on_round(self, rule: str, edits: Sequence[Edit], kept: Sequence[Kept], after: Program) -> None:
        """Nothing to record."""

    def on_failure(self, error: str) -> None:
        """Nothing to record."""


class WorkingProgram:
    """A program that passes change. Numbers of instructions are never used twice."""

    def __init__(self, program: Program, observer: "ProgramObserver | None" = None) -> None:
        self.program = program
        self.observer: ProgramObserver = NoObserver() if observer is None else observer
        self.fresh: Iterator[int] = count(program.next_id)
        self._num_edits = 0
        self._valid: Program | None = None
        """The last program that was verified."""

    def apply(self, name: str, rule: Rule) -> None:
        """Ask a rule once, and do what it asks for. Raises: RuleError that names a rule which fails."""
        try:
            with pause_garbage_collection():
                found = list(rule(self.program, self.fresh))
                edits = [one for one in found if isinstance(one, Edit)]
                if edits:
                    self.program = edited(self.program, edits)
        except Exception as error:
            failure = f"the pass {name} failed: {type(error).__name__}: {error}"
            self.observer.on_failure(failure)
            raise RuleError(failure) from error
        self._num_edits += len(edits)
        kept = [one for one in found if isinstance(one, Kept)]
        self.observer.on_round(name, edits, kept, self.program)
        for one in found:
            if isinstance(one, Limit):
                self.observer.on_limit(one.what, one.limit, one.message)

    def checkpoint(self) -> int:
        """The number of edits so far."""
        return self._num_edits

    def verify(self) -> None:
        """Check what has changed since the last time. Raises: GraphError if the program is invalid."""
        if self.program is not self._valid:
            with pause_garbage_collection():
                verify(self.program, self._valid)
            self._valid = self.program

    def __len__(self) -> int:
        return len(self.program)
