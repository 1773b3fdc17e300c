"""The names of devices, and the reason if CUDA is not available."""

import warnings

import torch

from explorer.bench.machine import processor_name
from explorer.timings import CUDA


def why_no_cuda() -> str | None:
    """Why CUDA cannot be used here; None if it can."""
    if not torch.backends.cuda.is_built():
        return f"this PyTorch ({torch.__version__}) was built without CUDA; install one that was built with it"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available = torch.cuda.is_available()
    if available:
        return None
    messages = [str(warning.message) for warning in caught]
    return f"no CUDA device can be used: {_first_sentence(messages[-1] if messages else _what_init_says())}"


def device_name(device: str) -> str:
    """The model of the processor, or the name of the graphics card."""
    return torch.cuda.get_device_name() if device == CUDA else processor_name()


def _what_init_says() -> str:
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return str(error)
    return f"{torch.cuda.device_count()} devices were found"


def _first_sentence(text: str) -> str:
    return text.strip().splitlines()[0].split(". ")[0].rstrip(".")
