"""The numbers that units read, packed for the kernels: weights, tables and densities, from the present parameters.

Rows are padded with zeros to whole vectors. The place of each block depends on the circuit only, so that packing again
after a change of parameters writes into the same memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchChainLayer, TorchDiscreteLayer, TorchInputLayer, TorchLayer
from explorer.backend.evaluation import LayerValues
from explorer.runtime.units import Kind, Source, Unit, Units

MARGIN = 1 + 1e-5
"""Sums of weights are rounded; bounds are not smaller than the sums."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the numbers of a unit begin: its weights, tables or densities, and its scales or bounds of weights."""

    values: int
    others: int


@dataclass(eq=False)
class Constants:
    """Packed numbers. `floats` has weights, tables, densities and bounds of weights, `doubles` the scales of tables.

    `problem` says why the units may not be evaluated with the present parameters; it is empty if they may.
    """

    circuit: EvaluatedCircuit
    units: Units
    lanes: int
    places: dict[int, Place] = field(default_factory=dict[int, Place])
    floats: Tensor = field(default_factory=lambda: torch.empty(0))
    doubles: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.float64))
    problem: str = ""
    layer_values: LayerValues = field(default_factory=dict[int, Mapping[str, Tensor]])
    """What the layers prepared from their parameters when they were packed."""

    def pack(self) -> None:
        """Evaluate the parameters and pack what units read."""
        self._floats: list[Tensor] = []
        self._doubles: list[Tensor] = []
        self._float_count = self._double_count = 0
        self.problem = ""
        values = self.layer_values = self.circuit.layer_values()
        for group in _groups(self.units):
            kind = self.units.units[group[0]].kind
            if kind is Kind.GAUSSIAN:
                self._pack_densities(group, values)
            elif kind in (Kind.SUM, Kind.MIXING, Kind.TUCKER, Kind.TENSOR_DOT):
                self._pack_weights(kind, group, values)
        self._pack_tables(values)
        self.floats = _joined(self._floats, self.floats)
        self.doubles = _joined(self._doubles, self.doubles)

    def padded(self, width: int) -> int:
        """The width of a row: whole vectors."""
        return -(-width // self.lanes) * self.lanes

    # ------------------------------------------------------------------ blocks

    def _add(self, values: Tensor) -> int:
        """Append numbers; returns where they begin."""
        start = self._float_count
        count = self.padded(values.numel())
        self._floats.append(_filled(values.reshape(-1), count))
        self._float_count += count
        return start

    def _pack_weights(self, kind: Kind, group: Sequence[int], values: LayerValues) -> None:
        """Weights (I, O) of each unit, and for each term a bound on the sum of the weights of an output unit."""
        source = self.units.units[group[0]].sources[0]
        folds = [self.units.units[number].sources[0].fold for number in group]
        weight = _parameters(values, source)["weight"].flatten(2)[folds]  # (U, O, I)
        if not bool((weight >= 0).all()):
            layer = type(self.circuit.graph.nodes[source.layer]).__name__
            self.problem = f"a weight of layer {source.layer} ({layer}) is negative or NaN: bounds hold for others only"
        terms = self.units.units[group[0]].terms
        if kind is Kind.MIXING:
            sums = weight.amax(dim=1)  # (U, H)
        else:
            sums = weight.unflatten(2, (terms, -1)).sum(dim=3).amax(dim=1)
        rows = _filled(weight.transpose(1, 2), self.padded(weight.shape[1]))
        size, bounds = rows[0].numel(), _filled(sums * MARGIN, self.padded(sums.shape[1]))
        start, norms = self._add(rows), self._add(bounds)
        for at, number in enumerate(group):
            self.places[number] = Place(start + at * size, norms + at * bounds.shape[1])

    def _pack_densities(self, group: Sequence[int], values: LayerValues) -> None:
        """For each density rows of means, 1 / (sqrt(2) stddev) and constants; a unit has those of its factors."""
        for number in group:
            unit = self.units.units[number]
            blocks: list[Tensor] = []
            for source in unit.sources:
                prepared = _parameters(values, source)
                mean, stddev, constant = (prepared[key][source.fold, 0] for key in ("mean", "stddev", "constant"))
                width = self.padded(unit.width)
                blocks += [_filled(mean, width), _filled(sqrt(0.5) / stddev, width), _filled(constant, width, -torch.inf)]
            self.places[number] = Place(self._add(torch.cat(blocks)), 0)

    def _pack_tables(self, values: LayerValues) -> None:
        """Rows (V, O) of each table in linear scale, and the logarithms that they were divided by."""
        read = {one for _, unit in self.units.computed() for one in unit.inputs} | set(self.units.outputs)
        logarithms: dict[int, Tensor] = {}
        for group in _groups(self.units):
            if self.units.units[group[0]].kind is not Kind.TABLE:
                continue
            tables = self._logarithms(group, values, logarithms)  # (U, V, O)
            logarithms.update(zip(group, tables, strict=True))
            chosen = [at for at, number in enumerate(group) if number in read]
            if not chosen:
                continue
            tables = tables[chosen]
            top = tables.amax(dim=2, keepdim=True)
            top = torch.where(top == -torch.inf, 0.0, top)
            rows = _filled(torch.exp(tables - top), self.padded(tables.shape[2]))
            start, size, states = self._add(rows), rows[0].numel(), rows.shape[1]
            for at, position in enumerate(chosen):
                self.places[group[position]] = Place(start + at * size, self._double_count + at * states)
            self._doubles.append(top.double().reshape(-1))
            self._double_count += top.numel()

    def _logarithms(self, group: Sequence[int], values: LayerValues, below: Mapping[int, Tensor]) -> Tensor:
        """The tables (U, V, O) of units of one layer, as logarithms, computed by the layer itself."""
        source = self.units.units[group[0]].sources[0]
        folds = [self.units.units[number].sources[0].fold for number in group]
        layer, semiring = layer_of(self.circuit, source), self.circuit.semiring
        parameters = _parameters(values, source)
        if isinstance(layer, TorchInputLayer):
            count = layer.num_values if isinstance(layer, TorchDiscreteLayer) else 1
            device = next(iter(parameters.values())).device
            states = torch.arange(count, device=device).view(1, -1, 1)
            x = states.expand(layer.num_folds, -1, -1)[:, :, : layer.num_variables]
            return layer.forward(semiring, x, parameters)[folds]
        inputs = torch.stack([torch.stack([below[one] for one in self.units.units[number].inputs]) for number in group])
        return layer.forward(semiring, inputs, {name: value[folds] for name, value in parameters.items()})


def layer_of(circuit: EvaluatedCircuit, source: Source) -> TorchLayer:
    """The compiled layer of a source."""
    layer = circuit.graph.nodes[source.layer]
    for name in source.part.split(".")[:-1]:
        layer = layer.below if isinstance(layer, TorchChainLayer) and name == "below" else getattr(layer, name)
    return layer


def _filled(values: Tensor, width: int, by: float = 0.0) -> Tensor:
    """The last axis filled up to a width."""
    return torch.nn.functional.pad(values, (0, width - values.shape[-1]), value=by)


def _parameters(values: LayerValues, source: Source) -> Mapping[str, Tensor]:
    """What a layer prepared from its parameters; for a layer inside another one under its own names."""
    found = values[source.layer]
    return {name.removeprefix(source.part): value for name, value in found.items() if name.startswith(source.part)}


def _groups(units: Units) -> list[list[int]]:
    """The units of equal kind, layer and shape, each after those that it reads."""
    depth: dict[int, int] = {}
    found: dict[tuple[object, ...], list[int]] = {}
    for number, unit in units.units.items():
        depth[number] = 1 + max([depth[one] for one in unit.inputs], default=0) if unit.kind is Kind.TABLE else 0
        first = unit.sources[0] if unit.sources else None
        key = (depth[number], unit.kind, first and (first.layer, first.part), unit.terms, len(unit.inputs), unit.width)
        found.setdefault((*key, _states(units, unit)), []).append(number)
    return [group for _, group in sorted(found.items(), key=lambda item: item[0][0])]


def _states(units: Units, unit: Unit) -> tuple[Source, ...] | tuple[()]:
    """What tells the number of states of a derived table: the first table that it was made of, by its layer."""
    if unit.kind is not Kind.TABLE or not unit.inputs:
        return ()
    while unit.inputs:
        unit = units.units[unit.inputs[0]]
    return (Source(unit.sources[0].layer, 0),)


def _joined(parts: Sequence[Tensor], before: Tensor) -> Tensor:
    """The parts one after the other, in the memory that they had before if it fits."""
    size = sum(part.numel() for part in parts)
    if size != before.numel():
        before = torch.empty(size, dtype=before.dtype)
    if parts:
        torch.cat([part.to(before.dtype) for part in parts], out=before)
    return before
