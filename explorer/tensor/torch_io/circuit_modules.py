"""Circuits inside a module that is exported: what takes their place, and the names of their layers in the export."""

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn

from explorer.backend import EvaluatedCircuit
from explorer.trace import LAYER


def replace_circuits(module: nn.Module, change: Callable[[EvaluatedCircuit], EvaluatedCircuit]) -> nn.Module:
    """A module with the same parameters and buffers, in which `change` made something else of each circuit."""
    if isinstance(module, EvaluatedCircuit):
        return change(module)
    children = {name: replace_circuits(child, change) for name, child in module.named_children()}
    if all(children[name] is child for name, child in module.named_children()):
        return module
    copied = copy.copy(module)
    copied._modules = {**module._modules, **children}
    return copied


def with_named_layers(module: nn.Module) -> nn.Module:
    """A module whose exported operators have the path of the layer that they evaluate: `layer.12` in a circuit.

    What evaluates parameters, before all layers, has no such path.
    """
    return replace_circuits(module, _name_layers)


class _Layer(nn.Module):
    """Evaluates a layer under the path of this module."""

    def forward(self, evaluate: Callable[[], Tensor]) -> Tensor:
        return evaluate()


def _name_layers(circuit: EvaluatedCircuit) -> EvaluatedCircuit:
    copied = copy.copy(circuit)
    paths = nn.Module()
    for node in circuit.graph.nodes:
        paths.add_module(str(node), _Layer())
    copied._modules = {**circuit._modules, LAYER: paths}
    evaluate: Callable[..., Tensor] = partial(type(circuit).evaluate_layer, copied)

    def evaluate_named(planned: Any, x: Tensor, values: Mapping[int, Tensor], parameters: Any) -> Tensor:
        return paths.get_submodule(str(planned.node))(partial(evaluate, planned, x, values, parameters))

    copied.evaluate_layer = evaluate_named
    return copied
