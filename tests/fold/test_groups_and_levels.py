"""Fold groups: fold keys, their differences, groups, and the levels in which a circuit is folded."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import UnknownNameError
from explorer.fold import (
    SCHEDULERS,
    fewest_groups,
    fold_key,
    fold_keys,
    get_scheduler,
    group_foldable_modules,
    longest_distance,
)
from explorer.graph import Graph, Ordering, key_differences
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    EvidenceLayer,
    GaussianLayer,
    InputLayer,
    Layer,
    SoftmaxParameter,
    SumLayer,
    TensorParameter,
    constant,
)
from explorer.templates import image_data, load_named
from tests.fuzzing import examples
from tests.levels.modes import PRESETS, compile_and_watch, compile_circuit, layer_types
from tests.strategies import circuits

# ---- keys


def coin(variable: int, units: int = 2, categories: int = 2, logits: bool = False) -> CategoricalLayer:
    leaf = TensorParameter((units, categories))
    given = {"logits": leaf} if logits else {"probs": SoftmaxParameter((leaf,))}
    return CategoricalLayer(scope=(variable,), num_output_units=units, num_categories=categories, **given)


def normal(variable: int, log_partition: bool = False) -> GaussianLayer:
    partition = TensorParameter((2,)) if log_partition else None
    leaves = {"mean": TensorParameter((2,)), "stddev": constant([1.0, 2.0]), "log_partition": partition}
    return GaussianLayer(scope=(variable,), num_output_units=2, **leaves)


def evidence_of(layer: InputLayer) -> EvidenceLayer:
    return EvidenceLayer(num_output_units=layer.num_output_units, layer=layer, observation=constant([1]))


def binomial(total_count: int) -> BinomialLayer:
    return BinomialLayer(scope=(0,), num_output_units=2, total_count=total_count, logits=TensorParameter((2,)))


def sums(units: int, arity: int, outputs: int = 2) -> SumLayer:
    weight = TensorParameter((outputs, arity * units))
    return SumLayer(num_input_units=units, num_output_units=outputs, arity=arity, weight=weight)


def differences(one: Layer, other: Layer) -> tuple[tuple[str, object, object], ...]:
    compiler = TorchCompiler()
    return key_differences(*(fold_key(compiler.compile_layer(layer)) for layer in (one, other)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (coin(0), coin(7)),
        (normal(0), normal(3)),
        (sums(2, 1), sums(2, 1)),
        (evidence_of(coin(0)), evidence_of(coin(1))),
        (coin(0), CategoricalLayer(scope=(1,), num_output_units=2, num_categories=2, probs=constant([[0.5, 0.5]] * 2))),
    ],
    ids=["scope", "gaussian", "sum", "evidence", "another parameter graph"],
)
def test_layers_that_differ_in_scope_values_or_parameter_graph_fold(one: Layer, other: Layer):
    assert not differences(one, other)


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (coin(0), normal(0), ("type", "TorchCategoricalLayer", "TorchGaussianLayer")),
        (coin(0), coin(0, units=3), ("num_output_units", 2, 3)),
        (coin(0), coin(0, categories=3), ("num_categories", 2, 3)),
        (coin(0), coin(0, logits=True), ("probs.shape", (2, 2), None)),
        (normal(0), normal(0, log_partition=True), ("log_partition.shape", None, (2,))),
        (sums(2, 2), sums(4, 1), ("num_input_units", 2, 4)),
        (sums(2, 1), sums(2, 2), ("arity", 1, 2)),
        (evidence_of(coin(0)), evidence_of(normal(0)), ("layer.type", "TorchCategoricalLayer", "TorchGaussianLayer")),
        (evidence_of(binomial(2)), evidence_of(binomial(10)), ("layer.total_count", 2, 10)),
        (evidence_of(coin(0)), evidence_of(coin(0, categories=3)), ("layer.num_categories", 2, 3)),
    ],
)
def test_the_differences_of_two_keys(one: Layer, other: Layer, wanted: tuple[str, object, object]):
    assert differences(one, other)[0] == wanted
    assert len(differences(other, one)) == len(differences(one, other))


def test_all_fields_in_which_two_keys_differ_are_found():
    assert differences(sums(2, 1), sums(4, 1, outputs=3)) == (
        ("num_output_units", 2, 3),
        ("num_input_units", 2, 4),
        ("weight.shape", (2, 2), (3, 4)),
    )


def test_groups_come_in_the_order_of_their_first_members():
    compiler = TorchCompiler()
    layers = [coin(0), normal(1), coin(2), coin(3, units=3), normal(4), coin(5)]
    nodes = {10 + i: compiler.compile_layer(layer) for i, layer in enumerate(layers)}
    groups = group_foldable_modules(nodes, nodes)
    assert [members for _, members in groups] == [[10, 12, 15], [11, 14], [13]]
    assert [key for key, _ in groups] == [fold_key(nodes[n]) for n in (10, 11, 13)]
    assert [members for _, members in group_foldable_modules(nodes, [15, 11, 10])] == [[15, 10], [11]]


# ---- levels


def assert_legal(graph: Graph[Any], ordering: Ordering) -> None:
    """Every layer is in one level, after all of its inputs."""
    level_of = {node: level for level, nodes in enumerate(ordering) for node in nodes}
    assert sorted(level_of) == sorted(graph.nodes)
    assert sum(map(len, ordering)) == len(graph)
    assert all(level_of[source] < level_of[node] for node, sources in graph.inputs.items() for source in sources)


def count_groups(graph: Graph[Any], ordering: Ordering) -> int:
    keys = fold_keys(graph)
    return sum(len(group_foldable_modules(graph.nodes, level, keys)) for level in ordering)


@examples(60)
@given(circuits(positive=False), st.booleans())
def test_every_scheduler_returns_a_legal_ordering_and_fewest_groups_is_never_worse(circuit: Circuit, optimize: bool):
    graph = compile_circuit(circuit, "sum-product", fold=False, optimize=optimize).graph
    for scheduler in SCHEDULERS.values():
        assert_legal(graph, scheduler(graph))
        assert scheduler(graph) == scheduler(graph)
    assert count_groups(graph, fewest_groups(graph)) <= count_groups(graph, longest_distance(graph))


@pytest.mark.parametrize("name", ["levels", "digits", "hmm", "near-misses"])
def test_schedulers_on_gallery_circuits(name: str):
    graph = compile_circuit(load_named(name), fold=False).graph
    for scheduler in SCHEDULERS.values():
        assert_legal(graph, scheduler(graph))
    assert count_groups(graph, fewest_groups(graph)) <= count_groups(graph, longest_distance(graph))


def test_levels_by_longest_distance_are_those_of_the_graph():
    graph = compile_circuit(load_named("levels"), fold=False).graph
    level_of = {node: level for level, nodes in enumerate(longest_distance(graph)) for node in nodes}
    assert level_of == dict(graph.levels)


def test_waiting_folds_layers_on_different_levels():
    graph = compile_circuit(load_named("levels"), fold=False).graph
    assert count_groups(graph, longest_distance(graph)) == 7
    assert count_groups(graph, fewest_groups(graph)) == 5
    assert len(compile_circuit(load_named("levels"), levels="longest-distance").layers) == 7
    assert len(compile_circuit(load_named("levels"), levels="fewest-groups").layers) == 5


def test_fewest_groups_beats_longest_distance_on_a_quad_graph():
    circuit = image_data(
        (1, 5, 5), "quad-graph", input_layer="embedding", num_categories=2, num_input_units=2,
        sum_product_layer="cp", num_sum_units=2,
    )  # fmt: skip
    graph = compile_circuit(circuit, fold=False).graph
    assert count_groups(graph, fewest_groups(graph)) < count_groups(graph, longest_distance(graph))


def test_an_unknown_scheduler_is_refused():
    with pytest.raises(UnknownNameError, match="no scheduling of levels named 'best'; known are: longest-distance"):
        get_scheduler("best")
    with pytest.raises(UnknownNameError, match="fewest-groups"):
        TorchCompiler(levels="best")


# ---- the groups of a folded circuit


@pytest.mark.parametrize("preset", PRESETS)
def test_each_layer_is_a_slice_of_one_folded_layer(preset: str):
    circuit = load_named("levels")
    plain: TorchCircuit = compile_circuit(circuit, preset=preset, fold=False)
    folded, watcher = compile_and_watch(circuit, preset=preset)
    members = [node for event in watcher.folded for node in event.members]
    assert sorted(members) == sorted(plain.graph.nodes)
    assert [event.node for event in watcher.folded] == list(folded.graph.nodes)
    assert [event.level for event in watcher.folded] == sorted(event.level for event in watcher.folded)
    for event in watcher.folded:
        layer = folded.graph.nodes[event.node]
        assert layer.num_folds == len(event.members)
        assert type(layer).__name__ == event.type
        for one, other in pairwise(event.members):
            assert fold_key(plain.graph.nodes[one]) == fold_key(plain.graph.nodes[other])
            kind, settings = fold_key(plain.graph.nodes[event.members[0]])
            assert (kind.__name__, settings) == (event.type, event.key)
        if len(event.members) == 1:
            assert event.node == event.members[0]
    assert watcher.paths[-1] == f"fold/level {watcher.folded[-1].level}"


def test_only_layers_of_equal_key_on_one_level_fold():
    b = CircuitBuilder()
    coins = [b.add(coin(v)) for v in range(3)] + [b.add(coin(v, categories=3)) for v in (3, 4)] + [b.add(normal(5))]
    circuit = b.build(b.sum(b.hadamard(*coins), num_units=1))
    folded = compile_circuit(circuit, optimize=False)
    assert layer_types(folded) == ["Categorical", "Categorical", "Gaussian", "Hadamard", "Sum"]
    assert [layer.num_folds for layer in folded.layers] == [3, 2, 1, 1, 1]
