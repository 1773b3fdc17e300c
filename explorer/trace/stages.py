"""The running part of a pipeline: the path of the next step, and the rules that it tries."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from explorer.trace.paths import Stage, StepPath


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
