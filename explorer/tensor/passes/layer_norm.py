"""FoldLayerNormArithmetic: fold products and sums with constants after a layer norm into its weight and bias."""

from typing import Any

import torch

from explorer.tensor.facts import keeps_digits, known_tensor, owned_by, read_once, replace_with
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import passes

layer_norm = passes.new(
    "FoldLayerNormArithmetic", "Fold products and sums with constants after a layer norm into its weight and bias."
)


@layer_norm.rule([aten.mul.Tensor, aten.add.Tensor])
def arithmetic_into_layer_norm(node: Apply) -> Rewrite:
    """layer_norm(x, w, b) * c is layer_norm(x, w c, b c); layer_norm(x, w, b) + c is layer_norm(x, w, b + c)."""
    for below, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        norm = owned_by(below, aten.layer_norm.default)
        if norm is None:
            continue
        if not read_once(below):
            return Declined("the layer norm has other users", norm)
        shape = tuple(norm.op["normalized_shape"])
        constant = known_tensor(other)
        if constant is None:
            return Declined("the other input is trained, or not a constant", node)
        extra = constant.ndim - len(shape)
        if below.type != node.outputs[0].type or any(size != 1 for size in constant.shape[: max(extra, 0)]):
            return Declined("the constant does not have the normalized shape", node)
        exact: dict[str, Any] = {"dtype": torch.float64, "device": below.device}
        number = constant.reshape(constant.shape[max(extra, 0) :]).to(**exact).expand(shape)
        kind = below.tensor_type.dtype
        old: dict[str, torch.Tensor] = {"weight": torch.ones(shape, **exact), "bias": torch.zeros(shape, **exact)}
        for name in old:
            variable = norm.input_of(name)
            data = known_tensor(variable)
            if variable is not None and data is None:
                return Declined(f"the {name} of the layer norm is trained", norm)
            old[name] = old[name] if data is None else data.to(torch.float64)
        scale, shift = _affine(node, other, number)
        new = {"weight": old["weight"] * scale, "bias": old["bias"] * scale + shift}
        if not (keeps_digits(kind, new["weight"], old["weight"], scale) and keeps_digits(kind, new["bias"])):
            return Declined(f"weight or bias would be too small or too large for {kind}", norm)
        given = norm.op.bind(norm.inputs)
        for name, data in new.items():
            label = given[name].name if isinstance(given[name], Constant) else ""
            given[name] = Constant(data.to(kind), label)
        return replace_with(node, call(norm.op.target, **given, location=norm.location))
    return False


def _affine(node: Apply, other: Variable, number: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Scale and shift of a product or a sum: scale * layer_norm + shift."""
    one, zero = torch.ones_like(number), torch.zeros_like(number)
    if node.op.target is aten.mul.Tensor:
        return number, zero
    alpha = node.op["alpha"]
    return (one, alpha * number) if other is node.inputs[1] else (alpha * one, number)
