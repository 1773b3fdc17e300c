"""What the suite should show: figures that are wanted, and those that were measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from benchmarks.suite import SuiteRow
from benchmarks.suite_entrants import HAND_WRITTEN, PEER, PEER_COMPILED
from explorer.timings import CPU

LARGE = ("L1", "L2", "L3", "L4", "L5", "L6", "L7")
"""The cases that wanted figures are about."""

STRONGEST = (PEER, PEER_COMPILED, HAND_WRITTEN)


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many times as fast as the fastest of `opponents` an entrant of ours should be; or how much less memory.

    `entrant` is the name of one, or empty for the one that `fast()` chooses. A figure that is None is not wanted.
    """

    training: bool
    entrant: str
    opponents: tuple[str, ...]
    mean: float | None
    worst: float | None
    memory: bool = False

    def of(self, row: SuiteRow) -> float | None:
        """The figure of one case; None if it is about others, or was not measured."""
        if row.training != self.training or not row.ours:
            return None
        name = self.entrant or row.ours[0]
        return row.memory_saving(name, self.opponents[0]) if self.memory else row.speedup(name, self.opponents)

    def __str__(self) -> str:
        what = "training step" if self.training else "forward"
        who = f", {self.entrant} backend" if self.entrant else ""
        against = {(PEER,): PEER, (PEER, PEER_COMPILED): f"the best of {PEER}", STRONGEST: "the strongest"}
        other = against.get(self.opponents, self.opponents[0])
        return f"{what}{who}: {'memory of ' if self.memory else ''}{other}"


WANTED = (
    Wanted(False, "", (PEER,), 8.0, 3.3),
    Wanted(False, "", (PEER, PEER_COMPILED), 4.0, 2.7),
    Wanted(False, "", STRONGEST, 3.0, 2.0),
    Wanted(False, "torch", (PEER,), None, 1.5),
    Wanted(True, "", (PEER, PEER_COMPILED), 3.0, 1.8),
    Wanted(False, "", (PEER_COMPILED,), None, 30.0, memory=True),
    Wanted(True, "", (PEER,), None, 2.0, memory=True),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A wanted figure, and what was measured: the geometric mean, the worst case and its name, and how many cases."""

    wanted: Wanted
    num_threads: int
    mean: float
    worst: float
    worst_case: str
    num_cases: int

    @property
    def is_met(self) -> bool:
        """Whether both figures are as wanted."""
        return self.mean >= (self.wanted.mean or 0.0) and self.worst >= (self.wanted.worst or 0.0)


def outcomes(rows: Sequence[SuiteRow]) -> tuple[Outcome, ...]:
    """What was measured of each wanted figure, over the large cases; none of other cases, nor on CUDA."""
    rows = [row for row in rows if row.device == CPU and row.case in LARGE]
    found: list[Outcome] = []
    for num_threads in dict.fromkeys(row.num_threads for row in rows):
        for wanted in WANTED:
            figures = [(row.case, wanted.of(row)) for row in rows if row.num_threads == num_threads]
            known = {case: figure for case, figure in figures if figure is not None}
            if known:
                worst = min(known, key=known.__getitem__)
                mean = geometric_mean(known.values())
                found.append(Outcome(wanted, num_threads, mean, known[worst], worst, len(known)))
    return tuple(found)
