"""Folding a circuit."""

from collections.abc import Callable, Iterator

from explorer.backend import FoldIndexInfo, TorchLayer
from explorer.fold.folding import LevelListener, build_folded_graph
from explorer.fold.layers import _fold_layer_group
from explorer.fold.levels import Scheduler
from explorer.graph import Graph


def _fold_circuit(
    graph: Graph[TorchLayer],
    scheduler: Scheduler,
    fresh: Iterator[int],
    on_level: LevelListener | None = None,
    skips_level: Callable[[int], bool] | None = None,
) -> tuple[Graph[TorchLayer], FoldIndexInfo]:
    """Fold a circuit in the levels of a scheduler, except those it skips; the index locates inputs and outputs."""
    return build_folded_graph(graph, scheduler(graph), _fold_layer_group, fresh, on_level, skips_level)
