"""Reports of rewriters in addition to the changes of a graph: scopes, refusals, limits."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from explorer.trace import Refusal


class GraphObserver(Protocol):
    """Receives the reports; false if nobody listens, so that reports can be skipped."""

    def __bool__(self) -> bool: ...

    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> AbstractContextManager[None]:
        """A part of the pipeline: all changes inside are recorded under its name; `rules` are those that it tries."""
        ...

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """A limit was reached."""
        ...

    def on_failure(self, error: str) -> None:
        """A rule raised and the compilation ends."""
        ...

    def on_refusal(self, refusal: Refusal) -> None:
        """A rule was tried and does not apply."""
        ...


class NoObserver:
    """Records nothing: the observer of a graph that nobody observes."""

    def __bool__(self) -> bool:
        return False

    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> AbstractContextManager[None]:
        return nullcontext()

    def on_limit(self, what: str, limit: int, message: str) -> None: ...

    def on_failure(self, error: str) -> None: ...

    def on_refusal(self, refusal: Refusal) -> None: ...


NO_OBSERVER = NoObserver()
