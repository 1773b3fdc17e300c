"""Fixtures of the tests of passes."""

import pytest
import torch


@pytest.fixture(params=[torch.float32, torch.float64], ids=["f32", "f64"])
def dtype(request):
    return request.param
