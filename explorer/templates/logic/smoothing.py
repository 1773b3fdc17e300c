"""Smoothing: the inputs of each disjunction mention the same variables, and the root mentions all of them."""

from explorer.templates.logic.builder import LogicBuilder, prune
from explorer.templates.logic.circuit import LogicCircuit
from explorer.templates.logic.nodes import LogicKind


def smooth(circuit: LogicCircuit) -> LogicCircuit:
    """Return the same formula, pruned and smooth, whose root mentions all variables.

    A variable v that an input of a disjunction does not mention is added to it as (v or not v). The conjunctions of
    such pairs are shared: those of 2, 4, 8 ... neighbouring variables are nodes of their own.
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
