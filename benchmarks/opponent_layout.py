"""The layout of the hand-written opponent: an order of the folds of each layer in which inputs are views."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from explorer.backend import EvaluatedCircuit


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive folds `first` to `first + count` of a layer; each argument is as many folds of a source.

    `arguments` are the position of the source among the layers, and its first fold.
    """

    first: int
    count: int
    arguments: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Layout:
    """For each layer the order of its folds; and for each inner layer the pieces that it is computed in."""

    order: Mapping[int, Sequence[int]]
    pieces: Mapping[int, Sequence[Piece]]


def plan_layout(circuit: EvaluatedCircuit) -> Layout:
    """Order the folds of each layer as they are read by the layers above it, the first arguments of all folds first.

    Folds that are read together are then next to each other, in a tree all first arguments, then all second ones.
    """
    index = circuit.fold_index
    assert index is not None, "the circuit is folded"
    nodes = list(circuit.graph.nodes)
    order: dict[int, list[int]] = {node: [] for node in nodes}
    known: dict[int, set[int]] = {node: set() for node in nodes}
    for node, fold in index.out_fold_idx.tolist():
        order[node].append(fold)
        known[node].add(fold)
    for node in reversed(nodes):
        if node in index.in_fold_idx and len(index.in_fold_idx[node][0]):
            table = index.in_fold_idx[node].tolist()
            for argument in range(len(table[0])):
                for fold in order[node]:
                    source, read = table[fold][argument]
                    if read not in known[source]:
                        known[source].add(read)
                        order[source].append(read)
    place = {(node, fold): at for node in nodes for at, fold in enumerate(order[node])}
    position = {node: at for at, node in enumerate(nodes)}
    pieces: dict[int, list[Piece]] = {}
    for node in nodes:
        if node in index.in_fold_idx and len(index.in_fold_idx[node][0]):
            table = index.in_fold_idx[node].tolist()
            read = [tuple((position[s], place[s, f]) for s, f in table[fold]) for fold in order[node]]
            pieces[node] = _pieces(read)
    return Layout(order, pieces)


def _pieces(read: Sequence[tuple[tuple[int, int], ...]]) -> list[Piece]:
    """Runs of folds in which every argument moves by one fold of the same source."""
    starts = [0]
    for at, (before, after) in enumerate(pairwise(read), start=1):
        if any(
            source != same or fold + 1 != following
            for (source, fold), (same, following) in zip(before, after, strict=True)
        ):
            starts.append(at)
    return [Piece(start, stop - start, read[start]) for start, stop in pairwise([*starts, len(read)])]
