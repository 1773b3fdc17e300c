"""The state of a compilation after a step: graph, statistics, reads and an executable circuit, built on demand.

A state of a folding is a prefix of the list of groups. How it differs from the state before it follows from the groups
of its level alone, so recording, printing and saving a folding needs time and memory in proportion to its groups.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from explorer.backend import (
    FoldIndexInfo,
    ParameterStore,
    TorchCircuit,
    TorchLayer,
    allocate_parameters,
    count_copied_slices,
    parameter_nodes,
    plan_read,
)
from explorer.compiler.stats import StatsCounter
from explorer.fold import FoldedGroup, assemble
from explorer.graph import Graph
from explorer.symbolic import Circuit
from explorer.trace import GraphChange

if TYPE_CHECKING:
    from explorer.compiler.compiler import TorchCompiler


RECENT_STATES = 16
"""Number of assembled states that are cached."""

Assembled = tuple[Graph[TorchLayer], FoldIndexInfo]

LevelState = tuple[GraphChange | None, Mapping[str, int]]
"""The change made by a level, None for the first level, and the statistics after it."""


@dataclass(frozen=True, eq=False, repr=False)
class LayersSnapshot(ABC):
    """The layers of a circuit after a step."""

    compiler: "TorchCompiler"
    symbolic: Circuit
    counter: StatsCounter

    @property
    @abstractmethod
    def _folded_graph(self) -> tuple[Graph[TorchLayer], FoldIndexInfo | None]:
        """The layers, folded up to the step, and how they read; None before folding begins."""

    @property
    @abstractmethod
    def stats(self) -> Mapping[str, int]:
        """Layers, folds, parameters, FLOPs and bytes, for one example."""

    @property
    def graph(self) -> Graph[TorchLayer]:
        """The layers, folded up to the step."""
        return self._folded_graph[0]

    @property
    def memory(self) -> None:
        """Layers have no buffers."""
        return None

    @property
    def size(self) -> tuple[int, int]:
        """Number of layers and of folds."""
        return self.stats["layers"], self.stats["folds"]

    @property
    @abstractmethod
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        """For each folded layer that reads layers: kind of read, index table (F, H, 2), bytes copied."""

    def circuit(self) -> TorchCircuit:
        """An executable circuit of this state, with its own tensors and the current values of the compiled circuit."""
        graph, fold_index = self._folded_graph
        store = ParameterStore()
        names, seed_names = self.symbolic.leaf_names, self.symbolic.seed_names
        compiled = self.compiler.circuits.compiled.get(self.symbolic)
        values = compiled.leaf_values() if compiled is not None else {}
        tensors = allocate_parameters(store, parameter_nodes(graph), seed_names, self.compiler.options.seed, values)
        semiring, width = self.compiler.semiring, self.symbolic.num_variables
        return TorchCircuit(graph, fold_index, semiring, tensors, store, names, seed_names, width)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The outputs of the circuit for rows of data."""
        return (self.circuit()(x).detach(),)


@dataclass(frozen=True, eq=False, repr=False)
class CompiledSnapshot(LayersSnapshot):
    """The layers after a step before folding."""

    layers: Graph[TorchLayer]
    change: GraphChange | None = None

    @property
    def _folded_graph(self) -> tuple[Graph[TorchLayer], FoldIndexInfo | None]:
        return self.layers, None

    @property
    def stats(self) -> Mapping[str, int]:
        return self.counter.stats(self.layers)

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        return {}


class FoldStates:
    """The states of one folding, shared by the snapshots of its levels; levels are added while it is recorded.

    Nothing in it refers to it, so that a trace that is dropped is freed at once.
    """

    def __init__(self, base: Graph[TorchLayer], counter: StatsCounter) -> None:
        self.base = base
        self._levels = _Levels(base, counter)
        self._states: list[LevelState] = []
        self._sweep: Iterator[LevelState] | None = None
        self.folded_graph = lru_cache(RECENT_STATES)(self._levels.assemble)
        self.reads = lru_cache(RECENT_STATES)(partial(_reads_after, self.folded_graph, self._levels))

    def add(self, groups: Sequence[FoldedGroup]) -> None:
        """Add the groups of the next level."""
        self._levels.groups.append(groups)

    def change(self, level: int) -> GraphChange | None:
        """The change of the graph by a level; None for the first level, where the graphs have to be compared."""
        return self._state(level)[0]

    def stats(self, level: int) -> Mapping[str, int]:
        """The statistics after a level."""
        return self._state(level)[1]

    def _state(self, level: int) -> LevelState:
        if self._sweep is None:
            self._sweep = self._levels.sweep()
        while len(self._states) <= level:
            self._states.append(next(self._sweep))
        return self._states[level]


@dataclass(frozen=True, eq=False)
class _Levels:
    """The groups of each level of a folding."""

    base: Graph[TorchLayer]
    counter: StatsCounter
    groups: list[Sequence[FoldedGroup]] = field(default_factory=list[Sequence[FoldedGroup]])

    def assemble(self, level: int) -> Assembled:
        """The graph after a level."""
        return assemble(self.base, [group for groups in self.groups[: level + 1] for group in groups])

    def sweep(self) -> Iterator[LevelState]:
        """The states level by level, each derived from the one before it."""
        base, counts = self.base, self.counter.graph(self.base)
        totals, copied = replace(counts.totals), dict(counts.copied)
        place: dict[int, tuple[int, int]] = {}
        folds: dict[int, int] = {}
        outputs = tuple(dict.fromkeys(base.outputs))
        level = 0
        while True:
            groups = self.groups[level]
            affected: dict[int, None] = {}
            for group in groups:
                totals.copied += _count_copied(base, group, place, folds)
                totals.add(self.counter.layer(group.value).costs)
                for member in group.members:
                    totals.copied -= copied.pop(member, 0)
                    totals.add(self.counter.layer(base.nodes[member]).costs, -1)
                    affected.update(dict.fromkeys(base.users[member]))
            for group in groups:
                folds[group.node] = len(group.members)
                place.update({member: (group.node, i) for i, member in enumerate(group.members)})
            if any(member in base.output_set for group in groups for member in group.members):
                outputs = tuple(dict.fromkeys(place.get(output, (output, 0))[0] for output in base.outputs))
            rewired: dict[int, tuple[int, ...]] = {}
            for node in affected:
                if node not in place:
                    sources = [place.get(source, (source, 0)) for source in base.inputs[node]]
                    numbers = count_copied_slices(sources, folds) * base.nodes[base.inputs[node][0]].num_output_units
                    totals.copied += numbers - copied[node]
                    copied[node] = numbers
                    rewired[node] = tuple(dict.fromkeys(source for source, _ in sources))
            change = None if level == 0 else _level_change(base, groups, place, rewired, outputs)
            yield change, totals.stats(counts.parameters, counts.number_bytes)
            level += 1


def _reads_after(
    folded_graph: Callable[[int], Assembled], levels: _Levels, level: int
) -> Mapping[int, Mapping[str, Any]]:
    return reads_of(*folded_graph(level), levels.counter.number_bytes(levels.base))


def _level_change(
    base: Graph[TorchLayer],
    groups: Sequence[FoldedGroup],
    place: Mapping[int, tuple[int, int]],
    rewired: Mapping[int, tuple[int, ...]],
    outputs: tuple[int, ...],
) -> GraphChange:
    """The change by the groups of a level that is not the first; a layer that stays alone does not change."""
    made = [group for group in groups if group.members != (group.node,)]
    gone = {member for group in made for member in group.members}
    inputs = {
        group.node: tuple(dict.fromkeys(place[s][0] for member in group.members for s in base.inputs[member]))
        for group in made
    }
    inputs |= {node: sources for node, sources in rewired.items() if not gone.isdisjoint(base.inputs[node])}
    added = {group.node: group.value for group in made}
    return GraphChange(tuple(sorted(gone)), added, {}, {node: inputs[node] for node in sorted(inputs)}, outputs)


def _count_copied(
    base: Graph[TorchLayer],
    group: FoldedGroup,
    place: Mapping[int, tuple[int, int]],
    folds: Mapping[int, int],
) -> int:
    """Count the numbers that a folded layer copies when it reads."""
    first = base.inputs[group.members[0]]
    if not first:
        return 0
    index = [[place[source] for source in base.inputs[member]] for member in group.members]
    return plan_read(np.array(index, np.int64), folds).rows_copied * base.nodes[first[0]].num_output_units


def reads_of(
    graph: Graph[TorchLayer], fold_index: FoldIndexInfo | None, number_bytes: int
) -> Mapping[int, Mapping[str, Any]]:
    """For each folded layer that reads layers: kind of read, index table (F, H, 2), bytes copied for one example."""
    if fold_index is None:
        return {}
    folds = {node: layer.num_folds for node, layer in graph.nodes.items()}
    found: dict[int, Mapping[str, Any]] = {}
    for node, table in fold_index.in_fold_idx.items():
        if table.size:
            read = plan_read(table, folds)
            units = graph.nodes[int(table[0, 0, 0])].num_output_units
            found[node] = {
                "kind": read.kind.value,
                "index": table.tolist(),
                "copied_bytes": read.rows_copied * units * number_bytes,
            }
    return found


@dataclass(frozen=True, eq=False, repr=False)
class FoldingSnapshot(LayersSnapshot):
    """The layers after a level of folding."""

    states: FoldStates
    level: int

    @property
    def _folded_graph(self) -> tuple[Graph[TorchLayer], FoldIndexInfo | None]:
        return self.states.folded_graph(self.level)

    @property
    def change(self) -> GraphChange | None:
        """The change by the level; None for the first one."""
        return self.states.change(self.level)

    @property
    def stats(self) -> Mapping[str, int]:
        return self.states.stats(self.level)

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        return self.states.reads(self.level)
