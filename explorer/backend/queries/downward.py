"""The top-down pass: from a unit of an output, choose one term of each unit that is reached, down to input layers.

Each unit is a sum of terms, and a term a product of units of the inputs (`log_terms`, `term_inputs` of a layer).
Drawing a term with probability proportional to its value samples from the circuit; the largest term leads to the
assignment that max-product found. In a smooth and decomposable circuit, a draw reaches one unit for each variable.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from explorer.backend.layers import ReachedUnits, TorchInnerLayer, TorchInputLayer
from explorer.backend.numeric import cumulative_weights, search, uniform
from explorer.backend.queries.fold_structure import Scopes
from explorer.backend.queries.stages import Stage, Stages, StageValues
from explorer.backend.queries.upward import inputs_of
from explorer.errors import ValueRangeError

Choice = Callable[[Tensor, Tensor], Tensor]
"""Chooses a term (P,) of each unit `which` (P,) that draws reached, given the logarithms (U, T) of all terms."""

MAX_COMPARED_TERMS = 2**22
"""Maximum number of terms that are computed at a time."""


def draw_terms(generator: torch.Generator) -> Choice:
    """Draw terms with probability proportional to their value."""

    def choose(logs: Tensor, which: Tensor) -> Tensor:
        sums = cumulative_weights(logs)
        return search(sums, (which,), uniform((len(which),), generator, sums.device))

    return choose


def largest_terms(logs: Tensor, which: Tensor) -> Tensor:
    """The largest term of each unit; of equal ones, the first."""
    return logs.argmax(1)[which]


def descend(
    stages: Stages,
    values: StageValues,
    activations: Sequence[Tensor],
    scopes: Scopes,
    root: tuple[int, int],
    row_of: Tensor,
    choice: Choice,
) -> Iterator[tuple[Stage, TorchInputLayer, ReachedUnits, Tensor]]:
    """The units of input layers that S draws reach: for each stage P units, and the draw (P,) that reached each.

    `root` is an output and a unit of it; draw s uses row `row_of[s]` of the activations (F, B, O).
    Raises: ValueRangeError if a unit has no term above zero, or a negative one.
    """
    device, draws = row_of.device, len(row_of)
    reached: dict[int, Tensor] = {}

    def reach(position: int) -> Tensor:
        if position not in reached:
            folds = stages.stages[position].layer.num_folds
            reached[position] = torch.full((folds, draws), -1, dtype=torch.long, device=device)
        return reached[position]

    top, fold = stages.outputs[root[0]]
    reach(top)[fold] = root[1]
    for position in range(len(stages.stages) - 1, -1, -1):
        if position not in reached:
            continue
        stage, units = stages.stages[position], reached.pop(position)
        has_scope = torch.tensor([scope != 0 for scope in scopes[position]], device=device)
        folds, chosen = ((units >= 0) & has_scope.unsqueeze(1)).nonzero(as_tuple=True)
        if not len(folds):
            continue
        at = ReachedUnits(folds, row_of[chosen], units[folds, chosen])
        if isinstance(stage.layer, TorchInputLayer):
            yield stage, stage.layer, at, chosen
            continue
        inputs = inputs_of(stages, position, activations)
        below = _chosen_inputs(stage, inputs, at, values, choice)
        sources = torch.from_numpy(stage.sources).to(device)[folds]  # (P, H)
        slices = torch.from_numpy(stage.slices).to(device)[folds]
        for source in dict.fromkeys(stage.sources.ravel().tolist()):
            pair, which = ((sources == source) & (below >= 0)).nonzero(as_tuple=True)
            reach(source)[slices[pair, which], chosen[pair]] = below[pair, which]


def _chosen_inputs(stage: Stage, x: Tensor, at: ReachedUnits, values: StageValues, choice: Choice) -> Tensor:
    """The units (P, H) of the inputs that the chosen terms read, -1 for an input that is not read."""
    layer = stage.layer
    assert isinstance(layer, TorchInnerLayer)
    if layer.num_terms == 1:
        return layer.term_inputs(at, torch.zeros_like(at.units))
    distinct, which = _distinct(at, layer, x.shape[2])
    size = max(1, MAX_COMPARED_TERMS // layer.num_terms)
    terms = torch.empty_like(at.units)
    order = torch.argsort(which, stable=True) if len(distinct.folds) > size else None
    for start in range(0, len(distinct.folds), size):
        part = _part(distinct, slice(start, start + size))
        logs = layer.log_terms(x, part, values.prepared[stage.id])
        if not bool((logs.amax(1) > -torch.inf).all()):  # also for NaN
            raise ValueRangeError(
                f"layer {stage.id[0]} ({type(layer).__name__}) has a unit without a term above zero, or with a "
                "negative one: the terms of a unit must be non-negative"
            )
        if order is None:
            return layer.term_inputs(at, choice(logs, which))
        low, high = torch.searchsorted(which[order], torch.tensor([start, start + size], device=which.device)).tolist()
        pairs = order[low:high]
        terms[pairs] = choice(logs, which[pairs] - start)
    return layer.term_inputs(at, terms)


def _distinct(at: ReachedUnits, layer: TorchInnerLayer, num_rows: int) -> tuple[ReachedUnits, Tensor]:
    """The distinct units among these, with equal terms, and the index of each one among them (P,).

    They are only looked for if many draws share a row, as they do without evidence.
    """
    units = layer.num_output_units
    if layer.num_folds * num_rows * units > len(at.folds):
        return at, torch.arange(len(at.folds), device=at.folds.device)
    keys, which = torch.unique((at.folds * num_rows + at.rows) * units + at.units, return_inverse=True)
    pairs = keys // units
    return ReachedUnits(pairs // num_rows, pairs % num_rows, keys % units), which


def _part(at: ReachedUnits, part: slice) -> ReachedUnits:
    return ReachedUnits(at.folds[part], at.rows[part], at.units[part])
