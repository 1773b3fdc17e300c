"""Whether a compiled circuit is deterministic: for each assignment, a unit has at most one term above zero.

It is shown from the zeros of the present parameters: two terms exclude each other if there is a variable such that no
value of it makes both positive. This is sufficient, not necessary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.backend.layers import ReachedUnits, TorchDiscreteLayer, TorchInnerLayer, TorchInputLayer
from explorer.backend.queries.stages import Stage, Stages, StageValues
from explorer.backend.queries.structure import used_folds
from explorer.backend.queries.upward import inputs_of

MAX_SUPPORT_BYTES = 2**27
"""Maximum size of the table of values for which units are positive; a larger circuit counts as not deterministic."""


@dataclass(frozen=True)
class Verdict:
    """Whether determinism was shown, and if not, why; usable as a bool."""

    holds: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.holds


def deterministic(stages: Stages, values: StageValues, masses: Sequence[Tensor]) -> Verdict:
    """Whether the terms of each unit exclude each other, given the logarithms (F, 1, O) of the masses of all units.

    Only folds that an output depends on count. Raises: DataTypeError for a layer that does not say its terms.
    """
    sizes = _num_values(stages)
    used = used_folds(stages)
    supports: list[Tensor] = []  # (F, O, W): for which values of each variable a unit is positive, if it depends on it
    for position, stage in enumerate(stages.stages):
        layer = stage.layer
        if isinstance(layer, TorchInputLayer):
            supports.append(_leaf_support(stage, layer, values, sizes))
            continue
        assert isinstance(layer, TorchInnerLayer)
        found = torch.zeros((layer.num_folds, layer.num_output_units, sum(sizes)), dtype=torch.bool)
        for fold in sorted(used[position]):
            x = inputs_of(stages, position, masses)
            logs = layer.log_terms(x, all_units(layer, fold, x.device), values.prepared[stage.id])
            for unit, row in enumerate(logs):
                alive = (row > -torch.inf).nonzero().flatten()
                at = ReachedUnits(*(torch.full_like(alive, number) for number in (fold, 0, unit)))
                terms = _term_supports(stage, layer, at, alive, supports)
                if len(alive) > 1 and not _exclusive(terms, sizes):
                    where = f"unit {unit} of layer {stage.id[0]} ({type(layer).__name__}), fold {fold}"
                    return Verdict(False, f"{where}: two of its terms are not shown to exclude each other")
                found[fold, unit] = terms.any(0)
        supports.append(found)
    return Verdict(True)


def all_units(layer: TorchInnerLayer, fold: int, device: torch.device | None = None) -> ReachedUnits:
    """All units of a fold, in row 0."""
    units = torch.arange(layer.num_output_units, device=device)
    return ReachedUnits(torch.full_like(units, fold), torch.zeros_like(units), units)


def _num_values(stages: Stages) -> list[int]:
    """For each variable the number of its values, 1 if it is real; none if the table of all units were too large."""
    sizes = [1] * stages.circuit.num_variables
    for stage in stages.stages:
        if isinstance(stage.layer, TorchDiscreteLayer):
            for scope in stage.layer.scope_idx:
                sizes[scope[0]] = max(sizes[scope[0]], stage.layer.num_values)
    units = stages.activation_bytes // torch.float64.itemsize
    return sizes if units * sum(sizes) <= MAX_SUPPORT_BYTES else []


def _leaf_support(stage: Stage, layer: TorchInputLayer, values: StageValues, sizes: list[int]) -> Tensor:
    """The values (F, O, W) for which units of an input layer are positive; all of them for a real variable."""
    found = torch.zeros((layer.num_folds, layer.num_output_units, sum(sizes)), dtype=torch.bool)
    if not sizes:
        return found
    starts = torch.tensor([0, *sizes]).cumsum(0).tolist()
    table: Tensor | None = None
    if isinstance(layer, TorchDiscreteLayer):
        table = values.input_semiring.to_log(layer.value_table(values.input_semiring, values.prepared[stage.id]))
    for fold, scope in enumerate(layer.scope_idx):
        for v in scope:
            if table is None:
                found[fold, :, starts[v] : starts[v + 1]] = True
            else:
                found[fold, :, starts[v] : starts[v] + table.shape[2]] = (table[fold] > -torch.inf).cpu()
    return found


def _term_supports(
    stage: Stage, layer: TorchInnerLayer, at: ReachedUnits, terms: Tensor, supports: Sequence[Tensor]
) -> Tensor:
    """The values (T, W) for which some terms (T,) of a unit may be positive: those of their inputs together."""
    units = layer.term_inputs(at, terms).tolist()
    width = supports[0].shape[2]
    found = torch.zeros((len(units), width), dtype=torch.bool)
    fold = int(at.folds[0]) if len(units) else 0
    for term, below in enumerate(units):
        for h, unit in enumerate(below):
            if unit >= 0:
                found[term] |= supports[stage.sources[fold, h]][stage.slices[fold, h], unit]
    return found


def _exclusive(terms: Tensor, sizes: Sequence[int]) -> bool:
    """Whether for each two of the terms (T, W) there is a variable none of whose values is possible in both."""
    shared = torch.ones((len(terms), len(terms)), dtype=torch.bool)
    for part in terms.split(list(sizes), dim=1) if sizes else ():
        if bool(part.any()):  # a variable of the unit
            shared &= (part.double() @ part.double().T) > 0
    return not bool(torch.triu(shared, diagonal=1).any())
