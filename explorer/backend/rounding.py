"""Whether parameters that were computed in double precision may be rounded to single precision."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from explorer.backend.evaluation import LayerValues
from explorer.backend.frozen import MAX_ROUNDING, WELL_CONDITIONED, is_tiny


def loses_digits(rounded: LayerValues, precise: LayerValues) -> bool:
    """Whether rounding has lost digits of parameters that change a result by more than their own rounding error."""
    return any(
        _loses_digits(key, value, precise[node])
        for node, values in rounded.items()
        for key, value in values.items()
        if value.is_floating_point() and value.numel()
    )


def _loses_digits(key: str, rounded: Tensor, precise: Mapping[str, Tensor]) -> bool:
    exact = precise[key]
    if key == "mean" and "stddev" in precise:
        if bool(((rounded - exact).abs() > MAX_ROUNDING * precise["stddev"]).any()):
            return True
    elif key.rpartition(".")[2] not in WELL_CONDITIONED and bool((rounded != exact).any()):
        return True
    low, high = torch.aminmax(rounded.abs())  # one pass shows that all are normal numbers, as most parameters are
    if low >= torch.finfo(rounded.dtype).tiny and high < math.inf:
        return False
    return bool(((is_tiny(rounded) & (exact > 0)) | (rounded.isinf() & ~exact.isinf())).any())
