"""Whether a compiled circuit is deterministic: for each assignment, a unit has at most one term above zero.

It is shown from the zeros of the present parameters: two terms exclude each other if there is a variable such that no
value of it makes both positive. This is sufficient, not necessary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.backend.layers import ReachedUnits, TorchDiscreteLayer, TorchInnerLayer, TorchInputLayer
from explorer.backend.queries.stages import Stage, Stages, StageValues
from explorer.backend.queries.structure import used_folds
from explorer.backend.queries.upward import inputs_of
from explorer.symbolic.structure import Finding

MAX_SUPPORT_BYTES = 2**27
"""Maximum size of the table of values for which units are positive; a larger circuit counts as not deterministic."""


def deterministic(stages: Stages, values: StageValues, masses: Sequence[Tensor]) -> Finding:
    """Whether the terms of each unit exclude each other, given the logarithms (F, 1, O) of the masses of all units.

    Only folds that an output depends on count. Raises: DataTypeError for a layer that does not say its terms.
    """
    used = used_folds(stages)
    mixed = _first_mixed_unit(stages, values, masses, used)
    if mixed is None:
        return Finding(True)
    sizes = _num_values(stages)
    leaves = [_leaf_support(stage, values, sizes) for stage in stages.stages]
    if not sizes or all(support is None or is_full for support, is_full in leaves):
        return Finding(False, f"{mixed}: two of its terms are not shown to exclude each other")
    supports: list[Tensor] = []  # (F, O, W): for which values of each variable a unit is positive, if it depends on it
    for position, stage in enumerate(stages.stages):
        layer, known = stage.layer, leaves[position][0]
        if known is not None:
            supports.append(known)
            continue
        assert isinstance(layer, TorchInnerLayer)
        found = torch.zeros((layer.num_folds, layer.num_output_units, sum(sizes)), dtype=torch.bool)
        for fold in sorted(used[position]):
            x = inputs_of(stages, position, masses)
            at = all_units(layer, fold, x.device)
            if layer.num_terms == 1:
                found[fold] = _product_supports(stage, layer, at, at.units * 0, supports)
                continue
            logs = layer.log_terms(x, at, values.prepared[stage.id])
            for unit, row in enumerate(logs):
                alive = (row > -torch.inf).nonzero().flatten()
                same = ReachedUnits(*(torch.full_like(alive, number) for number in (fold, 0, unit)))
                terms = _product_supports(stage, layer, same, alive, supports)
                if len(alive) > 1 and not _exclusive(terms, sizes):
                    where = _name(stage, fold, unit)
                    return Finding(False, f"{where}: two of its terms are not shown to exclude each other")
                found[fold, unit] = terms.any(0)
        supports.append(found)
    return Finding(True)


def _first_mixed_unit(
    stages: Stages, values: StageValues, masses: Sequence[Tensor], used: Sequence[set[int]]
) -> str | None:
    """The first unit that has several terms above zero for some assignments; None if there is none."""
    for position, stage in enumerate(stages.stages):
        layer = stage.layer
        if not isinstance(layer, TorchInnerLayer) or layer.num_terms == 1:
            continue
        x = inputs_of(stages, position, masses)
        for fold in sorted(used[position]):
            logs = layer.log_terms(x, all_units(layer, fold, x.device), values.prepared[stage.id])
            found = ((logs > -torch.inf).sum(1) > 1).nonzero()
            if len(found):
                return _name(stage, fold, int(found[0]))
    return None


def _name(stage: Stage, fold: int, unit: int) -> str:
    return f"unit {unit} of layer {stage.id[0]} ({type(stage.layer).__name__}), fold {fold}"


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


def _leaf_support(stage: Stage, values: StageValues, sizes: list[int]) -> tuple[Tensor | None, bool]:
    """The values (F, O, W) for which units of an input layer are positive, and whether these are all; None elsewhere.

    A unit of a real variable, or of several, counts as positive everywhere.
    """
    layer = stage.layer
    if not isinstance(layer, TorchInputLayer) or not sizes:
        return None, True
    found = torch.zeros((layer.num_folds, layer.num_output_units, sum(sizes)), dtype=torch.bool)
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
    return found, table is None or bool((table > -torch.inf).all())


def _product_supports(
    stage: Stage, layer: TorchInnerLayer, at: ReachedUnits, terms: Tensor, supports: Sequence[Tensor]
) -> Tensor:
    """The values (P, W) for which a term (P,) of each of P units of one fold may be positive: those of its inputs."""
    units = layer.term_inputs(at, terms).cpu()
    found = torch.zeros((len(units), supports[0].shape[2]), dtype=torch.bool)
    fold = int(at.folds[0]) if len(units) else 0
    for h in range(units.shape[1]):
        below = supports[stage.sources[fold, h]][stage.slices[fold, h]]
        found |= below[units[:, h].clamp(min=0)] & (units[:, h] >= 0).unsqueeze(1)
    return found


def _exclusive(terms: Tensor, sizes: Sequence[int]) -> bool:
    """Whether for each two of the terms (T, W) there is a variable none of whose values is possible in both."""
    shared = torch.ones((len(terms), len(terms)), dtype=torch.bool)
    for part in terms.split(list(sizes), dim=1) if sizes else ():
        if bool(part.any()):  # a variable of the unit
            shared &= (part.double() @ part.double().T) > 0
    return not bool(torch.triu(shared, diagonal=1).any())
