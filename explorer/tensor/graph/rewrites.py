"""Results of local rewriters (replacements, or the reason for none), and reports of rewriters to an observer."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from explorer.tensor.ir.variables import Apply, Variable
from explorer.trace import Refusal, RefusalKind


@dataclass(frozen=True, slots=True)
class Declined:
    """The reason why a rule does not apply, and at which application; returned instead of False."""

    reason: str
    node: Apply | None = None

    def refusal(self, rule: str, root: Apply) -> Refusal:
        """Return the refusal of a rule that was tried at a root, for the record."""
        at = self.node if self.node is not None and self.node.id >= 0 else root
        return Refusal(rule, root.id, 0, at.id, RefusalKind.DECLINED, found=self.reason)


Replacements = Sequence[Variable | None] | Mapping[Variable, Variable] | Mapping[Variable | str, object]
"""One variable per result of the node, None for an unused result; or a mapping from variables to their replacements.

In a mapping, "remove" may list applications and variables that this removes, and "layouts" map variables to layouts.
"""

Rewrite = Replacements | Declined | Refusal | Literal[False] | None
"""Replacements, or the reason why there are none; False and None if the rule is about something else."""


class GraphObserver(Protocol):
    """Receives the reports; false if nobody listens, so that reports can be skipped."""

    def __bool__(self) -> bool: ...

    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> AbstractContextManager[None]:
        """Record all changes inside under the name of a part of the pipeline, which tries `rules`."""
        ...

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """Note a limit that was reached."""
        ...

    def on_failure(self, error: str) -> None:
        """Note that a rule raised and the compilation ends."""
        ...

    def on_refusal(self, refusal: Refusal) -> None:
        """Note that a rule was tried and does not apply."""
        ...
