"""Bounds of values (of a clip, of an operator), and tables of elementwise operators."""

from math import copysign, inf

import torch

from explorer.tensor.facts.shapes import MOVES
from explorer.tensor.facts.values import is_real, splat_number
from explorer.tensor.ir.ops import Op, call
from explorer.tensor.ir.schemas import aten, overloads
from explorer.tensor.ir.variables import Apply, Constant, Variable

RELUS = overloads("relu")
CLIPS = overloads("clamp clip hardtanh relu6")
"""Operators that bound their input on one side or both."""

MAX_STEPS = 16
"""Maximum number of operators above a value that are searched for its bounds."""

UNIT = overloads("sigmoid softmax.int _softmax")
"""Operators with results between 0 and 1."""

NOT_NEGATIVE = (*overloads("abs exp sqrt square softplus"), *RELUS, *UNIT)
"""Operators with floating-point results that are never negative; integers may overflow."""

PICKS = (*MOVES, *overloads("max_pool2d channel_shuffle"))
"""Operators that return numbers of their input."""

KEEP_SIGN = frozenset(getattr(aten, name) for name in ("sum", "mean", "mul", "add", "div", "mm", "bmm", "prod", "cat"))
KEEP_SIGN |= frozenset((aten.amax, aten.amin, aten.rsqrt, *(target.overloadpacket for target in MOVES)))
"""Operators that return no negative number for inputs without any, except for signed zeros and their inverses."""


def clip_bounds(node: Apply) -> tuple[float, float] | None:
    """Return the bounds of a clip or a relu; None for another operator, or for bounds that are not plain."""
    target = node.op.target
    low, high = -torch.inf, torch.inf
    if target in RELUS:
        low = 0.0
    elif target is aten.relu6.default:
        low, high = 0.0, 6.0
    elif target is aten.hardtanh.default:
        low, high = node.op["min_val"], node.op["max_val"]
    elif target in (aten.clamp.default, aten.clip.default):
        low = low if node.op["min"] is None else node.op["min"]
        high = high if node.op["max"] is None else node.op["max"]
    else:
        return None
    if low > high or not (_is_plain(low, node) and _is_plain(high, node)):
        return None  # NaN, -0, beyond the dtype, or a lower bound above the upper one
    return low, high


def _is_plain(bound: float, node: Apply) -> bool:
    """Return whether kernels compare with exactly this bound: not NaN, not -0, and representable in the dtype."""
    if bound != bound or (bound == 0 and copysign(1.0, bound) < 0):
        return False
    dtype = node.inputs[0].tensor_type.dtype
    if abs(bound) == inf or dtype.is_floating_point or dtype is torch.bool:
        return True
    limits = torch.iinfo(dtype)
    return bound == int(bound) and limits.min <= bound <= limits.max


def clip(variable: Variable, low: float, high: float) -> Variable:
    """Clamp a variable; infinite bounds are omitted, and integers stay integers."""
    floating = variable.tensor_type.dtype.is_floating_point

    def argument(bound: float) -> float | None:
        if abs(bound) == torch.inf:
            return None
        return int(bound) if not floating and bound == int(bound) else bound

    return call(aten.clamp.default, variable, argument(low), argument(high))


def relu_or_clip(variable: Variable, low: float, high: float) -> Variable:
    """Clamp a variable; returns a relu for the bounds 0 and inf."""
    if (low, high) == (0.0, inf):
        return call(aten.relu.default, variable)
    return clip(variable, low, high)


def value_range(variable: Variable, steps: int = MAX_STEPS) -> tuple[float, float]:
    """Bound all numbers of a variable that are not NaN, as far as its operators tell."""
    number = splat_number(variable)
    if isinstance(number, int | float):
        return (number, number) if number == number else (-inf, inf)
    kind = variable.tensor_type
    widest = (0.0, inf) if kind.dtype in (torch.uint8, torch.bool) else (-inf, inf)
    node = variable.owner
    if node is None or steps == 0:
        return widest
    bounds = clip_bounds(node)
    if bounds is not None:
        low, high = value_range(node.inputs[0], steps - 1)
        return max(low, bounds[0]) if low <= bounds[1] else bounds[1], min(high, bounds[1])
    target = node.op.target
    if target is aten.max_pool2d.default and may_hold_padding_only(node.op):
        return widest
    if target in PICKS:
        return value_range(node.inputs[0], steps - 1)
    if target is aten.cat.default:
        ranges = [value_range(v, steps - 1) for v in node.inputs]
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    if target in UNIT:
        return 0.0, 1.0
    return (0.0, inf) if _is_never_negative(node) else widest


def _is_never_negative(node: Apply) -> bool:
    return node.op.target in NOT_NEGATIVE and is_real(node.outputs[0]) and node.op.attributes.get("beta", 1) > 0


def is_nonnegative(variable: Variable, steps: int = MAX_STEPS) -> bool:
    """Return whether no element is known to be below zero; elements may be NaN, or the inverse of -0.

    False for integers, which may overflow.
    """
    if not is_real(variable):
        return False
    if isinstance(variable, Constant):
        return not variable.trainable and bool((variable.data >= 0).all())
    owner = variable.owner
    if owner is None or steps == 0:
        return False
    if _is_never_negative(owner):
        return True
    if owner.op.target is aten.pow.Tensor_Scalar and owner.op["exponent"] in (2, 4):
        return True
    if owner.op.packet in KEEP_SIGN and owner.op.attributes.get("alpha", 1) == 1:
        return all(is_nonnegative(source, steps - 1) for source in owner.inputs)
    return False


def may_hold_padding_only(op: Op) -> bool:
    """Return whether a window of max pooling may contain only padding (if dilated); its result is then -inf."""
    given = op.attributes
    return any(given.get("padding") or ()) and any(step > 1 for step in given.get("dilation") or ())


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
"""Unary operators with vectorized kernels that may round the ends of a tensor differently than its middle."""

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
"""Binary operators with bits that depend on positions: vectorized kernels may return the other one of 0 and -0."""


def keeps_bits(node: Apply) -> bool:
    """Return whether the bits of an elementwise operator do not depend on positions, because it rounds at most once.

    Complex arithmetic rounds more than once, and so does a sum with `alpha`.
    """
    if node.op.target not in (*SELECTING, *BINARY) or node.op.attributes.get("alpha", 1) not in (1, -1):
        return False
    return not any(v.tensor_type.dtype.is_complex for v in (*node.inputs, *node.outputs))
