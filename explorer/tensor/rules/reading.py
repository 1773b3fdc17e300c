"""What rules ask about variables: which number one holds, who reads it, whether it may share memory, its sign."""

from collections.abc import Sequence
from typing import Any

import torch

from explorer.tensor.aliasing import memory_roots, memory_views, shared_inputs
from explorer.tensor.ops import Op
from explorer.tensor.rewriting import Declined
from explorer.tensor.types import TensorType
from explorer.tensor.variables import Apply, Constant, Variable, call

aten = torch.ops.aten


def owned_by(variable: Variable, *targets: object) -> Apply | None:
    """The application that gives a variable, if its overload is one of these."""
    owner = variable.owner
    return owner if owner is not None and owner.op.target in targets else None


def number_of(variable: Variable) -> Any:
    """The number that all elements of a known constant are; None if there is none."""
    return variable.number if isinstance(variable, Constant) else None


def is_known(variable: Variable) -> bool:
    """Whether it is a constant that no training changes."""
    return isinstance(variable, Constant) and not variable.trainable


def read_once(variable: Variable) -> bool:
    """Whether at most one input reads it, so that it goes when that one reads something else."""
    return len(variable.clients) < 2


def is_real(variable: Variable) -> bool:
    """Whether its elements are real numbers in floating point: nothing wraps around, and all functions have kernels."""
    kind = variable.type
    return isinstance(kind, TensorType) and kind.dtype.is_floating_point


def have_dtype_of(result: Variable, *variables: Variable) -> bool:
    """Whether variables are of the dtype of a result, so that an operator on them calculates in that dtype."""
    return all(v.tensor_type.dtype == result.tensor_type.dtype for v in variables)


def is_floating(variable: Variable) -> bool:
    """Whether its elements are real or complex numbers, so that a division stays in their type."""
    kind = variable.type
    return isinstance(kind, TensorType) and (kind.dtype.is_floating_point or kind.dtype.is_complex)


def shape_of(variable: Variable) -> tuple[int, ...]:
    """The shape of a tensor."""
    return variable.tensor_type.shape


def instead(node: Apply, new: Variable) -> "list[Variable] | Declined":
    """A variable as the replacement of the one result of a node, if it has the same type."""
    old = node.outputs[0]
    if new.type == old.type:
        return [new]
    return Declined(f"the replacement would be a {new.type}, and what it replaces is a {old.type}")


def bare(node: Apply, source: Variable) -> "list[Variable] | Declined":
    """A source as the replacement of its copy, if no output of the graph becomes memory of the caller by that."""
    copied = all(node.inputs[i] is not source for i in shared_inputs(node)[0])
    if copied and any(client is None for view in memory_views(node.outputs[0]) for client, _ in view.clients):
        root = next((v for v in memory_roots(source) if v.owner is None), None)
        if root is not None:
            what = root.name or ("a constant" if isinstance(root, Constant) else "an input")
            return Declined(f"an output of the graph would share its memory with {what}")
    return instead(node, source)


def reshaped(source: Variable, shape: Sequence[int]) -> Variable:
    """A variable in another shape; itself if it has that shape."""
    if shape_of(source) == tuple(shape):
        return source
    return call(aten.reshape.default, source, list(shape))


def permuted(source: Variable, dims: Sequence[int]) -> Variable:
    """A variable with its axes in another order; itself if that is the order they have."""
    if tuple(dims) == tuple(range(len(dims))):
        return source
    return call(aten.permute.default, source, list(dims))


def full_like(variable: Variable, number: complex) -> Constant:
    """A constant of the type of a variable, of one number, which takes the memory of one number."""
    kind = variable.tensor_type
    return Constant(torch.full((), number, dtype=kind.dtype).expand(kind.shape))


def axes(dims: "int | Sequence[int] | None", rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order; None and an empty list are all axes."""
    if isinstance(dims, int):
        dims = (dims,)
    if not dims:
        return tuple(range(rank))
    return tuple(sorted(dim % rank for dim in dims)) if rank else ()


def trained_below(variable: Variable) -> Constant | None:
    """A constant that training changes, on which a variable depends; None if there is none."""
    seen: set[Variable] = set()
    waiting = [variable]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, Constant) and current.trainable:
            return current
        if current.owner is not None:
            waiting.extend(current.owner.inputs)
    return None


NEVER_NEGATIVE = frozenset(
    getattr(aten, name)
    for name in ("exp", "softmax", "_softmax", "sigmoid", "relu", "abs", "sqrt", "rsqrt", "square", "softplus")
)
KEEPS_SIGN = frozenset(
    getattr(aten, name)
    for name in ("reshape", "view", "permute", "transpose", "expand", "squeeze", "unsqueeze", "clone", "amax", "amin")
)
SUMS = frozenset(getattr(aten, name) for name in ("sum", "mean", "mul", "add", "div", "mm", "bmm", "prod", "cat"))


def never_negative(variable: Variable, depth: int = 8) -> bool:
    """Whether it can be seen that no element is below zero (a NaN may be among them, and one over -0).

    Only of floating point: an integer may overflow.
    """
    if not is_real(variable):
        return False
    if isinstance(variable, Constant):
        return not variable.trainable and bool((variable.data >= 0).all())
    owner = variable.owner
    if owner is None or depth == 0:
        return False
    if owner.op.packet in NEVER_NEGATIVE:
        return owner.op.attributes.get("beta", 1) > 0
    if owner.op.target is aten.pow.Tensor_Scalar and owner.op["exponent"] in (2, 4):
        return True
    if owner.op.packet in KEEPS_SIGN:
        return never_negative(owner.inputs[0], depth - 1)
    if owner.op.packet in SUMS and owner.op.attributes.get("alpha", 1) == 1:
        return all(never_negative(source, depth - 1) for source in owner.inputs)
    return False


def plain(op: Op) -> bool:
    """Whether an operator gives the same whenever it is called on the same, and leaves its inputs as they are."""
    return torch.Tag.nondeterministic_seeded not in op.target.tags and not op.target._schema.is_mutable
