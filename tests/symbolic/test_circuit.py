"""Circuits: illegal ones, scopes, names of layers and leaves, the text form, and the strategies that generate them."""

import contextlib

import pytest
from hypothesis import Phase, given, settings, strategies as st
from inline_snapshot import snapshot

from explorer import symbolic
from explorer.errors import (
    CircuitError,
    CycleError,
    DataTypeError,
    DuplicateNameError,
    ShapeError,
    StructureError,
    UnknownNameError,
)
from explorer.graph import Graph, subclasses
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    EvidenceLayer,
    GaussianLayer,
    HadamardLayer,
    InputLayer,
    Layer,
    Parameterization,
    ParameterNode,
    SoftmaxParameter,
    SumLayer,
    SumParameter,
    TensorParameter,
    constant,
)
from tests.oracle import constant_leaf_values, evaluate
from tests.strategies import MAX_LAYERS, circuits, inputs_for, random_inputs
from tests.symbolic.building import chain, coin, leaf, unit

# ---- construction


def test_a_circuit_without_outputs_is_refused():
    with pytest.raises(StructureError, match="at least one output layer"):
        Circuit(Graph({0: coin(0)}, {0: ()}, ()))


def test_an_input_layer_that_reads_a_layer_is_refused():
    with pytest.raises(
        ShapeError, match=r"layer 1 \(CategoricalLayer\) is an input layer and reads no layers; found \(0,\)"
    ):
        Circuit(Graph({0: coin(0), 1: coin(1)}, {0: (), 1: (0,)}, (1,)))


def test_a_number_of_inputs_that_differs_from_the_arity_is_refused():
    product = HadamardLayer(num_input_units=2, num_output_units=2, arity=2)
    with pytest.raises(ShapeError, match=r"layer 1 \(HadamardLayer\) has arity 2 but reads 1 layers"):
        Circuit(Graph({0: coin(0), 1: product}, {0: (), 1: (0,)}, (1,)))


def test_an_input_with_a_different_number_of_units_is_refused():
    product = HadamardLayer(num_input_units=2, num_output_units=2, arity=2)
    with pytest.raises(ShapeError, match=r"layer 2 \(HadamardLayer\) needs 2 units from each input; layer 1 has 3"):
        Circuit(Graph({0: coin(0), 1: coin(1, 3), 2: product}, {0: (), 1: (), 2: (0, 1)}, (2,)))


def test_cyclic_layers_are_refused():
    weight = leaf(2, 2)
    loop = SumLayer(num_input_units=2, num_output_units=2, weight=weight)
    with pytest.raises(CycleError, match="1 <- 2 <- 1"):
        Circuit(Graph.from_unordered({1: loop, 2: loop}, {1: (2,), 2: (1,)}, (1,)))


def test_two_layers_with_the_same_name_are_refused():
    graph: Graph[Layer] = Graph({0: coin(0), 1: coin(1)}, {0: (), 1: ()}, (0,))
    with pytest.raises(DuplicateNameError, match="two layers have the name 'a'"):
        Circuit(graph, {0: "a", 1: "a"})


def test_a_name_for_a_missing_layer_is_refused():
    with pytest.raises(CircuitError, match="the name 'a' is that of layer 7, which does not exist"):
        Circuit(Graph({0: coin(0)}, {0: ()}, (0,)), {7: "a"})


def test_a_node_that_is_not_a_layer_is_refused():
    with pytest.raises(CircuitError, match="0"):
        Circuit(Graph({0: "x"}, {0: ()}, (0,)))  # type: ignore[dict-item]


def test_a_layer_that_is_neither_input_nor_inner_is_refused():
    class Odd(Layer):
        pass

    with pytest.raises(DataTypeError, match="node 0 of a circuit must be an InputLayer or an InnerLayer; found Odd"):
        Circuit(Graph({0: Odd(num_output_units=1)}, {0: ()}, (0,)))


def test_outputs_of_different_widths_are_refused():
    b = CircuitBuilder()
    outputs = b.add(coin(0, 2)), b.add(coin(1, 3))
    with pytest.raises(ShapeError, match="must have the same number of units; found: layer 0 has 2, layer 1 has 3"):
        b.build(*outputs)


def test_the_names_of_a_circuit_are_its_own():
    names = {0: "a"}
    circuit = Circuit(Graph({0: coin(0)}, {0: ()}, (0,)), names)
    names[0] = "b"
    assert circuit.names == {0: "a"}


# ---- scopes


def test_scopes_follow_from_the_inputs():
    circuit = chain()
    assert circuit.scopes == {0: (0,), 1: (3,), 2: (0, 3), 3: (5,), 4: (0, 3)}


def test_scope_of_a_circuit_is_that_of_its_outputs_but_dead_layers_need_columns():
    circuit = chain()
    assert (circuit.scope, circuit.num_variables) == ((0, 3), 6)


def test_a_circuit_of_constants_has_no_scope():
    b = CircuitBuilder()
    evidence = EvidenceLayer(num_output_units=2, layer=coin(4), observation=constant([1]))
    circuit = b.build(b.hadamard(b.add(unit()), b.add(evidence)))
    assert (circuit.scope, circuit.num_variables) == ((), 0)


# ---- names


def test_a_layer_is_found_by_name_and_by_id():
    circuit = chain()
    assert (circuit.layer_id("root"), circuit.layer_id(4), circuit.layer_id("dead")) == (4, 4, 3)


@pytest.mark.parametrize("name", ["Root", 17])
def test_an_unknown_layer_is_refused_with_the_names_that_exist(name):
    with pytest.raises(UnknownNameError, match=rf"no layer named {name!r}; known are: dead, root"):
        chain().layer_id(name)


def test_leaves_are_named_by_the_path_of_their_first_use():
    circuit = chain()
    assert list(circuit.leaf_names.values()) == snapshot(["0.probs", "1.probs", "3.probs", "4.weight"])


def test_a_leaf_keeps_its_name_and_leaves_of_one_path_are_numbered():
    weight = SoftmaxParameter((leaf(1, 2),))
    b = CircuitBuilder()
    gaussian = GaussianLayer(scope=(0,), num_output_units=2, mean=leaf(2, name="mu"), stddev=leaf(2))
    node = b.add(gaussian)
    both = b.sum(node, num_units=1, weight=add(weight, add(leaf(1, 2), leaf(1, 2, name="w"))))
    assert list(b.build(both).leaf_names.values()) == snapshot(["mu", "0.stddev", "1.weight", "1.weight/2", "w"])


def add(left: ParameterNode, right: ParameterNode) -> ParameterNode:
    return SumParameter((left, right))


def test_a_shared_leaf_has_one_name():
    shared = leaf(2, 2)
    b = CircuitBuilder()
    product = b.hadamard(b.add(coin(0, probs=shared)), b.add(coin(1, probs=SoftmaxParameter((shared,)))))
    assert dict(b.build(product).leaf_names) == {shared: "0.probs"}


def test_a_leaf_inside_an_observed_layer_is_named_through_the_evidence():
    b = CircuitBuilder()
    node = b.add(EvidenceLayer(num_output_units=2, layer=coin(0), observation=constant([1])))
    circuit = b.build(node)
    assert list(circuit.leaf_names.values()) == snapshot(["0.observation", "0.layer.probs"])
    assert [place for place, _ in circuit.parameters()] == ["0.observation", "0.layer.probs"]


def test_two_leaves_with_the_same_name_are_refused():
    b = CircuitBuilder()
    product = b.hadamard(b.add(coin(0, probs=leaf(2, 2, name="p"))), b.add(coin(1, probs=leaf(2, 2, name="p"))))
    with pytest.raises(DuplicateNameError, match=r"two parameter leaves have the name 'p'; found at 1\.probs"):
        b.build(product)


def test_a_user_defined_name_that_looks_generated_is_kept():
    b = CircuitBuilder()
    product = b.hadamard(b.add(coin(0)), b.add(coin(1, probs=leaf(2, 2, name="0.probs"))))
    assert list(b.build(product).leaf_names.values()) == ["0.probs/2", "0.probs"]


@given(circuits())
def test_every_leaf_has_a_unique_name(circuit):
    leaves = [n for _, p in circuit.parameters() for n in p.nodes() if isinstance(n, TensorParameter)]
    assert set(circuit.leaf_names) == set(leaves)
    assert len(set(circuit.leaf_names.values())) == len(set(leaves))
    assert all(given.name in (None, name) for given, name in circuit.leaf_names.items())


# ---- text


def test_the_text_of_a_circuit():
    b = CircuitBuilder()
    product = b.hadamard(b.add(coin(0)), b.add(coin(3)))
    circuit = b.build(b.sum(product, num_units=2, weights=Parameterization("sigmoid")), product)
    assert str(circuit) == snapshot("""\
%0 = CategoricalLayer(num_output_units=2, num_categories=2, scope=(0,), probs=TensorParameter(2, 2))
%1 = CategoricalLayer(num_output_units=2, num_categories=2, scope=(3,), probs=TensorParameter(2, 2))
%2 = HadamardLayer(num_output_units=2, num_input_units=2, arity=2)(%0, %1)
%3 = SumLayer(num_output_units=2, num_input_units=2, arity=1, weight=SigmoidParameter(TensorParameter(2, 2)))(%2)
outputs: %3, %2\
""")
    assert repr(circuit) == snapshot("<Circuit: 4 layers, 2 variables, 2 output(s)>")


def test_the_text_of_evidence_shows_the_observed_layer():
    b = CircuitBuilder()
    circuit = b.build(b.add(EvidenceLayer(num_output_units=2, layer=coin(0), observation=constant([1]))))
    assert str(circuit).splitlines()[0] == snapshot(
        "%0 = EvidenceLayer(num_output_units=2, scope=(), layer=CategoricalLayer(num_output_units=2, num_categories=2, "
        "scope=(0,), probs=TensorParameter(2, 2)), observation=TensorParameter(1,))"
    )


# ---- the strategies themselves


@given(circuits(positive=False))
def test_random_circuits_are_small_and_decomposable_with_outputs_of_one_width(circuit):
    assert len(circuit.layers) <= MAX_LAYERS
    assert circuit.is_decomposable
    assert len({circuit.graph.nodes[output].num_output_units for output in circuit.outputs}) == 1


@given(circuits(smooth=True))
def test_random_circuits_are_smooth_on_demand(circuit):
    assert circuit.is_smooth


class Complete(Exception):  # noqa: N818 (it is good news)
    """Every kind was found."""


def test_random_circuits_reach_every_layer_and_every_parameter_operator():
    known = [kind for base in (Layer, ParameterNode) for kind in subclasses(base)]
    kinds = [kind for kind in known if getattr(symbolic, kind.__name__, None) is kind]
    families = {base for kind in kinds for base in kind.__mro__[1:]}
    missing = {kind.__name__ for kind in kinds if kind not in families}
    assert missing

    @settings(max_examples=500, derandomize=True, database=None, phases=[Phase.generate])
    @given(circuits(positive=True))
    def collect(circuit: Circuit) -> None:
        missing.difference_update(type(layer).__name__ for layer in circuit.layers)
        missing.difference_update(type(node).__name__ for _, p in circuit.parameters() for node in p.nodes())
        if not missing:
            raise Complete

    with contextlib.suppress(Complete):
        collect()
    assert missing == set()


@given(st.data(), circuits())
def test_random_inputs_are_legal_for_every_layer(data, circuit):
    x = data.draw(inputs_for(circuit, 4))
    if x is None:
        assert circuit.num_variables == 0
        return
    assert x.shape == (4, circuit.num_variables)
    for layer in circuit.layers:
        count = layer.num_values if isinstance(layer, InputLayer) else None
        if count is not None:
            assert set(x[:, layer.scope[0]]) <= set(range(count))  # type: ignore[attr-defined]


@given(circuits())
def test_dead_layers_do_not_matter_for_the_value(circuit):
    alive, waiting = set(), list(circuit.outputs)
    while waiting:
        node = waiting.pop()
        if node not in alive:
            alive.add(node)
            waiting.extend(circuit.graph.inputs[node])
    kept = [node for node in circuit.graph.nodes if node in alive]
    graph = Graph(
        {n: circuit.graph.nodes[n] for n in kept}, {n: circuit.graph.inputs[n] for n in kept}, circuit.outputs
    )
    x, values = random_inputs(circuit), constant_leaf_values(circuit)
    assert (evaluate(Circuit(graph), values, x) == evaluate(circuit, values, x)).all()
