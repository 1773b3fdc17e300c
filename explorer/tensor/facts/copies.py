"""Replacements of the same type, and copies that may be replaced by their source.

A copy stays if an output of the graph would share memory with an input or a constant, or if a user depends on strides:
an output, an operator that reads strides, one that draws random numbers or adds numbers in the order of memory.
"""

from collections.abc import Sequence
from typing import Any

import torch

from explorer.tensor.facts.bounds import keeps_bits
from explorer.tensor.facts.shapes import MOVES
from explorer.tensor.facts.values import is_floating, plain
from explorer.tensor.graph.outputs import first_trained
from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.graph.strides import first_stride_sensitive_user, is_stride_sensitive
from explorer.tensor.ir import quantized as q
from explorer.tensor.ir.aliasing import memory_roots, memory_views, shared_inputs
from explorer.tensor.ir.ops import apply_op
from explorer.tensor.ir.result_types import MOVES_DATA
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Constant, Variable


def replace_with(node: Apply, new: Variable) -> "list[Variable] | Declined":
    """Replace the only result of a node by a variable of the same type; declined for another type."""
    old = node.outputs[0]
    if new.type == old.type:
        return [new]
    return Declined(f"the replacement would be a {new.type} in place of a {old.type}")


def reapply(node: Apply, inputs: Sequence[Variable], **attributes: Any) -> Variable:
    """Apply the operator of a node, which has one result, to other inputs, with some attributes changed."""
    op = node.op.with_attributes(**attributes) if attributes else node.op
    return apply_op(op, inputs, node.location).outputs[0]


def gradient_on_ties(node: Apply) -> Declined | None:
    """Return the reason why a rule must not change the gradient at ties and on bounds; None if it may."""
    found = first_trained(*node.inputs)
    if found is None:
        return None
    return Declined(
        f"{found.name or 'a constant'} is trained, and its gradient would change where numbers are equal", node
    )


PICKS_BY_INDEX = frozenset(
    getattr(aten, name)
    for name in (
        *("where", "gather", "index_select", "index", "embedding", "take", "take_along_dim", "masked_fill"),
        *("flip", "roll", "tril", "triu", "constant_pad_nd", "pad", "one_hot"),
    )
)
"""Operators that select numbers of their inputs, by other inputs or by position."""

QUANTIZED_SUMS = (q.matmul, q.linear, q.conv2d, q.avg_pool2d, q.adaptive_avg_pool2d)
"""Operators that add up real numbers and return integers, which are rounded otherwise if the sum is."""

SAME_STRIDES = (aten.alias.default, aten.detach.default, aten.lift_fresh.default)


def without_copy(node: Apply, source: Variable, *, rounding: bool = False) -> "list[Variable] | Declined":
    """Replace a copy by its source if no user depends on its strides; else the reason why not.

    With `rounding`, users that add the same numbers in another order are accepted.
    """
    found = replace_unless_aliased(node, source)
    if isinstance(found, Declined) or _has_same_strides(node, source):
        return found
    seen = first_stride_sensitive_user(node.outputs[0], source, _draws_numbers if rounding else depends_on_strides)
    return found if seen is None else Declined(f"{seen} depends on the strides of the copy", node)


def _draws_numbers(client: Apply) -> bool:
    """Return whether it draws a random number per element, in the order of memory."""
    return not plain(client.op) and client.op.attributes.get("train") is not False


def depends_on_strides(client: Apply) -> bool:
    """Return whether an operator may compute other bits for the same numbers with other strides."""
    if _draws_numbers(client) or client.op.target in QUANTIZED_SUMS:
        return True
    exact = keeps_bits(client) or client.op.name in MOVES_DATA or client.op.target in (*MOVES, q.dequantize_op)
    exact = exact or client.op.packet in PICKS_BY_INDEX
    return not exact and any(is_floating(variable) for variable in client.outputs)


def _has_same_strides(node: Apply, source: Variable) -> bool:
    """Return whether a copy has the strides of its source: a view, or a dense copy that preserves its format."""
    if node.op.target in SAME_STRIDES:
        return True
    keeps = node.op.target in (aten.clone.default, aten._to_copy.default)
    kept = node.op.attributes.get("memory_format") in (None, torch.preserve_format)
    owner = source.owner
    return keeps and kept and owner is not None and not is_stride_sensitive(owner.op) and not _is_view(source)


def _is_view(variable: Variable) -> bool:
    owner = variable.owner
    return owner is not None and bool(shared_inputs(owner)[variable.index])


def replace_unless_aliased(node: Apply, source: Variable) -> "list[Variable] | Declined":
    """Replace a copy by its source unless an output of the graph would then share memory with an input or constant."""
    copied = all(node.inputs[i] is not source for i in shared_inputs(node)[0])
    return (would_alias(node.outputs[0], source) if copied else None) or replace_with(node, source)


def would_alias(old: Variable, new: Variable) -> Declined | None:
    """Return why not to replace `old` by `new`: an output of the graph would share memory with an input or constant."""
    if not any(client is None for view in memory_views(old) for client, _ in view.clients):
        return None
    root = next((root for root in memory_roots(new) if root.owner is None), None)
    if root is None:
        return None
    what = root.name or ("a constant" if isinstance(root, Constant) else "an input")
    return Declined(f"an output of the graph would share its memory with {what}")
