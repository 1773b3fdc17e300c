"""Equal blocks of a program: only the first of a run of them is drawn, with their number."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from explorer.views.boxes import box_id
from explorer.views.index import TraceIndex, cached
from explorer.views.score.calls import Call, calls_at, path_of

MIN_REPEATS = 3
"""Fewer equal blocks are drawn one by one."""
MAX_PERIOD = 8
"""Maximum number of pieces of blocks that repeat together: a compiler may treat every second block in another way."""
MEMBER = re.compile(r"[._]\d+$")
"""The number of a module in a sequence: `layers.0`, `layer_0`."""


@cached
def groups_at(index: TraceIndex, step: int) -> Mapping[int, tuple[int, ...]]:
    """Return for each call that is drawn after a step the equal calls that it stands for, itself first."""
    calls = calls_at(index, step)
    named = blocks_at(index, step)
    blocks = [list(same) for _, same in groupby(calls, key=lambda call: (named[call.node] or ("",))[-1])]
    keys = [tuple((one.title, one.operators, one.results) for one in block) for block in blocks]
    found: dict[int, tuple[int, ...]] = {}
    at = 0
    while at < len(blocks):
        period, times = _repeats(keys, at) if named[blocks[at][0].node] else (1, 1)
        for number in range(period):
            for position, call in enumerate(blocks[at + number]):
                found[call.node] = tuple(blocks[at + number + turn * period][position].node for turn in range(times))
        at += period * times
    return found


@cached
def blocks_at(index: TraceIndex, step: int) -> Mapping[int, tuple[str, ...]]:
    """Return for each call after a step the block of each of its modules.

    A block is the outermost module that is one of at least `MIN_REPEATS` in a sequence (`transformer.h.0`), else the
    outermost module of all.
    """
    calls = calls_at(index, step)
    members: dict[str, set[str]] = {}
    for call in calls:
        for one in (one for module in call.modules for one in path_of(module) if MEMBER.search(one)):
            members.setdefault(MEMBER.sub("", one), set()).add(one)

    def block_of(module: str) -> str:
        path = path_of(module)
        return next((one for one in path if len(members.get(MEMBER.sub("", one), ())) >= MIN_REPEATS), path[0])

    return {call.node: tuple(map(block_of, call.modules)) for call in calls}


def _repeats(keys: Sequence[object], at: int) -> tuple[int, int]:
    """Return how many blocks repeat together from here on, and how often: those that cover most."""
    best = (1, 1)
    for period in range(1, MAX_PERIOD + 1):
        times = 1
        first = keys[at : at + period]
        while first == keys[at + times * period : at + (times + 1) * period]:
            times += 1
        if times >= MIN_REPEATS and times * period > best[0] * best[1]:
            best = (period, times)
    return best


@cached
def drawn_at(index: TraceIndex, step: int) -> tuple[Call, ...]:
    """Return the calls that are drawn after a step; they read those that stand for what they read."""
    groups = groups_at(index, step)
    first = firsts_at(index, step)
    return tuple(
        replace(call, sources=tuple(dict.fromkeys(first[one] for one in call.sources if first[one] != call.node)))
        for call in calls_at(index, step)
        if call.node in groups
    )


@cached
def firsts_at(index: TraceIndex, step: int) -> Mapping[int, int]:
    """Return for each call after a step the one that is drawn for it."""
    return {node: first for first, nodes in groups_at(index, step).items() for node in nodes}


def name_of(nodes: Sequence[int]) -> str:
    """Return the id of the box of equal calls."""
    return box_id(np.array(sorted(nodes), np.int32))
