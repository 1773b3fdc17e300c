"""The order of points in their rows, with few crossings: weighted medians and transpositions.

Source: Gansner et al. 1993, A Technique for Drawing Directed Graphs, section 3.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.views.states import IntArray

SWEEPS = 12
"""Maximum number of sweeps from each of the two initial orders."""
MAX_TRANSPOSITIONS = 4
"""Maximum number of passes that swap neighbours after a sweep."""
PATIENCE = 3
"""Number of sweeps without improvement after which the search ends."""
MAX_SEARCHED = 8_000
"""Maximum number of points for the search; beyond it, an initial order is used: nobody can follow these lines."""
Order = list[list[int]]
Neighbours = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Points by row, from the inputs to the outputs: first the boxes, 0 to `boxes` - 1, then waypoints of edges.

    `below` and `above` are the neighbours of each point in the previous and in the next row.
    """

    boxes: int
    rows: tuple[tuple[int, ...], ...]
    below: tuple[tuple[int, ...], ...]
    above: tuple[tuple[int, ...], ...]


def order_rows(graph: Rows) -> Order:
    """Return the points of each row from left to right, in the best order found."""
    best, fewest = _walk_order(graph, graph.below), -1
    for start in (best, _walk_order(graph, graph.above)):
        found, crossings = _search(graph, start)
        if fewest < 0 or crossings < fewest:
            best, fewest = found, crossings
        if not fewest:
            break
    return best


def count_crossings(graph: Rows, order: Order) -> int:
    """Return how many pairs of edges between neighbouring rows cross."""
    place = _places(graph, order)
    total = 0
    for row in order:
        seen: list[int] = []
        for point in row:
            ends = sorted(place[other] for other in graph.above[point])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _walk_order(graph: Rows, neighbours: Neighbours) -> Order:
    """Return rows in the order in which a depth-first search along `neighbours` first meets their points.

    It starts where nothing leads to. The rows of a tree that is searched from its root have no crossings.
    """
    other_way = graph.above if neighbours is graph.below else graph.below
    met = dict.fromkeys(range(0), 0)
    starts = [point for point in range(len(neighbours)) if not other_way[point]]
    for start in starts:
        stack = [start]
        while stack:
            point = stack.pop()
            if point not in met:
                met[point] = len(met)
                stack.extend(reversed(neighbours[point]))
    return [sorted(row, key=met.__getitem__) for row in graph.rows]


def _search(graph: Rows, start: Order) -> tuple[Order, int]:
    """Return the best order found by sweeps from `start`, and its number of crossings."""
    best, fewest = start, count_crossings(graph, start)
    if len(graph.below) > MAX_SEARCHED:
        return best, fewest
    order = [row[:] for row in start]
    since = 0
    for sweep in range(SWEEPS):
        if not fewest or since == PATIENCE:
            break
        _sort_by_medians(graph, order, upwards=sweep % 2 == 0)
        _transpose(graph, order)
        crossings = count_crossings(graph, order)
        since = 0 if crossings < fewest else since + 1
        if crossings < fewest:
            best, fewest = [row[:] for row in order], crossings
    return best, fewest


def _places(graph: Rows, order: Order) -> list[int]:
    """Return the position of each point in its row."""
    place = [0] * len(graph.below)
    for row in order:
        for at, point in enumerate(row):
            place[point] = at
    return place


def _sort_by_medians(graph: Rows, order: Order, upwards: bool) -> None:
    """Sort each row by the medians of its neighbours in the row before; points without neighbours stay."""
    place = _places(graph, order)
    neighbours = graph.below if upwards else graph.above
    for row in order if upwards else reversed(order):
        medians = {point: _median(sorted(place[at] for at in neighbours[point])) for point in row if neighbours[point]}
        movable = iter(sorted(medians, key=lambda point: (medians[point], place[point])))
        row[:] = [next(movable) if point in medians else point for point in row]
        for at, point in enumerate(row):
            place[point] = at


def _median(places: Sequence[int]) -> float:
    """Return the median; between two middle values, the side where the others are closer together weighs more."""
    middle = len(places) // 2
    if len(places) % 2:
        return places[middle]
    low, high = places[middle - 1], places[middle]
    left, right = low - places[0], places[-1] - high
    return (low * right + high * left) / (left + right) if left + right else (low + high) / 2


def _transpose(graph: Rows, order: Order) -> None:
    """Swap neighbours in a row as long as that removes crossings."""
    place = _places(graph, order)
    for _ in range(MAX_TRANSPOSITIONS):
        improved = False
        for row in order:
            ends = {
                point: [sorted(place[at] for at in side[point]) for side in (graph.below, graph.above)] for point in row
            }
            for at in range(len(row) - 1):
                left, right = row[at], row[at + 1]
                if _gain(ends[left], ends[right]) > 0:
                    row[at], row[at + 1] = right, left
                    improved = True
            for at, point in enumerate(row):
                place[point] = at
        if not improved:
            return


def _gain(left: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> int:
    """Return how many crossings disappear if two neighbours swap, given the ends of their edges on both sides."""
    below, above = _crossings(left[0], right[0]), _crossings(left[1], right[1])
    if not below + above:
        return 0
    return below + above - _crossings(right[0], left[0]) - _crossings(right[1], left[1])


def _crossings(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many edges of the point on the left cross edges of the one on the right, given their ends."""
    if not left or not right or left[-1] <= right[0]:
        return 0
    return sum(len(left) - bisect_right(left, end) for end in right)


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
    """Return whether all inputs of a box are branches that it alone reads, so that it can move up with them."""
    for box in order:
        branch[box] = all(branch[source] and len(targets[source]) == 1 for source in sources[box])
    for box in reversed(order):
        if branch[box] and targets[box]:
            raised[box] = min(raised[target] for target in targets[box]) - 1
    return np.array(raised, np.int32)
