"""Build a derived circuit: its layers with their origins, and the names of leaves of the operands; the rules."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explorer.errors import DataTypeError, DuplicateNameError, ScopeError, ShapeError, StructureError, located
from explorer.graph import Graph
from explorer.symbolic.circuit import Circuit, ColumnValues
from explorer.symbolic.derivation import Argument, Derivation, LeafLabel, unused_name
from explorer.symbolic.layers import InnerLayer, InputLayer, Layer
from explorer.symbolic.parameters import TensorParameter

Origin = tuple[int, int]
"""An operand, by its position, and the id of a layer of it."""

LayerRule = Callable[..., Any]


@dataclass(eq=False)
class Assembly:
    """Collects the layers of a derived circuit."""

    operands: tuple[Circuit, ...]
    nodes: dict[int, Layer] = field(default_factory=dict[int, Layer])
    inputs: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    origins: dict[int, tuple[Origin, ...]] = field(default_factory=dict[int, tuple[Origin, ...]])

    def add(self, layer: Layer, inputs: Sequence[int], origins: Iterable[Origin]) -> int:
        """Add a layer; returns its id."""
        node = len(self.nodes)
        self.nodes[node] = layer
        self.inputs[node] = tuple(inputs)
        self.origins[node] = tuple(dict.fromkeys(origins))
        return node

    def add_origin(self, node: int, origin: Origin) -> None:
        """Add an origin of a layer that has some."""
        self.origins[node] = tuple(dict.fromkeys((*self.origins[node], origin)))

    def build(
        self,
        operator: str,
        outputs: Sequence[int],
        arguments: Mapping[str, Argument] | None = None,
        names: Mapping[int, str] | None = None,
    ) -> Circuit:
        """The circuit with these outputs. Raises what `Circuit` raises."""
        derivation = Derivation(operator, self.operands, self.origins, arguments or {})
        graph = Graph(self.nodes, self.inputs, tuple(outputs))
        labels = carry_labels(self.operands)
        return Circuit(graph, names or {}, derivation, labels, *_columns_of(self.operands))


def _columns_of(operands: Sequence[Circuit]) -> tuple[tuple[str, ...], tuple[ColumnValues, ...]]:
    """Return the columns of the operands and the values of these; none if two operands are of different tables."""
    known = {(one.columns, one.column_values) for one in operands if one.columns}
    return known.pop() if len(known) == 1 else ((), ())


def carry_labels(operands: Iterable[Circuit]) -> dict[TensorParameter, LeafLabel]:
    """The labels in a derived circuit of all leaves of its operands; of equal names the second becomes `NAME/2`."""
    labels: dict[TensorParameter, LeafLabel] = {}
    taken: set[str] = set()
    for operand in operands:
        for leaf, wanted in operand.leaf_names.items():
            if leaf in labels:
                continue
            name = unused_name(wanted, taken)
            taken.add(name)
            labels[leaf] = LeafLabel(name, operand.seed_names[leaf])
    return labels


def replace_inputs(
    circuit: Circuit,
    operator: str,
    variables: Collection[int],
    replace: Callable[[InputLayer], Layer],
    arguments: Mapping[str, Argument] | None = None,
) -> Circuit:
    """The circuit with other layers for the input layers that read `variables`: same ids, edges, names and outputs.

    Raises: ScopeError for an input layer that reads only some of them and other variables, too.
    """

    def of(node: int, layer: Layer) -> Layer:
        inside = [v for v in layer.scope if v in variables] if isinstance(layer, InputLayer) else []
        if not isinstance(layer, InputLayer) or not inside:
            return layer
        if len(inside) < len(layer.scope):
            raise ScopeError(
                f"it reads variables {layer.scope}; {operator} accepts all of them or none, not {tuple(inside)}"
            )
        return replace(layer)

    return replace_layers(circuit, operator, of, arguments)


def replace_layers(
    circuit: Circuit,
    operator: str,
    replace: Callable[[int, Layer], Layer],
    arguments: Mapping[str, Argument] | None = None,
) -> Circuit:
    """The circuit with other layers: same ids, edges, names and outputs. Errors name the layer."""
    nodes: dict[int, Layer] = {}
    for node, layer in circuit.graph.nodes.items():
        with located(f"{operator}: {describe(circuit, node)}"):
            nodes[node] = replace(node, layer)
    assembly = Assembly(
        (circuit,), nodes, dict(circuit.graph.inputs), {node: ((0, node),) for node in circuit.graph.nodes}
    )
    return assembly.build(operator, circuit.outputs, arguments, circuit.names)


def describe(circuit: Circuit, node: int, operand: int | None = None) -> str:
    """A layer in words for an error: `layer 3 (SumLayer "root") of operand 0`."""
    name = f" {circuit.names[node]!r}" if node in circuit.names else ""
    where = "" if operand is None else f" of operand {operand}"
    return f"layer {node} ({type(circuit.graph.nodes[node]).__name__}{name}){where}"


def check_operands(operator: str, circuits: Sequence[object], at_least: int) -> tuple[Circuit, ...]:
    """The operands. Raises: DataTypeError if one is not a circuit; StructureError if there are too few."""
    found: list[Circuit] = []
    for circuit in circuits:
        if not isinstance(circuit, Circuit):
            advice = "; combine the symbolic circuits, and compile the result" if callable(circuit) else ""
            raise DataTypeError(f"{operator}: expected symbolic circuits, found {type(circuit).__name__}{advice}")
        found.append(circuit)
    if len(found) < at_least:
        raise StructureError(f"{operator}: expected at least {at_least} circuits, got {len(found)}")
    return tuple(found)


def require_decomposable(operator: str, circuits: Sequence[Circuit]) -> None:
    """Raises: StructureError that names the layer and the operand, unless all are smooth and decomposable."""
    for position, circuit in enumerate(circuits):
        for finding, word in ((circuit.is_smooth, "smooth"), (circuit.is_decomposable, "decomposable")):
            if not finding:
                which = f"operand {position}" if len(circuits) > 1 else "the circuit"
                raise StructureError(f"{operator}: {which} is not {word}: {finding.reason}")


def require_linear(operator: str, circuit: Circuit, variables: Iterable[int]) -> None:
    """Raises: StructureError for a layer above one of the variables that is not known to be linear in each input."""
    wanted = set(variables)
    for node, layer in circuit.graph.nodes.items():
        if not isinstance(layer, InnerLayer) or layer.multiplies is not None or wanted.isdisjoint(circuit.scopes[node]):
            continue
        name = type(layer).__name__
        raise StructureError(
            f"{operator}: {describe(circuit, node)} does not say that it is linear in each of its inputs; set "
            f"{name}.multiplies to True if a unit is a sum of products of one unit of each input, to False if it is a "
            "weighted sum of units"
        )


Placed = tuple[int, tuple[int, ...]]
"""The identity of a layer, and its inputs in the result."""


def concatenate(*circuits: Circuit) -> Circuit:
    """Make one circuit with the outputs of all circuits, in order; it shares their leaves.

    Layers that circuits have in common, with equal inputs, are there once: layers of a circuit that is given twice, and
    those that an operator kept, as `differentiate` does.
    Raises: StructureError without a circuit; ShapeError if the outputs differ in units.
    """
    operands = check_operands("concatenate", circuits, 1)
    assembly = Assembly(operands)
    known: dict[Placed, int] = {}
    names: dict[int, str] = {}
    outputs: list[int] = []
    for position, circuit in enumerate(operands):
        new: dict[int, int] = {}
        own: dict[Placed, int] = {}
        for node, layer in circuit.graph.nodes.items():
            placed = (id(layer), tuple(new[source] for source in circuit.graph.inputs[node]))
            if placed in known:
                new[node] = known[placed]
                assembly.add_origin(new[node], (position, node))
            else:
                new[node] = own[placed] = assembly.add(layer, placed[1], [(position, node)])
            name = circuit.names.get(node)
            if name is not None and name not in names.values():
                names.setdefault(new[node], name)
        known |= own
        outputs += [new[output] for output in circuit.outputs]
    return assembly.build("concatenate", outputs, names=names)


@dataclass(frozen=True, eq=False)
class RuleTable:
    """The rules of one operator, by the types of the layers that a rule is given first.

    `@integrate_rules.rule(MyLayer)` registers a function of a `MyLayer` that returns the layer to put in its place;
    `@multiply_rules.rule(MyLayer, MyLayer)` one of two layers. A rule raises a CircuitError if it has no result.
    """

    operator: str
    rules: dict[tuple[type[Layer], ...], LayerRule] = field(default_factory=dict[Any, LayerRule])

    def rule(self, *kinds: type[Layer]) -> Callable[[LayerRule], LayerRule]:
        """Decorator: register the rule for layers of these types. Raises: DuplicateNameError."""
        if kinds in self.rules:
            raise DuplicateNameError(f"{self.operator} has a rule for {_names(kinds)} already")

        def register(rule: LayerRule) -> LayerRule:
            self.rules[kinds] = rule
            return rule

        return register

    def find(self, *layers: Layer) -> LayerRule | None:
        """The rule for layers of these types, in this order; None if there is none."""
        return self.rules.get(tuple(type(layer) for layer in layers))

    def missing(self, what: str, *layers: Layer) -> StructureError:
        """Make the error for layers without a rule; `what` describes them."""
        kinds = tuple(type(layer) for layer in layers)
        return StructureError(f"no rule for {what}; register one with @{self.operator}_rules.rule({_names(kinds)})")


def _names(kinds: tuple[type, ...]) -> str:
    return ", ".join(kind.__name__ for kind in kinds)


expand_rules = RuleTable("expand")
"""For each type of inner layer from outside: a function of a layer that returns a built-in layer with the same values.

Its parameters are expressions of the layer's parameters, so that they share its leaves.
"""


def expand(circuit: Circuit) -> Circuit:
    """The circuit with built-in layers for those that have a rule: same ids, edges, names and outputs.

    Returns `circuit` itself if none has one. Raises: ShapeError if a rule returns a layer of other units or inputs.
    """

    def of(_: int, layer: Layer) -> Layer:
        rule = expand_rules.find(layer)
        if rule is None:
            return layer
        expanded = rule(layer)
        if _signature(expanded) != _signature(layer):
            raise ShapeError(
                f"its rule must return an inner layer with (input units, inputs, output units) {_signature(layer)}; "
                f"found {type(expanded).__name__} with {_signature(expanded)}"
            )
        return expanded

    if all(expand_rules.find(layer) is None for layer in circuit.layers):
        return circuit
    return replace_layers(circuit, "expand", of)


def _signature(layer: Layer) -> tuple[int, int, int] | None:
    if not isinstance(layer, InnerLayer):
        return None
    return layer.num_input_units, layer.arity, layer.num_output_units
