"""A pattern tried on a state: its matches and near misses, for the picture and as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.trace import Refusal
from explorer.views.words import ordinal, plural


@dataclass(frozen=True, slots=True)
class PatternTrial:
    """The matcher's result for a pattern tried on the layers before or after a step.

    `matches` are the layers of each match, root first; `applicable` of them can be applied together, and the rest share
    a layer with those. `refusals` are the near misses. Of the `layers` tried, `fitting` have the type `first` of the
    pattern's first entry.
    """

    name: str
    first: str
    layers: int
    fitting: int
    matches: tuple[tuple[int, ...], ...]
    applicable: int
    refusals: tuple[Refusal, ...]
    after: bool = False

    @property
    def text(self) -> str:
        """Describe what was found, and what stopped the closest attempts."""
        where = f"Tried on {plural(self.layers)}; {self.fitting:,} of them have the type {self.first}."
        if not self.matches:
            return f"{self.name} does not match. {where} {self._closest()}".rstrip()
        found = f"{self.name} matches {plural(len(self.matches), 'time')}."
        if self.applicable < len(self.matches):
            found += f" {self.applicable:,} can be applied together; the rest share a layer with those."
        return f"{found} {where} {self._closest()}".rstrip()

    def _closest(self) -> str:
        found = closest(self.refusals)
        if found is None:
            return ""
        refusal, count = found
        blocked = f"{plural(count, 'time')} blocked at its {ordinal(refusal.entry + 1)} layer"
        return f"Closest: {blocked} because {refusal.summary}."


def closest(refusals: Sequence[Refusal]) -> tuple[Refusal, int] | None:
    """Return an example and the count of the most frequent of the attempts that got furthest."""
    alike: dict[tuple[str, int, str, str], list[Refusal]] = {}
    for refusal in refusals:
        key = (refusal.pattern, refusal.entry, refusal.kind.value, refusal.what)
        alike.setdefault(key, []).append(refusal)
    best = max(alike.values(), key=lambda same: (same[0].progress, len(same)), default=None)
    return None if best is None else (best[0], len(best))
