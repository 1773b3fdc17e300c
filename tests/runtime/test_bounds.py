"""Certified rows are right where single precision is hard: each circuit here was once certified and wrong."""

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from explorer.compiler import TorchCompiler
from explorer.errors import ValueRangeError
from explorer.runtime import Certificate, FastCircuit, fast, packed
from explorer.runtime.backends import NativeBackend
from explorer.runtime.native import native_program
from explorer.runtime.plan import KernelCall, Kind, Plan, kernel_calls, lower_to_plan, run_passes
from explorer.runtime.snapshots import take_snapshot
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    GaussianLayer,
    HadamardParameter,
    ParameterNode,
    PolynomialLayer,
    SoftmaxParameter,
)
from explorer.templates import CategoricalInput, hmm, load_named
from tests.runtime.circuits import has_compiler, leaf

pytestmark = has_compiler


def logits(b: CircuitBuilder, variable: int, values: ArrayLike) -> int:
    """A layer with units of the logarithms `values`, whatever the value of the variable."""
    table = np.stack([values, values], axis=1)
    return b.add(CategoricalLayer(scope=(variable,), num_output_units=len(table), num_categories=2, logits=leaf(table)))


def product(b: CircuitBuilder, left: ArrayLike, right: ArrayLike) -> int:
    return b.hadamard(logits(b, 0, left), logits(b, 1, right))


@torch.no_grad()
def assert_right(circuit: Circuit, x: Tensor | None = None, optimize: bool = True) -> FastCircuit:
    """The errors of rounding, 1e-7 for each operation, are all that is allowed."""
    x = torch.zeros(2, 2) if x is None else x
    compiled = TorchCompiler(optimize=optimize).compile(circuit)
    made, expected = fast(compiled, backend="native"), copy.deepcopy(compiled).double()(x)
    for one in (made, fast(compiled, backend="torch")):
        torch.testing.assert_close(one(x).double(), expected, rtol=2e-7, atol=3e-6)
    return made


def test_a_dropped_term_may_be_larger_than_its_values():
    """The term is known up to its bound only, which is far above its values: what it was made of was dropped too."""
    b = CircuitBuilder()
    narrow = b.sum(product(b, [0], [0]), product(b, [-44], [-44]), num_units=1, weight=leaf([[1e-37, 1e30]]))
    circuit = b.build(b.sum(product(b, [5], [0]), narrow, num_units=1, weight=leaf([[1e-22, 1]])))
    made = assert_right(circuit)
    assert made.certificate == Certificate(2, 2)


def large_sum(terms: int, units: int) -> Circuit:
    b = CircuitBuilder()
    products = [product(b, np.zeros(units), np.zeros(units)) for _ in range(terms)]
    size = terms * units
    return b.build(b.sum(*products, num_units=1, weight=leaf(np.full((1, size), 1 / size))))


def large_mixture(terms: int, units: int) -> Circuit:
    b = CircuitBuilder()
    products = [product(b, np.zeros(units), np.zeros(units)) for _ in range(terms)]
    weight = np.concatenate([np.eye(units) / terms] * terms, axis=1)
    return b.build(b.sum(*products, num_units=units, weight=leaf(weight)))


def large_tucker(_: int, units: int) -> Circuit:
    b = CircuitBuilder()
    pairs = b.kronecker(logits(b, 0, np.zeros(units)), logits(b, 1, np.zeros(units)))
    return b.build(b.sum(pairs, num_units=1, weight=leaf(np.full((1, units**2), units**-2.0))))


LARGE = (
    lambda: large_sum(400, 60),
    lambda: large_sum(1, 20000),
    lambda: large_sum(1000, 1),
    lambda: large_mixture(700, 2),
    lambda: large_tucker(1, 300),
)


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("make", LARGE)
def test_sums_of_many_equal_numbers(make: Callable[[], Circuit], optimize: bool):
    """Added one after the other in single precision, 100,000 equal numbers have a sum that is wrong by 1e-3."""
    assert_right(make(), optimize=optimize)


@pytest.mark.parametrize("difference", [32.12345, 50.12345])
def test_terms_of_very_different_scales(difference: float):
    """exp of the difference as a float was wrong by 2e-6, in each sum."""
    b = CircuitBuilder()
    value = product(b, [0], [0])
    for _ in range(200):
        value = b.sum(product(b, [difference], [0]), value, num_units=1, weight=leaf([[0, 1]]))
    assert_right(b.build(value))


@pytest.mark.parametrize("units", [17, *(pytest.param(units, marks=pytest.mark.fuzz) for units in (1, 2, 40))])
def test_products_of_many_densities(units: int):
    """Their logarithms are sums of thousands of numbers, and the units differ by little."""
    variables, random = 3000, np.random.default_rng(0)
    b = CircuitBuilder()
    densities = [
        b.add(
            GaussianLayer(
                scope=(variable,),
                num_output_units=units,
                mean=leaf(random.normal(size=units)),
                stddev=leaf(np.ones(units)),
            )
        )
        for variable in range(variables)
    ]
    circuit = b.build(b.sum(b.hadamard(*densities), num_units=1, weight=leaf(np.full((1, units), 1 / units))))
    x = torch.cat(
        [torch.full((2, variables), 0.37), torch.randn(2, variables, generator=torch.Generator().manual_seed(0))]
    )
    assert_right(circuit, x)


def test_deviations_near_the_largest_float_where_denormal_numbers_are_flushed():
    b = CircuitBuilder()
    wide = [
        GaussianLayer(scope=(variable,), num_output_units=1, mean=leaf([0]), stddev=leaf([3e38]))
        for variable in range(2)
    ]
    circuit = b.build(b.sum(b.hadamard(*map(b.add, wide)), num_units=1, weight=leaf([[1]])))
    torch.set_flush_denormal(True)
    try:
        assert_right(circuit, torch.tensor([[1e38, 1e38], [0, 0]]))
    finally:
        torch.set_flush_denormal(False)


@torch.no_grad()
def test_bad_values_of_a_variable_that_no_output_depends_on_are_refused():
    b = CircuitBuilder()
    used = product(b, [0], [0])
    logits(b, 2, [0])
    b.add(GaussianLayer(scope=(3,), num_output_units=1, mean=leaf([0]), stddev=leaf([1])))
    compiled = TorchCompiler(optimize=False).compile(b.build(b.sum(used, num_units=1)))
    made, good = fast(compiled, backend="native"), torch.zeros(1, 4)
    assert torch.allclose(made(good), compiled(good))
    for bad in (torch.tensor([[0, 0, 7.0, 0]]), torch.tensor([[0, 0, 0, torch.nan]])):
        for evaluate in (compiled, made):
            with pytest.raises(ValueRangeError):
                evaluate(bad)


@pytest.mark.parametrize("low", [-9.34, -12.34, -100.0, -1000.0])
def test_a_sum_of_tables_may_be_far_below_what_it_reads(low: float):
    b = CircuitBuilder()
    small = b.sum(logits(b, 0, [90, low]), num_units=1, weight=leaf([[0, 1]]))
    assert_right(b.build(b.sum(b.hadamard(small, logits(b, 1, [0])), num_units=1, weight=leaf([[1]]))))


def test_a_softmax_that_underflows_may_be_multiplied_by_a_large_weight():
    b = CircuitBuilder()
    softmax = SoftmaxParameter((leaf([[0, -100]]),), axis=1)
    weight = HadamardParameter((softmax, leaf([[1, 1e30]])))
    assert_right(b.build(b.sum(product(b, [-40, 0], [0, 0]), num_units=1, weight=weight)))


@pytest.mark.parametrize("count", [10, 1000, 100000])
def test_binomial_distributions_with_many_trials(count: int):
    """Their coefficients are differences of large logarithms."""
    b = CircuitBuilder()
    layer = BinomialLayer(scope=(0,), num_output_units=1, total_count=count, probs=leaf([0.3]))
    x = torch.tensor([[0], [count // 3], [count]])
    assert_right(b.build(b.sum(b.add(layer), num_units=1, weight=leaf([[1]]))), x)


def test_polynomials_near_their_roots():
    b = CircuitBuilder()
    square = PolynomialLayer(scope=(0,), num_output_units=1, degree=2, coeff=leaf([[1, -2, 1]]))
    x = torch.tensor([[1.0001], [1.01], [3.0]])
    assert_right(b.build(b.sum(b.add(square), num_units=1, weight=leaf([[1]]))), x)


@torch.no_grad()
def test_packed_parameters_are_those_of_the_snapshot_whatever_threads_do(monkeypatch):
    """`functional_call` in another thread changes parameters while they are packed, and then changes them back."""
    b = CircuitBuilder()
    compiled = TorchCompiler().compile(b.build(b.sum(product(b, [-1, 0], [-2, 0]), num_units=1)))
    made, x = fast(compiled, backend="native"), torch.zeros(2, 2)
    assert isinstance(made.backend, NativeBackend)
    parameters = list(compiled.parameters())
    for one in parameters:
        one.add_(0.5 * torch.arange(one.numel()).view(one.shape))
    expected, kept = compiled(x), [one.clone() for one in parameters]

    def snapshot_then_change(circuit, have_bytes):
        found = take_snapshot(circuit, have_bytes)
        for one in parameters:
            one.mul_(3)
        return found

    monkeypatch.setattr(packed, "take_snapshot", snapshot_then_change)
    made.backend.program.packed()
    for one, before in zip(parameters, kept, strict=True):
        one.copy_(before)
    torch.testing.assert_close(made(x), expected)


@torch.no_grad()
def test_a_chain_of_products_with_small_sums_keeps_its_certificates():
    """Each product reads a sum of narrow densities with values far below one before it is rescaled."""
    units, depth = 64, 30
    generator, b = np.random.default_rng(0), CircuitBuilder()
    even = leaf(np.full((units, units), 1 / units))

    def densities(variable: int) -> int:
        mean, stddev = leaf(generator.normal(size=units)), leaf(np.full(units, 0.1))
        return b.add(GaussianLayer(scope=(variable,), num_output_units=units, mean=mean, stddev=stddev))

    top = b.sum(densities(0), num_units=units, weight=even)
    for variable in range(1, depth):
        factor = b.sum(densities(variable), num_units=units, weight=even)
        top = b.sum(b.hadamard(top, factor), num_units=units, weight=even)
    made = fast(TorchCompiler(optimize=False).compile(b.build(top)), backend="native")
    made(torch.randn((64, depth), generator=torch.Generator().manual_seed(0)))
    assert made.certificate == Certificate(64, 0)


@pytest.mark.parametrize("is_trained", [False, True])
def test_values_that_shrink_in_hundreds_of_steps_keep_their_certificates(is_trained: bool):
    """An absolute bound shrinks as the likeliest observation would, the values as what is observed."""
    random = np.random.default_rng(0)

    def normalized(shape: tuple[int, ...]) -> ParameterNode:
        return SoftmaxParameter((leaf(random.normal(size=shape)),), axis=len(shape) - 1)

    emissions = CategoricalInput(num_categories=4, probs=normalized)
    symbolic = hmm(range(300), emissions, num_latent_states=3, weight_param=normalized, homogeneous=True)
    circuit = TorchCompiler().compile(symbolic)
    made, precise = fast(circuit, backend="native"), copy.deepcopy(circuit).double()
    x = torch.from_numpy(random.integers(4, size=(64, 300)))
    with torch.set_grad_enabled(is_trained):
        found, expected = made(x), precise(x)
    assert made.certificate == Certificate(64, 0)
    torch.testing.assert_close(found.double(), expected, rtol=2e-7, atol=3e-6)
    if is_trained:
        found.mean().backward()
        expected.mean().backward()
        for one, other in zip(circuit.parameters(), precise.parameters(), strict=True):
            assert one.grad is not None
            torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-4, atol=1e-5)


def chained(*products: tuple[int, ...]) -> Plan:
    """Two leaves, 0 and 1, a sum of the first, 2, and products of these from 3 on."""
    sums = {0: KernelCall(Kind.TABLE, 1), 1: KernelCall(Kind.TABLE, 1), 2: KernelCall(Kind.SUM, 1, inputs=(0,))}
    made = {number: KernelCall(Kind.PRODUCT, 1, inputs=inputs) for number, inputs in enumerate(products, 3)}
    return Plan({**sums, **made}, (2 + len(products),))


def test_errors_count_once_if_no_two_factors_depend_on_one_call(monkeypatch: pytest.MonkeyPatch):
    assert chained((0, 1)).counts_errors_once
    assert chained((2, 1)).counts_errors_once
    assert not chained((0, 0)).counts_errors_once
    assert not chained((2, 0)).counts_errors_once
    assert not chained((2, 1), (3, 1)).counts_errors_once
    assert not chained((0, 1, 0)).counts_errors_once
    assert not chained((2, 1, 0)).counts_errors_once
    several_terms = {2: KernelCall(Kind.SUM, 1, inputs=(0, 1), terms=2), 3: KernelCall(Kind.PRODUCT, 1, inputs=(2, 0))}
    assert not Plan({**chained((0, 1)).calls, **several_terms}, (3,)).counts_errors_once
    either = Plan({**chained((2, 1)).calls, 4: KernelCall(Kind.SUM, 1, inputs=(3, 2), terms=2)}, (4,))
    assert either.counts_errors_once, "terms are added up: a value has the larger error"
    assert lower_to_plan(TorchCompiler().compile(load_named("digits"))).counts_errors_once
    monkeypatch.setattr(kernel_calls, "MAX_DEPENDENCY_BITS", 1)
    assert not chained((0, 1)).counts_errors_once


@torch.no_grad()
def test_where_errors_may_count_twice_rows_are_not_certified_instead(monkeypatch: pytest.MonkeyPatch):
    circuit = TorchCompiler().compile(hmm(range(300), num_latent_states=3, num_categories=4))
    x = torch.randint(4, (5, 300), generator=torch.Generator().manual_seed(0))
    precise = copy.deepcopy(circuit).double()(x)
    recomputed: list[int] = []
    for is_once in (True, False):
        monkeypatch.setattr(Plan, "counts_errors_once", is_once)
        made = fast(circuit, backend="native")
        torch.testing.assert_close(made(x).double(), precise, rtol=2e-7, atol=3e-6)
        assert made.certificate is not None
        recomputed.append(made.certificate.rows_recomputed)
    assert recomputed == [0, 5]


@torch.no_grad()
@pytest.mark.parametrize("small", [0, 1])
def test_bound_far_above_an_element_is_not_relative_though_far_below_another(small: int):
    b = CircuitBuilder()
    weight = np.array([[1e-25, 1e20], [1.0, 0.0]])[[small, 1 - small]]
    row = b.sum(product(b, [0], [0]), product(b, [-44], [-44.1]), num_units=2, weight=leaf(weight))
    top = b.sum(b.hadamard(row, logits(b, 2, [0, 0])), num_units=1, weight=leaf(np.eye(2)[[small]]))
    assert_right(b.build(top), torch.zeros(2, 3), optimize=False)


@torch.no_grad()
@pytest.mark.parametrize(("steps", "is_certified"), [(1_000, True), (40_000, False)])
def test_relative_errors_add_up(steps: int, is_certified: bool):
    b = CircuitBuilder()
    top = b.sum(product(b, [0], [0]), num_units=1, weight=leaf([[2.0**-89]]))
    circuit = TorchCompiler(optimize=False).compile(b.build(top))
    planned = run_passes(lower_to_plan(circuit))
    first = last = planned.outputs[0]
    calls, slots = dict(planned.calls), dict(planned.slots)
    for number in range(100, 100 + steps):
        calls[number] = KernelCall(Kind.SUM, 1, calls[first].sources, (last,))
        slots[number] = 1 - slots[last]
        last = number
    repeated = native_program.NativeProgram(circuit, Plan(calls, (last,), slots))
    found = repeated.run(repeated.packed().numbers.single, torch.zeros(1, 2, dtype=torch.int64))
    assert found is not None
    assert bool(found[1]) == is_certified
