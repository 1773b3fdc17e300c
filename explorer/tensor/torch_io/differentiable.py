"""Decompositions of operators that replace in-place writes, and whose derivative PyTorch lacks or gets wrong."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.tensor.ir.schemas import aten


def _copy(target: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """`aten.copy`, which has no derivative: a copy of the source in the shape and dtype of the target."""
    source = source.to(target.device, target.dtype, non_blocking)
    return source.expand(target.shape).clone(memory_format=torch.contiguous_format)


def _as_strided_scatter(
    target: torch.Tensor,
    source: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> torch.Tensor:
    """Its derivative in PyTorch keeps the gradient of the overwritten part, and drops that of the rest."""
    if not target.is_contiguous() or target.storage_offset():
        return NotImplemented
    indices = torch.full((), storage_offset or 0, device=target.device)
    for length, step in zip(size, stride, strict=True):
        indices = indices.unsqueeze(-1) + torch.arange(length, device=target.device) * step
    flat = target.reshape(-1).index_put((indices.reshape(-1),), source.reshape(-1))
    return flat.reshape(target.shape)


DIFFERENTIABLE: dict[OpOverload, Callable[..., Any]] = {
    aten.copy.default: _copy,
    aten.as_strided_scatter.default: _as_strided_scatter,
}
