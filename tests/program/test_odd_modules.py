"""Odd modules as programs: the values of the module, in poisoned memory, or a typed error with the place."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import _pytree as pytree

import explorer
from explorer.errors import CircuitError
from explorer.program.ir.verify import verify
from explorer.program.running.executor import Executor
from explorer.tensor import to_module
from tests.program.programs import arguments_of, graph_of, poison, snapshot_of
from tests.tensor.rule_checks import same_bits

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
Y = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
P = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(2))
I = torch.randint(0, 3, (3, 4), generator=torch.Generator().manual_seed(3))
C = torch.complex(X, Y)
S = (X @ X.t()) + 3 * torch.eye(3)


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def overwritten(x):
    y = x.clone()
    z = y[1:]
    z.mul_(2.0)
    y.t()[0].exp_()
    return y, z


def written_rows(x):
    made = torch.zeros(6, 4)
    made[::2] = x
    made[1, 1:3] = 7.0
    return made


def two_concatenations(x):
    a, b = x.exp(), x.neg()
    return torch.cat([a, b]), torch.cat([b, a]), torch.cat([a, a], 1), a.sum()


def running(x):
    total = torch.zeros(4)
    rows = []
    for row in x:
        total = total + row
        rows.append(total)
    return torch.stack(rows), total


FUNCTIONS = {
    "an input": (lambda x: x, (X,)),
    "inputs in another order": (lambda x, y: (y, x, y), (X, Y)),
    "the same result twice": (lambda x: (x.exp(),) * 2, (X,)),
    "a result and a view of it": (lambda x: (y := x.exp(), y.t(), y[1], y[:, 1:3]), (X,)),
    "a constant": (lambda x: (x + 1, torch.arange(3), torch.ones(2, 2)), (X,)),
    "an expanded result": (lambda x: (x[:1].exp().expand(3, 4), x[0, 0].expand(5)), (X,)),
    "an empty tensor": (lambda x: (x.exp().neg(), x.sum(0), torch.cat([x, x])), (torch.zeros(0, 4),)),
    "empty parts": (lambda x: (torch.cat([x[:0], x.exp(), x[3:]]), x[:0].exp()), (X,)),
    "0-dimensional": (lambda x: (x.sum(), x.sum() * 2, x.max() - x.min(), x[0, 0]), (X,)),
    "a 0-dimensional input": (lambda x: (x.exp(), x.expand(2, 2) + x, x.reshape(1)), (torch.tensor(2.0),)),
    "complex": (lambda c: (c * 2j, c.abs(), c.exp(), c.sum(0), torch.view_as_real(c)), (C,)),
    "conjugated": (lambda c: (c.conj(), c.conj() * c, c.conj().t() @ c, c.conj().imag, c.imag, c.mH), (C,)),
    "a conjugated input": (lambda c: (c + 1, c.conj(), c.real.exp()), (C.conj(),)),
    "a transposed input": (lambda x: (x.exp(), x.reshape(-1), x.sum(0), x @ x.t()), (X.t(),)),
    "an expanded input": (lambda x: (x.exp(), x.t().reshape(-1) + 1), (X[:1].expand(3, 4),)),
    "parts of an input": (lambda x: (x[:, ::2].exp(), x.flatten()[1:-1] * 2), (torch.cat([X, X], 1)[:, 1:7],)),
    "integers": (lambda i: (i / 2, i // 2, i % 2, i.float().mean(), i.sum(), i > 1, ~(i > 1), i << 2), (I,)),
    "bytes": (lambda i: (i + i, i.float(), i.bitwise_not()), (I.to(torch.uint8),)),
    "halves": (lambda x: (x.softmax(-1), x.exp() + 1, (x @ x.t()).float()), (X.half(),)),
    "bfloat16": (lambda x: (x.logsumexp(-1), x.cumsum(0), x.to(torch.float64)), (X.bfloat16(),)),
    "promotion": (lambda x, i: (x + i, i * 1.5, torch.where(i > 1, x, 0.0), x.double() + x), (X, I)),
    "other dtypes of the same bits": (lambda x: (x.view(torch.int32), x.exp().view(torch.int32) + 1), (X,)),
    "overwritten parts": (overwritten, (X,)),
    "written rows": (written_rows, (X,)),
    "concatenations of the same parts": (two_concatenations, (X,)),
    "a running sum": (running, (X,)),
    "stacks and splits": (lambda x: (*x.split([1, 2]), *x.unbind(1), torch.stack([x, x.neg()]), *x.chunk(2, 1)), (X,)),
    "sorted": (lambda x: (*x.sort(-1), *x.topk(2), *x.max(0), x.argmin(), *x.median(0), *x.kthvalue(2)), (X,)),
    "scattered": (lambda x, i: (x.gather(0, i), x.scatter_add(0, i, x), x.index_add(0, i[:, 0], x)), (X, I)),
    "indexed": (lambda x, i: (x[i[0]], x[i[:, 0], i[:, 0]], x.index_put((i[0],), x[0]), x.take(i)), (X, I)),
    "masked": (lambda x: (x.masked_fill(x > 0, -1), torch.where(x > 0, x, x.neg()), x.tril(), x.triu(1)), (X,)),
    "moved": (lambda x: (x.roll(1, 0), x.flip(1), x.repeat(2, 1), x.unfold(1, 2, 1), x.diagonal(), x.rot90()), (X,)),
    "as strided": (lambda x: (x.exp().as_strided((2, 2), (4, 1), 1), x.as_strided((3,), (5,)) * 2), (X,)),
    "products": (lambda x, y: (torch.einsum("ij,kj->ik", x, y), torch.outer(x[0], y[0]), x.t() @ y, x @ y[0]), (X, Y)),
    "made of nothing": (lambda x: (torch.linspace(0, 1, 4) + x, torch.full((4,), 2.5) * x, torch.eye(4)), (X,)),
    "reductions": (lambda x: (x.std(0), x.var(1), x.norm(), x.prod(1), x.any(), x.cumprod(1), x.logcumsumexp(0)), (X,)),
    "counted": (lambda i: (F.one_hot(i, 4), torch.nonzero_static(i, size=5)), (I,)),
    "linear algebra": (lambda s: (torch.linalg.cholesky(s), torch.linalg.inv(s), torch.linalg.det(s)), (S,)),
    "eigenvalues": (lambda s: (torch.linalg.eigvalsh(s), *torch.linalg.qr(s), torch.linalg.solve(s, s)), (S,)),
    "Fourier": (lambda x: (torch.fft.rfft(x).abs(), torch.fft.fft(x), torch.fft.ifft(torch.fft.fft(x)).real), (X,)),
    "pictures": (
        lambda p: (F.interpolate(p, scale_factor=2), F.pixel_unshuffle(p, 2), F.pad(p, (1, 2, 1, 1), "reflect")),
        (P,),
    ),
    "pools": (
        lambda p: (F.max_pool2d(p, 2, return_indices=True), F.avg_pool2d(p, 3), F.adaptive_avg_pool2d(p, 3)),
        (P,),
    ),
    "channels last": (
        lambda p: (p.exp(), p.mean((2, 3)), p.sum(1)),
        (P.contiguous(memory_format=torch.channels_last),),
    ),
    "attention": (lambda p: F.scaled_dot_product_attention(p, p, p, is_causal=True), (P,)),
    "random": (lambda x: (torch.rand_like(x), F.dropout(x, 0.5), torch.bernoulli(x.sigmoid()), torch.randn(3)), (X,)),
    "losses": (lambda x, i: (F.cross_entropy(x, i[:, 0]), F.kl_div(x, x.softmax(1)), F.mse_loss(x, x + 1)), (X, I)),
    "a loss next to a value": (lambda p: (e := p.exp(), F.mse_loss(p, e) * (e + 1).log().neg())[1], (P,)),
    "structure": (lambda x: {"a": [x + 1, (x * 2,)], "b": 3, "c": None}, (X,)),
}


def leaves(value):
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def run(module, *inputs):
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return leaves(module(*inputs))


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for value, expected in zip(found, wanted, strict=True):
        assert same_bits(value.resolve_conj(), expected.resolve_conj())


QUICK = (
    *("an input", "inputs in another order", "the same result twice", "a constant", "an expanded result"),
    *("empty parts", "0-dimensional", "conjugated", "a transposed input", "parts of an input", "promotion"),
    *("overwritten parts", "written rows", "concatenations of the same parts", "sorted", "random", "structure"),
    "a loss next to a value",
)
"""`make fuzz` tests the others."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.fuzz]) for name in FUNCTIONS]
)
def test_a_function_has_its_values_as_a_program(name):
    function, inputs = FUNCTIONS[name]
    given = [value.clone() if not value.is_conj() else value for value in inputs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = run(function, *inputs)
        trace = explorer.record(Function(function), inputs, level="program", tensor_pipeline=[])
        assert_same(run(trace.compiled, *inputs), wanted)
        for step in (0, -1):
            found = snapshot_of(trace, step)
            verify(found.program)
            poisoned = run(Executor(found.program, poison), *arguments_of(found.program, graph_of(found), *inputs))
            assert_same(poisoned, wanted)
    assert_same(given, inputs)


# ---------------------------------------------------------------------- modules with state


class Cache(nn.Module):
    """Keeps the rows that it has seen, as the cache of keys and values of a transformer does."""

    rows: torch.Tensor
    count: torch.Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(6, 4))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.rows.index_copy_(0, self.count.view(1), x[:1])
        self.count.add_(1)
        return x @ self.rows.t(), self.rows.sum(0)


class Shared(nn.Module):
    """Returns its parameter, a view of it, and one that is read through two names."""

    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(X.clone())
        self.second = self.first

    def forward(self, x):
        return self.first, self.second[0], x + self.first * self.second


def norm():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))


STATEFUL = {"a cache": (Cache, X), "shared parameters": (Shared, X), "batch norm in training": (norm, P)}


@pytest.mark.parametrize("name", STATEFUL)
def test_a_module_with_state_changes_it_as_the_original(name):
    build, x = STATEFUL[name]
    original = build()
    trace = explorer.record(build(), (x,), level="program", mode="train", tensor_pipeline=[])
    for scale in (1.0, 2.0, -1.0):
        assert_same(run(trace.compiled, x * scale), run(original, x * scale))
        state = trace.compiled.state_dict()
        assert all(torch.equal(state[key], value) for key, value in original.state_dict().items())
    assert all(check.ok for check in trace.check())


@pytest.mark.parametrize("build", [lambda: nn.LSTM(4, 5, 2), lambda: nn.GRU(4, 5), lambda: nn.MultiheadAttention(4, 2)])
def test_recurrent_layers_and_attention(build):
    torch.manual_seed(0)
    module = build().eval()
    inputs = (X.unsqueeze(1),) if not isinstance(module, nn.MultiheadAttention) else (X, X, Y)
    trace = explorer.record(module, inputs, level="program", tensor_pipeline=[])
    wanted = run(to_module(graph_of(snapshot_of(trace))), *inputs)
    assert_same(run(trace.compiled, *inputs), wanted)
    for value, expected in zip(wanted, run(module, *inputs), strict=True):
        torch.testing.assert_close(value, expected)


# ---------------------------------------------------------------------- refusals


def branches(x):
    return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))


def loops(x):
    return torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))


def changes_its_input(x):
    return x.add_(1)


REFUSED = {
    "a condition": (branches, (X,), "cond .* is not an operator"),
    "a loop": (loops, (X,), "while_loop .* is not an operator"),
    "nonzero": (torch.nonzero, (X,), "the shape of nonzero is not fixed"),
    "unique": (lambda x: torch.unique(x), (X,), "not fixed"),
    "a mask": (lambda x: x[x > 0], (X,), "not fixed"),
    "masked_select": (lambda x: x.masked_select(x > 0), (X,), "not fixed"),
    "a changed input": (changes_its_input, (X.clone(),), "changes no input"),
    "sparse": (lambda x: x.to_sparse(), (X,), "dense"),
    "quantized": (
        lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        (X,),
        "returns a tensor of torch.qint8, .* at test_odd",
    ),
    "a number": (lambda x: x.sum().item(), (X,), "item.* depends on the data"),
    "counts": (lambda i: torch.bincount(i.flatten()), (I,), "the shape of bincount is not fixed"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_program_is_refused_with_a_reason(name):
    function, inputs, words = REFUSED[name]
    with pytest.raises(CircuitError, match=words):
        explorer.record(Function(function), inputs, level="program", tensor_pipeline=[])
