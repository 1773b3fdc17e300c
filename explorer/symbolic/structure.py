"""Structural properties of circuits, each with the reason if it does not hold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from itertools import product, repeat

import numpy as np

from explorer.graph import Graph
from explorer.symbolic.checks import Scope, shared_variables
from explorer.symbolic.exclusion import Exclusion, Unit, UnitKind, Units
from explorer.symbolic.layers import (
    CategoricalLayer,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    HadamardLayer,
    InnerLayer,
    InputLayer,
    KroneckerLayer,
    Layer,
    RearrangeLayer,
    SumLayer,
)
from explorer.symbolic.parameters import ParameterNode, Zeros, fixed_values, known_zeros

MULTIPLYING = ("product", "fused")


@dataclass(frozen=True)
class Finding:
    """Whether a property holds, and if not, why; usable as a bool."""

    holds: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.holds


def is_smooth(graph: Graph[Layer], scopes: Mapping[int, Scope]) -> Finding:
    """The inputs of every sum layer depend on the same variables."""
    for node, layer in graph.nodes.items():
        if not _adds(layer):
            continue
        for source in graph.inputs[node]:
            if scopes[source] != scopes[node]:
                missing = sorted(set(scopes[node]) - set(scopes[source]))
                return Finding(False, f"sum layer %{node}: its input %{source} does not depend on variables {missing}")
    return Finding(True)


def is_decomposable(graph: Graph[Layer], scopes: Mapping[int, Scope]) -> Finding:
    """The inputs of every product layer depend on disjoint variables."""
    for node, layer in graph.nodes.items():
        if _multiplies(layer):
            shared = shared_variables(scopes[source] for source in graph.inputs[node])
            if shared:
                return Finding(False, f"product layer %{node}: its inputs share variables {list(shared)}")
    return Finding(True)


def is_structured_decomposable(graph: Graph[Layer], scopes: Mapping[int, Scope]) -> Finding:
    """The circuit is smooth and decomposable, and all products over one scope split it in the same way."""
    for finding in (is_smooth(graph, scopes), is_decomposable(graph, scopes)):
        if not finding:
            return finding
    splits: dict[Scope, tuple[int, tuple[Scope, ...]]] = {}
    for node, layer in graph.nodes.items():
        if not _multiplies(layer):
            continue
        split = tuple(sorted(scopes[source] for source in graph.inputs[node] if scopes[source]))
        first, known = splits.setdefault(scopes[node], (node, split))
        if known != split:
            return Finding(False, f"product layers {first} and {node} split the same variables in different ways")
    return Finding(True)


def _adds(layer: Layer) -> bool:
    return layer.kind == "sum" or (isinstance(layer, InnerLayer) and layer.multiplies is False)


def _multiplies(layer: Layer) -> bool:
    return layer.kind in MULTIPLYING or (isinstance(layer, InnerLayer) and layer.multiplies is True)


Position = tuple[int, int]
"""A unit that a layer reads: the number of the input, and the unit of that input."""

Reads = tuple[UnitKind, Iterable[Sequence[Position]]]
"""The operation that computes the units of a layer, and the units that each one reads."""


def is_deterministic(graph: Graph[Layer], scopes: Mapping[int, Scope]) -> Finding:
    """At each assignment, at most one term of each sum unit is nonzero, for all values of the learned parameters.

    Shown by known zeros: fixed tables with zeros (a literal of a logic circuit is one) and fixed weights that are zero.
    A circuit that is deterministic for other reasons is not shown to be; the reason says where.
    """
    units = _CircuitUnits.of(graph, scopes)
    exclusion = Exclusion(units.units.known)
    for node, layer in graph.nodes.items():
        if isinstance(layer, InputLayer):
            units.add_inputs(node)
            continue
        reads = reads_of_units(layer)
        if reads is None:
            name = type(layer).__name__
            reason = f"no rule says what its units read; add one with @reads_of_units.register for {name}"
            return Finding(False, f"layer %{node} ({name}): {reason}")
        for number, unit in enumerate(units.add(node, reads)):
            if unit.kind is UnitKind.SUM and (overlap := exclusion.overlap(unit.below, units.name)):
                return Finding(False, f"sum layer %{node}, unit {number}: the terms {overlap}")
    return Finding(True)


@singledispatch
def reads_of_units(layer: Layer) -> Reads | None:
    """Return the units that each unit of an inner layer reads: terms of a sum without known zeros, or factors.

    None for a layer without a rule; other modules add theirs with `@reads_of_units.register`.
    """
    return None


@reads_of_units.register
def _sum(layer: SumLayer) -> Reads:
    zeros = known_zeros(layer.weight)
    columns = list(product(range(layer.arity), range(layer.num_input_units)))
    if zeros is None:
        return UnitKind.SUM, repeat(columns, layer.num_output_units)
    rows: list[list[bool]] = zeros.tolist()
    return UnitKind.SUM, ([at for at, zero in zip(columns, row, strict=True) if not zero] for row in rows)


@reads_of_units.register
def _hadamard(layer: HadamardLayer) -> Reads:
    return UnitKind.PRODUCT, ([(h, k) for h in range(layer.arity)] for k in range(layer.num_output_units))


@reads_of_units.register
def _kronecker(layer: KroneckerLayer) -> Reads:
    choices = product(range(layer.num_input_units), repeat=layer.arity)
    return UnitKind.PRODUCT, (list(enumerate(choice)) for choice in choices)


@reads_of_units.register
def _rearrange(layer: RearrangeLayer) -> Reads:
    return UnitKind.PRODUCT, ([(0, unit)] for unit in layer.units_read)


@singledispatch
def zeros_of_input(layer: InputLayer) -> Zeros | None:
    """The values of its variable at which the units of an input layer are certainly zero; None if none are known.

    Shapes: (O, values), or (O, 1) for a layer that reads no variable. Other modules add rules with
    `@zeros_of_input.register`.
    """
    return None


@zeros_of_input.register
def _embedding(layer: EmbeddingLayer) -> Zeros | None:
    return known_zeros(layer.weight)


@zeros_of_input.register
def _categorical(layer: CategoricalLayer) -> Zeros | None:
    return _log_zeros(layer.logits) if layer.probs is None else known_zeros(layer.probs)


@zeros_of_input.register
def _constant(layer: ConstantValueLayer) -> Zeros | None:
    zeros = _log_zeros(layer.value) if layer.log_space else known_zeros(layer.value)
    return None if zeros is None else zeros[:, None]


@zeros_of_input.register
def _evidence(layer: EvidenceLayer) -> Zeros | None:
    zeros, observed = zeros_of_input(layer.layer), fixed_values(layer.observation)
    if zeros is None or observed is None or observed.size != 1:
        return None
    return zeros[:, [int(observed.item())]]


def _log_zeros(parameter: ParameterNode | None) -> Zeros | None:
    values = fixed_values(parameter)
    return None if values is None else np.asarray(values == -np.inf)


@dataclass(frozen=True)
class _CircuitUnits:
    """The units of the layers so far; a layer's units are consecutive."""

    graph: Graph[Layer]
    scopes: Mapping[int, Scope]
    zeros: Mapping[int, Zeros]
    units: Units
    first: dict[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def of(cls, graph: Graph[Layer], scopes: Mapping[int, Scope]) -> "_CircuitUnits":
        """No units yet, but the known zeros of all input layers."""
        inputs = {node: layer for node, layer in graph.nodes.items() if isinstance(layer, InputLayer)}
        found = {node: zeros_of_input(layer) for node, layer in inputs.items()}
        zeros = {node: values for node, values in found.items() if values is not None}
        most = max((values.shape[1] for values in zeros.values()), default=1)
        return cls(graph, scopes, zeros, Units(max(1, (most - 1).bit_length())))

    def add_inputs(self, node: int) -> None:
        """Add the units of an input layer."""
        self.first[node] = len(self.units.known)
        scope, zeros = self.scopes[node], self.zeros.get(node)
        for unit in range(self.graph.nodes[node].num_output_units):
            row = None if zeros is None else zeros[unit]
            if row is None or not row.any() or len(scope) > 1:
                self.units.add_constant(scope=_bits(scope), empty=False)
            elif not scope:
                self.units.add_constant(empty=True)
            else:
                self.units.add_input(scope[0], np.flatnonzero(~row).tolist())

    def add(self, node: int, reads: Reads) -> Iterator[Unit]:
        """Add the units of an inner layer one by one."""
        self.first[node] = len(self.units.known)
        start = [self.first[source] for source in self.graph.inputs[node]]
        scope, (kind, positions) = _bits(self.scopes[node]), reads
        make = self.units.add_sum if kind is UnitKind.SUM else self.units.add_product
        for of_unit in positions:
            yield make(scope, [start[h] + k for h, k in of_unit])

    def name(self, key: int) -> str:
        """The layer of a unit, with the number of the unit if the layer has several."""
        node = max((node for node, first in self.first.items() if first <= key), key=self.first.__getitem__)
        unit = key - self.first[node]
        return f"%{node}" if self.graph.nodes[node].num_output_units == 1 else f"%{node}[{unit}]"


def _bits(numbers: Iterable[int]) -> int:
    """The integer with these bits, in time proportional to the largest number."""
    found = list(numbers)
    field = bytearray(max(found, default=0) // 8 + 1)
    for number in found:
        field[number // 8] |= 1 << number % 8
    return int.from_bytes(field, "little")
