"""Expectations of functions that factorize over the variables; moments, and all of them at once.

The derivative of the logarithm of an output by the logarithm of a unit is the probability that the unit is reached:
one backward pass computes these posteriors for all units. See Darwiche 2003, A Differential Approach to Inference in
Bayesian Networks.
"""

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from explorer.backend.evaluation import EvaluatedCircuit
from explorer.backend.layers import LeafFunction, TorchInputLayer, apply, power
from explorer.backend.queries.fold_structure import Scopes, require_dependence, require_tractable, variables
from explorer.backend.queries.masks import check_evidence, check_possible
from explorer.backend.queries.references import are_far, references_for, relative_leaf, roots_of
from explorer.backend.queries.stages import Stage, Stages, StageValues, prepare, stages_of
from explorer.backend.queries.upward import (
    COMPLEX,
    LSE,
    LeafValue,
    chunks,
    columns_of,
    density,
    evaluate_in,
    evaluate_stages,
    observed_leaf,
    observed_values,
    outputs_of,
)
from explorer.backend.semiring import real_log
from explorer.errors import ValueRangeError, check_type
from explorer.symbolic.checks import is_integer


def posterior_expectations(stages: Stages, function: LeafFunction, rows: Tensor, mask: Tensor) -> Tensor | None:
    """E[function(X_v)] (B, outputs, classes, D) of each variable given the evidence; None if a unit is negative.

    Raises: ValueRangeError for evidence of probability zero; DataTypeError for a layer without such an expectation.
    """
    with torch.inference_mode(False), torch.no_grad():
        values = prepare(stages, LSE)
        found = torch.zeros(
            (len(rows), *stages.circuit.output_shape, rows.shape[1]), dtype=torch.float64, device=rows.device
        )
        numbers = torch.arange(len(rows), device=rows.device)
        for part in chunks(len(rows), 3 * stages.activation_bytes):
            evidence = rows[part], mask[part]
            if not _add_expectations(stages, values, function, evidence, numbers[part], found[part]):
                return None
        point = torch.where(mask, rows, 0).double()
        return torch.where(mask[:, None, None], apply(function, point)[:, None, None], found)


def _add_expectations(
    stages: Stages,
    values: StageValues,
    function: LeafFunction,
    evidence: tuple[Tensor, Tensor],
    numbers: Tensor,
    found: Tensor,
    root: tuple[int, int] | None = None,
) -> bool:
    """Add the expectations of unobserved variables to `found` (B, outputs, classes, D); False if a unit is negative.

    `numbers` (B,) are those of the rows in errors. A `root` means its expectations only, and rows that are far.
    """
    leaves: list[tuple[Stage, TorchInputLayer, Tensor]] = []
    given = observed_leaf(values, *evidence)
    if root is not None:
        given = relative_leaf(stages, values, evidence, references_for(stages, evidence, root, numbers, (LSE,)))

    def leaf(stage: Stage, layer: TorchInputLayer) -> Tensor:
        with torch.no_grad():
            value = given(stage, layer).clone()
        leaves.append((stage, layer, value.requires_grad_()))
        return value

    with torch.enable_grad():
        outputs = real_log(outputs_of(stages, evaluate_stages(stages, values, leaf)))
    if bool(torch.isnan(outputs).any()):
        return False
    far = torch.zeros_like(numbers, dtype=torch.bool) if root else are_far(stages, outputs)
    roots = [root] if root else roots_of(stages)
    for one in roots:
        check_possible(torch.where(far, 0.0, outputs[:, *one].detach()), numbers)
    used = [one for one in leaves if one[1].num_variables and not _is_observed(one[1], evidence[1])]
    ratios = [_ratio(stage, layer, values, function, evidence) for stage, layer, _ in used]
    for one in roots if used else ():
        with torch.enable_grad():
            total = outputs[:, *one].sum()
        shares = torch.autograd.grad(total, [v for _, _, v in used], retain_graph=True, allow_unused=True)
        for (_, layer, _), ratio, share in zip(used, ratios, shares, strict=True):
            if share is not None:
                own = share.unsqueeze(3)
                mean = torch.where(own == 0, 0.0, own * ratio).sum(2)  # (F, B, V)
                columns = columns_of(layer, mean.device).flatten()
                found[:, *one].index_add_(1, columns, mean.transpose(0, 1).flatten(1))
    if bool(far.any()):
        at = far.nonzero().flatten()
        part = torch.zeros_like(found[at])
        for one in roots:
            _add_expectations(stages, values, function, (evidence[0][at], evidence[1][at]), numbers[at], part, one)
        found[at] = part
    return True


def _is_observed(layer: TorchInputLayer, mask: Tensor) -> bool:
    """Whether every row observes all variables of a layer."""
    return bool(mask[:, columns_of(layer, mask.device)].all())


def _ratio(
    stage: Stage, layer: TorchInputLayer, values: StageValues, function: LeafFunction, evidence: tuple[Tensor, Tensor]
) -> Tensor:
    """The expectation (F, 1 or B, O, V) of the function of each variable under each normalized unit; NaN if it is zero.

    Under a unit of several variables, it is that given those which the evidence observes.
    """
    own = values.prepared[stage.id]
    if layer.num_variables == 1:
        log_mass = values.input_semiring.to_log(layer.integral(values.input_semiring, own))
        return (layer.expectation(values.input_semiring, own, function) - log_mass).exp().real.unsqueeze(3)
    seen, mask = observed_values(layer, *evidence)
    with torch.no_grad():
        return torch.stack(
            [
                torch.stack(
                    [
                        layer.expectation_given(own, {position: function}, fold, seen[fold], mask[fold])
                        for position in range(layer.num_variables)
                    ],
                    2,
                )
                for fold in range(layer.num_folds)
            ]
        )


TOLERANCE = 1e-6
"""Maximum imaginary part, relative to the value, that counts as rounding."""


@torch.no_grad()
def expectation(
    circuit: EvaluatedCircuit,
    functions: Mapping[int, LeafFunction],
    x: Tensor | None = None,
    observed: Tensor | None = None,
) -> Tensor:
    """Return E[prod_v f_v(X_v)], or given the observed entries of each row, for functions f_v of single variables v.

    A function maps the values of its variable elementwise; of a Gaussian variable it is a `Polynomial`, whose
    expectation has a closed form. `expectation(c, {0: f})` is E[f(X_0)], a probability if f is an indicator.
    Shapes: without evidence (outputs, classes); x (B, D), observed bool (B, D) or (D,) -> (B, outputs, classes).
    Raises: ScopeError for a variable that an output does not depend on; DataTypeError for a layer or function without
    a known expectation; StructureError; ValueRangeError if the circuit is not a density, or for evidence of
    probability zero.
    """
    stages = stages_of(circuit)
    check_type("the functions by variable", functions, Mapping, "for example {0: power(2)}")
    rows, mask = check_evidence(circuit, x, observed)
    scopes = require_tractable(stages)
    require_dependence(stages, scopes, functions, "whose functions were given")
    applied = torch.zeros_like(mask)
    applied[:, list(functions)] = True
    numbers = torch.arange(len(rows), device=rows.device)
    found = _expected(stages, functions, rows, mask, applied, numbers)
    return found[0] if x is None else found


@torch.no_grad()
def moments(
    circuit: EvaluatedCircuit, order: int = 1, x: Tensor | None = None, observed: Tensor | None = None
) -> Tensor:
    """Return E[X_v^order] of each variable v, or given the observed entries of each row: raw moments, by default means.

    NaN for variables that an output does not depend on. The variance is moments(c, 2) - moments(c, 1)^2.
    Shapes: without evidence (outputs, classes, D); x (B, D), observed bool (B, D) or (D,) -> (B, outputs, classes, D).
    Raises: as `expectation`; ValueRangeError for a negative order.
    """
    if not is_integer(order) or order < 0:
        raise ValueRangeError(f"the order of a moment must be a non-negative int; found {order!r}")
    order = int(order)
    stages = stages_of(circuit)
    rows, mask = check_evidence(circuit, x, observed)
    scopes = require_tractable(stages)
    found = posterior_expectations(stages, power(order), rows, mask)
    if found is None:  # a unit is negative
        found = _one_by_one(stages, power(order), rows, mask)
    for output, unread in enumerate(_unread(stages, scopes, rows.shape[1])):
        found[:, output, :, unread] = math.nan
    return found[0] if x is None else found


def _one_by_one(stages: Stages, function: LeafFunction, rows: Tensor, mask: Tensor) -> Tensor:
    """The expectations (B, outputs, classes, D) of a function of each variable, by one evaluation for each."""
    num_rows, num_variables = rows.shape
    applied = torch.eye(num_variables, dtype=torch.bool, device=rows.device).repeat(num_rows, 1)
    repeated = rows.repeat_interleave(num_variables, 0), mask.repeat_interleave(num_variables, 0)
    numbers = torch.arange(num_rows, device=rows.device).repeat_interleave(num_variables)
    found = _expected(stages, dict.fromkeys(range(num_variables), function), *repeated, applied, numbers)
    return found.reshape(num_rows, num_variables, *stages.circuit.output_shape).permute(0, 2, 3, 1).clone()


def _expected(
    stages: Stages,
    functions: Mapping[int, LeafFunction],
    rows: Tensor,
    mask: Tensor,
    applied: Tensor,
    numbers: Tensor,
) -> Tensor:
    """The expectations (B, outputs, classes) of the functions that are applied in each row (B, D).

    `numbers` (B,) are those of the rows in errors.
    """
    found: list[Tensor] = []
    for part in chunks(len(rows), 2 * stages.activation_bytes):
        x, seen = rows[part], mask[part]

        def leaf_of(values: StageValues, x: Tensor = x, seen: Tensor = seen) -> LeafValue:
            return observed_leaf(values, x, seen)

        logs, far = _log_expected(stages, functions, (x, seen), applied[part], leaf_of, numbers[part])
        if bool(far.any()):
            at = far.nonzero().flatten()
            own = (x[at], seen[at]), applied[part][at], numbers[part][at]
            for root in roots_of(stages):
                logs[at, *root] = _far_expected(stages, functions, *own, root)
        size = torch.where(logs.real == -torch.inf, 0.0, logs.real.exp())
        real, imaginary = (torch.where(size == 0, 0.0, size * turn(logs.imag)) for turn in (torch.cos, torch.sin))
        if not bool((imaginary.abs() <= TOLERANCE * size.clamp(min=1.0)).all()):  # also for NaN
            raise ValueRangeError("the expectation is complex or not a number: a function or the circuit is not real")
        found.append(real)
    return torch.cat(found)


def _log_expected(
    stages: Stages,
    functions: Mapping[int, LeafFunction],
    evidence: tuple[Tensor, Tensor],
    applied: Tensor,
    leaf_of: Callable[[StageValues], LeafValue],
    numbers: Tensor,
) -> tuple[Tensor, Tensor]:
    """The complex logarithms (B, outputs, classes) of expectations, and which rows (B,) are far and mean nothing."""

    def weighted_of(values: StageValues) -> LeafValue:
        return _weighted(functions, *evidence, applied, values, leaf_of(values))

    found = evaluate_in(stages, COMPLEX, leaf_of)
    far = are_far(stages, found)
    log_evidence = density(torch.where(far[:, None, None], 0.0, found))
    check_possible(log_evidence, numbers)
    return evaluate_in(stages, COMPLEX, weighted_of) - log_evidence, far


def _far_expected(
    stages: Stages,
    functions: Mapping[int, LeafFunction],
    evidence: tuple[Tensor, Tensor],
    applied: Tensor,
    numbers: Tensor,
    root: tuple[int, int],
) -> Tensor:
    """The complex logarithms (B,) of the expectations of a root in rows that are far."""
    reference = references_for(stages, evidence, root, numbers, (COMPLEX,))

    def leaf_of(values: StageValues) -> LeafValue:
        return relative_leaf(stages, values, evidence, reference)

    def weighted_of(values: StageValues) -> LeafValue:
        return _weighted(functions, *evidence, applied, values, leaf_of(values))

    log_evidence = density(evaluate_in(stages, COMPLEX, leaf_of)[:, *root])
    check_possible(log_evidence, numbers)
    return evaluate_in(stages, COMPLEX, weighted_of)[:, *root] - log_evidence


def _weighted(
    functions: Mapping[int, LeafFunction],
    x: Tensor,
    seen: Tensor,
    applied: Tensor,
    values: StageValues,
    plain: LeafValue,
) -> LeafValue:
    """Input layers, which `plain` evaluates, times the functions of their variables, where these are applied."""

    def leaf(stage: Stage, layer: TorchInputLayer) -> Tensor:
        value = plain(stage, layer)
        cache: dict[int, Tensor] = {}
        for fold, scope in enumerate(layer.scope_idx):
            chosen = [v for v in scope if v in functions and bool(applied[:, v].any())]
            if not chosen:
                continue
            value = value.clone()
            if len(scope) > 1:
                value[fold] = _applied_to_several(stage, layer, fold, value[fold])
            else:
                value[fold] = _applied(stage, layer, fold, chosen[0], value[fold], cache)
        return value

    def _applied(
        stage: Stage, layer: TorchInputLayer, fold: int, variable: int, value: Tensor, cache: dict[int, Tensor]
    ) -> Tensor:
        """The value (B, O) of a fold, times the function of its variable in the rows where it is applied.

        Folds often share a function: `cache` has the expectations of all folds by the id of the function.
        """
        function, used, given = functions[variable], applied[:, variable], seen[:, variable]
        if bool((used & given).any()):
            point = torch.where(given, x[:, variable], 0).double()
            factor = torch.log(apply(function, point).to(torch.complex128)).unsqueeze(1)
            value = torch.where((used & given).unsqueeze(1), COMPLEX.multiply(value, factor), value)
        if bool((used & ~given).any()):
            if id(function) not in cache:
                cache[id(function)] = layer.expectation(values.input_semiring, values.prepared[stage.id], function)
            expected = cache[id(function)][fold].to(torch.complex128)
            value = torch.where((used & ~given).unsqueeze(1), expected, value)
        return value

    def _applied_to_several(stage: Stage, layer: TorchInputLayer, fold: int, value: Tensor) -> Tensor:
        """The value (B, O) of a fold of several variables, times the functions that are applied in each row."""
        scope, own = layer.scope_idx[fold], values.prepared[stage.id]
        wanted = torch.stack([applied[:, v] if v in functions else torch.zeros_like(applied[:, v]) for v in scope], 1)
        known, mask = (part[fold] for part in observed_values(layer, x, seen))
        value = value.clone()
        for used in torch.unique(wanted, dim=0):
            rows = (wanted == used).all(1).nonzero().flatten()
            chosen = {position: functions[scope[position]] for position in used.nonzero().flatten().tolist()}
            if chosen:
                mean = layer.expectation_given(own, chosen, fold, known[rows], mask[rows]).to(torch.complex128)
                value[rows] = COMPLEX.multiply(value[rows], torch.log(mean))
        return value

    return leaf


def _unread(stages: Stages, scopes: Scopes, num_variables: int) -> list[list[int]]:
    """For each output the variables that it does not depend on."""
    known = [variables(scopes[position][fold]) for position, fold in stages.outputs]
    return [[v for v in range(num_variables) if v not in one] for one in known]
