"""One expression per rule of `reductions`, `choices`, `lifting`, `linalg`, `stability` and `writes`; see `planted`."""

from collections.abc import Callable

import torch

from explorer.tensor import Constant, Variable
from tests.tensor.text_form import expression

TEXTS = {
    "filled like": "add(y, zeros_like(x))",
    # reductions
    "sum of a sum": "sum(sum(x, [1]), [0])",
    "mean of a mean": "mean(mean(x, [1], True), [0])",
    "prod of a prod": "prod.dim_int(prod.dim_int(x, 1), 0)",
    "amax of an amax": "amax(amax(x, [1]), [0])",
    "sum of one": "neg(sum(reshape(x, [4, 1, 4]), [1]))",
    "amax of a negative": "amax(neg(x), [1])",
    "sum of a pair": "sum(stack([x, y]), [0])",
    "amin of a pair": "amin(stack([x, y], 1), [1])",
    "log of a product": "log(prod.dim_int(exp(x), 1))",
    "sum of a multiple": "sum(mul(x, amax(y, [1], True)), [1])",
    "sum of a quotient": "sum(div(x, exp(amax(y, [1], True))), [1])",
    "sum of a negative": "sum(neg(x), [0])",
    # choices
    "never less": "lt(x, x)",
    "maximum of equals": "neg(maximum(x, x))",
    "xor": "b = gt(x, y); bitwise_xor(b, b)",
    "where of equals": "neg(where(gt(x, y), x, x))",
    "abs of a negative": "abs(neg(x))",
    "abs abs": "mul(abs(x), abs(y))",
    "abs over abs": "div(abs(x), abs(y))",
    "root of a square": "sqrt(mul(x, x))",
    "root of a power": "pow(pow(x, 2), 0.5)",
    # lifting
    "row of a sum": "select(add(x, y), 0, 1)",
    "rows of an exp": "slice(exp(x), 0, 1, 3)",
    "column of a product with a column": "select(mul(x, amax(y, [1], True)), 1, 2)",
    "picked rows of an exp": "index_select(exp(x), 0, ROWS)",
    "diagonal of a sum": "diagonal(add(x, y))",
    "part of a reduction": "slice(sum(x, [1]), 0, 1, 3)",
    "row of a softmax": "select(softmax(x, 1), 0, 2)",
    "row of a product": "select(mm(x, y), 0, 1)",
    "column of a product": "slice(mm(x, y), 1, 1, 2)",
    "output of a linear": "slice(linear(x, y, select(y, 0, 0)), 1, 1, 3)",
    "row of a reversed": "neg(select(flip(x, [0, 1]), 0, 1))",
    "reversed twice": "neg(flip(flip(x, [0, 1]), [1, 0]))",
    "stack of one": "neg(stack([x]))",
    "index": "index(x, [ROWS])",
    "every second": "neg(index_select(x, 0, EVEN))",
    "outer": "outer(select(x, 0, 0), select(y, 0, 1))",
    "broadcast": "add(x, expand(select(y, 0, 0), [4, 4]))",
    "function of a broadcast": "add(exp(expand(select(y, 0, 0), [4, 4])), x)",
    "gates": "s = chunk(x, 2, 1); mul(tanh(s[0]), tanh(s[1]))",
    # concats and resizes, which are in passes
    "concat of tanhs": "cat(tanh(x), tanh(y))",
    "concat of casts": "cat(_to_copy(x, dtype=torch.float32), _to_copy(y, dtype=torch.float32))",
    "concat of all slices": "exp(cat(slice(x, 0, 0, 2), slice(x, 0, 2, 4)))",
    "resize": "neg(upsample_nearest2d.vec(reshape(x, [1, 1, 4, 4]), [4, 4], None))",
    "interpolate": "exp(upsample_bilinear2d.vec(reshape(x, [1, 1, 4, 4]), [4, 4], False, None))",
    # linear algebra
    "inverse and product": "mm(linalg_inv(x), y)",
    "product and inverse": "mm(x, linalg_inv(y))",
    "diagonal and product": "mm(diag(select(x, 0, 0)), y)",
    "product and diagonal": "mm(x, diag(select(y, 0, 0)))",
    "product of diagonals": "mm(diag(select(x, 0, 0)), diag(select(y, 0, 0)))",
    "product with zeros": "mm(x, ZEROS)",
    "inverse of an inverse": "mm(linalg_inv(linalg_inv(x)), y)",
    "inverse of a diagonal": "linalg_inv(diag(select(exp(x), 0, 0)))",
    "inverse of a kron": "linalg_inv(kron(x, y))",
    "solve a diagonal": "linalg_solve(diag(select(exp(x), 0, 0)), y)",
    "solve an identity": "mm(linalg_solve(IDENTITY, x), y)",
    "old name of a determinant": "det(x)",
    "determinant of a diagonal": "linalg_det(diag(select(x, 0, 0)))",
    "determinant of an inverse": "linalg_det(linalg_inv(x))",
    "determinant of a kron": "linalg_det(kron(slice(slice(x, 0, 0, 2), 1, 0, 2), y))",
    "diagonal of a diagonal": "neg(diagonal(diag(select(x, 0, 0))))",
    "diagonal of a kron": "diagonal(kron(x, y))",
    "trace of a diagonal": "trace(diag(select(x, 0, 0)))",
    "log of a determinant": "log(abs(linalg_det(x)))",
    # stability
    "log of exps": "log(add(exp(x), exp(y)))",
    "log of erfc": "log(erfc(x))",
    "1 - exp": "sub(1.0, exp(x))",
    "log1p of a sigmoid": "log1p(neg(sigmoid(x)))",
    "1 - erf": "sub(1.0, erf(x))",
    "1 - erfc": "sub(1.0, erfc(x))",
    "log1p of expm1": "neg(log1p(expm1(x)))",
    "logistic": "e = exp(x); div(e, add(1.0, e))",
    "swish": "div(y, add(exp(neg(x)), 1.0))",
    "1 / (1 + exp)": "reciprocal(add(exp(x), 1.0))",
    "sigmoid and exp": "mul(sigmoid(x), exp(neg(x)))",
    "powers": "p = exp(x); mul(pow.Tensor_Tensor(p, x), pow.Tensor_Tensor(p, y))",
    "exp over exp": "div(exp(x), exp(y))",
    # writes
    "write of all": "neg(slice_scatter(x, y, 0, 0, 4))",
    "write back": "neg(slice_scatter(x, slice(x, 0, 1, 3), 0, 1, 3))",
    "write over a write": "r = slice(y, 0, 0, 2); slice_scatter(slice_scatter(x, r, 0, 1, 3), x, 0, 0, 4)",
    "write over a row": "slice_scatter(select_scatter(x, select(y, 0, 0), 0, 1), slice(y, 0, 0, 2), 0, 1, 3)",
    "read of a write": "neg(slice(slice_scatter(x, slice(y, 0, 0, 2), 0, 1, 3), 0, 2, 3))",
    "writes that fill": (
        "r = slice(y, 0, 0, 2); slice_scatter(slice_scatter(x, r, 0, 0, 2), slice(exp(y), 0, 2, 4), 0, 2, 4)"
    ),
}

CONSTANTS = {
    "ROWS": torch.tensor([2, 0]),
    "EVEN": torch.tensor([0, 2]),
    "ZEROS": torch.zeros(4, 4, dtype=torch.float64),
    "IDENTITY": torch.eye(4, dtype=torch.float64),
}


def _plant(text: str) -> Callable[[Variable, Variable], Variable]:
    known = {name: Constant(value) for name, value in CONSTANTS.items() if name in text}
    return lambda x, y: expression(text, {"x": x, "y": y, **known})


PLANTS = {name: _plant(text) for name, text in TEXTS.items()}
