"""Linear algebra by structure: inverses that are only multiplied, diagonal matrices, determinants of factors.

This holds in real arithmetic. An inverse that is no longer computed no longer fails for a singular matrix.
"""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    full_like,
    have_dtype_of,
    is_floating,
    is_real,
    known_tensor,
    number_of,
    owned_by,
    read_once,
    replace_with,
    reshape,
    shape_of,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rules.families import canonical

INV = aten.linalg_inv.default
DET = aten.linalg_det.default
PRODUCTS = (aten.mm.default, aten.bmm.default, aten.matmul.default)


RENAMED = {aten.inverse.default: INV, aten.det.default: DET, aten.cholesky.default: aten.linalg_cholesky.default}


@canonical.rule(tuple(RENAMED), exactness=Exactness.EXACT)
def to_linalg(node: Apply) -> Rewrite:
    """The old names inverse, det and cholesky are operators of torch.linalg."""
    if node.op.attributes.get("upper", False):
        return Declined("it returns the upper factor")
    return replace_with(node, call(RENAMED[node.op.target], *node.inputs))


def diagonal_of(variable: Variable) -> Variable | None:
    """Return the numbers on the diagonal of a matrix that is zero elsewhere, or of a batch of such matrices."""
    node = owned_by(variable, aten.diag.default, aten.diag_embed.default)
    if node is None:
        return None
    source = node.inputs[0]
    if node.op.target is aten.diag.default:
        return source if len(shape_of(source)) == 1 and node.op["diagonal"] == 0 else None
    rank = len(shape_of(variable))
    last = (node.op["dim1"] % rank, node.op["dim2"] % rank) in ((rank - 2, rank - 1), (rank - 1, rank - 2))
    return source if last and node.op["offset"] == 0 else None


def _diagonal_matrix(numbers: Variable) -> Variable:
    """Return the matrix with these numbers on its diagonal."""
    if len(shape_of(numbers)) == 1:
        return call(aten.diag.default, numbers)
    return call(aten.diag_embed.default, numbers)


def _column(numbers: Variable) -> Variable:
    return reshape(numbers, (*shape_of(numbers), 1))


def _row(numbers: Variable) -> Variable:
    return reshape(numbers, (*shape_of(numbers)[:-1], 1, shape_of(numbers)[-1]))


# ---------------------------------------------------------------------- products


@canonical.rule(PRODUCTS)
def product_with_inverse(node: Apply) -> Rewrite:
    """inv(X) @ y is solve(X, y), which is faster and more exact."""
    left, right = node.inputs
    ranks = (len(shape_of(left)), len(shape_of(right)))
    if ranks not in ((2, 2), (2, 1)) and (ranks != (3, 3) or shape_of(left)[0] != shape_of(right)[0]):
        return False
    for inverse, other, from_left in ((left, right, True), (right, left, False)):
        found = owned_by(inverse, INV)
        if found is None or known_tensor(found.inputs[0]) is not None:
            continue
        if owned_by(found.inputs[0], INV, aten.kron.default) is not None:
            return False  # the inverse is simplified first
        if not read_once(inverse):
            return Declined("the inverse has other users", found)
        return replace_with(node, call(aten.linalg_solve.default, found.inputs[0], other, left=from_left))
    return False


@canonical.rule(PRODUCTS)
def product_with_diagonal(node: Apply) -> Rewrite:
    """diag(x) @ Y multiplies the rows of Y by x, and Y @ diag(x) its columns."""
    left, right = node.inputs
    ranks = (len(shape_of(left)), len(shape_of(right)))
    if ranks not in ((2, 2), (2, 1)) and (ranks != (3, 3) or shape_of(left)[0] != shape_of(right)[0]):
        return False
    scales, columns = diagonal_of(left), diagonal_of(right)
    if scales is not None and columns is not None:
        return replace_with(node, _diagonal_matrix(call(aten.mul.Tensor, scales, columns)))
    if scales is not None:
        scale = scales if ranks[1] == 1 else _column(scales)
        return replace_with(node, call(aten.mul.Tensor, scale, right))
    if columns is not None:
        return replace_with(node, call(aten.mul.Tensor, left, _row(columns)))
    return False


@canonical.rule((aten.mm.default, aten.bmm.default))
def product_with_zeros(node: Apply) -> Rewrite:
    """A matrix product with zeros is zero, for finite numbers."""
    if all(number_of(v) != 0 for v in node.inputs):
        return False
    return replace_with(node, full_like(node.outputs[0], 0))


# ---------------------------------------------------------------------- inverses and solutions


@canonical.rule([INV], above=[INV])
def inverse_of_inverse(node: Apply, above: Apply) -> Rewrite:
    """The inverse of an inverse is the matrix."""
    return without_copy(node, above.inputs[0], rounding=True)


@canonical.rule([INV])
def inverse_of_diagonal(node: Apply) -> Rewrite:
    """The inverse of a diagonal matrix has the reciprocals on its diagonal."""
    numbers = diagonal_of(node.inputs[0])
    if numbers is None:
        return False
    return replace_with(node, _diagonal_matrix(call(aten.reciprocal.default, numbers)))


@canonical.rule([INV], above=[aten.kron.default])
def inverse_of_kronecker(node: Apply, above: Apply) -> Rewrite:
    """The inverse of a Kronecker product of square matrices is that of their inverses, which are smaller."""
    if not _are_square(above):
        return Declined("the factors are not square matrices", above)
    return replace_with(node, call(aten.kron.default, *(call(INV, factor) for factor in above.inputs)))


@canonical.rule([aten.linalg_solve.default])
def solve_diagonal(node: Apply) -> Rewrite:
    """Solving with a diagonal matrix is a division by its diagonal."""
    matrix, right = node.inputs
    numbers = diagonal_of(matrix)
    ranks = (len(shape_of(matrix)), len(shape_of(right)))
    if numbers is None or ranks not in ((2, 2), (2, 1), (3, 3)):
        return False
    if ranks[1] == 1:
        return replace_with(node, call(aten.div.Tensor, right, numbers))
    divisor = _column(numbers) if node.op["left"] else _row(numbers)
    return replace_with(node, call(aten.div.Tensor, right, divisor))


@canonical.rule([aten.linalg_solve.default])
def solve_identity(node: Apply) -> Rewrite:
    """Solving with the identity matrix returns the right side."""
    matrix = known_tensor(node.inputs[0])
    if matrix is None or matrix.ndim != 2 or not torch.equal(matrix, torch.eye(len(matrix)).to(matrix)):
        return False
    return without_copy(node, node.inputs[1], rounding=True)


# ---------------------------------------------------------------------- determinants, traces, diagonals


@canonical.rule([DET])
def determinant_of_diagonal(node: Apply) -> Rewrite:
    """The determinant of a diagonal matrix is the product of its diagonal, and so is that of a Cholesky factor."""
    numbers = diagonal_of(node.inputs[0])
    factor = owned_by(node.inputs[0], aten.linalg_cholesky.default)
    if numbers is None and factor is not None:
        numbers = call(aten.diagonal.default, node.inputs[0], 0, -2, -1)
    if numbers is None:
        return False
    return replace_with(node, call(aten.prod.dim_int, numbers, -1))


@canonical.rule([DET], above=[INV])
def determinant_of_inverse(node: Apply, above: Apply) -> Rewrite:
    """The determinant of an inverse is the reciprocal of the determinant."""
    return replace_with(node, call(aten.reciprocal.default, call(DET, above.inputs[0])))


@canonical.rule([DET], above=[aten.kron.default])
def determinant_of_kronecker(node: Apply, above: Apply) -> Rewrite:
    """The determinant of a Kronecker product is det(A) ** m * det(B) ** n for matrices of sizes n and m."""
    if not _are_square(above):
        return Declined("the factors are not square matrices", above)
    first, second = above.inputs
    powers = [
        call(aten.pow.Tensor_Scalar, call(DET, factor), shape_of(other)[0])
        for factor, other in ((first, second), (second, first))
    ]
    return replace_with(node, call(aten.mul.Tensor, *powers))


def _are_square(product: Apply) -> bool:
    """Return whether the factors of a Kronecker product are square matrices of real numbers in floating point."""
    shapes = [shape_of(factor) for factor in product.inputs]
    square = all(len(shape) == 2 and shape[0] == shape[1] for shape in shapes)
    return square and all(is_real(factor) for factor in product.inputs) and have_dtype_of(*product.inputs)


@canonical.rule([aten.diagonal.default])
def diagonal_of_diagonal(node: Apply) -> Rewrite:
    """The diagonal of a diagonal matrix is what it was made from."""
    numbers = diagonal_of(node.inputs[0]) if _is_main(node) else None
    return False if numbers is None else without_copy(node, numbers, rounding=True)


@canonical.rule([aten.diagonal.default], above=[aten.kron.default])
def diagonal_of_kronecker(node: Apply, above: Apply) -> Rewrite:
    """The diagonal of a Kronecker product of square matrices is that of their diagonals."""
    if not _is_main(node) or not _are_square(above):
        return False
    if not read_once(node.inputs[0]):
        return Declined("the product has other users", above)
    return replace_with(node, call(aten.kron.default, *(call(aten.diagonal.default, v) for v in above.inputs)))


@canonical.rule([aten.trace.default])
def trace_of_diagonal(node: Apply) -> Rewrite:
    """The trace of a diagonal matrix is the sum of its diagonal."""
    numbers = diagonal_of(node.inputs[0])
    if numbers is None or not is_floating(numbers):
        return False
    return replace_with(node, call(aten.sum.dim_IntList, numbers, [0]))


def _is_main(node: Apply) -> bool:
    """Return whether a diagonal is the main one of the last two axes."""
    rank = len(shape_of(node.inputs[0]))
    axes = {node.op["dim1"] % rank, node.op["dim2"] % rank}
    return node.op["offset"] == 0 and axes == {rank - 2, rank - 1}
