"""What is asked of a compilation: pairs that stay apart, a last round, and whether the program runs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch import nn

from explorer.adapters.inductor.heard import HeardCompilation, in_part

KEPT_APART = "kept apart, as asked"


@dataclass(frozen=True, slots=True)
class Steering:
    """Wishes for the scheduler: pairs of nodes that are not to end in one kernel, and the last round that may fuse.

    In a training step, names of nodes begin with the part that they are in, and one `part` has the last round.
    """

    apart: frozenset[tuple[str, str]] = frozenset()
    last_round: int | None = None
    part: str = ""
    runs: bool = True
    """Whether the program is run once it is compiled."""

    def forbids(self, one: str, other: str, round_number: int, part: str = "") -> bool:
        """Whether two nodes may not be fused in a round."""
        if self.last_round is not None and part == self.part and round_number > self.last_round:
            return True
        if not self.apart:
            return False
        mine, theirs = ({in_part(part, name) for name in parts_of(node)} for node in (one, other))
        return any((a in mine and b in theirs) or (b in mine and a in theirs) for a, b in self.apart)


def parts_of(name: str) -> set[str]:
    """The scheduler nodes that a fused one was made of, by its name: `op0_op1`."""
    return set(name.split("_"))


class NotRunError(Exception):
    """What was compiled is not run: only the compilation was asked for."""


def keep_arguments(heard: HeardCompilation, runs: bool) -> Callable[..., Any]:
    """Keep copies of the arguments of the first call of the compiled function; parameters are not copied.

    It forgets the notes then, since Dynamo keeps it. Raises: NotRunError unless it `runs`.
    """
    compiled = heard.whole.compiled
    assert compiled is not None
    waiting = [heard]

    @wraps(compiled)
    def first(*args: Any) -> Any:
        if waiting:
            noted = waiting.pop()
            noted.is_boxed = len(args) == 1 and isinstance(args[0], list)
            try:
                noted.arguments = tuple(_copied(one) for one in (args[0] if noted.is_boxed else args))
            except Exception as error:  # noqa: BLE001 (the user's program goes on)
                noted.missed.append(f"The arguments could not be copied: {type(error).__name__}: {error}")
        if not runs:
            raise NotRunError
        return compiled(*args)

    return first


def _copied(value: Any) -> Any:
    is_changed = isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter)
    return value.detach().clone().requires_grad_(value.requires_grad) if is_changed else value
