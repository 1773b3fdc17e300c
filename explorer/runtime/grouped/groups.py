"""Kernel calls in groups of one shape, evaluated together, ordered so that most of what they read is consecutive.

Two calls are in one group if they are of one kind and shape and read from the same groups at each position. So the
calls of a group do not depend on each other, and each position of a group reads from one group, or from tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.runtime.packed import state_of
from explorer.runtime.plan import OF_ONE_LAYER, KernelCall, Kind, Plan, num_states

OPERATORS_OF_GROUP = 4
"""The overhead of a group, in factors: with few numbers, it takes about as long as computing this many."""


@dataclass(frozen=True, slots=True)
class Read:
    """One factor of one term of all calls of a group: rows of another group, or of the reads of tables of a width.

    They are the rows from `start` on, or, if `index` is not -1, the rows in the index with this number.
    """

    group: int
    start: int
    width: int
    index: int = -1

    @property
    def is_table(self) -> bool:
        """Return whether rows of tables are read: -1 is no group."""
        return self.group < 0


@dataclass(frozen=True, slots=True)
class Group:
    """Calls of one shape: their numbers in order, what they read by term and factor, and their variables by factor."""

    kind: Kind
    width: int
    members: tuple[int, ...]
    terms: int
    factors: int
    reads: tuple[tuple[Read, ...], ...]
    variables: tuple[tuple[int, ...], ...]
    frees: tuple[int, ...]
    """The groups that no later group reads."""

    @property
    def in_width(self) -> int:
        """The number of summands of a term: the width of its product."""
        if not self.reads:
            return self.width
        widths = [read.width for read in self.reads[0]]
        return widths[0] * widths[1] if self.kind in (Kind.TUCKER, Kind.KRONECKER) else widths[0]


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a circuit in order of evaluation."""

    plan: Plan
    groups: tuple[Group, ...]
    outputs: tuple[Read, ...]
    indices: tuple[tuple[int, ...], ...]
    """Rows of a group that are not consecutive."""
    tables: Mapping[int, tuple[int, ...]]
    """By width the table of each read of a row."""

    @cached_property
    def num_reads(self) -> int:
        """Return how many factors are read: the size of a program of operators."""
        return sum(group.terms * group.factors for group in self.groups)

    @cached_property
    def numbers_per_operator(self) -> float:
        """Numbers of a row that an operator computes on average: a group has operators of its own, and a factor."""
        numbers = sum(len(group.members) * group.terms * group.in_width for group in self.groups)
        return numbers / max(self.num_reads + OPERATORS_OF_GROUP * len(self.groups), 1)

    def __repr__(self) -> str:
        return f"<Groups: {len(self.groups)} of {sum(len(group.members) for group in self.groups)} calls>"


def group_calls(plan: Plan) -> Groups:
    """The groups of planned calls."""
    return _Grouper(plan).groups()


class _Grouper:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.group_of: dict[int, int] = {}
        self.members: list[list[int]] = []
        self.rows: dict[int, int] = {}
        self.indices: list[tuple[int, ...]] = []
        self.tables: dict[int, list[int]] = {}

    def groups(self) -> Groups:
        self._assign()
        self._order()
        last = self._last_users()
        found = tuple(self._group(number, last) for number in range(len(self.members)))
        outputs = tuple(self._read((one,)) for one in self.plan.outputs)
        tables = {width: tuple(numbers) for width, numbers in self.tables.items()}
        return Groups(self.plan, found, outputs, tuple(self.indices), tables)

    def _assign(self) -> None:
        """Number the groups by the first of their calls; calls follow those that they read, and so do groups."""
        numbers: dict[tuple[object, ...], int] = {}
        for number, call in self.plan.computed():
            read = tuple(self.group_of.get(one, -self.plan.calls[one].width) for one in call.inputs)
            layer = (call.sources[0].layer, call.sources[0].part) if call.kind in OF_ONE_LAYER else None
            key = (call.kind, call.width, call.terms, len(call.variables), layer, read)
            group = self.group_of[number] = numbers.setdefault(key, len(numbers))
            if group == len(self.members):
                self.members.append([])
            self.members[group].append(number)

    def _order(self) -> None:
        """Order the calls of each group as the first reads of it by later groups do."""
        wanted: dict[int, dict[int, None]] = {number: {} for number in range(len(self.members))}

        def want(numbers: Sequence[int]) -> None:
            for one in numbers:
                if one in self.group_of:
                    wanted[self.group_of[one]].setdefault(one)

        want(self.plan.outputs)
        for group in reversed(range(len(self.members))):
            ordered = self.members[group] = [
                *wanted[group],
                *(n for n in self.members[group] if n not in wanted[group]),
            ]
            self.rows.update((number, row) for row, number in enumerate(ordered))
            for position in range(len(self.plan.calls[ordered[0]].inputs)):
                want([self.plan.calls[number].inputs[position] for number in ordered])

    def _last_users(self) -> Mapping[int, tuple[int, ...]]:
        """For each group those that no later one reads, but for the groups of outputs."""
        kept = {self.group_of[one] for one in self.plan.outputs if one in self.group_of}
        last: dict[int, int] = {}
        for number, members in enumerate(self.members):
            for one in self._inputs(members[0]):
                last[one] = number
        frees: dict[int, list[int]] = {}
        for group, user in last.items():
            if group not in kept:
                frees.setdefault(user, []).append(group)
        return {user: tuple(groups) for user, groups in frees.items()}

    def _inputs(self, number: int) -> Iterator[int]:
        return (self.group_of[one] for one in self.plan.calls[number].inputs if one in self.group_of)

    def _group(self, number: int, last: Mapping[int, tuple[int, ...]]) -> Group:
        members = tuple(self.members[number])
        calls = [self.plan.calls[one] for one in members]
        first: KernelCall = calls[0]
        factors = len(first.inputs) // first.terms
        reads = [self._read(tuple(call.inputs[at] for call in calls)) for at in range(len(first.inputs))]
        by_term = tuple(tuple(reads[start : start + factors]) for start in range(0, len(reads), factors or 1))
        variables = tuple(zip(*(call.variables for call in calls), strict=True))
        return Group(first.kind, first.width, members, first.terms, factors, by_term, variables, last.get(number, ()))

    def _read(self, numbers: tuple[int, ...]) -> Read:
        width = self.plan.calls[numbers[0]].width
        group = self.group_of.get(numbers[0], -1)
        if group < 0:
            tables = self.tables.setdefault(width, [])
            tables.extend(numbers)
            return Read(-1, len(tables) - len(numbers), width)
        rows = tuple(self.rows[one] for one in numbers)
        if rows == tuple(range(rows[0], rows[0] + len(rows))):
            return Read(group, rows[0], width)
        self.indices.append(rows)
        return Read(group, 0, width, len(self.indices) - 1)


@dataclass(frozen=True, eq=False)
class TableReads:
    """By width: the first row of the table of each read (T, 1), and the row (T) of its variable among the states."""

    starts: tuple[Tensor, ...]
    variables: tuple[Tensor, ...]


def make_table_reads(
    circuit: EvaluatedCircuit, groups: Groups, rows: Mapping[tuple[int, int], int], device: torch.device
) -> TableReads:
    """Return where the rows of tables are read, from the row of each (variable, number of states)."""
    starts: list[Tensor] = []
    variables: list[Tensor] = []
    for reads in groups.tables.values():
        start, begin = 0, dict[int, int]()
        for number in dict.fromkeys(reads):
            begin[number] = start
            start += num_states(circuit, groups.plan, number)
        starts.append(torch.tensor([begin[one] for one in reads], device=device).unsqueeze(1))
        chosen = [rows[state_of(circuit, groups.plan, one)] for one in reads]
        variables.append(torch.tensor(chosen, device=device))
    return TableReads(tuple(starts), tuple(variables))
