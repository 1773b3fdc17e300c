"""The numbers that kernel calls read, packed: weights, tables and densities, from the present parameters.

They are computed in double precision and then rounded once: what single precision loses in a softmax that underflows, a
binomial coefficient or a sum of tables has no bound.

Rows are padded with zeros to whole vectors. Changed parameters are packed again into new memory: a call that has
begun keeps what it reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchInputLayer
from explorer.backend.evaluation import LayerValues
from explorer.runtime.kernel_types import DOUBLE, ZERO_SCALE
from explorer.runtime.memory import concat
from explorer.runtime.plan import WEIGHTED, Kind, Plan, Source, input_table, layer_of, states_of

MARGIN = 1 + 1e-5
"""Sums of weights are rounded; bounds are not smaller than the sums."""

TOLERANCE = 1e-6
"""A row is certified if underflow has changed no output by more than this, relatively."""


@dataclass(frozen=True, slots=True)
class Offsets:
    """The offsets of the numbers of a call: its weights, table or densities; their bounds; the scales of a table."""

    values: int
    bounds: int = 0
    scales: int = 0


@dataclass(frozen=True, eq=False)
class Constants:
    """Packed numbers: `floats` has weights, tables, densities and bounds of weights, `doubles` the scales of tables.

    `problem` says why the calls may not be evaluated with these parameters; it is empty if they may.
    """

    plan: Plan
    lanes: int
    offsets: Mapping[int, Offsets]
    floats: Tensor
    doubles: Tensor
    problem: str
    densities: LayerValues
    """The values that layers prepared which PyTorch evaluates, in double precision."""

    def padded(self, width: int) -> int:
        """The width of a row: whole vectors."""
        return _padded(width, self.lanes)


@torch.no_grad()
def pack_constants(
    circuit: EvaluatedCircuit,
    layer_values: LayerValues,
    plan: Plan,
    lanes: int,
    dtype: torch.dtype = torch.float32,
) -> Constants:
    """Pack what the calls of a circuit read, as numbers of a type; `lanes` of them are a vector.

    `layer_values` come from the present parameters of the circuit, in double precision.
    """
    packer = _Packer(circuit, layer_values, plan, lanes, dtype)
    packer.pack()
    floats = concat(packer.floats, dtype)
    doubles = concat(packer.doubles, torch.float64)
    return Constants(plan, lanes, packer.offsets, floats, doubles, packer.problem, packer.densities())


class _Packer:
    def __init__(
        self, circuit: EvaluatedCircuit, layer_values: LayerValues, plan: Plan, lanes: int, dtype: torch.dtype
    ) -> None:
        self.circuit = circuit
        self.dtype = dtype
        self.smallest = float(torch.finfo(dtype).smallest_normal)
        self.plan = plan
        self.lanes = lanes
        self.layer_values = layer_values
        self.offsets: dict[int, Offsets] = {}
        self.floats: list[Tensor] = []
        self.doubles: list[Tensor] = []
        self.num_floats = self.num_doubles = 0
        self.tops: dict[int, Tensor] = {}
        self.lost: dict[int, Tensor] = {}
        types = circuit.number_types - {torch.float32}
        self.problem = f"parameters are {next(iter(types))}, and the kernels compute with float32" if types else ""

    def pack(self) -> None:
        for group in _groups(self.plan):
            kind = self.plan.calls[group[0]].kind
            if kind is Kind.GAUSSIAN:
                self._pack_densities(group)
            elif kind in WEIGHTED:
                self._pack_weights(kind, group)
        self._pack_tables()

    def densities(self) -> LayerValues:
        """Return what the layers of calls of densities prepared from their parameters."""
        layers = {call.sources[0].layer for _, call in self.plan.computed() if call.kind is Kind.DENSITY}
        return {layer: self.layer_values[layer] for layer in layers}

    def _parameters(self, source: Source) -> Mapping[str, Tensor]:
        return values_of_source(self.layer_values, source)

    def _add(self, values: Tensor) -> int:
        """Append numbers; returns where they begin."""
        start = self.num_floats
        count = _padded(values.numel(), self.lanes)
        self.floats.append(_filled(values.reshape(-1).to(self.dtype), count))
        self.num_floats += count
        return start

    def _pack_weights(self, kind: Kind, group: Sequence[int]) -> None:
        """Weights (I, O) of each call, and for each term a bound on the sum of the weights of an output unit."""
        source = self.plan.calls[group[0]].sources[0]
        folds = [self.plan.calls[number].sources[0].fold for number in group]
        weight = self._parameters(source)["weight"].flatten(2)[folds]  # (U, O, I)
        if not bool((weight >= 0).all()):
            layer = type(self.circuit.graph.nodes[source.layer]).__name__
            self.problem = f"a weight of layer {source.layer} ({layer}) is negative or NaN: bounds hold for others only"
        terms = self.plan.calls[group[0]].terms
        if kind is Kind.MIXING:
            sums = weight.amax(dim=1)  # (U, H)
        else:
            sums = weight.unflatten(2, (terms, -1)).sum(dim=3).amax(dim=1)
        rows = _filled(weight.transpose(1, 2), _padded(weight.shape[1], self.lanes))
        size, bounds = rows[0].numel(), _filled((sums * MARGIN).clamp(min=self.smallest), _padded(terms, self.lanes))
        start, norms = self._add(rows), self._add(bounds)
        for at, number in enumerate(group):
            self.offsets[number] = Offsets(start + at * size, norms + at * bounds.shape[1])

    def _pack_densities(self, group: Sequence[int]) -> None:
        """For each density rows of means, 1 / (sqrt(2) stddev) and constants; a call has the rows of its factors."""
        for number in group:
            call = self.plan.calls[number]
            blocks: list[Tensor] = []
            for source in call.sources:
                prepared = self._parameters(source)
                mean, stddev, constant = (prepared[key][source.fold, 0] for key in ("mean", "stddev", "constant"))
                width = _padded(call.width, self.lanes)
                factor = sqrt(0.5) / stddev
                factor = torch.where(
                    (factor > 0) & (factor < self.smallest), torch.nan, factor
                )  # some modes flush it to 0
                blocks += [
                    _filled(mean, width),
                    _filled(factor, width),
                    _filled(constant, width, -torch.inf),
                ]
            self.offsets[number] = Offsets(self._add(torch.cat(blocks)))

    def _pack_tables(self) -> None:
        """Rows (V, O) of each table in linear scale, their bounds, and the logarithms that they were divided by."""
        read = set(self.plan.read_tables)
        logarithms: dict[int, Tensor] = {}
        for group in _groups(self.plan):
            if self.plan.calls[group[0]].kind is not Kind.TABLE:
                continue
            tables = self._logarithms(group, logarithms)  # (U, V, O)
            logarithms.update(zip(group, tables, strict=True))
            top, lost = self._scales(group, tables)  # (U, V)
            chosen = [at for at, number in enumerate(group) if number in read]
            if not chosen:
                continue
            if len(chosen) < len(group):
                tables, top, lost = tables[chosen], top[chosen], lost[chosen]
            rows = tables.new_zeros((*top.shape, _padded(tables.shape[2], self.lanes)), dtype=self.dtype)
            for row, table, scale in zip(rows, tables, top, strict=True):  # of one call: its numbers stay in the cache
                row[:, : table.shape[1]] = torch.sub(table, scale.unsqueeze(1)).exp_()
            start, size, states = self._add(rows), rows[0].numel(), rows.shape[1]
            is_zero = (tables.amax(dim=2) == -torch.inf) & (lost == 0)  # exactly
            bounds = self._add(torch.where(is_zero, 0.0, lost + self.smallest))
            for at, position in enumerate(chosen):
                found = Offsets(start + at * size, bounds + at * states, self.num_doubles + at * states)
                self.offsets[group[position]] = found
            self.doubles.append(torch.where(is_zero, ZERO_SCALE, top).reshape(-1))
            self.num_doubles += top.numel()

    def _scales(self, group: Sequence[int], tables: Tensor) -> tuple[Tensor, Tensor]:
        """The logarithm (U, V) that each row is divided by, and a bound (U, V) on what its elements have lost."""
        top, call = tables.amax(dim=2), self.plan.calls[group[0]]
        if call.inputs:
            top, lost = self._scales_of_sums(group, top)
        else:
            top, lost = torch.where(top == -torch.inf, 0.0, top), torch.zeros_like(top)
        self.tops.update(zip(group, top, strict=True))
        self.lost.update(zip(group, lost, strict=True))
        return top, lost

    def _scales_of_sums(self, group: Sequence[int], top: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithms of the scales of sums, and what is lost below the smallest double.

        That is much of a row with numbers far below the largest number that the sum reads.
        """
        call = self.plan.calls[group[0]]
        weight = self._parameters(call.sources[0]).get("weight")  # (F, O, I)
        below = [self.plan.calls[number].inputs for number in group]
        peak, lost = (
            torch.stack([found[one] for read in below for one in read]).unflatten(0, (len(group), -1)).amax(dim=1)
            for found in (self.tops, self.lost)
        )
        top = torch.where(top == -torch.inf, peak, top)
        if weight is not None:  # or values are only rearranged
            weight, folds = weight.flatten(2), [self.plan.calls[number].sources[0].fold for number in group]
            norm = weight.sum(dim=2).amax(dim=1)[folds].unsqueeze(1)  # (U, 1)
            lost = MARGIN * norm * (lost + DOUBLE.smallest) + weight.shape[2] * DOUBLE.smallest
        return top, lost * torch.exp((peak - top).clamp(min=0.0))

    def _logarithms(self, group: Sequence[int], below: Mapping[int, Tensor]) -> Tensor:
        """The tables (U, V, O) of calls of one layer, as logarithms, computed by the layer itself."""
        source = self.plan.calls[group[0]].sources[0]
        folds = [self.plan.calls[number].sources[0].fold for number in group]
        layer, semiring = layer_of(self.circuit, source), self.circuit.semiring
        parameters = self._parameters(source)
        if isinstance(layer, TorchInputLayer):
            x = states_of(layer, next(iter(parameters.values())).device)
            values = layer.forward(semiring, x, parameters)
            return values if folds == list(range(layer.num_folds)) else values[folds]
        read = [below[one] for number in group for one in self.plan.calls[number].inputs]
        inputs = torch.stack(read).unflatten(0, (len(group), -1))
        return layer.forward(semiring, inputs, {name: value[folds] for name, value in parameters.items()})


def values_of_source(values: LayerValues, source: Source) -> dict[str, Tensor]:
    """Return what a layer prepared from its parameters; for a layer inside another one under its own names."""
    found = values[source.layer]
    return {name.removeprefix(source.part): value for name, value in found.items() if name.startswith(source.part)}


def _padded(width: int, lanes: int) -> int:
    return -(-width // lanes) * lanes


def _filled(values: Tensor, width: int, by: float = 0.0) -> Tensor:
    """The last axis filled up to a width."""
    return torch.nn.functional.pad(values, (0, width - values.shape[-1]), value=by)


def _groups(plan: Plan) -> list[list[int]]:
    """The calls of equal kind, layer and shape, each after those that it reads."""
    heights: dict[int, int] = {}
    found: dict[tuple[object, ...], list[int]] = {}
    for number, call in plan.calls.items():
        heights[number] = 1 + max([heights[one] for one in call.inputs], default=0) if call.kind is Kind.TABLE else 0
        layer = [(source.layer, source.part) for source in call.sources[:1]]
        states = input_table(plan, call).sources[0].layer if call.kind is Kind.TABLE else -1
        key = (heights[number], call.kind, *layer, call.terms, len(call.inputs), call.width, states)
        found.setdefault(key, []).append(number)
    return sorted(found.values(), key=lambda group: heights[group[0]])
