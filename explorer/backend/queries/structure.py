"""The scopes of the folds of a compiled circuit, and whether queries that sum variables out are defined."""

from collections.abc import Collection, Sequence

from explorer.backend.layers import TorchInnerLayer, TorchInputLayer
from explorer.backend.queries.stages import Stage, Stages
from explorer.errors import DataTypeError, ScopeError, StructureError

Scopes = Sequence[Sequence[int]]
"""For each stage and fold the set of its variables: bit v of the number is that of variable v."""


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
