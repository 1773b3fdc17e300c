"""The torch backend has the values of the circuit on every circuit, with the same certificate as the native kernels."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor
from torch.func import functional_call, vmap

from explorer.backend import TorchCircuit, TorchTensorDotLayer
from explorer.compiler import TorchCompiler
from explorer.errors import DataTypeError, LoweringError, ShapeError, ValueRangeError
from explorer.runtime import Certificate, FastCircuit, fast
from explorer.runtime.grouped import grouped_program
from explorer.runtime.grouped.groups import group_calls
from explorer.runtime.plan import Kind, lower_to_plan, run_passes
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    EmbeddingLayer,
    KroneckerParameter,
    SoftplusParameter,
    TensorParameter,
)
from explorer.templates import load_named
from tests.fuzzing import examples
from tests.levels.modes import MODES, Mode, compile_circuit
from tests.reference import load_reference, reference_paths
from tests.runtime.circuits import QUICK_CIRCUITS, assert_equal, doubled, image_circuit, without_certificate
from tests.strategies import circuits, random_inputs


@torch.no_grad()
def assert_computes(circuit: TorchCircuit, x: Tensor) -> FastCircuit:
    made = fast(circuit, backend="torch")
    assert made.why_not(x) == ""
    found = made(x)
    assert found.dtype == torch.float32
    assert_equal(found, doubled(circuit)(x))
    assert made.certificate is not None
    assert made.certificate.rows == len(x)
    return made


@pytest.mark.parametrize("name", QUICK_CIRCUITS)
def test_a_circuit_of_the_gallery(name: str):
    circuit = load_named(name)
    x = random_inputs(circuit, 33)
    assert x is not None
    x = torch.from_numpy(np.ascontiguousarray(x))
    for mode in MODES if len(circuit.layers) < 1000 else MODES[-1:]:
        made = assert_computes(compile_circuit(circuit, **mode), x)
        # No random row is a model of the formula, and minus infinity is computed again.
        assert made.certificate == Certificate(33, 33 if name == "logic" else 0)


@pytest.mark.parametrize("path", reference_paths(), ids=lambda path: path.stem)
@torch.no_grad()
@without_certificate
def test_a_reference_circuit(path: Path):
    circuit, x, expected = load_reference(path)
    compiled = compile_circuit(circuit, expected.semiring).float()
    made = fast(compiled, backend="torch")
    if x is None:
        assert torch.equal(made(), compiled())
        return
    x = torch.from_numpy(np.ascontiguousarray(x))
    if expected.semiring != "lse-sum":
        assert f"the semiring is {expected.semiring}" in made.explain()
        assert torch.equal(made(x), compiled(x))
        return
    assert_computes(compiled, x)


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
        with torch.no_grad():
            assert_equal(fast(compiled, backend="torch")(), doubled(compiled)())
    else:
        assert_computes(compiled, torch.from_numpy(np.ascontiguousarray(x)))


def image(layer: str, kind: str, units: int = 8, classes: int = 1) -> TorchCircuit:
    return TorchCompiler().compile(image_circuit(8, 8, layer=layer, units=units, inputs=kind, classes=classes))


def rows(kind: str, count: int = 64) -> Tensor:
    random = torch.Generator().manual_seed(count)
    if kind == "gaussian":
        return torch.randn(count, 64, generator=random)
    return torch.randint(256, (count, 64), generator=random)


@pytest.mark.parametrize("layer", ["cp", "cp-t", "tucker"])
@pytest.mark.parametrize(("kind", "scales"), [("gaussian", (0.1, 0.01)), ("categorical", (10, 20, 40, 80))])
def test_no_row_is_finite_and_wrong_however_sharp_the_distributions(layer: str, kind: str, scales: tuple[float, ...]):
    compiled = image(layer, kind)
    initial = compiled.leaf_state()
    recomputed = []
    for scale in scales:
        deviations = {name: torch.logit(torch.sigmoid(v) * scale) for name, v in initial.items() if "stddev" in name}
        logits = {} if kind == "gaussian" else {name: v * scale for name, v in initial.items()}
        compiled.load_leaf_state({**initial, **deviations, **logits})
        made = assert_computes(compiled, rows(kind))
        assert made.certificate is not None
        recomputed.append(made.certificate.rows_recomputed)
    assert all(count == 0 for count in recomputed) if kind == "gaussian" else recomputed[-1] > 0


@pytest.mark.parametrize("layer", ["cp", "tucker"])
@pytest.mark.parametrize(("units", "classes"), [(1, 1), (3, 5), (17, 2)])
def test_widths_and_classes(layer: str, units: int, classes: int):
    assert_computes(image(layer, "categorical", units, classes), rows("categorical", 5))


def test_units_of_a_group_are_of_one_shape_and_trees_are_read_without_gathers():
    circuit = image_circuit(8, 8, "quad-tree-2", "cp-t", units=4)
    plan = run_passes(lower_to_plan(TorchCompiler().compile(circuit)))
    groups = group_calls(plan)
    assert [(group.kind, len(group.members), group.factors) for group in groups.groups] == [
        (Kind.SUM, 2**height, 2) for height in reversed(range(6))
    ]
    assert groups.indices == ()
    assert sorted(one for group in groups.groups for one in group.members) == sorted(one for one, _ in plan.computed())


def test_partial_products_of_other_shapes_are_in_other_groups():
    """Both have 12 inputs and 6 outputs: y[q*P + p] = sum_j w[p, j] x[j*Q + q] with J*Q = 12 and Q*P = 6."""
    b = CircuitBuilder()

    def category(variable: int) -> int:
        weight = SoftplusParameter((TensorParameter((12, 3)),))
        return b.add(EmbeddingLayer(scope=(variable,), num_output_units=12, num_states=3, weight=weight))

    def kronecker_sum(left: tuple[int, int], right: tuple[int, int], first: int) -> int:
        factors = tuple(SoftplusParameter((TensorParameter(shape),)) for shape in (left, right))
        return b.sum(b.hadamard(category(first), category(first + 1)), num_units=4, weight=KroneckerParameter(factors))

    found = b.hadamard(kronecker_sum((2, 4), (2, 3), 0), kronecker_sum((1, 2), (4, 6), 2))
    circuit = compile_circuit(b.build(b.sum(found, num_units=1)), preset="handbook")
    assert sum(isinstance(layer, TorchTensorDotLayer) for layer in circuit.layers) == 4
    assert_computes(circuit, torch.randint(3, (20, 4), generator=torch.Generator().manual_seed(0)))


# ---------------------------------------------------------------------- calls and parameters


@pytest.fixture(scope="module")
def digits() -> TorchCircuit:
    return TorchCompiler().compile(load_named("digits"))


def pixels(rows: int = 5) -> Tensor:
    return torch.randint(17, (rows, 64), generator=torch.Generator().manual_seed(rows))


@torch.no_grad()
def test_few_rows_are_evaluated_by_the_layers_in_double_precision(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    digits = TorchCompiler().compile(load_named("digits"))
    for parameter in digits.parameters():
        parameter.mul_(40)  # where the layers in single precision are wrong by percents
    made = fast(digits, backend="torch")
    assert made.why_not(pixels()) == ""
    torch.testing.assert_close(made(pixels()).double(), copy.deepcopy(digits).double()(pixels()), rtol=1e-6, atol=0)
    assert made.certificate == Certificate(5, 5)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.float32, torch.float64, torch.float16])
@torch.no_grad()
def test_types_of_x(digits: TorchCircuit, dtype: torch.dtype):
    made, x = fast(digits, backend="torch"), pixels()
    assert torch.equal(made(x.to(dtype)), made(x))
    assert torch.equal(made(x.to(dtype).t().contiguous().t()), made(x))


def test_inference_mode_and_the_default_dtype_do_not_matter(digits: TorchCircuit):
    made, x = fast(digits, backend="torch"), pixels()
    with torch.inference_mode():
        first = made(pixels())
    torch.set_default_dtype(torch.float64)
    with torch.no_grad():
        assert torch.equal(made(x), first)
        assert torch.equal(fast(digits, backend="torch")(x), first)


@torch.no_grad()
def test_matrix_products_of_reduced_precision_are_not_used(digits: TorchCircuit):
    made = fast(digits, backend="torch")
    torch.set_float32_matmul_precision("medium")
    try:
        assert "rounded to bf16" in made.why_not(pixels())
    finally:
        torch.set_float32_matmul_precision("highest")
    assert made.why_not(pixels()) == ""


@torch.no_grad()
def test_a_torch_release_with_one_precision_for_all_libraries(digits: TorchCircuit, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(type(torch.backends.mkldnn), "matmul")
    made = fast(digits, backend="torch")
    assert made.why_not(pixels()) == ""
    torch.set_float32_matmul_precision("medium")
    try:
        assert "rounded to medium" in made.why_not(pixels())
    finally:
        torch.set_float32_matmul_precision("highest")


@torch.no_grad()
def test_bad_input_is_refused_as_by_the_circuit(digits: TorchCircuit):
    made = fast(digits, backend="torch")
    for x in (pixels() + 12, pixels() - 3, pixels().double() + 0.5, pixels() + 2**32, pixels().double() * torch.nan):
        with pytest.raises(ValueRangeError, match="must be an integer from 0 to 16"):
            made(x)
    with pytest.raises(ShapeError):
        made(pixels()[:, :63])
    with pytest.raises(DataTypeError):
        made(pixels().to(torch.complex64))
    assert made(pixels(0)).shape == (0, 1, 1)


@torch.no_grad()
def test_values_without_a_density_have_that_of_the_circuit():
    circuit = image("cp", "gaussian", 2)
    made, x = fast(circuit, backend="torch"), rows("gaussian", 4)
    x[1, 2], x[2, 0] = torch.inf, 1e30
    assert torch.equal(made(x).isfinite(), circuit(x).isfinite())
    assert made(x)[1].item() == circuit(x)[1].item() == -torch.inf
    x[3, 1] = torch.nan
    with pytest.raises(ValueRangeError, match="NaN"):
        made(x)


CHANGES = {
    "in place": lambda p: p.add_(0.3),
    "data": lambda p: p.data.mul_(1.5),
    "numpy": lambda p: np.multiply(p.detach().numpy(), 2.0, out=p.detach().numpy()),
    "set data": lambda p: setattr(p, "data", p.data * 0.5),
}


@pytest.mark.parametrize("change", CHANGES)
@torch.no_grad()
def test_a_change_of_parameters_is_seen(change: str):
    circuit = TorchCompiler().compile(load_named("levels"))
    x = torch.from_numpy(np.ascontiguousarray(random_inputs(load_named("levels"), 8)))
    made = fast(circuit, backend="torch")
    before = made(x)
    for parameter in circuit.parameters():
        CHANGES[change](parameter)
    assert not torch.equal(made(x), before)
    assert_equal(made(x), doubled(circuit)(x))


@torch.no_grad()
def test_functional_call_uses_the_values_that_it_is_given(digits: TorchCircuit):
    made, x = fast(digits, backend="torch"), pixels()
    other = {name: value * 0.5 for name, value in made.named_parameters()}
    before = made(x)
    torch.testing.assert_close(functional_call(made, other, (x,)), functional_call(digits, other, (x,)))
    assert torch.equal(made(x), before)


@torch.no_grad()
@without_certificate
def test_transforms_and_gradients_are_those_of_the_circuit(digits: TorchCircuit):
    made, x = fast(digits, backend="torch"), pixels()
    torch.testing.assert_close(vmap(made)(x.unsqueeze(1)), made(x).unsqueeze(1))
    with torch.enable_grad():
        assert "gradients are recorded" in made.why_not(x)
        found, expected = (torch.autograd.grad(one(x).sum(), list(digits.parameters())) for one in (made, digits))
    assert all(map(torch.equal, found, expected))


@torch.no_grad()
def test_threads_that_call_it_at_once_have_the_same_values(digits: TorchCircuit):
    made, batches = fast(digits, backend="torch"), [pixels(rows) for rows in (5, 70, 300, 7)]

    @torch.no_grad()
    def evaluate(x: Tensor) -> Tensor:
        return made(x)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(evaluate, batches))
    for x, one in zip(batches, found, strict=True):
        assert torch.equal(one, made(x))


@torch.no_grad()
def test_a_frozen_circuit_sees_a_loaded_state(digits: TorchCircuit):
    frozen = digits.freeze()
    made, x = fast(frozen, backend="torch"), pixels()
    first = made(x)
    other = TorchCompiler(seed=5).compile(load_named("digits")).freeze()
    frozen.load_state_dict(other.state_dict())
    torch.testing.assert_close(made(x), other(x))
    assert not torch.equal(made(x), first)


@torch.no_grad()
@without_certificate
def test_another_precision_and_another_semiring_run_the_layers(digits: TorchCircuit):
    circuit = copy.deepcopy(digits)
    made, x = fast(circuit, backend="torch"), pixels()
    made.double()
    assert "kernels compute with float32" in made.why_not(x)
    assert torch.equal(made(x), circuit(x))
    signed = fast(compile_circuit(load_named("blackboard"), "sum-product"), backend="torch")
    assert "layers, one after the other: " in signed.explain()
    with pytest.raises(LoweringError, match="the semiring is sum-product"):
        grouped_program.GroupedProgram(compile_circuit(load_named("blackboard"), "sum-product"))


@torch.no_grad()
def test_copies_and_pickles_are_independent(digits: TorchCircuit):
    made, x = fast(digits, backend="torch"), pixels()
    before = made(x)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert torch.equal(other(x), before)
        for parameter in other.parameters():
            parameter.add_(0.5 * torch.rand(parameter.shape, generator=torch.Generator().manual_seed(1)))
        assert not torch.equal(other(x), before)
        torch.testing.assert_close(other(x), other.circuit(x))
        assert torch.equal(made(x), before)


def test_explain_says_that_training_has_no_certificate_without_gradients():
    compiled = TorchCompiler().compile(load_named("conflict"))
    assert "training: torch has no gradients" in fast(compiled, backend="torch").explain()
    assert "training" not in fast(compiled.freeze(), backend="torch").explain()


def test_a_fast_circuit_is_not_moved_to_the_meta_device():
    made = fast(TorchCompiler().compile(load_named("conflict")), backend="torch")
    with pytest.raises(DataTypeError, match="none on the meta device"):
        made.to("meta")
    assert not any(one.is_meta for one in made.parameters())
