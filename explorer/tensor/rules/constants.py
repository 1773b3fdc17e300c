"""Constant evaluation: operators on known constants are computed when the graph is rewritten."""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import FULLS, full_like, known_tensor, plain, splat_number
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.quantized import DEQUANTIZES
from explorer.tensor.ir.result_types import MOVES_DATA
from explorer.tensor.ir.schemas import aten, overloads
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.rewriting import in2out, node_rewriter
from explorer.tensor.rules.families import canonicalize

MAX_BYTES = 1 << 20
"""A result is not stored if it is larger than this and larger than its inputs."""

MOVED = ".moved"
"""Suffix of the name of a constant with the numbers of the named one in another shape or order."""

MAKERS = (*FULLS, *overloads("arange arange.start arange.start_step eye linspace"))
"""Operators that create a tensor from numbers; they are computed together with their user."""


@node_rewriter(None, exactness=Exactness.EXACT, name="evaluate_constant")
def evaluate_constant(node: Apply) -> Rewrite:
    """The results of an operator on known constants are constants, computed by PyTorch's own kernel."""
    if not node.inputs or node.op.target in FULLS or not plain(node.op):
        return False
    made = [_known_value(variable) for variable in node.inputs]
    if any(tensor is None for tensor in made):
        trained = [v for v in node.inputs if isinstance(v, Constant) and v.trainable]
        if not trained or any(tensor is None and v not in trained for v, tensor in zip(node.inputs, made, strict=True)):
            return False
        return Declined(f"{trained[0].name or 'a constant'} is trained, so its value is unknown")
    kinds = [variable.type for variable in node.outputs]
    if not all(isinstance(kind, TensorType) for kind in kinds):
        return Declined("one of its results is not a tensor")
    if node.op.name in DEQUANTIZES:
        return Declined("its integers need less memory than the numbers that they represent")
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
    """Tensors created from numbers are constants: splats, ranges, the identity matrix."""
    if node.inputs:
        return False
    number = splat_number(node.outputs[0])
    if number is not None:
        return [full_like(node.outputs[0], number)]
    return _too_large(node) or [_constant(node.op.run([])[0], node.outputs[0], "")]


@node_rewriter(FULLS)
def fill_like(node: Apply) -> Rewrite:
    """A tensor filled with one number in the shape of another one is a constant; it may have other strides."""
    number = splat_number(node.outputs[0]) if node.inputs else None
    return False if number is None else [full_like(node.outputs[0], number)]


def _too_large(node: Apply) -> Declined | None:
    taken = sum(v.type.size_bytes for v in node.outputs if isinstance(v.type, TensorType))
    given = sum(v.tensor_type.size_bytes for v in node.inputs)
    if taken <= max(given, MAX_BYTES) or node.op.packet is aten.expand:
        return None
    return Declined(
        f"its result needs {taken:,} bytes and its inputs {given:,}; "
        f"more than {MAX_BYTES:,} bytes are stored only if they replace as many"
    )


def _known_value(variable: Variable) -> torch.Tensor | None:
    """Return the value of a known constant, or of a tensor that is created from numbers."""
    owner = variable.owner
    if owner is not None and owner.op.target in MAKERS and not owner.inputs:
        return owner.op.run([])[variable.index]
    return known_tensor(variable)


def _constant(value: torch.Tensor, like: Variable, name: str) -> Constant:
    kind = like.tensor_type
    return Constant(value, name, layout=kind.layout, quantization=kind.quantization)


def _name(node: Apply, constants: list[Constant]) -> str:
    """Return the name of the only named constant, followed by the operator."""
    names = [constant.name for constant in constants if constant.name]
    if len(names) != 1:
        return ""
    return f"{names[0].removesuffix(MOVED)}{MOVED if node.op.name in MOVES_DATA else '.' + node.op.name.strip('_')}"


CONSTANT_RULES = {
    "constant_evaluation": evaluate_constant,
    "constant_making": make_constant,
    "constant_filling": fill_like,
}
for label, rule in CONSTANT_RULES.items():
    canonicalize.register(label, in2out(rule), "fast_run", "fast_compile", rule.exactness.value)
