"""A fast circuit has the values of its circuit, for every circuit, call and change of parameters."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor
from torch.func import functional_call, vmap

import explorer
from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError, DataTypeError, LoweringError, ShapeError, UnknownNameError, ValueRangeError
from explorer.runtime import Certificate, FastCircuit, fast
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    GaussianLayer,
    Parameterization,
)
from explorer.templates import gallery, load_named
from tests.fuzzing import examples
from tests.levels.modes import MODES, Mode, compile_circuit
from tests.reference import load_reference, reference_paths
from tests.runtime.circuits import assert_equal, doubled, has_compiler, image_circuit, without_certificate
from tests.strategies import circuits, random_inputs

pytestmark = has_compiler


@torch.no_grad()
def assert_computes(circuit: TorchCircuit, x: Tensor) -> FastCircuit:
    made = fast(circuit, backend="native")
    assert made.why_not(x) == ""
    found = made(x)
    assert found.dtype == torch.float32
    assert_equal(found, doubled(circuit)(x))
    assert made.certificate is not None
    assert made.certificate.rows == len(x)
    return made


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.fuzz] if name == "mnist" else [])
        for name in gallery.names()
        if name not in ("poon-domingos", "sos")
    ],
)
def test_a_circuit_of_the_gallery(name: str):
    circuit = load_named(name)
    x = random_inputs(circuit, 33)
    assert x is not None
    x = torch.from_numpy(np.ascontiguousarray(x))
    for mode in MODES if len(circuit.layers) < 1000 else MODES[-1:]:
        made = assert_computes(compile_circuit(circuit, **mode), x)
        assert made.certificate == Certificate(33, 0)


@pytest.mark.parametrize("path", reference_paths(), ids=lambda path: path.stem)
@torch.no_grad()
def test_a_reference_circuit(path: Path):
    circuit, x, expected = load_reference(path)
    compiled = compile_circuit(circuit, expected.semiring).float()
    if expected.semiring != "lse-sum":
        with pytest.raises(LoweringError, match=f"the semiring is {expected.semiring}"):
            fast(compiled, backend="native")
        return
    if x is None:
        assert_equal(fast(compiled, backend="native")().detach(), doubled(compiled)().detach())
        return
    assert_computes(compiled, torch.from_numpy(np.ascontiguousarray(x)))


def test_circuits_with_negative_weights_are_refused():
    with pytest.raises(LoweringError, match="is negative or NaN"):
        fast(TorchCompiler().compile(load_named("sos")), backend="native")


@examples(40)
@given(
    circuits(positive=True),
    st.integers(0, 2**16),
    st.sampled_from([1, 3, 33, 70]),
    st.sampled_from(MODES),
)
def test_random_circuits(circuit: Circuit, seed: int, batch: int, mode: Mode):
    x, compiled = random_inputs(circuit, batch, seed), compile_circuit(circuit, **mode)
    if x is None:
        assert_equal(fast(compiled, backend="native")().detach(), doubled(compiled)().detach())
    else:
        assert_computes(compiled, torch.from_numpy(np.ascontiguousarray(x)))


@pytest.mark.parametrize("layer", ["cp", "cp-t", "tucker"])
@pytest.mark.parametrize(("kind", "scales"), [("gaussian", (0.1, 0.01)), ("categorical", (10, 20, 40, 80))])
def test_no_row_is_finite_and_wrong_however_sharp_the_distributions(layer: str, kind: str, scales: tuple[float, ...]):
    """In single precision, the layers of the circuit are wrong by up to 2 % here."""
    compiled = TorchCompiler().compile(image_circuit(8, 8, layer=layer, units=8, inputs=kind))
    initial = compiled.leaf_state()
    random = torch.Generator().manual_seed(0)
    x = torch.randn(64, 64, generator=random) if kind == "gaussian" else torch.randint(256, (64, 64), generator=random)
    for scale in scales:
        deviations = {name: torch.logit(torch.sigmoid(v) * scale) for name, v in initial.items() if "stddev" in name}
        logits = {} if kind == "gaussian" else {name: v * scale for name, v in initial.items()}
        sharper = {**initial, **deviations, **logits}
        compiled.load_leaf_state(sharper)
        made = assert_computes(compiled, x)
        assert made.certificate is not None
        if kind == "gaussian":
            assert made.certificate.rows_recomputed == 0


# ---------------------------------------------------------------------- calls


@pytest.fixture(scope="module")
def digits() -> TorchCircuit:
    return TorchCompiler().compile(load_named("digits"))


def pixels(rows: int = 5) -> Tensor:
    return torch.randint(17, (rows, 64), generator=torch.Generator().manual_seed(rows))


@torch.no_grad()
def test_threads_and_rows_in_any_number_give_the_same_bits(digits):
    made = fast(digits, backend="native")
    x, before = pixels(700), torch.get_num_threads()
    try:
        found = {}
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found[threads] = made(x)
        assert torch.equal(found[1], found[2])
        assert torch.equal(found[1], found[3])
        assert torch.equal(torch.cat([made(x[:1]), made(x[1:18]), made(x[18:])]), found[1])
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.float32, torch.float64, torch.float16])
@torch.no_grad()
def test_types_of_x(digits, dtype):
    made, x = fast(digits, backend="native"), pixels()
    assert torch.equal(made(x.to(dtype)), made(x))
    assert torch.equal(made(x.to(dtype).t().contiguous().t()), made(x))


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float64])
@torch.no_grad()
def test_variables_are_read_from_their_columns_in_any_order_and_number(dtype: torch.dtype):
    """Squares of 16 rows and variables are copied at a time: none of the numbers below is a multiple of it."""
    b, probs = CircuitBuilder(), Parameterization("softmax")
    real, positive = Parameterization("none"), Parameterization("softplus")
    layers: list[int] = []
    for at, column in enumerate(int(one) for one in np.random.default_rng(0).permutation(43)):
        scope, states = (column,), column + 2
        if at % 3 == 0:
            density = GaussianLayer(scope=scope, num_output_units=3, mean=real((3,)), stddev=positive((3,)))
            layers.append(b.add(density))
        elif at % 3 == 1:
            table = CategoricalLayer(scope=scope, num_output_units=3, num_categories=states, probs=probs((3, states)))
            layers.append(b.add(table))
    circuit = TorchCompiler().compile(b.build(b.sum(b.hadamard(*layers), num_units=2)))
    x = np.random.default_rng(1).integers(0, np.arange(43) + 2, (37, 43))
    assert_computes(circuit, torch.from_numpy(x).to(dtype))


@torch.no_grad()
def test_the_default_dtype_of_torch_does_not_matter(digits):
    made, x = fast(digits, backend="native"), pixels()
    before = made(x)
    torch.set_default_dtype(torch.float64)
    assert torch.equal(made(x), before)
    assert torch.equal(fast(digits, backend="native")(x), before)


@torch.no_grad()
def test_bad_input_is_refused_as_by_the_circuit(digits):
    made = fast(digits, backend="native")
    for x in (pixels() + 12, pixels() - 3, pixels().double() + 0.5, pixels() + 2**32, pixels().double() * torch.nan):
        with pytest.raises(ValueRangeError, match="must be an integer from 0 to 16"):
            made(x)
    with pytest.raises(ShapeError):
        made(pixels()[:, :63])
    with pytest.raises(ShapeError):
        made()
    with pytest.raises(DataTypeError):
        made([1, 2])
    with pytest.raises(DataTypeError):
        made(pixels().to(torch.complex64))
    assert made(pixels(0)).shape == (0, 1, 1)


@torch.no_grad()
def test_values_without_a_density_have_that_of_the_circuit():
    circuit = TorchCompiler().compile(image_circuit(2, 2, "quad-tree-2", units=2, inputs="gaussian"))
    made, x = fast(circuit, backend="native"), torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
    x[1, 2], x[2, 0] = torch.inf, 1e30
    assert torch.equal(made(x).isfinite(), circuit(x).isfinite())
    assert made(x)[1].item() == circuit(x)[1].item() == -torch.inf
    x[3, 1] = torch.nan
    with pytest.raises(ValueRangeError, match="NaN"):
        made(x)


# ---------------------------------------------------------------------- parameters


CHANGES = {
    "in place": lambda p: p.add_(0.3),
    "data": lambda p: p.data.mul_(1.5),
    "numpy": lambda p: np.multiply(p.detach().numpy(), 2.0, out=p.detach().numpy()),
    "set data": lambda p: setattr(p, "data", p.data * 0.5),
}


@pytest.mark.parametrize("change", CHANGES)
@torch.no_grad()
def test_a_change_of_parameters_is_seen(change):
    circuit = TorchCompiler().compile(load_named("levels"))
    x = torch.from_numpy(np.ascontiguousarray(random_inputs(load_named("levels"), 8)))
    made = fast(circuit, backend="native")
    before = made(x)
    for parameter in circuit.parameters():
        CHANGES[change](parameter)
    assert not torch.equal(made(x), before)
    assert_equal(made(x), doubled(circuit)(x))


def test_a_step_of_a_fused_optimizer_and_a_loaded_state_are_seen():
    circuit = TorchCompiler().compile(load_named("digits"))
    made, x = fast(circuit, backend="native"), pixels(20)
    optimizer = torch.optim.Adam(made.parameters(), lr=0.1, fused=True)
    state = copy.deepcopy(made.state_dict())
    assert list(state) == list(circuit.state_dict())
    with torch.no_grad():
        first = made(x)
    (-made(x).mean()).backward()
    optimizer.step()
    with torch.no_grad():
        assert (made(x).mean() - first.mean()).item() > 1
        assert_equal(made(x), doubled(circuit)(x))
        made.load_state_dict(state)
        assert torch.equal(made(x), first)


@torch.no_grad()
@without_certificate
def test_functional_call_uses_the_values_that_it_is_given(digits):
    made, x = fast(digits, backend="native"), pixels()
    other = {name: value * 0.5 for name, value in made.named_parameters()}
    before = made(x)
    torch.testing.assert_close(functional_call(made, other, (x,)), functional_call(digits, other, (x,)))
    assert torch.equal(made(x), before)
    torch.testing.assert_close(vmap(made)(x.unsqueeze(1)), before.unsqueeze(1))


@torch.no_grad()
def test_a_frozen_circuit_keeps_its_values_and_sees_a_loaded_state(digits):
    frozen = digits.freeze()
    made, x = frozen.fast(backend="native"), pixels()
    first = made(x)
    state = frozen.state_dict()
    assert torch.equal(first, fast(digits, backend="native")(x))
    other = TorchCompiler(seed=5).compile(load_named("digits")).freeze()
    frozen.load_state_dict(other.state_dict())
    torch.testing.assert_close(made(x), other(x))
    assert not torch.equal(made(x), first)
    assert list(state) == list(made.state_dict())


@torch.no_grad()
@without_certificate
def test_another_precision_runs_the_circuit(digits):
    circuit = copy.deepcopy(digits)
    made, x = fast(circuit, backend="native"), pixels()
    made.double()
    assert next(circuit.parameters()).dtype == torch.float64
    assert "kernels compute with float32" in made.why_not(x)
    assert torch.equal(made(x), circuit(x))
    made.float()
    assert made.why_not(x) == ""


@torch.no_grad()
def test_negative_weights_run_the_circuit():
    circuit = compile_circuit(load_named("blackboard"), "sum-product")
    with pytest.raises(LoweringError, match="the semiring is sum-product"):
        fast(circuit, backend="native")
    made = explorer.fast(circuit)
    assert made.backend.name == "torch"
    assert "native: not used: kernel calls have logarithms" in made.explain()


@torch.no_grad()
def test_copies_and_pickles_are_independent(digits):
    made, x = fast(digits, backend="native"), pixels()
    before = made(x)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert torch.equal(other(x), before)
        for parameter in other.parameters():
            parameter.add_(0.5 * torch.rand(parameter.shape, generator=torch.Generator().manual_seed(1)))
        assert not torch.equal(other(x), before)
        torch.testing.assert_close(other(x), other.circuit(x))
        assert torch.equal(made(x), before)


@torch.no_grad()
def test_it_explains_itself(digits):
    made = fast(digits)
    made(pixels())
    assert made.explain().splitlines()[1:] == [
        "triton: not used: the circuit is on cpu, and its kernels run on cuda",
        "torch: slower than native",
        "last call: 5 of 5 rows certified, 0 again in double precision",
    ]
    assert made.explain().startswith("native: used: 64 table, 21 sum; ")
    with pytest.raises(UnknownNameError, match="backend"):
        fast(digits, backend="quantum")


def test_a_circuit_that_is_prepared_for_a_batch_size_runs_batches_of_any(digits):
    made = digits.fast(batch_size=np.int64(16))  # pyright: ignore[reportArgumentType]
    assert made.certificate is None, "of no call yet"
    assert made.num_variables == digits.num_variables
    for rows in (1, 16, 40):
        assert_equal(made(pixels(rows)), doubled(digits)(pixels(rows)))
    with pytest.raises(ValueRangeError, match="batch_size must be at least 1; found 0"):
        fast(digits, batch_size=0)
    for odd in (2.5, True, "2"):
        with pytest.raises(DataTypeError, match="batch_size must be an integer; found"):
            fast(digits, batch_size=odd)  # pyright: ignore[reportArgumentType]


def test_only_a_compiled_circuit_is_made_fast(digits):
    others: list[Any] = [torch.nn.Linear(2, 2), load_named("digits")]
    for other in others:
        with pytest.raises(DataTypeError, match="takes a compiled or a frozen circuit"):
            fast(other)


@pytest.mark.parametrize("wrong", [torch.zeros(3, 2), torch.zeros(5, 64, dtype=torch.complex64), None])
@torch.no_grad()
def test_after_a_call_that_raised_an_error_nothing_is_said_of_the_last_call(digits, wrong):
    made = fast(digits)
    made(pixels())
    with pytest.raises(CircuitError):
        made(wrong)
    assert made.certificate is None
    assert not made.circuit_answered
    assert "last call" not in made.explain()
    assert "last call: 5 of 5 rows" in (made(pixels()), made.explain())[1]


@torch.no_grad()
@without_certificate
def test_the_certificate_is_that_of_the_last_call(digits):
    made = fast(digits, backend="native")
    made(pixels())
    assert "5 of 5 rows certified" in made.explain()
    with torch.autocast("cpu"):
        made(pixels())
    assert made.certificate is None
    assert "the circuit itself, without a certificate" in made.explain()
