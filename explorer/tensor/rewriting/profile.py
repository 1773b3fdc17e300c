"""What rewriters did: tried, matched, applied, time and nodes of each rule, and which rule made work for which."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class RuleProfile:
    """The counts of one rule. `matched` are the tries that gave a replacement, `applied` those that stand."""

    tried: int = 0
    matched: int = 0
    applied: int = 0
    nodes_made: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Profile:
    """What a rewriter did in one run. `enabled[a, b]` counts how often b was applied to something that a had made."""

    rules: dict[str, RuleProfile] = field(default_factory=dict[str, RuleProfile])
    enabled: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    rounds: int = 0
    limits: list[str] = field(default_factory=list[str])

    def rule(self, name: str) -> RuleProfile:
        """The counts of a rule, zero at first."""
        return self.rules.setdefault(name, RuleProfile())

    @property
    def applied(self) -> int:
        """How many rewrites stand."""
        return sum(rule.applied for rule in self.rules.values())

    def add(self, other: "Profile") -> None:
        """Count another run in."""
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
        rows += [f"{a} made work for {b}: {count} times" for (a, b), count in sorted(self.enabled.items())]
        return "\n".join([*rows, *self.limits])
