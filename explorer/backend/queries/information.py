"""Entropy of a circuit, and divergence of two: by enumeration of few assignments, or along deterministic units."""

from collections.abc import Mapping, Sequence
from itertools import product

import torch
from torch import Tensor

from explorer.backend.evaluation import EvaluatedCircuit
from explorer.backend.layers import TorchDiscreteLayer, TorchInnerLayer, TorchInputLayer
from explorer.backend.queries.fold_structure import all_units, deterministic, require_tractable, variables
from explorer.backend.queries.likelihood import log_likelihood, log_partition_of
from explorer.backend.queries.masks import check_evidence
from explorer.backend.queries.stages import Stages, StageValues, prepare, stages_of
from explorer.backend.queries.upward import (
    LSE,
    evaluate_stages,
    inputs_of,
    mixtures,
    observed_leaf,
    require_non_negative,
)
from explorer.errors import ScopeError, StructureError, ValueRangeError

MAX_ASSIGNMENTS = 2**16
"""Maximum number of assignments that are enumerated, for any structure."""
MAX_NAMED = 8
"""Maximum number of variables that an error names."""


@torch.no_grad()
def entropy(circuit: EvaluatedCircuit) -> Tensor:
    """Return -E[log p(X)] in nats, of each output: (outputs, classes); a differential entropy if a variable is real.

    Tractable if there are few assignments, which are enumerated, or if the circuit is deterministic: then the logarithm
    of a unit is its only term's. See Vergari et al. 2021, A Compositional Atlas of Tractable Circuit Operations.
    Raises: StructureError with the unit that may have several terms above zero; as `log_likelihood`.
    """
    return _cross_entropy(circuit, circuit)


@torch.no_grad()
def divergence(p: EvaluatedCircuit, q: EvaluatedCircuit) -> Tensor:
    """Return KL(p || q) = E_p[log p(X) - log q(X)] in nats, of each output: (outputs, classes); infinite where q is 0.

    Tractable if there are few assignments, or if both circuits are deterministic and have the same layers, as two
    settings of the parameters of one circuit do.
    Raises: ScopeError if they have different variables, or variables with other values; StructureError if it is not
    tractable; as `log_likelihood`.
    """
    return (_cross_entropy(p, q) - _cross_entropy(p, p)).clamp(min=0.0)  # rounding can make it negative


def _cross_entropy(p: EvaluatedCircuit, q: EvaluatedCircuit) -> Tensor:
    """-E_p[log q(X)] (outputs, classes)."""
    pair = stages_of(p), stages_of(q)
    scopes = [require_tractable(stages) for stages in pair]
    own, other = ([s[position][fold] for position, fold in t.outputs] for s, t in zip(scopes, pair, strict=True))
    if own != other or pair[0].circuit.output_shape != pair[1].circuit.output_shape:
        raise ScopeError("the divergence is that of circuits with the same number of outputs, classes and variables")
    sizes, others = map(_num_values, pair)
    _require_equal_values(sizes, others)
    counts = [_count(sizes, variables(scope)) for scope in own]
    if all(count is not None and count <= MAX_ASSIGNMENTS for count in counts):
        return torch.stack([_enumerated(p, q, output, sizes, variables(scope)) for output, scope in enumerate(own)])
    why = (
        "some variables are real, so that assignments cannot be enumerated"
        if None in counts
        else f"it has more than {MAX_ASSIGNMENTS:,} assignments, too many to enumerate"
    )
    return _along_terms(*pair, why)


def _num_values(stages: Stages) -> dict[int, int | None]:
    """The number of values of each variable; None if it is real, or if its layers differ."""
    found: dict[int, int | None] = {}
    for stage in stages.stages:
        layer = stage.layer
        for scope in layer.scope_idx if isinstance(layer, TorchInputLayer) else ():
            count = layer.num_values if isinstance(layer, TorchDiscreteLayer) else None
            for v in scope:
                found[v] = count if found.get(v, count) == count else None
    return found


def _require_equal_values(sizes: Mapping[int, int | None], others: Mapping[int, int | None]) -> None:
    """Raises: ScopeError, which names the variables that have other values in the second circuit."""
    words = [f"x{v} ({_values(sizes[v])} and {_values(others[v])})" for v in sorted(sizes) if sizes[v] != others.get(v)]
    if words:
        more = f" and {len(words) - MAX_NAMED} more" if len(words) > MAX_NAMED else ""
        raise ScopeError(
            "the divergence is that of circuits whose variables have the same values; those of "
            f"{', '.join(words[:MAX_NAMED])}{more} differ"
        )


def _values(count: int | None) -> str:
    return "real numbers" if count is None else f"{count} values"


def _count(sizes: dict[int, int | None], scope: Sequence[int]) -> int | None:
    total = 1
    for v in scope:
        size = sizes[v]
        if size is None:
            return None
        total *= size
    return total


def _enumerated(
    p: EvaluatedCircuit, q: EvaluatedCircuit, output: int, sizes: dict[int, int | None], scope: Sequence[int]
) -> Tensor:
    """-sum_x p(x) log q(x) (classes,) over all assignments of the variables of an output."""
    assignments = torch.tensor(list(product(*(range(sizes[v] or 0) for v in scope))), dtype=torch.long)
    device = check_evidence(p, None, None)[0].device
    rows = torch.zeros((len(assignments), p.num_variables), dtype=torch.long, device=device)
    rows[:, list(scope)] = assignments.to(device)
    log_p, log_q = (log_likelihood(circuit, rows)[:, output] for circuit in (p, q))
    return -torch.where(log_p == -torch.inf, 0.0, log_p.exp() * log_q).sum(0)


def _along_terms(p: Stages, q: Stages, why: str) -> Tensor:
    """The same for deterministic circuits of one structure: the sum over the terms of each unit, bottom-up.

    Raises: StructureError for circuits that are not deterministic, and `why` they need to be.
    """
    _require_equal_structure(p, q)
    prepared = [prepare(stages, LSE) for stages in (p, q)]
    masses: list[list[Tensor]] = []
    for stages, values in zip((p, q), prepared, strict=True):
        require_non_negative(stages, values)
        leaf = observed_leaf(values, *check_evidence(stages.circuit, None, None))
        masses.append([mixtures(value) for value in evaluate_stages(stages, values, leaf)])
        log_partition_of(stages)
        verdict = deterministic(stages, values, masses[-1])
        if not verdict:
            raise StructureError(
                f"the entropy is not known to be tractable: {why}, and the circuit is not known to be deterministic "
                f"({verdict.reason})"
            )
    found: list[Tensor] = []
    for position in range(len(p.stages)):
        found.append(_unit_values(position, (p, q), prepared, masses, found))
    result = torch.stack([found[position][fold] for position, fold in p.outputs])
    if not bool(torch.isfinite(result).all()):
        raise ValueRangeError("a term that one circuit uses is zero in the other: the divergence may be infinite")
    return result


def _unit_values(
    position: int,
    pair: Sequence[Stages],
    prepared: Sequence[StageValues],
    masses: Sequence[Sequence[Tensor]],
    below: Sequence[Tensor],
) -> Tensor:
    """-E[log q_u] (F, O) for each unit u of a stage, under the normalized unit of p; q_u is normalized too."""
    stage, layer = pair[0].stages[position], pair[0].stages[position].layer
    parameters = [values.prepared[own.stages[position].id] for own, values in zip(pair, prepared, strict=True)]
    if isinstance(layer, TorchInputLayer):
        mass = masses[1][position].squeeze(1)
        if not layer.num_variables:
            return torch.zeros_like(mass)
        return layer.cross_entropy(prepared[0].input_semiring, *parameters) + mass
    assert isinstance(layer, TorchInnerLayer)
    inputs = [inputs_of(own, position, values) for own, values in zip(pair, masses, strict=True)]
    rows: list[Tensor] = []
    for fold in range(layer.num_folds):
        at = all_units(layer, fold, inputs[0].device)
        logs = [layer.log_terms(x, at, own) for x, own in zip(inputs, parameters, strict=True)]
        total = torch.zeros_like(at.units, dtype=torch.float64)
        shares, log_shares = torch.softmax(logs[0], 1), torch.log_softmax(logs[1], 1)
        for term in range(logs[0].shape[1]):
            units = layer.term_inputs(at, torch.full_like(at.units, term))
            value = -log_shares[:, term]
            for h, (source, slice_idx) in enumerate(zip(stage.sources[fold], stage.slices[fold], strict=True)):
                read = units[:, h]
                value = value + torch.where(read >= 0, below[source][slice_idx, read.clamp(min=0)], 0.0)
            is_used = logs[0][:, term] > -torch.inf
            total = total + torch.where(is_used, shares[:, term] * value, 0.0)
        rows.append(total)
    return torch.stack(rows)


def _require_equal_structure(p: Stages, q: Stages) -> None:
    """Raises: StructureError unless the two have the same layers, in the same order and with the same inputs."""

    def form(stages: Stages) -> list[object]:
        found: list[object] = []
        for stage in stages.stages:
            layer = stage.layer
            scope = layer.scope_idx if isinstance(layer, TorchInputLayer) else ()
            tables = stage.sources.tolist(), stage.slices.tolist()
            found.append((type(layer), layer.num_folds, layer.num_output_units, scope, *tables))
        return found

    if p.circuit.semiring != q.circuit.semiring or form(p) != form(q):
        raise StructureError(
            f"a divergence of circuits with more than {MAX_ASSIGNMENTS:,} assignments is tractable only if they have "
            "the same layers: compile one symbolic circuit twice, in the same mode"
        )
