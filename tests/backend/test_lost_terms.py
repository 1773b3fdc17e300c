"""Sums in logarithms lose no term by underflow: weights of zero or near it, beside inputs of any size."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from explorer.backend import Semiring, get_semiring, semiring as semirings
from explorer.backend.numeric import log
from explorer.backend.queries import log_likelihood
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ClampParameter,
    ExpParameter,
    GaussianLayer,
    ParameterNode,
    ReduceProductParameter,
    SoftmaxParameter,
    SquareParameter,
    constant,
)
from explorer.symbolic.operators import integrate, multiply
from explorer.templates import load_named
from tests.fuzzing import covering
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit, layer_types
from tests.lost_terms import (
    CASES,
    OPERATORS,
    WEIGHTS,
    Case,
    far_apart,
    gaussian,
    log_sum,
    parameter,
    small_weights,
    sums_of_small_weights,
    two_states,
)

LSE, COMPLEX = get_semiring("lse-sum"), get_semiring("complex-lse-sum")
EACH_SEMIRING = pytest.mark.parametrize("semiring", [LSE, COMPLEX], ids=lambda semiring: semiring.name)
EACH_TYPE = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
SLOW = tuple(name for name in CASES if name.startswith("relapse"))
LIKELIHOODS = [
    *covering(tuple(name for name in CASES if name not in SLOW), MODES),
    *covering(SLOW, MODES, strength=1),
]
"""Which case is compiled in which mode."""
SHAPES = ((1, 3), (1, 20), (2, 4), (3, 3))
"""Arity and width of contractions."""


def numbers(
    kind: str, semiring: Semiring, dtype: torch.dtype, shape: tuple[int, int], seed: int
) -> tuple[list[Tensor], Tensor]:
    """Inputs (F, B, I) of a contraction, some -inf, and a weight (F, O, I, .., I) of extreme values."""
    generator, (arity, units) = np.random.default_rng(seed), shape
    xs = [far_apart(generator, (2, 5, units)) for _ in range(arity)]
    weight = WEIGHTS[kind](generator, (2, 4, units**arity))
    weight = torch.from_numpy(weight).to(dtype).unflatten(2, (units,) * arity)
    inputs = [torch.from_numpy(x).to(dtype) for x in xs]
    if semiring.is_complex:
        inputs = [torch.complex(x, torch.from_numpy(generator.uniform(-3, 3, x.shape)).to(dtype)) for x in inputs]
        weight = weight * torch.polar(torch.ones_like(weight), torch.full_like(weight, 0.7))
    return inputs, weight


def assert_sums(found: Tensor, xs: Sequence[Tensor], weight: Tensor, dtype: torch.dtype) -> None:
    """Compare with sums of long double logarithms, up to rounding of numbers as large as the inputs."""
    wanted = log_sum([x.numpy() for x in xs], weight.flatten(2).numpy())
    tolerance = 40 * torch.finfo(dtype).eps
    np.testing.assert_allclose(found.real.numpy(), np.real(wanted).astype(float), rtol=tolerance, atol=100 * tolerance)
    if found.is_complex():
        known = np.isfinite(np.real(wanted))
        turn = np.exp(1j * (found.imag.double().numpy()[known] - np.imag(wanted)[known].astype(float)))
        np.testing.assert_allclose(turn, 1, rtol=0, atol=100 * tolerance)


@EACH_SEMIRING
@EACH_TYPE
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", WEIGHTS)
def test_a_contraction_keeps_the_largest_of_its_own_terms(
    kind: str, shape: tuple[int, int], dtype: torch.dtype, semiring: Semiring
):
    for seed in range(5):
        xs, weight = numbers(kind, semiring, dtype, shape, seed)
        assert_sums(semiring.contract(xs, weight), xs, weight, dtype)


@EACH_SEMIRING
@EACH_TYPE
@pytest.mark.parametrize("kind", WEIGHTS)
def test_a_mixture_keeps_the_largest_of_its_own_terms(kind: str, dtype: torch.dtype, semiring: Semiring):
    for seed in range(5):
        (x,), weight = numbers(kind, semiring, dtype, (1, 4), seed)  # of 4 terms, of 4 units in 2 folds
        mixed = x.unsqueeze(3).repeat(1, 1, 1, 4).permute(0, 2, 1, 3)  # (F, H, B, K)
        mixed = mixed + torch.arange(4.0).to(dtype)
        found = semiring.mix(mixed, weight)
        for unit in range(4):
            assert_sums(found[:, :, [unit]], [mixed[..., unit].transpose(1, 2)], weight[:, [unit]], dtype)


def plain(xs: Sequence[Tensor], weight: Tensor) -> Tensor:
    """The contraction as one matrix product."""
    bounds = [x.amax(2, keepdim=True) for x in xs]
    products = torch.exp(xs[0] - bounds[0])
    for x, bound in zip(xs[1:], bounds[1:], strict=True):
        products = (products.unsqueeze(-1) * torch.exp(x - bound).unsqueeze(-2)).flatten(-2)
    found = log(torch.bmm(products, weight.flatten(2).transpose(1, 2)))
    for bound in bounds:
        found = found + bound
    return found


@EACH_TYPE
def test_results_without_doubt_are_those_of_the_matrix_product_to_the_bit(dtype: torch.dtype):
    generator = np.random.default_rng(0)
    x = torch.from_numpy(generator.normal(size=(3, 7, 5)) * 10).to(dtype)
    weight = torch.from_numpy(generator.dirichlet(np.ones(5), (3, 4))).to(dtype)
    assert torch.equal(LSE.contract([x], weight), plain([x], weight))
    hidden = x.clone()
    hidden[1, 2, 0] = 50_000.0
    weight[1, 3, 0] = 0.0
    found, wanted = LSE.contract([hidden], weight), plain([hidden], weight)
    assert wanted[1, 2, 3] == -math.inf, "the only result that underflows"
    assert_sums(found, [hidden], weight, dtype)
    wanted[1, 2, 3] = found[1, 2, 3]
    assert torch.equal(found, wanted)


def test_sums_are_computed_in_parts_of_bounded_size(monkeypatch: pytest.MonkeyPatch):
    xs, weight = numbers("zeros", LSE, torch.float64, (2, 4), 0)
    whole = LSE.contract(xs, weight)
    monkeypatch.setattr(semirings, "MAX_EXACT_TERMS", 40)
    shapes: list[int] = []
    log_of = LSE.from_linear
    monkeypatch.setattr(type(LSE), "from_linear", lambda self, x: (shapes.append(x.numel()), log_of(x))[1])
    torch.testing.assert_close(LSE.contract(xs, weight), whole, rtol=0, atol=0)
    torch.testing.assert_close(vmap(lambda w: LSE.contract(xs, w))(weight[None])[0], whole)
    assert len(shapes) > 2
    assert max(shapes) <= 40


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", WEIGHTS)
def test_gradients_are_the_shares_of_the_terms(kind: str, shape: tuple[int, int]):
    xs, weight = numbers(kind, LSE, torch.float64, shape, 0)
    xs = [torch.where(x == -math.inf, -900.0, x / 12).requires_grad_() for x in xs]  # gaps of at most 900
    weight.requires_grad_()
    y = LSE.contract(xs, weight)
    finite = torch.isfinite(y)
    found = torch.autograd.grad(y[finite].sum(), [*xs, weight])
    products = xs[0].detach()
    for x in xs[1:]:
        products = (products.unsqueeze(-1) + x.detach().unsqueeze(-2)).flatten(-2)
    ratio = products.unsqueeze(2) - torch.where(finite, y, math.inf).detach().unsqueeze(3)  # (F, B, O, J)
    terms = torch.log(weight.detach().flatten(2)).unsqueeze(1) + ratio
    shares = torch.exp(terms).sum(2).unflatten(2, (shape[1],) * shape[0])
    for axis, of_x in enumerate(found[:-1]):
        others = [2 + other for other in range(shape[0]) if other != axis]
        torch.testing.assert_close(of_x, shares.sum(others) if others else shares, rtol=1e-9, atol=1e-12)
    normal = (weight == 0) | (weight >= torch.finfo(weight.dtype).tiny)  # the gradient of others may exceed all numbers
    assert torch.isfinite(found[-1][normal]).all()
    exact = (ratio < 350).all(1)  # where the square root of the largest number is no bound
    wanted = torch.exp(ratio).sum(1)
    assert exact.any()
    torch.testing.assert_close(found[-1].flatten(2)[exact], wanted[exact], rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # by the first call of jvp
@EACH_SEMIRING
@pytest.mark.parametrize("kind", WEIGHTS)
def test_transforms_of_functions_keep_every_term(kind: str, semiring: Semiring):
    xs, weight = numbers(kind, semiring, torch.float64, (2, 4), 0)
    xs = [torch.where(x.real == -math.inf, -900.0, x / 12) for x in xs]
    wanted = semiring.contract(xs, weight)

    def close(found: Tensor, wanted: Tensor) -> None:
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)

    first, second = (x.unsqueeze(2) for x in xs)
    by_row = vmap(lambda x, y: semiring.contract([x, y], weight), 1, 1)(first, second)
    close(by_row.squeeze(2), wanted)
    by_fold = vmap(lambda x, y, w: semiring.contract([x, y], w))(*(one.unsqueeze(1) for one in (*xs, weight)))
    close(by_fold.squeeze(1), wanted)

    def total(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        found = semiring.contract([x, y], w).real
        return torch.where(torch.isfinite(found), found, 0).sum()

    given = [x.clone().requires_grad_() for x in (*xs, weight)]
    gradients = torch.autograd.grad(total(*given), given)
    for found, of in zip(grad(total, (0, 1, 2))(xs[0], xs[1], weight), gradients, strict=True):
        close(found, of)
    per_row = vmap(grad(total, (0, 1, 2)), (1, 1, None))(first, second, weight)
    close(per_row[0].squeeze(2).transpose(0, 1), gradients[0])
    torch.testing.assert_close(per_row[2].sum(0), gradients[2], rtol=1e-9, atol=1e-9)
    if not semiring.is_complex:
        tangents = [torch.ones_like(x) for x in xs]
        found = jvp(lambda x, y: total(x, y, weight), tuple(xs), tuple(tangents))
        torch.testing.assert_close(found[1], gradients[0].sum() + gradients[1].sum())


@pytest.mark.parametrize(("name", "mode"), LIKELIHOODS)
def test_circuits_have_the_likelihood_of_their_definition(name: str, mode: Mode):
    assert_likelihood(CASES[name](), mode)


@pytest.mark.parametrize("gap", [60.0, 300.0])
def test_consecutive_sums_of_tiny_weights_keep_the_only_likely_input(gap: float):
    for mode in MODES:
        assert_likelihood(small_weights(gap), mode)


@pytest.mark.parametrize(("name", "gap", "mode"), covering(tuple(OPERATORS), (60.0, 300.0), MODES))
def test_no_operator_on_weights_loses_a_term_by_underflow(name: str, gap: float, mode: Mode):
    case = sums_of_small_weights(OPERATORS[name](gap))
    assert_likelihood(case, mode)
    circuit = compile_circuit(case[0], **mode)
    total = circuit.integral().item()  # the weights need not sum to one
    for one in (circuit, circuit.float(), circuit.freeze()):
        found = log_likelihood(one, torch.from_numpy(case[1])).flatten()
        np.testing.assert_allclose(found.detach() + total, case[2], rtol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_products_of_circuits_keep_tiny_probabilities(mode: Mode):
    """Their logits are logarithms of a softmax, which is read twice."""
    logits = np.array([[0.0, -110.0, -600.0], [-5.0, 0.0, -500.0], [0.0, 0.0, 0.0]])
    probs, b = SoftmaxParameter((parameter(logits),), axis=1), CircuitBuilder()
    states = b.add(CategoricalLayer(scope=(0,), num_output_units=3, num_categories=3, probs=probs))
    weights = SoftmaxParameter((parameter([[0.0, -100.0, -300.0]]),))
    circuit = b.build(b.sum(states, num_units=1, weight=weights))
    terms = logits - np.log(np.exp(logits).sum(1, keepdims=True)) + np.array([[0.0], [-100.0], [-300.0]])
    wanted = 2 * np.logaddexp.reduce(terms, axis=0)
    square, x = compile_circuit(multiply(circuit, circuit), **mode), torch.arange(3).unsqueeze(1)
    for one in (square, square.freeze(), square.float(), square.float().freeze()):
        np.testing.assert_allclose(one(x).flatten(), wanted, rtol=2e-6, atol=1e-6)


def test_squares_of_tiny_negative_weights_count():
    numbers = np.array([[0.0, -30.0, -300.0], [-30.0, 0.0, -200.0], [-200.0, -30.0, -1.0]])
    circuit, x, wanted = sums_of_small_weights((SquareParameter((parameter(-np.exp(numbers)),)), 2 * numbers))
    for semiring in ("lse-sum", "complex-lse-sum"):
        with torch.no_grad():
            found = compile_circuit(circuit, semiring)(torch.from_numpy(x)).real.flatten()
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def assert_as_in_doubles(circuit: Circuit, x: Tensor) -> None:
    """Compare values, integral and gradients in single precision with those of the circuit in double precision."""
    for semiring in ("lse-sum", "complex-lse-sum"):
        exact = compile_circuit(circuit, semiring)
        single = compile_circuit(circuit, semiring).float()
        single.load_leaf_state({name: value.float() for name, value in exact.leaf_state().items()})
        wanted = exact(x)
        for one in (single, single.freeze()):
            found = one(x)
            assert found.real.dtype == torch.float32
            torch.testing.assert_close(found.real.double(), wanted.real, rtol=1e-6, atol=1e-6)
            torch.testing.assert_close(one.integral().real.double(), exact.integral().real, rtol=1e-6, atol=1e-6)
            torch.testing.assert_close(one.evaluate(x)[0], found)
        single(x).real.sum().backward()
        wanted.real.sum().backward()
        for own, other in zip(single.parameters(), exact.parameters(), strict=True):
            if own.grad is not None and other.grad is not None:
                torch.testing.assert_close(own.grad.double(), other.grad, rtol=1e-5, atol=1e-6)


def integrated() -> Circuit:
    """One unit is about e^-120, of a constant that is no logarithm, and hides the other by its second variable."""
    b = CircuitBuilder()
    probs = ExpParameter((parameter([[-120.0, -121.0], [-1.0, -2.0]]),))
    table = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=probs))
    both = b.hadamard(table, gaussian(b, 1, [0.0, 30.0]))
    return integrate(b.build(b.sum(both, num_units=1, weight=constant([[0.5, 0.5]]))), [0])


def of_weight(weight: ParameterNode, far: float = 60.0) -> Circuit:
    b = CircuitBuilder()
    return b.build(b.sum(gaussian(b, 0, [far, 0.0]), num_units=1, weight=weight))


def narrow() -> Circuit:
    """A density with a standard deviation that underflows, beside another one."""
    b = CircuitBuilder()
    stddev = ExpParameter((parameter([-110.0, 0.0]),))
    density = GaussianLayer(scope=(0,), num_output_units=2, mean=parameter([0.0, 1.0]), stddev=stddev)
    return b.build(b.sum(b.add(density), num_units=1, weight=constant([[0.5, 0.5]])))


FACTORS = [[-51.6, -1.0], [-51.6, -1.0], [60.0, -1.0]]
WHOLE: Mapping[str, Callable[[], tuple[Circuit, Tensor]]] = {
    "a linear constant": lambda: (integrated(), torch.zeros(1, 2)),
    "the bound of a clamp": lambda: (
        of_weight(ClampParameter((parameter([[1.0, 0.0]]),), vmin=1e-60, vmax=None)),
        torch.zeros(1, 1),
    ),
    "the first factors of a product": lambda: (
        of_weight(ReduceProductParameter((ExpParameter((parameter([[one] for one in FACTORS]),)),), axis=0), 9.0),
        torch.zeros(1, 1),
    ),
    "a standard deviation": lambda: (narrow(), torch.tensor([[0.5]])),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whatever_underflows_in_single_precision_has_the_value_of_double_precision(name: str):
    assert_as_in_doubles(*WHOLE[name]())


def test_rows_of_doubles_are_rounded_also_where_layers_receive_double_precision():
    for logits in ([[0.0, -1.0]], [[0.0, -100.0]]):
        circuit = compile_circuit(of_weight(SoftmaxParameter((parameter(logits),), axis=1))).float()
        x = torch.tensor([[0.1]], dtype=torch.float64)
        assert x.item() != x.float().item()
        assert torch.equal(circuit(x), circuit(x.float()))
        assert torch.equal(circuit.freeze()(x), circuit.freeze()(x.float()))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")  # by PyTorch's linearize
def test_a_transform_that_cannot_read_values_has_finite_ones():
    module, x = compile_circuit(small_weights(60.0)[0]).float(), torch.zeros(1, 2)
    parameters = {name: one.detach() for name, one in module.named_parameters()}
    value, _ = torch.func.linearize(lambda given: functional_call(module, given, (x,)), parameters)
    assert torch.isfinite(value).all()


def test_a_traced_frozen_circuit_has_its_values_afterwards():
    circuit, x, wanted = small_weights(60.0)
    frozen, rows = compile_circuit(circuit).float().freeze(), torch.from_numpy(x).float()
    make_fx(frozen)(rows)
    np.testing.assert_allclose(frozen(rows).flatten(), wanted, rtol=2e-5)


def assert_likelihood(case: Case, mode: Mode) -> None:
    circuit, x, wanted = case
    for dtype, rtol in ((torch.float32, 2e-5), (torch.float64, 1e-12)):
        for semiring in ("lse-sum", "complex-lse-sum"):
            module = compile_circuit(circuit, semiring, **mode).to(dtype)
            for one in (module, module.freeze()):
                with torch.no_grad():
                    found = one(torch.from_numpy(x).to(dtype)).real.flatten().numpy()
                np.testing.assert_allclose(found, wanted, rtol=rtol)


def test_the_cases_contain_every_layer_that_adds():
    tried = [case.values for case in LIKELIHOODS if not case.marks]
    types = {kind for name, mode in tried for kind in layer_types(compile_circuit(CASES[name]()[0], **mode))}
    assert types >= {"Sum", "CPT", "Tucker", "Mixing"}


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize(
    ("make", "rank"),
    [(lambda: two_states(40.0), 2), (lambda: small_weights(300.0), 3)],
    ids=["means", "logits whose softmax underflows"],
)
def test_gradients_of_a_circuit_are_those_of_finite_differences(make: Callable[[], Case], rank: int, mode: Mode):
    circuit, x, _ = make()
    module, rows = compile_circuit(circuit, **mode), torch.from_numpy(x)
    learned = {name: p for name, p in module.named_parameters() if p.requires_grad and p.dim() == rank}

    def value(*given: Tensor) -> Tensor:
        return functional_call(module, dict(zip(learned, given, strict=True)), (rows,))

    assert torch.autograd.gradcheck(value, tuple(learned.values()))


@pytest.mark.parametrize("make", [lambda: two_states(40.0), lambda: small_weights(300.0)], ids=["zero", "underflow"])
def test_functional_transforms_of_a_circuit_keep_every_term(make: Callable[[], Case]):
    circuit, x, wanted = make()
    module, rows = compile_circuit(circuit), torch.from_numpy(x)
    parameters = dict(module.named_parameters())

    def value(parameters: Mapping[str, Tensor], row: Tensor) -> Tensor:
        return functional_call(module, dict(parameters), (row[None],)).sum()

    np.testing.assert_allclose(vmap(value, (None, 0))(parameters, rows).detach(), wanted, rtol=1e-12)
    several = {name: torch.stack([one, one]) for name, one in parameters.items()}
    by_model = vmap(vmap(value, (None, 0)), (0, None))(several, rows)
    np.testing.assert_allclose(by_model.detach(), [wanted, wanted], rtol=1e-12)
    module(rows).sum().backward()
    for name, of in vmap(grad(value), (None, 0))(parameters, rows).items():
        if parameters[name].requires_grad:
            torch.testing.assert_close(of.sum(0), parameters[name].grad)


@torch.no_grad()
def test_transforms_without_gradients_have_the_same_values():
    circuit, x, wanted = two_states(40.0)
    ordinary = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 2)))
    module, plain_weights = compile_circuit(circuit), compile_circuit(load_named("blackboard"))
    found = vmap(lambda row: module(row[None])[0])(torch.from_numpy(x))
    np.testing.assert_allclose(found.flatten(), wanted, rtol=1e-12)
    torch.testing.assert_close(vmap(lambda row: module(row[None])[0])(ordinary), module(ordinary))
    states = torch.randint(2, (4, 5))
    torch.testing.assert_close(vmap(lambda row: plain_weights(row[None])[0])(states), plain_weights(states))


def test_autocast_keeps_every_term():
    circuit, x, wanted = two_states(40.0)
    module = compile_circuit(circuit).float()
    for gradients in (True, False):
        with torch.set_grad_enabled(gradients), torch.autocast("cpu", torch.bfloat16):
            found = module(torch.from_numpy(x).float()).detach()
        np.testing.assert_allclose(found.flatten(), wanted, rtol=1e-2)  # bfloat16 has 8 bits
