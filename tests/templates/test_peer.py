"""The structures are those that the peer compiler builds: regions, partitions and layers; known counts are literals."""

from collections import Counter

import numpy as np
import pytest

from explorer.symbolic import Circuit
from explorer.templates import (
    CategoricalInput,
    RegionGraph,
    build_circuit,
    chow_liu_tree,
    fully_factorized_regions,
    hmm,
    image_data,
    linear_tree,
    poon_domingos,
    quad_graph,
    quad_tree,
    random_binary_tree,
    tensor_train,
)

COUNTS = {
    ("quad-tree-2", "cp", (1, 8, 8)): 254,
    ("quad-tree-4", "cp-t", (1, 8, 8)): 106,
    ("quad-graph", "cp", (1, 3, 3)): 55,
    ("random-binary-tree", "tucker", (1, 4, 4)): 46,
    ("quad-graph", "cp", (1, 28, 28)): 5725,
    ("quad-graph", "tucker", (1, 28, 28)): 4163,
    ("poon-domingos", "cp", (1, 8, 8)): 19342,
}


@pytest.mark.parametrize(("region_graph", "block", "shape"), COUNTS)
def test_known_numbers_of_layers(region_graph, block, shape):
    circuit = image(region_graph, block, shape)
    assert len(circuit.layers) == COUNTS[region_graph, block, shape]


def test_known_numbers_of_regions_and_partitions():
    graph = quad_graph((1, 28, 28))
    assert (len(graph.regions), len(graph.partitions), len(graph.leaves)) == (2085, 1560, 784)
    assert len(hmm(range(20), num_latent_states=8).layers) == 59


def image(region_graph: str, block: str, shape: tuple[int, int, int], classes: int = 1) -> Circuit:
    return image_data(
        shape,
        region_graph,
        input_layer="categorical",
        num_input_units=3,
        sum_product_layer=block,
        num_sum_units=3,
        num_classes=classes,
    )


def ours(graph: RegionGraph):
    """Regions by scope, and partitions by the scopes of their children, each with its number of occurrences."""
    regions = graph.regions
    splits = Counter(tuple(sorted(regions[child] for child in p.children)) for p in graph.partitions)
    return Counter(regions), splits


def theirs(graph):
    regions = Counter(tuple(sorted(node.scope)) for node in graph.region_nodes)
    splits = Counter(
        tuple(sorted(tuple(sorted(child.scope)) for child in graph.partition_inputs(node)))
        for node in graph.partition_nodes
    )
    return regions, splits


@pytest.mark.peer
@pytest.mark.parametrize(("num_variables", "depth", "repetitions"), [(13, None, 1), (30, 3, 2), (784, None, 1)])
def test_deep_random_trees_have_the_peers_sizes(num_variables, depth, repetitions):
    """The peer shuffles variables in the order of a set below the first split, so only the sizes agree."""
    algorithms = pytest.importorskip("cirkit.templates.region_graph")
    options = {"depth": depth, "num_repetitions": repetitions}
    own, peer = random_binary_tree(num_variables, **options), algorithms.RandomBinaryTree(num_variables, **options)
    for found, wanted in zip(ours(own), theirs(peer), strict=True):
        assert Counter(map(sizes, found.elements())) == Counter(map(sizes, wanted.elements()))


def sizes(scopes):
    return tuple(sorted(len(scope) for scope in scopes)) if isinstance(scopes[0], tuple) else len(scopes)


TABLE = np.random.default_rng(3).integers(4, size=(300, 6))
TABLE[:, 1] = (TABLE[:, 0] + TABLE[:, 1] // 2) % 4
TABLE[:, 4] = TABLE[:, 1] // 2 + TABLE[:, 2] // 2
REALS = np.random.default_rng(4).normal(size=(300, 6)) @ np.random.default_rng(5).normal(size=(6, 6))


@pytest.mark.peer
@pytest.mark.parametrize(
    ("name", "positional", "options"),
    [
        ("QuadTree", ((1, 5, 7),), {"num_patch_splits": 2}),
        ("QuadTree", ((3, 4, 3),), {"num_patch_splits": 4}),
        ("QuadGraph", ((1, 6, 5),), {}),
        ("QuadGraph", ((2, 7, 1),), {}),
        ("PoonDomingos", ((1, 4, 5),), {"delta": 1}),
        ("PoonDomingos", ((2, 7, 6),), {"delta": [3, 2]}),
        ("PoonDomingos", ((1, 6, 6),), {"delta": 1.5}),
        ("RandomBinaryTree", (13,), {"depth": 1}),
        ("RandomBinaryTree", (16,), {"depth": 1, "num_repetitions": 4, "seed": 5}),
        ("LinearTree", (6,), {}),
        ("LinearTree", (6,), {"num_repetitions": 3, "randomize": True, "seed": 1}),
        ("LinearTree", (4,), {"ordering": [3, 1, 0, 2]}),
        ("FullyFactorized", (5,), {"num_repetitions": 2}),
    ],
)
def test_region_graphs_equal_the_peers(name, positional, options):
    algorithms = pytest.importorskip("cirkit.templates.region_graph")
    own = {
        "QuadTree": quad_tree,
        "QuadGraph": quad_graph,
        "PoonDomingos": poon_domingos,
        "RandomBinaryTree": random_binary_tree,
        "LinearTree": linear_tree,
        "FullyFactorized": fully_factorized_regions,
    }
    copies = {key: list(value) if isinstance(value, list) else value for key, value in options.items()}
    assert ours(own[name](*positional, **options)) == theirs(getattr(algorithms, name)(*positional, **copies))


@pytest.mark.peer
@pytest.mark.parametrize("root", [None, 0, 5])
@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
def test_chow_liu_trees_equal_the_peers(kind, root):
    algorithms = pytest.importorskip("cirkit.templates.region_graph")
    torch = pytest.importorskip("torch")
    data = TABLE if kind == "categorical" else REALS
    peer = algorithms.ChowLiuTree(torch.from_numpy(data), input_type=kind, root=root)
    assert ours(chow_liu_tree(data, kind, root=root)) == theirs(peer)


def layer_table(circuit: Circuit):
    """The number of layers of each type, units and scope size."""
    return Counter(
        (type(layer).__name__, getattr(layer, "arity", 1), layer.num_output_units, len(circuit.scopes[node]))
        for node, layer in circuit.graph.nodes.items()
    )


def peer_layer_table(circuit):
    return Counter(
        (
            type(layer).__name__,
            layer.arity if circuit.layer_inputs(layer) else 1,
            layer.num_output_units,
            len(circuit.layer_scope(layer)),
        )
        for layer in circuit.layers
    )


@pytest.mark.peer
@pytest.mark.parametrize("block", ["cp", "cp-t", "tucker"])
@pytest.mark.parametrize(
    ("region_graph", "shape"),
    [
        ("quad-tree-2", (1, 8, 8)),
        ("quad-tree-4", (1, 7, 5)),
        ("quad-graph", (1, 8, 8)),
        ("quad-graph", (3, 5, 6)),
        ("random-binary-tree", (1, 6, 6)),
        ("poon-domingos", (1, 4, 4)),
        pytest.param("poon-domingos", (1, 10, 10), marks=pytest.mark.fuzz),
        ("linear-tree", (1, 3, 3)),
    ],
)
def test_image_circuits_have_the_peers_layers(region_graph, shape, block):
    data_modalities = pytest.importorskip("cirkit.templates.data_modalities")
    try:
        peer = data_modalities.image_data(
            shape,
            region_graph,
            input_layer="categorical",
            num_input_units=3,
            sum_product_layer=block,
            num_sum_units=3,
            num_classes=2,
        )
    except ValueError as error:  # a release without this region graph
        pytest.skip(str(error))
    assert layer_table(image(region_graph, block, shape, classes=2)) == peer_layer_table(peer)


@pytest.mark.peer
def test_other_templates_have_the_peers_layers():
    pgms = pytest.importorskip("cirkit.templates.pgms")
    factorizations = pytest.importorskip("cirkit.templates.tensor_factorizations")
    peer_hmm = pgms.hmm(list(range(7)), num_latent_states=3, input_layer_kwargs={"num_categories": 256})
    assert layer_table(hmm(range(7), num_latent_states=3)) == peer_layer_table(peer_hmm)
    peer_train = factorizations.tensor_train((3, 2, 4, 2), 3)
    assert layer_table(tensor_train((3, 2, 4, 2), 3)) == peer_layer_table(peer_train)


@pytest.mark.peer
def test_table_circuits_have_the_peers_layers():
    data_modalities = pytest.importorskip("cirkit.templates.data_modalities")
    torch = pytest.importorskip("torch")
    options = {"num_input_units": 3, "sum_product_layer": "cp", "num_sum_units": 3}
    trees = {
        "random-binary-tree": random_binary_tree(6),
        "chow-liu-tree": chow_liu_tree(TABLE, "categorical", num_categories=4),
    }
    for name, tree in trees.items():
        circuit = build_circuit(tree, inputs=CategoricalInput(4), **options)
        peer = data_modalities.tabular_data(
            name,
            data=torch.from_numpy(TABLE),
            num_features=6,
            input_layers={"name": "categorical", "args": {"num_categories": 4}},
            **options,
        )
        assert layer_table(circuit) == peer_layer_table(peer)
