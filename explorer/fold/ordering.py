"""Ordering the slices of folded layers, so that more reads are views.

Nothing fixes the order of the members of a fold group. In the order in which layers appear in the graph, a folded layer
often reads the slices of another one in no regular order, and then a gather copies them. `order_slices` rearranges the
members before folding, so leaves, scopes, index tables and outputs follow without further work, and no value changes.

Groups are visited from the outputs to the inputs, and each takes the order in which its users read it; if they
disagree, the order that copies the fewest bytes. Then all groups are visited again, and each may also take the order in
which it reads its own inputs, until nothing is gained. A circuit never copies more than in the order of appearance.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from explorer.backend import ReadKind, TorchLayer
from explorer.fold.layout import Layout, Order, Reader
from explorer.graph import Graph, Ordering

MAX_USERS = 8
"""Maximum number of users of a group whose orders are tried: those that copy the most."""
MAX_SWEEPS = 4
"""Maximum number of visits of all groups after the first one."""


@dataclass(frozen=True, slots=True)
class OrderedRead:
    """How a folded layer, or the outputs (`node` is None), would read without and does read with ordered slices."""

    node: int | None
    before: ReadKind
    after: ReadKind
    bytes_before: int
    bytes_after: int
    reason: str


@dataclass(frozen=True, slots=True)
class SliceOrder:
    """An ordering whose fold groups have their members in the chosen order; `reads` are those that copy or copied."""

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
