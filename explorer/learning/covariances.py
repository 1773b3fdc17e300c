"""Covariances of joint normal densities: shrunk estimates, and their form as slopes and standard deviations."""

import torch
from torch import Tensor

from explorer.errors import LearningError

RELATIVE_FLOOR = 1e-10
"""Added to variances relative to their size, so that rounding does not make a covariance indefinite."""


def shrink(rows: Tensor, scatter: Tensor, pooled_rows: float, shrinkage: float, floor: float) -> Tensor:
    """The covariances (..., O, V, V) of units from their numbers of rows (..., O) and sums of squares (..., O, V, V).

    Each is averaged with the mean covariance of all units, which counts as `pooled_rows` rows; covariances of two
    variables are then decreased by the share `shrinkage`, and `floor`^2 is added to variances.
    """
    pooled = scatter.sum(-3) / rows.sum(-1).clamp(min=1e-12)[..., None, None]
    total = (rows + pooled_rows).clamp(min=1e-12)[..., None, None]
    found = (scatter + pooled_rows * pooled.unsqueeze(-3)) / total
    variance = found.diagonal(dim1=-2, dim2=-1).clamp(min=0.0)
    return (1 - shrinkage) * found + torch.diag_embed((shrinkage + RELATIVE_FLOOR) * variance + floor**2)


def cholesky(covariance: Tensor) -> Tensor:
    """The Cholesky factors (..., V, V). Raises: LearningError for a covariance that is not positive definite."""
    factor, failed = torch.linalg.cholesky_ex(covariance)
    if bool(failed.any()):
        raise LearningError(
            "a covariance is not positive definite: columns are equal up to rounding, or not on one scale; raise "
            "stddev_floor, leave one of such columns out, or standardize them"
        )
    return factor


def linear_form(covariance: Tensor) -> tuple[Tensor, Tensor]:
    """The standard deviations (..., V) and slopes (..., V, V) of `MultivariateGaussianLayer` with these covariances.

    With the Cholesky factor L = U diag(stddev), the slopes are 1 - U^-1. Raises: as `cholesky`.
    """
    factor = cholesky(covariance)
    stddev = factor.diagonal(dim1=-2, dim2=-1)
    one = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    unit = factor / stddev.unsqueeze(-2)
    inverse = torch.linalg.solve_triangular(unit, one.expand_as(unit), upper=False, unitriangular=True)
    return stddev, (one - inverse).tril(-1)
