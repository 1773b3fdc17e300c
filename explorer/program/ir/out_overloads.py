"""The `out=` overload of an operator, which writes its results into memory that it is given."""

from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload


@cache
def out_overload(target: OpOverload) -> tuple[OpOverload, tuple[str, ...]] | None:
    """The overload with the same arguments that writes its results, and the names of these results; or None."""
    mine = [_signature(argument) for argument in target._schema.arguments]
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
    """Whether the `out=` overload writes its results where they are wanted, without memory of its own for them.

    PyTorch generates the other ones: they compute as without `out=`, and copy. These have no kernel of a device.
    """
    found = out_overload(target)
    key = {"cpu": "CPU", "cuda": "CUDA"}.get(device, device.upper())
    return found is not None and torch._C._dispatch_has_kernel_for_dispatch_key(found[0].name(), key)
