"""Refusals of kernels that compute gradients, and the gradients of outputs as they read them."""

import torch
from torch import Tensor
from torch._C._functorch import is_legacy_batchedtensor

from explorer.errors import LoweringError


def refuse_unusual_gradients(gradient: Tensor | None) -> None:
    """Raises: LoweringError in a backward pass that is itself recorded, or of many gradients at a time."""
    if torch.is_grad_enabled():
        what = "second derivatives (create_graph=True)"
    elif gradient is not None and is_legacy_batchedtensor(gradient):
        what = "gradients of many vectors at a time (is_grads_batched=True)"
    else:
        return
    raise LoweringError(
        f"the kernels have no {what}: call the circuit itself, which is the attribute `circuit` of the fast one"
    )


def in_memory(gradient: Tensor) -> Tensor:
    """A gradient in single precision with its values in memory: it may be the negative of its memory, or have none."""
    found = gradient.float().resolve_neg()
    has_none = torch._is_zerotensor(found)  # pyright: ignore[reportPrivateImportUsage]
    return (found.clone() if has_none else found).contiguous()
