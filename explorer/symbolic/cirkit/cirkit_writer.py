"""`to_cirkit`: a circuit of this package as one of cirkit.

A product of circuits rearranges the columns of weights and, where there is no weight, units, which cirkit does not do:
constant weights replace it. Columns: W M x is the sum with weight W over the sum with the constant weight M of x.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.errors import ConversionError, DataTypeError, ShapeError, check_name, check_type, located
from explorer.graph import Graph, config_of, nested_of, parameters_of
from explorer.packages import require
from explorer.symbolic.arrangement_operators import (
    IndexParameter,
    KroneckerIdentityParameter,
    ReorderParameter,
    TriangleParameter,
)
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.cirkit.classes import (
    INITIALIZERS_MODULE,
    LAYERS,
    LAYERS_MODULE,
    OPERATORS,
    PARAMETERS_MODULE,
    class_name,
    is_cirkit,
)
from explorer.symbolic.derivation import LeafLabel
from explorer.symbolic.initializers import (
    ConstantInitializer,
    DirichletInitializer,
    Initializer,
    NormalInitializer,
    SoftmaxInitializer,
    UniformInitializer,
)
from explorer.symbolic.layers import (
    EvidenceLayer,
    HadamardLayer,
    InputLayer,
    KroneckerLayer,
    Layer,
    RearrangeLayer,
    SumLayer,
)
from explorer.symbolic.parameter_operators import KroneckerParameter
from explorer.symbolic.parameters import ParameterNode, ParameterOp, TensorParameter, constant

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


LAYER_NAMES: Mapping[type[Layer], str] = {kind: name for name, kind in LAYERS.items()}
OPERATOR_NAMES: Mapping[type[ParameterOp], str] = {kind: name for name, kind in OPERATORS.items()}


def to_cirkit(circuit: Circuit, *, values: Mapping[str, ArrayLike] | None = None) -> Any:
    """Convert a circuit to a symbolic circuit of cirkit with equal values.

    `values` are the values of leaves, by name: `compiled.leaf_state()` of the compiled circuit. Without them, a leaf
    keeps its initializer. A leaf that is used several times is a leaf where cirkit compiles it first, and a reference
    everywhere else. Products of one input, which cirkit does not have, become that input; rearrangements of units, as
    products of circuits have them, become sums with constant weights. Names of layers are lost.

    Raises: DataTypeError for anything else; MissingPackageError without libcirkit; ConversionError, which names the
    type and where it is, for a part that cirkit does not have; UnknownNameError and ShapeError for values that do not
    fit.
    """
    if is_cirkit(circuit):
        raise DataTypeError(
            "the circuit is one of cirkit already: use it as it is, or convert it to one of this package with "
            "from_cirkit(circuit)"
        )
    advice = "convert the symbolic circuit, with the leaf_state() of the compiled one as values="
    check_type("what is converted", circuit, Circuit, advice)
    require("a circuit of cirkit", "cirkit", "cirkit")
    names = circuit.leaf_names
    for name in values or {}:
        check_name("leaf", name, list(names.values()))
    circuit = with_substitutes(circuit)
    writer = _Writer(circuit.leaf_names, dict(values or {}))
    source = {node: _without_trivial_products(circuit, node) for node in circuit.graph.nodes}
    kept = [node for node in circuit.graph.nodes if source[node] == node]
    inputs = {node: [source[below] for below in circuit.graph.inputs[node]] for node in kept}
    operation = writer.observe(circuit)
    order = import_module("cirkit.utils.algorithms").topological_ordering(kept, inputs.__getitem__)
    layers = {node: writer.layer(circuit.graph.nodes[node], str(node)) for node in order}
    return import_module("cirkit.symbolic.circuit").Circuit(
        list(layers.values()),
        {layers[node]: [layers[below] for below in inputs[node]] for node in layers},
        [layers[source[output]] for output in circuit.outputs],
        operation=operation,
    )


def _without_trivial_products(circuit: Circuit, node: int) -> int:
    """The layer that computes the value of a layer: itself, unless it is a product of one input."""
    while (
        isinstance(circuit.graph.nodes[node], HadamardLayer | KroneckerLayer) and len(circuit.graph.inputs[node]) == 1
    ):
        node = circuit.graph.inputs[node][0]
    return node


@dataclass
class _Writer:
    """Converts layers in the order in which cirkit compiles them, which must meet a leaf before references to it."""

    names: Mapping[TensorParameter, str]
    values: Mapping[str, ArrayLike]
    leaves: dict[TensorParameter, Any] = field(default_factory=dict[TensorParameter, Any])
    observed: dict[Layer, Any] = field(default_factory=dict[Layer, Any])

    def observe(self, circuit: Circuit) -> Any:
        """Make the circuit of the observed layers, which cirkit compiles first: evidence has no leaves of its own."""
        for node, layer in circuit.graph.nodes.items():
            for name, nested in nested_of(layer).items():
                self.observed[nested] = self.layer(nested, f"{node}.{name}")
        if not self.observed:
            return None
        theirs, layers = import_module("cirkit.symbolic.circuit"), list(self.observed.values())
        return theirs.CircuitOperation(theirs.CircuitOperator.EVIDENCE, (theirs.Circuit(layers, {}, layers),))

    def layer(self, layer: Layer, path: str) -> Any:
        where = f"layer {path} ({type(layer).__name__})"
        name = LAYER_NAMES.get(type(layer))
        if name is None:
            raise ConversionError(
                f"{where}: cirkit has no {class_name(layer)}; express the layer by layers that it has"
            )
        config = config_of(layer)
        if isinstance(layer, HadamardLayer | KroneckerLayer):
            del config["num_output_units"]
        if isinstance(layer, InputLayer) and layer.scope:
            config["scope"] = import_module("cirkit.utils.scope").Scope(layer.scope)
        if isinstance(layer, EvidenceLayer):
            config = {"layer": self.observed[layer.layer].copyref()}
        for parameter_name, parameter in parameters_of(layer).items():
            config[parameter_name] = self.parameter(parameter, f"{where}: {parameter_name}")
        make = getattr(import_module(LAYERS_MODULE), name)
        return _made(where, lambda: make(**config))

    def parameter(self, parameter: ParameterNode, where: str) -> Any:
        theirs = import_module(PARAMETERS_MODULE)
        nodes: dict[ParameterNode, Any] = {}
        for node in parameter.nodes():
            nodes[node] = self.leaf(node, where) if isinstance(node, TensorParameter) else self.operator(node, where)
        inputs = {nodes[node]: [nodes[operand] for operand in node.operands] for node in nodes if node.operands}
        return theirs.Parameter(list(nodes.values()), inputs, [nodes[parameter]])

    def operator(self, node: ParameterNode, where: str) -> Any:
        name = OPERATOR_NAMES.get(type(node))  # pyright: ignore[reportArgumentType]
        if name is None:
            raise ConversionError(
                f"{where}: cirkit has no {class_name(node)}; express the parameter by operators that it has, or "
                "evaluate it and make the result a leaf"
            )
        if isinstance(node, IndexParameter) and node.axis != 0:
            raise ConversionError(
                f"{where}: {name} of cirkit selects along axis 0, whatever its axis; found {node.axis}"
            )
        config = config_of(node)
        if isinstance(node, IndexParameter):
            config["indices"] = list(node.indices)
        make = getattr(import_module(PARAMETERS_MODULE), name)
        return _made(f"{where}: {name}", lambda: make(*(operand.shape for operand in node.operands), **config))

    def leaf(self, leaf: TensorParameter, where: str) -> Any:
        theirs = import_module(PARAMETERS_MODULE)
        if leaf in self.leaves:
            return theirs.ReferenceParameter(self.leaves[leaf])
        self.leaves[leaf] = made = _made(
            where,
            lambda: theirs.TensorParameter(
                *leaf.shape,
                initializer=self.initializer(leaf, where),
                learnable=leaf.learnable,
                dtype=import_module("cirkit.symbolic.dtypes").DataType[leaf.dtype.name],
            ),
        )
        return made

    def initializer(self, leaf: TensorParameter, where: str) -> Any:
        value = self.values.get(self.names[leaf])
        if value is None:
            return _initializer(leaf.initializer, len(leaf.shape), where)
        array = np.asarray(value).copy()
        if array.shape != leaf.shape:
            raise ShapeError(
                f"{where}: the value of leaf {self.names[leaf]} has shape {array.shape}; the leaf has {leaf.shape}"
            )
        return import_module(INITIALIZERS_MODULE).ConstantTensorInitializer(array)


def _initializer(ours: Initializer, rank: int, where: str) -> Any:
    theirs = import_module(INITIALIZERS_MODULE)
    match ours:
        case ConstantInitializer():
            return theirs.ConstantTensorInitializer(ours.value.item() if ours.value.ndim == 0 else ours.value.copy())
        case UniformInitializer():
            return theirs.UniformInitializer(ours.low, ours.high)
        case NormalInitializer():
            return theirs.NormalInitializer(ours.mean, ours.stddev)
        case DirichletInitializer():
            alpha = list(ours.alpha) if isinstance(ours.alpha, tuple) else float(ours.alpha)
            return theirs.DirichletInitializer(alpha, axis=ours.axis)
        case SoftmaxInitializer(NormalInitializer() | UniformInitializer() as drawn, axis) if axis in (-1, rank - 1):
            made = _initializer(drawn, rank, where)
            if "convex" in signature(theirs.NormalInitializer).parameters:
                made.convex = True
                return made
        case _:
            pass
    raise ConversionError(f"{where}: the installed cirkit has no {ours}; pass the values of the leaves")


def _made(where: str, make: Callable[[], Any]) -> Any:
    """Call `make`. Raises: ConversionError with the reason and the location, if cirkit refuses it."""
    try:
        return make()
    except (ValueError, AssertionError) as error:
        raise ConversionError(f"{where}: cirkit refuses it: {error or 'an assertion failed'}") from error
