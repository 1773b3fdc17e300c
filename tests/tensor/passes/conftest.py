"""Fixtures of the tests of passes."""

import pytest
import torch


@pytest.fixture(
    params=[pytest.param(torch.float32, id="f32", marks=pytest.mark.fuzz), pytest.param(torch.float64, id="f64")]
)
def dtype(request):
    """Passes treat both alike. Doubles show constants made with the default dtype, so `make fuzz` runs the others."""
    return request.param
