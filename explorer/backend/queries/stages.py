"""The layers of a compiled circuit as queries see them: chains apart, and for each input the layer and fold it is.

A query evaluates the stages in order, and goes back through them from an output. It works the same on a circuit that is
folded or not, or half-compiled.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from explorer.backend.addressing import IndexTable
from explorer.backend.circuit import TorchCircuit, double_copy
from explorer.backend.evaluation import EvaluatedCircuit
from explorer.backend.layers import TorchChainLayer, TorchInnerLayer, TorchInputLayer, TorchLayer
from explorer.backend.semiring import Semiring
from explorer.errors import DataTypeError
from explorer.symbolic import is_cirkit

StageId = tuple[int, int]
"""The id of a layer in the circuit, and the position in it if it is a chain (0 otherwise)."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A layer that is not a chain; `prefix` names its parameters in the circuit's layer.

    `sources` and `slices` (F, H) say for each fold and input which stage (its position in the list) and fold it reads;
    both are empty for an input layer.
    """

    id: StageId
    layer: TorchLayer
    prefix: str
    sources: IndexTable
    slices: IndexTable


@dataclass(frozen=True, eq=False)
class Stages:
    """The stages of a circuit in order, and the position and fold of the stage of each output."""

    circuit: EvaluatedCircuit
    stages: tuple[Stage, ...]
    outputs: tuple[tuple[int, int], ...]

    @property
    def activation_bytes(self) -> int:
        """The size of the activations of all stages for one row."""
        return 8 * sum(stage.layer.num_folds * stage.layer.num_output_units for stage in self.stages)

    @property
    def num_folds(self) -> int:
        """The number of folds of all stages."""
        return sum(stage.layer.num_folds for stage in self.stages)


@dataclass(frozen=True, eq=False)
class StageValues:
    """Prepare the layers from the present parameters, evaluated in double precision from the leaves.

    `semiring` is the one in which the query computes; input layers are prepared for `input_semiring`.
    """

    semiring: Semiring
    input_semiring: Semiring
    prepared: Mapping[StageId, Mapping[str, Tensor]]


def stages_of(circuit: EvaluatedCircuit) -> Stages:
    """The stages of a circuit. Raises: DataTypeError if it is not a compiled circuit."""
    if not isinstance(circuit, EvaluatedCircuit):
        inside = getattr(circuit, "circuit", None)
        advice = "; ask its .circuit" if isinstance(inside, EvaluatedCircuit) else ""  # a FastCircuit has one
        found = type(circuit).__name__
        if is_cirkit(circuit):
            found, advice = f"{found} of cirkit", "; compile from_cirkit(circuit) first, which copies its values"
        raise DataTypeError(
            f"queries are asked of a compiled circuit (TorchCircuit, FrozenCircuit); found {found}{advice}"
        )
    stages: list[Stage] = []
    position: dict[int, int] = {}  # of the last stage of each layer of the circuit
    for node, layer in circuit.graph.nodes.items():
        sources, slices = _inputs(circuit, node, position)
        parts = chain_parts(layer)
        for step, (prefix, part) in enumerate(parts):
            if step:
                folds = np.arange(layer.num_folds)[:, None]
                sources, slices = np.full_like(folds, len(stages) - 1), folds
            stages.append(Stage((node, step), part, prefix, sources, slices))
        position[node] = len(stages) - 1
    if circuit.fold_index is None:
        outputs = [(position[node], 0) for node in circuit.graph.outputs]
    else:
        outputs = [(position[node], fold) for node, fold in circuit.fold_index.out_fold_idx.tolist()]
    return Stages(circuit, tuple(stages), tuple(outputs))


def prepare(stages: Stages, semiring: Semiring) -> StageValues:
    """The parameters as a query in this semiring needs them, in full precision under autocast too.

    A trainable circuit prepares them again; a frozen circuit only has values for its own semiring.
    Raises: DataTypeError for a frozen inner layer that prepares its parameters for its own semiring only.
    """
    device = next((tensor.device.type for tensor in stages.circuit.parameters()), "cpu")
    available = torch.amp.is_autocast_available(device)
    with torch.autocast(device, enabled=False) if available else nullcontext():
        return _prepared(stages, semiring)


def _prepared(stages: Stages, semiring: Semiring) -> StageValues:
    circuit = stages.circuit
    found: dict[StageId, Mapping[str, Tensor]] = {}
    if isinstance(circuit, TorchCircuit):
        values = circuit.parameter_values(in_doubles=circuit.parameter_keys)
        for stage in stages.stages:
            own = _own(values[stage.id[0]], stage.prefix, semiring)
            found[stage.id] = stage.layer.prepare(semiring, own) if own else {}
        return StageValues(semiring, semiring, found)
    values = double_copy(circuit).layer_values()
    for stage in stages.stages:
        layer = stage.layer
        has_own_form = type(layer).prepare is not TorchLayer.prepare
        if isinstance(layer, TorchInnerLayer) and has_own_form and semiring != circuit.semiring:
            raise DataTypeError(
                f"{type(layer).__name__} of a frozen circuit is prepared for {circuit.semiring.name} only, and this "
                f"query computes in {semiring.name}; ask the circuit that was frozen"
            )
        found[stage.id] = _own(values[stage.id[0]], stage.prefix, semiring)
    return StageValues(semiring, circuit.semiring, found)


def chain_parts(layer: TorchLayer, prefix: str = "") -> list[tuple[str, TorchLayer]]:
    """The layers of a chain in order of evaluation, each with the prefix of its parameters; any other layer alone."""
    if not isinstance(layer, TorchChainLayer):
        return [(prefix, layer)]
    return chain_parts(layer.below, f"{prefix}below.") + chain_parts(layer.above, f"{prefix}above.")


def _inputs(circuit: EvaluatedCircuit, node: int, position: Mapping[int, int]) -> tuple[IndexTable, IndexTable]:
    layer = circuit.graph.nodes[node]
    if isinstance(layer, TorchInputLayer):
        empty = np.zeros((layer.num_folds, 0), dtype=np.int64)
        return empty, empty
    if circuit.fold_index is None:
        sources = np.array([[position[source] for source in circuit.graph.inputs[node]]], dtype=np.int64)
        return sources, np.zeros_like(sources)
    table = circuit.fold_index.in_fold_idx[node]
    sources = np.vectorize(position.__getitem__, otypes=[np.int64])(table[:, :, 0])
    return sources, table[:, :, 1]


def _own(values: Mapping[str, Tensor], prefix: str, semiring: Semiring) -> dict[str, Tensor]:
    chosen = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
    return {key: _in_double_precision(value, semiring) for key, value in chosen.items()}


def _in_double_precision(value: Tensor, semiring: Semiring) -> Tensor:
    """The tensor in double precision; under a semiring of real logarithms, real if its imaginary part is zero."""
    if value.is_complex():
        if semiring.is_logarithmic and not semiring.is_complex and not bool(value.imag.any()):
            return value.real.double()
        return value.to(torch.complex128)
    return value.double() if value.is_floating_point() else value
