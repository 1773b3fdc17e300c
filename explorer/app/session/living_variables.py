"""The variables of a small circuit that a page evaluates: their names, values and ranges, as its table has them."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from explorer.backend.layers import (
    TorchDiscreteLayer,
    TorchExponentialLayer,
    TorchHistogramLayer,
    TorchInputLayer,
    TorchLaplaceLayer,
    TorchMultivariateGaussianLayer,
)
from explorer.backend.queries.stages import Stage, StageValues
from explorer.errors import DataTypeError
from explorer.symbolic import Circuit, ColumnValues
from explorer.trace.text import VISIBLE
from explorer.views import TraceIndex
from explorer_widgets.schema import LivingVariableView

SPREAD = 2.0
"""Standard deviations around the means of a real variable that a picture tells apart."""


def cells_of_columns(index: TraceIndex) -> tuple[ColumnValues, ...]:
    """Return what the cells of the columns of a table are, by variable; nothing if it is not known."""
    subject = index.trace.subject
    return subject.column_values if isinstance(subject, Circuit) else ()


def living_variables(
    index: TraceIndex, stages: Sequence[Stage], values: StageValues, count: int
) -> list[LivingVariableView]:
    """Return the variables with their names and spans; one that no layer reads has no values."""
    names, cells = index.columns, cells_of_columns(index)
    found: list[LivingVariableView] = []
    for variable in range(count):
        own = cells[variable] if variable < len(cells) else ColumnValues()
        name = names[variable] if variable < len(names) else f"x{variable}"
        labels = [label.translate(VISIBLE) for label in own.labels]
        found.append(
            {
                "name": name,
                "states": 0,
                "span": [0.0, 1.0],
                "labels": labels,
                "zero": own.zero,
                "unit": own.unit,
                "is_integer": own.is_integer,
            }
        )
    ends: dict[int, list[Tensor]] = {}
    domains: dict[int, int] = {}
    for stage in stages:
        layer = stage.layer
        if not isinstance(layer, TorchInputLayer) or not layer.num_variables:
            continue
        states = layer.num_values if isinstance(layer, TorchDiscreteLayer) else 0
        for variable in layer.scope_idx[0]:
            if domains.setdefault(variable, states) != states:
                raise DataTypeError(f"its layers do not read the same values of variable {variable}")
        if isinstance(layer, TorchDiscreteLayer):
            variable = layer.scope_idx[0][0]
            found[variable]["states"] = layer.num_values
            found[variable]["span"] = [0.0, float(max(1, layer.num_values - 1))]
        else:
            lows, highs = _ends(layer, values.prepared[stage.id])
            for variable, low, high in zip(layer.scope_idx[0], lows.unbind(1), highs.unbind(1), strict=True):
                ends.setdefault(variable, []).extend((low, high))
    for variable, several in ends.items():
        every = torch.cat(several)
        found[variable]["span"] = [float(every.min()), float(every.max())]
    return found


def _ends(layer: TorchInputLayer, given: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The least and the largest values (O, V) that a picture tells apart, of each unit of real variables."""
    if isinstance(layer, TorchHistogramLayer):
        edges = torch.tensor(layer.edges, dtype=torch.float64)
        return edges[:1, None], edges[-1:, None]
    if isinstance(layer, TorchExponentialLayer):
        mean = given["mean"].reshape(-1, 1)
        return torch.zeros_like(mean), (1 + SPREAD) * mean
    if isinstance(layer, TorchLaplaceLayer):
        mean, around = given["location"].reshape(-1, 1), math.sqrt(2) * given["scale"].reshape(-1, 1)
    elif isinstance(layer, TorchMultivariateGaussianLayer):
        inverse = torch.linalg.inv(given["root"][0])
        mean, around = given["mean"][0, :, 0], inverse.square().sum(2).sqrt()
    else:
        mean, around = given["mean"].reshape(-1, 1), given["stddev"].reshape(-1, 1)
    return mean - SPREAD * around, mean + SPREAD * around
