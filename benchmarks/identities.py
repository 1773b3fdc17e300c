"""Expressions of the kinds in PyTensor's rewrite tests, each with what PyTensor 3.0.7 leaves of it.

A row is `expression -> operators numbers`: the operators that are not views, sums and products of n terms counted as
n - 1, and the numbers that they write. PyTensor rewrote them as for a fast run, without fusion, in-place operators and
BLAS. `at 1000` is a value of all tensors for which the expression as written is not finite; there ours must be. The
names are those of `identity_counts`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """An expression, a value of its tensors for which it is hard to compute, and the counts of PyTensor."""

    text: str
    extreme: float | None
    theirs: tuple[int, int]


TABLE = """
# reductions
sum(sum(X, 1), 0) -> 1 1
sum(sum(T, 2), 0) -> 1 3
sum(sum(T, 0), 1) -> 1 3
amax(amax(X, 1), 0) -> 1 1
amin(amin(T, 2), 0) -> 1 3
prod(prod(X, 1), 0) -> 1 1
prod(prod(T, 0), 0) -> 1 4
exp(sum(C, 1)) -> 1 3
exp(amax(C, 1)) -> 1 3
exp(prod(C, 1)) -> 1 3
sum(X.T, 0) -> 1 3
sum(transpose(T), 1) -> 1 8
amax(X.T, 1) -> 1 4
sum(2.0 * X, 1) -> 2 6
sum(X / k, 1) -> 2 6
sum(k * X, 1) -> 2 6
sum(-X, 1) -> 2 6
prod(2.0 * X, 1) -> 2 6
prod(-X, 1) -> 1 3
sum(X * c, 1) -> 2 6
sum(X / c, 1) -> 2 6
sum(stack([v, w]), 0) -> 1 4
amax(stack([v, w]), 0) -> 1 4
amin(stack([v, w]), 0) -> 1 4
sum(cat([X, Y], 0), 0) -> 2 28
mean(mean(X, 1), 0) -> 3 5
amax(-X, 1) -> 2 15
amin(-X, 1) -> 2 6
-amax(-X, 1) -> 1 3
-amin(-X, 1) -> 1 3
sum(zeros_like(X), 1) -> 0 0
sum(ones_like(X), 1) -> 0 0
prod(ones_like(X), 1) -> 0 0
sum(reshape(v, 1, 4), 0) * 2.0 -> 1 4
sum(expand(v, 3, 4), 0) -> 1 4
# stability
log(exp(X) + exp(Y)) at 1000 -> 12 144
log(exp(X) + exp(Y) + exp(Z)) at 1000 -> 17 204
log(1.0 + exp(X)) at 1000 -> 1 12
log(exp(X) + 1.0) at 1000 -> 1 12
log1p(exp(X)) at 1000 -> 1 12
exp(X) / (1.0 + exp(X)) at 1000 -> 1 12
1.0 / (1.0 + exp(-X)) at 1000 -> 1 12
1.0 / (1.0 + exp(X)) at 1000 -> 2 24
exp(-X) / (1.0 + exp(-X)) at -1000 -> 2 24
1.0 - sigmoid(X) -> 2 24
log(sigmoid(X)) at -1000 -> 3 36
log(1.0 - sigmoid(X)) at 1000 -> 2 24
log(1.0 - exp(-X)) at 1e-20 -> 2 24
log1p(-exp(-X)) at 1e-20 -> 2 24
log1p(-sigmoid(X)) at 1000 -> 2 24
log(abs(det(M))) -> 1 1
log(det(S)) -> 3 3
log(prod(exp(X), 1)) at 1000 -> 1 3
log(prod(P, 1)) -> 2 6
log(1.0 + X) -> 1 12
log1p(X) -> 1 12
exp(X) - 1.0 -> 1 12
1.0 - exp(X) -> 2 24
expm1(log1p(X)) -> 2 24
log(sum(exp(X), 1)) at 1000 -> 9 54
log(softmax(X, 1)) -> 1 12
log(exp(X) / sum(exp(X), 1, True)) at 1000 -> 1 12
exp(X) / sum(exp(X), 1, True) at 1000 -> 1 12
exp(X - amax(X, 1, True)) / sum(exp(X - amax(X, 1, True)), 1, True) at 1000 -> 3 27
exp(log_softmax(X, 1)) -> 2 24
log(erfc(X)) at 40 -> 22 264
1.0 - erf(X) -> 1 12
1.0 - erfc(X) -> 1 12
1.0 + erf(X) -> 2 24
erf(X) - 1.0 -> 2 24
sqrt(X * X) -> 1 12
sqrt(X ** 2) -> 1 12
square(sqrt(X)) -> 2 24
sqrt(square(X)) -> 1 12
sigmoid(X) / sigmoid(-X) -> 4 48
sum(square(X - Y), 1) -> 3 27
# exponentials and sigmoids
exp(X) * exp(Y) -> 2 24
exp(X) / exp(Y) -> 2 24
exp(X) * exp(Y) * exp(Z) -> 3 36
exp(X) * 2.0 * exp(Y) -> 3 36
1.0 / exp(X) -> 2 24
log(exp(X)) * 2.0 -> 1 12
exp(log(X)) * 2.0 -> 3 36
sigmoid(X) * exp(-X) -> 2 24
sigmoid(X) * (1.0 + exp(-X)) -> 5 60
sigmoid(-X) * exp(X) -> 1 12
X * sigmoid(X) -> 2 24
P ** 2.0 * P ** 3.0 -> 1 12
P ** k * P ** m -> 2 13
P ** k / P ** m -> 2 13
(P ** 2.0) ** 0.5 -> 1 12
(P ** 2.0) ** 1.5 -> 2 24
sqrt(P) * sqrt(P) -> 2 24
X ** 2.0 -> 1 12
X ** 0.5 -> 1 12
X ** -1.0 -> 1 12
X ** -0.5 -> 2 24
X ** full_like(X, 2.0) -> 1 12
X ** 0.0 -> 0 0
log1p(expm1(X)) * 2.0 -> 1 12
expm1(log1p(X)) * 2.0 -> 3 36
exp(log1p(X)) -> 3 36
exp(softplus(X)) -> 2 24
expm1(softplus(X)) -> 1 12
expm1(log(X)) -> 3 36
softplus(log(P)) -> 3 36
exp(logaddexp(X, Y)) -> 13 156
sigmoid(log(P)) -> 2 24
exp(log(sigmoid(X))) -> 4 48
exp(-log(P)) -> 3 36
log(sqrt(P)) -> 2 24
log(P ** 3.0) -> 2 24
log(1.0 / P) -> 2 24
abs(X * Y) -> 2 24
abs(X) * abs(Y) -> 2 24
abs(X / Y) -> 2 24
abs(X) / abs(Y) -> 2 24
abs(-X) -> 1 12
abs(abs(X)) -> 2 24
abs(exp(X)) -> 2 24
sign(1.0 / X) -> 1 12
sign(-X) -> 2 24
sign(abs(X)) -> 2 24
square(abs(X)) -> 2 24
abs(square(X)) -> 2 24
abs(X) ** 2.0 -> 2 24
# arithmetic
X + 0.0 * Y -> 0 0
X * 1.0 + Y -> 1 12
X + 0.0 -> 0 0
X - X -> 0 0
X / X -> 0 0
X * Y / Y * 2.0 -> 1 12
X / Y / Z -> 2 24
(X / Y) * (Y / Z) -> 1 12
2.0 * X / 4.0 -> 1 12
2.0 * X + 3.0 * X -> 3 36
X + X -> 1 12
X * X -> 1 12
X * X * X -> 2 24
X - Y - X -> 1 12
-(X - Y) -> 2 24
X + (-Y) -> 1 12
(-X) * (-Y) -> 1 12
(-X) / Y -> 2 24
X / 2.0 -> 1 12
X * 2.0 * 3.0 -> 1 12
X + 1.0 + 2.0 -> 1 12
X - 1.0 + 1.0 + Y -> 1 12
1.0 / (1.0 / X) * 2.0 -> 1 12
X / (Y / Z) -> 2 24
X * (1.0 / Y) -> 1 12
(X * 2.0 + X * Y) / X -> 1 12
X * Y + X * Z -> 3 36
X / Y + Z / Y -> 3 36
(X + Y) / Y * Y -> 1 12
X * 0.0 -> 0 0
0.0 / X -> 0 0
X * -1.0 -> 1 12
square(X) / X -> 2 24
X / square(X) -> 2 24
# comparisons and choices
where(B, X, X) * 2.0 -> 1 12
where(True_, X, Y) * 2.0 -> 1 12
where(False_, X, Y) * 2.0 -> 1 12
where(not_(B), X, Y) -> 2 24
where(B, where(B, X, Y), Z) -> 2 24
where(B, X, 0.0) + where(B, Y, 0.0) -> 2 24
maximum(X, X) * 2.0 -> 1 12
minimum(X, X) * 2.0 -> 1 12
maximum(maximum(X, Y), Y) -> 2 24
I < I -> 0 0
I <= I -> 0 0
I > I -> 0 0
I >= I -> 0 0
eq(I, I) -> 0 0
ne(I, I) -> 0 0
eq(maximum(I, J), maximum(I, J)) -> 0 0
xor(B, B) -> 0 0
and_(B, B) -> 1 12
or_(B, B) -> 1 12
and_(B, True_) -> 0 0
or_(B, False_) -> 0 0
xor(B, False_) -> 1 12
xor(B, True_) -> 1 12
not_(not_(B)) -> 2 24
not_(X < Y) -> 2 24
not_(eq(X, Y)) -> 2 24
eq(B, True_) -> 1 12
cast(B, 'int64') > 0 -> 2 24
clip(clip(X, 0.0, 2.0), 0.0, 2.0) -> 2 24
clip(exp(X), 0.0, inf) -> 2 24
cast(cast(X, 'float64'), 'float64') * 2.0 -> 1 12
cast(cast(F, 'float64'), 'float32') * 2.0 -> 1 12
# selecting before computing
exp(X)[0] -> 1 4
exp(X)[1:3] -> 1 8
(X + Y)[0] -> 1 4
(X + v)[0] -> 1 4
(X * c)[:, 1] -> 1 3
(X @ N)[0] -> 1 4
(X @ N)[:, 1] -> 1 3
(X @ N)[1:3, 1] -> 1 2
sum(X, 1)[0] -> 1 1
sum(T, 0)[1] -> 1 4
amax(X, 1)[0:2] -> 1 2
softmax(X, 1)[0] -> 1 4
log_softmax(X, 1)[0] -> 1 12
softmax(X, 1)[0:2] -> 1 8
diagonal(exp(M)) -> 1 4
diagonal(M + N) -> 1 4
diagonal(M @ N) -> 1 16
stack([v, w])[1] * 2.0 -> 2 12
stack([v, w], 1)[:, 0] * 2.0 -> 2 12
cat([X, Y], 0)[0:3] * 2.0 -> 2 36
cat([X, Y], 0)[1] * 2.0 -> 2 28
cat([X, Y], 0)[0:2] * 2.0 -> 2 32
flip(X)[0] * 2.0 -> 1 4
flip(flip(X)) * 2.0 -> 1 12
X[0:3][1] * 2.0 -> 1 4
X[1:3][0:1] * 2.0 -> 1 4
X[::2][0] * 2.0 -> 1 4
X.T[0] * 2.0 -> 1 3
reshape(X, 1, 3, 4)[0] * 2.0 -> 1 12
expand(v, 3, 4)[0] * 2.0 -> 1 4
where(B, X, Y)[0] -> 1 4
exp(X)[0] + exp(X)[1] -> 2 16
cast(X, 'float32')[0] -> 1 4
full_like(X, 2.0)[0] + v -> 1 4
arange(5)[1:3] + 1.0 -> 0 0
take(X, [0, 1, 2]) * 2.0 -> 1 12
take(X, [1, 2]) * 2.0 -> 1 8
take(X, [0, 2]) * 2.0 -> 1 8
take(exp(X), [2, 0]) -> 1 8
take(take(X, [2, 0]), [1, 0]) * 2.0 -> 1 8
outer(v, w)[1] -> 1 4
# linear algebra
inv(M) @ v -> 1 4
inv(M) @ N -> 1 16
M @ inv(N) -> 1 16
inv(inv(M)) * 2.0 -> 1 16
inv(diag(v)) -> 2 20
inv(eye(4)) + M -> 1 16
det(diag(v)) -> 1 1
det(eye(4)) + v -> 1 4
det(inv(M)) -> 2 2
det(cholesky(S)) -> 2 17
det(kron(G, H)) -> 6 7
inv(kron(G, H)) -> 3 49
diagonal(kron(G, H)) -> 1 6
diag(v) @ M -> 1 16
M @ diag(v) -> 1 16
diag(v) @ diag(w) -> 2 20
diagonal(diag(v)) * 2.0 -> 1 4
trace(diag(v)) -> 1 1
eye(4) @ M * 2.0 -> 2 32
diag(v) + M -> 1 16
solve(eye(4), M) * 2.0 -> 1 16
solve(diag(v), M) -> 1 16
solve(K1, N1) -> 1 4
inv(K1) -> 1 1
cholesky(diag(P1)) -> 2 20
(M.T).T * 2.0 -> 1 16
(M @ N).T -> 1 16
(M.T @ N.T).T -> 1 16
(M @ N) @ v -> 2 20
(2.0 * M) @ N -> 2 32
(2.0 * M) @ (3.0 * N) -> 3 48
M @ zeros_like(N) -> 0 0
M @ N + M -> 2 32
M @ N + K -> 2 32
M @ N * 2.0 + M -> 3 48
sum(X @ N, 0) -> 2 16
mlog(det(expd(v))) -> 1 1
# writes
write(X, 0, 3, Y) * 2.0 -> 1 12
write(X, 0, 1, Y[0:1])[0:1] * 2.0 -> 1 4
write(X, 0, 1, Y[0:1])[2:3] * 2.0 -> 2 16
write(write(X, 0, 2, Y[0:2]), 0, 2, Z[0:2]) * 2.0 -> 2 24
write(write(X, 0, 1, Y[0:1]), 0, 2, Z[0:2]) * 2.0 -> 3 36
write(X, 0, 2, X[0:2]) * 2.0 -> 2 24
write(zeros_like(X), 0, 2, zeros_like(Y)[0:2]) + X -> 0 0
increment(X, 0, 2, zeros_like(Y)[0:2]) * 2.0 -> 1 12
increment(X, 0, 3, Y) -> 1 12
increment(zeros_like(X), 0, 2, Y[0:2]) -> 1 12
# shapes
reshape(reshape(X, 12), 4, 3) * 2.0 -> 1 12
reshape(X, 3, 4) * 2.0 -> 1 12
reshape(exp(reshape(X, 12)), 3, 4) -> 1 12
expand(exp(v), 3, 4) -> 1 4
exp(expand(v, 3, 4)) -> 1 4
expand(v, 3, 4) + X -> 1 12
X + expand(c, 3, 4) -> 1 12
cat([X], 0) * 2.0 -> 1 12
cat([cat([X, Y], 0), Z], 0) -> 2 60
cat([X[0:1], X[1:3]], 0) * 2.0 -> 1 12
cat([exp(X), exp(Y)], 0) -> 3 48
stack([v]) * 2.0 -> 1 4
stack([X[0], X[1], X[2]]) * 2.0 -> 2 24
transpose(transpose(T)) * 2.0 -> 1 24
exp(X.T).T -> 1 12
X.T + Y.T -> 1 12
tile(X, 1, 1) * 2.0 -> 1 12
X + tile(R, 3, 1) -> 1 12
einsum('ij,jk->ik', X, N) -> 1 12
einsum('ij,jk,kl->il', X, N, M) -> 2 24
einsum('ij,ij->', X, Y) -> 1 1
"""


def _case(row: str) -> Case:
    left, counts = row.split(" -> ")
    text, _, extreme = left.partition(" at ")
    operators, numbers = counts.split()
    return Case(text, float(extreme) if extreme else None, (int(operators), int(numbers)))


IDENTITY_CASES = tuple(_case(row) for row in TABLE.strip().splitlines() if not row.startswith("#"))
