"""The memory and the operators of a run are counted."""

import pytest
import torch

from explorer.bench.usage import StoppedError, measure_usage


def test_usage_counts_the_bytes_alive_at_the_same_time():
    x = torch.zeros(1000)

    def run():
        y = x + 1  # 4,000 bytes
        y = y.view(10, 100) * 2  # a view, and 4,000 more while the sum is still there
        return y.sum()  # 4 bytes, while the product is still there

    usage = measure_usage(run, "cpu")
    assert (usage.peak_bytes, usage.operators) == (8000, 4)


def test_counting_is_cancelled_between_two_operators():
    x, done = torch.zeros(10), []

    def run():
        for _ in range(5):
            done.append(x + 1)

    with pytest.raises(StoppedError):
        measure_usage(run, "cpu", lambda: len(done) == 2)
    assert len(done) == 2
