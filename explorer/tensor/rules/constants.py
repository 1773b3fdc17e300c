"""Constant evaluation: what depends only on known constants is computed once, when the graph is rewritten."""

from typing import Any

import torch

from explorer.rewrite import Exactness
from explorer.tensor.ops import MOVES_DATA
from explorer.tensor.quantized import DEQUANTIZES
from explorer.tensor.rewriting import Declined, in2out, node_rewriter
from explorer.tensor.rules.families import canonicalize
from explorer.tensor.rules.reading import plain
from explorer.tensor.types import TensorType
from explorer.tensor.variables import Apply, Constant, Variable

LARGEST_BYTES = 1 << 20
"""A result that takes more than this, and more than what it is made of, is not stored."""

MOVED = ".moved"
"""The end of the name of a constant that holds the numbers of the named one in another shape or order."""


@node_rewriter(None, exactness=Exactness.EXACT, name="evaluate_constant")
def evaluate_constant(node: Apply) -> Any:
    """The results of an operator on known constants are constants: PyTorch's own kernel computes them now."""
    constants = [v for v in node.inputs if isinstance(v, Constant)]
    if len(constants) < len(node.inputs) or not plain(node.op):
        return False
    trained = next((constant for constant in constants if constant.trainable), None)
    if trained is not None:
        return Declined(f"{trained.name or 'a constant'} is trained, so it is not known yet")
    kinds = [variable.type for variable in node.outputs]
    if not all(isinstance(kind, TensorType) for kind in kinds):
        return Declined("a result of it is no tensor")
    if node.op.name in DEQUANTIZES:
        return Declined("its integers take less memory than the numbers that they stand for")
    made = sum(kind.size_bytes for kind in kinds if isinstance(kind, TensorType))
    given = sum(constant.tensor_type.size_bytes for constant in constants)
    if made > max(given, LARGEST_BYTES) and node.op.packet is not torch.ops.aten.expand:
        return Declined(
            f"its value takes {made:,} bytes and what it is made of {given:,}; "
            f"more than {LARGEST_BYTES:,} bytes are stored only if they replace as many"
        )
    with torch.no_grad():
        values = node.op.run([constant.data.detach() for constant in constants])
    name = _name(node, constants)
    return [
        _constant(value, variable, f"{name}_{variable.index}" if name and len(values) > 1 else name)
        for value, variable in zip(values, node.outputs, strict=True)
    ]


def _constant(value: torch.Tensor, like: Variable, name: str) -> Constant:
    kind = like.tensor_type
    return Constant(value, name, layout=kind.layout, quantization=kind.quantization)


def _name(node: Apply, constants: list[Constant]) -> str:
    """The name of the one constant that has a name, and what was computed of it."""
    names = [constant.name for constant in constants if constant.name]
    if len(names) != 1:
        return ""
    return f"{names[0].removesuffix(MOVED)}{MOVED if node.op.name in MOVES_DATA else '.' + node.op.name.strip('_')}"


canonicalize.register("constant_evaluation", in2out(evaluate_constant), "fast_run", "fast_compile", "exact")
