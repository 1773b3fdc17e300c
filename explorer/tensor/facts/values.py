"""Owners and users of variables, dtypes, known values, constants, and parameter graphs."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.schemas import overloads
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable


def owned_by(variable: Variable, *targets: object) -> Apply | None:
    """Return the owner of a variable if its overload is one of these."""
    owner = variable.owner
    return owner if owner is not None and owner.op.target in targets else None


def read_once(variable: Variable) -> bool:
    """Return whether it has at most one use, so that it is removed when that use is replaced."""
    return len(variable.clients) < 2


def only_user(variable: Variable) -> Apply | None:
    """Return the only user of a variable; None if there are more uses, or it is an output of the graph."""
    clients = list(variable.clients)
    return clients[0][0] if len(clients) == 1 else None


def is_real(variable: Variable) -> bool:
    """Return whether its elements are real numbers in floating point."""
    kind = variable.type
    return isinstance(kind, TensorType) and kind.dtype.is_floating_point


def is_floating(variable: Variable) -> bool:
    """Return whether its elements are floating-point or complex numbers, so that a quotient has their dtype."""
    kind = variable.type
    return isinstance(kind, TensorType) and (kind.dtype.is_floating_point or kind.dtype.is_complex)


def have_dtype_of(result: Variable, *variables: Variable) -> bool:
    """Return whether variables have the dtype of a result, so that an operator on them computes in that dtype."""
    return all(v.tensor_type.dtype == result.tensor_type.dtype for v in variables)


def holds(dtype: torch.dtype, number: Any) -> bool:
    """Return whether a number is 0 or a normal number of a floating-point dtype."""
    limits = torch.finfo(dtype)
    return not number or limits.smallest_normal <= abs(number) <= limits.max


def keeps_digits(dtype: torch.dtype, product: torch.Tensor, *factors: torch.Tensor) -> bool:
    """Return whether a product in double precision is finite in a dtype, and normal where all its factors are.

    Without factors it only needs to be finite.
    """
    least = torch.finfo(dtype).smallest_normal
    small = [factor.abs() < least for factor in factors] or [torch.ones_like(product, dtype=torch.bool)]
    kept = (product.abs() >= least).logical_or(torch.stack(torch.broadcast_tensors(*small)).any(0))
    return bool((product.to(dtype).isfinite() & kept).all())


def rounds_exactly(dtype: torch.dtype, number: Any) -> bool:
    """Return whether a dtype represents a Python number exactly, which some kernels convert to it and others do not."""
    if not isinstance(number, int | float) or number != number:
        return False
    try:
        return torch.tensor(number, dtype=dtype).item() == number
    except (OverflowError, RuntimeError):
        return False


def is_short(variable: Variable) -> bool:
    """Return whether its elements are floating-point numbers of at most 16 bits, which kernels compute in float32."""
    return is_real(variable) and variable.tensor_type.dtype.itemsize < torch.float32.itemsize


FULLS = overloads("full full_like zeros zeros_like ones ones_like scalar_tensor")
"""Operators that fill a tensor with one number."""


def known_tensor(variable: Variable | None) -> torch.Tensor | None:
    """Return the content of a constant that is not trained; None for anything else."""
    if isinstance(variable, Constant) and not variable.trainable:
        return variable.data.detach()
    return None


def number_of(variable: Variable) -> Any:
    """Return the number that all elements of a known constant are equal to; None if there is none."""
    return variable.number if isinstance(variable, Constant) else None


def splat_number(variable: Variable) -> Any:
    """Return the number that all elements of a variable are equal to for any inputs; None if there is none."""
    if isinstance(variable, Constant):
        return variable.number
    node = owned_by(variable, *FULLS)
    kind = variable.type
    if node is None or not isinstance(kind, TensorType) or not kind.size:
        return None
    name = node.op.name
    value = 0 if name.startswith("zeros") else 1 if name.startswith("ones") else None
    if value is None:
        value = node.op["s" if name == "scalar_tensor" else "fill_value"]
    return torch.tensor(value, dtype=kind.dtype).item()


def plain(op: Op) -> bool:
    """Return whether an operator is deterministic and does not overwrite its inputs."""
    return not op.is_random and not op.target._schema.is_mutable


def splat(kind: TensorType, number: Any, like: Variable | None = None) -> Constant:
    """Return a constant filled with one number, stored once, on the device of `like`."""
    device = like.device if like is not None else None
    data = torch.tensor(number, dtype=kind.dtype, device=device).expand(kind.shape)
    return Constant(data, layout=kind.layout, quantization=kind.quantization)


def full_like(variable: Variable, number: Any) -> Constant:
    """Return a constant of the type and device of a variable, filled with one number."""
    return splat(variable.tensor_type, number, variable)


def constant_like(old: Variable, data: torch.Tensor, name: str = "") -> Constant:
    """Return a constant with new content and the name of an old one."""
    kind = old.tensor_type
    return Constant(data.contiguous(), name or old.name, False, kind.layout, kind.quantization)


def parameter_graphs(nodes: Sequence[Apply], inputs: Iterable[Variable]) -> list[Apply]:
    """Filter a sorted list for applications that depend on constants and on no input, and everything that they need.

    Random operators, and applications that depend on them, belong to no parameter graph.
    """
    given, called, settled = set(inputs), set[Apply](), set[Apply]()
    for node in nodes:
        if node.op.is_random or any(v in given or v.owner in called for v in node.inputs):
            called.add(node)
        elif any(_is_weight(node, v) or v.owner in settled for v in node.inputs):
            settled.add(node)
    found = needed(nodes, [v for node in settled for v in node.inputs]) | settled
    return [node for node in nodes if node in found]


def needed(nodes: Sequence[Apply], variables: Iterable[Variable]) -> set[Apply]:
    """Return the applications of a sorted list that some variables depend on."""
    found = {v.owner for v in variables if v.owner is not None}
    for node in reversed(nodes):
        if node in found:
            found |= {v.owner for v in node.inputs if v.owner is not None}
    return found


def _is_weight(node: Apply, variable: Variable) -> bool:
    """Return whether an input of an application is a tensor of the module."""
    return isinstance(variable, Constant) and variable not in node.numbers
