"""One evaluation of all stages, in which a function returns the value of each input layer."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from explorer.backend.frozen import FrozenCircuit
from explorer.backend.layers import TorchInnerLayer, TorchInputLayer
from explorer.backend.numeric import as_complex
from explorer.backend.queries.stages import Stage, Stages, StageValues, prepare
from explorer.backend.semiring import Semiring, convert, get_semiring, real_log
from explorer.errors import ValueRangeError

LeafValue = Callable[[Stage, TorchInputLayer], Tensor]
"""The value (F, B, O) of the input layer of a stage, in the semiring of the query."""

MAX_BYTES = 2**28
"""Maximum size of the activations that a query keeps at a time; more rows are computed in chunks."""

REAL_ANGLE = 1e-8
"""Maximum angle, in radians, between a number that counts as real and the real axis."""

LSE, COMPLEX = get_semiring("lse-sum"), get_semiring("complex-lse-sum")


def evaluate_stages(stages: Stages, values: StageValues, leaf: LeafValue) -> list[Tensor]:
    """The activation (F, B, O) of each stage in order.

    Complex logarithms of real numbers stay logarithms of real numbers: the imaginary part is 0 or pi, without rounding.
    """
    found: list[Tensor] = []
    by_node: dict[int, Tensor] = {}
    is_real = values.semiring.is_complex and not _has_complex_weights(stages, values)
    for stage in stages.stages:
        layer, (node, step) = stage.layer, stage.id
        if isinstance(layer, TorchInputLayer):
            value = leaf(stage, layer)
            is_real = is_real and _is_real(value)
        else:
            inputs = found[-1].unsqueeze(1) if step else stages.circuit.read_inputs(node, by_node)
            value = layer.forward(values.semiring, inputs, values.prepared[stage.id])
        if is_real:
            value = torch.complex(value.real, math.pi * (torch.cos(value.imag) < 0).to(value.real.dtype))
        found.append(value)
        by_node[node] = value
    return found


def _has_complex_weights(stages: Stages, values: StageValues) -> bool:
    """Whether a parameter of an inner layer is complex."""
    inner = [stage.id for stage in stages.stages if isinstance(stage.layer, TorchInnerLayer)]
    return any(one.is_complex() for stage in inner for one in values.prepared[stage].values())


def _is_real(logs: Tensor) -> bool:
    """Whether complex logarithms belong to real numbers, positive or negative."""
    return not bool(((torch.sin(logs.imag).abs() > REAL_ANGLE) & (logs.real > -math.inf)).any())


def inputs_of(stages: Stages, position: int, activations: Sequence[Tensor]) -> Tensor:
    """The inputs (F, H, B, I) of the inner layer of a stage, from the activations of the stages before it."""
    stage = stages.stages[position]
    node, step = stage.id
    if step:
        return activations[position - 1].unsqueeze(1)
    sources = dict.fromkeys(stage.sources.ravel().tolist())
    return stages.circuit.read_inputs(node, {stages.stages[s].id[0]: activations[s] for s in sources})


def outputs_of(stages: Stages, activations: Sequence[Tensor]) -> Tensor:
    """The outputs (B, outputs, classes) from the activations of the stages."""
    by_node = {stage.id[0]: value for stage, value in zip(stages.stages, activations, strict=True)}
    return stages.circuit.read_outputs(by_node)


def observed_leaf(values: StageValues, x: Tensor, observed: Tensor) -> LeafValue:
    """Input layers at the observed entries of x (B, D), summed out where `observed` (B, D) is false."""

    def leaf(stage: Stage, layer: TorchInputLayer) -> Tensor:
        seen, mask = observed_values(layer, x, observed)
        layer.check_input(seen)
        value = layer.marginal(values.input_semiring, seen, mask, values.prepared[stage.id])
        return in_semiring(value, values)

    return leaf


def in_semiring(value: Tensor, values: StageValues) -> Tensor:
    """The value of an input layer in the semiring of the query; NaN where a real logarithm cannot represent it."""
    value = convert(value, values.input_semiring, values.semiring)
    if values.semiring.is_complex:
        return as_complex(value).to(torch.complex128)
    return real_log(value).double()


def observed_values(layer: TorchInputLayer, x: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
    """The variables (F, B, V) of an input layer, its placeholder where not observed, and which are observed."""
    columns = columns_of(layer, x.device)
    seen, mask = x[:, columns].transpose(0, 1), observed[:, columns].transpose(0, 1)
    if not (seen.is_floating_point() or seen.is_complex()):
        seen = seen.long()
    return torch.where(mask, seen, layer.placeholder), mask


def columns_of(layer: TorchInputLayer, device: torch.device) -> Tensor:
    """The columns (F, V) of x that an input layer reads."""
    table = np.array(layer.scope_idx, dtype=np.int64).reshape(layer.num_folds, layer.num_variables)
    return torch.from_numpy(table).to(device)


def log_outputs(stages: Stages, leaf_of: Callable[[StageValues], LeafValue]) -> Tensor:
    """The logarithms (B, outputs, classes) of the outputs, given a function that returns the values of input layers.

    They are real if all activations are non-negative, and complex otherwise.
    Raises: ValueRangeError for a frozen circuit with real logarithms but negative numbers.
    """
    found = evaluate_in(stages, LSE, leaf_of)
    if not bool(torch.isnan(found).any()):
        return found
    found = evaluate_in(stages, COMPLEX, leaf_of)
    if isinstance(stages.circuit, FrozenCircuit) and stages.circuit.semiring == LSE and bool(found.isnan().any()):
        raise ValueRangeError(
            "parameters of the frozen circuit are NaN: real logarithms, which it keeps for lse-sum, cannot represent "
            "negative numbers; ask the circuit that was frozen, or freeze one that is compiled for complex-lse-sum"
        )
    return found


def evaluate_in(stages: Stages, semiring: Semiring, leaf_of: Callable[[StageValues], LeafValue]) -> Tensor:
    """The outputs (B, outputs, classes) in this semiring; real logarithms are NaN where a unit is negative."""
    values = prepare(stages, semiring)
    found = outputs_of(stages, evaluate_stages(stages, values, leaf_of(values)))
    return found if semiring.is_complex else real_log(found)


def chunks(num_rows: int, bytes_per_row: int) -> Iterator[slice]:
    """Slices of rows that need at most `MAX_BYTES` each; an empty one if there are no rows."""
    size = max(1, MAX_BYTES // max(1, bytes_per_row))
    for start in range(0, max(1, num_rows), size):
        yield slice(start, min(start + size, num_rows))


def require_non_negative(stages: Stages, values: StageValues) -> None:
    """Raises: ValueRangeError if a weight is negative, complex or NaN; the message names the layer."""
    for stage in stages.stages:
        weight = values.prepared[stage.id].get("weight") if isinstance(stage.layer, TorchInnerLayer) else None
        if weight is not None and (weight.is_complex() or not bool((weight >= 0).all())):
            raise ValueRangeError(
                f"layer {stage.id[0]} ({type(stage.layer).__name__}) has weights that are not non-negative real "
                "numbers, so its units are not mixtures of their terms; this query needs a circuit without them"
            )


def density(logs: Tensor) -> Tensor:
    """Real logarithms of outputs. Raises: ValueRangeError for negative or complex numbers."""
    row, found = _first_not_positive(logs)
    if row is not None:
        raise ValueRangeError(
            f"the value of the circuit in row {row} is negative, complex or not a number, so it is not a density "
            "there; a circuit with negative or complex weights is one if it is a square, multiply(c, conjugate(c))"
        )
    return found


def mixtures(logs: Tensor) -> Tensor:
    """Real logarithms, for a query that chooses terms of units. Raises: ValueRangeError if a unit is negative."""
    row, found = _first_not_positive(logs)
    if row is not None:
        raise ValueRangeError(
            f"a unit of the circuit is negative, complex or not a number in row {row}, so it is not a mixture of its "
            "terms, of which this query chooses one; the circuit may be a density nevertheless, as squares are: "
            "log_likelihood, marginal, conditional, expectation and moments do not need mixtures"
        )
    return found


def _first_not_positive(logs: Tensor) -> tuple[int | None, Tensor]:
    """The first row (B, ...) with a number that is negative or not real, if any, and the real logarithms."""
    found = real_log(logs)
    bad = torch.isnan(found)
    return int(bad.nonzero()[0][0]) if bool(bad.any()) else None, found
