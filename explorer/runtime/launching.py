"""How Triton kernels are launched, whatever the defaults of this release of Triton are."""

from collections.abc import Callable
from functools import partial
from typing import Any


def start(kernel: Any, grid: tuple[int, ...]) -> Callable[..., object]:
    """The function that starts a kernel for a grid of programs.

    It multiplies and adds in one step: releases that do not by default take twice as long for matrix products.
    """
    return partial(kernel[grid], enable_fp_fusion=True)
