"""The log of XLA's pass `fusion`: which producer was fused into which consumer, and which was refused, and why.

With TF_CPP_VMODULE=instruction_fusion=5 it names the consumer of every refusal; with =3 that of some.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from explorer.errors import FileFormatError

MESSAGE = re.compile(r"fusion\.cc:\d+\] +(.*)")
NAME = r"%?([\w.\-]+)"
CONSIDERED = re.compile(rf"Considering fusion of: {NAME} = .* with operand {NAME}$")
ASKED = re.compile(r"Evaluating fusion: producer '([^']+)' into consumer '([^']+)'")
FUSED = re.compile(rf"Fusing {NAME} = .* into {NAME} = ")
CREATED = re.compile(rf"created new fusion: {NAME} = ")
REFUSED = re.compile(rf"not fusing operand {NAME} = .*? because (.+)")
NOT_FUSIBLE = re.compile(rf"Operand \({NAME} = .*\) is (not fusible)$")

MAX_COPIES = 1_000_000
"""Maximum number of instructions in all fusions."""


class Decision(NamedTuple):
    """A producer, and the consumer that it was fused into, or refused for a reason.

    `is_told` is False if the log does not name the consumer of a refusal: it is the last one that was named.
    """

    producer: str
    consumer: str
    reason: str = ""
    is_told: bool = True


@dataclass(slots=True)
class FusionRun:
    """The decisions of one run of the pass over one module, in order; `roots` has the first consumer of each fusion."""

    decisions: list[Decision] = field(default_factory=list[Decision])
    roots: dict[str, str] = field(default_factory=dict[str, str])
    is_complete: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether it fused nothing."""
        return all(one.reason for one in self.decisions)

    def names(self) -> set[str]:
        """The instructions from before the run that its decisions name."""
        return {name for one in self.decisions for name in one[:2] if name} - set(self.roots)

    def groups(self) -> Mapping[str, dict[str, None]]:
        """The instructions from before the run in each fusion, its root first; a producer may be in several.

        Raises: FileFormatError if these are too many, as no program has them.
        """
        found: dict[str, dict[str, None]] = {}
        owners = {root: fusion for fusion, root in self.roots.items()}
        copied = 0
        for one in self.decisions:
            if not one.reason:
                fusion = owners.get(one.consumer, one.consumer)
                group = found.setdefault(fusion, {self.roots.get(fusion, fusion): None})
                added = found.get(one.producer, {one.producer: None})
                copied += len(added)
                if copied > MAX_COPIES:
                    raise FileFormatError(f"the log fuses more than {MAX_COPIES:,} copies of instructions")
                group |= added
        return found


def parse_log(text: str) -> Iterator[FusionRun]:
    """Yield the runs with decisions that a log tells of; the last one is not complete if the log is truncated."""
    run, last = FusionRun(), ""
    asked: dict[str, str] = {}
    for line in text.splitlines():
        if (message := MESSAGE.search(line)) is None:
            continue
        said = message[1]
        if found := CONSIDERED.match(said):
            asked[found[2]] = last = found[1]
        elif found := ASKED.match(said):
            asked[found[1]] = last = found[2]
        elif found := FUSED.match(said):
            asked.clear()
            last = found[2]
            run.decisions.append(Decision(found[1], last))
        elif found := CREATED.match(said):
            run.roots[found[1]], last = last, found[1]
        elif found := REFUSED.match(said) or NOT_FUSIBLE.match(said):
            is_told = found[1] in asked
            last = asked.get(found[1], last)
            asked.clear()
            run.decisions.append(Decision(found[1], last, found[2].rstrip("."), is_told))
        elif said.startswith("Fusion count: "):
            run.is_complete = True
            if run.decisions:
                yield run
            run, last = FusionRun(), ""
    if run.decisions:
        yield run
