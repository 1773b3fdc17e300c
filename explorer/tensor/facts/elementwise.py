"""Tables of elementwise operators."""

from explorer.tensor.facts.bounds import CLIPS, RELUS
from explorer.tensor.ir.schemas import overloads
from explorer.tensor.ir.variables import Apply

SELECTING = (
    *(*RELUS, *CLIPS),
    *overloads("leaky_relu neg abs sign floor ceil trunc round logical_not bitwise_not _to_copy"),
    *overloads("add.Scalar sub.Scalar rsub.Scalar mul.Scalar div.Scalar threshold"),
    *overloads("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar"),
)
"""Unary operators that round at most once if `keeps_bits` holds: their bits do not depend on positions."""

COMPUTING = overloads(
    "sigmoid tanh gelu silu elu celu selu mish softplus hardswish hardsigmoid",
    "exp exp2 expm1 log log1p log2 log10 sqrt rsqrt reciprocal square sin cos erf",
    "pow.Tensor_Scalar pow.Scalar fmod.Scalar remainder.Scalar",
)
"""Unary operators whose vectorized kernels may round the ends of a tensor differently than its middle."""

UNARY = (*SELECTING, *COMPUTING)

BINARY = overloads(
    "add.Tensor sub.Tensor mul.Tensor div.Tensor rsub.Tensor logical_and logical_or",
    "eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor",
)
"""Binary operators that round at most once if `keeps_bits` holds."""

BINARY_COMPUTING = overloads(
    "pow.Tensor_Tensor fmod.Tensor remainder.Tensor atan2 div.Tensor_mode floor_divide",
    "maximum minimum max.other min.other",
)
"""Binary operators whose bits may depend on positions: vectorized kernels may return the other one of 0 and -0."""


def keeps_bits(node: Apply) -> bool:
    """Whether the bits of an elementwise operator do not depend on positions, because it rounds at most once.

    Complex arithmetic rounds more than once, and so does a sum with `alpha`.
    """
    if node.op.target not in (*SELECTING, *BINARY) or node.op.attributes.get("alpha", 1) not in (1, -1):
        return False
    return not any(v.tensor_type.dtype.is_complex for v in (*node.inputs, *node.outputs))
