"""The most probable assignment of the unobserved variables."""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from explorer.backend.evaluation import EvaluatedCircuit
from explorer.backend.layers import ReachedUnits, TorchInputLayer
from explorer.backend.queries.assignments import Task, task_of
from explorer.backend.queries.determinism import deterministic
from explorer.backend.queries.downward import largest_terms
from explorer.backend.queries.likelihood import log_partition_of
from explorer.backend.queries.masks import check_evidence, check_possible
from explorer.backend.queries.stages import Stage, StageValues
from explorer.backend.queries.upward import (
    LSE,
    LeafValue,
    chunks,
    evaluate_stages,
    in_semiring,
    mixtures,
    observed_leaf,
    observed_values,
    outputs_of,
)
from explorer.backend.semiring import MAX_PRODUCT
from explorer.errors import StructureError

TOLERANCE = 1e-9
"""Maximum difference of logarithms that counts as rounding."""


@dataclass(frozen=True, eq=False)
class MostProbable:
    """Completed rows, the logarithms of their probabilities, and upper bounds of these.

    No assignment that agrees with the evidence has a higher probability (density) than `log_bound`. `is_exact` says for
    each row that the assignment reaches it, so that it is a most probable one. Shapes: assignment (B, D), others (B,).
    """

    assignment: Tensor
    log_probability: Tensor
    log_bound: Tensor
    is_exact: Tensor


@torch.no_grad()
def most_probable(
    circuit: EvaluatedCircuit,
    x: Tensor | None = None,
    observed: Tensor | None = None,
    *,
    root: tuple[int, int] | None = None,
    is_deterministic: bool | None = None,
) -> MostProbable:
    """Complete the unobserved entries of each row with probable values: those that max-product finds.

    An upward pass replaces each sum by its largest term and each input layer by its largest value; the assignment is
    read off top-down. It is a most probable one if every sum has at most one term above zero for each assignment
    (a deterministic circuit); otherwise finding one is NP-hard, and the result has an upper bound: the circuit with
    input layers at their largest values. Determinism is shown from zeros of the parameters, or `is_deterministic` says
    what is known of the circuit (`Circuit.is_deterministic`). `root` is the (output, class) that is asked; it may be
    left out if there is only one. Columns that it does not depend on mean nothing: they are kept where observed, and 0
    elsewhere.

    Shapes: x (B, D), observed bool (B, D) or (D,) -> rows (B, D); without x, one row.
    Raises: as `sample`; StructureError if a circuit that is said to be deterministic is not.
    See Darwiche 2009, ch. 12; Choi et al. 2020, Probabilistic Circuits, sec. 6.
    """
    task = task_of(circuit, x, observed, root)
    values = task.values(MAX_PRODUCT)
    sums = task.values(LSE)
    if is_deterministic is None:
        nothing = observed_leaf(sums, *check_evidence(circuit, None, None))
        is_deterministic = bool(deterministic(task.stages, sums, evaluate_stages(task.stages, sums, nothing)))
    found = [
        _completed(task, values, sums, rows, is_deterministic)
        for rows in chunks(len(task.rows), task.stages.activation_bytes)
    ]
    log_partition = log_partition_of(task.stages)[task.root]
    assignment, log_value, log_bound = (torch.cat(parts) for parts in zip(*found, strict=True))
    is_exact = log_bound - log_value <= TOLERANCE
    return MostProbable(assignment, log_value - log_partition, log_bound - log_partition, is_exact)


def _completed(
    task: Task, values: StageValues, sums: StageValues, rows: slice, is_deterministic: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The assignments (B, D) of some rows, the logarithms (B,) of their values, and of the upper bounds."""
    x, observed = task.rows[rows], task.observed[rows]
    activations = evaluate_stages(task.stages, values, _mode_leaf(values, x, observed))
    log_best = mixtures(outputs_of(task.stages, activations)[:, *task.root])
    check_possible(log_best)
    row_of = torch.arange(len(x), device=x.device)
    assignment = task.complete(values, activations, rows, row_of, largest_terms, partial(_mode, values))
    everything = torch.ones_like(observed)
    reached = evaluate_stages(task.stages, sums, observed_leaf(sums, assignment, everything))
    log_value = mixtures(outputs_of(task.stages, reached)[:, *task.root])
    if is_deterministic:
        if bool(((log_value - log_best).abs() > TOLERANCE * log_best.abs().clamp(min=1.0)).any()):
            raise StructureError("the circuit is not deterministic: a unit has several terms above zero")
        return assignment, log_value, log_value
    bounds = evaluate_stages(task.stages, sums, _mode_leaf(sums, x, observed))
    log_bound = mixtures(outputs_of(task.stages, bounds)[:, *task.root])
    return assignment, log_value, torch.maximum(log_value, log_bound)


def _mode_leaf(values: StageValues, x: Tensor, observed: Tensor) -> LeafValue:
    """Input layers at the observed entries of x (B, D), and at their largest value where nothing is observed."""

    def leaf(stage: Stage, layer: TorchInputLayer) -> Tensor:
        seen, mask = observed_values(layer, x, observed)
        layer.check_input(seen)
        own, given = values.prepared[stage.id], mask.all(2)
        if bool(given.all()):
            return in_semiring(layer.forward(values.input_semiring, seen, own), values)
        largest = layer.mode(values.input_semiring, own)[0].unsqueeze(1)
        if not bool(given.any()):
            return largest.double().expand(-1, len(x), -1)
        value = in_semiring(layer.forward(values.input_semiring, seen, own), values)
        return torch.where(given.unsqueeze(2), value, largest.double())

    return leaf


def _mode(values: StageValues, stage: Stage, layer: TorchInputLayer, at: ReachedUnits) -> Tensor:
    return layer.mode(values.input_semiring, values.prepared[stage.id])[1][at.folds, at.units]
