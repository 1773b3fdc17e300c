"""The origin of a node and what became of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral

from explorer.errors import UnknownNameError
from explorer.trace.answers import Lineage, MadeOf, Origin, Slot
from explorer.trace.events import OperatorApplied
from explorer.trace.steps import Step, start_of


@dataclass(frozen=True, eq=False)
class Lineages:
    """The lineage of every node.

    `slices`: layer that was folded -> (folded node, slice); `origins` is the label of the nodes at the start.
    """

    steps: Sequence[Step]
    slices: Mapping[int, tuple[int, int]]
    origins: str

    def of(self, node: int) -> Lineage:
        """The lineage of a node. Raises: UnknownNameError."""
        first, last = self.lifetime(node)
        changes = tuple(
            Origin(s.index, s.at, f"{w.rule} in {w.parameter_path}", (node,), (node,))
            for s in self.steps
            for w in s.applied
            if w.parameter_path and w.parameter_path.split(".")[0] == str(node)
        )
        symbolic = self.symbolic_of(node)
        return Lineage(
            node,
            first,
            last,
            self.origins,
            symbolic,
            tuple(self._created_by.get(node, ())),
            (*self._became_by_operators.get(node, ()), *self._consumed_by.get(node, ())),
            changes,
            *self._ends(node),
            self.made_of(symbolic, last),
            tuple(self._named(symbolic)),
        )

    def _named(self, symbolic: Sequence[int]) -> Iterator[str]:
        """The operators that were captured, with the lines of the user's program that they come from."""
        captured = self.steps[start_of(self.steps)].snapshot.graph.nodes
        for node in symbolic:
            about = getattr(captured.get(node), "about", {})
            if source := about.get("source", ""):
                yield f"{node} {captured[node].title}, {source}"

    def made_of(self, layers: Sequence[int], last: int) -> tuple[MadeOf, ...]:
        """The operators up to a step that made layers, the last one first, each with the layers of its operands."""
        found: list[MadeOf] = []
        wanted = list(layers)
        up_to = [(step, applied) for step, applied in self._operators if step.index <= last]
        for (_, before), (step, applied) in reversed([*pairwise(up_to)]):
            made = [node for node in wanted if node in applied.sources]
            if not made:
                continue
            sources = dict.fromkeys(source for node in made for source in applied.sources[node])
            by_circuit = ((one.formula, tuple(sorted(sources.keys() & set(one.layers)))) for one in before.circuits)
            found.append(MadeOf(step.index, applied.operator, tuple((name, ids) for name, ids in by_circuit if ids)))
            wanted = list(dict.fromkeys([*(node for node in wanted if node not in applied.sources), *sources]))
        return tuple(found)

    def lifetime(self, node: int) -> tuple[int, int]:
        """The first and last step after which a node exists. Raises: UnknownNameError."""
        if not isinstance(node, Integral) or node not in self._lifetimes:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnknownNameError(f"there was never a node {node!r} in this trace; a node is named by its id")
        return self._lifetimes[node]

    def symbolic_of(self, node: int) -> tuple[int, ...]:
        """The nodes at the start that a node was made from. Each is visited once: rules may undo each other."""
        found: set[int] = set()
        waiting, seen = [node], {node}
        while waiting:
            current = waiting.pop()
            origins = self._created_by.get(current, [])
            if not origins or current in self._at_start:
                found.add(current)
            before = [one for one in dict.fromkeys(b for origin in origins for b in origin.before) if one not in seen]
            waiting.extend(before)
            seen.update(before)
        return tuple(sorted(found))

    def _ends(self, node: int) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
        """The final nodes with its value, and the nodes that contain it where the value is lost, in order.

        A rewrite keeps the value of the root of its match only.
        """
        now: dict[Slot, None] = {}
        inside: dict[Slot, None] = {}
        waiting, seen = [(node, True)], set[tuple[int, bool]]()
        while waiting:
            current, has_value = waiting.pop()
            if (current, has_value) in seen:
                continue
            seen.add((current, has_value))
            if current in self.slices:
                (now if has_value else inside)[self.slices[current]] = None
            elif self._lifetimes[current][1] == self.steps[-1].index:
                (now if has_value else inside)[(current, None)] = None
            elif self._lifetimes[current][1] < start_of(self.steps):
                origins = self._became_by_operators.get(current, ())
                waiting.extend((after, False) for origin in origins for after in reversed(origin.after))
            else:
                for change in reversed(self._consumed_by.get(current, ())):
                    keeps = has_value and current == change.root
                    waiting.extend((after, keeps) for after in reversed(change.after[-1:] or change.became))
        return tuple(now), tuple(slot for slot in inside if slot not in now)

    @cached_property
    def _operators(self) -> Sequence[tuple[Step, OperatorApplied]]:
        """The steps before the compilation: first the circuits that were built, then an operator each."""
        before = self.steps[: start_of(self.steps)]
        return [(step, step.operator) for step in before if step.operator is not None]

    @cached_property
    def _at_start(self) -> Mapping[int, object]:
        """The nodes at the start of the compilation."""
        return self.steps[start_of(self.steps)].snapshot.graph.nodes if self.steps else {}

    @cached_property
    def _became_by_operators(self) -> Mapping[int, list[Origin]]:
        """The layers that operators made of each layer of an operand, unless they only changed it."""
        became: dict[int, list[Origin]] = {}
        for step, applied in self._operators:
            after: dict[int, list[int]] = {}
            for node, sources in applied.sources.items():
                for source in sources:
                    after.setdefault(source, []).append(node)
            how = "" if applied.result is None else applied.result.formula
            for source, nodes in after.items():
                if nodes != [source]:
                    became.setdefault(source, []).append(Origin(step.index, step.at, how, (source,), tuple(nodes)))
        return became

    @cached_property
    def _changes(self) -> tuple[Origin, ...]:
        found: list[Origin] = []
        for step in self.steps:
            for rewrite in step.applied:
                if not rewrite.parameter_path:
                    found.append(
                        Origin(
                            step.index,
                            step.at,
                            rewrite.rule,
                            rewrite.removed,
                            rewrite.added,
                            rewrite.became,
                            step.matches[rewrite.number].root,
                        )
                    )
            for group in step.folds:
                if group.members != (group.node,):
                    found.append(Origin(step.index, step.at, f"folded, {group.type}", group.members, (group.node,)))
        return tuple(found)

    @cached_property
    def _created_by(self) -> Mapping[int, list[Origin]]:
        found: dict[int, list[Origin]] = {}
        for change in self._changes:
            for node in change.after:
                found.setdefault(node, []).append(change)
        return found

    @cached_property
    def _consumed_by(self) -> Mapping[int, list[Origin]]:
        found: dict[int, list[Origin]] = {}
        for change in self._changes:
            for node in change.before:
                found.setdefault(node, []).append(change)
        return found

    @cached_property
    def _lifetimes(self) -> Mapping[int, tuple[int, int]]:
        """Node -> first and last step after which it exists."""
        end = self.steps[-1].index if self.steps else 0
        lives: dict[int, list[int]] = {}
        for step, applied in self._operators:
            for circuit in applied.circuits:
                for node in circuit.layers:
                    lives.setdefault(node, [step.index, end])[1] = step.index
        for node in self._at_start:
            lives.setdefault(node, [start_of(self.steps), end])[1] = end
        for change in self._changes:
            for node in change.before:
                lives[node][1] = change.step - 1
            for node in change.after:
                lives[node] = [change.step, end]
        return {node: (first, last) for node, (first, last) in lives.items()}
