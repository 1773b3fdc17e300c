"""The parts of a close-up that need a live trace: values of inputs and parameters, and the code of a layer."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from textwrap import dedent

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.backend import TorchCircuit, all_parameters
from explorer.backend.layers import TorchLayer
from explorer.backend.parameters import TorchLeafParameter, TorchParameter, TorchParameterOp
from explorer.bench.programs import random_inputs, variable_kinds
from explorer.compiler.operator_snapshot import OperatorSnapshot
from explorer.errors import CircuitError, ShapeError
from explorer.symbolic import TensorParameter
from explorer.trace import Step
from explorer.trace.equivalence import largest_difference
from explorer.views import (
    Input,
    NodeValue,
    StepRun,
    TraceIndex,
    digits_on,
    failure_text,
    find_plate,
    image_of,
    no_values,
    values_view,
    with_values,
)
from explorer_widgets.schema import CodeView, DetailsView, ValuesView

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


# ---------------------------------------------------------------------- parameters


MAX_OVERVIEW = 600
"""Maximum number of values with which the parameters of all slices are shown together."""
Slice = tuple[int, int]
"""A node of a parameter graph, and the number of its slice."""


def add_parameters(
    index: TraceIndex, step: int, ids: Sequence[int], number: int, found: DetailsView, *, before: bool = False
) -> DetailsView:
    """Add the values of slice `number` of a plate (the first one if there is no such slice) to its details."""
    plate = find_plate(index, step, ids, before=before)
    shown = found.get("closeup")
    if plate is None or shown is None or not index.trace.is_live:
        return found
    at, drawn = plate
    number = number if 0 <= number < len(drawn.cells) else 0
    trace = index.trace
    snapshot = index.step(at).snapshot
    is_before = isinstance(snapshot, OperatorSnapshot)  # operands have other leaves
    circuit: TorchCircuit = snapshot.circuit_with(drawn.cells[number].layer) if is_before else trace.compiled
    value_of, names = circuit.leaf_value, trace.leaf_names
    graph = snapshot.graph

    def values_of(cell: int) -> dict[str, list[NodeValue]]:
        node, fold = (drawn.node, cell) if drawn.node is not None else (drawn.cells[cell].layer, 0)
        layer: TorchLayer = graph.nodes[node]
        return {name: _nodes(parameter, fold, value_of, names) for name, parameter in all_parameters(layer).items()}

    def title_of(cell: int) -> str:
        return f"slice {cell}" if drawn.node is not None else f"layer #{drawn.cells[cell].layer}"

    values, count = values_of(number), len(drawn.cells)
    size = sum(nodes[-1].value.size for nodes in values.values())
    cells = range(count) if count > 1 and count * size <= MAX_OVERVIEW else ()
    overview = {
        f"{name}, {title_of(cell)}": nodes[-1].value for cell in cells for name, nodes in values_of(cell).items()
    }
    of = title_of(number) + (f" of {count}" if drawn.node is not None else "")
    parameters = with_values(shown["parameters"], number, of, values, overview)
    return {**found, "closeup": {**shown, "parameters": parameters}}


def _nodes(
    parameter: TorchParameter,
    fold: int,
    value_of: Callable[[TensorParameter], Tensor],
    names: Mapping[TensorParameter, str],
) -> list[NodeValue]:
    """Return the nodes that compute one slice of a parameter, in order."""
    last = (parameter.graph.outputs[0], 0)
    if parameter.fold_index is not None:
        node, number = parameter.fold_index.out_fold_idx[fold].tolist()
        last = (node, number)
    found: dict[Slice, tuple[int, NodeValue]] = {}
    tensors: dict[Slice, Tensor] = {}

    def visit(at: Slice) -> int:
        if at in found:
            return found[at][0]
        node, number = at
        value = parameter.graph.nodes[node]
        sources = [] if isinstance(value, TorchLeafParameter) else _operands(parameter, at)
        inputs = tuple(map(visit, sources))
        leaf = ""
        if isinstance(value, TorchLeafParameter):
            tensors[at] = value_of(value.leaves[number])
            leaf = names.get(value.leaves[number], "")
        elif isinstance(value, TorchParameterOp):
            tensors[at] = value.forward(*(tensors[source].unsqueeze(0) for source in sources)).squeeze(0)
        found[at] = (len(found), NodeValue(type(value).__name__, _numbers(tensors[at]), inputs, leaf))
        return found[at][0]

    visit(last)
    return [node for _, node in found.values()]


def _operands(parameter: TorchParameter, at: Slice) -> list[Slice]:
    node, number = at
    if parameter.fold_index is None:
        return [(source, 0) for source in parameter.graph.inputs[node]]
    return [(int(source), int(slot)) for source, slot in parameter.fold_index.in_fold_idx[node][number]]


def _numbers(value: Tensor) -> NDArray[np.float64]:
    """Return a tensor as numbers, complex ones by their absolute value."""
    return (value.abs() if value.is_complex() else value).detach().double().cpu().numpy()


# ---------------------------------------------------------------------- code of a layer


def add_code(
    index: TraceIndex, step: int, ids: Sequence[int], found: DetailsView, *, before: bool = False
) -> DetailsView:
    """Add the formula and the source of the layer's class to the close-up of the plate of these nodes."""
    shown, plate = found.get("closeup"), find_plate(index, step, ids, before=before)
    if shown is None or plate is None:
        return found
    at, drawn = plate
    layer = index.step(at).snapshot.graph.nodes[drawn.ids[0]]
    kind = type(layer) if isinstance(layer, TorchLayer) else _newest_class(shown["code"]["type"])
    if kind is None:
        return found
    formula, source, where = _code_of(kind)
    code: CodeView = {**shown["code"], "formula": formula, "source": source, "where": where}
    return {**found, "closeup": {**shown, "code": code}}


@cache
def _code_of(kind: type[TorchLayer]) -> tuple[str, str, str]:
    """Return the formula, the method `forward` and its location."""
    formula = " ".join(inspect.cleandoc(kind.__doc__ or "").split("Shapes:")[0].split())
    try:
        lines, first = inspect.getsourcelines(kind.forward)
        where = f"{kind.forward.__module__}, line {first}"
    except (OSError, TypeError):  # defined where there is no source
        return formula, "", ""
    return formula, dedent("".join(lines)).rstrip(), where


def _newest_class(name: str) -> type[TorchLayer] | None:
    """Return the class of this name, for a trace that was loaded from a file; None if it is not there."""
    return next((kind for kind in reversed(_classes(TorchLayer)) if kind.__name__ == name), None)


def _classes(kind: type[TorchLayer]) -> list[type[TorchLayer]]:
    """Return a class and those derived from it; of those with the same base the oldest first."""
    return [kind, *(one for below in kind.__subclasses__() for one in _classes(below))]
