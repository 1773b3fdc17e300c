"""The change of each node in a step, and the roles of nodes in its matches."""

import numpy as np

from explorer.views.index import TraceIndex, cached
from explorer.views.states import ABSENT, IntArray
from explorer_widgets.schema import Change

CHANGES: tuple[Change, ...] = ("kept", "added", "removed", "changed")
KEPT, ADDED, REMOVED, CHANGED = range(4)

APPLIED, LOST, WON = 1, 2, 4
"""Roles of a node in the matches of a step: in one that was applied, lost, or won a conflict."""


@cached
def node_changes(index: TraceIndex, step: int) -> IntArray:
    """Return what the step did to each id: kept, added, removed; changed if the content differs."""
    before, after = index.before(step), index.state(step)
    both = before.present & after.present
    change = np.full(index.size, ABSENT, np.int32)
    change[both] = KEPT
    change[after.present & ~both] = ADDED
    change[before.present & ~both] = REMOVED
    for node in np.flatnonzero(both & (before.node != after.node)):
        if not index.same(int(before.node[node]), int(after.node[node])):
            change[node] = CHANGED
    return change


@cached
def match_roles(index: TraceIndex, step: int) -> IntArray:
    """Return the roles of each id in the matches of the step."""
    entry = index.step(step)
    roles = np.zeros(index.size, np.int32)
    lost = {conflict.loser for conflict in entry.lost}
    won = {conflict.winner for conflict in entry.lost}
    for match in entry.matches:
        role = LOST if match.number in lost else APPLIED | WON if match.number in won else APPLIED
        for node in index.nodes_of(match):
            roles[node] |= role
    return roles
