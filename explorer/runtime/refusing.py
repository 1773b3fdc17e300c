"""What kernels that compute gradients refuse."""

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
