"""The symbolic circuit: a graph of layers that is checked at construction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from explorer.errors import (
    CircuitError,
    DataTypeError,
    DuplicateNameError,
    ShapeError,
    StructureError,
    unknown_name,
)
from explorer.files import read_json, write_json
from explorer.graph import Graph, nested_of, parameters_of
from explorer.symbolic import structure
from explorer.symbolic.checks import Scope, union
from explorer.symbolic.derivation import Derivation, LeafLabel, circuits_behind, formulas_of, unused_name
from explorer.symbolic.layers import InnerLayer, InputLayer, Layer
from explorer.symbolic.parameters import ParameterNode, TensorParameter
from explorer.symbolic.structure import Finding


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The cells of a column that a circuit reads as numbers: the position of a label, or (cell - zero) / unit.

    `is_integer`: they are integers, which the circuit reads as real numbers.
    """

    labels: tuple[str, ...] = ()
    zero: float = 0.0
    unit: float = 1.0
    is_integer: bool = False


@dataclass(frozen=True, eq=False)
class Circuit:
    """A probabilistic circuit: layers with ids, the inputs of each, and the output layers.

    `names` are the names of layers, which are optional. Build one with `CircuitBuilder`, a template, or `Circuit.load`.
    A circuit that an operator made (`explorer.symbolic.operators`) has a `derivation`, and its leaves have the names
    that they have in the operands: `labels`. `columns` are the names of its variables if these are columns of a table,
    and `column_values` what their cells are, if that is known.
    A circuit need not be smooth or decomposable; `require` checks that it is.
    Raises: ShapeError if the number of inputs of a layer is not its arity, their units are not its input units, or the
    outputs differ in units; DataTypeError if a node is not a layer; DuplicateNameError; StructureError without output;
    CircuitError for a name or a derivation of layers that do not exist.
    """

    graph: Graph[Layer]
    names: Mapping[int, str] = field(default_factory=dict[int, str])
    derivation: Derivation | None = None
    labels: Mapping[TensorParameter, LeafLabel] = field(default_factory=dict[TensorParameter, LeafLabel])
    columns: tuple[str, ...] = ()
    column_values: tuple[ColumnValues, ...] = ()

    def __post_init__(self) -> None:
        if not self.graph.outputs:
            raise StructureError("a circuit needs at least one output layer; found none")
        object.__setattr__(self, "names", dict(self.names))
        object.__setattr__(self, "labels", dict(self.labels))
        for node, layer in self.graph.nodes.items():
            _check_inputs(self, node, layer)
        _check_outputs(self)
        for node, name in self.names.items():
            if node not in self.graph.nodes:
                raise CircuitError(f"the name {name!r} is that of layer {node}, which does not exist")
        if len(set(self.names.values())) != len(self.names):
            twice = [name for name in self.names.values() if list(self.names.values()).count(name) > 1]
            raise DuplicateNameError(f"two layers have the name {twice[0]!r}; names must be unique in a circuit")
        if self.derivation is not None:
            _check_derivation(self.graph, self.derivation)
        _ = self.leaf_names

    @property
    def layers(self) -> Sequence[Layer]:
        """All layers in topological order."""
        return tuple(self.graph.nodes.values())

    @property
    def outputs(self) -> tuple[int, ...]:
        """The ids of the output layers, in order."""
        return self.graph.outputs

    @cached_property
    def scopes(self) -> Mapping[int, Scope]:
        """The scope of each layer: the variables it depends on."""
        scopes: dict[int, Scope] = {}
        known: dict[tuple[Scope, ...], Scope] = {}
        for node, layer in self.graph.nodes.items():
            if isinstance(layer, InputLayer):
                scopes[node] = layer.scope
                continue
            below = tuple(dict.fromkeys(scopes[source] for source in self.graph.inputs[node]))
            scope = known.get(below)
            if scope is None:
                scope = known[below] = union(below)
            scopes[node] = scope
        return scopes

    @cached_property
    def scope(self) -> Scope:
        """All variables of the circuit."""
        return union(self.scopes[output] for output in self.outputs)

    @cached_property
    def num_variables(self) -> int:
        """The number of columns of an input: the largest variable index plus one.

        Operators keep it: a circuit that lacks variables of its operands, as `integrate` makes it, accepts their rows.
        """
        scopes = (scope for circuit in circuits_behind(self) for scope in circuit.scopes.values())
        return max((scope[-1] for scope in scopes if scope), default=-1) + 1

    @cached_property
    def leaf_names(self) -> Mapping[TensorParameter, str]:
        """Every parameter leaf and its name, in order of first use.

        A leaf of a circuit that this one was derived from has its name there. Another leaf that has no name is called
        by its first use, `LAYER.PARAMETER` (`12.weight`), followed by `/2`, `/3` ... if that name is used already.
        Raises: DuplicateNameError.
        """
        first_use: dict[TensorParameter, str] = {}
        taken = {label.name for label in self.labels.values()}
        if len(taken) != len(self.labels):
            raise DuplicateNameError("two parameter leaves have the same label; labels must be unique in a circuit")
        for path, parameter in self.parameters():
            for node in parameter.nodes():
                if isinstance(node, TensorParameter) and node not in first_use:
                    if node.name in taken and node not in self.labels:
                        raise DuplicateNameError(f"two parameter leaves have the name {node.name!r}; found at {path}")
                    if node.name is not None and node not in self.labels:
                        taken.add(node.name)
                    first_use[node] = path
        names: dict[TensorParameter, str] = {}
        for leaf, path in first_use.items():
            if leaf in self.labels:
                names[leaf] = self.labels[leaf].name
                continue
            if leaf.name is not None:
                names[leaf] = leaf.name
                continue
            names[leaf] = unused_name(path, taken)
            taken.add(names[leaf])
        return names

    @cached_property
    def all_leaf_names(self) -> Mapping[TensorParameter, str]:
        """The names of its leaves, and of all leaves in circuits that operators made it of; each is unique."""
        found = dict(self.leaf_names)
        taken = set(found.values())
        for circuit in circuits_behind(self):
            for leaf, name in circuit.leaf_names.items():
                if leaf not in found:
                    found[leaf] = unused_name(name, taken)
                    taken.add(found[leaf])
        return found

    @cached_property
    def formulas(self) -> "Mapping[Circuit, str]":
        """The circuits that operators made it of, and itself: a letter, or the operators that made it."""
        return formulas_of(self)

    @cached_property
    def seed_names(self) -> Mapping[TensorParameter, str]:
        """The name by which the first value of every parameter leaf is drawn, from the circuit that it comes from."""
        labels = self.labels
        return {leaf: labels[leaf].seed_name if leaf in labels else name for leaf, name in self.leaf_names.items()}

    def parameters(self) -> Iterator[tuple[str, ParameterNode]]:
        """All parameter graphs with their paths (`12.weight`), nested layers included (`12.layer.probs`)."""
        for node, layer in self.graph.nodes.items():
            yield from _parameters(str(node), layer)

    @cached_property
    def is_smooth(self) -> Finding:
        """Whether all inputs of each sum have the same scope; if not, with the reason."""
        return structure.is_smooth(self.graph, self.scopes)

    @cached_property
    def is_decomposable(self) -> Finding:
        """Whether the inputs of each product have disjoint scopes; if not, with the reason."""
        return structure.is_decomposable(self.graph, self.scopes)

    @cached_property
    def is_structured_decomposable(self) -> Finding:
        """Whether all products over a scope split it in the same way; if not, with the reason."""
        return structure.is_structured_decomposable(self.graph, self.scopes)

    @cached_property
    def is_deterministic(self) -> Finding:
        """Whether at most one term of each sum unit is nonzero at each assignment, as far as it can be shown.

        If it cannot be shown from fixed zeros, the finding does not hold, and its reason says where.
        """
        from explorer.symbolic.structure import is_deterministic

        return is_deterministic(self.graph, self.scopes)

    def require(
        self,
        *,
        smooth: bool = False,
        decomposable: bool = False,
        structured_decomposable: bool = False,
        deterministic: bool = False,
    ) -> None:
        """Check that the circuit has the properties that a query needs.

        Raises: StructureError, which names the layer that violates the property.
        """
        if smooth and not self.is_smooth:
            raise StructureError(f"the circuit is not smooth: {self.is_smooth.reason}")
        if decomposable and not self.is_decomposable:
            raise StructureError(f"the circuit is not decomposable: {self.is_decomposable.reason}")
        if structured_decomposable and not self.is_structured_decomposable:
            raise StructureError(
                f"the circuit is not structured decomposable: {self.is_structured_decomposable.reason}"
            )
        if deterministic and not self.is_deterministic:
            raise StructureError(f"the circuit is not known to be deterministic: {self.is_deterministic.reason}")

    def save(self, path: "str | Path") -> None:
        """Write the circuit as versioned JSON (gzip if the name ends in .gz). Constants are written in full."""
        write_json(self.to_json(), path)

    def to_json(self) -> dict[str, Any]:
        """The circuit as data of JSON types."""
        from explorer.symbolic.circuit_files import circuit_to_json

        return circuit_to_json(self)

    @staticmethod
    def load(path: "str | Path") -> "Circuit":
        """Read a circuit file. Raises: FileFormatError for a foreign, truncated or newer file."""
        from explorer.symbolic.circuit_files import CIRCUIT_FORMAT, circuit_from_json

        return circuit_from_json(read_json(path, CIRCUIT_FORMAT), where=str(path))

    def layer_id(self, name: "str | int") -> int:
        """The id of a layer by name or id. Raises: UnknownNameError."""
        for node, known in self.names.items():
            if known == name:
                return node
        if isinstance(name, int) and name in self.graph.nodes:
            return name
        raise unknown_name("layer", name, list(self.names.values()))

    def __str__(self) -> str:
        return str(self.graph)

    def __repr__(self) -> str:
        return f"<Circuit: {len(self.graph)} layers, {len(self.scope)} variables, {len(self.outputs)} output(s)>"


def _parameters(path: str, layer: Layer) -> Iterator[tuple[str, ParameterNode]]:
    for name, parameter in parameters_of(layer).items():
        yield f"{path}.{name}", parameter
    for name, nested in nested_of(layer).items():
        yield from _parameters(f"{path}.{name}", nested)


def _check_inputs(circuit: Circuit, node: int, layer: object) -> None:
    sources = circuit.graph.inputs[node]
    if not isinstance(layer, InnerLayer):
        if not isinstance(layer, InputLayer):
            raise DataTypeError(
                f"node {node} of a circuit must be an InputLayer or an InnerLayer; found {type(layer).__name__}"
            )
        if sources:
            raise ShapeError(
                f"layer {node} ({type(layer).__name__}) is an input layer and reads no layers; found {sources}"
            )
        return
    if len(sources) != layer.arity:
        raise ShapeError(
            f"layer {node} ({type(layer).__name__}) has arity {layer.arity} but reads {len(sources)} layers"
        )
    for source in sources:
        width = circuit.graph.nodes[source].num_output_units
        if width != layer.num_input_units:
            raise ShapeError(
                f"layer {node} ({type(layer).__name__}) needs {layer.num_input_units} units from each input; "
                f"layer {source} has {width}"
            )


def _check_outputs(circuit: Circuit) -> None:
    width_of = {output: circuit.graph.nodes[output].num_output_units for output in circuit.outputs}
    if len(set(width_of.values())) > 1:
        found = ", ".join(f"layer {output} has {width}" for output, width in width_of.items())
        raise ShapeError(
            f"the outputs of a circuit form one tensor (B, outputs, units) and must have the same number of units; "
            f"found: {found}; add a sum with that many units to those that differ, or build separate circuits"
        )


def _check_derivation(graph: Graph[Layer], derivation: Derivation) -> None:
    """Raises: CircuitError for no name, no operands, or origins that do not exist."""
    if not (derivation.operator and derivation.operands):
        raise CircuitError("a derivation needs the name of an operator, and an operand")
    if list(derivation.origins) != list(graph.nodes):
        raise CircuitError("the origins of a derivation must name each layer of the circuit once, in order")
    for operand, layer in (pair for found in derivation.origins.values() for pair in found):
        if operand not in range(len(derivation.operands)) or layer not in derivation.operands[operand].graph.nodes:
            raise CircuitError(f"operand {operand} of a derivation has no layer {layer}")
