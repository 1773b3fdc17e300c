"""The path of a step in a compilation: its pass, the enclosing passes, the round, the part. The running stages."""

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

COUNTED = ("round", "level")
"""Names of stages that are numbered: rounds of a pass, levels of folding."""
COUNTED_TEXT = re.compile(rf"({'|'.join(COUNTED)}) (\d+)")
RUN_TEXT = re.compile(r"(.+) \((\d+)\)")
PART_TEXT = re.compile(r"(.+), part (\d+)")


@dataclass(frozen=True, slots=True)
class Stage:
    """A pass, or a numbered round or level of one. `run` counts the stages of one name inside the same stages.

    >>> str(Stage("fuse")), str(Stage("round", 2)), str(Stage("CSE", run=3))
    ('fuse', 'round 2', 'CSE (3)')
    """

    name: str
    number: int | None = None
    run: int = 1

    @property
    def is_pass(self) -> bool:
        """Whether it is a pass, not a round or level."""
        return self.number is None

    def __str__(self) -> str:
        text = self.name if self.number is None else f"{self.name} {self.number}"
        return text if self.run == 1 else f"{text} ({self.run})"


@dataclass(frozen=True, slots=True)
class StepPath:
    """The stages of a step, outermost first. `part` counts the steps of a stage that took several.

    >>> path = StepPath.of("optimize", Stage("round", 2), "fuse")
    >>> str(path), path.pass_name, path.round
    ('optimize/round 2/fuse', 'fuse', 2)
    """

    stages: tuple[Stage, ...]
    part: int = 1

    @staticmethod
    def of(*stages: Stage | str) -> "StepPath":
        """The path of some stages; a string is the name of a pass."""
        return StepPath(tuple(Stage(stage) if isinstance(stage, str) else stage for stage in stages))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the passes, outermost first."""
        return tuple(stage.name for stage in self.stages if stage.is_pass)

    @property
    def pass_name(self) -> str:
        """The name of the innermost pass; empty if there is none."""
        return self.names[-1] if self.names else ""

    @property
    def round(self) -> int | None:
        """The number of the innermost round."""
        return next((stage.number for stage in reversed(self.stages) if stage.name == "round"), None)

    @property
    def words(self) -> str:
        """Return the part, then its stages, in words.

        >>> StepPath.of("optimize", Stage("round", 2), "fuse").words, StepPath.of("fold", Stage("level", 3)).words
        ('fuse, round 2', 'fold, level 3')
        >>> StepPath.of("backward", "fuse", Stage("round", 2)).words
        'fuse, round 2, backward'
        """
        labels = self.labels
        if len(labels) < 3:
            return ", ".join(labels)
        return ", ".join([*labels[1:], labels[0]] if self.stages[1].is_pass else [labels[-1], *labels[1:-1]])

    @property
    def labels(self) -> tuple[str, ...]:
        """The stages as text; the last one names the part."""
        *outer, last = map(str, self.stages)
        return (*outer, last if self.part == 1 else f"{last}, part {self.part}")

    def __str__(self) -> str:
        return "/".join(self.labels)


def parse_path(text: str) -> StepPath:
    """Parse the text of a path, for files of timings and for questions.

    >>> parse_path("SinkCode (2)/round 1, part 3").stages
    (Stage(name='SinkCode', number=None, run=2), Stage(name='round', number=1, run=1))
    """
    found = PART_TEXT.fullmatch(text)
    text, part = (found[1], int(found[2])) if found else (text, 1)
    return StepPath(tuple(map(_parse_stage, text.split("/"))), part)


def _parse_stage(text: str) -> Stage:
    found = RUN_TEXT.fullmatch(text)
    text, run = (found[1], int(found[2])) if found else (text, 1)
    counted = COUNTED_TEXT.fullmatch(text)
    return Stage(counted[1], int(counted[2]), run) if counted else Stage(text, None, run)


def owner_of_parameter(path: str) -> int:
    """The layer that holds a parameter. Raises: ValueError for another kind of path.

    >>> owner_of_parameter("12.weight")
    12
    """
    number, dot, _ = path.partition(".")
    if not (dot and number.isdecimal() and number.isascii()):
        raise ValueError(f"{path!r} is not the path of a parameter, such as 12.weight")
    return int(number)


class Stages:
    """The parts of a pipeline that have begun and not ended; of equal ones the run is counted."""

    def __init__(self) -> None:
        self._stages: list[Stage] = []
        self._rules: list[tuple[str, ...]] = [()]
        self._seen: dict[tuple[Stage, ...], int] = {}

    @contextmanager
    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> Generator[None]:
        """Steps inside have the name in their path, and try these rules."""
        stages = (*self._stages, Stage(name, number))
        run = self._seen[stages] = self._seen.get(stages, 0) + 1
        self._stages.append(replace(stages[-1], run=run))
        self._rules.append(tuple(rules))
        try:
            yield
        finally:
            self._stages.pop()
            self._rules.pop()

    @property
    def path(self) -> StepPath:
        """The path of a step that begins now."""
        return StepPath(tuple(self._stages) or (Stage("change"),))

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that a step tries which begins now."""
        return self._rules[-1]
