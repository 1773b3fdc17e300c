"""exp and log: they cancel, and combinations that overflow or lose digits are replaced by stable operators.

This holds for real numbers. The stable operators are finite where the replaced ones are inf or NaN; some of them
(logsumexp, softplus) are slower. It does not hold for complex numbers, where log is multivalued, nor for integers,
which wrap around before the log.
"""

from explorer.rewrite import Exactness
from explorer.tensor.facts import axes_of, is_nonnegative, is_real, number_of, owned_by, replace_with, shape_of
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rewriting import OpPattern
from explorer.tensor.rules.families import canonical, stable

SUMS = (aten.sum.dim_IntList, aten.sum.default)
EXACT_FROM = 40
"""From this x on, log(1 + exp(x)) is x in double precision."""

REAL = {"pattern": "x", "constraint": is_real}
ADD = OpPattern(aten.add.Tensor, alpha=1)
SUB = OpPattern(aten.sub.Tensor, alpha=1)

LOG_OF_EXP = (aten.log.default, (aten.exp.default, REAL))

canonical.pattern("log_of_exp", LOG_OF_EXP, "x", "log(exp(x)) is x.", allow_multiple_clients=True)


@canonical.rule([aten.exp.default], above=[aten.log.default])
def exp_of_log(node: Apply, above: Apply) -> Rewrite:
    """exp(log(x)) is x where x is not negative."""
    if not is_nonnegative(above.inputs[0]):
        return Declined("the number may be negative, and its log NaN", above)
    return replace_with(node, above.inputs[0])


@canonical.rule([aten._softmax.default, aten._log_softmax.default], exactness=Exactness.EXACT)
def to_softmax(node: Apply) -> Rewrite:
    """_softmax and _log_softmax are softmax and log_softmax."""
    target = aten.softmax.int if node.op.name == "_softmax" else aten.log_softmax.int
    dtype = node.outputs[0].tensor_type.dtype
    cast = dtype if dtype != node.inputs[0].tensor_type.dtype else None
    return replace_with(node, call(target, node.inputs[0], node.op["dim"], cast))


# ---------------------------------------------------------------------- softmax and logsumexp


@stable.rule([aten.log.default], above=[aten.softmax.int])
def log_of_softmax(node: Apply, above: Apply) -> Rewrite:
    """log(softmax(x)) is log_softmax(x), which does not take the log of an underflow."""
    return replace_with(node, call(aten.log_softmax.int, above.inputs[0], above.op["dim"], above.op["dtype"]))


@stable.rule([aten.exp.default], above=[aten.log_softmax.int])
def exp_of_log_softmax(node: Apply, above: Apply) -> Rewrite:
    """exp(log_softmax(x)) is softmax(x)."""
    return replace_with(node, call(aten.softmax.int, above.inputs[0], above.op["dim"], above.op["dtype"]))


@stable.rule([aten.log.default], above=SUMS)
def log_of_sum_of_exp(node: Apply, above: Apply) -> Rewrite:
    """log(sum(exp(x))) is logsumexp(x), which subtracts the maximum first."""
    powers = owned_by(above.inputs[0], aten.exp.default)
    if powers is None or not shape_of(powers.inputs[0]) or not is_real(powers.inputs[0]):
        return False
    keep = above.op.attributes.get("keepdim", False)
    return replace_with(node, call(aten.logsumexp.default, powers.inputs[0], list(_dims(above)), keep))


@stable.rule([aten.add.Tensor])
def logsumexp_by_hand(node: Apply) -> Rewrite:
    """logsumexp(x - m) + m is logsumexp(x) if m is constant along the reduced axes."""
    if node.op["alpha"] != 1:
        return False
    for inner, added in (node.inputs, node.inputs[::-1]):
        found = owned_by(inner, aten.logsumexp.default)
        moved = owned_by(found.inputs[0], aten.sub.Tensor) if found is not None else None
        if found is None or moved is None or moved.op["alpha"] != 1:
            continue
        source, shift = moved.inputs
        if not is_real(source):
            return Declined("it is not a real number in floating point", moved)
        if not _constant_along(shift, source, _dims(found)):
            return Declined("the subtrahend varies along the reduced axes", moved)
        if _broadcast_shape(shift, source, found) != shape_of(added) or not _same_numbers(shift, added):
            return Declined("the summand is not the subtrahend", moved)
        if shape_of(source) != shape_of(moved.outputs[0]):
            return Declined("the subtrahend has more axes than the minuend", moved)
        made = call(aten.logsumexp.default, source, list(_dims(found)), found.op["keepdim"])
        return replace_with(node, made)
    return False


@stable.rule([aten.div.Tensor])
def exp_over_sum(node: Apply) -> Rewrite:
    """exp(x) / sum(exp(x)) along one axis is softmax(x), which does not overflow."""
    powers, total = owned_by(node.inputs[0], aten.exp.default), owned_by(node.inputs[1], aten.sum.dim_IntList)
    summed = owned_by(total.inputs[0], aten.exp.default) if total is not None else None
    if powers is None or total is None or not is_real(powers.inputs[0]):
        return False
    if summed is None or summed.inputs[0] is not powers.inputs[0]:
        return Declined("the sum is of the exponentials of another tensor", total)
    dims = _dims(total)
    if len(dims) != 1 or not total.op["keepdim"]:
        return Declined("the sum is not over one axis with keepdim=True", total)
    return replace_with(node, call(aten.softmax.int, powers.inputs[0], dims[0]))


@stable.rule([aten.softmax.int, aten.log_softmax.int], above=[aten.sub.Tensor, aten.add.Tensor])
def softmax_of_shifted(node: Apply, above: Apply) -> Rewrite:
    """softmax(x - m) is softmax(x) if m is constant along the axis; softmax subtracts the maximum by itself."""
    source, shift = above.inputs
    if shape_of(source) != shape_of(node.outputs[0]) or not is_real(source):
        return False
    if not _constant_along(shift, source, axes_of(node.op["dim"], len(shape_of(source)))):
        return Declined("the shift varies along the axis", above)
    return replace_with(node, call(node.op.target, source, node.op["dim"], node.op["dtype"]))


@stable.rule([aten.sub.Tensor])
def minus_logsumexp(node: Apply) -> Rewrite:
    """Along one axis x - logsumexp(x) is log_softmax(x)."""
    source, total = node.inputs
    below = owned_by(total, aten.logsumexp.default)
    if below is None or below.inputs[0] is not source or node.op["alpha"] != 1 or not is_real(source):
        return False
    dims = _dims(below)
    if len(dims) != 1 or not below.op["keepdim"]:
        return Declined("the sum is not over one axis with keepdim=True", below)
    return replace_with(node, call(aten.log_softmax.int, source, dims[0]))


# ---------------------------------------------------------------------- log1p, expm1, sigmoid


stable.pattern(
    "log_of_one_plus",
    (aten.log.default, (ADD, REAL, 1)),
    (aten.log1p.default, "x"),
    "log(1 + x) is log1p(x), which keeps the digits of a small x.",
)
stable.pattern(
    "exp_minus_one",
    (SUB, (aten.exp.default, REAL), 1),
    (aten.expm1.default, "x"),
    "exp(x) - 1 is expm1(x), which keeps the digits near zero.",
)
stable.pattern(
    "exp_plus_minus_one",
    (ADD, (aten.exp.default, REAL), -1),
    (aten.expm1.default, "x"),
    "exp(x) - 1 is expm1(x), which keeps the digits near zero.",
)
stable.pattern(
    "log1p_of_exp",
    (aten.log1p.default, (aten.exp.default, REAL)),
    (OpPattern(aten.softplus.default, threshold=EXACT_FROM), "x"),
    "log(1 + exp(x)) is softplus(x), which does not overflow.",
)
stable.pattern(
    "one_over_one_plus_exp",
    (aten.reciprocal.default, (ADD, (aten.exp.default, (aten.neg.default, REAL)), 1)),
    (aten.sigmoid.default, "x"),
    "1 / (1 + exp(-x)) is sigmoid(x).",
)
stable.pattern(
    "one_minus_sigmoid",
    (SUB, 1, (aten.sigmoid.default, REAL)),
    (aten.sigmoid.default, (aten.neg.default, "x")),
    "1 - sigmoid(x) is sigmoid(-x), which keeps the digits of a small result.",
)
stable.pattern(
    "log_of_sigmoid",
    (aten.log.default, (aten.sigmoid.default, REAL)),
    (aten.log_sigmoid.default, "x"),
    "log(sigmoid(x)) is log_sigmoid(x), which does not take the log of an underflow.",
)


@stable.rule([aten.div.Tensor])
def one_over_to_reciprocal(node: Apply) -> Rewrite:
    """1 / x is reciprocal(x), so that patterns need only one of them."""
    if number_of(node.inputs[0]) != 1 or shape_of(node.inputs[1]) != shape_of(node.outputs[0]):
        return False
    return replace_with(node, call(aten.reciprocal.default, node.inputs[1]))


# ---------------------------------------------------------------------- helpers


def _dims(node: Apply) -> tuple[int, ...]:
    """Return the reduced axes of a sum."""
    return axes_of(node.op.attributes.get("dim"), len(shape_of(node.inputs[0])))


def _constant_along(shift: Variable, source: Variable, dims: tuple[int, ...]) -> bool:
    """Return whether a shift that is broadcast to a source is constant along some axes."""
    missing = len(shape_of(source)) - len(shape_of(shift))
    return missing >= 0 and all(dim < missing or shape_of(shift)[dim - missing] == 1 for dim in dims)


def _broadcast_shape(shift: Variable, source: Variable, total: Apply) -> tuple[int, ...]:
    """Return the shape of a shift after a reduction of its source, with or without keepdim."""
    missing = len(shape_of(source)) - len(shape_of(shift))
    whole = [*[1] * missing, *shape_of(shift)]
    if total.op["keepdim"]:
        return shape_of(shift)
    return tuple(size for i, size in enumerate(whole) if i not in _dims(total))


def _same_numbers(shift: Variable, added: Variable) -> bool:
    """Return whether one variable is the other, or its reshape."""
    if shift is added:
        return True
    below = owned_by(added, aten.reshape.default, aten.squeeze.dim, aten.squeeze.dims, aten.view.default)
    return below is not None and below.inputs[0] is shift
