"""Running operators on fake tensors, which have shapes and no numbers, and exporting modules: one thread at a time.

What PyTorch keeps while it does either belongs to the process. Two readers of the dashboard may ask for both at once.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

_ONE_AT_A_TIME = RLock()
LOGGER = logging.getLogger(FakeTensorMode.__module__)
"""Where PyTorch writes the traceback of each operator that it refuses."""


@contextmanager
def on_fakes() -> Iterator[None]:
    """Tensors made inside are fake, and nothing is written of what PyTorch refuses: the error has its reason."""
    with exclusively():
        LOGGER.addFilter(_no_record)
        try:
            with _mode(), torch.no_grad():
                yield
        finally:
            LOGGER.removeFilter(_no_record)


@contextmanager
def exclusively() -> Iterator[None]:
    """No other thread is inside this or of `on_fakes`."""
    with _ONE_AT_A_TIME:
        yield


@cache
def _mode() -> FakeTensorMode:
    """Made when it is needed: it imports much of PyTorch."""
    return FakeTensorMode(allow_non_fake_inputs=False)


def _no_record(record: logging.LogRecord) -> bool:
    del record
    return False
