"""Samples and most probable assignments: rows are completed from what the top-down pass reaches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from explorer.backend.evaluation import EvaluatedCircuit
from explorer.backend.layers import ReachedUnits, TorchDiscreteLayer, TorchInputLayer
from explorer.backend.queries.downward import Choice, descend, draw_terms, largest_terms
from explorer.backend.queries.fold_structure import Scopes, deterministic, require_tractable
from explorer.backend.queries.likelihood import log_partition_of
from explorer.backend.queries.masks import check_evidence, check_generator, check_possible, check_root
from explorer.backend.queries.references import Evidence, Reference, are_far, references_for, relative_leaf
from explorer.backend.queries.stages import Stage, Stages, StageValues, prepare, stages_of
from explorer.backend.queries.upward import (
    LSE,
    LeafValue,
    chunks,
    columns_of,
    evaluate_stages,
    in_semiring,
    mixtures,
    observed_leaf,
    observed_values,
    outputs_of,
    require_non_negative,
)
from explorer.backend.semiring import MAX_PRODUCT, Semiring
from explorer.errors import StructureError, ValueRangeError
from explorer.symbolic.checks import is_integer

Complete = Callable[[Stage, TorchInputLayer, ReachedUnits, Tensor, Tensor], Tensor]
"""The values (P, V) of the variables of P units of an input layer, given x (P, V) where it is observed (P, V)."""
LeafOf = Callable[[Stages, StageValues, Evidence, Reference | None], LeafValue]
"""Evaluates input layers given evidence, relative to references if there are some."""


@dataclass(frozen=True, eq=False)
class Task:
    """Rows (B, D) to be completed from a root, where entries are not `observed` (B, D)."""

    stages: Stages
    scopes: Scopes
    rows: Tensor
    observed: Tensor
    root: tuple[int, int]

    def values(self, semiring: Semiring) -> StageValues:
        """The parameters for this semiring. Raises: ValueRangeError for negative weights."""
        found = prepare(self.stages, semiring)
        require_non_negative(self.stages, found)
        return found

    def output(self, activations: Sequence[Tensor]) -> Tensor:
        """The real logarithms (B,) of the root. Raises: ValueRangeError for a negative number."""
        return mixtures(outputs_of(self.stages, activations)[:, *self.root])

    def complete(
        self,
        values: StageValues,
        activations: Sequence[Tensor],
        numbers: Tensor,
        row_of: Tensor,
        choice: Choice,
        complete: Complete,
    ) -> Tensor:
        """The completed rows (S, D) of S draws: draw s completes row `row_of[s]` of those with these numbers.

        Raises: as `descend`; DataTypeError for a layer that cannot be completed given some of its variables.
        """
        observed, found = self.observed[numbers], self.rows[numbers][row_of]
        for stage, layer, at, draws in descend(
            self.stages, values, activations, self.scopes, self.root, row_of, choice
        ):
            columns = columns_of(layer, found.device)[at.folds]  # (P, V)
            given = observed[at.rows.unsqueeze(1), columns]
            missing = ~given.all(1)
            at = ReachedUnits(at.folds[missing], at.rows[missing], at.units[missing])
            slots = draws[missing].unsqueeze(1), columns[missing]
            found[slots] = complete(stage, layer, at, found[slots], given[missing]).to(found.dtype)
        return found


def task_of(circuit: EvaluatedCircuit, x: Tensor | None, observed: Tensor | None, root: tuple[int, int] | None) -> Task:
    """The task of completing rows. Raises: StructureError, ShapeError, DataTypeError, ValueRangeError."""
    stages = stages_of(circuit)
    rows, mask = check_evidence(circuit, x, observed)
    scopes = require_tractable(stages)
    for layer in circuit.layers:  # before numbers become integers, which would hide that one is 1.5
        if isinstance(layer, TorchInputLayer):
            layer.check_input(observed_values(layer, rows, mask)[0])
    rows = torch.where(mask, rows, 0)
    rows = rows.long() if _is_discrete(circuit) else rows.double()
    return Task(stages, scopes, rows, mask, check_root(root, stages.circuit.output_shape))


def _is_discrete(circuit: EvaluatedCircuit) -> bool:
    """Whether all variables are discrete."""
    leaves = [layer for layer in circuit.layers if isinstance(layer, TorchInputLayer) and layer.num_variables]
    return all(isinstance(layer, TorchDiscreteLayer) for layer in leaves)


@dataclass(frozen=True, slots=True, eq=False)
class Upward:
    """The upward pass of rows: activations (F, B, O), the logarithms (B,) of the root, and the rows that are far (B,).

    Activations and logarithms of rows that are far are relative to the references of these rows.
    """

    activations: Sequence[Tensor]
    logs: Tensor
    far: Tensor
    reference: Reference | None


def _upward(task: Task, values: StageValues, numbers: Tensor, leaf_of: LeafOf) -> Upward:
    """The upward pass of the rows with these numbers (B,). Raises: ValueRangeError."""
    stages, x, observed = task.stages, task.rows[numbers], task.observed[numbers]
    activations = evaluate_stages(stages, values, leaf_of(stages, values, (x, observed), None))
    logs, reference = task.output(activations), None
    far = are_far(stages, logs)
    if bool(far.any()):
        evidence, at = (x[far], observed[far]), far.nonzero().flatten()
        reference = references_for(stages, evidence, task.root, numbers[far], (values.semiring,))
        relative = evaluate_stages(stages, values, leaf_of(stages, values, evidence, reference))
        activations = [one.index_copy(1, at, part) for one, part in zip(activations, relative, strict=True)]
        logs = task.output(activations)
    check_possible(logs, numbers)
    return Upward(activations, logs, far, reference)


@torch.no_grad()
def sample(
    circuit: EvaluatedCircuit,
    num_samples: int,
    x: Tensor | None = None,
    observed: Tensor | None = None,
    *,
    generator: torch.Generator | None = None,
    root: tuple[int, int] | None = None,
) -> Tensor:
    """Draw from the distribution of a circuit, or given the observed entries of each row from the conditional one.

    An upward pass sums the unobserved variables out; a top-down pass then draws a term of each unit that it reaches. A
    `generator` state returns the same samples again. `root` is the (output, class) that is sampled; it may be left out
    if there is only one. Columns that this output does not depend on have no distribution: they are kept where
    observed, and 0 elsewhere.

    Shapes: without evidence (N, D); with x (B, D), observed bool (B, D) or (D,): (N, B, D), where N is `num_samples`.
    Integers if all variables are discrete, otherwise double precision.
    Raises: StructureError unless the circuit is smooth and decomposable; ValueRangeError for negative weights, and for
    evidence of probability zero; DataTypeError for a layer that cannot be sampled; ShapeError.
    """
    if not is_integer(num_samples) or num_samples < 0:
        raise ValueRangeError(f"num_samples must be a non-negative int; found {num_samples!r}")
    num_samples = int(num_samples)
    generator = check_generator(generator)
    task = task_of(circuit, x, observed, root)
    values = task.values(LSE)
    choice = draw_terms(generator)
    draw = partial(_draw, values, generator)
    num_rows, num_columns = task.rows.shape
    found = task.rows.new_empty((num_samples, num_rows, num_columns))
    for rows in chunks(num_rows, task.stages.activation_bytes):
        numbers = torch.arange(rows.start, rows.stop, device=found.device)
        activations, count = _upward(task, values, numbers, _given_leaf).activations, len(numbers)
        for draws in chunks(num_samples, 8 * count * (task.stages.num_folds + num_columns)):
            row_of = torch.arange(count, device=found.device).repeat(draws.stop - draws.start)
            part = task.complete(values, activations, numbers, row_of, choice, draw)
            found[draws, rows] = part.reshape(draws.stop - draws.start, count, num_columns)
    return found.squeeze(1) if x is None else found


def _draw(
    values: StageValues,
    generator: torch.Generator,
    stage: Stage,
    layer: TorchInputLayer,
    at: ReachedUnits,
    x: Tensor,
    observed: Tensor,
) -> Tensor:
    own = values.prepared[stage.id]
    if bool(observed.any()):
        return layer.sample_given(values.input_semiring, own, at, generator, x, observed)
    return layer.sample(values.input_semiring, own, at, generator)


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
    numbers = torch.arange(len(task.rows), device=task.rows.device)
    found = [
        _completed(task, values, sums, numbers[rows], is_deterministic)
        for rows in chunks(len(task.rows), task.stages.activation_bytes)
    ]
    log_partition = log_partition_of(task.stages)[task.root]
    assignment, log_value, log_bound, is_exact = (torch.cat(parts) for parts in zip(*found, strict=True))
    return MostProbable(assignment, log_value - log_partition, log_bound - log_partition, is_exact)


def _completed(
    task: Task, values: StageValues, sums: StageValues, numbers: Tensor, is_deterministic: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The assignments (B, D) of the rows with these numbers, the logarithms (B,) of their values, and of the bounds.

    The last tensor (B,) says whether the two agree, up to rounding.
    """
    evidence = task.rows[numbers], task.observed[numbers]
    upward = _upward(task, values, numbers, _mode_leaf)
    row_of = torch.arange(len(numbers), device=numbers.device)
    assignment = task.complete(values, upward.activations, numbers, row_of, largest_terms, partial(_mode, values))
    completed = assignment, torch.ones_like(evidence[1])

    def evaluate(leaf_of: LeafOf, x: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
        """The logarithms of the rows, and the same relative to the references where these are needed."""
        logs = task.output(evaluate_stages(task.stages, sums, leaf_of(task.stages, sums, (x, observed), None)))
        if upward.reference is None:
            return logs, logs
        leaf = leaf_of(task.stages, sums, (x[upward.far], observed[upward.far]), upward.reference)
        relative = task.output(evaluate_stages(task.stages, sums, leaf))
        return logs, logs.index_put((upward.far,), relative)

    log_value, value = evaluate(_given_leaf, *completed)
    if is_deterministic:
        if bool(((value - upward.logs).abs() > TOLERANCE * upward.logs.abs().clamp(min=1.0)).any()):
            raise StructureError("the circuit is not deterministic: a unit has several terms above zero")
        return assignment, log_value, log_value, torch.ones_like(upward.far)
    log_bound, bound = evaluate(_mode_leaf, *evidence)
    return assignment, log_value, torch.maximum(log_value, log_bound), bound - value <= TOLERANCE


def _given_leaf(stages: Stages, values: StageValues, evidence: Evidence, reference: Reference | None) -> LeafValue:
    """Input layers at the observed entries, relative to the references if there are some, and summed out elsewhere."""
    if reference is None:
        return observed_leaf(values, *evidence)
    return relative_leaf(stages, values, evidence, reference)


def _mode_leaf(stages: Stages, values: StageValues, evidence: Evidence, reference: Reference | None) -> LeafValue:
    """Input layers as in `_given_leaf`, but at their largest value where nothing is observed."""
    relative = None if reference is None else relative_leaf(stages, values, evidence, reference)

    def leaf(stage: Stage, layer: TorchInputLayer) -> Tensor:
        seen, mask = observed_values(layer, *evidence)
        layer.check_input(seen)
        own, given = values.prepared[stage.id], mask.all(2)
        if bool((mask.any(2) & ~given).any()):
            return layer.largest_given(values.input_semiring, seen, mask, own).double()

        def at_values() -> Tensor:
            if relative is not None:
                return relative(stage, layer)
            return in_semiring(layer.forward(values.input_semiring, seen, own), values)

        if bool(given.all()):
            return at_values()
        largest = layer.mode(values.input_semiring, own)[0].unsqueeze(1)
        if not bool(given.any()):
            return largest.double().expand(-1, len(mask[0]), -1)
        return torch.where(given.unsqueeze(2), at_values(), largest.double())

    return leaf


def _mode(
    values: StageValues, stage: Stage, layer: TorchInputLayer, at: ReachedUnits, x: Tensor, observed: Tensor
) -> Tensor:
    own = values.prepared[stage.id]
    if bool(observed.any()):
        return layer.mode_given(values.input_semiring, own, at, x, observed)
    return layer.mode(values.input_semiring, own)[1][at.folds, at.units]
