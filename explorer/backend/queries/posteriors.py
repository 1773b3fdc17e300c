"""Expectations of all variables at once, by the posterior probabilities of the units of input layers.

The derivative of the logarithm of an output by that of a unit is the probability that the unit is reached: one backward
pass computes them all. See Darwiche 2003, A Differential Approach to Inference in Bayesian Networks.
"""

import torch
from torch import Tensor

from explorer.backend.layers import LeafFunction, TorchInputLayer, apply
from explorer.backend.queries.masks import check_possible
from explorer.backend.queries.stages import Stage, Stages, StageValues, prepare
from explorer.backend.queries.upward import LSE, chunks, columns_of, evaluate_stages, observed_leaf, outputs_of
from explorer.backend.semiring import real_log
from explorer.errors import DataTypeError


def posterior_expectations(stages: Stages, function: LeafFunction, rows: Tensor, mask: Tensor) -> Tensor | None:
    """E[function(X_v)] (B, outputs, classes, D) of each variable given the evidence; None if a unit is negative.

    Raises: ValueRangeError for evidence of probability zero; DataTypeError for a layer without such an expectation.
    """
    with torch.inference_mode(False), torch.no_grad():
        values = prepare(stages, LSE)
        found = torch.zeros(
            (len(rows), *stages.circuit.output_shape, rows.shape[1]), dtype=torch.float64, device=rows.device
        )
        for part in chunks(len(rows), 3 * stages.activation_bytes):
            known = _add_expectations(stages, values, function, (rows[part], mask[part]), found[part])
            if not known:
                return None
        point = torch.where(mask, rows, 0).double()
        return torch.where(mask[:, None, None], apply(function, point)[:, None, None], found)


def _add_expectations(
    stages: Stages, values: StageValues, function: LeafFunction, evidence: tuple[Tensor, Tensor], found: Tensor
) -> bool:
    """Add the expectations of unobserved variables to `found` (B, outputs, classes, D); False if a unit is negative."""
    leaves: list[tuple[Stage, TorchInputLayer, Tensor]] = []
    given = observed_leaf(values, *evidence)

    def leaf(stage: Stage, layer: TorchInputLayer) -> Tensor:
        with torch.no_grad():
            value = given(stage, layer).clone()
        leaves.append((stage, layer, value.requires_grad_()))
        return value

    with torch.enable_grad():
        outputs = real_log(outputs_of(stages, evaluate_stages(stages, values, leaf)))
    if bool(torch.isnan(outputs).any()):
        return False
    check_possible(outputs)
    used = [one for one in leaves if one[1].num_variables and not _is_observed(one[1], evidence[1])]
    ratios = [_ratio(stage, layer, values, function) for stage, layer, _ in used]
    for output in range(outputs.shape[1] if used else 0):
        for number in range(outputs.shape[2]):
            with torch.enable_grad():
                total = outputs[:, output, number].sum()
            shares = torch.autograd.grad(total, [v for _, _, v in used], retain_graph=True, allow_unused=True)
            for (_, layer, _), ratio, share in zip(used, ratios, shares, strict=True):
                if share is not None:
                    mean = torch.where(share == 0, 0.0, share * ratio).sum(2)  # (F, B)
                    columns = columns_of(layer, mean.device)[:, 0]
                    found[:, output, number].index_add_(1, columns, mean.T)
    return True


def _is_observed(layer: TorchInputLayer, mask: Tensor) -> bool:
    """Whether every row observes all variables of a layer."""
    return bool(mask[:, columns_of(layer, mask.device)].all())


def _ratio(stage: Stage, layer: TorchInputLayer, values: StageValues, function: LeafFunction) -> Tensor:
    """The expectation (F, 1, O) of the function under each normalized unit; NaN for a unit that is zero."""
    if layer.num_variables > 1:
        raise DataTypeError(f"{type(layer).__name__} has several variables: no known expectation of functions")
    own = values.prepared[stage.id]
    log_mass = values.input_semiring.to_log(layer.integral(values.input_semiring, own))
    return (layer.expectation(values.input_semiring, own, function) - log_mass).exp().real
