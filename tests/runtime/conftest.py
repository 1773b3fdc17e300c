"""Circuits of these tests have parameters of float32, which the native kernels compute with."""

import os
import warnings
from collections.abc import Iterator

import pytest
import torch

from explorer.runtime import backends
from tests.runtime import quick_interpreter

if os.environ.get("TRITON_INTERPRET") == "1":
    quick_interpreter.install()


@pytest.fixture(autouse=True)
def float32() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(autouse=True)
def units_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The torch backend evaluates kernel calls of small circuits too here, not their layers."""
    monkeypatch.setattr(backends, "MIN_NUMBERS", 0)


@pytest.fixture(autouse=os.environ.get("TRITON_INTERPRET") == "1")
def overflow_is_silent() -> Iterator[None]:
    """Some tests want overflow; NumPy warns of it in Triton's interpreter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
