"""How one edge of a graph changes: what a new variable brings into the graph, and what goes with an old one.

Nothing else changes `inputs` of an application or `outputs` of a graph, and only a transaction calls it.
"""

from typing import TYPE_CHECKING

from explorer.errors import GraphError
from explorer.tensor.sorting import toposorted
from explorer.tensor.variables import Apply, Constant, Variable

if TYPE_CHECKING:
    from explorer.tensor.function_graph import FunctionGraph


def read_at(graph: "FunctionGraph", node: Apply | None, index: int) -> Variable:
    """What an application (None: the outputs) reads at a position."""
    return graph.outputs[index] if node is None else node.inputs[index]


def connect(graph: "FunctionGraph", node: Apply | None, index: int, new: Variable, reason: object) -> None:
    """Let an application (None: the outputs) read another variable, which the graph has taken in."""
    old = read_at(graph, node, index)
    new.clients[(node, index)] = None
    if node is None:
        graph.outputs[index] = new
    else:
        node.inputs[index] = new
        if new.trained:
            _mark_trained(node)
        graph.order.raise_above(node)
    del old.clients[(node, index)]
    delta = graph.observer.delta
    if delta is not None:
        delta.rewired(node, index, old, new)
    _drop(graph, old, reason)
    for feature in graph.features:
        feature.on_change_input(graph, node, index, old, new, reason)


def _mark_trained(node: Apply) -> None:
    """What depends on an application may depend on what is trained."""
    waiting = [node]
    while waiting:
        found = [variable for variable in waiting.pop().outputs if not variable.trained]
        for variable in found:
            variable.trained = True
            waiting.extend(client for client, _ in variable.clients if client is not None)


def take_in(graph: "FunctionGraph", variable: Variable, reader: Apply | None, reason: object = None) -> None:
    """Take in what a variable needs and is not in the graph yet, inputs first.

    Raises: GraphError for a variable without owner that is not among the inputs; then nothing has come.
    """
    below = graph.order.label(reader) if reader is not None else None
    if variable.owner is None:
        _take_in_leaf(graph, variable)
        return
    if variable.owner in graph.nodes:
        return
    coming = toposorted([variable], stop=graph.nodes)
    for node in coming:
        for leaf in node.inputs:
            if leaf.owner is None:
                _take_in_leaf(graph, leaf)
    for node in coming:
        _take_in_node(graph, node, below, reason)


def _take_in_node(graph: "FunctionGraph", node: Apply, below: float | None, reason: object) -> None:
    if node.id < 0:
        node.id = graph.next_id
    graph.next_id = max(graph.next_id, node.id + 1)
    graph.nodes[node] = None
    if reason is not None:
        graph.made_by.setdefault(node, name_of(reason))
    for i, source in enumerate(node.inputs):
        source.clients[(node, i)] = None
    graph.order.add(node, below)
    if graph.observer.delta is not None:
        graph.observer.delta.imported(node)
    for feature in graph.features:
        feature.on_import(graph, node, reason)


def _take_in_leaf(graph: "FunctionGraph", variable: Variable) -> None:
    if graph.observer.delta is not None:
        graph.observer.delta.leaf(variable)
    if variable in graph.ids:
        return
    if not isinstance(variable, Constant) and variable not in graph.declared:
        name = variable.name or "a variable without a name"
        raise GraphError(f"{name} is needed and is not among the inputs of the graph")
    graph.number(variable)


def _drop(graph: "FunctionGraph", variable: Variable, reason: object) -> None:
    """Drop what nothing reads any more."""
    delta = graph.observer.delta
    waiting = [variable]
    while waiting:
        owner = waiting.pop().owner
        if owner is None or owner not in graph.nodes or any(v.clients for v in owner.outputs):
            continue
        del graph.nodes[owner]
        graph.order.remove(owner)
        if delta is not None:
            delta.pruned(owner)
        for feature in graph.features:
            feature.on_prune(graph, owner, reason)
        for i, source in enumerate(owner.inputs):
            source.clients.pop((owner, i), None)
            if source.owner is None and delta is not None:
                delta.leaf(source)
            waiting.append(source)


def name_of(reason: object) -> str:
    """The name under which a change is recorded: that of a rewriter, a text as it is."""
    if isinstance(reason, str):
        return reason
    return str(getattr(reason, "name", "")) or ("a change by hand" if reason is None else type(reason).__name__)
