"""How Triton kernels are launched, whatever the defaults of the installed release of Triton are."""

from collections.abc import Callable
from functools import partial
from typing import Any


def launcher(kernel: Any, grid: tuple[int, ...]) -> Callable[..., object]:
    """The function that launches a kernel for a grid of programs.

    Kernels multiply and add in one instruction: without it, which is the default from Triton 3.10 on, matrix products
    take twice as long.
    """
    return partial(kernel[grid], enable_fp_fusion=True)
