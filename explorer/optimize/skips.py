"""Switching off single steps and matches of a compilation: the option `skip`.

An entry names a round (`optimize/round 2`), one of its passes (`optimize/round 2/fuse`), a fold level (`fold/level 3`),
or the match of a rule at a node (`SumCollapse@12`: the match with root 12; for a parameter rule, all its matches in
the parameters of layer 12). The search still runs, and each skipped match is refused with this reason, so the trace
shows it. A round without changes is the last one, even if its matches were skipped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from explorer.errors import ValueRangeError, check_name, warn
from explorer.rewrite import GraphOptMatch
from explorer.trace import SWITCHED_OFF

FORMS = "optimize/round N, optimize/round N/PASS (parameters, shatter, fuse), fold/level N, or RULE@NODE"
STEP = re.compile(r"optimize/round [1-9]\d{0,5}(/(parameters|shatter|fuse))?|fold/level (0|[1-9]\d{0,5})")
MATCH = re.compile(r"([^@]+)@(0|[1-9]\d{0,11})")


class SkipWarning(UserWarning):
    """An entry of `skip` did not match any step or match of the compilation."""


@dataclass(frozen=True, slots=True)
class Skips:
    """Parsed entries: paths of steps, and for each (rule, node) the entry that names it."""

    steps: tuple[str, ...] = ()
    matches: Mapping[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries as strings: steps first."""
        return (*self.steps, *self.matches.values())


def parse_skips(entries: Sequence[str]) -> Skips:
    """Parse the entries. Raises: ValueRangeError for an entry of an unknown form."""
    steps: list[str] = []
    matches: dict[tuple[str, int], str] = {}
    for entry in (entries,) if isinstance(entries, str) else entries:
        if STEP.fullmatch(entry):
            steps.append(entry)
        elif found := MATCH.fullmatch(entry):
            matches[(found[1], int(found[2]))] = entry
        else:
            raise ValueRangeError(f"skip: expected {FORMS}, got {entry!r}")
    return Skips(tuple(dict.fromkeys(steps)), matches)


class SkipTracker:
    """The skipped steps and matches of one compilation, with a record of the entries that were used."""

    def __init__(self, skips: Skips, rules: Sequence[str] = ()) -> None:
        """Raises: UnknownNameError if an entry names a rule that is not in `rules`."""
        for rule, _ in skips.matches:
            check_name("rule", rule, rules)
        self.skips = skips
        self._used: dict[str, None] = {}

    def skips_step(self, path: str) -> bool:
        """Whether the step at this path, or its round, is skipped."""
        named = [step for step in self.skips.steps if path == step or path.startswith(f"{step}/")]
        self._used.update(dict.fromkeys(named))
        return bool(named)

    def skips_level(self, level: int) -> bool:
        """Whether this level of folding is skipped."""
        return self.skips_step(f"fold/level {level}")

    def reason(self, path: str, match: GraphOptMatch) -> str | None:
        """The reason to refuse a match of the step at this path; None if it is not skipped."""
        if self.skips.steps and self.skips_step(path):
            return SWITCHED_OFF
        node = int(match.parameter_path.split(".", 1)[0]) if match.parameter_path else match.root
        entry = self.skips.matches.get((match.pattern.name, node))
        if entry is None:
            return None
        self._used[entry] = None
        return SWITCHED_OFF

    def warn_about_unused(self) -> None:
        """Warn of unused entries: a typo, or a node that exists only with different options."""
        unused = [entry for entry in self.skips.entries if entry not in self._used]
        if unused:
            warn(f"Nothing to disable at {', '.join(unused)}.", SkipWarning)
