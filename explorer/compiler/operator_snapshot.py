"""The circuits between two operators, and a step for each operator, before the circuit that results is compiled."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from explorer.backend import ParameterStore, TorchCircuit, TorchLayer, allocate_parameters, parameter_nodes
from explorer.compiler.operator_values import columns_of, expected_values
from explorer.compiler.stats import StatsCounter
from explorer.errors import CircuitError
from explorer.graph import Graph, nested_of, parameters_of
from explorer.symbolic import (
    Circuit,
    Layer,
    OperatorStep,
    OperatorSteps,
    ParameterNode,
    TensorParameter,
    formula_of,
    operator_words,
)
from explorer.trace import (
    COMPILED,
    GraphChange,
    Noted,
    OperatorApplied,
    PresentCircuit,
    Stage,
    StepEnded,
    StepPath,
    StepStarted,
)

if TYPE_CHECKING:
    from explorer.compiler.compiler import TorchCompiler

COMPILE = "compile"
"""The step that compiles layers."""


def report_operators(
    compiler: "TorchCompiler", circuit: Circuit, operators: OperatorSteps, notify: Callable[[Any], None]
) -> str:
    """Report each operator that made a circuit as a step; the last one has the layers of the circuit.

    Returns why there are no steps, if a layer of an operand has no compile rule: the circuit itself may compile.
    """
    try:
        derived = DerivedCircuits.of(compiler, circuit, operators)
    except CircuitError as error:
        return str(error)
    runs = Counter([COMPILE])  # an operator of this name is its second run
    for step in operators.steps:
        made = step.made
        name = "operands" if made is None or made.derivation is None else made.derivation.operator
        runs[name] += 1
        notify(StepStarted(StepPath.of(Stage(name, run=runs[name])), COMPILED))
        notify(derived.applied(step))
        notify(StepEnded(True, 0.0, OperatorSnapshot(derived, step)))
        if made is not None:
            notify(Noted(f"{formula_of(made, circuit)}: {operator_words(made)}"))
    return ""


@dataclass(frozen=True, eq=False)
class DerivedCircuits:
    """All circuits that operators combined into one; compiled when a state is asked for, not while recording."""

    compiler: "TorchCompiler"
    """Compiles the last of them."""
    copy: "TorchCompiler"
    """Compiles their layers, so that no leaf is claimed in the other."""
    whole: Circuit
    steps: OperatorSteps
    counter: StatsCounter

    @staticmethod
    def of(compiler: "TorchCompiler", whole: Circuit, steps: OperatorSteps) -> "DerivedCircuits":
        """Prepare to compile the circuits.

        Raises: CircuitError if a layer or parameter has no compile rule, or if the rule of a type of layers fails.
        """
        trial, copy = compiler.fresh_copy(), compiler.fresh_copy()
        layers = dict.fromkeys(layer for circuit in steps.offsets for layer in circuit.layers)
        for layer in {type(layer): layer for layer in layers}.values():
            trial.compile_layer(layer)
        for node in _parameters_by_type(layers).values():
            _ = copy.parameter_rules[node]
        copy.claim_leaves_of(compiler)
        return DerivedCircuits(compiler, copy, whole, steps, StatsCounter(compiler.semiring.is_complex))

    @cached_property
    def layers(self) -> Mapping[tuple[int, Layer], TorchLayer]:
        """By id in the trace and symbolic layer, the compiled one: a layer that an operator keeps is one layer.

        Raises: CircuitError, also RuleError, if a layer cannot be compiled.
        """
        found: dict[tuple[int, Layer], TorchLayer] = {}
        for circuit, offset in self.steps.offsets.items():
            for node, layer in circuit.graph.nodes.items():
                if (node + offset, layer) not in found:
                    found[node + offset, layer] = self.copy.compile_layer(layer)
        return found

    def graph_of(self, circuits: tuple[Circuit, ...]) -> Graph[TorchLayer]:
        """The layers of some circuits in one graph, with the outputs of all of them."""
        nodes: dict[int, TorchLayer] = {}
        inputs: dict[int, tuple[int, ...]] = {}
        found: list[int] = []
        for circuit in circuits:
            offset = self.steps.offsets[circuit]
            for node, layer in circuit.graph.nodes.items():
                nodes[node + offset] = self.layers[node + offset, layer]
                inputs[node + offset] = tuple(source + offset for source in circuit.graph.inputs[node])
            found += [output + offset for output in circuit.outputs]
        return Graph(nodes, inputs, tuple(found))

    def circuit_of(self, circuits: tuple[Circuit, ...]) -> TorchCircuit:
        """An executable circuit with the outputs of these, and the present values of the compiled circuit.

        Raises: CircuitError if their outputs differ in units.
        """
        units = {one.graph.nodes[one.outputs[0]].num_output_units: formula_of(one, self.whole) for one in circuits}
        if len(units) > 1:
            told = " and ".join(f"{formula} has outputs of {count}" for count, formula in units.items())
            raise CircuitError(f"these circuits cannot be run as one: {told} units; choose a later step")
        graph, store = self.graph_of(circuits), ParameterStore()
        names: dict[TensorParameter, str] = {}
        seed_names: dict[TensorParameter, str] = {}
        for circuit in circuits:
            names.update({leaf: self.whole.all_leaf_names[leaf] for leaf in circuit.leaf_names})
            seed_names.update(circuit.seed_names)
        compiled = self.compiler.circuits.compiled
        values = {leaf: value for one in compiled.values() for leaf, value in one.leaf_values().items()}
        if self.whole in compiled:
            values |= compiled[self.whole].leaf_values()
        tensors = allocate_parameters(store, parameter_nodes(graph), seed_names, self.compiler.options.seed, values)
        width = max(circuit.num_variables for circuit in circuits)
        return TorchCircuit(graph, None, self.compiler.semiring, tensors, store, names, seed_names, width)

    def applied(self, step: OperatorStep) -> OperatorApplied:
        """The result of an operator, and its operands."""
        offsets = self.steps.offsets
        present = tuple(
            PresentCircuit(formula_of(one, self.whole), tuple(node + offsets[one] for node in one.graph.nodes))
            for one in step.circuits
        )
        made = step.made
        if made is None or made.derivation is None:
            return OperatorApplied("", present, {})
        offset, operands = offsets[made], made.derivation.operands
        sources: dict[int, tuple[int, ...]] = {}
        for node, found in made.derivation.origins.items():
            ids = tuple(dict.fromkeys(layer + offsets[operands[operand]] for operand, layer in found))
            is_kept = ids == (node + offset,) and operands[0].graph.nodes[node] is made.graph.nodes[node]
            if not is_kept:
                sources[node + offset] = ids
        return OperatorApplied(made.derivation.operator, present, sources)


def _parameters_by_type(layers: Iterable[Layer]) -> Mapping[type, ParameterNode]:
    """A node of each type in the parameter graphs of layers, also of nested ones; each node is visited once."""
    found: dict[type, ParameterNode] = {}
    seen: set[ParameterNode] = set()
    waiting = list(layers)
    nodes: list[ParameterNode] = []
    while waiting:
        layer = waiting.pop()
        waiting += nested_of(layer).values()
        nodes += parameters_of(layer).values()
    while nodes:
        node = nodes.pop()
        if node not in seen:
            seen.add(node)
            found.setdefault(type(node), node)
            nodes += node.operands
    return found


@dataclass(frozen=True, eq=False, repr=False)
class OperatorSnapshot:
    """The circuits after an operator."""

    derived: DerivedCircuits
    step: OperatorStep
    change: GraphChange | None = None
    memory: None = None
    """Layers have no buffers."""

    @property
    def graph(self) -> Graph[TorchLayer]:
        """The layers of all circuits."""
        return self._graph

    @property
    def stats(self) -> Mapping[str, int]:
        """Layers, parameters, FLOPs and bytes of all circuits, for one example."""
        return self._stats

    @property
    def size(self) -> tuple[int, int]:
        """Number of layers and of folds."""
        return self.stats["layers"], self.stats["folds"]

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        """Nothing is folded."""
        return {}

    def circuit(self) -> TorchCircuit:
        """An executable circuit with the outputs of all circuits. Raises: CircuitError if these differ in units."""
        return self.derived.circuit_of(self.step.circuits)

    def circuit_with(self, node: int) -> TorchCircuit:
        """An executable circuit of the one that has this layer, also if the outputs of the others differ in units."""
        offsets = self.derived.steps.offsets
        return self.derived.circuit_of(
            tuple(one for one in self.step.circuits if node - offsets[one] in one.graph.nodes)[:1]
        )

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The outputs of the circuit that the operator made for rows of data."""
        made = self.step.circuits if self.step.made is None else (self.step.made,)
        return tuple(self.derived.circuit_of((one,))(columns_of(one, x)).detach() for one in made)

    def expected(self, x: Any) -> tuple[torch.Tensor, ...] | str:
        """Return the outputs by definition of the operator, from its operands' outputs; or why they are not known."""
        made = self.step.made
        if made is None or made.derivation is None:
            return "nothing was there before"

        compiled: dict[Circuit, TorchCircuit] = {}

        def run(circuit: Circuit, rows: torch.Tensor) -> torch.Tensor:
            if circuit not in compiled:
                compiled[circuit] = self.derived.circuit_of((circuit,))
            return compiled[circuit](rows)

        return expected_values(made, x, run, self.derived.compiler.semiring)

    @cached_property
    def _graph(self) -> Graph[TorchLayer]:
        return self.derived.graph_of(self.step.circuits)

    @cached_property
    def _stats(self) -> Mapping[str, int]:
        return self.derived.counter.stats(self._graph)
