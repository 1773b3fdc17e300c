"""Small programs that are compiled in the tests of the adapters, and where their functions are built."""

import os
import shutil
from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch._inductor import config

from tests.needed import is_missing


def folder_of_inductor(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One folder for all workers: a precompiled header takes eight seconds, and whoever needs it waits for its lock."""
    base = tmp_path_factory.getbasetemp()
    return str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "inductor")


@pytest.fixture(scope="module", autouse=True)
def built_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Functions are built in a folder of the tests, once, and without a pool of processes that would outlive them."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        is_missing("a C++ compiler", "apt-get install g++ (or set CXX to one)")
    with pytest.MonkeyPatch.context() as patch, config.patch(compile_threads=1):
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", folder_of_inductor(tmp_path_factory))
        yield


class Head(nn.Module):
    """Two linear layers with a layer norm, a GELU and a softmax: two kernels between two library calls."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(32, 64)
        self.norm = nn.LayerNorm(64)
        self.down = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = nn.functional.gelu(self.norm(self.up(x)))
        return self.down(hidden).softmax(-1)


def head() -> tuple[Head, torch.Tensor]:
    """The module in evaluation mode, and an input (8, 32)."""
    torch.manual_seed(0)
    return Head().eval(), torch.randn(8, 32)
