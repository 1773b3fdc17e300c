"""Folded parameters: concatenated leaves, shared leaves and expressions, pointers and initial values."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from explorer.backend import foldwise_initializer_, leaf_seed
from explorer.backend.parameters import (
    TorchParameter,
    TorchParameterOp,
    TorchPointerParameter,
    TorchSoftmaxParameter,
    TorchSumParameter,
    TorchTensorParameter,
    apply_op,
)
from explorer.compiler import TorchCompiler
from explorer.errors import ShapeError
from explorer.fold import fold_parameter_nodes_group, fold_parameters
from explorer.fold.fold_layers import _are_equal_chains
from explorer.symbolic import (
    CircuitBuilder,
    ConstantInitializer,
    DataType,
    EmbeddingLayer,
    HadamardParameter,
    ParameterNode,
    SoftmaxParameter,
    SquareParameter,
    SumParameter,
    TensorParameter,
    constant,
)
from tests.levels.modes import PRESETS, compile_circuit, layer_types, output
from tests.oracle import assert_equals_oracle, constant_leaf_values


def parameter(node: ParameterNode, compiler: TorchCompiler | None = None) -> TorchParameter:
    return (compiler or TorchCompiler()).compile_parameter(node)


def kinds(folded: TorchParameter) -> list[tuple[str, int]]:
    return [(type(n).__name__.removeprefix("Torch").removesuffix("Parameter"), n.num_folds) for n in folded.nodes]


def test_tensors_concatenate_their_leaves():
    leaves = [TensorParameter((2, 3)) for _ in range(3)]
    folded: Any = fold_parameter_nodes_group([parameter(leaf).output for leaf in leaves])
    assert isinstance(folded, TorchTensorParameter)
    assert folded.leaves == tuple(leaves)
    assert len(folded.initializers) == folded.num_folds == 3
    assert folded.shape == (2, 3)


def test_pointers_concatenate_their_leaves():
    compiler = TorchCompiler()
    leaves = [TensorParameter((2,)) for _ in range(2)]
    for leaf in leaves:
        compiler.claim(leaf)
    pointers = [parameter(leaf, compiler).output for leaf in (leaves[1], leaves[0])]
    folded: Any = fold_parameter_nodes_group(pointers)
    assert isinstance(folded, TorchPointerParameter)
    assert folded.leaves == (leaves[1], leaves[0])
    assert folded.num_folds == 2


def test_operators_keep_their_config_and_add_their_folds():
    ops = [parameter(SoftmaxParameter((TensorParameter((2, 3)),), axis=0)).output for _ in range(4)]
    folded = fold_parameter_nodes_group(ops)
    assert isinstance(folded, TorchSoftmaxParameter)
    assert (folded.num_folds, folded.axis, folded.shape) == (4, 0, (2, 3))


def test_nodes_fold_within_a_parameter_and_across_parameters():
    def expression() -> ParameterNode:
        return SumParameter((SquareParameter((TensorParameter((2,)),)), SquareParameter((TensorParameter((2,)),))))

    compiler = TorchCompiler()
    folded = fold_parameters([parameter(expression(), compiler) for _ in range(3)])
    assert kinds(folded) == [("Tensor", 6), ("Square", 6), ("Sum", 3)]
    assert folded.fold_index is not None
    square, total = (n for n, v in folded.graph.nodes.items() if not isinstance(v, TorchTensorParameter))
    assert isinstance(folded.graph.nodes[total], TorchSumParameter)
    assert folded.fold_index.in_fold_idx[total].tolist() == [[[square, 2 * f], [square, 2 * f + 1]] for f in range(3)]
    assert folded.fold_index.out_fold_idx.tolist() == [[total, f] for f in range(3)]
    assert (folded.num_folds, folded.shape) == (3, (2,))


def test_a_leaf_that_members_share_is_stored_once_in_a_fold():
    compiler = TorchCompiler()
    shared, own = TensorParameter((2,)), TensorParameter((2,))
    folded = fold_parameters([parameter(node, compiler) for node in (shared, own, shared, SquareParameter((shared,)))])
    assert kinds(folded) == [("Tensor", 2), ("Square", 1)]
    assert folded.fold_index is not None
    (tensor, square) = folded.graph.nodes
    assert folded.fold_index.out_fold_idx.tolist() == [[tensor, 0], [tensor, 1], [tensor, 0], [square, 0]]


def test_an_expression_that_members_share_is_computed_once():
    compiler = TorchCompiler()
    softmax = SoftmaxParameter((TensorParameter((2,)),))
    folded = fold_parameters([parameter(HadamardParameter((softmax, softmax)), compiler) for _ in range(3)])
    assert kinds(folded) == [("Tensor", 1), ("Softmax", 1), ("Hadamard", 1)]


def test_equal_chains_fold_as_if_they_were_merged(monkeypatch: pytest.MonkeyPatch):
    compiler = TorchCompiler()
    leaf = TensorParameter((2, 3))
    _ = parameter(leaf, compiler)  # later uses point to the leaf
    cases = [
        ([TensorParameter((2, 3)), TensorParameter((2, 3))], True),
        ([SoftmaxParameter((SquareParameter((TensorParameter((2, 3)),)),)) for _ in range(3)], True),
        ([SoftmaxParameter((TensorParameter((2, 3)),), axis) for axis in (0, 1)], False),
        ([SoftmaxParameter((leaf,)), SoftmaxParameter((TensorParameter((2, 3)),))], False),
        ([SoftmaxParameter((TensorParameter((2, 3), learnable=learnable),)) for learnable in (True, False)], False),
        ([SquareParameter((leaf,)), SquareParameter((leaf,))], False),
        ([SquareParameter((TensorParameter((2, 3)),))], False),
    ]
    for nodes, are_equal in cases:
        members = [parameter(node, compiler) for node in nodes]
        assert _are_equal_chains([member.graph for member in members]) is are_equal
        found = fold_parameters(members)
        with monkeypatch.context() as patch:
            patch.setattr("explorer.fold.fold_layers._are_equal_chains", lambda graphs: False)
            wanted = fold_parameters(members)
        assert content(found) == content(wanted)


def content(folded: TorchParameter) -> object:
    """The fields of the nodes by id, their inputs, and the slices that they and the outputs read."""
    index: Any = folded.fold_index
    tables = {node: (table.shape, table.tolist()) for node, table in index.in_fold_idx.items()}
    nodes = {node: (type(value), vars(value)) for node, value in folded.graph.nodes.items()}
    return nodes, folded.graph.inputs, folded.graph.outputs, tables, index.out_fold_idx.tolist()


def test_leaves_that_differ_in_shape_type_or_learning_do_not_fold():
    compiler = TorchCompiler(semiring="sum-product")
    leaves = [
        TensorParameter((2,)),
        TensorParameter((2,), learnable=False),
        TensorParameter((2,), DataType.COMPLEX),
        TensorParameter((2,)),
    ]
    folded = fold_parameters([parameter(SumParameter((leaf, leaf)), compiler) for leaf in leaves])
    assert sorted(n for kind, n in kinds(folded) if kind == "Tensor") == [1, 1, 2]
    assert [n for kind, n in kinds(folded) if kind == "Sum"] == [3, 1]  # the complex one computes different values


def test_a_folded_parameter_is_not_folded_again():
    folded = fold_parameters([parameter(TensorParameter((2,))) for _ in range(2)])
    with pytest.raises(ShapeError, match=r"a parameter can be folded once; Tensor\[x2\]\(2,\) is folded already"):
        fold_parameters([folded])


@pytest.mark.parametrize("preset", PRESETS)
def test_layers_with_different_parameter_graphs_fold(preset: str):
    b = CircuitBuilder()
    weights = [
        constant([[0.5, 0.25]]),
        TensorParameter((1, 2), initializer=ConstantInitializer([[0.5, 2.0]])),
        SquareParameter((TensorParameter((1, 2), initializer=ConstantInitializer([[3.0, -1.0]])),)),
        SoftmaxParameter((TensorParameter((1, 2), initializer=ConstantInitializer([[1.0, 2.0]])),)),
    ]
    table = constant([[1.0, 2.0], [3.0, 4.0]])
    sums = [
        b.sum(
            b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=table)),
            num_units=1,
            weight=weight,
        )
        for v, weight in enumerate(weights)
    ]
    circuit = b.build(b.hadamard(*sums))
    folded = compile_circuit(circuit, preset=preset)
    assert [(kind, layer.num_folds) for kind, layer in zip(layer_types(folded), folded.layers, strict=True)] == [
        ("Embedding", 4),
        ("Sum", 4),
        ("Hadamard", 1),
    ]
    x = np.array([[0, 1, 0, 1], [1, 1, 1, 0]])
    assert_equals_oracle(output(folded, x), "lse-sum", circuit, constant_leaf_values(circuit), x)


def test_the_first_user_of_a_leaf_owns_it_and_later_ones_point_to_it():
    b = CircuitBuilder()
    table = TensorParameter((2, 3))
    x = [b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=3, weight=table)) for v in range(3)]
    circuit = b.build(b.hadamard(*x))
    plain: Any = compile_circuit(circuit, fold=False)
    assert [type(layer.weight.output) for layer in plain.layers[:3]] == [
        TorchTensorParameter,
        TorchPointerParameter,
        TorchPointerParameter,
    ]
    folded: Any = compile_circuit(circuit)
    assert kinds(folded.layers[0].weight) == [("Tensor", 1)]
    assert folded.layers[0].weight.fold_index.out_fold_idx[:, 1].tolist() == [0, 0, 0]
    assert [tuple(t.shape) for t in folded.parameters()] == [(1, 2, 3)]
    assert len(plain.leaf_state()) == len(folded.leaf_state()) == 1


def test_pointers_find_their_leaves_after_the_owner_is_folded():
    b = CircuitBuilder()
    tables = [TensorParameter((2, 2), initializer=ConstantInitializer(np.full((2, 2), v + 1.0))) for v in range(3)]
    x = [
        b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=table))
        for v, table in enumerate(tables)
    ]
    # the same leaves as weights, in a different order: pointers into the tensor of the inputs
    sums = [b.sum(node, num_units=2, weight=tables[2 - i]) for i, node in enumerate(x)]
    circuit = b.build(b.hadamard(*sums))
    folded: Any = compile_circuit(circuit, optimize=False)
    assert layer_types(folded) == ["Embedding", "Sum", "Hadamard"]
    assert kinds(folded.layers[1].weight) == [("Pointer", 3)]
    assert folded.layers[1].weight.output.leaves == tuple(reversed(tables))
    assert [tuple(t.shape) for t in folded.parameters()] == [(3, 2, 2)]
    rows = np.array([[0, 1, 0]])
    assert_equals_oracle(output(folded, rows), "lse-sum", circuit, constant_leaf_values(circuit), rows)


def test_operators_of_different_classes_with_equal_names_do_not_fold_together():
    def twice(factor: float) -> type[TorchParameterOp]:
        @dataclass(frozen=True, eq=False, kw_only=True)
        class TorchTwice(TorchParameterOp):
            def forward(self, *operands: torch.Tensor) -> torch.Tensor:
                return operands[0] * factor

        return TorchTwice

    compiler = TorchCompiler()
    members = [
        apply_op(twice(factor), compiler.compile_parameter(TensorParameter((2,))), shape=(2,)) for factor in (2.0, 5.0)
    ]
    folded = fold_parameters(members)
    assert [n for kind, n in kinds(folded) if kind != "Tensor"] == [1, 1]


# ---- initial values


def test_foldwise_initializer_fills_each_slice_by_its_own_initializer_and_seed():
    compiler = TorchCompiler()
    fill = [
        lambda tensor, generator: tensor.fill_(7.0),
        compiler.compile_initializer(TensorParameter((3,)).initializer),
        compiler.compile_initializer(TensorParameter((3,)).initializer),
    ]
    tensor = torch.zeros(3, 3)
    assert foldwise_initializer_(tensor, [(f, seed) for f, seed in zip(fill, (1, 2, 3), strict=True)]) is tensor
    assert tensor[0].tolist() == [7.0] * 3
    for i, seed in ((1, 2), (2, 3)):
        wanted = torch.zeros(3).normal_(0.0, 1.0, generator=torch.Generator().manual_seed(seed))
        assert torch.equal(tensor[i], wanted)


def test_the_seed_of_a_leaf_depends_on_the_seed_and_the_name_only():
    assert leaf_seed(0, "12.weight") == leaf_seed(0, "12.weight")
    assert len({leaf_seed(seed, name) for seed in range(5) for name in ("a", "b", "12.weight")}) == 15
    assert leaf_seed(1, "0/x") != leaf_seed(0, "1/x")
