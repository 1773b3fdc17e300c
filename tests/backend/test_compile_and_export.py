"""`torch.compile` and `torch.export` accept a circuit as one graph; both compute its values."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.backend import TorchCircuit, compiled_class_of, parameter_nodes
from explorer.symbolic import (
    BinomialLayer,
    BinomialTableParameter,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ClampParameter,
    ConjugateParameter,
    ConstantInitializer,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    ExpParameter,
    GaussianLayer,
    GaussianProductLogPartitionParameter,
    GaussianProductMeanParameter,
    GaussianProductStddevParameter,
    HadamardParameter,
    IndexParameter,
    KroneckerIdentityParameter,
    KroneckerParameter,
    LogParameter,
    LogSoftmaxParameter,
    MixingWeightParameter,
    OuterProductParameter,
    OuterSumParameter,
    Parameterization,
    ParameterOp,
    PolynomialDifferentialParameter,
    PolynomialLayer,
    PolynomialProductParameter,
    ReduceLSEParameter,
    ReduceProductParameter,
    ReduceSumParameter,
    ReorderParameter,
    ScaledSigmoidParameter,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SquareParameter,
    SumParameter,
    TensorParameter,
    TriangleParameter,
    constant,
)
from explorer.templates import load_named
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit, layer_types, some_input
from tests.needed import is_missing

ENDS = (MODE_IDS[0], MODE_IDS[-1])


def one_of_each() -> Circuit:
    """Every input layer, a Hadamard and a Kronecker product, a mixing sum, evidence and a constant."""
    b = CircuitBuilder()
    parameters = Parameterization("softmax")

    def positive(*shape: int) -> SoftplusParameter:
        return SoftplusParameter((TensorParameter(shape),))

    coin = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=parameters((2, 2)))
    layers = [
        coin,
        EmbeddingLayer(scope=(1,), num_output_units=2, num_states=3, weight=positive(2, 3)),
        BinomialLayer(scope=(2,), num_output_units=2, total_count=3, logits=TensorParameter((2,))),
        GaussianLayer(scope=(3,), num_output_units=2, mean=TensorParameter((2,)), stddev=positive(2)),
        PolynomialLayer(scope=(4,), num_output_units=2, degree=2, coeff=positive(2, 3)),
        ConstantValueLayer(num_output_units=2, value=positive(2)),
        EvidenceLayer(num_output_units=2, layer=coin, observation=constant([1])),
    ]
    x = [b.add(layer) for layer in layers]
    left = b.sum(b.hadamard(*x[:4]), num_units=2)
    right = b.sum(b.kronecker(*x[4:]), num_units=2)
    mixing = MixingWeightParameter((SoftmaxParameter((TensorParameter((2, 2)),)),))
    return b.build(b.sum(b.hadamard(left, right), b.hadamard(right, left), num_units=2, weight=mixing))


def data() -> Tensor:
    x = some_input(one_of_each(), batch=4)
    assert x is not None
    return x


def coins() -> TorchCircuit:
    b = CircuitBuilder()
    given = {"num_output_units": 1, "num_categories": 3, "probs": constant([[0.2, 0.3, 0.5]])}
    layers = [b.add(CategoricalLayer(scope=(v,), **given)) for v in range(2)]
    embedding = EmbeddingLayer(scope=(2,), num_output_units=1, num_states=3, weight=constant([[1.0, 2.0, 3.0]]))
    return compile_circuit(b.build(*layers, b.add(embedding)))


def assert_equal(found: Tensor, wanted: Tensor) -> None:
    np.testing.assert_allclose(found.detach(), wanted.detach(), rtol=1e-12, atol=1e-12)


def test_the_test_circuit_contains_every_layer_that_optimization_creates():
    assert set(layer_types(compile_circuit(one_of_each()))) >= {"CPT", "Tucker", "Mixing", "Evidence", "Polynomial"}


@pytest.mark.parametrize("mode", [pytest.param(MODES[0], marks=pytest.mark.fuzz), MODES[-1]], ids=ENDS)
def test_a_circuit_compiles_to_one_graph_with_its_values(mode: Mode):
    torch.compiler.reset()
    circuit, x = compile_circuit(one_of_each(), **mode), data()
    wanted = circuit(x)
    graphs: list[Any] = []

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]) -> Any:
        graphs.append(graph)
        return graph.forward

    fast = torch.compile(circuit, fullgraph=True, backend=backend)
    assert_equal(fast(x), wanted)
    assert_equal(fast(x), wanted)
    assert len(graphs) == 1


@pytest.mark.parametrize("semiring", ["lse-sum", pytest.param("complex-lse-sum", marks=pytest.mark.fuzz)])
def test_a_compiled_graph_has_the_same_gradients(semiring: str):
    torch.compiler.reset()
    circuit, x = compile_circuit(load_named("blackboard"), semiring), torch.tensor([[0, 0, 0, 0, 0], [1, 0, 1, 1, 0]])
    gradients = []
    for module in (circuit, torch.compile(circuit, fullgraph=True, backend="aot_eager")):
        circuit.zero_grad()
        torch.real(module(x)).sum().backward()
        gradients.append([None if p.grad is None else p.grad.clone() for p in circuit.parameters()])
    for plain, found in zip(*gradients, strict=True):
        assert (plain is None) == (found is None)
        if plain is not None:
            np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-12)


def every_operator() -> Circuit:
    """A product of embeddings, one for each operator and for what the optimization rules make of them."""
    m, k = (constant(np.full((2, 2), value)) for value in (0.4, 0.7))
    p, row, cube = (
        TensorParameter(shape, initializer=ConstantInitializer(0.6)) for shape in ((2, 2), (1, 2), (2, 2, 2))
    )
    vector = TensorParameter((2,), initializer=ConstantInitializer(0.6))
    one = constant([0.8])
    gaussians = [
        GaussianProductMeanParameter((vector, vector, one, one)),
        GaussianProductStddevParameter((vector, one)),
        GaussianProductLogPartitionParameter((vector, vector, one, one)),
    ]
    weights = [
        SoftmaxParameter((p,)),
        ExpParameter((LogSoftmaxParameter((p,)),)),
        SquareParameter((LogParameter((SoftmaxParameter((p,)),)),)),
        SigmoidParameter((p,)),
        ScaledSigmoidParameter((p,), vmin=0.1, vmax=2.0),
        ClampParameter((p,), vmin=0.1),
        SoftplusParameter((p,)),
        ConjugateParameter((HadamardParameter((p, m)),)),
        SumParameter((p, k)),
        KroneckerParameter((row, constant([[0.3], [0.5]]))),
        OuterProductParameter((row, constant([[0.3, 0.4]])), axis=0),
        ReduceSumParameter((OuterProductParameter((cube, constant(np.ones((2, 2, 3)))), axis=2),), axis=1),
        SquareParameter((ReduceLSEParameter((cube,)),)),
        ReduceProductParameter((cube,)),
        OuterSumParameter((constant([[0.1], [0.2]]), p), axis=1),
        IndexParameter((p,), indices=(1, 0), axis=1),
        SquareParameter((PolynomialDifferentialParameter((TensorParameter((2, 3)),)),)),
        PolynomialProductParameter((p, row)),
        *(ExpParameter((BinomialTableParameter((v,), total_count=1, is_logits=True),)) for v in gaussians),
        TriangleParameter((TensorParameter((2, 4), initializer=ConstantInitializer(0.6)),), size=2, add=True),
        KroneckerIdentityParameter((constant([[0.3]]),), size=2),
        ReorderParameter((TensorParameter((2, 6), initializer=ConstantInitializer(0.6)),), sizes=(2, 3), order=(1, 0)),
    ]
    b = CircuitBuilder()
    layers: list[int] = []
    for v, weight in enumerate(weights):
        states = weight.shape[-1]
        units = weight.shape[0]
        layer = b.add(EmbeddingLayer(scope=(v,), num_output_units=units, num_states=states, weight=weight))
        layers.append(layer if units == 2 else b.sum(layer, num_units=2))
    return b.build(b.sum(b.sum(b.hadamard(*layers), num_units=2), num_units=1))


def test_circuit_of_operators_contains_all_and_those_that_optimization_creates():
    used = {type(node) for _, parameter in every_operator().parameters() for node in parameter.nodes()}
    declared = {kind for kind in ParameterOp.__subclasses__() for kind in (kind, *kind.__subclasses__())}
    ours = {kind for kind in declared if kind.__module__.startswith("explorer.") and compiled_class_of(kind)}
    assert ours - used == {MixingWeightParameter}  # which is in `one_of_each`
    found = {type(node).__name__ for node in parameter_nodes(compile_circuit(every_operator(), fold=False).graph)}
    assert found >= {"TorchMatMulParameter", "TorchEinsumParameter", "TorchFlattenParameter"}


@pytest.mark.parametrize(
    ("semiring", "mode", "training"),
    [
        ("lse-sum", MODES[1], True),
        ("complex-lse-sum", MODES[-1], False),
        # `make fuzz` compiles the rest
        pytest.param("lse-sum", MODES[0], True, marks=pytest.mark.fuzz),
        pytest.param("lse-sum", MODES[1], False, marks=pytest.mark.fuzz),
        pytest.param("complex-lse-sum", MODES[-1], True, marks=pytest.mark.fuzz),
    ],
)
def test_every_operator_is_compiled_in_one_graph(semiring: str, mode: Mode, training: bool):
    torch.compiler.reset()
    circuit = compile_circuit(every_operator(), semiring, **mode).train(training)
    x = torch.zeros((3, circuit.num_variables), dtype=torch.long)
    with torch.set_grad_enabled(training):
        assert_equal(torch.compile(circuit, fullgraph=True, backend="eager")(x), circuit(x))


def test_matrix_products_of_parameters_are_compiled_and_exported():
    """The product of the weights of two sums that collapse, one of them a Kronecker product."""
    torch.compiler.reset()
    b = CircuitBuilder()
    p = TensorParameter((2, 2), initializer=ConstantInitializer([[0.1, 0.3], [0.2, 0.7]]))
    x = [b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=ExpParameter((p,)))) for v in (0, 1)]
    inner = b.sum(b.hadamard(*x), num_units=2)
    kronecker = KroneckerParameter((SigmoidParameter((p,)), ExpParameter((p,))))
    circuit = compile_circuit(b.build(b.sum(b.sum(inner, num_units=4), num_units=4, weight=kronecker)))
    found = {type(node).__name__ for node in parameter_nodes(circuit.graph)}
    assert found >= {"TorchMatMulParameter", "TorchKroneckerParameter"}
    rows = torch.tensor([[0, 1], [1, 1]])
    assert_equal(torch.compile(circuit, fullgraph=True, backend="aot_eager")(rows), circuit(rows))
    assert_equal(torch.export.export(circuit.eval(), (rows,), strict=True).module()(rows), circuit(rows))
    frozen = circuit.freeze()
    assert_equal(torch.compile(frozen, fullgraph=True, backend="eager")(rows), circuit(rows))
    assert_equal(torch.export.export(frozen, (rows,), strict=True).module()(rows), circuit(rows))


@pytest.mark.parametrize("mode", [pytest.param(MODES[0], marks=pytest.mark.fuzz), MODES[-1]], ids=ENDS)
def test_a_circuit_is_exported_with_its_values(mode: Mode):
    circuit, x = compile_circuit(one_of_each(), **mode).eval(), data()
    exported = torch.export.export(circuit, (x,))
    assert_equal(exported.module()(x), circuit(x))


def test_an_exported_circuit_accepts_any_batch():
    circuit = compile_circuit(load_named("blackboard")).eval()
    x = torch.tensor([[0, 0, 0, 0, 0], [1, 0, 1, 1, 0]])
    exported = torch.export.export(circuit, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=2)},)).module()
    more = torch.cat([x, x, 1 - x])
    assert_equal(exported(more), circuit(more))


@pytest.mark.fuzz  # the C++ compiler takes longest
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")  # what inductor imports uses it
def test_a_circuit_compiled_by_inductor_has_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The default of `torch.compile`: kernels are generated, compiled and run."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        is_missing("a C++ compiler", "apt-get install g++ (or set CXX to one)")
    from torch._inductor import config

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    circuit = compile_circuit(load_named("blackboard")).eval()
    x = torch.tensor([[0, 0, 0, 0, 0], [1, 0, 1, 1, 0]])
    torch.compiler.reset()
    with torch.no_grad(), config.patch(compile_threads=1):  # a pool of processes would outlive the test
        assert_equal(torch.compile(circuit, fullgraph=True)(x), circuit(x))
    torch.compiler.reset()
    assert list(tmp_path.rglob("*.cpp")), "nothing was compiled"


def test_an_illegal_category_results_in_nan_where_checks_cannot_run():
    """All of them in one batch, because compiling and exporting a circuit is slow."""
    torch.compiler.reset()
    circuit = coins()
    bad = [3.0, -1.0, 100.0, 0.5, float("nan")]
    x = torch.tensor([[0.0, 1.0, 2.0], *([0.0, value, value] for value in bad)])
    fast = torch.compile(circuit, fullgraph=True, backend="eager")
    exported = torch.export.export(circuit.eval(), (x[:1].repeat(len(x), 1),)).module()
    legal = circuit(x[:1])
    for found in (fast(x), exported(x)):
        assert_equal(found[:1], legal)
        assert torch.isnan(found[1:]).squeeze(-1).tolist() == [[False, True, True]] * len(bad)


def test_illegal_integers_result_in_nan_where_checks_cannot_run():
    torch.compiler.reset()
    fast = torch.compile(coins(), fullgraph=True, backend="eager")
    found = fast(torch.tensor([[0, 3, 2], [-1, 1, 2]]))
    assert torch.isnan(found).squeeze(-1).tolist() == [[False, True, False], [True, False, False]]


def test_an_illegal_count_results_in_nan_where_checks_cannot_run():
    torch.compiler.reset()
    b = CircuitBuilder()
    layer = BinomialLayer(scope=(0,), num_output_units=1, total_count=3, probs=constant([0.5]))
    fast = torch.compile(compile_circuit(b.build(b.add(layer))), fullgraph=True, backend="eager")
    found = fast(torch.tensor([[0.0], [4.0], [-1.0], [6.0], [0.5]]))
    assert torch.isnan(found).ravel().tolist() == [False, True, True, True, True]
