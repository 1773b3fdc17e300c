"""FoldLayerNormArithmetic: products and sums with constants behind a layer norm become its weight and bias.

Source: Glow, FoldLayerNormArithmetic.
"""

from typing import Any

import torch

from explorer.tensor.facts import instead, known_tensor, owned_by, read_once
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.variables import Apply, Constant
from explorer.tensor.passes.base import passes
from explorer.tensor.rewriting import Declined

aten = torch.ops.aten

layer_norm = passes.new(
    "FoldLayerNormArithmetic", "Products and sums with constants behind a layer norm become its weight and bias."
)


@layer_norm.rule([aten.mul.Tensor, aten.add.Tensor])
def arithmetic_into_layer_norm(node: Apply) -> Any:
    """layer_norm(x, w, b) * c is layer_norm(x, w c, b c); layer_norm(x, w, b) + c is layer_norm(x, w, b + c)."""
    for below, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        norm = owned_by(below, aten.layer_norm.default)
        if norm is None:
            continue
        if not read_once(below):
            return Declined("the layer norm is read elsewhere too", norm)
        shape = tuple(norm.op["normalized_shape"])
        constant = known_tensor(other)
        if constant is None:
            return Declined("the other input is no constant, or may change", node)
        extra = constant.ndim - len(shape)
        if below.type != node.outputs[0].type or any(size != 1 for size in constant.shape[: max(extra, 0)]):
            return Declined("the constant is not one for each place of the norm", node)
        exact: dict[str, Any] = {"dtype": torch.float64, "device": below.device}
        number = constant.reshape(constant.shape[max(extra, 0) :]).to(**exact).expand(shape)
        kind = below.tensor_type.dtype
        parts = {"weight": torch.ones(shape, **exact), "bias": torch.zeros(shape, **exact)}
        for name in parts:
            variable = norm.input_of(name)
            data = known_tensor(variable)
            if variable is not None and data is None:
                return Declined(f"the {name} of the layer norm may change", norm)
            parts[name] = parts[name] if data is None else data.to(torch.float64)
        if node.op.target is aten.mul.Tensor:
            parts = {name: data * number for name, data in parts.items()}
        else:
            parts["bias"] = (
                parts["bias"] + node.op["alpha"] * number
                if other is node.inputs[1]
                else _scaled(parts, node.op["alpha"], number)
            )
        given = norm.op.bind(norm.inputs)
        for name, data in parts.items():
            before = given[name]
            given[name] = Constant(data.to(kind), before.name if isinstance(before, Constant) else "")
        return instead(node, call(norm.op.target, **given, place=norm.place))
    return False


def _scaled(parts: dict[str, torch.Tensor], alpha: float, number: torch.Tensor) -> torch.Tensor:
    """The bias of c + alpha * layer_norm; the weight is scaled in place of it."""
    parts["weight"] = parts["weight"] * alpha
    return parts["bias"] * alpha + number
