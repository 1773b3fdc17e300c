"""Open the layers of circuits that were imported whole (`circuit.TorchSumLayer`)."""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from explorer.rewrite import Exactness
from explorer.tensor.facts import replace_with
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.ir.ops import Op, apply_op
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.torch_io.importing import from_module
from explorer.tensor.torch_io.whole_layers import NAMESPACE, forward_layer

decompose = passes.new("DecomposeLayers", "Replace each layer of a circuit by the operators that its `forward` calls.")


@decompose.rule(None, exactness=Exactness.EXACT)
def open_layer(node: Apply) -> Rewrite:
    """The layer of a circuit is the operators that its `forward` calls."""
    if node.op.target.namespace != NAMESPACE:
        return False
    types = tuple((v.tensor_type.dtype, v.tensor_type.shape, v.device, v.requires_grad) for v in node.inputs)
    return replace_with(node, _inline(_operators(node.op, types), node))


class _Layer(nn.Module):
    """The layer that an operator is."""

    def __init__(self, op: Op) -> None:
        super().__init__()
        self.op = op

    def forward(self, *tensors: Tensor) -> Tensor:
        return forward_layer(**self.op.bind(tensors))


@lru_cache(maxsize=256)
def _operators(op: Op, types: tuple[tuple[Any, ...], ...]) -> FunctionGraph:
    """The graph of a layer for inputs of these types: equal layers are exported once."""
    examples = [torch.zeros(shape, dtype=dtype, device=device) for dtype, shape, device, _ in types]
    training = any(learns for *_, learns in types)
    for example, (*_, learns) in zip(examples, types, strict=True):
        example.requires_grad_(learns and (example.is_floating_point() or example.is_complex()))
    with torch.set_grad_enabled(training):
        return from_module(_Layer(op), examples, training=training)


def _inline(layer: FunctionGraph, node: Apply) -> Variable:
    """Apply the operators of a layer to the inputs of an application."""
    values: dict[Variable, Variable] = dict(zip(layer.inputs, node.inputs, strict=True))
    for step in layer.toposort():
        inputs = [_constant(v) if isinstance(v, Constant) else values[v] for v in step.inputs]
        made = apply_op(step.op, inputs, node.location, [v.type for v in step.outputs])
        values.update(zip(step.outputs, made.outputs, strict=True))
    return values[layer.outputs[0]]


def _constant(constant: Constant) -> Constant:
    return Constant(constant.data, "", layout=constant.tensor_type.layout)
