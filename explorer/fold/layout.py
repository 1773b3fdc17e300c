"""The layout of a circuit that is to be folded: in which slice of which group each layer is, and what reads copy."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.backend import Read, TorchLayer, is_cat, plan_read
from explorer.fold.groups import fold_keys, group_foldable_modules
from explorer.graph import Graph, Ordering

Order = NDArray[np.int64]
"""The layers of a group, slice by slice."""


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """What reads layers: a group, or the outputs if `group` is None.

    `inputs` (F, H) are the layers that it reads, with one row for each member in order of appearance. `sources` are the
    groups of these layers, and `units` is the number of units of each of them.
    """

    group: int | None
    inputs: NDArray[np.int64]
    sources: tuple[int, ...]
    units: int


class Cost(NamedTuple):
    """How many numbers reads copy per example; among equals, fewer interruptions of consecutive slices are better."""

    numbers: int
    breaks: int


class Layout:
    """The groups of a circuit in topological order, their readers, and the present order of their members."""

    def __init__(
        self,
        graph: Graph[TorchLayer],
        ordering: Ordering,
        skips_level: Callable[[int], bool],
        fresh: Iterator[int],
    ) -> None:
        self._graph = graph
        self._levels: list[list[int]] = []
        self.members: list[tuple[int, ...]] = []
        keys = fold_keys(graph)
        for level, ids in enumerate(ordering):
            groups = [members for _, members in group_foldable_modules(graph.nodes, ids, keys)]
            if skips_level(level):
                groups = [[member] for members in groups for member in members]
            self._levels.append(list(range(len(self.members), len(self.members) + len(groups))))
            self.members += map(tuple, groups)
        # Folding uses a fresh id for each group of several layers, in this order.
        self._nodes = [members[0] if len(members) == 1 else next(fresh) for members in self.members]
        self.orders: list[Order] = [np.array(members, np.int64) for members in self.members]
        self._folds = {group: len(members) for group, members in enumerate(self.members)}
        self._group_of, self._row_of, self._slice_of = np.zeros((3, graph.next_id), np.int64)
        for group, order in enumerate(self.orders):
            self._group_of[order] = group
            self._row_of[order] = self._slice_of[order] = np.arange(len(order))
        self.orderable = [group for group, members in enumerate(self.members) if len(members) > 1][::-1]
        """The groups of several layers, from the outputs to the inputs."""
        # One apart, so that the last slice of a group and the first one of the next group are not consecutive.
        self._starts = np.cumsum([0, *(len(members) + 1 for members in self.members)])
        found = [self._reader(group, [graph.inputs[m] for m in members]) for group, members in enumerate(self.members)]
        found.append(self._reader(None, [(output,) for output in graph.outputs]))
        self.readers = [reader for reader in found if reader is not None]
        self.users: list[list[Reader]] = [[] for _ in self.members]
        self.own_reads: list[list[Reader]] = [[] for _ in self.members]
        """The read of each group; none for input layers."""
        for reader in self.readers:
            for source in reader.sources:
                self.users[source].append(reader)
            if reader.group is not None:
                self.own_reads[reader.group].append(reader)

    def _reader(self, group: int | None, inputs: Sequence[Sequence[int]]) -> Reader | None:
        """What a group reads; None if it reads no layer."""
        table = np.array(inputs, np.int64)
        if not table.size:
            return None
        sources = tuple(dict.fromkeys(self._group_of[table].ravel().tolist()))
        return Reader(group, table, sources, self._graph.nodes[int(table[0, 0])].num_output_units)

    # ------------------------------------------------------------------ names

    def ordering(self) -> Ordering:
        """The levels with the members of each group in their present order."""
        return tuple(
            tuple(layer for group in groups for layer in self.orders[group].tolist()) for groups in self._levels
        )

    def node(self, reader: Reader) -> int | None:
        """The id of the folded layer that reads; None for the outputs."""
        return None if reader.group is None else self._nodes[reader.group]

    def name(self, group: int) -> str:
        """The id of the folded layer of a group, as text."""
        return f"#{self._nodes[group]}"

    # ------------------------------------------------------------------ costs

    def read(self, reader: Reader) -> Read:
        """How a reader reads in the present order."""
        inputs = self._inputs(reader)
        return plan_read(np.stack((self._group_of[inputs], self._slice_of[inputs]), axis=-1), self._folds)

    def cost(self, reader: Reader) -> Cost:
        """What a read copies in the present order."""
        places = self._places(reader)
        breaks = min(int(np.count_nonzero(np.diff(flat.ravel()) != 1)) for flat in (places, places.T))
        if len(reader.sources) == 1:
            rows = self.read(reader).rows_copied
        else:  # as `plan_read`, but much cheaper
            rows = places.size
            if not is_cat(breaks + 1, places.size, len(reader.sources)):
                rows += sum(self._folds[source] for source in reader.sources)
        return Cost(rows * reader.units, breaks) if rows else Cost(0, 0)

    def total(self, readers: Iterable[Reader]) -> Cost:
        """What several reads copy together."""
        costs = [self.cost(reader) for reader in readers]
        return Cost(sum(cost.numbers for cost in costs), sum(cost.breaks for cost in costs))

    def losers(self, reader: Reader, order: Order) -> list[tuple[Reader, int]]:
        """The reads that would copy more if the only source of a reader had this order, and how many numbers then.

        Empty if the reader itself would still copy.
        """
        (group,) = reader.sources
        others = [one for one in (*self.users[group], *self.own_reads[group]) if one is not reader]
        before, present = [self.cost(other).numbers for other in others], self.orders[group]
        self.reorder(group, order)
        is_view = not self.cost(reader).numbers
        after = [self.cost(other).numbers for other in others]
        self.reorder(group, present)
        found = zip(others, before, after, strict=True)
        return [(other, now) for other, then, now in found if now > then] if is_view else []

    # ------------------------------------------------------------------ orders

    def reorder(self, group: int, order: Order) -> None:
        """Give the members of a group an order."""
        self.orders[group] = order
        self._slice_of[order] = np.arange(len(order))

    def orders_as_read_by(self, user: Reader, group: int) -> list[Order]:
        """The orders of a group in which a user reads it: row by row of its inputs (F, H), and column by column."""
        inputs = self._inputs(user)
        tables = (inputs, inputs.T) if min(inputs.shape) > 1 else (inputs,)
        return [self._order_of_first_use(table.ravel(), group) for table in tables]

    def orders_by_inputs(self, group: int) -> list[Order]:
        """The order of a group in which it reads its inputs by increasing slices; none if it reads no layer."""
        return [self.orders[group][np.lexsort(self._places(own).T[::-1])] for own in self.own_reads[group]]

    def _order_of_first_use(self, layers: NDArray[np.int64], group: int) -> Order:
        mine = layers[self._group_of[layers] == group]
        _, first = np.unique(mine, return_index=True)
        used = mine[np.sort(first)]
        present = self.orders[group]
        return np.concatenate((used, present[~np.isin(present, used)]))

    def _inputs(self, reader: Reader) -> NDArray[np.int64]:
        """The layers (F, H) that a reader reads, one row for each slice."""
        if reader.group is None:
            return reader.inputs
        return reader.inputs[self._row_of[self.orders[reader.group]]]

    def _places(self, reader: Reader) -> NDArray[np.int64]:
        """Numbers (F, H) of the slices that a reader reads; consecutive slices of a group have consecutive ones."""
        inputs = self._inputs(reader)
        return self._starts[self._group_of[inputs]] + self._slice_of[inputs]
