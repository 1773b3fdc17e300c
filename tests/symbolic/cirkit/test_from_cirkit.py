"""Circuits of the peer have the same values here: every template, region graph, layer, parameter and operator."""

import gc
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from explorer.compiler import TorchCompiler
from explorer.errors import ConversionError, DataTypeError, ValueRangeError
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    CirkitReader,
    ConstantInitializer,
    DataType,
    DirichletInitializer,
    EmbeddingLayer,
    NormalInitializer,
    SoftmaxInitializer,
    TensorParameter,
    UniformInitializer,
    circuits_from_cirkit,
    from_cirkit,
    is_cirkit,
)

pytest.importorskip("cirkit")
pytestmark = pytest.mark.peer

from cirkit.symbolic import functional, initializers, layers, parameters  # noqa: E402
from cirkit.symbolic.circuit import Circuit as PeerCircuit  # noqa: E402
from cirkit.symbolic.registry import OperatorSignatureNotFound  # noqa: E402
from cirkit.utils.scope import Scope  # noqa: E402

from tests.symbolic.cirkit.peer_circuits import (  # noqa: E402
    MODES,
    NOTEBOOKS,
    OPERATORS,
    PLAIN,
    TEMPLATES,
    chain,
    compile_peer,
    image,
    rows_of,
)


@pytest.fixture(autouse=True)
def double_precision():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def build(name: str) -> PeerCircuit:
    """A circuit of the peer; skips the test if the installed release has no such template or operator."""
    try:
        return (TEMPLATES | OPERATORS | NOTEBOOKS)[name]()
    except (AttributeError, NotImplementedError, OperatorSignatureNotFound) as error:
        pytest.skip(str(error))


def values_of(circuit: Circuit, x: "torch.Tensor | None", semiring: str = "sum-product") -> Any:
    return TorchCompiler(semiring=semiring).compile(circuit)(x).detach().resolve_conj().numpy()


def assert_same_values(peer: Any, context: Any, semiring: str = "sum-product") -> Circuit:
    """The converted circuit, after comparing it with the peer's in double precision."""
    circuit = from_cirkit(peer, context=context)
    x = rows_of(peer)
    wanted = (peer() if x is None else peer(x)).detach().resolve_conj().numpy()
    found = values_of(circuit, x, semiring)
    if semiring == "complex-lse-sum":  # logarithms of complex numbers are defined up to 2 pi i
        found, wanted = np.exp(found), np.exp(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)
    return circuit


@pytest.mark.parametrize("name", [*TEMPLATES, *OPERATORS, *NOTEBOOKS])
def test_a_compiled_circuit_has_the_same_values(name):
    symbolic = build(name)
    semiring = (
        "complex-lse-sum" if "born" in name or "complex" in name else "sum-product"
    )  # the other semirings of the peer are real
    circuit = assert_same_values(*compile_peer(symbolic, semiring), semiring)
    assert len(circuit.layers) == len(list(symbolic.layers))


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("name", ["quad-graph tucker", "poon-domingos cp-t", "table", "square"])
def test_values_are_found_in_every_mode_and_after_training(name, mode):
    peer, context = compile_peer(build(name), "lse-sum", **mode)
    with torch.no_grad():
        for parameter in peer.parameters():
            parameter.add_(0.1 * torch.rand_like(parameter))
    assert_same_values(peer, context, "lse-sum")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_circuits_as_in_the_notebooks_are_read_folded_and_optimized_after_training(name):
    semiring = "complex-lse-sum" if "square" in name else "sum-product"
    peer, context = compile_peer(build(name), semiring, fold=True, optimize=True)
    with torch.no_grad():
        for parameter in peer.parameters():
            parameter.add_(0.1 * torch.rand_like(parameter))
    assert_same_values(peer, context, semiring)


def test_a_quadrature_circuit_is_refused_by_name():
    pic = pytest.importorskip("cirkit.backend.torch.parameters.pic")
    torch.set_default_dtype(torch.float32)  # as the nodes of its quadrature
    peer, context = compile_peer(image("quad-tree-2", weights=PLAIN), "lse-sum", fold=True)
    pic.pc2qpc(peer, integration_method="trapezoidal", net_dim=4)
    named = r"parameter _nodes\.0\.probs\.net.* \(TorchCategoricalLayer > PICInputNet > .*after cirkit had compiled it"
    with pytest.raises(ConversionError, match=named):
        from_cirkit(peer, context=context)


def test_values_are_those_of_single_precision_too():
    torch.set_default_dtype(torch.float32)
    peer, context = compile_peer(chain(), fold=True)
    circuit = from_cirkit(peer, context=context)
    values = [leaf.initializer for leaf in circuit.leaf_names if isinstance(leaf.initializer, ConstantInitializer)]
    assert {str(value.value.dtype) for value in values} == {"float32"}
    np.testing.assert_allclose(values_of(circuit, rows_of(peer)), peer(rows_of(peer)).detach(), rtol=1e-5)


def test_values_of_half_precision_are_read():
    peer, context = compile_peer(chain(), fold=True)
    wanted = from_cirkit(peer, context=context).leaf_names
    found = from_cirkit(peer.bfloat16(), context=context).leaf_names
    for leaf, rounded in zip(wanted, found, strict=True):
        np.testing.assert_allclose(value_of(rounded), value_of(leaf), rtol=0.01)


def value_of(leaf: TensorParameter) -> Any:
    assert isinstance(leaf.initializer, ConstantInitializer)
    return leaf.initializer.value


def test_a_copy_of_a_compiled_circuit_is_missed_by_name():
    peer, _context = compile_peer(chain())
    with pytest.raises(ConversionError, match="no longer exists, or it is a copy"):
        from_cirkit(deepcopy(peer))


def test_a_leaf_keeps_its_type_and_whether_it_is_learned():
    circuit = from_cirkit((OPERATORS | TEMPLATES)["by hand"]())
    constants = [leaf for leaf in circuit.leaf_names if isinstance(leaf.initializer, ConstantInitializer)]
    assert [leaf.learnable for leaf in constants] == [False]
    assert {leaf.dtype for leaf in circuit.leaf_names} == {DataType.REAL}
    born = from_cirkit(OPERATORS["born"]())
    assert {leaf.dtype for leaf in born.leaf_names} == {DataType.COMPLEX}


def test_a_square_shares_its_leaves_with_the_circuit():
    symbolic = image("quad-tree-2")
    circuit, square = circuits_from_cirkit([symbolic, functional.multiply(symbolic, symbolic)])
    assert set(square.leaf_names) == set(circuit.leaf_names)
    assert square.leaf_names == circuit.leaf_names
    assert len(from_cirkit(functional.multiply(symbolic, symbolic)).leaf_names) == len(circuit.leaf_names)


def test_a_leaf_that_two_contexts_have_compiled_has_both_values():
    symbolic = chain()
    peers = [compile_peer(symbolic) for _ in range(2)]
    x = rows_of(symbolic)
    for circuit, (peer, _) in zip(circuits_from_cirkit([peer for peer, _ in peers]), peers, strict=True):
        np.testing.assert_allclose(values_of(circuit, x), peer(x).detach(), rtol=1e-10)


def test_circuits_that_are_converted_one_after_the_other_share_their_leaves():
    symbolic, reader = image("quad-tree-2"), CirkitReader()
    circuit = reader.read(symbolic)
    with pytest.raises(DataTypeError):
        reader.read(3)
    square = reader.read(functional.multiply(symbolic, symbolic))
    other = reader.read(image("quad-tree-2"))
    assert square.leaf_names == circuit.leaf_names
    assert list(circuit.leaf_names.values()) == list(from_cirkit(symbolic).leaf_names.values())
    assert set(other.leaf_names).isdisjoint(circuit.leaf_names)
    assert set(other.leaf_names.values()).isdisjoint(circuit.leaf_names.values())


def test_compiled_circuits_share_their_leaves_within_one_context_only():
    symbolic, reader = chain(), CirkitReader()
    peer, context = compile_peer(symbolic)
    first, second = reader.read(peer, context=context), reader.read(symbolic)
    again, (third, _) = reader.read(peer, context=context), compile_peer(symbolic)
    assert set(first.leaf_names) == set(again.leaf_names)
    assert set(first.leaf_names).isdisjoint(second.leaf_names)
    x = rows_of(symbolic)
    np.testing.assert_allclose(values_of(reader.read(third), x), third(x).detach(), rtol=1e-10)
    np.testing.assert_allclose(values_of(again, x), peer(x).detach(), rtol=1e-10)


# ---- initializers


def leaf_with(initializer: Any, *shape: int, **options: Any) -> TensorParameter:
    parameter = parameters.Parameter.from_input(parameters.TensorParameter(*shape, initializer=initializer, **options))
    layer = layers.EmbeddingLayer(Scope([0]), shape[0], num_states=shape[1], weight=parameter)
    (leaf,) = from_cirkit(PeerCircuit([layer], {}, [layer])).leaf_names
    return leaf


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (lambda: initializers.NormalInitializer(1.0, 0.5), NormalInitializer(1.0, 0.5)),
        (lambda: initializers.UniformInitializer(-1.0, 0.5), UniformInitializer(-1.0, 0.5)),
        (lambda: initializers.DirichletInitializer(0.5, axis=0), DirichletInitializer(0.5, 0)),
        (lambda: initializers.DirichletInitializer([0.5, 1.0, 2.0]), DirichletInitializer((0.5, 1.0, 2.0))),
    ],
)
def test_initializers_are_kept(theirs, ours):
    assert leaf_with(theirs(), 2, 3).initializer == ours


def test_an_initializer_that_normalizes_is_kept():
    try:
        theirs = initializers.NormalInitializer(convex=True)
    except TypeError:
        pytest.skip("this release cannot normalize")
    leaf = leaf_with(theirs, 2, 3)
    assert leaf.initializer == SoftmaxInitializer(NormalInitializer())
    b = CircuitBuilder()
    compiled = TorchCompiler().compile(
        b.build(b.add(EmbeddingLayer(scope=(0,), num_output_units=2, num_states=3, weight=leaf)))
    )
    torch.testing.assert_close(compiled.leaf_state()["0.weight"].sum(-1), torch.ones(2))


def test_constant_initial_values_are_broadcast_as_the_peer_does():
    leaf = leaf_with(initializers.ConstantTensorInitializer(np.array([1.0, 2.0, 3.0])), 2, 3)
    assert isinstance(leaf.initializer, ConstantInitializer)
    np.testing.assert_array_equal(leaf.initializer.value, [[1.0, 2.0, 3.0]] * 2)
    assert leaf_with(initializers.ConstantTensorInitializer(2), 2, 3, dtype=integer(), learnable=False).dtype is (
        DataType.INTEGER
    )


def integer() -> Any:
    from cirkit.symbolic.dtypes import DataType as PeerDataType

    return PeerDataType.INTEGER


# ---- what cannot be converted


def test_other_objects_are_refused():
    assert not is_cirkit(torch.nn.Linear(1, 1))
    with pytest.raises(DataTypeError, match=r"expected a circuit of cirkit, symbolic or compiled; got builtins\.int"):
        from_cirkit(3)


def test_a_layer_of_the_user_is_named_with_where_it_is():
    class MyLayer(layers.EmbeddingLayer):
        """A different function with the parameters of an embedding."""

    odd = MyLayer(Scope([3]), 2)
    with pytest.raises(
        ConversionError, match=r"layer 0 \(MyLayer of variables \[3\]\): cannot convert the layer .*MyLayer"
    ):
        from_cirkit(PeerCircuit([odd], {}, [odd]))


def test_a_parameter_of_the_user_is_named_with_where_it_is():
    class Cube(parameters.ExpParameter):
        """x^3"""

    weight = parameters.Parameter.from_unary(
        Cube((2, 2)), parameters.TensorParameter(2, 2, initializer=initializers.NormalInitializer())
    )
    odd = layers.EmbeddingLayer(Scope([0]), 2, weight=weight)
    with pytest.raises(ConversionError, match=r"layer 0 .*: weight: cannot convert the parameter .*Cube"):
        from_cirkit(PeerCircuit([odd], {}, [odd]))


def test_an_initializer_of_the_user_is_named_with_where_it_is():
    class Ones(initializers.NormalInitializer):
        """Not normal at all."""

    with pytest.raises(ConversionError, match=r"layer 0 .*: weight: cannot convert the initializer .*Ones"):
        leaf_with(Ones(), 2, 2)


def test_values_that_the_peer_accepts_and_this_package_does_not_are_refused():
    negative = parameters.Parameter.from_input(parameters.ConstantParameter(1, 2, value=-0.5))
    odd = layers.CategoricalLayer(Scope([0]), 1, num_categories=2, probs=negative)
    with pytest.raises(
        ConversionError, match=r"layer 0 \(CategoricalLayer of variables \[0\]\): .*probs must be at least 0"
    ):
        from_cirkit(PeerCircuit([odd], {}, [odd]))


def test_observing_the_last_category_as_minus_one_is_refused():
    last: Any = {0: -1}
    with pytest.raises(
        ConversionError, match=r"EvidenceLayer.*: observation must be an integer from 0 to 255; found -1"
    ):
        from_cirkit(functional.evidence(image("quad-tree-2"), obs=last))


# ---- which compiler


def test_the_context_is_found_while_it_is_in_use_and_missed_by_name_afterwards():
    peer, context = compile_peer(chain(), fold=True)
    assert len(from_cirkit(peer).leaf_names) > 0
    gc.freeze()  # as large traces do
    try:
        assert len(from_cirkit(peer).leaf_names) > 0
    finally:
        gc.unfreeze()
    del context
    gc.collect()
    with pytest.raises(ConversionError, match="the PipelineContext that compiled it no longer exists"):
        from_cirkit(peer)


def test_a_context_that_compiled_something_else_is_refused():
    peer, _kept = compile_peer(chain())
    _, other = compile_peer(chain())
    with pytest.raises(ConversionError, match="this circuit was not compiled by the given context"):
        from_cirkit(peer, context=other)
    with pytest.raises(DataTypeError, match=r"context must be a PipelineContext of cirkit; found builtins\.str"):
        from_cirkit(peer, context="mine")


def test_a_circuit_whose_parameters_were_replaced_is_refused():
    peer, context = compile_peer(chain())
    layer = next(layer for layer in peer.layers if "weight" in layer.params)
    other, _kept = compile_peer(chain())
    layer.weight = next(layer for layer in other.layers if "weight" in layer.params).weight
    with pytest.raises(ConversionError, match="after cirkit had compiled it"):
        from_cirkit(peer, context=context)


def test_inputs_of_categories_are_checked_here_where_the_peer_counts_from_the_end():
    peer, context = compile_peer(image("quad-tree-2"))
    ours = TorchCompiler(semiring="sum-product").compile(from_cirkit(peer, context=context))
    x = torch.zeros((1, 9), dtype=torch.long)
    last, minus_one = x.clone(), x.clone()
    last[0, 0], minus_one[0, 0] = 255, -1
    torch.testing.assert_close(peer(minus_one), peer(last))
    with pytest.raises(ValueRangeError):
        ours(minus_one)
