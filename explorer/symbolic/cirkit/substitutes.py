"""Parts that cirkit does not have, expressed by sums with constant weights.

A product of circuits rearranges the columns of weights and, where there is no weight, units. Columns: W M x is the sum
with weight W over the sum with the constant weight M of x.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from explorer.errors import ConversionError, located
from explorer.graph import Graph, parameters_of
from explorer.symbolic.arrangement_operators import (
    IndexParameter,
    KroneckerIdentityParameter,
    ReorderParameter,
    TriangleParameter,
)
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.derivation import LeafLabel
from explorer.symbolic.layers import Layer, RearrangeLayer, SumLayer
from explorer.symbolic.parameter_operators import KroneckerParameter
from explorer.symbolic.parameters import ParameterNode, constant

Matrix = NDArray[np.float64]
MAX_MATRIX_ENTRIES = 1 << 24
"""The most entries of a constant weight: 128 MiB."""


def with_substitutes(circuit: Circuit) -> Circuit:
    """The circuit with equal layers in place of rearrangements; ids of layers and names of leaves stay.

    It has the constants of the new sums as additional leaves. Their sizes are the squares of the numbers of units.
    """
    nodes: dict[int, Layer] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    fresh = max(circuit.graph.nodes) + 1
    known: dict[ParameterNode, ParameterNode] = {}
    for node, layer in circuit.graph.nodes.items():
        inputs[node] = circuit.graph.inputs[node]
        with located(f"layer {node} ({type(layer).__name__})"):
            if isinstance(layer, RearrangeLayer):
                nodes[node] = _fixed_sum(_rearranging(layer), 1)
                continue
            if isinstance(layer, SumLayer):
                weight, matrix = _peel(layer.weight)
                if matrix is not None:
                    nodes[fresh], inputs[fresh] = _fixed_sum(matrix, layer.arity), inputs[node]
                    layer = replace(layer, num_input_units=len(matrix), arity=1, weight=weight)
                    inputs[node], fresh = (fresh,), fresh + 1
        values = {name: _substitute(value, known) for name, value in parameters_of(layer).items()}
        changed = {name: value for name, value in values.items() if value is not getattr(layer, name)}
        nodes[node] = replace(layer, **changed) if changed else layer
    if nodes == dict(circuit.graph.nodes):
        return circuit
    labels = {leaf: LeafLabel(name, circuit.seed_names[leaf]) for leaf, name in circuit.leaf_names.items()}
    return Circuit(Graph[Layer].from_unordered(nodes, inputs, circuit.outputs), circuit.names, None, labels)


def _fixed_sum(matrix: Matrix, arity: int) -> SumLayer:
    units, columns = matrix.shape
    return SumLayer(num_input_units=columns // arity, num_output_units=units, arity=arity, weight=constant(matrix))


def _peel(weight: ParameterNode) -> tuple[ParameterNode, Matrix | None]:
    """A weight without operators on its columns, and the matrix that these multiply it by; None without them."""
    found: Matrix | None = None
    while isinstance(weight, ReorderParameter | TriangleParameter) and weight.axis in (1, -1):
        step = _of_columns(weight)
        found = step if found is None else step @ found
        (weight,) = weight.operands
    return weight, found


def _of_columns(operator: ReorderParameter | TriangleParameter) -> Matrix:
    """The result of an operator on columns for the identity matrix."""
    size = operator.operands[0].shape[1]
    _check_size(size, size)
    identity = np.eye(size)
    if isinstance(operator, ReorderParameter):
        order = (0, *(axis + 1 for axis in operator.order))
        return identity.reshape(size, *operator.sizes).transpose(order).reshape(size, size)
    return _halves(identity, operator)


def _halves(matrix: Matrix, operator: TriangleParameter) -> Matrix:
    """The blocks (i, j) with i <= j of the columns of a matrix, with those mirrored if they are added."""
    size, block = operator.size, operator.block
    blocks = matrix.reshape(-1, size, block, size, block).transpose(0, 1, 3, 2, 4)
    i, j = np.triu_indices(size)
    half = blocks[:, i, j]
    if operator.add:
        half = half + np.where((i < j)[:, None, None], blocks.transpose(0, 2, 1, 4, 3)[:, i, j], 0.0)
    return half.reshape(len(matrix), -1)


def _substitute(parameter: ParameterNode, known: dict[ParameterNode, ParameterNode]) -> ParameterNode:
    """A parameter with operators of cirkit for a Kronecker product with an identity, and for a choice of rows."""
    for node in parameter.nodes():
        operands = tuple(known.get(operand, operand) for operand in node.operands)
        if node in known or not operands:
            continue
        if isinstance(node, KroneckerIdentityParameter):
            known[node] = KroneckerParameter((*operands, constant(np.eye(node.size))))
        elif isinstance(node, TriangleParameter) and node.axis == 0 and not node.add:
            rows = np.arange(operands[0].shape[0], dtype=np.float64)[None, :]
            chosen = tuple(int(row) for row in _halves(rows, node)[0])
            known[node] = IndexParameter(operands, indices=chosen, axis=0)
        elif operands != node.operands:
            known[node] = replace(node, inputs=operands)
    return known.get(parameter, parameter)


def _check_size(rows: int, columns: int) -> None:
    """Raises: ConversionError for a matrix that is too large."""
    if rows * columns > MAX_MATRIX_ENTRIES:
        raise ConversionError(
            f"cirkit does not rearrange units: that would be a sum with a weight of {rows:,} x {columns:,} entries, "
            f"and at most {MAX_MATRIX_ENTRIES:,} entries are made; convert the operands, and multiply there"
        )


def _rearranging(layer: RearrangeLayer) -> Matrix:
    """The matrix (output units, input units) that a rearrangement multiplies by."""
    _check_size(layer.num_output_units, layer.num_input_units)
    return np.eye(layer.num_input_units)[list(layer.units_read)]
