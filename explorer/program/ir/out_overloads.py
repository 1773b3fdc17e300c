"""The `out=` overload of an operator, which writes its results into memory that it is given."""

from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.tensor.ir.schemas import overloads

FILLS = overloads("zeros ones full")
"""Operators without tensors, whose `out=` overloads fill the memory that they are given."""

FILLED = ("dtype", "layout", "device", "pin_memory")
"""Arguments of these operators that the memory has."""

CHANGES = overloads("index_add index_copy scatter.src scatter.value scatter_add")
"""Operators that change elements of their first input; their `out=` overloads copy it, unless it is there already."""

FROM_OUT = overloads("abs logical_and logical_or logical_xor logical_not nan_to_num")
"""Operators without kernels of their own that only allocate their result, and then call their `out=` overload."""

WITH_SEVERAL_RESULTS = overloads(
    "_linalg_det _linalg_eigh _linalg_slogdet _linalg_solve_ex _linalg_svd adaptive_max_pool2d adaptive_max_pool3d "
    "aminmax fractional_max_pool2d fractional_max_pool3d geqrf linalg_cholesky_ex linalg_eig linalg_inv_ex "
    "linalg_ldl_factor_ex linalg_lu linalg_lu_factor_ex log_sigmoid_forward lu_unpack max.dim "
    "max_pool2d_with_indices max_pool3d_with_indices min.dim sort.stable topk triangular_solve"
)
"""Operators of several results whose `out=` overloads write them into one storage, as `test_out_overloads.py` checks.

All others are computed elsewhere and copied. `linalg_qr` mistakes two results in one storage for one tensor, and leaves
one of them unwritten; the batch norm of an input with other strides leaves all of them unwritten.
"""


@cache
def out_overload(target: OpOverload) -> tuple[OpOverload, tuple[str, ...]] | None:
    """The overload that writes its results, and the names of these results; or None.

    It has the same arguments, but for the dtype and device of an operator that fills memory.
    """
    left_out = FILLED if target in FILLS else ()
    mine = [_signature(argument) for argument in target._schema.arguments if argument.name not in left_out]
    packet = target.overloadpacket
    for name in packet.overloads():
        other: OpOverload = getattr(packet, name)
        arguments = other._schema.arguments
        outs = [argument for argument in arguments if argument.is_out]
        same = [_signature(argument) for argument in arguments if not argument.is_out] == mine
        if outs and same and len(outs) == len(target._schema.returns):
            return other, tuple(argument.name for argument in outs)
    return None


def _signature(argument: Any) -> tuple[str, str]:
    return argument.name, str(argument.type)


@cache
def computes_in_place(target: OpOverload, device: str) -> bool:
    """Whether the `out=` overload computes the same bits as the operator, without memory of its own for the results.

    Both have kernels for the device then. PyTorch generates the `out=` overloads that have none: they compute as
    without `out=`, and copy. An operator that has none is composed of others, maybe other ones than its `out=`
    overload: the average pool of a whole picture is a mean, but only without `out=`. Losses enlarge the memory of
    their result, and use it for the losses of all elements. Of operators with several results only those in
    `WITH_SEVERAL_RESULTS` compute in place.
    """
    found = out_overload(target)
    if target in FILLS:
        return True
    if len(target._schema.returns) > 1 and target not in WITH_SEVERAL_RESULTS:
        return False
    if any(argument.name == "reduction" for argument in target._schema.arguments):
        return False
    key = {"cpu": "CPU", "cuda": "CUDA"}.get(device, device.upper())
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    if found is None or not has_kernel(found[0].name(), key):
        return False
    return target in FROM_OUT or has_kernel(target.name(), key)


@cache
def may_overwrite(target: OpOverload, position: int) -> bool:
    """Whether the `out=` overload of an operator may write its result over the input at a position."""
    return torch.Tag.pointwise in target.tags or (target in CHANGES and position == 0)
