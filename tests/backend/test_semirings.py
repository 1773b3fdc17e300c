"""The semirings: sums and products equal those of plain float64; logarithms neither underflow nor become NaN."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from explorer.backend import SEMIRINGS, Semiring, get_semiring
from explorer.errors import UnknownNameError
from tests.fuzzing import examples

EACH_SEMIRING = pytest.mark.parametrize("semiring", SEMIRINGS, ids=lambda semiring: semiring.name)
LOG_SEMIRINGS = tuple(semiring for semiring in SEMIRINGS if semiring.name != "sum-product")
EACH_LOG_SEMIRING = pytest.mark.parametrize("semiring", LOG_SEMIRINGS, ids=lambda semiring: semiring.name)
SEEDS = st.integers(0, 2**16)


def numbers(semiring: Semiring, *shape: int, seed: int = 0) -> Tensor:
    """Numbers that the semiring can represent: positive, complex, or of both signs."""
    generator = torch.Generator().manual_seed(seed)
    positive = torch.rand(shape, generator=generator) + 0.1
    if semiring.name == "lse-sum":
        return positive
    signed = torch.randn(shape, generator=generator)
    return torch.complex(signed, torch.randn(shape, generator=generator)) if "complex" in semiring.name else signed


def linear(semiring: Semiring, value: Tensor) -> Tensor:
    """A value of the semiring as plain numbers."""
    return value if semiring.name == "sum-product" else torch.exp(value)


def assert_same(semiring: Semiring, found: Tensor, wanted: Tensor) -> None:
    np.testing.assert_allclose(linear(semiring, found), wanted, rtol=1e-10, atol=1e-12)


@EACH_SEMIRING
@examples(20)
@given(SEEDS)
def test_numbers_and_logarithms_are_converted_to_the_semiring(semiring: Semiring, seed: int):
    x = numbers(semiring, 3, 4, seed=seed)
    assert_same(semiring, semiring.from_linear(x), x)
    log = torch.log(x.abs())
    assert_same(semiring, semiring.from_log(log), x.abs())


@EACH_SEMIRING
@examples(20)
@given(SEEDS, st.integers(1, 3), st.integers(1, 4))
def test_a_weighted_sum_is_a_product_with_a_matrix(semiring: Semiring, seed: int, folds: int, units: int):
    x, weight = numbers(semiring, folds, 5, units, seed=seed), numbers(semiring, folds, 2, units, seed=seed + 1)
    found = semiring.weighted_sum(semiring.from_linear(x), weight)
    assert found.shape == (folds, 5, 2)
    assert_same(semiring, found, torch.einsum("fbi,foi->fbo", x, weight))


@EACH_SEMIRING
@examples(20)
@given(SEEDS, st.integers(1, 3), st.integers(1, 4))
def test_mixing_is_a_sum_unit_by_unit(semiring: Semiring, seed: int, folds: int, arity: int):
    x, weight = numbers(semiring, folds, arity, 5, 3, seed=seed), numbers(semiring, folds, 3, arity, seed=seed + 1)
    found = semiring.mix(semiring.from_linear(x), weight)
    assert found.shape == (folds, 5, 3)
    assert_same(semiring, found, torch.einsum("fhbk,fkh->fbk", x, weight))


@EACH_SEMIRING
@examples(20)
@given(SEEDS)
def test_a_contraction_is_an_einsum(semiring: Semiring, seed: int):
    xs = [numbers(semiring, 2, 5, 3, seed=seed + h) for h in range(3)]
    weight = numbers(semiring, 2, 4, 3, 3, 3, seed=seed + 3)
    for arity, equation, w in ((3, "fbi,fbj,fbk,foijk->fbo", weight), (2, "fbi,fbj,foij->fbo", weight[..., 0])):
        found = semiring.contract([semiring.from_linear(x) for x in xs[:arity]], w)
        assert_same(semiring, found, torch.einsum(equation, *xs[:arity], w))


@EACH_SEMIRING
def test_products_multiply(semiring: Semiring):
    x, y = numbers(semiring, 4, 3, seed=1), numbers(semiring, 4, 3, seed=2)
    assert_same(semiring, semiring.product(semiring.from_linear(x), dim=0), torch.prod(x, dim=0))
    assert_same(semiring, semiring.multiply(semiring.from_linear(x), semiring.from_linear(y)), x * y)


@EACH_SEMIRING
def test_real_values_meet_complex_weights(semiring: Semiring):
    if semiring.name == "lse-sum":
        return  # logarithms of positive numbers have no complex weights
    x, real = torch.rand(2, 3, 4) + 0.1, numbers(semiring, 2, 5, 4)
    weight = torch.complex(real.real, torch.ones(2, 5, 4))
    found = semiring.weighted_sum(semiring.from_linear(x), weight)
    assert_same(semiring, found, torch.einsum("fbi,foi->fbo", x.to(weight.dtype), weight))
    mixing = torch.complex(torch.rand(2, 4, 3), torch.ones(2, 4, 3))
    mixed = semiring.mix(semiring.from_linear(x.unsqueeze(2)), mixing)  # (F, H, B=1, K)
    assert_same(semiring, mixed, torch.einsum("fhbk,fkh->fbk", x.unsqueeze(2).to(weight.dtype), mixing))


@EACH_LOG_SEMIRING
def test_the_logarithm_of_zero_stays_minus_infinity(semiring: Semiring):
    nothing = semiring.from_linear(torch.zeros(1, 2, 3))
    weight = torch.rand(1, 4, 3) + 0.1
    some = nothing.clone()
    some[0, 0, 1] = 0.5
    results = {
        "weighted_sum": semiring.weighted_sum(nothing, weight),
        "mix": semiring.mix(nothing.unsqueeze(1), weight[:, :3, :1]),
        "contract": semiring.contract([nothing, some], torch.rand(1, 2, 3, 3)),
        "multiply": semiring.multiply(nothing, nothing),
        "multiply by something": semiring.multiply(torch.zeros_like(nothing), nothing),
        "product": semiring.product(torch.stack([nothing, nothing - 1e4]), dim=0),
        "no weight": semiring.weighted_sum(some, torch.zeros(1, 4, 3)),
    }
    for name, found in results.items():
        real = found.real if found.is_complex() else found
        assert torch.isneginf(real).all(), (name, found)
        assert not torch.isnan(found).any(), name
    partly = semiring.weighted_sum(some, weight)
    np.testing.assert_allclose(torch.exp(partly[0, 0]).real, weight[0, :, 1] * np.exp(0.5), rtol=1e-12)
    assert torch.isneginf(partly[0, 1].real).all()


@EACH_LOG_SEMIRING
@pytest.mark.parametrize("offset", [-1e5, -800.0, 800.0, 1e5])
def test_logarithms_far_from_zero_neither_underflow_nor_overflow(semiring: Semiring, offset: float):
    x = torch.randn(2, 5, 3)
    weight = torch.rand(2, 4, 3) + 0.1
    plain = torch.log(torch.einsum("fbi,foi->fbo", torch.exp(x), weight))
    far = semiring.weighted_sum(semiring.from_log(x + offset), weight)
    np.testing.assert_allclose(far.real, plain + offset, rtol=1e-12)
    mixed = semiring.mix(semiring.from_log((x + offset).unsqueeze(1)), weight[:, :3, :1])
    np.testing.assert_allclose(mixed.real, x + offset + torch.log(weight[:, :3, 0]).unsqueeze(1), rtol=1e-12)
    square = torch.rand(2, 4, 3, 3) + 0.1
    contracted = semiring.contract([semiring.from_log(x + offset)] * 2, square)
    wanted = torch.log(torch.einsum("fbi,fbj,foij->fbo", torch.exp(x), torch.exp(x), square)) + 2 * offset
    np.testing.assert_allclose(contracted.real, wanted, rtol=1e-12)


def test_a_small_term_with_its_own_scale_survives_next_to_a_large_one():
    x = torch.tensor([[[0.0, 0.0], [-2000.0, -2000.0]]])
    found = get_semiring("lse-sum").weighted_sum(x, torch.tensor([[[0.25, 0.75]]]))
    np.testing.assert_allclose(found.ravel(), [0.0, -2000.0], atol=1e-12)


@pytest.mark.parametrize("operation", ["weighted_sum", "mix", "contract"])
def test_gradients_in_log_space_are_those_of_the_plain_numbers(operation: str):
    def result(semiring: Semiring, x: Tensor, weight: Tensor) -> Tensor:
        value = semiring.from_linear(x)
        if operation == "weighted_sum":
            found = semiring.weighted_sum(value, weight)
        elif operation == "mix":
            found = semiring.mix(value.unsqueeze(1), weight[:, :3, :1])
        else:
            found = semiring.contract([value, value], weight.unsqueeze(-1) * weight.unsqueeze(-2))
        return found if semiring.name == "sum-product" else torch.exp(found)

    gradients = []
    for name in ("sum-product", "lse-sum"):
        x = numbers(get_semiring("lse-sum"), 2, 5, 3, seed=5).requires_grad_()
        weight = numbers(get_semiring("lse-sum"), 2, 4, 3, seed=6).requires_grad_()
        result(get_semiring(name), x, weight).square().sum().backward()
        assert x.grad is not None
        assert weight.grad is not None
        gradients.append((x.grad, weight.grad))
    for plain, logs in zip(*gradients, strict=True):
        np.testing.assert_allclose(logs, plain, rtol=1e-10)


@EACH_SEMIRING
def test_a_semiring_is_found_by_its_name(semiring: Semiring):
    assert get_semiring(semiring.name) is semiring


def test_an_unknown_semiring_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"no semiring named 'max-sum'.*lse-sum"):
        get_semiring("max-sum")


def test_a_circuit_is_not_compiled_for_max_product():
    with pytest.raises(UnknownNameError, match="most_probable"):
        get_semiring("max-product")
