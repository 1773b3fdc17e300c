"""A circuit as kernel calls: what one fold of a layer computes, as plain data in the order of evaluation.

The `num_units` of a layer are here the `width` of a call.

A call reads the values of other calls, or a row of a table by the value of a variable. Where its numbers come from is a
`Source`: the folds of a compiled layer. Its parameters may change.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from explorer.runtime.kernel_types import Kind

MAX_DEPENDENCY_BITS = 10**9
"""Maximum number of (kernel call, leaf) pairs, a bit each (125 MB), for which `Plan` knows the leaves of each call."""

WEIGHTED = (Kind.SUM, Kind.MIXING, Kind.TUCKER, Kind.TENSOR_DOT)
"""The kinds of kernel calls that have weights."""

OF_ONE_LAYER = (Kind.DENSITY, Kind.TENSOR_DOT, Kind.REARRANGE)
"""The kinds that are launched or grouped by layer: calls of several layers are not evaluated together.

The layer computes the densities, knows the shape of the weight, or decides which values are read.
"""


ReportSkipped = Callable[[int, str], None]
"""Receives the number of a kernel call that a pass has looked at and left as it is, and the reason."""


def ignore_reason(number: int, reason: str) -> None:
    """Skip without a report: nothing observes the pass."""


@dataclass(frozen=True, slots=True)
class Source:
    """A fold of a compiled layer: its number in the graph; `part` leads to a layer inside it (`below.above.`)."""

    layer: int
    fold: int
    part: str = ""


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One call of a kernel: for one fold of a layer, or of several that were combined.

    `inputs` has `terms` groups of equally many factors. `sources` are the folds that have its numbers: of each factor
    for a product of densities; the layers from bottom to top for a table; otherwise one. `variables` are the columns
    that it reads itself.
    """

    kind: Kind
    width: int
    sources: tuple[Source, ...] = ()
    inputs: tuple[int, ...] = ()
    terms: int = 1
    variables: tuple[int, ...] = ()

    @property
    def factors(self) -> tuple[tuple[int, ...], ...]:
        """The inputs of each term."""
        size = len(self.inputs) // self.terms
        return tuple(self.inputs[start : start + size] for start in range(0, len(self.inputs), size or 1))


@dataclass(frozen=True, eq=False)
class Plan:
    """The kernel calls of a circuit by number, each after those that it reads, and the numbers of the outputs."""

    calls: Mapping[int, KernelCall]
    outputs: tuple[int, ...]
    slots: Mapping[int, int] = field(default_factory=dict[int, int])
    """The slot of the values of each computed call, once slots are planned."""

    @cached_property
    def users(self) -> Mapping[int, tuple[int, ...]]:
        """The calls that read each call, in order."""
        found: dict[int, list[int]] = {number: [] for number in self.calls}
        for number, call in self.calls.items():
            for read in dict.fromkeys(call.inputs):
                found[read].append(number)
        return {number: tuple(users) for number, users in found.items()}

    @cached_property
    def counts_errors_once(self) -> bool:
        """Return whether no product has two factors that depend on one call, as in decomposable circuits.

        Then a relative error e of a call changes each value by at most e, and not by 2 e. False, too, if there are so
        many calls that the answer would need much memory.
        """
        leaves = [number for number, call in self.calls.items() if not call.inputs]
        if len(leaves) * len(self.calls) > MAX_DEPENDENCY_BITS:
            return False
        read = {number: 1 << place for place, number in enumerate(leaves)}
        for number, call in self.calls.items():
            for factors in call.factors:
                term = 0
                for one in factors:
                    if term & read[one]:
                        return False
                    term |= read[one]
                read[number] = read.get(number, 0) | term
        return True

    @property
    def num_slots(self) -> int:
        """The number of slots that values need at a time."""
        return 1 + max(self.slots.values(), default=-1)

    def computed(self) -> Iterator[tuple[int, KernelCall]]:
        """The calls that are computed, in order: all but tables."""
        return ((number, call) for number, call in self.calls.items() if call.kind is not Kind.TABLE)

    @cached_property
    def read_tables(self) -> tuple[int, ...]:
        """The tables that computed calls or outputs read; tables that others were made of are not."""
        read = {one for _, call in self.computed() for one in call.inputs} | set(self.outputs)
        return tuple(number for number, call in self.calls.items() if call.kind is Kind.TABLE and number in read)

    def counts(self) -> dict[str, int]:
        """Return the number of computed calls of each kind, and of the tables that they read."""
        tables = len(self.read_tables)
        found = {Kind.TABLE.value: tables} if tables else {}
        for _, call in self.computed():
            found[call.kind.value] = found.get(call.kind.value, 0) + 1
        return found

    def text(self) -> str:
        """One line per kernel call."""
        lines: list[str] = []
        for number, call in self.calls.items():
            terms = " + ".join(" * ".join(f"%{one}" for one in term) for term in call.factors if term)
            variables = ", ".join(f"x{variable}" for variable in call.variables)
            sources = ", ".join(f"{one.layer}{f'.{one.part}' if one.part else ''}[{one.fold}]" for one in call.sources)
            place = f" -> slot {self.slots[number]}" if number in self.slots else ""
            reads = "; ".join(part for part in (terms, variables, sources) if part)
            lines.append(f"%{number} = {call.kind.value}({reads}) : {call.width}{place}")
        return "\n".join([*lines, "outputs: " + ", ".join(f"%{one}" for one in self.outputs)])

    def __len__(self) -> int:
        return len(self.calls)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in self.counts().items())
        return f"<Plan: {counts}; {self.num_slots} slots>"
