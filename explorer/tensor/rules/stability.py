"""Sums, quotients and logs of exponentials that overflow or lose digits, written as operators that do not.

This holds for real numbers; see `exp_log` for the softmax, and for patterns of one exponential.
"""

from math import log as ln, sqrt

import torch

from explorer.tensor.facts import (
    have_dtype_of,
    is_nonnegative,
    is_real,
    number_of,
    owned_by,
    read_once,
    replace_with,
    shape_of,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rules.exp_log import REAL, SUB
from explorer.tensor.rules.families import canonical, special, stable

MAX_TERMS = 4
"""Maximum number of exponentials that are added in pairs; more are left alone."""

DOUBLE = (torch.float32, torch.float64)
"""The dtypes for which PyTorch has all special functions."""


# ---------------------------------------------------------------------- logs


@stable.rule([aten.log.default], above=[aten.add.Tensor])
def log_of_added_exps(node: Apply, above: Apply) -> Rewrite:
    """log(exp(x) + exp(y)) is logaddexp(x, y), which subtracts the maximum first."""
    powers = _added_exps(above)
    if powers is None:
        return False
    if len(powers) > MAX_TERMS:
        return Declined(f"{len(powers)} exponentials are added; more than {MAX_TERMS} need too many operators", above)
    if not have_dtype_of(node.outputs[0], *powers):
        return Declined("the dtypes differ", above)
    total = powers[0]
    for power in powers[1:]:
        total = call(aten.logaddexp.default, total, power)
    return replace_with(node, total)


def _added_exps(root: Apply) -> list[Variable] | None:
    """Return x and y for exp(x) + exp(y), also for longer chains; None if one of the terms is something else."""
    found: list[Variable] = []
    waiting = [root.outputs[0]]
    while waiting:
        variable = waiting.pop()
        inner = owned_by(variable, aten.add.Tensor)
        if inner is not None and inner.op["alpha"] == 1 and (inner is root or read_once(variable)):
            waiting.extend(reversed(inner.inputs))
            continue
        power = owned_by(variable, aten.exp.default)
        if power is None or not is_real(power.inputs[0]):
            return None
        found.append(power.inputs[0])
    return found


@stable.rule([aten.log.default], above=[aten.abs.default, aten.linalg_det.default])
def log_of_determinant(node: Apply, above: Apply) -> Rewrite:
    """log(abs(det(X))) is the second result of slogdet(X): a determinant overflows where its logarithm is small."""
    below = owned_by(above.inputs[0], aten.linalg_det.default)
    if above.op.target is aten.linalg_det.default:
        return Declined("the determinant may be negative, and its log NaN; log(abs(det(X))) would be stable", above)
    if below is None or not is_real(below.inputs[0]):
        return False
    return replace_with(node, call(aten.linalg_slogdet.default, below.inputs[0])[1])


@stable.rule([aten.log.default], above=[aten.special_erfc.default, aten.erfc.default])
def log_of_erfc(node: Apply, above: Apply) -> Rewrite:
    """log(erfc(x)) is log_ndtr(-sqrt(2) x) + log(2), which does not take the log of an underflow."""
    source = above.inputs[0]
    if source.tensor_type.dtype not in DOUBLE:
        return Declined("PyTorch has log_ndtr in single and double precision only", above)
    tail = call(aten.special_log_ndtr.default, call(aten.mul.Tensor, source, -sqrt(2)))
    return replace_with(node, call(aten.add.Tensor, tail, ln(2)))


stable.pattern(
    "one_minus_exp",
    (SUB, 1, (aten.exp.default, REAL)),
    (aten.neg.default, (aten.expm1.default, "x")),
    "1 - exp(x) is -expm1(x), which keeps the digits near zero.",
)
stable.pattern(
    "log1p_of_minus_sigmoid",
    (aten.log1p.default, (aten.neg.default, (aten.sigmoid.default, REAL))),
    (aten.log_sigmoid.default, (aten.neg.default, "x")),
    "log(1 - sigmoid(x)) is log_sigmoid(-x), which does not take the log of an underflow.",
)
stable.pattern(
    "one_minus_erf",
    (SUB, 1, (aten.erf.default, REAL)),
    (aten.erfc.default, "x"),
    "1 - erf(x) is erfc(x), which keeps the digits of a small result.",
)
stable.pattern(
    "one_minus_erfc",
    (SUB, 1, (aten.erfc.default, REAL)),
    (aten.erf.default, "x"),
    "1 - erfc(x) is erf(x), which keeps the digits of a small result.",
)
canonical.pattern(
    "log1p_of_expm1",
    (aten.log1p.default, (aten.expm1.default, REAL)),
    "x",
    "log1p(expm1(x)) is x.",
    allow_multiple_clients=True,
)


# ---------------------------------------------------------------------- sigmoids


@stable.rule([aten.div.Tensor])
def quotient_is_sigmoid(node: Apply) -> Rewrite:
    """exp(x) / (1 + exp(x)) is sigmoid(x), and y / (1 + exp(-x)) is y * sigmoid(x)."""
    above, below = node.inputs
    power = _one_plus_exp(below)
    if power is None or not have_dtype_of(node.outputs[0], power, above):
        return False
    numerator = owned_by(above, aten.exp.default)
    if numerator is not None and numerator.inputs[0] is power:
        return replace_with(node, call(aten.sigmoid.default, power))
    if not read_once(below):
        return Declined("1 + exp(x) has other users", below.owner)
    return replace_with(node, call(aten.mul.Tensor, above, _sigmoid_of_negative(power)))


@stable.rule([aten.reciprocal.default])
def reciprocal_is_sigmoid(node: Apply) -> Rewrite:
    """1 / (1 + exp(x)) is sigmoid(-x)."""
    power = _one_plus_exp(node.inputs[0])
    if power is None or not have_dtype_of(node.outputs[0], power):
        return False
    return replace_with(node, _sigmoid_of_negative(power))


@stable.rule([aten.mul.Tensor])
def sigmoid_times_exp(node: Apply) -> Rewrite:
    """sigmoid(x) * exp(-x) is sigmoid(-x), which is not 0 * inf."""
    for left, right in (node.inputs, node.inputs[::-1]):
        gate, power = owned_by(left, aten.sigmoid.default), owned_by(right, aten.exp.default)
        if gate is None or power is None or not is_real(gate.inputs[0]):
            continue
        one, other = gate.inputs[0], power.inputs[0]
        if _negated(other) is one or _negated(one) is other:
            return replace_with(node, call(aten.sigmoid.default, other))
    return False


def _one_plus_exp(variable: Variable) -> Variable | None:
    """Return x for exp(x) + 1."""
    total = owned_by(variable, aten.add.Tensor)
    if total is None or total.op["alpha"] != 1:
        return None
    for one, other in (total.inputs, total.inputs[::-1]):
        power = owned_by(other, aten.exp.default)
        if number_of(one) == 1 and power is not None and shape_of(other) == shape_of(variable):
            return power.inputs[0] if is_real(power.inputs[0]) else None
    return None


def _negated(variable: Variable) -> Variable | None:
    """Return x for -x."""
    found = owned_by(variable, aten.neg.default)
    return None if found is None else found.inputs[0]


def _sigmoid_of_negative(variable: Variable) -> Variable:
    """Return sigmoid(-x), without negating twice."""
    source = _negated(variable)
    return call(aten.sigmoid.default, call(aten.neg.default, variable) if source is None else source)


# ---------------------------------------------------------------------- powers


@special.rule([aten.mul.Tensor, aten.div.Tensor])
def product_of_powers(node: Apply) -> Rewrite:
    """Products and quotients of powers of x, which is not negative, add and subtract the exponents."""
    left, right = (owned_by(v, aten.pow.Tensor_Tensor) for v in node.inputs)
    if left is None or right is None or left is right or left.inputs[0] is not right.inputs[0]:
        return False
    if not have_dtype_of(node.outputs[0], *left.inputs, *right.inputs):
        return Declined("the dtypes differ")
    if not is_nonnegative(left.inputs[0]):
        return Declined("the base may be negative, and one of its powers NaN", left)
    if not all(read_once(v) for v in node.inputs):
        return Declined("one of the powers has other users")
    target = aten.add.Tensor if node.op.target is aten.mul.Tensor else aten.sub.Tensor
    made = call(aten.pow.Tensor_Tensor, left.inputs[0], call(target, left.inputs[1], right.inputs[1]))
    return replace_with(node, made)
