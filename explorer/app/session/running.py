"""Runs inputs through the steps of a live trace, for the close-up."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from explorer.backend import TorchCircuit
from explorer.bench.programs import random_inputs, variable_kinds
from explorer.errors import CircuitError, ShapeError
from explorer.trace import Step
from explorer.trace.equivalence import largest_difference
from explorer.views import (
    Input,
    StepRun,
    TraceIndex,
    digits_on,
    failure_text,
    image_of,
    no_values,
    values_view,
)
from explorer_widgets.schema import ValuesView

MAX_CALLS = 450
"""Steps are run from the last one backwards until they have more layers than this in total."""
MAX_PAGE_LAYERS = 1_000
"""Values of larger circuits are not stored in a page."""
ROWS = 4
OWN_INPUT = "To run an input of your own, open this circuit in the dashboard or in a notebook: a page has no Python."
LOADED = "There are no values: a trace that was loaded from a file has no tensors."
NO_LAYERS = "There are no values: they are those of the layers of a circuit."


def run_values(index: TraceIndex, painted: Sequence[float] = (), *, paints: bool = False) -> ValuesView:
    """Return the values of a few inputs, and of `painted` if it is given, after the steps that are quick to run.

    Raises: ShapeError if `painted` does not have a finite number for each variable, or each pixel of an image.
    """
    if not index.trace.is_live:
        return no_values(failure_text(index.trace) or LOADED)
    if not index.trace.level.has_circuit:
        return no_values(NO_LAYERS)
    last: TorchCircuit = index.trace.circuit_at(-1)
    try:
        most, discrete = range_of(last)
        inputs = _inputs(index, last, most)
    except CircuitError as error:  # an input layer of the user's own
        return no_values(f"There are no values: {error}")
    if len(painted):
        inputs.append(Input("yours", _check(painted, last)))
    rows = np.stack([one.x for one in inputs])
    x = torch.from_numpy(rows.astype(np.int64)) if discrete else torch.from_numpy(rows).to(torch.get_default_dtype())
    found: list[StepRun] = []
    first: torch.Tensor | None = None
    for step in _steps(index):
        circuit: TorchCircuit = index.trace.circuit_at(step)
        outputs, activations = _evaluate(circuit, x)
        first = outputs if first is None else first
        found.append(_step_run(step, circuit.semiring.name, outputs, activations, first))
    return values_view(index, inputs, found, most=most, paints=paints)


def values_for_page(index: TraceIndex) -> ValuesView:
    """Return the values that a page without Python shows, if they are few enough."""
    layers = len(index.trace.start_graph)
    if layers > MAX_PAGE_LAYERS:
        return no_values(f"The values are not in this page: the circuit has more than {MAX_PAGE_LAYERS:,} layers.")
    found = run_values(index)
    return {**found, "note": f"{found['note']} {OWN_INPUT}".strip()} if found["runs"] else found


def range_of(circuit: TorchCircuit) -> tuple[float, bool]:
    """Return the largest value that all variables may have, and whether all are discrete."""
    states, real = variable_kinds(circuit)
    return float(min(states.values(), default=2) - 1), not real


def _inputs(index: TraceIndex, circuit: TorchCircuit, most: float) -> list[Input]:
    """Return digits for an image, and otherwise rows."""
    image = image_of(index, circuit.num_variables)
    digits = {} if image is None else digits_on(image)
    if digits:
        return [Input(name, pixels * most) for name, pixels in digits.items()]
    rows = random_inputs(circuit, ROWS).double().numpy()
    return [Input(f"row {number}", row) for number, row in enumerate(rows)]


def _check(painted: Sequence[float], circuit: TorchCircuit) -> np.ndarray:
    """A row (D,) in which each discrete variable has the nearest of its values. Raises: ShapeError."""
    values, count = np.array(painted, np.float64), circuit.num_variables
    if values.shape != (count,) or not np.isfinite(values).all():
        raise ShapeError(f"expected {count} finite numbers, one for each variable; got {values.size}")
    for variable, states in variable_kinds(circuit)[0].items():
        values[variable] = values[variable].round().clip(0, states - 1)
    return values


def _steps(index: TraceIndex) -> list[Step]:
    """Return the steps to run, ascending: those that compute the function of the compiled circuit."""
    chosen: list[Step] = []
    total = 0
    for step in reversed(index.trace.steps[max(0, index.trace.start - 1) :]):  # the last operator has made it
        if step.error is not None or not step.matters:
            continue
        total += len(step.snapshot.graph.nodes)
        if chosen and total > MAX_CALLS:
            break
        chosen.append(step)
    return chosen[::-1]


@torch.no_grad()
def _evaluate(circuit: TorchCircuit, x: torch.Tensor) -> tuple[torch.Tensor, Mapping[int, torch.Tensor]]:
    outputs, activations = circuit.evaluate(x)
    return outputs.cpu(), activations


def _step_run(
    step: Step,
    semiring: str,
    outputs: torch.Tensor,
    activations: Mapping[int, torch.Tensor],
    first: torch.Tensor,
) -> StepRun:
    """Return what a step computed; `first` are the outputs of the first step that was run."""
    layers = {node: _log_of(semiring, value).numpy() for node, value in activations.items()}
    differences = [largest_difference(value, wanted, semiring) for value, wanted in zip(outputs, first, strict=True)]
    return StepRun(step.index, outputs[:, 0, 0].numpy(), layers, differences, outputs[0].numel())


def _log_of(semiring: str, value: torch.Tensor) -> torch.Tensor:
    """Return the logarithms (F, B) of the mean of the units of an activation (F, B, O)."""
    if semiring == "sum-product":
        return value.mean(dim=-1).abs().double().log().cpu()
    largest = value.real.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(value.real.dtype).min)
    return ((value - largest).exp().mean(dim=-1).abs().log() + largest.squeeze(-1)).double().cpu()
