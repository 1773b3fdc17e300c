"""A small circuit as data that a page evaluates itself: its layers at the start of the compilation, with their values.

A page shows what layers believe at every step from this one circuit: a rewrite keeps the value of the root of its
match, and a fold keeps the values of its slices, so a layer of a later step has the value of one at the start
(`cells_of`).
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.app.queries.learned_words import is_untrained, learned_from, words_on_values
from explorer.app.session.close_up import LOADED, NO_LAYERS
from explorer.app.session.living_variables import cells_of_columns, living_variables
from explorer.backend import TorchCircuit
from explorer.backend.layers import (
    TorchConstantValueLayer,
    TorchDiscreteLayer,
    TorchEvidenceLayer,
    TorchExponentialLayer,
    TorchGaussianLayer,
    TorchHadamardLayer,
    TorchHistogramLayer,
    TorchInnerLayer,
    TorchInputLayer,
    TorchLaplaceLayer,
    TorchMultivariateGaussianLayer,
    TorchSumLayer,
)
from explorer.backend.queries.fold_structure import all_units, require_tractable
from explorer.backend.queries.likelihood import log_partition_of
from explorer.backend.queries.stages import Stage, Stages, StageValues, prepare, stages_of
from explorer.backend.semiring import get_semiring
from explorer.errors import CircuitError, DataTypeError
from explorer.learning.loop import improving_words
from explorer.symbolic import Circuit, LearnedEpoch
from explorer.templates import gallery
from explorer.views import TraceIndex, digits_on, failure_text, image_of
from explorer_widgets.schema import (
    VERSION,
    LivingEpochView,
    LivingExampleView,
    LivingLayerView,
    LivingNumbersView,
    LivingVariableView,
    LivingView,
)

MAX_LAYERS = 300
MAX_NUMBERS = 200_000
"""Maximum number of weights: a stroke on the input is answered in 50 ms."""
REAL_COLUMNS = "Real columns are as the circuit reads them: standardized, if it was trained from a table."
MAX_STATES = 2_000
MAX_CODE = 255
MIN_ON_GRID = 64
"""A smaller block is stored as it is."""
NOISE = 2e-6
"""Maximum error of a logarithm: that of 32-bit numbers below 32."""
NO_GRID = 0.0, np.zeros(0, np.uint8)
"""The step and the codes of a block that is stored as it is."""
LOG_WEIGHTS = get_semiring("lse-sum")


def no_life(missing: str) -> LivingView:
    """Return a view that says why a page does not evaluate the circuit."""
    return {
        "version": VERSION,
        "missing": missing,
        "note": "",
        "image": [],
        "variables": [],
        "layers": [],
        "root": 0,
        "cells": {},
        "blocks": [],
        "numbers": "",
        "codes": "",
        "examples": [],
        "epochs": [],
    }


def living_view(
    index: TraceIndex, *, epochs: bool = False, kept: Sequence[LearnedEpoch] = (), name: str = "CIRCUIT"
) -> LivingView:
    """Return the circuit of a trace if it is small, and a distribution; or why it is not.

    With `epochs`, also as it was after the epochs of its training that are known: those of the gallery, or those that a
    checkpoint has `kept`. `name` is the circuit as an argument of `train`.
    """
    trace = index.trace
    if not trace.is_live:
        return no_life(failure_text(trace) or LOADED)
    if not trace.level.has_circuit:
        return no_life(NO_LAYERS)
    count = len(trace.start_graph)
    if count > MAX_LAYERS:
        limit = f"A page evaluates up to {MAX_LAYERS} layers itself"
        return no_life(f"{limit}, and this circuit has {count:,}. The tool Query answers for it.")
    try:
        found, learned = _living(index, trace.circuit_at(trace.start), name)
        known = kept if learned is None else learned.epochs
        if learned is None:
            reached = [(one.epoch, one.held_out_bits) for one in kept]
            found["note"] = f"{found['note']} {improving_words(reached, len(found['variables']))}".strip()
        return {**found, "epochs": _epochs(trace.circuit_at(trace.start), known, found["layers"]) if epochs else []}
    except CircuitError as error:
        return no_life(f"The layers of this circuit have no beliefs to show: {error}")


@torch.no_grad()
def _living(index: TraceIndex, circuit: TorchCircuit, name: str) -> tuple[LivingView, gallery.TrainedWeights | None]:
    """Return a circuit without epochs, and the weights of the gallery that it has."""
    stages = stages_of(circuit)
    require_tractable(stages)
    log_partition_of(stages)  # raises an error unless it is a distribution
    values = prepare(stages, LOG_WEIGHTS)
    layers, numbers = _layers(stages, values)
    position = {stage.id[0]: at for at, stage in enumerate(stages.stages)}
    variables = living_variables(index, stages.stages, values, circuit.num_variables)
    learned = _learned(index)
    grid = image_of(index, circuit.num_variables)
    image = [] if grid is None else grid.shape
    examples: list[LivingExampleView] = []
    if learned is not None:
        image = list(learned.image)
        examples = [{"label": str(digit), "x": x.tolist()} for digit, x in enumerate(learned.examples)]
    elif grid is not None:
        low, high = np.array([one["span"] for one in variables]).T
        shapes = {name: pixels[: len(low)] for name, pixels in digits_on(grid).items()}
        examples = [{"label": name, "x": (low + x * (high - low)).tolist()} for name, x in shapes.items()]
    found: LivingView = {
        **no_life(""),
        "note": " ".join(_notes(index, circuit, learned, variables, name)),
        "image": image,
        "variables": variables,
        "layers": layers,
        "root": stages.outputs[0][0],
        "cells": {str(node): position[origin] for node, origin in cells_of(index).items() if origin in position},
        **numbers,
        "examples": examples,
    }
    return found, learned


def _notes(
    index: TraceIndex,
    circuit: TorchCircuit,
    learned: gallery.TrainedWeights | None,
    variables: Sequence[LivingVariableView],
    name: str,
) -> Iterator[str]:
    """The origin of the weights, or how to learn them, and what is not shown."""
    subject = index.trace.subject
    if learned is not None:
        yield learned.sentence
    elif isinstance(subject, Circuit) and is_untrained(subject):
        yield words_on_values(subject, name)
    if index.columns and not cells_of_columns(index) and any(not one["states"] for one in variables):
        yield REAL_COLUMNS
    if circuit.output_shape != (1, 1):
        yield "Of several outputs the first one is shown."


def _layers(stages: Stages, values: StageValues) -> tuple[list[LivingLayerView], LivingNumbersView]:
    """Return the layers of a circuit, and their numbers. Raises: as `_layer`."""
    numbers = Numbers()
    layers = [_layer(stage, values, numbers) for stage in stages.stages]
    return layers, {"blocks": numbers.blocks, "numbers": numbers.numbers, "codes": numbers.codes}


def _learned(index: TraceIndex) -> gallery.TrainedWeights | None:
    """Return the weights of the gallery if they are all that the circuit of a trace has now."""
    subject = index.trace.subject
    found = learned_from(subject) if isinstance(subject, Circuit) else None
    if found is None:
        return None
    weights = gallery.trained_weights(found.circuit)
    present, learned = index.trace.compiled.leaf_state(), weights.best.values()
    is_same = present.keys() == learned.keys() and all(
        np.array_equal(present[name].cpu().numpy(), value) for name, value in learned.items()
    )
    return weights if is_same else None


@torch.no_grad()
def _epochs(
    circuit: TorchCircuit, epochs: Sequence[LearnedEpoch], layers: list[LivingLayerView]
) -> list[LivingEpochView]:
    """Return the circuit after each epoch; none of one whose numbers have other places, as some are equal by chance."""
    own = deepcopy(circuit)  # sessions share the circuit
    stages = stages_of(own)
    found: list[LivingEpochView] = []
    for one in epochs:
        state = {name: torch.from_numpy(np.array(value)) for name, value in one.values().items()}
        own.load_leaf_state({**own.leaf_state(), **state})
        places, numbers = _layers(stages, prepare(stages, LOG_WEIGHTS))
        if places == layers:
            found.append({"epoch": one.epoch, "bits": one.held_out_bits, **numbers})
    return found


def cells_of(index: TraceIndex) -> Mapping[int, int]:
    """Return the layer at the start whose value a layer has, of every layer of a later step that has one's value."""
    trace = index.trace
    origin = {node: node for node in trace.start_graph.nodes}
    for step in trace.steps[trace.start :]:
        for rewrite in step.applied:
            made = (*rewrite.became, *rewrite.added)
            root = step.matches[rewrite.number].root if not rewrite.parameter_path else None
            if made and root in origin:
                origin.setdefault(made[-1], origin[root])
    return origin


@dataclass
class Numbers:
    """The numbers of all layers, each block once: layers that share parameters share them here, too."""

    blocks: list[list[float]] = field(default_factory=list[list[float]])
    _places: dict[bytes, int] = field(default_factory=dict[bytes, int])
    _floats: list[NDArray[np.float32]] = field(default_factory=list[NDArray[np.float32]])
    _codes: list[NDArray[np.uint8]] = field(default_factory=list[NDArray[np.uint8]])
    _count: int = 0
    _read: int = 0
    """How many numbers an evaluation reads: shared ones for each layer."""

    def add(self, block: Tensor, *, is_log: bool = True) -> int:
        """Return where a block (rows, columns) begins; `is_log` allows an error of `NOISE`.

        Raises: DataTypeError for one that is not real, or too many.
        """
        if block.is_complex() or bool(torch.isnan(block).any()):
            raise DataTypeError("it has negative or complex values, which are no probabilities")
        found = block.detach().cpu().double().numpy()
        found = found.reshape(-1, found.shape[-1])
        key = found.tobytes()
        self._read += found.size
        if self._read > MAX_NUMBERS:
            raise DataTypeError(f"it has more than {MAX_NUMBERS:,} weights, too many to answer while you paint")
        if key not in self._places:
            self._places[key] = self._count
            self._count += found.size
            step, codes = _on_grid(found) if is_log else NO_GRID
            self.blocks.append([*found.shape, step])
            self._codes.append(codes)
            self._floats.append((found.max(1) if step else found).astype("<f4").ravel())
        return self._places[key]

    @property
    def numbers(self) -> str:
        """The floats by bytes, the lowest ones first, in base64."""
        every = np.concatenate([np.zeros(0, "<f4"), *self._floats])
        return base64.b64encode(every.view(np.uint8).reshape(-1, 4).T.tobytes()).decode()

    @property
    def codes(self) -> str:
        """The codes in base64."""
        return base64.b64encode(b"".join(one.tobytes() for one in self._codes)).decode()


def _on_grid(block: NDArray[np.float64]) -> tuple[float, NDArray[np.uint8]]:
    """Return a step such that numbers are a byte of steps below the largest of their row, and the codes; 0 if none is.

    Weights that were rounded to a byte are that again, after a softmax of the rows.
    """
    if block.size < MIN_ON_GRID or not np.isfinite(block).all():
        return NO_GRID
    below = block.max(1, keepdims=True) - block
    far = np.unique(below[below > NOISE])
    gaps = np.diff(far, prepend=0.0)
    if not far.size or far[-1] / (least := float(gaps[gaps > NOISE].min())) > MAX_CODE + 0.5:
        return NO_GRID
    step = float(far[-1] / round(far[-1] / least))
    codes = np.rint(below / step)
    return NO_GRID if np.abs(codes * step - below).max() > NOISE else (step, codes.astype(np.uint8))


def _layer(stage: Stage, values: StageValues, numbers: Numbers) -> LivingLayerView:
    """Return a layer as data. Raises: DataTypeError for a class whose beliefs are not known."""
    layer, given = stage.layer, values.prepared[stage.id]
    made: LivingLayerView = {
        "kind": "constant",
        "inputs": stage.sources[0].tolist() if stage.sources.size else [],
        "units": layer.num_output_units,
        "at": 0,
    }
    if isinstance(layer, TorchSumLayer):
        made["kind"], made["at"] = "sum", numbers.add(torch.log(given["weight"]))
    elif isinstance(layer, TorchInnerLayer) and layer.num_terms == 1:
        made["kind"] = "product"
        if not isinstance(layer, TorchHadamardLayer):
            at = all_units(layer, 0)
            made["reads"] = layer.term_inputs(at, torch.zeros_like(at.units)).ravel().tolist()
    elif isinstance(layer, (TorchConstantValueLayer, TorchEvidenceLayer)):
        empty = torch.zeros((layer.num_folds, 1, 0), dtype=torch.long)
        made["at"] = numbers.add(layer.forward(values.input_semiring, empty, given))
    elif isinstance(layer, TorchDiscreteLayer) and layer.num_values <= MAX_STATES:
        table = layer.value_table(values.input_semiring, given)
        made["kind"], made["at"] = "table", numbers.add(table)
    elif isinstance(layer, TorchGaussianLayer):
        mass = layer.integral(values.input_semiring, given)
        block = torch.cat([given["mean"].ravel(), given["stddev"].ravel(), mass.ravel()])
        made["kind"], made["at"] = "gaussian", numbers.add(block, is_log=False)
    elif isinstance(layer, TorchMultivariateGaussianLayer):
        made["kind"], made["at"] = "normal", numbers.add(_joint_normal(given), is_log=False)
    elif isinstance(layer, TorchExponentialLayer):
        made["kind"], made["at"] = "exponential", numbers.add(given["mean"], is_log=False)
    elif isinstance(layer, TorchLaplaceLayer):
        block = torch.cat([given["location"].ravel(), given["scale"].ravel()])
        made["kind"], made["at"] = "laplace", numbers.add(block, is_log=False)
    elif isinstance(layer, TorchHistogramLayer) and len(layer.edges) <= MAX_STATES:
        made["kind"], made["at"], made["edges"] = "histogram", numbers.add(given["probs"].log()), list(layer.edges)
    else:
        raise DataTypeError(f"{type(layer).__name__} is none of the layers that a page knows")
    if isinstance(layer, TorchInputLayer) and layer.num_variables and made["kind"] != "constant":
        made["variables"] = list(layer.scope_idx[0])
    return made


def _joint_normal(given: Mapping[str, Tensor]) -> Tensor:
    """The parameters of joint normal densities as a row (O, 2 V + V (V-1) / 2) for each, which are exact in 32 bits."""
    mean, root = given["mean"][0, :, 0], given["root"][0]
    stddev = root.diagonal(dim1=1, dim2=2).reciprocal()
    rows, columns = torch.tril_indices(*root.shape[1:], offset=-1)
    slope = -(root * stddev.unsqueeze(2))[:, rows, columns]
    return torch.cat([mean, stddev, slope], 1)
