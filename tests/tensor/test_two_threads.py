"""Two readers may look at the tensor level at once: what PyTorch keeps for the process is used by one at a time."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

import explorer
from explorer.rewrite import FunctionPassPipeline


def record(seed: int) -> list[int]:
    """Operators after each step of a small model; the sizes differ, so that nothing is remembered from another one."""
    sizes = 3 + seed % 5, 4 + seed // 5
    module = nn.Sequential(nn.Linear(*sizes), nn.ReLU(), nn.ReLU(), nn.Linear(sizes[1], 2)).eval()
    trace = explorer.record(module, (torch.randn(2, sizes[0]),), FunctionPassPipeline.of("OptimizeClips"))
    return [trace.stats(step)["operators"] for step in range(len(trace.steps))]


def test_threads_record_concurrently():
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(record, range(8)))
    assert found == [[4, 3]] * 8
