"""Templates: what the circuits compute, their structure, options, sharing, and what is refused."""

import numpy as np
import pytest

from explorer.errors import CircuitError, ScopeError, ShapeError, UnknownNameError, ValueRangeError
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    GaussianLayer,
    HadamardLayer,
    InputLayer,
    MixingWeightParameter,
    Parameterization,
    ScaledSigmoidParameter,
    SumLayer,
)
from explorer.templates import (
    BinomialInput,
    Block,
    CategoricalInput,
    EmbeddingInput,
    GaussianInput,
    RegionGraph,
    build_circuit,
    cp,
    fully_factorized,
    hmm,
    image_data,
    linear_tree,
    quad_graph,
    random_binary_tree,
    sum_chain,
    tensor_train,
    tucker,
)
from tests.templates.evaluate import Evaluator, all_states

REGION_GRAPHS = ["quad-tree-2", "quad-tree-4", "quad-graph", "random-binary-tree", "poon-domingos", "linear-tree"]
STRUCTURED = {"quad-tree-2", "quad-tree-4", "random-binary-tree", "linear-tree"}


def small_image(
    region_graph: str | RegionGraph = "quad-graph", sum_product_layer: str | Block = "cp", shape=(1, 3, 3), **options
):
    defaults = {"input_layer": "categorical", "num_categories": 2, "num_input_units": 3, "num_sum_units": 3}
    return image_data(shape, region_graph, sum_product_layer=sum_product_layer, **(defaults | options))


@pytest.mark.parametrize("region_graph", REGION_GRAPHS)
@pytest.mark.parametrize("block", ["cp", "cp-t", "tucker"])
def test_an_image_circuit_is_a_distribution(region_graph, block):
    circuit = small_image(region_graph, block, num_classes=2)
    assert circuit.is_smooth
    assert circuit.is_decomposable
    assert bool(circuit.is_structured_decomposable) is (region_graph in STRUCTURED)
    total = Evaluator(circuit)(all_states(*[2] * 9)).sum(axis=0)
    np.testing.assert_allclose(total, [1.0, 1.0], rtol=1e-12)


@pytest.mark.parametrize("block", ["cp", "cp-t", "tucker"])
def test_equal_calls_build_circuits_with_equal_text(block):
    assert str(small_image("poon-domingos", block)) == str(small_image("poon-domingos", block))


def test_channels_are_multiplied_at_a_pixel():
    circuit = small_image("quad-tree-4", shape=(3, 2, 2))
    assert len(circuit.scope) == 12
    assert sum(isinstance(layer, HadamardLayer) and layer.arity == 3 for layer in circuit.layers) == 4


def test_only_cp_accepts_children_of_different_widths():
    assert small_image("linear-tree", "cp", num_input_units=5).is_smooth
    for block in ("cp-t", "tucker"):
        with pytest.raises(ShapeError, match="set num_input_units to num_sum_units"):
            small_image("linear-tree", block, num_input_units=5)


def test_mixing_sums_have_a_weight_per_unit_or_a_dense_one():
    for mixing in (True, False):
        mixtures = [s for s in small_image(use_mixing_weights=mixing).layers if isinstance(s, SumLayer) and s.arity > 1]
        assert len(mixtures) == 2
        assert all(isinstance(layer.weight, MixingWeightParameter) is mixing for layer in mixtures)


def test_parameters_follow_their_options():
    circuit = small_image(
        input_params={"logits": Parameterization("none")}, sum_weight_param=Parameterization("positive-clamp")
    )
    texts = {str(layer.logits) for layer in circuit.layers if isinstance(layer, CategoricalLayer)}
    assert texts == {"TensorParameter(3, 2)"}
    assert all("Clamp" in str(layer.weight) for layer in circuit.layers if isinstance(layer, SumLayer))


def test_gaussian_inputs_have_a_bounded_stddev():
    layer = small_image(input_layer="gaussian").layers[0]
    assert isinstance(layer, GaussianLayer)
    assert isinstance(layer.stddev, ScaledSigmoidParameter)
    assert (layer.stddev.vmin, layer.stddev.vmax) == (1e-5, 1.0)


def test_a_region_graph_and_an_input_spec_are_accepted_as_arguments():
    graph = random_binary_tree(9, depth=2, num_repetitions=3)
    circuit = small_image(graph, input_layer=BinomialInput(1))
    np.testing.assert_allclose(Evaluator(circuit)(all_states(*[2] * 9)).sum(), 1.0, rtol=1e-12)


def test_a_root_without_partitions_has_the_requested_number_of_classes():
    circuit = build_circuit(
        random_binary_tree(3, depth=0),
        inputs=CategoricalInput(2),
        sum_product_layer="cp",
        num_input_units=4,
        num_sum_units=4,
        num_classes=2,
    )
    assert [type(layer).__name__ for layer in circuit.layers[-2:]] == ["HadamardLayer", "SumLayer"]
    assert circuit.layers[-1].num_output_units == 2


def test_a_custom_block_is_accepted():
    def product_only(builder, children, sizes):
        return builder.hadamard(*children)

    circuit = small_image("quad-tree-4", product_only)
    assert not any(isinstance(layer, SumLayer) for layer in circuit.layers)
    evaluate, x = Evaluator(circuit), all_states(*[2] * 9)
    expected = np.prod([_leaf_values(circuit, evaluate, x, variable) for variable in range(9)], axis=0)
    np.testing.assert_allclose(evaluate(x), expected, rtol=1e-12)


@pytest.mark.parametrize("mixing", [True, False])
def test_a_custom_block_with_sums_and_products_computes_what_it_says(mixing):
    """Each partition is a Kronecker product below a sum of its own; regions of several partitions are mixtures."""
    weights = {}

    def kronecker_below_sum(builder, children, sizes):
        product = builder.kronecker(*children)
        made = sizes.weights((sizes.num_units, builder.width(product)))
        node = builder.sum(product, num_units=sizes.num_units, weight=made)
        weights[node] = made
        return node

    graph = quad_graph((1, 2, 3))
    circuit = small_image(graph, kronecker_below_sum, shape=(1, 2, 3), num_classes=2, use_mixing_weights=mixing)
    evaluate, x = Evaluator(circuit), all_states(*[2] * 6)
    found = evaluate(x)
    mixtures = iter([layer for layer in circuit.layers if isinstance(layer, SumLayer) and layer.arity > 1])
    blocks, units = iter(weights.values()), {}
    for region in graph.order:
        parts = []
        for partition in graph.partitions_of[region]:
            product = np.ones((len(x), 1))
            for child in partition.children:
                product = np.einsum("bi,bj->bij", product, units[child]).reshape(len(x), -1)
            parts.append(np.einsum("oi,bi->bo", evaluate.value_of(next(blocks)), product))
        if not parts:
            (variable,) = graph.regions[region]
            units[region] = _leaf_values(circuit, evaluate, x, variable)
        elif len(parts) == 1:
            (units[region],) = parts
        else:
            weight = evaluate.value_of(next(mixtures).weight).reshape(parts[0].shape[1], len(parts), -1)
            units[region] = np.einsum("ohk,hbk->bo", weight, np.array(parts))
    assert next(blocks, None) is next(mixtures, None) is None
    np.testing.assert_allclose(found, units[graph.roots[0]], rtol=1e-12)
    np.testing.assert_allclose(found.sum(0), 1.0, rtol=1e-12)


def test_a_circuit_has_an_input_spec_for_each_variable():
    specs = [CategoricalInput(3), GaussianInput(), BinomialInput(4), EmbeddingInput(2)]
    inputs = dict(enumerate(specs))
    circuit = build_circuit(
        random_binary_tree(4), inputs=inputs, num_input_units=2, sum_product_layer="cp", num_sum_units=2
    )
    names = {layer.scope: type(layer).__name__ for layer in circuit.layers if isinstance(layer, InputLayer)}
    assert [names[(v,)] for v in range(4)] == ["CategoricalLayer", "GaussianLayer", "BinomialLayer", "EmbeddingLayer"]


def test_a_fully_factorized_circuit_multiplies_its_inputs():
    circuit = fully_factorized(3, [CategoricalInput(2), CategoricalInput(4), CategoricalInput(3)])
    assert len(circuit.layers) == 4
    np.testing.assert_allclose(Evaluator(circuit)(all_states(2, 4, 3)).sum(), 1.0, rtol=1e-12)
    assert len(fully_factorized(1).layers) == 1


@pytest.mark.parametrize("homogeneous", [False, True])
def test_an_hmm_is_the_sum_over_all_paths_of_states(homogeneous):
    T, K = 4, 3
    circuit = hmm((2, 0, 3, 1), CategoricalInput(2), num_latent_states=K, homogeneous=homogeneous)
    evaluate = Evaluator(circuit)
    x = all_states(*[2] * T)
    found = evaluate(x)[:, 0]
    np.testing.assert_allclose(found.sum(), 1.0, rtol=1e-12)
    sums = [layer for layer in circuit.layers if isinstance(layer, SumLayer)]
    matrices = [evaluate.value_of(layer.weight) for layer in reversed(sums)]
    emissions = {layer.scope[0]: layer.probs for layer in circuit.layers if isinstance(layer, CategoricalLayer)}
    expected = np.zeros(len(x))
    for path in all_states(*[K] * T):
        weight = np.prod([matrices[t][path[t - 1] if t else 0, path[t]] for t in range(T)])
        tables = [evaluate.value_of(emissions[v])[path[t]][x[:, v]] for t, v in enumerate((2, 0, 3, 1))]  # type: ignore[arg-type]
        expected += weight * np.prod(tables, axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_homogeneous_hmm_shares_its_leaves_and_keeps_them_in_its_file(tmp_path):
    circuit = hmm(range(6), CategoricalInput(2), num_latent_states=3, homogeneous=True)
    assert len(circuit.layers) == len(hmm(range(6), CategoricalInput(2), num_latent_states=3).layers) == 17
    assert list(circuit.leaf_names.values()) == ["0.probs", "1.weight", "16.weight"]
    circuit.save(tmp_path / "hmm.json")
    assert len(Circuit.load(tmp_path / "hmm.json").leaf_names) == 3
    assert len(hmm(range(6), CategoricalInput(2), num_latent_states=3).leaf_names) == 12


@pytest.mark.parametrize("input_layer", ["embedding", "categorical"])
def test_cp_and_tucker_factorize_a_tensor(input_layer):
    shape = (3, 2, 4)
    x = all_states(*shape)
    for make, formula in ((cp, "xr,yr,zr,r->xyz"), (tucker, "xr,ys,zt,rst->xyz")):
        evaluate = Evaluator(make(shape, 2, input_layer=input_layer))
        inputs = [next(iter(_tables(layer))) for layer in evaluate.circuit.layers[:3]]
        weight = evaluate.circuit.layers[-1].weight  # type: ignore[attr-defined]
        core = evaluate.value_of(weight).reshape((2,) if make is cp else (2, 2, 2))
        expected = np.einsum(formula, *(evaluate.value_of(table).T for table in inputs), core)
        np.testing.assert_allclose(evaluate(x)[:, 0], expected.ravel(), rtol=1e-12)


def test_a_weighted_cp_factorization_is_a_mixture():
    circuit = cp((2, 3), 4, input_layer="categorical", weight_param=Parameterization("softmax"))
    np.testing.assert_allclose(Evaluator(circuit)(all_states(2, 3)).sum(), 1.0, rtol=1e-12)
    binomial = cp((2, 2), 4, input_layer="binomial", weight_param=Parameterization("softmax"))
    np.testing.assert_allclose(Evaluator(binomial)(all_states(2, 2)).sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 2), (3, 2, 4), (2, 3, 2, 2)])
def test_a_tensor_train_is_a_product_of_matrices(shape):
    R = 3
    evaluate = Evaluator(tensor_train(shape, R))
    columns = {v: [] for v in range(len(shape))}
    for layer in evaluate.circuit.layers:
        for table in _tables(layer):
            columns[layer.scope[0]].append(evaluate.value_of(table))  # type: ignore[attr-defined]
    matrices = {v: np.stack(columns[v], axis=-1) for v in range(len(shape))}  # (R in, states, R out)
    for x, found in zip(all_states(*shape), evaluate(all_states(*shape))[:, 0], strict=True):
        row = matrices[0][:, x[0], 0]
        for v in range(1, len(shape) - 1):
            row = row @ matrices[v][:, x[v], :]
        assert found == pytest.approx(row @ matrices[len(shape) - 1][:, x[-1], 0], rel=1e-12)


def test_a_sum_chain_ends_in_one_unit():
    circuit = sum_chain(40, num_units=3)
    assert [layer.num_output_units for layer in circuit.layers] == [3] * 40 + [1]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: small_image("spiral"), UnknownNameError, "quad-graph"),
        (lambda: small_image(input_layer="poisson"), UnknownNameError, "categorical"),
        (lambda: small_image(input_params={"mean": Parameterization()}), UnknownNameError, "probs"),
        (
            lambda: small_image(input_layer=CategoricalInput(2), input_params={"probs": Parameterization()}),
            ShapeError,
            "input spec instead",
        ),
        (lambda: small_image(sum_product_layer="svd"), UnknownNameError, "cp-t"),
        (lambda: small_image(shape=(3, 3)), ShapeError, "channels"),
        (lambda: small_image(num_sum_units=0), ValueRangeError, "num_sum_units"),
        (lambda: small_image(linear_tree(3), num_categories=0), CircuitError, "must be positive"),
        (lambda: CategoricalInput(2, Parameterization(), Parameterization())(0, 2), ShapeError, "not both"),
        (lambda: hmm((0, 2), num_latent_states=2), ScopeError, "permutation"),
        (lambda: hmm((), num_latent_states=2), ScopeError, "permutation"),
        (lambda: hmm(range(2), [GaussianInput()] * 3, num_latent_states=2), ShapeError, "found 3"),
        (
            lambda: hmm(range(2), [GaussianInput()] * 2, num_latent_states=2, homogeneous=True),
            ShapeError,
            "one emission",
        ),
        (lambda: cp((3,), 2), ShapeError, "two or more axes"),
        (lambda: tensor_train((3, 2), 0), ValueRangeError, "rank"),
        (lambda: sum_chain(0, num_units=2), ValueRangeError, "length"),
        (
            lambda: build_circuit(
                quad_graph((1, 2, 2)),
                inputs={0: GaussianInput()},
                sum_product_layer="cp",
                num_input_units=1,
                num_sum_units=1,
            ),
            ScopeError,
            r"\[1, 2, 3\]",
        ),
    ],
)
def test_bad_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def _leaf_values(circuit, evaluate, x, variable):
    """The values (B, K) of the only input layer of a variable."""
    (table,) = (
        layer.probs for layer in circuit.layers if isinstance(layer, CategoricalLayer) and variable in layer.scope
    )
    return evaluate.value_of(table)[:, x[:, variable]].T


def _tables(layer):
    found = (getattr(layer, name, None) for name in ("weight", "probs"))
    return [table for table in found if table is not None and not isinstance(layer, SumLayer)]
