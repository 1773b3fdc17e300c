"""Counts of a run per rule: tried, matched, applied, time, new nodes; which rules enabled which."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class RuleProfile:
    """The counts of one rule. `matched` tries returned a replacement; `applied` ones were kept."""

    tried: int = 0
    matched: int = 0
    applied: int = 0
    nodes_made: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Profile:
    """The counts of one run. `enabled[a, b]` counts how often b was applied to a result of a."""

    rules: dict[str, RuleProfile] = field(default_factory=dict[str, RuleProfile])
    enabled: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    rounds: int = 0
    limits: list[str] = field(default_factory=list[str])

    def rule(self, name: str) -> RuleProfile:
        """Return the counts of a rule, initially zero."""
        return self.rules.setdefault(name, RuleProfile())

    @property
    def applied(self) -> int:
        """The number of rewrites that were kept."""
        return sum(rule.applied for rule in self.rules.values())

    def add(self, other: "Profile") -> None:
        """Add the counts of another run."""
        for name, counts in other.rules.items():
            mine = self.rule(name)
            mine.tried += counts.tried
            mine.matched += counts.matched
            mine.applied += counts.applied
            mine.nodes_made += counts.nodes_made
            mine.seconds += counts.seconds
        for pair, count in other.enabled.items():
            self.enabled[pair] = self.enabled.get(pair, 0) + count
        self.rounds += other.rounds
        self.limits += other.limits

    def __str__(self) -> str:
        rows = [f"{'rule':32} {'tried':>7} {'matched':>7} {'applied':>7} {'nodes':>6} {'ms':>8}"]
        by_time: Mapping[str, RuleProfile] = dict(sorted(self.rules.items(), key=lambda item: -item[1].seconds))
        for name, c in by_time.items():
            row = f"{name:32} {c.tried:7,} {c.matched:7,} {c.applied:7,} {c.nodes_made:6,} {c.seconds * 1e3:8.2f}"
            rows.append(row)
        rows += [f"{a} enabled {b} {count} times" for (a, b), count in sorted(self.enabled.items())]
        return "\n".join([*rows, *self.limits])
