"""Determinism: whether at most one term of each sum unit is nonzero at each assignment, as far as it can be shown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from itertools import combinations, product, repeat

import numpy as np

from explorer.graph import Graph
from explorer.symbolic.exclusion import MAX_PAIRS, Exclusion, SearchLimitError, Unit, UnitKind
from explorer.symbolic.layers import (
    CategoricalLayer,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    HadamardLayer,
    InputLayer,
    KroneckerLayer,
    Layer,
    SumLayer,
)
from explorer.symbolic.parameters import ParameterNode
from explorer.symbolic.scope import Scope
from explorer.symbolic.structure import Finding
from explorer.symbolic.zeros import Zeros, fixed_values, known_zeros

Position = tuple[int, int]
"""A unit that a layer reads: the number of the input, and the unit of that input."""

Reads = tuple[UnitKind, Iterable[Sequence[Position]]]
"""How the units of a layer are computed, and for each of them what it reads."""


def deterministic(graph: Graph[Layer], scopes: Mapping[int, Scope]) -> Finding:
    """At each assignment, at most one term of each sum unit is nonzero, for all values of the learned parameters.

    Shown by known zeros: fixed tables with zeros (a literal of a logic circuit is one) and fixed weights that are zero.
    A circuit that is deterministic for other reasons is not shown to be; the reason says where.
    """
    units = _Units(graph, scopes)
    exclusion = Exclusion(units.known.__getitem__)
    for node, layer in graph.nodes.items():
        if isinstance(layer, InputLayer):
            units.add_inputs(node, layer)
            continue
        reads = reads_of_units(layer)
        if reads is None:
            return Finding(False, f"layer %{node} ({type(layer).__name__}): no rule says what its units read")
        for number, unit in enumerate(units.add(node, reads)):
            reason = _overlap(unit, units, exclusion) if unit.kind is UnitKind.SUM else ""
            if reason:
                return Finding(False, f"sum layer %{node}, unit {number}: {reason}")
    return Finding(True)


@singledispatch
def reads_of_units(layer: Layer) -> Reads | None:
    """What each unit of an inner layer reads: the terms of a sum with a weight that is not a known zero, or factors.

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
class _Units:
    """The units of the layers so far, numbered in the order of the layers."""

    graph: Graph[Layer]
    scopes: Mapping[int, Scope]
    known: list[Unit] = field(default_factory=list[Unit])
    first: dict[int, int] = field(default_factory=dict[int, int])

    def add_inputs(self, node: int, layer: InputLayer) -> None:
        self.first[node] = len(self.known)
        scope, zeros = _bits(self.scopes[node]), zeros_of_input(layer)
        if zeros is None:
            self.known.extend(repeat(Unit(UnitKind.INPUT, scope=scope, full=True), layer.num_output_units))
            return
        for row in zeros:
            values = _bits(np.flatnonzero(~row).tolist())
            full, empty = not row.any(), bool(row.all())
            self.known.append(Unit(UnitKind.INPUT, (), scope, values, full, empty))

    def add(self, node: int, reads: Reads) -> Iterator[Unit]:
        """Add the units of an inner layer one by one."""
        self.first[node] = len(self.known)
        start = [self.first[source] for source in self.graph.inputs[node]]
        scope, (kind, positions) = _bits(self.scopes[node]), reads
        for of_unit in positions:
            keys = [start[h] + k for h, k in of_unit]
            below = [self.known[key] for key in keys]
            if kind is UnitKind.SUM:
                keys = [key for key, unit in zip(keys, below, strict=True) if not unit.empty]
                full, empty = any(unit.full for unit in below), not keys
            else:
                keys.sort(key=lambda key: self.known[key].scope.bit_count())
                full, empty = all(unit.full for unit in below), any(unit.empty for unit in below)
            self.known.append(Unit(kind, tuple(keys), scope, 0, full, empty))
            yield self.known[-1]

    def name(self, key: int) -> str:
        """The layer of a unit, with the number of the unit if the layer has several."""
        node = max((node for node, first in self.first.items() if first <= key), key=self.first.__getitem__)
        unit = key - self.first[node]
        return f"%{node}" if self.graph.nodes[node].num_output_units == 1 else f"%{node}[{unit}]"


def _overlap(unit: Unit, units: _Units, exclusion: Exclusion) -> str:
    """Why two terms of a sum unit are not known to exclude each other; empty if all do."""
    for one, other in combinations(unit.below, 2):
        terms = f"the terms {units.name(one)} and {units.name(other)}"
        try:
            if not exclusion.excludes(one, other):
                return f"{terms} are not known to exclude each other"
        except SearchLimitError:
            return f"that {terms} exclude each other was not shown by comparing {MAX_PAIRS:,} pairs of units"
    return ""


def _bits(numbers: Iterable[int]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits
