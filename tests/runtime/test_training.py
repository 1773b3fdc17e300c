"""Training with a fast circuit: the gradients of its circuit, for every circuit, loss and way to train."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.errors import ValueRangeError
from explorer.runtime import Certificate, FastCircuit, fast
from explorer.runtime.backends import NativeBackend
from explorer.runtime.kernel_types import TUCKER_VECTORS
from explorer.runtime.plan import Kind, lower_to_plan
from explorer.symbolic import Circuit, CircuitBuilder, GaussianLayer
from explorer.templates import BinomialInput, build_circuit, load_named, random_binary_tree
from tests.fuzzing import examples
from tests.levels.modes import MODES, Mode, compile_circuit
from tests.reference import load_reference, reference_paths
from tests.runtime.circuits import (
    QUICK_CIRCUITS,
    assert_equal,
    assert_equal_gradients,
    doubled,
    gradients,
    has_compiler,
    image_circuit,
    leaf,
)
from tests.strategies import circuits, random_inputs

pytestmark = has_compiler


def assert_trains(circuit: TorchCircuit, x: Tensor) -> FastCircuit:
    """float32 against double precision: each gradient is right by some parts in a million of the largest one."""
    made, doubled = fast(circuit, backend="native"), copy.deepcopy(circuit).double()
    assert made.why_not(x) == ""
    fill_memory(made)
    found, found_gradients = gradients(made, x)
    expected, expected_gradients = gradients(doubled, x.double() if x.is_floating_point() else x)
    assert_equal(found, expected)
    assert_equal_gradients(found_gradients, expected_gradients)
    assert made.certificate is not None
    assert made.certificate.rows == len(x)
    return made


def fill_memory(made: FastCircuit) -> None:
    """Fill the memory of the kernels as earlier steps may leave it: NaN, -1, and flags that are set."""
    assert isinstance(made.backend, NativeBackend)
    for memory in (made.backend.training.workspaces, made.backend.training.values):
        for _ in range(torch.get_num_threads()):
            memory.give_back(np.full(1 << 24, 255, dtype=np.uint8))


def numbers(x: object) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(x))


@pytest.mark.parametrize("name", QUICK_CIRCUITS)
def test_a_circuit_of_the_gallery(name: str):
    circuit = load_named(name)
    x = numbers(random_inputs(circuit, 33))
    for mode in MODES if len(circuit.layers) < 1000 else MODES[-1:]:
        assert_trains(compile_circuit(circuit, **mode), x)


@pytest.mark.parametrize("rows", [1, 9, 300, 351])
def test_tables_of_many_states_have_rows_for_the_batch_only(rows: int):
    """With 700 states, a batch of at most 349 rows, which are two tiles, has a row of its own for each."""
    circuit = image_circuit(3, 2, units=3, states=700)
    x = torch.randint(700, (rows, 6), generator=torch.Generator().manual_seed(rows))
    x[0], x[-1] = 699, 0
    made = assert_trains(compile_circuit(circuit, fold=True, optimize=True), x)
    assert isinstance(made.backend, NativeBackend)
    assert made.backend.training.plan.place_rows(rows).num_rows == 6 * (rows if rows < 350 else 700)


@torch.no_grad()
def test_what_is_dropped_next_to_the_peak_of_densities_is_in_the_bound():
    """At 12.1, the peak of the narrow one, e^7 times the peak of the others, is far above what the sum has."""
    b = CircuitBuilder()
    means, deviations = leaf(np.array([0, 0, -0.6])), leaf(np.array([1e-3, 1, 1]))
    density = b.add(GaussianLayer(scope=(0,), num_output_units=3, mean=means, stddev=deviations))
    circuit = compile_circuit(b.build(b.sum(density, num_units=1, weight=leaf(np.array([[0.3, 0.3, 0.4]])))))
    x = torch.tensor([[12.09], [12.1], [5.0], [0.0]])
    made = fast(circuit, backend="native")
    torch.testing.assert_close(made(x).double(), doubled(circuit)(x), rtol=0, atol=2e-5)
    assert made.certificate == Certificate(4, 0)


@pytest.mark.parametrize(("states", "kind"), [(1 << 16, Kind.TABLE), ((1 << 16) + 1, Kind.DENSITY)])
def test_states_of_tables_have_16_bits_and_larger_variables_are_evaluated(states: int, kind: Kind):
    compiled = compile_circuit(image_circuit(1, 2, units=2, states=states), fold=True, optimize=True)
    assert {call.kind for call in lower_to_plan(compiled).calls.values() if call.variables} == {kind}
    x = torch.tensor([[states - 1, 0], [states - 2, states - 1], [1, 2]])
    made = assert_trains(compiled, x)
    with torch.no_grad():
        assert_equal(made(x), doubled(compiled)(x))
        with pytest.raises(ValueRangeError):
            made(x + 1)


@pytest.mark.parametrize("units", [3, 8, 16, 32, 48, 64])
def test_tucker_products_of_any_width(units: int):
    """Their products are formed for several units at a time, if so many fill whole vectors."""
    circuit = image_circuit(2, 3, "quad-tree-2", "tucker", units=units, states=5)
    x = torch.randint(5, (37, 6), generator=torch.Generator().manual_seed(units))
    compiled = compile_circuit(circuit, fold=True, optimize=True)
    assert Kind.TUCKER.value in lower_to_plan(compiled).counts()
    made = assert_trains(compiled, x)
    assert isinstance(made.backend, NativeBackend)
    plan = made.backend.training.plan
    assert plan.sizes.widest >= TUCKER_VECTORS * plan.lanes


@pytest.mark.parametrize("variables", [1, 3, 17])
@pytest.mark.parametrize("units", [3, 40])
def test_rows_near_the_peak_of_densities_and_far_from_it(variables: int, units: int):
    """Near rows are made without logarithms of their own, up to the first 16 that contain a far one."""
    random, b = np.random.default_rng(variables), CircuitBuilder()
    densities = [
        b.add(
            GaussianLayer(
                scope=(variable,),
                num_output_units=units,
                mean=leaf(random.normal(size=units)),
                stddev=leaf(10.0 ** random.uniform(-2, 0.5, size=units)),
            )
        )
        for variable in range(variables)
    ]
    joint = b.hadamard(*densities) if variables > 1 else densities[0]
    weight = random.uniform(size=(2, units))
    circuit = compile_circuit(b.build(b.sum(joint, num_units=2, weight=leaf(weight))), fold=True, optimize=True)
    x = torch.randn(100, variables, generator=torch.Generator().manual_seed(0))
    for rows in (slice(0, 0), slice(70, 71), slice(33, 36), slice(99, 100)):
        x[rows] *= 100
        made = assert_trains(circuit, x)
        with torch.no_grad():
            assert_equal(made(x), doubled(circuit)(x))
        assert made.certificate == Certificate(100, 0)
    x[5, 0], x[40, 0] = torch.inf, -torch.inf
    with torch.no_grad():
        assert_equal(made(x), doubled(circuit)(x))


@pytest.mark.parametrize("distance", [1e20, -3e24])
def test_gradient_of_a_wide_deviation_is_finite_where_a_squared_distance_is_not(distance: float):
    """For 1e20, the log-likelihood is -5e9, the gradient of the deviation 1e10 / 1e15; but 1e40 overflows a float."""
    b = CircuitBuilder()
    deviation = leaf([abs(distance) / 1e5, abs(distance) / 2e5])
    density = b.add(GaussianLayer(scope=(0,), num_output_units=2, mean=leaf([0.0, 1.0]), stddev=deviation))
    circuit = compile_circuit(b.build(b.sum(density, num_units=1, weight=leaf([[0.3, 0.7]]))))
    x = torch.tensor([[distance], [distance / 3]])
    made, exact = fast(circuit, backend="native"), doubled(circuit)
    for one in (made, exact):
        one(x).sum().backward()
    for found, expected in zip(made.parameters(), exact.parameters(), strict=True):
        assert found.grad is not None
        torch.testing.assert_close(found.grad.double(), expected.grad, rtol=1e-5, atol=0)


@pytest.mark.parametrize("path", reference_paths(), ids=lambda path: path.stem)
def test_a_reference_circuit(path: Path):
    circuit, x, expected = load_reference(path)
    if x is not None and expected.semiring == "lse-sum":
        assert_trains(compile_circuit(circuit, expected.semiring).float(), numbers(x))


@examples(40)
@given(
    circuits(positive=True),
    st.integers(0, 2**16),
    st.sampled_from([1, 3, 33, 70]),
    st.sampled_from(MODES),
)
def test_random_circuits(circuit: Circuit, seed: int, batch: int, mode: Mode):
    x, compiled = random_inputs(circuit, batch, seed), compile_circuit(circuit, **mode)
    if x is not None and compiled(numbers(x)).requires_grad:
        assert_trains(compiled, numbers(x))


# ---------------------------------------------------------------------- batches


@pytest.mark.parametrize("rows", [400, 700])
def test_the_last_tile_may_have_fewer_rows(rows: int):
    """Check that a tile finds what the one before it prepared, in memory with arbitrary numbers."""
    x = torch.randint(256, (rows, 16), generator=torch.Generator().manual_seed(rows))
    assert_trains(compile_circuit(image_circuit(4, 4, units=6)), x)


@pytest.mark.parametrize("common", [3e4, -1e6])
def test_what_all_logits_of_a_variable_have_in_common_rounds_nothing(common: float):
    circuit = compile_circuit(load_named("digits"))
    with torch.no_grad():
        next(one for one in circuit.parameters() if one.shape[-1] == 17).add_(common)
    for rows in (4, 40):
        assert_trains(circuit, torch.randint(17, (rows, 64), generator=torch.Generator().manual_seed(rows)))


def binomial_circuit(total_count: int, num_variables: int, num_units: int) -> Circuit:
    return build_circuit(
        random_binary_tree(num_variables),
        inputs=BinomialInput(total_count),
        sum_product_layer="cp",
        num_input_units=num_units,
        num_sum_units=num_units,
    )


@pytest.mark.parametrize("total_count", [20, 100])
def test_binomial_distributions_with_large_logits_are_right(total_count: int):
    """Probabilities near 1 are a sigmoid: they were rounded before the kernels read what is left to 1."""
    circuit = compile_circuit(binomial_circuit(total_count, num_variables=5, num_units=65), fold=True)
    with torch.no_grad():
        for parameter in circuit.parameters():
            parameter.mul_(10)
    assert_trains(circuit, torch.randint(total_count + 1, (64, 5), generator=torch.Generator().manual_seed(1)))


@pytest.mark.parametrize("logit", [20.0, -20.0])
def test_binomial_distributions_of_which_all_logits_are_large_are_right(logit: float):
    circuit = compile_circuit(binomial_circuit(7, num_variables=3, num_units=5), fold=True)
    names = [name for name in circuit.leaf_state() if name.endswith(".probs")]
    state = circuit.leaf_state()
    circuit.load_leaf_state({**state, **{name: torch.full_like(state[name], logit) for name in names}})
    assert len(names) == 3
    assert_trains(circuit, torch.randint(8, (33, 3), generator=torch.Generator().manual_seed(1)))
