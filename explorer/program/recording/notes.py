"""A note on the parameter graphs that a program for inference does not evaluate in each call."""

from collections import Counter
from dataclasses import dataclass

from explorer.tensor.facts import parameter_graphs
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.variables import Apply, Constant

MAX_NAMES = 6
"""Maximum number of operators that a note counts by name."""


@dataclass(frozen=True, slots=True, eq=False)
class ParameterGraphs:
    """What the parameter graphs of a graph compute at one time, and the tensors of its constants."""

    operators: Counter[str]
    tensors: tuple[object, ...]

    @classmethod
    def of(cls, graph: FunctionGraph) -> "ParameterGraphs":
        """Those of a graph as it is now."""
        nodes = parameter_graphs(graph.toposort(), graph.inputs)
        names = Counter(node.op.name.strip("_") for node in nodes if not _is_view(node))
        return cls(names, tuple(constant.data for constant in graph.constants))

    def evaluated_note(self, graph: FunctionGraph) -> str:
        """Tell which of their operators the graph does not have any more, because rewriting it has evaluated them.

        Empty if there is none.
        """
        gone = self.operators - ParameterGraphs.of(graph).operators
        if not gone:
            return ""
        known = {id(tensor) for tensor in self.tensors}
        held = sum(_size_bytes(constant) for constant in graph.constants if id(constant.data) not in known)
        counts = [f"{count:,} {name}" for name, count in gone.most_common(MAX_NAMES)]
        rest = gone.total() - sum(count for _, count in gone.most_common(MAX_NAMES))
        counts += [f"{rest:,} others"] if rest else []
        return (
            f"Evaluated once, on copies of the parameters: {', '.join(counts)}; the results are {held:,} bytes. "
            "Record again when parameters change."
        )


def _is_view(node: Apply) -> bool:
    """Whether all results of an operator are views, which cost nothing."""
    return all(result.alias_info is not None for result in node.op.target._schema.returns)


def _size_bytes(constant: Constant) -> int:
    return constant.data.numel() * constant.data.element_size()
