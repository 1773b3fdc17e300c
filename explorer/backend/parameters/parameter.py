"""A compiled parameter: an immutable graph of parameter nodes with one value per fold."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from explorer.backend.addressing import FoldIndexInfo
from explorer.backend.parameters.nodes import TorchLeafParameter, TorchParameterNode, TorchParameterOp
from explorer.errors import ShapeError
from explorer.graph import Graph
from explorer.symbolic import Shape


@dataclass(frozen=True, eq=False, init=False)
class TorchParameter:
    """The parameter of a compiled layer: (F, *shape).

    Not folded: `graph` has one output and `fold_index` is None. Folded: the members' graphs are merged and folded as
    one graph, and `fold_index.out_fold_idx` has the node and slice of the value of each fold.
    """

    fold_index: FoldIndexInfo | None
    shape: Shape = field(init=False)
    num_folds: int = field(init=False)
    is_complex: bool = field(init=False)
    """Whether the value is complex."""
    _applied: "_Application | None" = field(init=False)

    def __init__(
        self, graph: "Graph[TorchParameterNode] | _Application", fold_index: FoldIndexInfo | None = None
    ) -> None:
        applied: _Application | None = None
        if isinstance(graph, _Application):
            applied = graph
            shape, is_complex = graph.op.shape, graph.op.is_complex([x.is_complex for x in graph.operands])
        else:
            shape, is_complex = graph.nodes[graph.outputs[0]].shape, _is_complex(graph)
            self.__dict__["graph"] = graph
        folds = 1 if fold_index is None else len(fold_index.out_fold_idx)
        self.__dict__.update(
            fold_index=fold_index, shape=shape, num_folds=folds, is_complex=is_complex, _applied=applied
        )

    @cached_property
    def graph(self) -> Graph[TorchParameterNode]:
        """The nodes, in topological order."""
        applied = self._applied
        if applied is None:  # another thread merged the graphs in the meantime
            return self.__dict__["graph"]
        _ = self.flops, self.rows_sum_to_one  # known from the operands at once, from the merged graph only by a search
        self.__dict__["graph"] = merged = applied.merge()
        self.__dict__["_applied"] = None
        return merged

    @property
    def output(self) -> TorchParameterNode:
        """The node with the value of an unfolded parameter."""
        return self.graph.nodes[self.graph.outputs[0]]

    @property
    def nodes(self) -> tuple[TorchParameterNode, ...]:
        """All nodes in topological order."""
        return tuple(self.graph.nodes.values())

    @cached_property
    def flops(self) -> int:
        """Floating-point operations of one evaluation of an unfolded parameter."""
        applied = self._applied
        if applied is not None:
            return sum([operand.flops for operand in applied.operands]) + applied.op.flops
        return sum([node.flops for node in self.graph.nodes.values()])

    @cached_property
    def rows_sum_to_one(self) -> bool:
        """Whether its operators show that its rows (last axis) sum to one, whatever the values of its leaves are."""
        applied = self._applied
        if applied is not None:
            return applied.op.rows_sum_to_one([operand.rows_sum_to_one for operand in applied.operands])
        found: dict[int, bool] = {}
        for node, value in self.graph.nodes.items():
            found[node] = value.rows_sum_to_one([found[source] for source in self.graph.inputs[node]])
        return all(map(found.__getitem__, self.graph.outputs))

    @cached_property
    def is_stored(self) -> bool:
        """Whether it consists of leaves of floating-point numbers: no operator computes it, and nothing is rounded."""
        return self.num_operators == 0 and not self.reads_integers

    @cached_property
    def keeps_digits(self) -> bool:
        """Whether single precision computes it, and its gradients, as well as its leaves are known.

        At most one operator does, which keeps digits: of two, the second may lose what the first rounds away.
        """
        operators = [node for node in self.graph.nodes.values() if isinstance(node, TorchParameterOp)]
        return not self.reads_integers and (not operators or (len(operators) == 1 and operators[0].keeps_digits))

    @property
    def reads_integers(self) -> bool:
        """Whether one of its leaves has integers: large ones are rounded in single precision."""
        leaves = [node for node in self.graph.nodes.values() if isinstance(node, TorchLeafParameter)]
        return not all(leaf.dtype.is_floating_point or leaf.dtype.is_complex for leaf in leaves)

    @property
    def num_operators(self) -> int:
        """The number of operators that compute it."""
        return sum(isinstance(node, TorchParameterOp) for node in self.graph.nodes.values())

    def __repr__(self) -> str:
        names = [type(node).__name__.removeprefix("Torch").removesuffix("Parameter") for node in self.nodes]
        folds = f"[x{self.num_folds}]" if self.fold_index is not None else ""
        return f"{'>'.join(names)}{folds}{self.shape}"


@dataclass(frozen=True, eq=False)
class _Application:
    """An operator on unfolded parameters; their graphs are merged when the graph of the result is first read.

    Rules build many products only to ask what they would cost: most of them are never merged.
    """

    op: TorchParameterOp
    operands: tuple[TorchParameter, ...]

    def merge(self) -> Graph[TorchParameterNode]:
        """One graph with the nodes of all operands, and the operator on top."""
        nodes: dict[int, TorchParameterNode] = {}
        inputs: dict[int, tuple[int, ...]] = {}
        ends: list[int] = []
        for operand in self.operands:
            graph = operand.graph
            if not nodes and list(graph.nodes) == list(range(len(graph))):  # the first operand mostly keeps its ids
                nodes.update(graph.nodes)
                inputs.update(graph.inputs)
                ends.append(graph.outputs[0])
                continue
            position = dict(zip(graph.nodes, count(len(nodes))))
            nodes.update(zip(position.values(), graph.nodes.values(), strict=True))
            at = position.__getitem__
            inputs.update(
                zip(position.values(), [tuple(map(at, graph.inputs[old])) for old in graph.nodes], strict=True)
            )
            ends.append(position[graph.outputs[0]])
        top = len(nodes)
        nodes[top] = self.op
        inputs[top] = tuple(ends)
        return Graph.trusted(nodes, inputs, (top,))


def _is_complex(graph: Graph[TorchParameterNode]) -> bool:
    """Whether an output of a parameter graph is complex."""
    found: dict[int, bool] = {}
    inputs = graph.inputs
    for node, value in graph.nodes.items():
        found[node] = value.is_complex([found[source] for source in inputs[node]])
    return any(map(found.__getitem__, graph.outputs))


def apply_op(
    op_type: type[TorchParameterOp], *operands: TorchParameter, shape: Shape, **config: object
) -> TorchParameter:
    """Apply an operator to unfolded parameters: one parameter with the graphs of all of them.

    Raises: ShapeError if an operand is folded: rules build parameters before folding.
    """
    for operand in operands:
        if operand.fold_index is not None:
            raise ShapeError(f"operators are applied before folding; {operand!r} is folded")
    op = op_type(shape=shape, in_shapes=tuple(operand.shape for operand in operands), **config)  # type: ignore[arg-type]
    return TorchParameter(_Application(op, operands))


def subgraph_parameter(parameter: TorchParameter, node: int) -> TorchParameter:
    """The part of an unfolded parameter that computes one of its nodes."""
    keep: dict[int, None] = {}
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current not in keep:
            keep[current] = None
            waiting.extend(parameter.graph.inputs[current])
    nodes = {n: v for n, v in parameter.graph.nodes.items() if n in keep}
    return TorchParameter(Graph.trusted(nodes, {n: parameter.graph.inputs[n] for n in nodes}, (node,)))
