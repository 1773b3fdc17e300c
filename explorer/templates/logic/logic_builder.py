"""Build logic circuits from parts, simplified on the way; `prune` and `smooth` change a whole circuit."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from explorer.errors import GraphError, check_type
from explorer.symbolic.checks import is_integer
from explorer.templates.logic.logic_circuit import READ_IT, LogicCircuit, LogicKind, LogicNode

_TRUE, _FALSE = LogicNode(LogicKind.TRUE), LogicNode(LogicKind.FALSE)


@dataclass
class LogicBuilder:
    """Collects nodes; each call returns the number of a node, and `build` returns the circuit.

    Equal nodes are one. Constants and repeated inputs are removed from conjunctions and disjunctions, and one with a
    single input is that input.

    >>> b = LogicBuilder()
    >>> either = b.disjunction([b.conjunction([b.literal(1), b.literal(-2)]), b.literal(-1), b.false()])
    >>> b.build(either, num_variables=2)
    <LogicCircuit: 5 nodes, 4 edges, 2 variables>
    """

    _nodes: list[LogicNode] = field(default_factory=list[LogicNode])
    _known: dict[LogicNode, int] = field(default_factory=dict[LogicNode, int])

    def literal(self, literal: int) -> int:
        """Variable v is true (v) or false (-v)."""
        return self._add(LogicNode(LogicKind.LITERAL, (), literal))

    def true(self) -> int:
        """The constant true."""
        return self._add(_TRUE)

    def false(self) -> int:
        """The constant false."""
        return self._add(_FALSE)

    def conjunction(self, inputs: Sequence[int]) -> int:
        """All of these nodes; true if there are none. Raises: GraphError for an unknown node."""
        return self._join(LogicKind.AND, inputs, _TRUE, _FALSE)

    def disjunction(self, inputs: Sequence[int]) -> int:
        """At least one of these nodes; false if there are none. Raises: GraphError for an unknown node."""
        return self._join(LogicKind.OR, inputs, _FALSE, _TRUE)

    def build(self, root: int, num_variables: int) -> LogicCircuit:
        """The circuit of this root, without the nodes that it does not need. Raises what `LogicCircuit` raises."""
        self._check(root)
        needed = [False] * root + [True]
        for number in range(root, -1, -1):
            if needed[number]:
                for source in self._nodes[number].inputs:
                    needed[source] = True
        new: dict[int, int] = {}
        nodes: list[LogicNode] = []
        for number, node in enumerate(self._nodes[: root + 1]):
            if needed[number]:
                new[number] = len(nodes)
                nodes.append(node._replace(inputs=tuple(new[source] for source in node.inputs)))
        return LogicCircuit(tuple(nodes), num_variables)

    def copy(self, circuit: LogicCircuit) -> list[int]:
        """Add all nodes of a circuit, simplified; the result has the new number of each node."""
        check_type("the circuit", circuit, LogicCircuit, READ_IT)
        new: list[int] = []
        for node in circuit.nodes:
            if node.kind is LogicKind.AND:
                new.append(self.conjunction([new[source] for source in node.inputs]))
            elif node.kind is LogicKind.OR:
                new.append(self.disjunction([new[source] for source in node.inputs]))
            else:
                new.append(self._add(node))
        return new

    def _join(self, kind: LogicKind, inputs: Sequence[int], neutral: LogicNode, dominant: LogicNode) -> int:
        kept: dict[int, None] = {}
        for source in inputs:
            self._check(source)
            node = self._nodes[source]
            if node == dominant:
                return source
            if node != neutral:
                kept[source] = None
        if not kept:
            return self._add(neutral)
        return next(iter(kept)) if len(kept) == 1 else self._add(LogicNode(kind, tuple(kept)))

    def _add(self, node: LogicNode) -> int:
        number = self._known.setdefault(node, len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(node)
        return number

    def _check(self, node: int) -> None:
        if not is_integer(node) or not 0 <= node < len(self._nodes):
            raise GraphError(f"unknown node {node!r}; add it first")


def prune(circuit: LogicCircuit) -> LogicCircuit:
    """Remove constants, repeated nodes, nodes of one input, and nodes that the root does not need.

    A circuit that is deterministic or decomposable remains so. A formula that is constant becomes one node.
    """
    builder = LogicBuilder()
    return builder.build(builder.copy(circuit)[-1], circuit.num_variables)


def smooth(circuit: LogicCircuit) -> LogicCircuit:
    """Return the same formula, pruned and smooth; its root mentions all variables.

    A variable v that an input of a disjunction does not mention is added to it as (v or not v). The conjunctions of
    such pairs are shared: 2, 4, 8 ... neighbouring variables have a node of their own.
    A formula that is false has no smooth form over any variables and remains the constant.
    Source: Darwiche 2001, On the tractable counting of theory models, sec. 4.
    """
    pruned = prune(circuit)
    builder = LogicBuilder()
    gaps = _Gaps(builder)
    new: list[int] = []
    for number, node in enumerate(pruned.nodes):
        inputs = [new[source] for source in node.inputs]
        if node.kind is LogicKind.AND:
            new.append(builder.conjunction(inputs))
        elif node.kind is LogicKind.OR:
            scope = pruned.scopes[number]
            missing = [scope & ~pruned.scopes[source] for source in node.inputs]
            new.append(builder.disjunction([gaps.fill(*pair) for pair in zip(inputs, missing, strict=True)]))
        elif node.kind is LogicKind.LITERAL:
            new.append(builder.literal(node.literal))
        else:
            new.append(builder.true() if node.kind is LogicKind.TRUE else builder.false())
    unmentioned = ((1 << pruned.num_variables) - 1) & ~pruned.scopes[-1]
    return builder.build(gaps.fill(new[-1], unmentioned), pruned.num_variables)


class _Gaps:
    """Nodes that are true and mention given variables."""

    def __init__(self, builder: LogicBuilder) -> None:
        self._builder = builder
        self._blocks: dict[tuple[int, int], int] = {}

    def fill(self, node: int, missing: int) -> int:
        """The conjunction of a node and of (v or not v) for each missing variable."""
        if not missing:
            return node
        parts, size = [node], 1
        while missing:
            pairs = missing & (missing >> size) & _multiples(2 * size, missing.bit_length())
            alone = missing & ~(pairs | pairs << size)
            while alone:
                lowest = alone & -alone
                parts.append(self._block(lowest.bit_length() - 1, size))
                alone ^= lowest
            missing, size = pairs, 2 * size
        return self._builder.conjunction(parts)

    def _block(self, start: int, size: int) -> int:
        """The node for the variables of the bits start .. start+size-1; size is a power of two."""
        known = self._blocks.get((start, size))
        if known is not None:
            return known
        if size == 1:
            made = self._builder.disjunction([self._builder.literal(start + 1), self._builder.literal(-start - 1)])
        else:
            half = size // 2
            made = self._builder.conjunction([self._block(start, half), self._block(start + half, half)])
        self._blocks[start, size] = made
        return made


def _multiples(step: int, length: int) -> int:
    """The bits 0, step, 2*step ... below a length, or a few more."""
    bits, width = 1, step
    while width < length:
        bits |= bits << width
        width *= 2
    return bits
