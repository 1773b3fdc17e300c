"""Tables of elementwise operators."""

import torch
from torch._ops import OpOverload

from explorer.tensor.facts.bounds import CLIPS, RELUS
from explorer.tensor.ir.variables import Apply

aten = torch.ops.aten

SELECTING: tuple[OpOverload, ...] = (
    *RELUS,
    *CLIPS,
    aten.leaky_relu.default,
    aten.neg.default,
    aten.abs.default,
    aten.sign.default,
    aten.floor.default,
    aten.ceil.default,
    aten.trunc.default,
    aten.round.default,
    aten.logical_not.default,
    aten.bitwise_not.default,
    aten._to_copy.default,
    aten.add.Scalar,
    aten.sub.Scalar,
    aten.rsub.Scalar,
    aten.mul.Scalar,
    aten.div.Scalar,
    aten.threshold.default,
    *(getattr(aten, name).Scalar for name in ("eq", "ne", "lt", "le", "gt", "ge")),
)
"""Unary operators that round at most once if `keeps_bits` holds: their bits do not depend on positions."""

COMPUTING: tuple[OpOverload, ...] = (
    aten.sigmoid.default,
    aten.tanh.default,
    aten.gelu.default,
    aten.silu.default,
    aten.elu.default,
    aten.celu.default,
    aten.selu.default,
    aten.mish.default,
    aten.softplus.default,
    aten.hardswish.default,
    aten.hardsigmoid.default,
    aten.exp.default,
    aten.exp2.default,
    aten.expm1.default,
    aten.log.default,
    aten.log1p.default,
    aten.log2.default,
    aten.log10.default,
    aten.sqrt.default,
    aten.rsqrt.default,
    aten.reciprocal.default,
    aten.square.default,
    aten.sin.default,
    aten.cos.default,
    aten.erf.default,
    aten.pow.Tensor_Scalar,
    aten.pow.Scalar,
    aten.fmod.Scalar,
    aten.remainder.Scalar,
)
"""Unary operators whose vectorized kernels may round the ends of a tensor differently than its middle."""

UNARY = (*SELECTING, *COMPUTING)

BINARY: tuple[OpOverload, ...] = (
    aten.add.Tensor,
    aten.sub.Tensor,
    aten.mul.Tensor,
    aten.div.Tensor,
    aten.rsub.Tensor,
    aten.logical_and.default,
    aten.logical_or.default,
    *(getattr(aten, name).Tensor for name in ("eq", "ne", "lt", "le", "gt", "ge")),
)
"""Binary operators that round at most once if `keeps_bits` holds."""

BINARY_COMPUTING: tuple[OpOverload, ...] = (
    aten.pow.Tensor_Tensor,
    aten.fmod.Tensor,
    aten.remainder.Tensor,
    aten.atan2.default,
    aten.div.Tensor_mode,
    aten.floor_divide.default,
    aten.maximum.default,
    aten.minimum.default,
    aten.max.other,
    aten.min.other,
)
"""Binary operators whose bits may depend on positions: vectorized kernels may return the other one of 0 and -0."""


def keeps_bits(node: Apply) -> bool:
    """Whether the bits of an elementwise operator do not depend on positions, because it rounds at most once.

    Complex arithmetic rounds more than once, and so does a sum with `alpha`.
    """
    if node.op.target not in (*SELECTING, *BINARY) or node.op.attributes.get("alpha", 1) not in (1, -1):
        return False
    return not any(v.tensor_type.dtype.is_complex for v in (*node.inputs, *node.outputs))
