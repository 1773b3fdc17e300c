"""Logic circuits: literals, conjunctions and disjunctions as frozen data, and the properties that counting needs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from hashlib import sha256
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.errors import (
    CycleError,
    DataTypeError,
    GraphError,
    ScopeError,
    ShapeError,
    StructureError,
    ValueRangeError,
)
from explorer.symbolic import Finding
from explorer.symbolic.checks import is_integer
from explorer.symbolic.exclusion import Exclusion, Unit, Units


class LogicKind(Enum):
    """Kind of a node of a logic circuit."""

    TRUE = "true"
    FALSE = "false"
    LITERAL = "literal"
    AND = "and"
    OR = "or"


class LogicNode(NamedTuple):
    """A node: its kind, the nodes that it reads, and for a literal the variable v as v (true) or -v (false), from 1."""

    kind: LogicKind
    inputs: tuple[int, ...] = ()
    literal: int = 0


PRIME = 2**61 - 1
"""The numbers are those modulo a prime: a sum that is not 1 as a polynomial is 1 once in 2^61 / variables times."""


def partitioned(nodes: Sequence[LogicNode], num_variables: int) -> Iterator[int]:
    """The disjunctions of pairs (prime and sub) with exactly one true prime at each assignment.

    The nodes must be decomposable. Each variable is true with a random probability, so the probability of a node,
    with sums for disjunctions, is a polynomial. Those of the primes add up to 1 at a random point only if they do
    everywhere: then exactly one is true. This takes one pass, where comparing all pairs of primes may take too long.
    Source: Schwartz 1980, Fast probabilistic algorithms for verification of polynomial identities.
    """
    digest = sha256()
    for node in nodes:
        digest.update(repr(node).encode())
    random = Random(digest.digest())  # no file can be made to fit its own point
    chances = [random.randrange(PRIME) for _ in range(num_variables)]
    found: list[int] = []
    for number, node in enumerate(nodes):
        if node.kind is LogicKind.LITERAL:
            chance = chances[abs(node.literal) - 1]
            found.append(chance if node.literal > 0 else 1 - chance)
        elif node.kind is LogicKind.OR:
            found.append(sum(found[source] for source in node.inputs) % PRIME)
            pairs = [nodes[source] for source in node.inputs]
            are_pairs = all(pair.kind is LogicKind.AND and len(pair.inputs) == 2 for pair in pairs)
            if are_pairs and sum(found[pair.inputs[0]] for pair in pairs) % PRIME == 1:
                yield number
        else:
            total = int(node.kind is not LogicKind.FALSE)
            for source in node.inputs:
                total = total * found[source] % PRIME
            found.append(total)


MAX_VARIABLES = 1_000_000
"""Maximum number of variables of a logic circuit: its scopes are sets of bits."""


READ_IT = "read a file with read_logic, or build one with LogicBuilder"
"""Advice about an argument that is not a `LogicCircuit`."""


@dataclass(frozen=True)
class LogicCircuit:
    """A Boolean formula in negation normal form, as a graph: each node reads nodes before it, and the last is the root.

    Variables are 1 .. num_variables, as in the files; variable v is column v-1 of assignments and of the built circuit.
    The formula need not mention all variables. Read one with `read_logic`, or build one with `LogicBuilder`.
    Raises: StructureError without nodes; GraphError, CycleError for an input that does not come before; ScopeError for
    a literal out of range; ShapeError for a leaf with inputs or a wrong number of names; ValueRangeError for too many
    variables; DataTypeError for numbers that are not integers.

    >>> a, b = LogicNode(LogicKind.LITERAL, (), 1), LogicNode(LogicKind.LITERAL, (), -2)
    >>> LogicCircuit((a, b, LogicNode(LogicKind.AND, (0, 1))), num_variables=2)
    <LogicCircuit: 3 nodes, 2 edges, 2 variables>
    """

    nodes: tuple[LogicNode, ...]
    num_variables: int
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The names of the nodes in messages, as in their file; without names, messages have their numbers."""

    def __post_init__(self) -> None:
        if not self.nodes:
            raise StructureError("a logic circuit needs at least one node; found none")
        object.__setattr__(self, "num_variables", _integer("num_variables", self.num_variables))
        object.__setattr__(self, "nodes", tuple(map(_with_integers, self.nodes)))
        if self.names and len(self.names) != len(self.nodes):
            raise ShapeError(f"expected a name for each of {len(self.nodes)} nodes; found {len(self.names)}")
        if not 0 <= self.num_variables <= MAX_VARIABLES:
            raise ValueRangeError(f"num_variables must be from 0 to {MAX_VARIABLES:,}; found {self.num_variables:,}")
        for number, node in enumerate(self.nodes):
            if node.kind is LogicKind.LITERAL and not 1 <= abs(node.literal) <= self.num_variables:
                raise ScopeError(
                    f"node {number} is the literal {node.literal}; variables are 1 to {self.num_variables}"
                )
            if node.inputs:
                _check_inputs(self.nodes, number, node)

    @property
    def root(self) -> LogicNode:
        """The node of the whole formula."""
        return self.nodes[-1]

    @property
    def num_edges(self) -> int:
        """The number of inputs of all nodes."""
        return sum(len(node.inputs) for node in self.nodes)

    def name(self, number: int) -> str:
        """Return the name of a node for messages."""
        return self.names[number] if self.names else str(number)

    @cached_property
    def scopes(self) -> Sequence[int]:
        """The variables that each node mentions, as a set of bits: bit v-1 is variable v."""
        scopes: list[int] = []
        for node in self.nodes:
            scope = 1 << (abs(node.literal) - 1) if node.kind is LogicKind.LITERAL else 0
            for source in node.inputs:
                scope |= scopes[source]
            scopes.append(scope)
        return scopes

    @cached_property
    def is_decomposable(self) -> Finding:
        """Whether the inputs of each conjunction mention different variables; if not, with the reason."""
        for number, node in enumerate(self.nodes):
            if node.kind is LogicKind.AND:
                seen = 0
                for source in node.inputs:
                    if shared := seen & self.scopes[source]:
                        return Finding(
                            False, f"AND node {self.name(number)}: its inputs share variables {scope_variables(shared)}"
                        )
                    seen |= self.scopes[source]
        return Finding(True)

    @cached_property
    def is_smooth(self) -> Finding:
        """Whether the inputs of each disjunction mention the same variables; if not, with the reason."""
        for number, node in enumerate(self.nodes):
            if node.kind is LogicKind.OR:
                for source in node.inputs:
                    if missing := self.scopes[number] & ~self.scopes[source]:
                        names, found = (self.name(number), self.name(source)), scope_variables(missing)
                        reason = f"OR node {names[0]}: its input {names[1]} does not mention variables {found}"
                        return Finding(False, reason)
        return Finding(True)

    @cached_property
    def is_deterministic(self) -> Finding:
        """Whether at most one input of each disjunction is true at each assignment, as far as it can be shown.

        It is shown for all decision nodes, and for sentential decision diagrams of any size; for other circuits that
        follow one vtree, up to a number of comparisons.
        """
        shown = frozenset(partitioned(self.nodes, self.num_variables)) if self.is_decomposable else frozenset[int]()
        exclusion = Exclusion(_units(self))
        for number, node in enumerate(self.nodes):
            if (
                node.kind is LogicKind.OR
                and number not in shown
                and (overlap := exclusion.overlap(node.inputs, self.name))
            ):
                return Finding(False, f"OR node {self.name(number)}: its inputs {overlap}")
        return Finding(True)

    def evaluate(self, assignments: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each assignment is a model of the formula. Shapes: (B, D) -> (B,), D = num_variables.

        Raises: ShapeError for a different number of columns; ValueRangeError for a number that is neither 0 nor 1.
        """
        numbers = np.asarray(assignments)
        given = numbers.astype(bool)
        if not (given == numbers).all():
            raise ValueRangeError("assignments must be true or false, 1 or 0; found a different number")
        if given.ndim != 2 or given.shape[1] != self.num_variables:
            raise ShapeError(f"assignments must have shape (B, {self.num_variables}); found {given.shape}")
        users = [0] * len(self.nodes)
        for node in self.nodes:
            for source in node.inputs:
                users[source] += 1
        values: dict[int, NDArray[np.bool_]] = {}
        for number, node in enumerate(self.nodes):
            values[number] = _value(node, values, given)
            for source in node.inputs:
                users[source] -= 1
                if not users[source]:
                    del values[source]
        return values[len(self.nodes) - 1]

    def __repr__(self) -> str:
        return f"<LogicCircuit: {len(self.nodes):,} nodes, {self.num_edges:,} edges, {self.num_variables:,} variables>"


def scope_variables(scope: int) -> list[int]:
    """The variables of a set of bits, ascending; they are numbered from 1, as in literals.

    >>> scope_variables(0b101)
    [1, 3]
    """
    found: list[int] = []
    while scope:
        lowest = scope & -scope
        found.append(lowest.bit_length())
        scope ^= lowest
    return found


def _integer(name: str, value: int) -> int:
    """A Python integer, since shifts of NumPy's overflow. Raises: DataTypeError."""
    if not is_integer(value):
        raise DataTypeError(f"{name} must be an integer; found {value!r}")
    return int(value)


def _with_integers(node: LogicNode) -> LogicNode:
    if type(node.literal) is int and all(type(source) is int for source in node.inputs):
        return node
    inputs = tuple(_integer("an input of a node", source) for source in node.inputs)
    return LogicNode(node.kind, inputs, _integer("a literal", node.literal))


def _check_inputs(nodes: Sequence[LogicNode], number: int, node: LogicNode) -> None:
    if node.kind not in (LogicKind.AND, LogicKind.OR):
        raise ShapeError(f"node {number} ({node.kind.value}) reads no nodes; found {node.inputs}")
    for source in node.inputs:
        if not 0 <= source < len(nodes):
            raise GraphError(f"node {number} reads node {source}, which does not exist")
        if source >= number:
            raise CycleError(f"node {number} reads node {source}, which does not come before it")


def _units(circuit: LogicCircuit) -> list[Unit]:
    units = Units(num_digits=1)
    for scope, node in zip(circuit.scopes, circuit.nodes, strict=True):
        if node.kind is LogicKind.OR:
            units.add_sum(scope, node.inputs)
        elif node.kind is LogicKind.AND:
            units.add_product(scope, node.inputs)
        elif node.kind is LogicKind.LITERAL:
            units.add_input(abs(node.literal) - 1, [int(node.literal > 0)])
        else:
            units.add_constant(empty=node.kind is LogicKind.FALSE)
    return units.known


_COMBINE: dict[LogicKind, tuple[Callable[..., NDArray[np.bool_]], bool]] = {
    LogicKind.AND: (np.logical_and, True),
    LogicKind.OR: (np.logical_or, False),
}


def _value(node: LogicNode, below: dict[int, NDArray[np.bool_]], x: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if node.kind is LogicKind.LITERAL:
        column = x[:, abs(node.literal) - 1]
        return column if node.literal > 0 else ~column
    if node.kind in _COMBINE:
        combine, value = _COMBINE[node.kind]
        result = np.full(len(x), value)
        for source in node.inputs:
            result = combine(result, below[source])
        return result
    return np.full(len(x), node.kind is LogicKind.TRUE)
