"""Tensors and modes of PyTorch with which kernels and planned memory would be wrong: both read memory as it is."""

from collections.abc import Sequence

import torch
from torch import nn
from torch._C._functorch import is_legacy_batchedtensor
from torch.autograd import forward_ad
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import _get_current_dispatch_mode

PLAIN = frozenset((torch.Tensor, nn.Parameter, nn.Buffer))


def why_not_plain(tensors: Sequence[torch.Tensor]) -> str | None:
    """Return the reason why kernels cannot read these tensors in PyTorch's present modes; None if they can."""
    if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
        return "torch.compile, torch.export or torch.jit traces it"
    for mode in (*reversed(torch.overrides._get_current_function_mode_stack()), _get_current_dispatch_mode()):
        if mode is not None and not _sets_cpu(mode):
            return f"a mode of PyTorch is active: {type(mode).__name__}"
    if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
        return "autocast is active"
    if torch._C._are_functorch_transforms_active():
        return "a transform of torch.func is active"
    if not PLAIN.issuperset(map(type, tensors)) or _are_wrapped(tensors):
        return "an argument is not a plain tensor"
    for one in tensors:
        if one.layout is not torch.strided or one.is_neg() or one.is_conj() or torch._is_zerotensor(one):  # pyright: ignore[reportPrivateImportUsage]
            return _not_in_memory(one)
    return None


def _not_in_memory(tensor: torch.Tensor) -> str:
    """In words: the values of a tensor are not what is in its memory."""
    if tensor.layout is not torch.strided:
        return f"a tensor is {str(tensor.layout).removeprefix('torch.')}"
    if tensor.is_neg() or tensor.is_conj():
        return "a tensor is the negative or the conjugate of its memory; pass x.resolve_neg() or x.resolve_conj()"
    return "a tensor of zeros has no memory; pass a copy"


def _sets_cpu(mode: object) -> bool:
    """Whether a mode is `torch.set_default_device("cpu")`, or the context manager: it changes nothing here."""
    return isinstance(mode, DeviceContext) and torch.device(mode.device).type == "cpu"


def _are_wrapped(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether batches of gradients (`is_grads_batched`) or forward-mode differentiation wrap one of the tensors."""
    if any(map(is_legacy_batchedtensor, tensors)):
        return True
    return forward_ad._current_level >= 0 and any(forward_ad.unpack_dual(one).tangent is not None for one in tensors)
