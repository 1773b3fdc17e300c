"""The folded graph: index tables, partly folded circuits, reads, shared parameters and evidence."""

from collections.abc import Sequence
from itertools import chain, count, product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from explorer.backend import (
    FoldIndexInfo,
    ParameterStore,
    ReadKind,
    TorchCircuit,
    TorchLayer,
    allocate_parameters,
    parameter_nodes,
)
from explorer.compiler import TorchCompiler
from explorer.errors import ShapeError
from explorer.fold import (
    assemble,
    fewest_groups,
    fold_layer_group,
    fold_levels,
    longest_distance,
)
from explorer.graph import Graph
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    EmbeddingLayer,
    EvidenceLayer,
    GaussianLayer,
    Parameterization,
    TensorParameter,
    constant,
)
from explorer.templates import CategoricalInput, hmm
from tests.fuzzing import examples
from tests.levels.modes import MODE_IDS, MODES, PRESETS, Mode, compile_circuit, layer_types, only, output
from tests.oracle import assert_equals_oracle, brute_force_partition, constant_leaf_values
from tests.strategies import circuits, random_inputs

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)


def letters(text: str) -> Graph[str]:
    """A graph of letters, from lines like `3 = a(0, 1)` and a last one like `-> 3`."""
    nodes, inputs, outputs = {}, {}, ()
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("->"):
            outputs = tuple(int(word) for word in line[2:].split())
            continue
        node, value = line.split(" = ")
        name, _, reads = value.partition("(")
        nodes[int(node)] = name
        inputs[int(node)] = tuple(int(word) for word in reads.rstrip(")").split(",") if word)
    return Graph(nodes, inputs, outputs)


class Letter(str):
    """Nodes with the same first letter fold."""

    __slots__ = ()

    @property
    def fold_settings(self) -> tuple[tuple[str, object], ...]:
        return (("letter", self[0]),)

    def is_complex(self, inputs: Sequence[bool]) -> bool:
        return False


def with_letters(graph: Graph[str]) -> Graph[Letter]:
    return Graph({n: Letter(v) for n, v in graph.nodes.items()}, graph.inputs, graph.outputs)


# ---- the main logic


def test_the_index_tables_have_the_node_and_slice_of_each_input():
    graph = with_letters(
        letters(
            """
            0 = a
            1 = a
            2 = b
            3 = s(0, 2)
            4 = s(1, 0)
            5 = p(3)
            6 = s(4, 3)
            -> 4 6 4
            """
        )
    )
    groups = list(chain(*fold_levels(graph, longest_distance(graph), "+".join, count(100))))
    folded, info = assemble(graph, groups)
    assert [(g.level, g.node, g.members, g.value) for g in groups] == [
        (0, 100, (0, 1), "a+a"),
        (0, 2, (2,), "b"),
        (1, 101, (3, 4), "s+s"),
        (2, 5, (5,), "p"),
        (2, 6, (6,), "s"),
    ]
    assert {n: t.tolist() for n, t in info.in_fold_idx.items() if t.size} == {
        101: [[[100, 0], [2, 0]], [[100, 1], [100, 0]]],
        5: [[[101, 0]]],
        6: [[[101, 1], [101, 0]]],
    }
    assert {n: t.shape for n, t in info.in_fold_idx.items()} == {
        100: (2, 0, 2), 2: (1, 0, 2), 101: (2, 2, 2), 5: (1, 1, 2), 6: (1, 2, 2),
    }  # fmt: skip
    assert info.out_fold_idx.tolist() == [[101, 1], [6, 0], [101, 1]]
    assert folded.outputs == (101, 6)
    assert dict(folded.inputs) == {100: (), 2: (), 101: (100, 2), 5: (101,), 6: (101,)}


@given(circuits())
@examples(30)
def test_the_tables_of_a_circuit_lead_back_to_every_layer(circuit: Circuit):
    graph = compile_circuit(circuit, fold=False).graph
    groups = list(chain(*fold_levels(graph, fewest_groups(graph), fold_layer_group, count(graph.next_id))))
    folded, info = assemble(graph, groups)
    where = {member: (g.node, i) for g in groups for i, member in enumerate(g.members)}
    assert set(where) == set(graph.nodes)
    for group in groups:
        table = info.in_fold_idx[group.node]
        assert table.shape == (folded.nodes[group.node].num_folds, len(graph.inputs[group.members[0]]), 2)
        for member, row in zip(group.members, table.tolist(), strict=True):
            assert [tuple(pair) for pair in row] == [where[source] for source in graph.inputs[member]]
    assert [tuple(pair) for pair in info.out_fold_idx.tolist()] == [where[output] for output in graph.outputs]


# ---- partly folded circuits


def module_of(graph: Graph[TorchLayer], info: FoldIndexInfo, circuit: Circuit, like: TorchCircuit) -> TorchCircuit:
    """A module of these layers with the values of a compiled circuit."""
    store, names = ParameterStore(), circuit.leaf_names
    state = like.leaf_state()
    values = {leaf: state[name] for leaf, name in names.items()}
    return TorchCircuit(
        graph,
        info,
        like.semiring,
        allocate_parameters(store, parameter_nodes(graph), names, 0, values),
        store,
        names,
        names,
        like.num_variables,
    )


@examples(15)
@given(circuits(), st.sampled_from(PRESETS), st.integers(0, 2**16))
def test_a_partly_folded_circuit_has_the_same_value(circuit: Circuit, preset: str, seed: int):
    plain = compile_circuit(circuit, preset=preset, fold=False)
    graph, x = plain.graph, random_inputs(circuit, seed=seed)
    groups = list(chain(*fold_levels(graph, fewest_groups(graph), fold_layer_group, count(graph.next_id))))
    values = constant_leaf_values(circuit)
    for done in range(len(groups) + 1):
        folded, info = assemble(graph, groups[:done])
        module = module_of(folded, info, circuit, plain)
        assert module.num_folds == len(graph)
        assert_equals_oracle(output(module, x), "lse-sum", circuit, values, x)


# ---- layers


def test_layers_of_different_types_are_refused():
    compiler = TorchCompiler()
    given = {"scope": (0,), "num_output_units": 2}
    layers = [
        compiler.compile_layer(EmbeddingLayer(num_states=2, weight=TensorParameter((2, 2)), **given)),
        compiler.compile_layer(CategoricalLayer(num_categories=2, logits=TensorParameter((2, 2)), **given)),
    ]
    with pytest.raises(ShapeError, match="layers of one type fold; found TorchEmbeddingLayer and TorchCateg"):
        fold_layer_group(layers)


def test_a_folded_input_layer_has_the_scopes_of_its_members_in_order():
    compiler = TorchCompiler()
    layers = [
        compiler.compile_layer(
            EmbeddingLayer(scope=(v,), num_output_units=2, num_states=3, weight=TensorParameter((2, 3)))
        )
        for v in (4, 0, 4)
    ]
    folded: Any = fold_layer_group(layers)
    assert folded.scope_idx == ((4,), (0,), (4,))
    assert (folded.num_folds, folded.num_output_units, folded.num_states) == (3, 2, 3)
    assert folded.weight.num_folds == 3


# ---- reads


def test_the_read_of_every_folded_layer_is_known():
    b = CircuitBuilder()
    x = [
        b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=TensorParameter((2, 2))))
        for v in range(4)
    ]
    pairs = [b.hadamard(x[0], x[1]), b.hadamard(x[2], x[3])]
    crossed = [b.hadamard(x[0], x[2]), b.hadamard(x[1], x[3])]
    tops = [b.hadamard(pairs[0], pairs[1]), b.hadamard(crossed[0], crossed[1])]
    folded = compile_circuit(b.build(*tops), optimize=False)
    reads = [folded.reads(node) for node in folded.graph.nodes]
    assert reads[0] is None
    assert [read.kind for read in reads[1:] if read is not None] == [ReadKind.GATHER, ReadKind.VIEW]
    straight = compile_circuit(b.build(*pairs, *crossed), optimize=False)
    only([read for n in straight.graph.nodes if (read := straight.reads(n)) and read.kind is ReadKind.GATHER])


def test_folds_that_read_the_same_inputs_read_all_of_them():
    """As many folds as inputs, all folds reading the same row: each must get both inputs, not one of them twice."""
    b = CircuitBuilder()
    tables = [constant([[2.0, 3.0]]), constant([[5.0, 7.0]])]
    x = [b.add(EmbeddingLayer(scope=(v,), num_output_units=1, num_states=2, weight=t)) for v, t in enumerate(tables)]
    circuit = b.build(b.hadamard(*x), b.hadamard(*x))
    found = output(compile_circuit(circuit, "sum-product"), np.array([[0, 0], [1, 0]]))
    assert found.squeeze(-1).tolist() == [[10.0, 10.0], [15.0, 15.0]]


# ---- shared parameters, and evidence layers that differ


@EACH_MODE
@pytest.mark.parametrize("semiring", ["lse-sum", "sum-product"])
def test_a_parameter_shared_inside_one_circuit_folds(mode: Mode, semiring: str):
    circuit = hmm(range(4), CategoricalInput(3), num_latent_states=2, homogeneous=True)
    module = compile_circuit(circuit, semiring, **mode)
    state = module.leaf_state()
    values = {leaf: state[name].numpy() for leaf, name in circuit.leaf_names.items()}
    x = np.array(list(product(range(3), repeat=4)))
    found = output(module, x)
    assert_equals_oracle(found, semiring, circuit, values, x)
    total = np.exp(found).sum() if semiring == "lse-sum" else found.sum()
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
    np.testing.assert_allclose(total, brute_force_partition(circuit, values, 3).sum(), rtol=1e-12)


@pytest.mark.parametrize("fold", [False, True])
def test_shared_parameters_get_the_sum_of_all_gradients(fold: bool):
    b = CircuitBuilder()
    table = TensorParameter((1, 2), initializer=ConstantInitializer([[2.0, 3.0]]))
    x = [b.add(EmbeddingLayer(scope=(v,), num_output_units=1, num_states=2, weight=table)) for v in range(3)]
    module = compile_circuit(b.build(b.hadamard(*x)), "sum-product", fold=fold)
    module(torch.tensor([[0, 0, 1]])).sum().backward()  # 2 * 2 * 3
    assert only(list(module.parameters())).grad.ravel().tolist() == [12.0, 4.0]


def circuit_of_evidence(*layers: Any) -> Circuit:
    b = CircuitBuilder()
    evidence = [
        b.add(EvidenceLayer(num_output_units=1, layer=layer, observation=constant([value]))) for layer, value in layers
    ]
    return b.build(b.hadamard(*evidence))


@EACH_MODE
def test_two_binomials_of_different_counts_under_evidence(mode: Mode):
    def binomial(count_: int) -> BinomialLayer:
        return BinomialLayer(scope=(0,), num_output_units=1, total_count=count_, probs=constant([0.5]))

    module = compile_circuit(circuit_of_evidence((binomial(2), 1), (binomial(10), 5)), **mode)
    wanted = np.log(2 / 4) + np.log(252 / 1024)  # C(2,1) / 2^2 and C(10,5) / 2^10
    np.testing.assert_allclose(output(module, None), [[wanted]], rtol=1e-12)
    if mode["fold"]:
        assert layer_types(module) == ["Evidence", "Evidence", "Hadamard"]


@EACH_MODE
def test_mixed_types_under_evidence(mode: Mode):
    coin = CategoricalLayer(scope=(0,), num_output_units=1, num_categories=2, probs=constant([[0.25, 0.75]]))
    normal = GaussianLayer(scope=(1,), num_output_units=1, mean=constant([1.0]), stddev=constant([2.0]))
    other = CategoricalLayer(scope=(2,), num_output_units=1, num_categories=2, probs=constant([[0.5, 0.5]]))
    module = compile_circuit(circuit_of_evidence((coin, 1), (normal, 3.0), (other, 0)), **mode)
    wanted = np.log(0.75) + np.log(np.exp(-0.5) / np.sqrt(2 * np.pi) / 2) + np.log(0.5)
    np.testing.assert_allclose(output(module, None), [[wanted]], rtol=1e-12)
    if mode["fold"]:
        folds = [(kind, layer.num_folds) for kind, layer in zip(layer_types(module), module.layers, strict=True)]
        assert folds == [("Evidence", 2), ("Evidence", 1), ("Hadamard", 1)]


@pytest.mark.parametrize("preset", PRESETS)
def test_evidence_on_many_leaves_folds_into_one_layer(preset: str):
    coins = Parameterization()
    layers = [
        (CategoricalLayer(scope=(v,), num_output_units=1, num_categories=3, probs=coins((1, 3))), v % 3)
        for v in range(6)
    ]
    circuit = circuit_of_evidence(*layers)
    module = compile_circuit(circuit, preset=preset)
    assert layer_types(module) == ["Evidence", "Hadamard"]
    plain = compile_circuit(circuit, preset=preset, fold=False)
    np.testing.assert_allclose(output(module, None), output(plain, None), rtol=1e-12)
