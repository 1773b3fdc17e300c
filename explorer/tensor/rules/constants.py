"""Constant evaluation: what depends only on known constants is computed once, when the graph is rewritten."""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import FULLS, full_like, known_tensor, plain, splat_number
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.quantized import DEQUANTIZES
from explorer.tensor.ir.result_types import MOVES_DATA
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.rewriting import in2out, node_rewriter
from explorer.tensor.rules.families import canonicalize

aten = torch.ops.aten

LARGEST_BYTES = 1 << 20
"""A result that takes more than this, and more than what it is made of, is not stored."""

MOVED = ".moved"
"""The end of the name of a constant that holds the numbers of the named one in another shape or order."""

MAKERS = (
    *FULLS,
    aten.arange.default,
    aten.arange.start,
    aten.arange.start_step,
    aten.eye.default,
    aten.linspace.default,
)
"""Operators that make a tensor of numbers only, without memory: they are computed with what they are an input of."""


@node_rewriter(None, exactness=Exactness.EXACT, name="evaluate_constant")
def evaluate_constant(node: Apply) -> Rewrite:
    """The results of an operator on known constants are constants: PyTorch's own kernel computes them now."""
    if not node.inputs or node.op.target in FULLS or not plain(node.op):
        return False
    made = [_made(variable) for variable in node.inputs]
    if any(tensor is None for tensor in made):
        requires_grad = [v for v in node.inputs if isinstance(v, Constant) and v.trainable]
        if not requires_grad or any(
            tensor is None and v not in requires_grad for v, tensor in zip(node.inputs, made, strict=True)
        ):
            return False
        return Declined(f"{requires_grad[0].name or 'a constant'} is trained, so it is not known yet")
    kinds = [variable.type for variable in node.outputs]
    if not all(isinstance(kind, TensorType) for kind in kinds):
        return Declined("a result of it is no tensor")
    if node.op.name in DEQUANTIZES:
        return Declined("its integers take less memory than the numbers that they stand for")
    if (reason := _too_large(node)) is not None:
        return reason
    with torch.no_grad():
        values = node.op.run([tensor for tensor in made if tensor is not None])
    name = _name(node, [v for v in node.inputs if isinstance(v, Constant)])
    return [
        _constant(value, variable, f"{name}_{variable.index}" if name and len(values) > 1 else name)
        for value, variable in zip(values, node.outputs, strict=True)
    ]


@node_rewriter(MAKERS, exactness=Exactness.EXACT)
def make_constant(node: Apply) -> Rewrite:
    """Tensors made of numbers only are constants: one number everywhere, a range, the unit matrix."""
    if node.inputs:
        return False
    number = splat_number(node.outputs[0])
    if number is not None:
        return [full_like(node.outputs[0], number)]
    return _too_large(node) or [_constant(node.op.run([])[0], node.outputs[0], "")]


def _too_large(node: Apply) -> Declined | None:
    taken = sum(v.type.size_bytes for v in node.outputs if isinstance(v.type, TensorType))
    given = sum(v.tensor_type.size_bytes for v in node.inputs)
    if taken <= max(given, LARGEST_BYTES) or node.op.packet is aten.expand:
        return None
    return Declined(
        f"its value takes {taken:,} bytes and what it is made of {given:,}; "
        f"more than {LARGEST_BYTES:,} bytes are stored only if they replace as many"
    )


def _made(variable: Variable) -> torch.Tensor | None:
    """The numbers of a known constant, or of a tensor that is made of numbers only."""
    owner = variable.owner
    if owner is not None and owner.op.target in MAKERS and not owner.inputs:
        return owner.op.run([])[variable.index]
    return known_tensor(variable)


def _constant(value: torch.Tensor, like: Variable, name: str) -> Constant:
    kind = like.tensor_type
    return Constant(value, name, layout=kind.layout, quantization=kind.quantization)


def _name(node: Apply, constants: list[Constant]) -> str:
    """The name of the one constant that has a name, and what was computed of it."""
    names = [constant.name for constant in constants if constant.name]
    if len(names) != 1:
        return ""
    return f"{names[0].removesuffix(MOVED)}{MOVED if node.op.name in MOVES_DATA else '.' + node.op.name.strip('_')}"


for rule, label in ((evaluate_constant, "constant_evaluation"), (make_constant, "constant_making")):
    canonicalize.register(label, in2out(rule), "fast_run", "fast_compile", "exact")
