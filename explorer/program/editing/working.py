"""The driver: holds the present program, does what rules ask for, and reports it."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Protocol

from explorer.compiler.compiler import pause_garbage_collection
from explorer.errors import RuleError
from explorer.program.editing.edits import Edit, Kept, Limit, Rule, edited
from explorer.program.ir.program import Program
from explorer.program.ir.verify import verify


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
