"""Folding a circuit."""

from collections.abc import Callable, Iterator

from explorer.backend import FoldIndexInfo, TorchLayer
from explorer.fold.folding import LevelRunner, build_folded_graph
from explorer.fold.layers import _fold_layer_group
from explorer.fold.levels import Scheduler
from explorer.graph import Graph


def _fold_circuit(
    graph: Graph[TorchLayer],
    scheduler: Scheduler,
    fresh: Iterator[int],
    run_level: LevelRunner,
    skips_level: Callable[[int], bool],
) -> tuple[Graph[TorchLayer], FoldIndexInfo]:
    """Fold a circuit in the levels of a scheduler, except those it skips; the index locates inputs and outputs."""
    return build_folded_graph(graph, scheduler(graph), _fold_layer_group, fresh, run_level, skips_level)
