"""The structure of a compiled circuit: the scopes of its folds, whether variables can be summed out, determinism.

Determinism is shown as for a symbolic circuit (`explorer.symbolic.structure`), by a search for units that exclude each
other, from the zeros of the present values instead of fixed leaves. This is sufficient, not necessary.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from explorer.backend.layers import ReachedUnits, TorchDiscreteLayer, TorchInnerLayer, TorchInputLayer
from explorer.backend.queries.stages import Stage, Stages, StageValues
from explorer.backend.queries.upward import inputs_of
from explorer.errors import DataTypeError, ScopeError, StructureError
from explorer.symbolic.exclusion import Exclusion, Units
from explorer.symbolic.structure import Finding

Scopes = Sequence[Sequence[int]]
"""The variables of each stage and fold as bits: bit v of the number is variable v."""


def scopes_of(stages: Stages) -> Scopes:
    """The variables of each stage and fold."""
    found: list[list[int]] = []
    for stage in stages.stages:
        if isinstance(stage.layer, TorchInputLayer):
            found.append([sum({1 << v for v in scope}) for scope in stage.layer.scope_idx])
            continue
        pairs = zip(stage.sources.tolist(), stage.slices.tolist(), strict=True)
        scopes: list[int] = []
        for sources, slices in pairs:
            scope = 0
            for source, fold in zip(sources, slices, strict=True):
                scope |= found[source][fold]
            scopes.append(scope)
        found.append(scopes)
    return found


def require_tractable(stages: Stages) -> Scopes:
    """The scopes, if every sum that the outputs depend on is smooth and every product decomposable.

    Raises: StructureError, which names the layer; DataTypeError for a class that does not say whether it multiplies.
    """
    scopes = scopes_of(stages)
    used = used_folds(stages)
    for position, stage in enumerate(stages.stages):
        if isinstance(stage.layer, TorchInnerLayer) and used[position]:
            multiplies = multiplies_inputs(stage.layer)
            for fold in sorted(used[position]) if stage.sources.shape[1] > 1 else ():
                _check(stage, fold, multiplies, scopes, scopes[position][fold])
    return scopes


def require_dependence(stages: Stages, scopes: Scopes, asked: Collection[int], what: str) -> None:
    """Raises: ScopeError if an output does not depend on some of the variables that are asked about."""
    for position, fold in stages.outputs:
        unknown = sorted(v for v in asked if not scopes[position][fold] >> v & 1)
        if unknown:
            raise ScopeError(f"an output does not depend on the variables {unknown}, {what}")


def read_variables(stages: Stages, scopes: Scopes) -> list[int]:
    """The variables that an output depends on, ascending."""
    scope = 0
    for position, fold in stages.outputs:
        scope |= scopes[position][fold]
    return variables(scope)


def multiplies_inputs(layer: TorchInnerLayer) -> bool:
    """Whether a term of a unit is a product over all inputs. Raises: DataTypeError if the class does not say so."""
    if layer.multiplies is None:
        name = type(layer).__name__
        raise DataTypeError(
            f"{name} does not say what its units are sums of, without which no variable can be summed out; set "
            f"{name}.multiplies to True if a term is a product of one unit of each input, to False if it reads one unit"
        )
    return layer.multiplies


def used_folds(stages: Stages) -> list[set[int]]:
    """For each stage the folds that an output depends on."""
    used: list[set[int]] = [set() for _ in stages.stages]
    for position, fold in stages.outputs:
        used[position].add(fold)
    for position in range(len(stages.stages) - 1, -1, -1):
        stage = stages.stages[position]
        for fold in used[position]:
            for source, slice_idx in zip(stage.sources[fold].tolist(), stage.slices[fold].tolist(), strict=True):
                used[source].add(slice_idx)
    return used


def _check(stage: Stage, fold: int, multiplies: bool, scopes: Scopes, scope: int) -> None:
    below = [scopes[s][f] for s, f in zip(stage.sources[fold].tolist(), stage.slices[fold].tolist(), strict=True)]
    where = f"layer {stage.id[0]} ({type(stage.layer).__name__}), fold {fold}"
    if multiplies:
        seen = 0
        for one in below:
            if seen & one:
                raise StructureError(
                    f"{where} multiplies inputs that share variables {variables(seen & one)}: the circuit is not "
                    "decomposable, so its sums over variables are not those of its layers"
                )
            seen |= one
    else:
        for one in below:
            if one != scope:
                raise StructureError(
                    f"{where} adds an input that does not depend on variables {variables(scope & ~one)}: the circuit "
                    "is not smooth, so its sums over variables are not those of its layers"
                )


def variables(scope: int) -> list[int]:
    """The variables of a scope, ascending."""
    return [v for v in range(scope.bit_length()) if scope >> v & 1]


OVERLAP = "two of its terms are not shown to exclude each other"


def deterministic(stages: Stages, values: StageValues, masses: Sequence[Tensor]) -> Finding:
    """Whether the terms of each unit exclude each other, given the logarithms (F, 1, O) of the masses of all units.

    Only folds that an output depends on count. Raises: DataTypeError for a layer that does not say its terms.
    """
    used = used_folds(stages)
    mixed = _first_mixed_unit(stages, values, masses, used)
    if mixed is None:
        return Finding(True)
    units = _StageUnits.of(stages, values)
    if not units.possible:
        return Finding(False, f"{mixed}: {OVERLAP}")
    exclusion = Exclusion(units.known.known)
    for position, stage in enumerate(stages.stages):
        layer = stage.layer
        if not isinstance(layer, TorchInnerLayer):
            continue
        for fold in sorted(used[position]):
            x = inputs_of(stages, position, masses)
            at = all_units(layer, fold, x.device)
            if layer.num_terms == 1:
                for term in units.terms(position, fold, layer.term_inputs(at, at.units * 0)):
                    units.add(position, fold, [term])
                continue
            for unit, row in enumerate(_nonzero(layer.log_terms(x, at, values.prepared[stage.id]))):
                alive = row.nonzero().flatten()
                same = ReachedUnits(*(torch.full_like(alive, number) for number in (fold, 0, unit)))
                terms = units.terms(position, fold, layer.term_inputs(same, alive))
                if exclusion.overlap(terms):
                    return Finding(False, f"{_name(stage, fold, unit)}: {OVERLAP}")
                units.add(position, fold, terms)
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
            found = (_nonzero(logs).sum(1) > 1).nonzero()
            if len(found):
                return _name(stage, fold, int(found[0]))
    return None


def _name(stage: Stage, fold: int, unit: int) -> str:
    return f"unit {unit} of layer {stage.id[0]} ({type(stage.layer).__name__}), fold {fold}"


def _nonzero(logs: Tensor) -> Tensor:
    return logs != -torch.inf


def all_units(layer: TorchInnerLayer, fold: int, device: torch.device | None = None) -> ReachedUnits:
    """All units of a fold, in row 0."""
    units = torch.arange(layer.num_output_units, device=device)
    return ReachedUnits(torch.full_like(units, fold), torch.zeros_like(units), units)


@dataclass(frozen=True, eq=False)
class _StageUnits:
    """The units of the stages so far. Input layers are added when a term reads them first.

    `possible` has, for each stage of discrete variables with a zero, the values (F, O, values) at which its units are
    not zero; other input units count as nonzero everywhere. `keys` has the units of a stage and fold.
    """

    stages: Stages
    scopes: Scopes
    possible: Mapping[int, Tensor]
    known: Units
    keys: defaultdict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, stages: Stages, values: StageValues) -> "_StageUnits":
        """No units yet, but the zeros of all input layers."""
        possible: dict[int, Tensor] = {}
        for position, stage in enumerate(stages.stages):
            if isinstance(stage.layer, TorchDiscreteLayer):
                table = stage.layer.value_table(values.input_semiring, values.prepared[stage.id])
                found = _nonzero(values.input_semiring.to_log(table)).cpu()
                if not bool(found.all()):
                    possible[position] = found
        most = max((found.shape[2] for found in possible.values()), default=1)
        return cls(stages, scopes_of(stages), possible, Units(max(1, (most - 1).bit_length())))

    def terms(self, position: int, fold: int, inputs: Tensor) -> list[int]:
        """Terms (P,) of units of a fold, each the product of these units (P, H) of its inputs; -1 for none."""
        stage, scope = self.stages.stages[position], self.scopes[position][fold]
        below = list(zip(stage.sources[fold].tolist(), stage.slices[fold].tolist(), strict=True))
        for source, slice_idx in below:
            if isinstance(self.stages.stages[source].layer, TorchInputLayer) and (source, slice_idx) not in self.keys:
                self._add_inputs(source, slice_idx)
        found: list[int] = []
        for units in inputs.tolist():
            factors = [self.keys[at][unit] for at, unit in zip(below, units, strict=True) if unit >= 0]
            if len(factors) != 1:
                self.known.add_product(scope, factors)
            found.append(factors[0] if len(factors) == 1 else len(self.known.known) - 1)
        return found

    def add(self, position: int, fold: int, terms: Sequence[int]) -> None:
        """Add the next unit of a fold, which is the sum of these terms."""
        if len(terms) != 1:
            self.known.add_sum(self.scopes[position][fold], terms)
        self.keys[position, fold].append(terms[0] if len(terms) == 1 else len(self.known.known) - 1)

    def _add_inputs(self, position: int, fold: int) -> None:
        scope, possible = self.scopes[position][fold], self.possible.get(position)
        for unit in range(self.stages.stages[position].layer.num_output_units):
            if possible is None or bool(possible[fold, unit].all()):
                self.known.add_constant(scope=scope, empty=False)
            else:
                self.known.add_input(scope.bit_length() - 1, possible[fold, unit].nonzero().flatten().tolist())
            self.keys[position, fold].append(len(self.known.known) - 1)
