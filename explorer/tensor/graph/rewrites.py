"""Return values of local rewriters: the replacements of results, or the reason to leave an application alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from explorer.tensor.ir.variables import Apply, Variable
from explorer.trace import Refusal, RefusalKind


@dataclass(frozen=True, slots=True)
class Declined:
    """The reason why a rule does not apply, and at which application; returned instead of False."""

    reason: str
    node: Apply | None = None

    def refusal(self, rule: str, root: Apply) -> Refusal:
        """The refusal of a rule that was tried at a root, for the record."""
        at = self.node if self.node is not None and self.node.id >= 0 else root
        return Refusal(rule, root.id, 0, at.id, RefusalKind.DECLINED, found=self.reason)


Replacements = Sequence[Variable | None] | Mapping[Variable, Variable] | Mapping[Variable | str, object]
"""One variable per result of the node, None for an unused result; or a mapping from variables to their replacements.

In a mapping, "remove" may list applications and variables that this removes, and "layouts" map variables to layouts.
"""

Rewrite = Replacements | Declined | Refusal | Literal[False] | None
"""Replacements, or the reason why there are none; False and None if the rule is about something else."""
