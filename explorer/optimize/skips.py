"""Switching off: which steps, and which matches of rules, a compilation is told to leave alone.

An entry names a round (`optimize/round 2`), a pass of it (`optimize/round 2/fuse`), a level of folding
(`fold/level 3`), or what a rule finds at one node (`SumCollapse@12`: the match whose root is layer 12; for a rule on
parameters, all its matches in the parameters of layer 12). The search still runs, and each match is refused with the
reason, so the record tells what was left alone. A round that changes nothing is the last one, this one too.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from explorer.errors import DataTypeError, ValueRangeError, unknown_name
from explorer.rewrite import GraphOptMatch
from explorer.trace import SWITCHED_OFF

FORMS = "optimize/round N, optimize/round N/PASS (parameters, shatter, fuse), fold/level N, or RULE@NODE"
STEP = re.compile(r"optimize/round [1-9]\d{0,5}(/(parameters|shatter|fuse))?|fold/level (0|[1-9]\d{0,5})")
MATCH = re.compile(r"([^@]+)@(0|[1-9]\d{0,11})")


class SkipWarning(UserWarning):
    """Something was to be switched off that the compilation never came to."""


@dataclass(frozen=True, slots=True)
class Skips:
    """The entries, understood: paths of steps, and for each (rule, node) the entry that names it."""

    steps: tuple[str, ...] = ()
    matches: Mapping[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries as they were given: steps first."""
        return (*self.steps, *self.matches.values())


def skips_of(entries: Sequence[str]) -> Skips:
    """Understand the entries. Raises: DataTypeError for what is no text; ValueRangeError for another form."""
    steps: list[str] = []
    matches: dict[tuple[str, int], str] = {}
    for entry in (entries,) if isinstance(entries, str) else entries:
        if not isinstance(entry, str):
            raise DataTypeError(f"skip takes texts ({FORMS}); found {entry!r} of type {type(entry).__name__}")
        if STEP.fullmatch(entry):
            steps.append(entry)
        elif found := MATCH.fullmatch(entry):
            matches[(found[1], int(found[2]))] = entry
        else:
            raise ValueRangeError(f"cannot switch off {entry!r}; give {FORMS}")
    return Skips(tuple(dict.fromkeys(steps)), matches)


class Switches:
    """What is off in one compilation; it remembers which entries had something to switch off."""

    def __init__(self, skips: Skips, rules: Sequence[str] = ()) -> None:
        """Raises: UnknownNameError for a match of a rule that is not among `rules`."""
        for rule, _ in skips.matches:
            if rule not in rules:
                raise unknown_name("rule", rule, list(rules))
        self.skips = skips
        self._used: dict[str, None] = {}

    def step_is_off(self, path: str) -> bool:
        """Whether the step of this path, or the round that it belongs to, is switched off."""
        named = [step for step in self.skips.steps if path == step or path.startswith(f"{step}/")]
        self._used.update(dict.fromkeys(named))
        return bool(named)

    def reason(self, path: str, match: GraphOptMatch) -> str | None:
        """Why a match of the step of this path is left alone; None if it is not switched off."""
        if self.skips.steps and self.step_is_off(path):
            return SWITCHED_OFF
        node = int(match.parameter_path.split(".", 1)[0]) if match.parameter_path else match.root
        entry = self.skips.matches.get((match.pattern.name, node))
        if entry is None:
            return None
        self._used[entry] = None
        return SWITCHED_OFF

    def warn_of_unused(self) -> None:
        """Warn of entries that switched nothing off: a slip, or a node that is there with other options only."""
        unused = [entry for entry in self.skips.entries if entry not in self._used]
        if unused:
            message = f"Nothing to disable at {', '.join(unused)}."
            warnings.warn(message, SkipWarning, stacklevel=2)
