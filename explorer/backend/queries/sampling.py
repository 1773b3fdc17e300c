"""Samples of a circuit, joint or given evidence for each row."""

from functools import partial

import torch
from torch import Tensor

from explorer.backend.evaluation import EvaluatedCircuit
from explorer.backend.layers import ReachedUnits, TorchInputLayer
from explorer.backend.queries.assignments import task_of
from explorer.backend.queries.downward import draw_terms
from explorer.backend.queries.masks import check_generator, check_possible
from explorer.backend.queries.stages import Stage, StageValues
from explorer.backend.queries.upward import LSE, chunks, evaluate_stages, mixtures, observed_leaf, outputs_of
from explorer.errors import ValueRangeError
from explorer.symbolic.checks import is_integer


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
        leaf = observed_leaf(values, task.rows[rows], task.observed[rows])
        activations = evaluate_stages(task.stages, values, leaf)
        check_possible(mixtures(outputs_of(task.stages, activations)[:, *task.root]))
        count = rows.stop - rows.start
        for draws in chunks(num_samples, 8 * count * (task.stages.num_folds + num_columns)):
            row_of = torch.arange(count, device=found.device).repeat(draws.stop - draws.start)
            part = task.complete(values, activations, rows, row_of, choice, draw)
            found[draws, rows] = part.reshape(draws.stop - draws.start, count, num_columns)
    return found.squeeze(1) if x is None else found


def _draw(
    values: StageValues, generator: torch.Generator, stage: Stage, layer: TorchInputLayer, at: ReachedUnits
) -> Tensor:
    return layer.sample(values.input_semiring, values.prepared[stage.id], at, generator)
