"""ConstantFold (Glow's name): what only needs constants is computed once, now.

Trainable constants are unknown; tensors of one number everywhere are left as they are, and so are random numbers.
"""

from typing import Any

import torch

from explorer.rewrite import Exactness
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.facts import FULLS, aten, known_tensor
from explorer.tensor.quantized import DEQUANTIZES
from explorer.tensor.rewriting import Declined
from explorer.tensor.rules.reading import plain
from explorer.tensor.types import TensorType
from explorer.tensor.variables import Apply, Constant, Variable

LARGEST_BYTES = 64 * 2**20
"""A result larger than this, and larger than all it is made of, is not kept: computing it anew is cheaper."""
MAKERS = (
    *FULLS,
    aten.arange.default,
    aten.arange.start,
    aten.arange.start_step,
    aten.eye.default,
    aten.linspace.default,
)
"""Operators that make a tensor of numbers only, without memory: they are computed with what they are an input of."""

evaluate = passes.new("ConstantFold", "What needs only constants is computed once, now.")


@evaluate.rule(None, exactness=Exactness.EXACT)
def evaluate_constants(node: Apply) -> Any:
    """An operator on constants is a constant: what its own kernel gives."""
    if not node.inputs or not plain(node.op) or node.op.target in FULLS:
        return False
    tensors = [_content(variable) for variable in node.inputs]
    known = [tensor for tensor in tensors if tensor is not None]
    if len(known) < len(tensors):
        return False
    if node.op.name in DEQUANTIZES:
        return Declined("its integers take less memory than the numbers that they stand for", node)
    kinds = [variable.type for variable in node.outputs]
    if not all(isinstance(kind, TensorType) for kind in kinds):
        return False
    size = sum(kind.size_bytes for kind in kinds if isinstance(kind, TensorType))
    given = sum(variable.tensor_type.size_bytes for variable in node.inputs)
    if size > max(LARGEST_BYTES, given):
        return Declined(f"the result has {size:,} bytes, and what it is made of {given:,}", node)
    with torch.no_grad():
        results = node.op.run(known)
    return [_constant(variable, result) for variable, result in zip(node.outputs, results, strict=True)]


def _content(variable: Variable) -> torch.Tensor | None:
    owner = variable.owner
    if owner is not None and owner.op.target in MAKERS and not owner.inputs:
        return owner.op.run([])[variable.index]
    return known_tensor(variable)


def _constant(old: Variable, result: torch.Tensor) -> Constant:
    kind = old.tensor_type
    return Constant(result.detach().contiguous().clone(), "", False, kind.layout, kind.quantization)
