"""A compiled parameter: an immutable graph of parameter nodes with one value per fold."""

from dataclasses import dataclass, field
from functools import cached_property

from explorer.backend.addressing import FoldIndexInfo
from explorer.backend.parameters.nodes import TorchParameterNode, TorchParameterOp
from explorer.errors import ShapeError
from explorer.graph import Graph
from explorer.symbolic import Shape


@dataclass(frozen=True, eq=False)
class TorchParameter:
    """The parameter of a compiled layer: (F, *shape).

    Not folded: `graph` has one output and `fold_index` is None. Folded: the members' graphs are merged and folded as
    one graph, and `fold_index.out_fold_idx` has the node and slice of the value of each fold.
    """

    graph: Graph[TorchParameterNode]
    fold_index: FoldIndexInfo | None = None
    shape: Shape = field(init=False)
    num_folds: int = field(init=False)
    is_complex: bool = field(init=False)
    """Whether the value is complex."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", self.output.shape)
        folds = 1 if self.fold_index is None else len(self.fold_index.out_fold_idx)
        object.__setattr__(self, "num_folds", folds)
        object.__setattr__(self, "is_complex", _is_complex(self.graph))

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
        return sum([node.flops for node in self.graph.nodes.values()])

    def __repr__(self) -> str:
        names = [type(node).__name__.removeprefix("Torch").removesuffix("Parameter") for node in self.nodes]
        folds = f"[x{self.num_folds}]" if self.fold_index is not None else ""
        return f"{'>'.join(names)}{folds}{self.shape}"


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
    nodes: dict[int, TorchParameterNode] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    ends: list[int] = []
    for operand in operands:
        if operand.fold_index is not None:
            raise ShapeError(f"operators are applied before folding; {operand!r} is folded")
        position = {old: len(nodes) + i for i, old in enumerate(operand.graph.nodes)}
        nodes |= {position[old]: node for old, node in operand.graph.nodes.items()}
        inputs |= {position[old]: tuple(position[s] for s in sources) for old, sources in operand.graph.inputs.items()}
        ends.append(position[operand.graph.outputs[0]])
    op = op_type(shape=shape, in_shapes=tuple(operand.shape for operand in operands), **config)  # type: ignore[arg-type]
    top = len(nodes)
    nodes[top] = op
    inputs[top] = tuple(ends)
    return TorchParameter(Graph.trusted(nodes, inputs, (top,)))


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
    return TorchParameter(Graph(nodes, {n: parameter.graph.inputs[n] for n in nodes}, (node,)))
