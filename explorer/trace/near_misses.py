"""Which near misses of a step are kept: up to a limit for each reason. The others are counted."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple

from explorer.trace.events import AttemptsRefused
from explorer.trace.refusal import Refusal

MAX_NEAR_MISSES = 2_000
"""Maximum number of near misses kept for one pattern, step and reason, so that a frequent reason hides no other one.

More are counted.
"""

MAX_WAITING = 10 * MAX_NEAR_MISSES
"""Maximum number of near misses of a step that wait to be asked for; of more, those to keep are selected at once."""

_REASON = attrgetter("pattern", "entry", "kind.rank", "what")
"""The reason of a near miss, for counting: a member of an Enum is slow to hash, its rank is not."""


class MatchRefused(NamedTuple):
    """A near miss and the parameter in which it happened (empty for layers)."""

    refusal: Refusal
    parameter_path: str = ""


class KeptNearMisses(NamedTuple):
    """The near misses that are kept, pattern by pattern, and for each pattern how many are not."""

    misses: tuple[MatchRefused, ...] = ()
    num_over: Mapping[str, int] = MappingProxyType({})


def near_misses_of(searches: Sequence[AttemptsRefused]) -> Callable[[], KeptNearMisses]:
    """Return a function that returns the near misses of a step that are kept.

    It selects them at its first call, so that recording stays cheap; if there are many, they are selected now.
    """
    if sum(len(search.refusals) for search in searches) > MAX_WAITING:
        kept = keep_near_misses(searches)
        return lambda: kept
    return cache(partial(keep_near_misses, tuple(searches)))


def keep_near_misses(searches: Sequence[AttemptsRefused]) -> KeptNearMisses:
    """The near misses of the searches of a step, up to the limit of each reason."""
    counts: dict[tuple[object, ...], int] = {}
    kept: dict[str, list[MatchRefused]] = {}
    num_over: dict[str, int] = {}
    for search in searches:
        for refusal in search.refusals:
            reason = _REASON(refusal)
            count = counts[reason] = counts.get(reason, 0) + 1
            if count <= MAX_NEAR_MISSES:
                kept.setdefault(refusal.pattern, []).append(MatchRefused(refusal, search.parameter_path))
            else:
                num_over[refusal.pattern] = num_over.get(refusal.pattern, 0) + 1
    return KeptNearMisses(tuple(miss for misses in kept.values() for miss in misses), num_over)
