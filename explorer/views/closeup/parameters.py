"""The parameters of a plate: the graph that computes each, with shapes; and the values of one slice as sheets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.trace import ParameterRecord, Trace, type_title
from explorer.views.plates.cells import Plate
from explorer.views.words import plural
from explorer_widgets.schema import ParametersView, SheetView

MAX_SIDE = 64
"""Maximum number of rows and of columns of a sheet that are sent."""
MAX_EXPRESSION = 200
"""Maximum number of characters of an expression."""
MAX_NODES = 16
"""Maximum number of sheets of a parameter."""
OPERATORS = {"MatMul": " · ", "Kronecker": " ⊗ ", "Hadamard": " ⊙ ", "Sum": " + "}
"""Operators of two sheets that have a sign."""
NOT_LIVE = "The values are not here: they need Python and a trace that was recorded there."


@dataclass(frozen=True, eq=False)
class NodeValue:
    """The value of a node of a parameter graph for one slice; `inputs` are positions in the list of nodes."""

    type: str
    value: NDArray[np.float64]
    inputs: tuple[int, ...]
    leaf: str = ""


def failure_text(trace: Trace) -> str:
    """Return that there are no values because the compilation failed; empty if it did not."""
    last = trace.steps[-1]
    return f"There are no values: the compilation failed at step {last.index}." if last.error is not None else ""


def parameters_view(plate: Plate, trace: Trace) -> ParametersView:
    """Return the shapes of the parameters of a plate, without values."""
    parameters = plate.record.parameters
    lines = [_line(name, parameter, plate) for name, parameter in parameters.items()]
    return {
        "lines": lines or ["This layer has no parameters."],
        "slice": 0,
        "count": plate.record.num_folds if plate.node is not None else len(plate.cells),
        "of": "",
        "sheets": [],
        "overview": [],
        "missing": failure_text(trace) or NOT_LIVE if parameters else "",
    }


def with_values(
    view: ParametersView,
    number: int,
    of: str,
    values: Mapping[str, Sequence[NodeValue]],
    overview: Mapping[str, NDArray[np.float64]],
) -> ParametersView:
    """Return the view with the values of one slice, by parameter; `of` names the slice.

    `overview` has the parameters of all slices by their titles; it is empty if they are too large.
    """
    sheets = [sheet for name, nodes in values.items() for sheet in _sheets(name, nodes)]
    small = [_sheet(value, title) for title, value in overview.items()]
    return {**view, "slice": number, "of": of, "sheets": sheets, "overview": small, "missing": ""}


def _line(name: str, parameter: ParameterRecord, plate: Plate) -> str:
    """Describe a parameter: `weight: 64 sheets of 16×17; Tensor → LogSoftmax`."""
    count = plate.record.num_folds if plate.node is not None else len(plate.cells)
    source = ""
    for part in _expression(parameter, parameter.outputs[0][0]):
        source += part
        if len(source) > MAX_EXPRESSION:  # of a graph that shares nodes the whole one may have any length
            break
    computed = source if len(source) <= MAX_EXPRESSION else f"{source[:MAX_EXPRESSION]} …"
    return f"{name}: {plural(count, 'sheet')} of {shape_text(parameter.shape)}, {computed}"


def _expression(parameter: ParameterRecord, at: int) -> Iterator[str]:
    """Yield parts of how a node is computed: `MatMul(Softmax(Tensor 4×4), Softmax(Tensor 4×4))`."""
    waiting: list[int | str] = [at]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
            continue
        node = parameter.nodes[part]
        if node.inputs:
            yield f"{node.title}("
            operands = [each for source in node.inputs for each in (", ", source)][1:]
            waiting += [")", *reversed(operands)]
        else:
            shape: Any = node.config.get("shape") or ()
            yield f"{node.title} {shape_text(shape)}"


def shape_text(shape: Sequence[Any]) -> str:
    """Return a shape as `16×17`."""
    return "×".join(map(str, shape)) or "1"


def _sheets(name: str, nodes: Sequence[NodeValue]) -> list[SheetView]:
    """Return a sheet for each node, in order; the last one is the parameter."""
    first = max(0, len(nodes) - MAX_NODES)
    letters = [ascii_uppercase[at % 26] for at in range(len(nodes))]
    return [
        _sheet(node.value, _title(name, node, at, letters, is_last=at == len(nodes) - 1))
        for at, node in enumerate(nodes)
        if at >= first
    ]


def _title(name: str, node: NodeValue, at: int, letters: Sequence[str], *, is_last: bool) -> str:
    """Return `A: 5.weight`, `B = Softmax(A)`, `weight = A · B`."""
    own = name if is_last else letters[at]
    if not node.inputs:
        return f"{own}: {node.leaf}" if node.leaf else own
    operands = [letters[source] for source in node.inputs]
    title = type_title(node.type)
    if title in OPERATORS and len(operands) > 1:
        return f"{own} = {OPERATORS[title].join(operands)}"
    return f"{own} = {title}({', '.join(operands)})"


def _sheet(value: NDArray[np.float64], title: str) -> SheetView:
    shape = value.shape
    columns = shape[-1] if shape else 1
    rows = prod(shape[:-1])
    table = value.reshape(rows, columns)[:MAX_SIDE, :MAX_SIDE]
    finite = table[np.isfinite(table)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    shown = f", of which {table.shape[0]}×{table.shape[1]} are drawn" if table.size < rows * columns else ""
    return {
        "title": title,
        "shape": shape_text(shape) + shown,
        "rows": table.shape[0],
        "columns": table.shape[1],
        "values": [float(f"{number:.3g}") if np.isfinite(number) else None for number in table.ravel().tolist()],
        "scale": [f"{low:.3g}".replace("-", "−"), f"{high:.3g}".replace("-", "−")],
    }
