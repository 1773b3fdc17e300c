"""Folding a circuit: levels, groups, one step a level. Source: handbook, How to fold (_fold_circuit)."""

from collections.abc import Callable, Iterator
from time import perf_counter

from explorer.backend import FoldIndexInfo, TorchLayer
from explorer.fold.folding import FoldedGroup, assemble, fold_groups
from explorer.fold.layers import _fold_layer_group
from explorer.fold.levels import Scheduler
from explorer.graph import Graph

LevelListener = Callable[[int, list[FoldedGroup], float], None]
"""Told after each level: its number, the groups folded so far, and the seconds it took."""


def _fold_circuit(
    graph: Graph[TorchLayer], scheduler: Scheduler, fresh: Iterator[int], on_level: LevelListener | None = None
) -> tuple[Graph[TorchLayer], FoldIndexInfo]:
    """The folded circuit and where each layer went; `on_level` is told after every level."""
    done: list[FoldedGroup] = []
    for level, ids in enumerate(scheduler(graph)):
        started = perf_counter()
        for group in fold_groups(graph, (ids,), _fold_layer_group, fresh):
            done.append(FoldedGroup(level, group.key, group.members, group.node, group.value))
        if on_level is not None:
            on_level(level, list(done), perf_counter() - started)
    return assemble(graph, done)
