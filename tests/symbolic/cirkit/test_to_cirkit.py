"""Circuits of this package have the same values in the peer, and come back from there with the same ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given

from explorer.compiler import TorchCompiler
from explorer.errors import ConversionError, DataTypeError, ShapeError, UnknownNameError
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    DataType,
    DirichletInitializer,
    EmbeddingLayer,
    IndexParameter,
    Initializer,
    InputLayer,
    KroneckerIdentityParameter,
    NormalInitializer,
    ParameterNode,
    ParameterOp,
    RearrangeLayer,
    ReorderParameter,
    ScaledSigmoidParameter,
    SoftmaxInitializer,
    TensorParameter,
    TriangleParameter,
    from_cirkit,
    to_cirkit,
)
from explorer.symbolic.cirkit.classes import LAYERS, OPERATORS
from explorer.symbolic.operators import integrate, multiply
from explorer.templates import gallery
from tests.fuzzing import examples
from tests.oracle import assert_equals_oracle, constant_leaf_values
from tests.strategies import circuits, random_inputs

pytest.importorskip("cirkit")
pytestmark = pytest.mark.peer

from tests.symbolic.cirkit.peer_circuits import compile_peer  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def tensor_of(x: "np.ndarray[Any, Any] | None") -> "torch.Tensor | None":
    return None if x is None else torch.from_numpy(x)


def nodes_of(circuit: Circuit) -> list[ParameterNode]:
    return [node for _, parameter in circuit.parameters() for node in parameter.nodes()]


SUBSTITUTED = (ReorderParameter, TriangleParameter, KroneckerIdentityParameter, RearrangeLayer)
"""Parts of products of circuits, which are expressed by sums with constant weights where that is possible."""
SHARED = {*LAYERS.values(), *OPERATORS.values(), TensorParameter}


def is_refused(circuit: Circuit) -> bool:
    """Whether the peer lacks a part, or ignores the axis of one, after checking that the circuit is refused."""
    parts = (*circuit.layers, *nodes_of(circuit))
    odd = [part for part in parts if type(part) not in SHARED]
    odd += [part for part in parts if isinstance(part, IndexParameter) and part.axis != 0]
    if odd and all(isinstance(part, SUBSTITUTED) for part in odd):
        try:
            to_cirkit(circuit)
        except ConversionError:
            return True
        return False
    if odd:
        with pytest.raises(ConversionError, match=r"selects along axis 0, whatever its axis|cirkit has no explorer\."):
            to_cirkit(circuit)
    return bool(odd)


def has_substitutes(circuit: Circuit) -> bool:
    """Whether parts are expressed by others in the peer."""
    return any(isinstance(part, SUBSTITUTED) for part in (*circuit.layers, *nodes_of(circuit)))


@examples(60)
@given(circuits())
def test_random_circuits_come_back_with_equal_values(circuit):
    if is_refused(circuit):
        return
    back = from_cirkit(to_cirkit(circuit))
    x = random_inputs(circuit)
    found = TorchCompiler(semiring="sum-product").compile(back)(tensor_of(x)).detach().resolve_conj().numpy()
    assert_equals_oracle(found, "sum-product", circuit, constant_leaf_values(circuit), x)
    assert len(back.leaf_names) == len(circuit.leaf_names) or has_substitutes(circuit)


@examples(60)
@given(circuits())
def test_random_circuits_have_the_same_values_in_the_peer(circuit):
    if is_refused(circuit):
        return
    if any(isinstance(node, ScaledSigmoidParameter) and node.vmin < 0 for node in nodes_of(circuit)):
        with pytest.raises(AssertionError, match="0 <= vmin"):
            compile_peer(to_cirkit(circuit))
        return
    x = random_inputs(circuit)
    peer, _context = compile_peer(to_cirkit(circuit), "complex-lse-sum")
    found = peer(*([] if x is None else [tensor_of(x)])).detach().resolve_conj().numpy()
    assert_equals_oracle(found, "complex-lse-sum", circuit, constant_leaf_values(circuit), x)


def test_a_variable_with_one_state_is_refused_as_the_peer_does():
    with pytest.raises(ConversionError, match=r"layer 0 \(EmbeddingLayer\): cirkit refuses it: .* at least 2"):
        to_cirkit(one_layer(NormalInitializer(), 2, 1))


@pytest.mark.parametrize("name", ["blackboard", "hmm", "kronecker"])
def test_gallery_circuits_have_the_same_values_in_the_peer(name):
    circuit = gallery.load_named(name)
    compiled = TorchCompiler().compile(circuit)
    peer, _context = compile_peer(to_cirkit(circuit, values=compiled.leaf_state()), "lse-sum")
    x = torch.from_numpy(random_inputs(circuit))
    torch.testing.assert_close(peer(x), compiled(x))


@pytest.mark.parametrize("name", sorted(set(gallery.names()) - {"mnist", "poon-domingos"}))  # which are large
def test_every_gallery_circuit_comes_back_or_is_refused(name):
    circuit = gallery.load_named(name)
    if is_refused(circuit) or has_substitutes(circuit):
        return
    back = from_cirkit(to_cirkit(circuit))
    assert len(back.layers) == len(circuit.layers)
    assert sorted(leaf.size for leaf in back.leaf_names) == sorted(leaf.size for leaf in circuit.leaf_names)


def embedding(weight: ParameterNode, variable: int = 0) -> EmbeddingLayer:
    units, states = weight.shape
    return EmbeddingLayer(scope=(variable,), num_output_units=units, num_states=states, weight=weight)


def one_layer(initializer: Initializer, *shape: int) -> Circuit:
    b = CircuitBuilder()
    return b.build(b.add(embedding(TensorParameter(shape, initializer=initializer))))


@pytest.mark.parametrize(
    "initializer", [NormalInitializer(1.0, 0.5), DirichletInitializer(2, 0), DirichletInitializer((0.5, 1.0, 2.0))]
)
def test_initializers_are_kept(initializer):
    (leaf,) = from_cirkit(to_cirkit(one_layer(initializer, 2, 3))).leaf_names
    assert leaf.initializer == initializer


def test_a_shared_leaf_is_one_leaf_of_the_peer_and_references_to_it():
    b = CircuitBuilder()
    shared = TensorParameter((2, 3))
    circuit = b.build(b.hadamard(b.add(embedding(shared)), b.add(embedding(shared, 1))))
    weights = [layer.weight for layer in to_cirkit(circuit).layers if "weight" in layer.params]
    assert sorted(type(weight.output).__name__ for weight in weights) == ["ReferenceParameter", "TensorParameter"]
    assert len(from_cirkit(to_cirkit(circuit)).leaf_names) == 1


def test_a_leaf_meets_the_peers_compiler_before_references_to_it():
    """The peer compiles all inputs first, so the first use here need not be the first one there."""
    b = CircuitBuilder()
    shared = TensorParameter((2, 2))
    first = b.sum(b.add(embedding(TensorParameter((2, 2)))), num_units=2, weight=shared)
    circuit = b.build(b.hadamard(first, b.add(embedding(shared, 1))))
    peer, _context = compile_peer(to_cirkit(circuit))
    assert peer(torch.tensor([[0, 1]])).shape == (1, 1, 2)


def test_products_of_one_input_become_that_input():
    b = CircuitBuilder()
    layer = b.add(embedding(TensorParameter((2, 2))))
    peer = to_cirkit(b.build(b.kronecker(b.hadamard(layer)), layer))
    assert [type(layer).__name__ for layer in peer.layers] == ["EmbeddingLayer"]
    assert peer.outputs[0] is peer.outputs[1]


def kronecker_circuit(units: int, *, arity: int = 2, mixed: bool = False) -> Circuit:
    """Sums over Kronecker products of two sums each; or over Hadamard products, on one side."""
    b = CircuitBuilder()
    below = [
        b.sum(b.add(embedding(TensorParameter((units, 3)), v)), num_units=units, weight=TensorParameter((units, units)))
        for v in (0, 1)
    ]
    product = b.hadamard(*below) if mixed else b.kronecker(*below)
    sources = [product] * arity
    width = (units if mixed else units**2) * arity
    return b.build(b.sum(*sources, num_units=2, weight=TensorParameter((2, width))))


def square(circuit: Circuit) -> Circuit:
    return multiply(circuit, circuit)


PRODUCTS = {
    "Kronecker and Kronecker": lambda: multiply(kronecker_circuit(3), kronecker_circuit(2)),
    "several inputs": lambda: multiply(kronecker_circuit(2, arity=2), kronecker_circuit(3, arity=3)),
    "one input": lambda: multiply(kronecker_circuit(2, arity=1), kronecker_circuit(3, arity=1)),
    "Kronecker and Hadamard": lambda: multiply(kronecker_circuit(3), kronecker_circuit(2, mixed=True)),
    "one unit": lambda: multiply(kronecker_circuit(1), kronecker_circuit(1)),
    "square": lambda: square(kronecker_circuit(3)),
    "square of a mixture": lambda: square(kronecker_circuit(2, arity=3)),
    "square of a Hadamard circuit": lambda: square(kronecker_circuit(3, mixed=True)),
    "integral of a square": lambda: integrate(square(kronecker_circuit(3)), (0,)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_circuits_have_the_same_values_in_the_peer_and_back(name):
    circuit = PRODUCTS[name]()
    compiled = TorchCompiler(semiring="complex-lse-sum").compile(circuit)
    theirs = to_cirkit(circuit, values=compiled.leaf_state())
    x = torch.from_numpy(random_inputs(circuit))
    peer, _context = compile_peer(theirs, "complex-lse-sum")
    torch.testing.assert_close(peer(x).exp(), compiled(x).exp())
    back = TorchCompiler(semiring="complex-lse-sum").compile(from_cirkit(theirs))
    torch.testing.assert_close(back(x[:, : back.num_variables]).exp(), compiled(x).exp())


def test_a_rearrangement_of_too_many_units_is_refused():
    wide = multiply(kronecker_circuit(9), kronecker_circuit(9))
    with pytest.raises(ConversionError, match=r"layer \d+ \(SumLayer\): .* a weight of 26,244 x 26,244 entries"):
        to_cirkit(wide)


# ---- what the peer does not have


def test_a_layer_that_the_peer_does_not_have_is_named():
    @dataclass(frozen=True, eq=False, kw_only=True)
    class LayerOfTheUser(InputLayer):
        """Defined outside of the package."""

    b = CircuitBuilder()
    with pytest.raises(
        ConversionError, match=r"layer 0 \(LayerOfTheUser\): cirkit has no .*LayerOfTheUser; express"
    ) as e:
        to_cirkit(b.build(b.add(LayerOfTheUser(scope=(0,), num_output_units=1))))
    assert "CategoricalLayer" not in str(e.value), "the other layers say nothing about this one"


def test_an_operator_that_the_peer_does_not_have_is_named():
    class ParameterOfTheUser(ParameterOp):
        """Defined outside of the package."""

        def _result_shape(self, *shapes):
            return shapes[0]

    b = CircuitBuilder()
    circuit = b.build(b.add(embedding(ParameterOfTheUser((TensorParameter((2, 2)),)))))
    with pytest.raises(
        ConversionError, match=r"layer 0 \(EmbeddingLayer\): weight: cirkit has no .*OfTheUser; express"
    ) as e:
        to_cirkit(circuit)
    assert "SoftmaxParameter" not in str(e.value)


def test_an_initializer_that_the_peer_does_not_have_needs_values():
    circuit = one_layer(SoftmaxInitializer(DirichletInitializer()), 2, 2)
    with pytest.raises(ConversionError, match=r"the installed cirkit has no SoftmaxInitializer.*pass the values"):
        to_cirkit(circuit)
    (leaf,) = from_cirkit(to_cirkit(circuit, values={"0.weight": np.ones((2, 2))})).leaf_names
    assert leaf.dtype is DataType.REAL


def test_values_that_do_not_fit_are_refused():
    circuit = one_layer(NormalInitializer(), 2, 2)
    with pytest.raises(UnknownNameError, match=r"no leaf named 'w'; known are: 0\.weight"):
        to_cirkit(circuit, values={"w": np.ones((2, 2))})
    with pytest.raises(ShapeError, match=r"value of leaf 0\.weight has shape \(2,\); the leaf has \(2, 2\)"):
        to_cirkit(circuit, values={"0.weight": np.ones(2)})


def test_what_is_no_symbolic_circuit_of_this_package_is_refused():
    circuit = gallery.load_named("blackboard")
    wrong: Any
    for wrong, found in (
        (None, "NoneType"),
        (torch.nn.Linear(1, 1), "Linear"),
        (TorchCompiler().compile(circuit), "TorchCircuit; convert the symbolic circuit"),
    ):
        with pytest.raises(DataTypeError, match=f"must be of type Circuit; found {found}"):
            to_cirkit(wrong)


def test_a_circuit_of_the_peer_is_refused_with_what_to_do():
    peer = to_cirkit(gallery.load_named("blackboard"))
    for wrong in (peer, compile_peer(peer)[0]):
        with pytest.raises(DataTypeError, match=r"one of cirkit already: use it as it is, or .*from_cirkit\(circuit\)"):
            to_cirkit(wrong)
