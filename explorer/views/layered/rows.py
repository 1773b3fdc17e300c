"""Rows of a graph, in which every edge goes to the next row: waypoints stand in for the rows that it passes."""

from dataclasses import dataclass

import numpy as np

from explorer.views.states import IntArray


@dataclass(frozen=True, slots=True)
class Rows:
    """Points by row, from the inputs to the outputs: first the boxes, 0 to `boxes` - 1, then waypoints of edges.

    `below` and `above` are the neighbours of each point in the previous and in the next row.
    """

    boxes: int
    rows: tuple[tuple[int, ...], ...]
    below: tuple[tuple[int, ...], ...]
    above: tuple[tuple[int, ...], ...]


def split_rows(levels: IntArray, edges: IntArray) -> Rows:
    """Return the rows of boxes with these levels; `edges` (E, 2) holds the positions of source and target.

    Edges that leave a box share their waypoints as far as they go. An edge within a row has no effect on the layout.
    """
    row_of: list[int] = np.unique(levels, return_inverse=True)[1].ravel().tolist()
    rows: list[list[int]] = [[] for _ in range(max(row_of, default=-1) + 1)]
    for box, row in enumerate(row_of):
        rows[row].append(box)
    below: list[list[int]] = [[] for _ in row_of]
    above: list[list[int]] = [[] for _ in row_of]
    chains: dict[int, list[int]] = {}
    pairs: list[list[int]] = edges.tolist()
    for one, other in pairs:
        low, high = (one, other) if row_of[one] < row_of[other] else (other, one)
        if row_of[low] == row_of[high]:
            continue
        chain = chains.setdefault(low, [low])
        while len(chain) < row_of[high] - row_of[low]:
            point = len(below)
            rows[row_of[low] + len(chain)].append(point)
            below.append([chain[-1]])
            above.append([])
            above[chain[-1]].append(point)
            chain.append(point)
        last = chain[row_of[high] - row_of[low] - 1]
        above[last].append(high)
        below[high].append(last)
    return Rows(len(row_of), *(tuple(map(tuple, points)) for points in (rows, below, above)))


def pull_up(levels: IntArray, edges: IntArray) -> IntArray:
    """Return levels in which a branch that nothing else reads is next to its first reader instead of at the inputs."""
    raised: list[int] = levels.tolist()
    sources: list[list[int]] = [[] for _ in raised]
    targets: list[list[int]] = [[] for _ in raised]
    pairs: list[list[int]] = edges.tolist()
    for source, target in pairs:
        sources[target].append(source)
        targets[source].append(target)
    order: list[int] = np.argsort(levels, kind="stable").tolist()
    branch = [False] * len(raised)
    """Whether all inputs of a box are branches that it alone reads, so that it can move up with them."""
    for box in order:
        branch[box] = all(branch[source] and len(targets[source]) == 1 for source in sources[box])
    for box in reversed(order):
        if branch[box] and targets[box]:
            raised[box] = min(raised[target] for target in targets[box]) - 1
    return np.array(raised, np.int32)
