"""Copies of FX graphs, and signatures that tell whether a graph has changed."""

import re
from operator import attrgetter
from typing import Any

from torch import fx

MEMBER = re.compile(r"\.?(?:_modules|_parameters|_buffers)?\['?(\w+)'?\]")


def copy_graph(graph: fx.Graph) -> fx.Graph:
    """A copy with the same names; nodes share the values of their metadata."""
    copied = fx.Graph()
    copied.output(copied.graph_copy(graph, {}))
    return copied


def attributes_of(graph: fx.Graph) -> dict[str, Any]:
    """What the nodes of a graph name in its module: constants, and modules that are called."""
    module = graph.owning_module
    named = {str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")}
    return {name: attrgetter(name)(module) for name in sorted(named)}


def inputs_of(graph: fx.Graph) -> tuple[str, ...]:
    """The names of the inputs, in order."""
    return tuple(node.name for node in graph.nodes if node.op == "placeholder")


def signature_of(graph: fx.Graph) -> list[tuple[Any, ...]]:
    """Nodes, targets and arguments as text, so that comparing them evaluates no symbolic size."""
    return [(node.name, node.op, node.target, str(node.args), str(node.kwargs)) for node in graph.nodes]


def named_inputs(graph: fx.Graph) -> tuple[dict[str, str], dict[str, str]]:
    """The inputs of a captured graph with their names in the user's program, and those that are of a module.

    Parameters and buffers have the names that the module has for them.
    """
    inputs: dict[str, str] = {}
    parameters: dict[str, str] = {}
    for node in graph.nodes:
        source = getattr(node.meta.get("grapharg"), "source", None)
        if node.op == "placeholder" and source is not None:
            name = str(source.name() if callable(source.name) else source.name)
            if "._parameters[" in name or "._buffers[" in name:
                parameters[node.name] = module_path(name)
            else:
                inputs[node.name] = input_name(name)
    return inputs, parameters


def input_name(source: str) -> str:
    """The name of an input from the one that Dynamo's guards have for it.

    >>> input_name("L['x']"), input_name("L['args'][0]")
    ('x', 'args[0]')
    """
    return re.sub(r"^L\['?(\w+)'?\]", r"\1", source)


def module_path(source: str) -> str:
    """The path of a module, parameter or buffer from the name that Dynamo's guards have for it.

    >>> module_path("L['self']._modules['blocks']._modules['0']._parameters['weight']"), module_path("L['fn'].4")
    ('blocks.0.weight', '4')
    """
    inner = re.sub(r"^L\['?\w+'?\]", "", source)
    return ".".join(re.sub(MEMBER, r".\1", inner).replace("..", ".").strip(".").split("."))
