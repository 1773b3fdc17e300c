"""Circuits of these tests have parameters of float32, which the native kernels compute with."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def float32() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(before)
