"""Ordering the slices of folded layers, so that more reads are views, and the layout by which orders are compared.

Nothing fixes the order of the members of a fold group. In the order in which layers appear in the graph, a folded layer
often reads the slices of another one in no regular order, and then a gather copies them. `order_slices` rearranges the
members before folding, so leaves, scopes, index tables and outputs follow without further work, and no value changes.

Groups are visited from the outputs to the inputs, and each takes the order in which its users read it; if they
disagree, the order that copies the fewest bytes. Then all groups are visited again, and each may also take the order in
which it reads its own inputs, until nothing is gained. A circuit never copies more than in the order of appearance.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.backend import Read, ReadKind, TorchLayer, is_cat, plan_read
from explorer.fold.folding import fold_keys, group_foldable_modules
from explorer.graph import Graph, Ordering

Order = NDArray[np.int64]
"""The layers of a group, slice by slice."""


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """A reader of layers: a group, or the outputs if `group` is None.

    `inputs` (F, H) are the layers that it reads, with one row for each member in order of appearance. `sources` are the
    groups of these layers, and `units` is the number of units of each of them.
    """

    group: int | None
    inputs: NDArray[np.int64]
    sources: tuple[int, ...]
    units: int


class Cost(NamedTuple):
    """Numbers that reads copy per example; among equals, fewer interruptions of consecutive slices are better."""

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
        """Return the reader of a group; None if it reads no layer."""
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
        """Return the read of a reader in the present order."""
        inputs = self._inputs(reader)
        return plan_read(np.stack((self._group_of[inputs], self._slice_of[inputs]), axis=-1), self._folds)

    def cost(self, reader: Reader) -> Cost:
        """Return the cost of a read in the present order."""
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
        """Return the cost of several reads together."""
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


MAX_USERS = 8
"""Maximum number of users of a group to try the orders of: the users that copy the most."""
MAX_SWEEPS = 4
"""Maximum number of visits of all groups after the first one."""


@dataclass(frozen=True, slots=True)
class OrderedRead:
    """The read of a folded layer, or of the outputs (`node` is None), without and with ordered slices."""

    node: int | None
    before: ReadKind
    after: ReadKind
    bytes_before: int
    bytes_after: int
    reason: str


@dataclass(frozen=True, slots=True)
class SliceOrder:
    """An ordering with the members of fold groups in the chosen order; `reads` are the reads that copy or copied."""

    ordering: Ordering
    reads: tuple[OrderedRead, ...]


def order_slices(
    graph: Graph[TorchLayer],
    ordering: Ordering,
    skips_level: Callable[[int], bool],
    fresh: Iterator[int],
    number_bytes: int,
) -> SliceOrder:
    """Order the members of the fold groups of every level, except the levels that are skipped.

    `fresh` supplies the ids that folding will use, for the reasons; `number_bytes` are the bytes of one activation.
    """
    layout = Layout(graph, ordering, skips_level, fresh)
    before = [(layout.read(reader).kind, layout.cost(reader).numbers) for reader in layout.readers]
    initial, wanted = list(layout.orders), layout.total(layout.readers).numbers
    _follow_users(layout)
    _improve(layout)
    if layout.total(layout.readers).numbers >= wanted:
        for group, order in enumerate(initial):
            layout.reorder(group, order)
        _improve(layout)
    reads: list[OrderedRead] = []
    for reader, (kind, numbers) in zip(layout.readers, before, strict=True):
        after = layout.read(reader)
        if kind.copies or after.kind.copies:
            copied = layout.cost(reader).numbers
            reason = _reason(layout, reader, after.kind, copied < numbers, number_bytes)
            read = OrderedRead(
                layout.node(reader), kind, after.kind, numbers * number_bytes, copied * number_bytes, reason
            )
            reads.append(read)
    return SliceOrder(layout.ordering(), tuple(reads))


def _follow_users(layout: Layout) -> None:
    """Give each group, from the outputs to the inputs, the order in which its users read it.

    The group's own read is not counted, because its sources can still follow.
    """
    for group in layout.orderable:
        _take_best(layout, group, layout.users[group], _orders_of_users(layout, group))


def _improve(layout: Layout) -> None:
    """Visit all groups until no order copies less: the orders of the users, and the one of the group's own read."""
    for _ in range(MAX_SWEEPS):
        changed = False
        for group in layout.orderable:
            affected = [*layout.users[group], *layout.own_reads[group]]
            orders = [*_orders_of_users(layout, group), *layout.orders_by_inputs(group)]
            changed |= _take_best(layout, group, affected, orders)
        if not changed:
            return


def _take_best(layout: Layout, group: int, affected: list[Reader], orders: list[Order]) -> bool:
    """Give a group the order for which the affected reads cost least; return whether it is a different one."""
    start = best = layout.orders[group]
    least = layout.total(affected)
    for order in orders:
        layout.reorder(group, order)
        cost = layout.total(affected)
        if cost < least:
            best, least = order, cost
    layout.reorder(group, best)
    return best is not start


def _orders_of_users(layout: Layout, group: int) -> list[Order]:
    """The orders in which the users that copy read a group, those that copy the most first."""
    costs = [(layout.cost(user).numbers, user) for user in layout.users[group]]
    copying = sorted((pair for pair in costs if pair[0]), key=lambda pair: -pair[0])[:MAX_USERS]
    return [order for _, user in copying for order in layout.orders_as_read_by(user, group)]


# ---------------------------------------------------------------------- reasons


def _reason(layout: Layout, reader: Reader, kind: ReadKind, is_less: bool, number_bytes: int) -> str:
    """Say why a read no longer copies, or why it still does."""
    names = [layout.name(group) for group in reader.sources]
    if not kind.copies:
        return f"the slices of {names[0]} are now in the order in which they are read"
    if len(names) > 1:
        now = "; its slices are now in order, so less is copied" if is_less else ""
        return f"it reads {len(names)} folded layers, whose slices are in different tensors{now}"
    (group,) = reader.sources
    source = names[0]
    orders = layout.orders_as_read_by(reader, group)
    conflicts = [conflict for order in orders for conflict in layout.losers(reader, order)]
    if not conflicts:
        if np.unique(reader.inputs).size < reader.inputs.size:
            return f"it reads some slices of {source} more than once, so no order makes them evenly spaced"
        return f"other users of {source} copy more, and only their orders were tried"
    loser, numbers = max(conflicts, key=lambda conflict: conflict[1])
    lost = f"would copy {numbers * number_bytes:,} bytes per example"
    if loser.group == group:
        return f"in the order in which it reads {source}, {source} {lost} to read its own inputs"
    user = "the outputs read" if loser.group is None else f"{layout.name(loser.group)} reads"
    return f"{user} {source} in a different order and {lost}, so that order wins"
