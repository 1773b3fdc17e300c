"""Every type of layer of the package: which backends run it, with a certificate, and which train it."""

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.backend import (
    TorchBinomialLayer,
    TorchCategoricalLayer,
    TorchCircuit,
    TorchConstantValueLayer,
    TorchEmbeddingLayer,
    TorchEvidenceLayer,
    TorchExponentialLayer,
    TorchGaussianLayer,
    TorchHistogramLayer,
    TorchLaplaceLayer,
    TorchLayer,
    TorchMultivariateGaussianLayer,
    TorchPolynomialLayer,
    TorchRearrangeLayer,
    TorchTensorDotLayer,
)
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime import Certificate, fast
from explorer.runtime.cuda.launches import plan_launches
from explorer.runtime.native.training import TrainingProgram
from explorer.runtime.plan import Kind, lower_to_plan, run_passes
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    CircuitBuilder,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    ExponentialLayer,
    GaussianLayer,
    HistogramLayer,
    InputLayer,
    LaplaceLayer,
    MultivariateGaussianLayer,
    PolynomialLayer,
    RearrangeLayer,
    constant,
    operators,
)
from tests.backend.queries.test_layer_types import CIRCUITS
from tests.runtime.circuits import (
    assert_equal,
    assert_equal_gradients,
    doubled,
    gradients,
    has_compiler,
    leaf,
    rearranged_circuit,
)

pytestmark = has_compiler

PROBS = [[0.2, 0.8], [0.6, 0.4]]


def with_input(layer: InputLayer) -> TorchCircuit:
    b = CircuitBuilder()
    return TorchCompiler().compile(b.build(b.sum(b.add(layer), num_units=1, weight=leaf([[0.25, 0.75]]))))


def categorical(variable: int = 0) -> CategoricalLayer:
    return CategoricalLayer(scope=(variable,), num_output_units=2, num_categories=2, probs=leaf(PROBS))


INPUTS: dict[type[TorchLayer], Callable[[], InputLayer]] = {
    TorchCategoricalLayer: categorical,
    TorchEmbeddingLayer: lambda: EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=leaf(PROBS)),
    TorchBinomialLayer: lambda: BinomialLayer(scope=(0,), num_output_units=2, total_count=5, probs=leaf([0.2, 0.7])),
    TorchGaussianLayer: lambda: GaussianLayer(
        scope=(0,), num_output_units=2, mean=leaf([0.0, 1.0]), stddev=leaf([1.0, 2.0])
    ),
    TorchExponentialLayer: lambda: ExponentialLayer(scope=(0,), num_output_units=2, mean=leaf([0.5, 2.0])),
    TorchLaplaceLayer: lambda: LaplaceLayer(
        scope=(0,), num_output_units=2, location=leaf([0.0, 1.0]), scale=leaf([1.0, 2.0])
    ),
    TorchHistogramLayer: lambda: HistogramLayer(
        scope=(0,), num_output_units=2, edges=(0.0, 0.5, 2.0), probs=leaf(PROBS)
    ),
    TorchMultivariateGaussianLayer: lambda: MultivariateGaussianLayer(
        scope=(0, 1),
        num_output_units=2,
        mean=leaf([[0.0, 1.0], [0.5, -1.0]]),
        stddev=leaf([[1.0, 2.0], [0.5, 1.5]]),
        slope=leaf([[[0.0, 0.0], [0.8, 0.0]], [[0.0, 0.0], [-1.5, 0.0]]]),
    ),
    TorchPolynomialLayer: lambda: PolynomialLayer(
        scope=(0,), num_output_units=2, degree=1, coeff=leaf([[1.0, 2.0], [3.0, 0.5]])
    ),
    TorchConstantValueLayer: lambda: ConstantValueLayer(num_output_units=2, value=leaf([0.3, 2.0])),
    TorchEvidenceLayer: lambda: EvidenceLayer(num_output_units=2, layer=categorical(), observation=constant([1])),
}
"""For each type of input layer, one that has two units."""

WITHOUT_TRITON = (TorchTensorDotLayer,)
"""The types of layers that have no Triton kernel."""

X = torch.tensor([[0, 1], [1, 0], [1, 1]])


def circuit_of(kind: type[TorchLayer]) -> TorchCircuit:
    return with_input(INPUTS[kind]()) if kind in INPUTS else CIRCUITS[kind]()


def rows_of(circuit: TorchCircuit) -> Tensor:
    return X[:, : circuit.num_variables]


ALL = (*INPUTS, *CIRCUITS)


def test_every_type_of_layer_of_the_package_is_run_here():
    """Each needs kernel calls (`plan/lowering.py`) and an entry of `INPUTS` or of `CIRCUITS`."""
    kinds: list[type] = [TorchLayer]
    for kind in kinds:
        kinds += [one for one in kind.__subclasses__() if one.__module__.startswith("explorer.backend.")]
    assert {kind for kind in kinds if not kind.__abstractmethods__} == set(ALL)


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
@torch.no_grad()
def test_a_layer_runs_with_a_certificate(kind: type[TorchLayer], backend: str):
    circuit = circuit_of(kind)
    assert any(isinstance(layer, kind) for layer in circuit.layers)
    x = rows_of(circuit)
    for made in (fast(circuit, backend=backend), fast(circuit, backend=backend).freeze()):
        assert_equal(made(x), doubled(circuit)(x))
        assert made.certificate == Certificate(len(x), 0)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_a_layer_is_trained_by_the_native_kernels(kind: type[TorchLayer]):
    circuit = circuit_of(kind)
    x, precise = rows_of(circuit), doubled(circuit)
    assert TrainingProgram(circuit).why_not(x) == ""
    (found, own), (wanted, expected) = gradients(fast(circuit, backend="native"), x), gradients(precise, x)
    assert_equal(found, wanted)
    assert_equal_gradients(own, expected)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_a_layer_has_a_triton_kernel_unless_it_is_listed(kind: type[TorchLayer]):
    plan = run_passes(lower_to_plan(circuit_of(kind)))
    if kind not in WITHOUT_TRITON:
        assert plan_launches(plan).plan is plan
        return
    with pytest.raises(LoweringError, match="there is no Triton kernel of kind tensor-dot"):
        plan_launches(plan)


def test_a_layer_without_a_kernel_call_is_refused_with_a_backend_that_runs_it():
    circuit = CIRCUITS[TorchRearrangeLayer]()

    class Reversed(TorchRearrangeLayer):
        pass

    node, layer = next((n, one) for n, one in circuit.graph.nodes.items() if isinstance(one, TorchRearrangeLayer))
    made = copy.copy(layer)
    object.__setattr__(made, "__class__", Reversed)
    circuit.graph = type(circuit.graph)(
        {**circuit.graph.nodes, node: made}, circuit.graph.inputs, circuit.graph.outputs
    )
    with pytest.raises(LoweringError, match=r"\(Reversed\) has no kernel call: the backend 'torch' runs its circuit"):
        fast(circuit, backend="native")


# ---------------------------------------------------------------------- rearranged units


SHAPES = [((3, 2), (1, 0)), ((6, 5), (0, -1)), ((40, 6), (-1, 0)), ((1, 6), (-1, 0)), ((3, 4, 2), (1, -1, 0))]
"""Sizes and axes: another order, repeated, wide, the same, and both."""


@pytest.mark.parametrize(("sizes", "axes"), SHAPES)
def test_rearranged_units_are_evaluated_and_trained(sizes: tuple[int, ...], axes: tuple[int, ...]):
    circuit = rearranged_circuit(sizes, axes)
    x = torch.cartesian_prod(torch.arange(2), torch.arange(2)).repeat(70, 1)
    precise = doubled(circuit)
    for backend in ("native", "torch"):
        made = fast(circuit, backend=backend)
        with torch.no_grad():
            assert_equal(made(x), precise(x))
        assert made.certificate == Certificate(len(x), 0)
    (_, own), (_, expected) = gradients(fast(circuit, backend="native"), x), gradients(precise, x)
    assert_equal_gradients(own, expected)


def test_units_in_the_same_order_are_not_copied():
    counts = run_passes(lower_to_plan(rearranged_circuit((1, 6), (-1, 0), repeats=3))).counts()
    assert Kind.REARRANGE.value not in counts
    assert run_passes(lower_to_plan(rearranged_circuit((3, 2), (1, 0), repeats=3))).counts()[Kind.REARRANGE.value] == 1


@torch.no_grad()
def test_rearranged_units_of_a_table_are_a_table():
    b = CircuitBuilder()
    repeat = RearrangeLayer(num_input_units=2, num_output_units=4, sizes=(2, 2), axes=(0, -1))
    top = b.sum(b.add(repeat, [b.add(categorical())]), num_units=1, weight=leaf([[1.0, 2.0, 3.0, 4.0]]))
    circuit = TorchCompiler().compile(b.build(top))
    assert run_passes(lower_to_plan(circuit)).counts() == {"table": 1}
    for backend in ("native", "torch"):
        assert_equal(fast(circuit, backend=backend)(X[:, :1]), doubled(circuit)(X[:, :1]))


@pytest.mark.parametrize("far", [-60.0, -110.0, -700.0])
@torch.no_grad()
def test_rearranged_units_far_below_the_largest_are_certified_or_evaluated_again(far: float):
    b = CircuitBuilder()
    coins = [
        b.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=1, logits=constant([[0.0], [far * v]])))
        for v in (0, 1)
    ]
    pair = b.sum(b.hadamard(*coins), num_units=2, weight=constant([[1.0, 0.0], [0.0, 1.0]]))
    repeat = RearrangeLayer(num_input_units=2, num_output_units=4, sizes=(2, 2), axes=(-1, 0))
    top = b.sum(b.add(repeat, [pair]), num_units=1, weight=constant([[0.0, 1.0, 0.0, 2.0]]))
    circuit, x = TorchCompiler(optimize=False).compile(b.build(top)), torch.zeros(1, 2)
    wanted = torch.tensor([[[far + float(np.log(3.0))]]], dtype=torch.float64)
    for backend in ("native", "torch"):
        made = fast(circuit, backend=backend)
        assert_equal(made(x), wanted)
        assert made.certificate is not None


@pytest.mark.parametrize("backend", ["native", "torch"])
@torch.no_grad()
def test_a_product_of_circuits_runs_on_kernels(backend: str):
    b = CircuitBuilder()
    one = b.build(b.kronecker(b.add(categorical(0)), b.add(categorical(1))))
    circuit = TorchCompiler().compile(operators.multiply(one, one))
    assert any(isinstance(layer, TorchRearrangeLayer) for layer in circuit.layers)
    made = fast(circuit, backend=backend)
    assert_equal(made(X), doubled(circuit)(X))
    assert made.certificate == Certificate(len(X), 0)
