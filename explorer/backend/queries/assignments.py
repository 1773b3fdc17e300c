"""What sampling and most probable assignments share: rows to complete, with what the top-down pass reaches."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.backend.evaluation import EvaluatedCircuit
from explorer.backend.layers import ReachedUnits, TorchDiscreteLayer, TorchInputLayer
from explorer.backend.queries.downward import Choice, descend
from explorer.backend.queries.masks import check_evidence, check_root
from explorer.backend.queries.stages import Stage, Stages, StageValues, prepare, stages_of
from explorer.backend.queries.structure import Scopes, require_tractable
from explorer.backend.queries.upward import columns_of, observed_values, require_non_negative
from explorer.backend.semiring import Semiring
from explorer.errors import DataTypeError

Complete = Callable[[Stage, TorchInputLayer, ReachedUnits], Tensor]
"""The values (P, V) of the variables of P units of an input layer."""


@dataclass(frozen=True, eq=False)
class Task:
    """Rows (B, D) of which the entries that are not `observed` (B, D) are to be completed from a root."""

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

    def complete(
        self,
        values: StageValues,
        activations: list[Tensor],
        rows: slice,
        row_of: Tensor,
        choice: Choice,
        complete: Complete,
    ) -> Tensor:
        """The completed rows (S, D) of S draws: draw s completes row `row_of[s]` of the slice of rows.

        Raises: as `descend`; DataTypeError for a layer of several variables some of which are observed.
        """
        observed, found = self.observed[rows], self.rows[rows][row_of]
        for stage, layer, at, draws in descend(
            self.stages, values, activations, self.scopes, self.root, row_of, choice
        ):
            columns = columns_of(layer, found.device)[at.folds]  # (P, V)
            given = observed[at.rows.unsqueeze(1), columns]
            some, missing = given.any(1), ~given.all(1)
            if bool((some & missing).any()):
                raise DataTypeError(
                    f"{type(layer).__name__} has several variables, and a row observes some of them: it cannot be "
                    "completed; observe all or none of them"
                )
            at = ReachedUnits(at.folds[missing], at.rows[missing], at.units[missing])
            drawn = complete(stage, layer, at)
            found[draws[missing].unsqueeze(1), columns[missing]] = drawn.to(found.dtype)
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
