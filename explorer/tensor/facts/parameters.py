"""Parameter graphs: the applications that depend on parameters and buffers only."""

from collections.abc import Iterable, Sequence

from explorer.tensor.ir.variables import Apply, Constant, Variable


def parameter_graphs(nodes: Sequence[Apply], inputs: Iterable[Variable]) -> list[Apply]:
    """Those of a sorted list of applications that depend on constants and on no input, with what these need.

    Random operators, and what depends on them, belong to no parameter graph.
    """
    given, called, settled = set(inputs), set[Apply](), set[Apply]()
    for node in nodes:
        if node.op.is_random or any(v in given or v.owner in called for v in node.inputs):
            called.add(node)
        elif any(_is_weight(node, v) or v.owner in settled for v in node.inputs):
            settled.add(node)
    found = needed(nodes, [v for node in settled for v in node.inputs]) | settled
    return [node for node in nodes if node in found]


def needed(nodes: Sequence[Apply], variables: Iterable[Variable]) -> set[Apply]:
    """The applications of a sorted list that some variables depend on."""
    found = {v.owner for v in variables if v.owner is not None}
    for node in reversed(nodes):
        if node in found:
            found |= {v.owner for v in node.inputs if v.owner is not None}
    return found


def _is_weight(node: Apply, variable: Variable) -> bool:
    """Whether an input of an application is a tensor of the module."""
    return isinstance(variable, Constant) and variable not in node.numbers
