"""Running operators on fake tensors, which have shapes and no numbers, and exporting modules: one thread at a time.

PyTorch keeps global state during either, and two users of the dashboard may request both at once.
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
"""Logs the traceback of each operator that PyTorch refuses."""


@contextmanager
def on_fakes() -> Iterator[None]:
    """Create fake tensors inside; refused operators are not logged, because the error has the reason."""
    with exclusively():
        LOGGER.addFilter(_no_record)
        try:
            with _mode(), torch.no_grad():
                yield
        finally:
            LOGGER.removeFilter(_no_record)


@contextmanager
def exclusively() -> Iterator[None]:
    """Exclude other threads from this and from `on_fakes`."""
    with _ONE_AT_A_TIME:
        yield


@cache
def _mode() -> FakeTensorMode:
    """Created on demand, because it imports much of PyTorch."""
    return FakeTensorMode(allow_non_fake_inputs=False)


def _no_record(record: logging.LogRecord) -> bool:
    del record
    return False
