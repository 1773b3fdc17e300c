"""The tensors that training reads of layers, with gradients: weights, tables and densities, by launch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import torch
from torch import Tensor

from explorer.backend import (
    TorchCategoricalLayer,
    TorchCircuit,
    TorchGaussianLayer,
    TorchInputLayer,
    all_parameters,
)
from explorer.backend.evaluation import LayerValues
from explorer.backend.parameters import TorchLogSoftmaxParameter, TorchSoftmaxParameter
from explorer.runtime.constants import MARGIN, values_of_source
from explorer.runtime.cuda.launches import Launch, Launches
from explorer.runtime.doubles import in_doubles, parameters_in_doubles
from explorer.runtime.graphs import launcher
from explorer.runtime.grouped.kernels import Values, from_logarithms
from explorer.runtime.kernel_types import SINGLE
from explorer.runtime.packed_tensors import PackedTensors, Tables
from explorer.runtime.plan import WEIGHTED, Kind, Plan, Source, layer_of, states_of

Part = Callable[[Source], Tensor]
"""From a source to a tensor (F, ...) of all folds of its layer."""


@dataclass(frozen=True, eq=False)
class Folds:
    """Consecutive calls that have numbers of one layer: a source for it, and the folds as a slice or on a device."""

    source: Source
    index: slice | Tensor

    def of(self, tensor: Tensor) -> Tensor:
        """Those folds of a tensor (F, ...)."""
        if isinstance(self.index, Tensor):
            return torch.index_select(tensor, 0, self.index)
        return tensor if self.index == slice(0, len(tensor)) else tensor[self.index]


@dataclass(frozen=True, eq=False)
class Sources:
    """The sources of launches on a device: weights by launch that has some, tables by width, densities by launch."""

    weights: tuple[tuple[Folds, ...], ...]
    tables: tuple[tuple[Folds, ...], ...]
    densities: tuple[tuple[tuple[Folds, ...], ...], ...]
    """By launch, and by factor of its products of densities."""
    normalized: Mapping[int, str]
    """By categorical layer the parameter that is a softmax, or log-softmax, over its states."""


@dataclass(frozen=True, eq=False)
class Read:
    """The tensors that an evaluation reads: those that have gradients, and the constants that belong to them.

    `has_bad_weight` (1) is 1 on the device if a weight is negative or NaN.
    """

    weights: tuple[Tensor, ...]
    rows: tuple[Tensor, ...]
    densities: tuple[Tensor, ...]
    norms: tuple[Tensor, ...]
    scales: tuple[Tensor, ...]
    bounds: tuple[Tensor, ...]
    density_scales: tuple[Tensor, ...]
    density_bounds: tuple[Tensor, ...]
    has_bad_weight: Tensor

    @property
    def trained(self) -> tuple[Tensor, ...]:
        """The tensors that have gradients."""
        return (*self.weights, *self.rows, *self.densities)

    def with_trained(self, tensors: Sequence[Tensor]) -> "Read":
        """The same with other tensors in place of those that have gradients."""
        given = iter(tensors)
        weights, rows, densities = (
            tuple(next(given) for _ in some) for some in (self.weights, self.rows, self.densities)
        )
        return replace(self, weights=weights, rows=rows, densities=densities)

    def constants(self, launches: Launches) -> PackedTensors:
        """As an evaluation takes them."""
        weights = zip(self.weights, self.norms, strict=True)
        numbers = tuple(next(weights) if launch.kind in WEIGHTED else () for launch in launches.launches)
        tables = tuple(Tables(*some) for some in zip(self.rows, self.scales, self.bounds, strict=True))
        return PackedTensors(numbers, tables)

    def density_values(self) -> list[Values]:
        """As an evaluation takes them."""
        return [Values(*some) for some in zip(self.densities, self.density_scales, self.density_bounds, strict=True)]


def densities_by_layers(plan: Plan) -> Plan:
    """Make densities of all Gaussian calls: the layers evaluate them."""
    found = {
        number: replace(call, kind=Kind.DENSITY, variables=()) if call.kind is Kind.GAUSSIAN else call
        for number, call in plan.calls.items()
    }
    return replace(plan, calls=found)


def sources_of(circuit: TorchCircuit, launches: Launches, device: torch.device) -> Sources:
    """Return where launches read on a device."""
    calls = launches.plan.calls

    def folds(sources: Sequence[Source]) -> tuple[Folds, ...]:
        runs = groupby(sources, lambda one: (one.layer, one.part))
        return tuple(_folds(tuple(some), device) for _, some in runs)

    def of(numbers: Sequence[int], factor: int = 0) -> tuple[Folds, ...]:
        return folds([calls[number].sources[factor] for number in numbers])

    return Sources(
        tuple(of(launch.members) for launch in launches.launches if launch.kind in WEIGHTED),
        tuple(of(tables) for tables in launches.tables.values()),
        tuple(
            tuple(of(launch.members, factor) for factor in range(len(calls[launch.members[0]].sources)))
            for launch in launches.launches
            if launch.kind is Kind.DENSITY
        ),
        _normalized(circuit),
    )


def _normalized(circuit: TorchCircuit) -> dict[int, str]:
    found: dict[int, str] = {}
    for node, layer in circuit.graph.nodes.items():
        for name, softmax in (("probs", TorchSoftmaxParameter), ("logits", TorchLogSoftmaxParameter)):
            if isinstance(layer, TorchCategoricalLayer) and getattr(layer, name) is not None:
                operator = circuit.last_operator(node, name)
                if isinstance(operator, softmax) and operator.axis == 1:  # of (K, states)
                    found[node] = name
    return found


def read_layers(circuit: TorchCircuit, launches: Launches, sources: Sources, x: Tensor) -> Read:
    """Return what the present parameters are for launches, with gradients; x (B, D) is the input of densities."""
    values = _layer_values(circuit, sources.normalized)
    weighted = [launch for launch in launches.launches if launch.kind in WEIGHTED]
    weights = tuple(
        _gathered(some, lambda one: values_of_source(values, one)["weight"].flatten(2).float())
        for some in sources.weights
    )
    has_bad_weight = torch.zeros(1, dtype=torch.int32, device=x.device)
    norms = tuple(_norms(launch, one, has_bad_weight) for launch, one in zip(weighted, weights, strict=True))
    rows, scales, bounds = _split([_table(circuit, values, some) for some in sources.tables])
    densities = _split([_densities(circuit, values, some, x) for some in sources.densities])
    return Read(weights, rows, densities[0], norms, scales, bounds, densities[1], densities[2], has_bad_weight)


def _layer_values(circuit: TorchCircuit, normalized: Mapping[int, str]) -> LayerValues:
    """Return what layers prepared from their parameters.

    The logarithm of a softmax over states is taken at once: where the softmax is not a normal number, its own gradient
    would be lost. Operators and other input layers compute in double precision.
    """
    weights = {
        (node, name)
        for node, layer in circuit.graph.nodes.items()
        if not isinstance(layer, TorchInputLayer)
        for name in all_parameters(layer)
    }
    given = circuit.parameter_values(normalized.items(), in_doubles=parameters_in_doubles(circuit, weights))
    found: dict[int, Mapping[str, Tensor]] = {}
    for node, layer in circuit.graph.nodes.items():
        values = given[node]
        if node in normalized:
            found[node] = {"table": torch.log_softmax(values[normalized[node]], dim=2)}
        elif isinstance(layer, TorchGaussianLayer) and layer.mean.is_stored:  # large, and precise enough
            found[node] = {name: one.float() for name, one in layer.prepare(circuit.semiring, values).items()}
        else:
            values = in_doubles(values) if isinstance(layer, TorchInputLayer) else values
            found[node] = layer.prepare(circuit.semiring, values) if values else {}
    return found


def _folds(sources: Sequence[Source], device: torch.device) -> Folds:
    folds = [source.fold for source in sources]
    if folds == list(range(folds[0], folds[0] + len(folds))):
        return Folds(sources[0], slice(folds[0], folds[0] + len(folds)))
    return Folds(sources[0], torch.tensor(folds, device=device))


def _gathered(pieces: Sequence[Folds], part: Part) -> Tensor:
    found = [piece.of(part(piece.source)) for piece in pieces]
    return (torch.cat(found) if len(found) > 1 else found[0]).contiguous()


def _norms(launch: Launch, weight: Tensor, has_bad_weight: Tensor) -> Tensor:
    """For each term (G, H) a bound on the sum of the weights (G, O, H*I) of an output unit."""
    from explorer.runtime.cuda import kernels

    found = torch.empty((len(launch.members), launch.terms), device=weight.device)
    launcher(kernels.bound_weights, (found.numel(),))(
        weight, found, has_bad_weight, MARGIN,
        WIDTH=launch.width, COUNT=weight.shape[2] // launch.terms, TERMS=launch.terms, BLOCK_OUT=16, BLOCK_IN=64,
    )  # fmt: skip
    return found


def _table(circuit: TorchCircuit, values: LayerValues, pieces: Sequence[Folds]) -> tuple[Tensor, Tensor, Tensor]:
    """Rows (R, K) of tables in linear scale, the logarithms (R) that they were divided by, and their bounds (R)."""

    def logarithms(source: Source) -> Tensor:
        layer, prepared = layer_of(circuit, source), values_of_source(values, source)
        assert isinstance(layer, TorchInputLayer)
        if "table" in prepared:
            return prepared["table"].transpose(1, 2)
        states = states_of(layer, next(iter(prepared.values())).device)
        return layer.forward(circuit.semiring, states, prepared)

    parts = [piece.of(logarithms(piece.source)).flatten(0, 1) for piece in pieces]
    found = torch.cat(parts) if len(parts) > 1 else parts[0].contiguous()
    top = found.detach().amax(dim=1)
    top = torch.where(top == -torch.inf, 0.0, top)
    bounds = torch.full_like(top, SINGLE.smallest, dtype=torch.float32)
    return torch.exp(found - top.unsqueeze(1)).float(), top.double(), bounds


def _densities(
    circuit: TorchCircuit, values: LayerValues, factors: Sequence[Sequence[Folds]], x: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The values (G, B, K) of products of densities, their scales and bounds (G, B)."""
    layers = {piece.source.layer for pieces in factors for piece in pieces}
    found = circuit.input_activations(x.float() if x.is_floating_point() else x, tuple(layers), values)
    total = _gathered(factors[0], lambda one: found[one.layer])
    for pieces in factors[1:]:
        total = total + _gathered(pieces, lambda one: found[one.layer])
    made = from_logarithms(total)
    return made.values.float(), made.scales.detach(), made.bounds.detach()


def _split(found: Sequence[tuple[Tensor, Tensor, Tensor]]) -> tuple[tuple[Tensor, ...], ...]:
    return tuple(zip(*found, strict=True)) if found else ((), (), ())
