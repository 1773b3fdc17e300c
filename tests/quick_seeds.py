"""Lets `torch.manual_seed` skip the kinds of devices that are missing: for each it formats the stack, 2 ms per test."""

import sys
from typing import Any

KINDS = ("torch.cuda", "torch.xpu", "torch.mtia")


def install() -> None:
    """Patch the modules of the missing devices if they are loaded."""
    for kind in KINDS:
        device: Any = sys.modules.get(kind)
        if getattr(device, "manual_seed_all", _no_device) is not _no_device and not device.is_available():
            device.manual_seed_all = _no_device


def _no_device(seed: int) -> None:
    """There is nothing to seed."""
