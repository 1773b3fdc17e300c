"""The graph of a step for Graphviz, so that other tools can lay it out and draw it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from explorer.graph import Graph
from explorer.trace.records import NodeKind, NodeRecord

if TYPE_CHECKING:
    from graphviz import Digraph  # pyright: ignore[reportMissingTypeStubs]

SHAPES: Mapping[NodeKind, str] = {
    "input": "ellipse",
    "sum": "box",
    "product": "octagon",
    "fused": "box",
    "matmul": "box",
    "view": "box",
    "operator": "box",
    "leaf": "ellipse",
}
"""Graphviz's shape of each kind of node; sums and fused layers have round corners."""


def graphviz_of(graph: Graph[NodeRecord], name: str) -> "Digraph":
    """Return the graph for the package `graphviz`, inputs at the bottom; outputs have a double border."""
    from graphviz import Digraph, escape  # pyright: ignore[reportMissingTypeStubs]

    drawn = Digraph(
        name,
        graph_attr={"rankdir": "BT"},
        node_attr={"fontname": "sans-serif", "fontsize": "11", "margin": "0.12,0.06"},
        edge_attr={"arrowsize": "0.6"},
    )
    for node, record in graph.nodes.items():
        border = {"peripheries": "2"} if node in graph.outputs else {}
        style = {"style": "rounded"} if record.kind in ("sum", "fused") else {}
        drawn.node(str(node), escape(_label(node, record)), shape=SHAPES[record.kind], **style, **border)  # pyright: ignore[reportUnknownMemberType]
    for node, sources in graph.inputs.items():
        for source in sources:
            drawn.edge(str(source), str(node))  # pyright: ignore[reportUnknownMemberType]
    return drawn


def _label(node: int, record: NodeRecord) -> str:
    """Return the title with the number of folds, then the number of the node and the shapes of its parameters."""
    folds = f" ×{record.num_folds}" if record.num_folds > 1 else ""
    shapes = ["×".join(map(str, parameter.shape)) for parameter in record.parameters.values()]
    return f"{record.title}{folds}\n{' '.join([f'#{node}', *shapes])}"
