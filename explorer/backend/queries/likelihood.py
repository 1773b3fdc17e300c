"""Log-likelihood, marginals, conditionals, and the partition function."""

from functools import partial

import torch
from torch import Tensor

from explorer.backend.evaluation import EvaluatedCircuit
from explorer.backend.queries.fold_structure import (
    read_variables,
    require_dependence,
    require_tractable,
    scopes_of,
    variables,
)
from explorer.backend.queries.masks import check_evidence, check_mask, check_possible
from explorer.backend.queries.references import (
    Reference,
    Root,
    are_certain,
    are_far,
    largest_units,
    reference_values,
    references_for,
    relative_leaf,
    require_certain,
    roots_of,
)
from explorer.backend.queries.stages import Stages, StageValues, prepare, stages_of
from explorer.backend.queries.upward import COMPLEX, LeafValue, chunks, density, log_outputs, observed_leaf
from explorer.errors import ScopeError, ValueRangeError


def log_likelihood(circuit: EvaluatedCircuit, x: Tensor) -> Tensor:
    """Return log p(x) in nats, in double precision: the value of the circuit, divided by its partition function.

    Gradients reach the parameters of a `TorchCircuit`. Shapes: x (B, D) -> (B, outputs, classes).
    Raises: StructureError unless the circuit is smooth and decomposable; ValueRangeError where it is negative or
    complex, or its partition function is 0 or infinite; ShapeError, DataTypeError, ValueRangeError for invalid rows.
    """
    stages = stages_of(circuit)
    rows = circuit.check_rows(x)
    require_tractable(stages)
    return density(_log_masses(stages, rows, torch.ones_like(rows, dtype=torch.bool))) - log_partition_of(stages)


def marginal(circuit: EvaluatedCircuit, x: Tensor, observed: Tensor) -> Tensor:
    """Return log p(observed variables of x) in nats, where the other variables are summed or integrated out.

    Entries of x that are not observed are ignored. Gradients reach the parameters of a `TorchCircuit`. Variables that
    no output depends on have no distribution, so none of them may be observed, except in a row where all entries
    are: there they are ignored, as by `log_likelihood`. An output that depends on some of the observed variables has
    the marginal of those.
    Shapes: x (B, D), observed bool (B, D) or (D,) -> (B, outputs, classes).
    Raises: as `log_likelihood`; ScopeError; DataTypeError for an input layer without an integral.
    """
    stages = stages_of(circuit)
    rows, mask = check_evidence(circuit, x, observed)
    scopes = require_tractable(stages)
    unread = mask[~mask.all(1)].any(0)
    unread[read_variables(stages, scopes)] = False
    if bool(unread.any()):
        raise ScopeError(f"no output depends on the variables {unread.nonzero().flatten().tolist()}, observed in x")
    return density(_log_masses(stages, rows, mask)) - log_partition_of(stages)


def conditional(circuit: EvaluatedCircuit, x: Tensor, query: Tensor, evidence: Tensor) -> Tensor:
    """Return log p(query variables | evidence variables) in nats; all other variables are summed or integrated out.

    Evidence of variables that an output does not depend on is ignored: they do not change its distribution.
    Shapes: x (B, D), query and evidence bool (B, D) or (D,) -> (B, outputs, classes).
    Raises: as `log_likelihood`; ScopeError for a query variable that an output does not depend on; ValueRangeError if
    the evidence of a row has probability zero.
    """
    stages = stages_of(circuit)
    rows, given = check_evidence(circuit, x, evidence)
    asked = check_mask("query", query, rows)
    scopes = require_tractable(stages)
    require_dependence(stages, scopes, asked.any(0).nonzero().flatten().tolist(), "which are asked about")
    return log_ratio(stages, rows, given | asked, given)


def log_ratio(stages: Stages, rows: Tensor, joint: Tensor, given: Tensor) -> Tensor:
    """The logarithms (B, outputs, classes) of p(joint) / p(given), two masks (B, D): the first contains the second.

    Raises: as `conditional`, but variables that an output does not depend on are ignored.
    """
    log_evidence = _log_masses(stages, rows, given)
    far = are_far(stages, log_evidence)
    log_evidence = density(_without(far, log_evidence))
    check_possible(log_evidence)
    found = density(_without(far, _log_masses(stages, rows, joint))) - log_evidence
    if bool(far.any()):
        numbers = far.nonzero().flatten()
        part = _far_ratio(stages, rows[numbers], joint[numbers], given[numbers], numbers)
        found = found.index_put((numbers,), part)
    return found


def _without(far: Tensor, logs: Tensor) -> Tensor:
    """The logarithms (B, ...) with 0 in the rows that are far."""
    return torch.where(far.view(-1, *[1] * (logs.dim() - 1)), 0.0, logs) if bool(far.any()) else logs


def _far_ratio(stages: Stages, x: Tensor, joint: Tensor, given: Tensor, numbers: Tensor) -> Tensor:
    """The same for rows that are far, with these numbers (B,): each output has its own references."""
    values, scopes = prepare(stages, COMPLEX), scopes_of(stages)
    found: list[Tensor] = []
    for root in roots_of(stages):
        reference = references_for(stages, (x, given), root, numbers)
        reference = reference.where(given.T, largest_units(stages, values, (x, joint)))

        def log_mass(observed: Tensor, root: Root = root, reference: Reference = reference) -> Tensor:
            logs = log_outputs(stages, lambda one: relative_leaf(stages, one, (x, observed), reference))
            return density(logs[:, *root])

        log_evidence = log_mass(given)
        check_possible(log_evidence, numbers)
        position, fold = stages.outputs[root[0]]
        read = variables(scopes[position][fold])
        log_asked = reference_values(stages, values, (x, joint & ~given), reference)[read].sum(0)
        found.append(log_mass(joint) - log_evidence + log_asked)
        require_certain(stages, values, (x, joint), reference, root, numbers, found[-1])
    return torch.stack(found, 1).unflatten(1, stages.circuit.output_shape)


def partition_function(circuit: EvaluatedCircuit) -> Tensor:
    """Return log Z in nats: the logarithm of the sum or integral of each output over all values of the variables.

    Real; complex for a circuit of the semiring complex-lse-sum, as Z may be negative. Shape: (outputs, classes).
    Raises: StructureError; DataTypeError for an input layer without an integral; ValueRangeError for a negative Z in
    another semiring.
    """
    stages = stages_of(circuit)
    require_tractable(stages)
    found = _log_masses(stages, *check_evidence(circuit, None, None))[0]
    if circuit.semiring.is_complex:
        return found.to(torch.complex128)
    return density(found)


def log_partition_of(stages: Stages) -> Tensor:
    """Log Z (outputs, classes). Raises: ValueRangeError unless it is finite, and near enough to 0 to be subtracted."""
    nothing = check_evidence(stages.circuit, None, None)
    found = density(_log_masses(stages, *nothing))
    if not bool(torch.isfinite(found).all()):
        raise ValueRangeError(
            f"the partition function must be positive and finite; its logarithm is {found[0].tolist()}"
        )
    if bool(are_far(stages, found).any()):
        values = prepare(stages, COMPLEX)
        nowhere = largest_units(stages, values, nothing)
        if not all(bool(are_certain(stages, values, nothing, nowhere, root).all()) for root in roots_of(stages)):
            raise ValueRangeError(
                f"the logarithm of the partition function is {found[0].tolist()}, whose rounding in float64 hides what "
                "is divided by it; give far evidence to the query conditional, not to the operator evidence"
            )
    return found[0]


def _log_masses(stages: Stages, rows: Tensor, observed: Tensor) -> Tensor:
    """Logarithms (B, outputs, classes) of the outputs at the observed variables, the others summed out."""

    def leaf_of(part: slice, values: StageValues) -> LeafValue:
        return observed_leaf(values, rows[part], observed[part])

    found = [log_outputs(stages, partial(leaf_of, part)) for part in chunks(len(rows), stages.activation_bytes)]
    is_complex = any(part.is_complex() for part in found)
    return torch.cat([part.to(torch.complex128) if is_complex else part for part in found])
