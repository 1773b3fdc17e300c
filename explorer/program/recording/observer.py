"""Reports what passes do to a program as steps of a trace."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from time import perf_counter

from explorer.program.editing import Edit, Kept
from explorer.program.ir.program import Program
from explorer.program.recording.records import RecordCache
from explorer.program.recording.snapshot import ProgramSnapshot, refusal_of
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.torch_io.joint import JointGraph
from explorer.trace import (
    PROGRAM,
    AttemptsRefused,
    Event,
    LimitReached,
    Listener,
    MatchFound,
    Noted,
    Rewritten,
    RunStarted,
    StepEnded,
    StepFailed,
    StepPath,
    StepStarted,
)
from explorer.trace.stages import Stages


class ProgramRecording:
    """Turns the rounds of passes into steps: one for each time a rule looked at the program."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        source: FunctionGraph | JointGraph,
        program: Program,
        why_no_backward: str = "",
    ) -> None:
        self._listeners = tuple(listeners)
        graph = source.graph if isinstance(source, JointGraph) else source
        cache = RecordCache({node.id: node.location for node in graph.nodes})
        self._last = ProgramSnapshot(program, source, cache, why_no_backward)
        self._stages = Stages()
        self._started = perf_counter()

    def begin(self, run: RunStarted, seconds: float, notes: Sequence[str] = ()) -> None:
        """Record the first step: the program as it was lowered, in so many seconds, and notes that are not empty."""
        self._emit(run)
        self._emit(StepStarted(StepPath.of("lower"), PROGRAM))
        self._emit(StepEnded(True, seconds, self._last))
        for note in filter(None, notes):
            self._emit(Noted(note))
        self._started = perf_counter()

    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> AbstractContextManager[None]:
        """Record what happens inside under a name."""
        return self._stages.scope(name, rules, number)

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """A limit was reached."""
        self._emit(LimitReached(what, limit, message))

    def on_failure(self, error: str) -> None:
        """A rule raised, and the recording ends."""
        self._emit(StepStarted(self._stages.path, PROGRAM, self._stages.rules))
        self._emit(StepFailed(error, self._last))

    def on_round(self, rule: str, edits: Sequence[Edit], kept: Sequence[Kept], after: Program) -> None:
        """A rule looked at the program once."""
        before = self._last
        snapshot = replace(before, program=after) if edits else before
        self._emit(StepStarted(self._stages.path, PROGRAM, self._stages.rules))
        readers = _first_readers(before) if any(edit.weights for edit in edits) else {}
        matched = [_matched(before, edit, readers) for edit in edits]
        for number, nodes in enumerate(matched):
            self._emit(MatchFound(number, rule, nodes[0], nodes))
        known = before.links.inputs
        refusals = [refusal_of(rule, one) for one in kept if one.root in known]
        if refusals:
            self._emit(AttemptsRefused(tuple(refusals)))
        now = perf_counter()
        share = (now - self._started) / max(len(edits), 1)
        added = _added(edits, before, snapshot)
        for number, edit in enumerate(edits):
            self._emit(_rewritten(number, rule, edit, before, snapshot, share, added[number]))
        self._emit(StepEnded(bool(edits), now - self._started, snapshot))
        self._last, self._started = snapshot, perf_counter()

    def _emit(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)


def _first_readers(before: ProgramSnapshot) -> dict[int, int]:
    """The first node of the graph that reads each buffer or weight."""
    program, known = before.program, before.links.inputs
    found: dict[int, int] = {}
    for one in program.instructions:
        if one.id in known:
            for value in one.values_read:
                found.setdefault(program.origin(value), one.id)
    return found


def _matched(before: ProgramSnapshot, edit: Edit, readers: Mapping[int, int]) -> tuple[int, ...]:
    """The nodes of the graph that an edit is about; of a weight the first one that reads it; else those next to it."""
    known = before.links.inputs
    found = tuple(number for number in dict.fromkeys(edit.matched) if number in known)
    found = found or tuple(dict.fromkeys(readers[number] for number in edit.matched if number in readers))
    if found:
        return found
    program = before.program
    places = [program.positions[n] for n in (*edit.matched, *edit.removed) if n in program.positions]
    following = program.moments[min(places, default=0)]
    return (program.running[following] if following < len(program.running) else next(iter(known)),)


def _added(edits: Sequence[Edit], before: ProgramSnapshot, after: ProgramSnapshot) -> list[tuple[int, ...]]:
    """For each edit the nodes of the graph that it adds.

    A view is in the graph if something reads it after the last write of its memory. One that appears because
    instructions moved is that of the first edit whose nodes read it, or of the last edit.
    """
    old, sources = before.links.inputs, after.links.inputs
    new = [node for node in sources if node not in old]
    made = [(*(one.id for one in edit.changed), *(found.instruction.id for found in edit.placed)) for edit in edits]
    owner = {node: number for number, nodes in enumerate(made) for node in nodes}
    readers = {source: node for node in reversed(new) for source in sources[node]}
    for node in reversed(new):
        if node not in owner:
            owner[node] = owner.get(readers.get(node, -1), len(edits) - 1)
    found: list[list[int]] = [[] for _ in edits]
    for node in new:
        found[owner[node]].append(node)
    return list(map(tuple, found))


def _rewritten(
    number: int,
    rule: str,
    edit: Edit,
    before: ProgramSnapshot,
    after: ProgramSnapshot,
    seconds: float,
    added: tuple[int, ...],
) -> Rewritten:
    old, new = before.links.inputs, after.links.inputs
    removed = tuple(one for one in edit.removed if one in old and one not in new)
    became = tuple(one for one in edit.became if one in new and one not in added)
    return Rewritten(number, rule, removed, added, seconds, "", became)
