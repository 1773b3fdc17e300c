"""The answers of a trace about its nodes, folds and steps: small frozen results that print as readable text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from explorer.trace.layers import ids_text
from explorer.trace.paths import StepPath
from explorer.trace.refusal import type_words

Answer = TypeVar("Answer")
Differences = tuple[tuple[str, str, str], ...]
"""Fields in which two groups differ: name, value here, value there."""
Slot = tuple[int, int | None]
"""A node and its slice; None if it is not folded."""


class Answers(tuple[Answer, ...]):
    """A tuple of answers that prints one per line, in a terminal and in a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(str(answer) for answer in self) or "(none)"

    __str__ = __repr__


class Printable:
    """An answer with its text as `repr`, for notebooks."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class Origin(Printable):
    """A change in the life of a node: at step `step`, `how` replaced `before` by `after`.

    `became` are nodes that existed before and replace the root, the node of `before` that keeps its value.
    """

    step: int
    path: StepPath
    how: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    became: tuple[int, ...] = ()
    root: int | None = None

    def __str__(self) -> str:
        before = ", ".join(map(str, self.before[:8])) + (f" ... ({len(self.before)})" if len(self.before) > 8 else "")
        return (
            f"step {self.step} ({self.path}): {self.how}: {before} -> {', '.join(map(str, self.after or self.became))}"
        )


@dataclass(frozen=True, repr=False)
class MadeOf(Printable):
    """The operator of a step made layers of these layers of its operands: (formula of the operand, ids) of each."""

    step: int
    operator: str
    sources: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def sources_text(self) -> str:
        """The layers of each operand: `layers 130, 141 of A and layer 12 of B`."""
        found = (f"layer{'s' * (len(ids) > 1)} {ids_text(ids)} of {formula}" for formula, ids in self.sources)
        return " and ".join(found) or "no layer of an operand"

    def __str__(self) -> str:
        return f"step {self.step} ({self.operator}): made of {self.sources_text}"


@dataclass(frozen=True, repr=False)
class Lineage(Printable):
    """The origin of a node and what became of it.

    `symbolic` are the nodes that it was made from at the start of the compilation, and `origins` is their label: the
    layers of the symbolic circuit, or imported operators. `first_step` and `last_step` are the steps after which it
    exists. `now` are the nodes at the end that hold its value, each with the slice (None: not folded); `inside` are
    those that it became part of where no node holds its value any more. `made_of` has, for each operator that made
    the symbolic layers, the last one first, the layers of its operands. `named` are the symbolic nodes with their
    titles and lines of the user's program, where these are known.
    """

    node: int
    first_step: int
    last_step: int
    origins: str
    symbolic: tuple[int, ...]
    made_by: tuple[Origin, ...]
    became: tuple[Origin, ...]
    parameter_changes: tuple[Origin, ...]
    now: tuple[Slot, ...]
    inside: tuple[Slot, ...] = ()
    made_of: tuple[MadeOf, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def end(self) -> str:
        """Return the final position in words."""
        places = [f"{node}" if slot is None else f"{node}, slice {slot}" for node, slot in self.now or self.inside]
        if not places:
            return "gone"
        more = f"; ... ({len(places)} in all)" if len(places) > 8 else ""
        return ("" if self.now else "part of ") + "; ".join(places[:8]) + more

    def __str__(self) -> str:
        def ids(values: tuple[int, ...]) -> str:
            return ", ".join(map(str, values[:12])) + (f" ... ({len(values)} in all)" if len(values) > 12 else "")

        lines = [f"node {self.node}: exists from step {self.first_step} to step {self.last_step}"]
        lines.append(f"  {self.origins}: {ids(self.symbolic) or 'none'}")
        lines += [f"    {one}" for one in self.named[:12]]
        lines += [f"  {one}" for one in self.made_of]
        lines += [f"  made by {origin}" for origin in self.made_by]
        lines += [f"  parameters changed by {origin}" for origin in self.parameter_changes]
        lines += [f"  became {origin}" for origin in self.became]
        lines.append(f"  now {self.end}")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class FoldGroup(Printable):
    """The layers that became slices of one folded layer, their common key, and how the folded layer reads."""

    step: int
    level: int
    node: int
    type: str
    key: Mapping[str, Any]
    members: tuple[int, ...]
    read: str | None
    index: Any

    def __str__(self) -> str:
        key = ", ".join(f"{name}={value}" for name, value in self.key.items())
        read = f", reads by {self.read}" if self.read else ""
        some = ", ".join(map(str, self.members[:8])) + (" ..." if len(self.members) > 8 else "")
        return f"level {self.level}: {self.type} x{len(self.members)} -> node {self.node}{read} [{key}] of {some}"


@dataclass(frozen=True, repr=False)
class FoldAnswer(Printable):
    """Whether two layers were folded together, and if not, why."""

    together: bool
    why: str

    @property
    def reason(self) -> str:
        """The answer as a sentence."""
        return f"{'Folded' if self.together else 'Not folded'} together: {self.why}."

    def __bool__(self) -> bool:
        return self.together

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, repr=False)
class MissedFold(Printable):
    """Two folded groups that came close: equal keys on two levels, or one type and level and fields that differ.

    `nodes` are the two folded layers, by their ids after folding. `differences` are the fields that differ: name, value
    of the first group, value of the second.
    """

    nodes: tuple[int, int]
    layers: int
    reason: str
    differences: Differences = ()

    def __str__(self) -> str:
        return f"nodes {self.nodes[0]} and {self.nodes[1]} ({self.layers} layers): {self.reason}"


@dataclass(frozen=True, repr=False)
class FoldChain(Printable):
    """Fold groups with equal keys on different levels, of which each depends on the one before.

    So they cannot run at one time, and no schedule would fold them together. `nodes` are the layers after folding,
    lowest level first, `levels` their levels, and `type` is what they are.
    """

    nodes: tuple[int, ...]
    levels: tuple[int, ...]
    type: str

    def __str__(self) -> str:
        ids = ids_text(self.nodes)
        return f"nodes {ids}: {len(self.nodes)} x {type_words(self.type)}: equal keys, each depends on the one before"


@dataclass(frozen=True, repr=False)
class StepCheck(Printable):
    """The difference of the outputs after a step from those before it, and whether its rules allow the difference.

    `max_difference` is absolute; `tolerance` is what the rules of this step allow: 0 if all are exact, rounding errors
    relative to the largest output for a rule that is exact in real arithmetic, any difference for a lossy one.
    `from_original` is the largest difference from the outputs before the first step. `other_bits` counts the numbers
    that are not the same, bit by bit: 0 and -0 differ, NaN is the same as NaN. Exact rules allow none. `undefined`
    counts those that are NaN before and after, which says nothing about the step: it is set, and the differences are
    NaN, if no other number differs. An operator before the compilation has other values than its operands: its result
    is compared with its values by definition. `unknown` says why it could not be; `other_form` how shapes differ.
    """

    step: int
    path: str
    max_difference: float
    exactness: str
    tolerance: float
    other_bits: int = 0
    from_original: float = 0.0
    undefined: int = 0
    unknown: str = ""
    other_form: str = ""

    @property
    def has_no_value(self) -> bool:
        """Whether nothing was compared: outputs are NaN before and after, or the wanted ones are not known."""
        return self.undefined > 0 or bool(self.unknown)

    @property
    def ok(self) -> bool:
        """Whether the difference is known and allowed; a change from or to NaN never is."""
        return self.max_difference <= self.tolerance and not (self.exactness == "exact" and self.other_bits)

    @property
    def difference(self) -> str:
        """The largest difference as text; if it is 0 and yet not allowed, the count of numbers with different bits."""
        if self.other_form:
            return self.other_form
        hidden = self.max_difference == 0 and not self.ok
        return f"{self.max_difference:.3g}" + (f", but other bits in {self.other_bits:,}" if hidden else "")

    def __str__(self) -> str:
        if self.unknown:
            return f"step {self.step} {self.path}: not compared ({self.unknown})"
        if self.has_no_value:
            return f"step {self.step} {self.path}: no value ({self.undefined:,} outputs are NaN before and after)"
        sign = "DIFFERS" if not self.ok else "equal" if self.max_difference == 0 else "ok"
        return f"step {self.step} {self.path}: {self.difference} ({self.exactness}: {sign})"
