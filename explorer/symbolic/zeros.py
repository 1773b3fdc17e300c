"""Known zeros: the entries of a parameter that are zero whatever the learned leaves are."""

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from explorer.symbolic.initializers import ConstantInitializer
from explorer.symbolic.parameter_operators import (
    ConjugateParameter,
    HadamardParameter,
    IndexParameter,
    KroneckerIdentityParameter,
    KroneckerParameter,
    MixingWeightParameter,
    OuterParameterOp,
    OuterProductParameter,
    OuterSumParameter,
    ReduceProductParameter,
    ReduceSumParameter,
    ReorderParameter,
    SquareParameter,
    SumParameter,
    TriangleParameter,
)
from explorer.symbolic.parameters import ParameterNode, TensorParameter

Zeros = NDArray[np.bool_]


def known_zeros(parameter: ParameterNode) -> Zeros | None:
    """Which entries of a parameter are certainly zero, with the shape of the parameter; None if none are known.

    Only fixed leaves are known; entries that become zero by learning, underflow or cancellation are not.
    """
    known: dict[ParameterNode, Zeros | None] = {}
    for node in parameter.nodes():
        zeros = zeros_of_node(node, *(known[operand] for operand in node.operands))
        known[node] = zeros if zeros is not None and zeros.any() else None
    return known[parameter]


def fixed_values(parameter: ParameterNode | None) -> NDArray[np.generic] | None:
    """The values of a fixed leaf, with its shape; None for any other parameter."""
    if not isinstance(parameter, TensorParameter) or parameter.learnable:
        return None
    if not isinstance(parameter.initializer, ConstantInitializer):
        return None
    return np.broadcast_to(parameter.initializer.value, parameter.shape)


@singledispatch
def zeros_of_node(node: ParameterNode, *zeros: Zeros | None) -> Zeros | None:
    """The known zeros of one node from those of its operands; none for an operator without a rule.

    The operators of other modules add theirs with `@zeros_of_node.register`.
    """
    return None


@zeros_of_node.register
def _leaf(node: TensorParameter, *_: Zeros | None) -> Zeros | None:
    values = fixed_values(node)
    return None if values is None else np.asarray(values == 0)


@zeros_of_node.register(SquareParameter)
@zeros_of_node.register(ConjugateParameter)
def _keep(_: ParameterNode, zeros: Zeros | None) -> Zeros | None:
    return zeros


@zeros_of_node.register
def _sum(_: SumParameter, left: Zeros | None, right: Zeros | None) -> Zeros | None:
    return None if left is None or right is None else left & right


@zeros_of_node.register
def _hadamard(_: HadamardParameter, left: Zeros | None, right: Zeros | None) -> Zeros | None:
    if left is None or right is None:
        return right if left is None else left
    return left | right


@zeros_of_node.register
def _kronecker(node: KroneckerParameter, left: Zeros | None, right: Zeros | None) -> Zeros | None:
    nonzero = [_nonzero(operand, zeros) for operand, zeros in zip(node.inputs, (left, right), strict=True)]
    return ~np.kron(nonzero[0], nonzero[1]).astype(bool)


@zeros_of_node.register(OuterProductParameter)
@zeros_of_node.register(OuterSumParameter)
def _outer(node: OuterParameterOp, left: Zeros | None, right: Zeros | None) -> Zeros | None:
    nonzero = [_nonzero(operand, zeros) for operand, zeros in zip(node.inputs, (left, right), strict=True)]
    slow, fast = np.expand_dims(nonzero[0], node.axis + 1), np.expand_dims(nonzero[1], node.axis)
    pairs = slow & fast if isinstance(node, OuterProductParameter) else slow | fast
    return ~pairs.reshape(node.shape)


@zeros_of_node.register
def _reduce_sum(node: ReduceSumParameter, zeros: Zeros | None) -> Zeros | None:
    return None if zeros is None else np.asarray(zeros.all(axis=node.axis))


@zeros_of_node.register
def _reduce_product(node: ReduceProductParameter, zeros: Zeros | None) -> Zeros | None:
    return None if zeros is None else np.asarray(zeros.any(axis=node.axis))


@zeros_of_node.register
def _index(node: IndexParameter, zeros: Zeros | None) -> Zeros | None:
    return None if zeros is None else zeros.take(node.indices, node.axis)


@zeros_of_node.register
def _mixing(node: MixingWeightParameter, zeros: Zeros | None) -> Zeros | None:
    """Unit o of the result reads unit o of each input only: the columns of the others are zero."""
    units, arity = node.inputs[0].shape
    nonzero = np.eye(units, dtype=bool)[:, None, :] & _nonzero(node.inputs[0], zeros)[:, :, None]
    return ~nonzero.reshape(units, arity * units)


@zeros_of_node.register
def _kronecker_identity(node: KroneckerIdentityParameter, zeros: Zeros | None) -> Zeros | None:
    return ~np.kron(_nonzero(node.inputs[0], zeros), np.eye(node.size, dtype=bool)).astype(bool)


@zeros_of_node.register
def _reorder(node: ReorderParameter, zeros: Zeros | None) -> Zeros | None:
    if zeros is None:
        return None
    view = zeros.reshape(*node.shape[: node.axis], *node.sizes, *node.shape[node.axis + 1 :])
    last = node.axis + len(node.sizes)
    order = (*range(node.axis), *(node.axis + place for place in node.order), *range(last, view.ndim))
    return view.transpose(order).reshape(node.shape)


@zeros_of_node.register
def _triangle(node: TriangleParameter, zeros: Zeros | None) -> Zeros | None:
    """With `add`, an entry is zero for certain if both that it is made of are."""
    if zeros is None:
        return None
    first, n = node.axis, node.size
    view = zeros.reshape(*node.shape[:first], n, node.block, n, node.block, *node.shape[first + 1 :])
    square = np.swapaxes(view, first + 1, first + 2)
    if node.add:
        square = square & np.swapaxes(np.swapaxes(square, first, first + 1), first + 2, first + 3)
    before = (slice(None),) * first
    return square[(*before, *np.triu_indices(n))].reshape(node.shape)


def _nonzero(operand: ParameterNode, zeros: Zeros | None) -> Zeros:
    return np.ones(operand.shape, dtype=bool) if zeros is None else ~zeros
