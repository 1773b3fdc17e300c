"""Where a node comes from and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from explorer.errors import UnknownNameError
from explorer.trace.answers import Lineage, Origin
from explorer.trace.steps import Step


@dataclass(frozen=True, eq=False)
class Lineages:
    """The lineage of every node; `slices`: layer that was folded -> (folded node, slice)."""

    steps: Sequence[Step]
    slices: Mapping[int, tuple[int, int]]

    def of(self, node: int) -> Lineage:
        """The lineage of a node. Raises: UnknownNameError."""
        first, last = self.lifetime(node)
        changes = tuple(
            Origin(s.index, s.path, f"{w.rule} in {w.place}", (node,), (node,))
            for s in self.steps
            for w in s.rewrites
            if w.place and w.place.split(".")[0] == str(node)
        )
        return Lineage(
            node,
            first,
            last,
            tuple(sorted(self._symbolic(node))),
            tuple(self._made_by.get(node, ())),
            tuple(self._became.get(node, ())),
            changes,
            self._now(node),
        )

    def lifetime(self, node: int) -> tuple[int, int]:
        """The first and last step at whose end a node exists. Raises: UnknownNameError."""
        if node not in self._lifetimes:
            raise UnknownNameError(f"there was never a node {node} in this trace")
        return self._lifetimes[node]

    def _symbolic(self, node: int) -> set[int]:
        """The first nodes that it was made of; each is looked at once, for a rule may undo what another one did."""
        found: set[int] = set()
        waiting, seen = [node], {node}
        while waiting:
            current = waiting.pop()
            origins = self._made_by.get(current, [])
            if not origins or current in self.steps[0].snapshot.graph.nodes:
                found.add(current)
            before = [one for one in dict.fromkeys(b for origin in origins for b in origin.before) if one not in seen]
            waiting.extend(before)
            seen.update(before)
        return found

    def _now(self, node: int) -> tuple[tuple[int, int | None], ...]:
        """Where its value is in the end, each place once, in the order of what became of it."""
        places: dict[tuple[int, int | None], None] = {}
        waiting, seen = [node], set[int]()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            if current in self.slices:
                places[self.slices[current]] = None
            elif self._lifetimes[current][1] == self.steps[-1].index:
                places[(current, None)] = None
            else:
                became = (after for one in self._became.get(current, ()) for after in one.after[-1:] or one.became)
                waiting.extend(reversed([after for after in dict.fromkeys(became) if after not in seen]))
        return tuple(places)

    @cached_property
    def _changes(self) -> tuple[Origin, ...]:
        found: list[Origin] = []
        for step in self.steps:
            if step.error is not None:
                continue  # a failed step leaves the graph as it was
            for rewrite in step.rewrites:
                if not rewrite.place:
                    found.append(
                        Origin(step.index, step.path, rewrite.rule, rewrite.removed, rewrite.added, rewrite.became)
                    )
            for group in step.folds:
                if group.members != (group.node,):
                    found.append(Origin(step.index, step.path, f"folded, {group.type}", group.members, (group.node,)))
        return tuple(found)

    @cached_property
    def _made_by(self) -> Mapping[int, list[Origin]]:
        found: dict[int, list[Origin]] = {}
        for change in self._changes:
            for node in change.after:
                found.setdefault(node, []).append(change)
        return found

    @cached_property
    def _became(self) -> Mapping[int, list[Origin]]:
        found: dict[int, list[Origin]] = {}
        for change in self._changes:
            for node in change.before:
                found.setdefault(node, []).append(change)
        return found

    @cached_property
    def _lifetimes(self) -> Mapping[int, tuple[int, int]]:
        """Node -> first and last step at whose end it exists."""
        end = self.steps[-1].index if self.steps else 0
        lives = {node: [0, end] for node in (self.steps[0].snapshot.graph.nodes if self.steps else ())}
        for change in self._changes:
            for node in change.before:
                lives[node][1] = change.step - 1
            for node in change.after:
                lives[node] = [change.step, end]
        return {node: (first, last) for node, (first, last) in lives.items()}
