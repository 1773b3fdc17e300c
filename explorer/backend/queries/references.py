"""Evidence far from all means: the values of input layers relative to those of one unit for each variable.

The logarithm of such evidence is, say, -1e17, where neighboring numbers of float64 are 16 nats apart, so that a
difference of two of them means nothing. But an output of a smooth and decomposable circuit reads each of its variables
once along every path. So if all units of a variable are divided by the value of one of them, its reference, then the
output is divided by the values of the references, which cancel in a ratio. The ratio of two Gaussians has a closed form
without cancellation. A reference that has most of the posterior probability is exactly 1, as are the products of such.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.backend.layers import TorchDiscreteLayer, TorchGaussianLayer, TorchInputLayer
from explorer.backend.queries.stages import Stage, Stages, StageValues, prepare
from explorer.backend.queries.upward import (
    COMPLEX,
    LSE,
    LeafValue,
    columns_of,
    evaluate_stages,
    observed_leaf,
    observed_values,
    outputs_of,
)
from explorer.backend.semiring import Semiring
from explorer.errors import ValueRangeError

Evidence = tuple[Tensor, Tensor]
"""Rows (B, D) and which of their entries are observed (B, D)."""
Root = tuple[int, int]
"""An output and a class."""

MAX_EXACT = 2.0**24
"""Maximum size of a logarithm whose rounding error is negligible, below 1e-8 nats."""
MAX_ERROR = 1e-6
"""Maximum error in nats, or relative error of a larger result, that rounding may cause."""
MAX_RATIO = 1e304
"""Maximum size of the logarithm of a ratio, which would overflow otherwise."""
MAX_ROUNDS = 8
"""Maximum number of times that references are chosen again."""
EPSILON = torch.finfo(torch.float64).eps


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A unit for each variable in each row: its stage, fold and unit, (D, B) each; stage -1 where there is none."""

    stage: Tensor
    fold: Tensor
    unit: Tensor

    def where(self, chosen: Tensor, other: "Reference") -> "Reference":
        """These units where `chosen` (D, B) or (B,), and those of the other elsewhere."""
        return Reference(
            torch.where(chosen, self.stage, other.stage),
            torch.where(chosen, self.fold, other.fold),
            torch.where(chosen, self.unit, other.unit),
        )


def are_far(stages: Stages, logs: Tensor) -> Tensor:
    """Whether rows (B,) need references, given the logarithms of the outputs (B, ...).

    Infinite logarithms do not in a circuit of discrete variables, which does not overflow.
    """
    size = (logs.real if logs.is_complex() else logs).detach().abs()
    size = size if size.dim() == 1 else size.flatten(1).amax(1)
    far = size > MAX_EXACT
    if bool(far.any()) and all(isinstance(layer, TorchDiscreteLayer) for _, _, layer in _leaves(stages)):
        far = far & (size != math.inf)
    return far


def roots_of(stages: Stages) -> list[Root]:
    """All roots of a circuit."""
    outputs, classes = stages.circuit.output_shape
    return [(output, number) for output in range(outputs) for number in range(classes)]


def relative_leaf(
    stages: Stages, values: StageValues, evidence: Evidence, reference: Reference, slack: float = 0.0
) -> LeafValue:
    """Input layers as `observed_leaf` evaluates them, divided by the references of observed variables.

    `slack` times the rounding error is added to each logarithm.
    """
    plain = observed_leaf(values, *evidence)
    units = _ReferenceUnits.of(stages, values, evidence, reference)

    def leaf(stage: Stage, layer: TorchInputLayer) -> Tensor:
        value = plain(stage, layer)
        ratio, error = units.ratio(stage, layer, value)
        return ratio + slack * torch.where(ratio.real.isfinite(), error, 0.0) if slack else ratio

    return leaf


def reference_values(stages: Stages, values: StageValues, evidence: Evidence, reference: Reference) -> Tensor:
    """The logarithms (D, B) of the values of the references; 0 for a variable without one, or not observed."""
    return _ReferenceUnits.of(stages, values, evidence, reference).value


def references_for(
    stages: Stages,
    evidence: Evidence,
    root: Root,
    numbers: Tensor,
    semirings: Sequence[Semiring] = (LSE, COMPLEX),
) -> Reference:
    """The references of rows that are far, with most of the posterior probability of a root.

    `numbers` (B,) are the numbers of the rows in an error. A complex semiring is used if a unit is negative.
    Raises: ValueRangeError where rounding hides what is probable given the evidence.
    """
    with torch.inference_mode(False), torch.no_grad():
        evidence = (evidence[0].clone(), evidence[1].clone())
        semiring, *others = semirings
        values = prepare(stages, semiring)
        reference = largest_units(stages, values, evidence)
        for _ in range(MAX_ROUNDS):
            logs, shares = _posterior(stages, values, evidence, reference, root)
            if bool(logs.isnan().any()) and others:
                return references_for(stages, evidence, root, numbers, others)
            far = ~(logs.abs() <= MAX_EXACT) & (logs != -math.inf)
            if not bool(far.any()):
                break
            chosen, share = _largest(stages, shares, evidence)
            reference = chosen.where(far & (share > 0), reference)
        require_certain(stages, values, evidence, reference, root, numbers)
        return reference


def require_certain(
    stages: Stages,
    values: StageValues,
    evidence: Evidence,
    reference: Reference,
    root: Root,
    numbers: Tensor,
    result: Tensor | None = None,
) -> None:
    """Raises: ValueRangeError unless `are_certain`; `numbers` (B,) are those of the rows."""
    is_certain = are_certain(stages, values, evidence, reference, root, result)
    if not bool(is_certain.all()):
        row = int(numbers[~is_certain][0])
        raise ValueRangeError(
            f"the evidence of row {row} is so improbable that the rounding of its logarithm in float64 hides what is "
            "probable given it; look for a wrong value or unit in it"
        )


@torch.no_grad()
def are_certain(
    stages: Stages,
    values: StageValues,
    evidence: Evidence,
    reference: Reference,
    root: Root,
    result: Tensor | None = None,
) -> Tensor:
    """Whether rounding cannot change the logarithms (B,) of a root by more than `MAX_ERROR`.

    The rounding errors of all input layers are added, and subtracted. A `result` (B,) that follows from the logarithm
    may be off by this much relative to its size.
    """
    size = 1.0 if result is None else result.detach().abs().clamp(min=1.0)
    count = float(len(stages.stages) + 4)  # of roundings along a path
    most, least = (
        _root_logs(stages, values, relative_leaf(stages, values, evidence, reference, slack), root)
        for slack in (count, -count)
    )
    return ((most - least).abs() <= MAX_ERROR * size) | ((most == -math.inf) & (least == -math.inf))


@torch.no_grad()
def largest_units(stages: Stages, values: StageValues, evidence: Evidence) -> Reference:
    """The unit of each variable that is largest in each row."""
    plain = observed_leaf(values, *evidence)
    scores: dict[int, Tensor] = {}
    for number, stage, layer in _leaves(stages):
        if isinstance(layer, TorchGaussianLayer):  # logarithms may overflow
            own = values.prepared[stage.id]
            seen, _ = observed_values(layer, *evidence)
            scores[number] = -((seen.double() - own["mean"]) / own["stddev"]).abs()
        else:
            scores[number] = plain(stage, layer).real
    reference, _ = _largest(stages, scores, evidence)
    for _ in range(MAX_ROUNDS):
        units = _ReferenceUnits.of(stages, values, evidence, reference)
        ratios = {
            number: units.ratio(stage, layer, plain(stage, layer))[0].real for number, stage, layer in _leaves(stages)
        }
        found, ratio = _largest(stages, ratios, evidence)
        is_larger = (ratio > 0) & (reference.stage >= 0)
        if not bool(is_larger.any()):
            break
        reference = found.where(is_larger, reference)
    return reference


def _posterior(
    stages: Stages, values: StageValues, evidence: Evidence, reference: Reference, root: Root
) -> tuple[Tensor, Mapping[int, Tensor]]:
    """The logarithms (B,) of a root, and the probability (F, B, O) that each input unit is reached, by stage."""
    numbers = {stage.id: number for number, stage, _ in _leaves(stages)}
    leaves: dict[int, Tensor] = {}
    given = relative_leaf(stages, values, evidence, reference)

    def leaf(stage: Stage, layer: TorchInputLayer) -> Tensor:
        with torch.no_grad():
            value = given(stage, layer).clone()
        if stage.id in numbers:
            leaves[numbers[stage.id]] = value.requires_grad_()
        return value

    with torch.enable_grad():
        logs = _root_logs(stages, values, leaf, root)
        if not leaves or not logs.requires_grad:
            return logs.detach(), {}
        shares = torch.autograd.grad(logs.sum(), list(leaves.values()), allow_unused=True)
    found = {
        number: torch.zeros_like(value.real) if share is None else share.real.abs().nan_to_num()
        for (number, value), share in zip(leaves.items(), shares, strict=True)
    }
    return logs.detach(), {number: share.detach() for number, share in found.items()}


def _root_logs(stages: Stages, values: StageValues, leaf: LeafValue, root: Root) -> Tensor:
    """The real logarithms (B,) of a root; the sign of a negative number is ignored."""
    logs = outputs_of(stages, evaluate_stages(stages, values, leaf))[:, *root]
    return logs.real if logs.is_complex() else logs


def _leaves(stages: Stages) -> Iterator[tuple[int, Stage, TorchInputLayer]]:
    """The input stages of single variables, with their numbers."""
    for number, stage in enumerate(stages.stages):
        if isinstance(stage.layer, TorchInputLayer) and stage.layer.num_variables == 1:
            yield number, stage, stage.layer


def _largest(stages: Stages, scores: Mapping[int, Tensor], evidence: Evidence) -> tuple[Reference, Tensor]:
    """The unit of each observed variable with the largest score (F, B, O), and the score (D, B)."""
    observed = evidence[1].T
    best = torch.full(observed.shape, -math.inf, dtype=torch.float64, device=observed.device)
    stage_of, fold_of, unit_of = (torch.full_like(observed, -1, dtype=torch.long) for _ in range(3))
    shared = {
        v
        for stage in stages.stages
        if isinstance(stage.layer, TorchInputLayer) and stage.layer.num_variables > 1
        for scope in stage.layer.scope_idx
        for v in scope
    }
    for number, score in scores.items():
        layer = stages.stages[number].layer
        assert isinstance(layer, TorchInputLayer)
        largest, units = score.max(2)
        for fold, (v,) in enumerate(layer.scope_idx):
            if v in shared:  # a unit of several variables has no reference of one
                continue
            is_better = (largest[fold] > best[v]) | (stage_of[v] < 0)
            best[v] = torch.where(is_better, largest[fold], best[v])
            stage_of[v] = torch.where(is_better, number, stage_of[v])
            fold_of[v] = torch.where(is_better, fold, fold_of[v])
            unit_of[v] = torch.where(is_better, units[fold], unit_of[v])
    return Reference(torch.where(observed, stage_of, -1), fold_of, unit_of), best


@dataclass(frozen=True, slots=True, eq=False)
class _ReferenceUnits:
    """The references of rows with their logarithms (D, B), and their parameters if all units are Gaussian."""

    values: StageValues
    evidence: Evidence
    reference: Reference
    numbers: Mapping[tuple[int, int], int]
    value: Tensor
    is_gaussian: Tensor
    parameters: Mapping[str, Tensor]

    @classmethod
    def of(cls, stages: Stages, values: StageValues, evidence: Evidence, reference: Reference) -> "_ReferenceUnits":
        """Gather what the references of some rows are."""
        x, observed = evidence
        plain = observed_leaf(values, x, observed)
        value = torch.zeros(reference.stage.shape, dtype=torch.float64, device=x.device)
        parameters = {name: torch.ones_like(value) for name in ("mean", "stddev", "constant")}
        is_gaussian = torch.ones(len(value), dtype=torch.bool, device=x.device)
        for number, stage, layer in _leaves(stages):
            v, rows = ((reference.stage == number) & observed.T).nonzero(as_tuple=True)
            folds, units = reference.fold[v, rows], reference.unit[v, rows]
            if not isinstance(layer, TorchGaussianLayer):
                is_gaussian[columns_of(layer, x.device)[:, 0]] = False
            if not len(v):
                continue
            value = value.index_put((v, rows), plain(stage, layer).real[folds, rows, units])
            if isinstance(layer, TorchGaussianLayer):
                own = values.prepared[stage.id]
                for name, found in parameters.items():
                    parameters[name] = found.index_put((v, rows), own[name].double()[folds, 0, units])
        numbers = {stage.id: number for number, stage, _ in _leaves(stages)}
        return cls(values, evidence, reference, numbers, value, is_gaussian, parameters)

    def ratio(self, stage: Stage, layer: TorchInputLayer, value: Tensor) -> tuple[Tensor, Tensor]:
        """The logarithms (F, B, O) of an input layer, divided by the references, and their rounding errors."""
        x, observed = self.evidence
        error = EPSILON * value.real.detach().abs()
        if layer.num_variables != 1:
            return value, error
        columns = columns_of(layer, x.device)[:, 0]
        has_reference = ((self.reference.stage[columns] >= 0) & observed.T[columns]).unsqueeze(2)
        own = self.value[columns].unsqueeze(2)
        own = torch.where(own.isfinite(), own, 0.0)
        ratio, ratio_error = value - own, error + EPSILON * own.detach().abs()
        if isinstance(layer, TorchGaussianLayer):
            other = {name: found[columns].unsqueeze(2) for name, found in self.parameters.items()}
            seen, _ = observed_values(layer, x, observed)
            closed, closed_error = _gaussian_ratio(seen.double(), self.values.prepared[stage.id], other)
            use = self.is_gaussian[columns].view(-1, 1, 1)
            ratio = torch.where(use, torch.where(self._are_references(stage, layer, columns), 0.0, closed), ratio)
            ratio_error = torch.where(use, closed_error, ratio_error)
        ratio_error = torch.where(self._are_references(stage, layer, columns), 0.0, ratio_error)
        return torch.where(has_reference, ratio, value), torch.where(has_reference, ratio_error, error)

    def _are_references(self, stage: Stage, layer: TorchInputLayer, columns: Tensor) -> Tensor:
        """Whether units (F, B, O) are the references of their variables."""
        chosen, device = self.reference, columns.device
        folds = torch.arange(layer.num_folds, device=device).unsqueeze(1)
        units = torch.arange(layer.num_output_units, device=device)
        is_here = (chosen.stage[columns] == self.numbers[stage.id]) & (chosen.fold[columns] == folds)
        return is_here.unsqueeze(2) & (chosen.unit[columns].unsqueeze(2) == units)


def _gaussian_ratio(x: Tensor, own: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The logarithm (F, B, O) of the ratio of Gaussians (F, 1, O) to others (F, B, 1) at x (F, B, 1), and its error.

    With z = (x - mean) / stddev it is (z' - z) (z' + z) / 2, and the first factor needs no difference of large numbers.
    """
    mean, stddev, constant = own["mean"], own["stddev"], own["constant"] - other["constant"]
    far = (x - other["mean"]) * ((other["stddev"] - stddev) / other["stddev"]) / stddev
    near = (other["mean"] - mean) / stddev
    total = (x - mean) / stddev + (x - other["mean"]) / other["stddev"]
    ratio = (constant - 0.5 * (far + near) * total).clamp(-MAX_RATIO, MAX_RATIO)
    size = far.abs() + near.abs()
    lost = (size / (far + near).abs()).clamp(max=2 / EPSILON)  # the share of digits that cancel in the first factor
    error = torch.where(ratio.abs() < MAX_RATIO, size * total.abs(), lost * MAX_RATIO)
    error = EPSILON * (torch.where(size == 0, 0.0, error) + constant.abs())
    return ratio.nan_to_num(0.0), error.detach().nan_to_num(MAX_RATIO)
