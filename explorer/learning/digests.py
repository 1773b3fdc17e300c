"""Digests of data, circuits and options, by which two of them are found to be the same."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import torch
from torch import Tensor


def digest_of(value: object) -> str:
    """A digest that is the same for equal values.

    A value is a tensor, or nested mappings, lists and tuples of tensors and of anything with a `repr`.
    """
    found = sha256()
    _add(found, value)
    return found.hexdigest()


def _add(found: Any, value: object) -> None:
    """Add a value to a hash, unambiguously: each part with its type and its length."""
    if isinstance(value, Tensor):
        found.update(f"tensor {value.dtype} {tuple(value.shape)};".encode())
        found.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    elif isinstance(value, Mapping):
        found.update(f"mapping {len(value)};".encode())
        for key, item in value.items():
            _add(found, key)
            _add(found, item)
    elif isinstance(value, list | tuple):
        found.update(f"sequence {len(value)};".encode())
        for item in value:
            _add(found, item)
    else:
        text = repr(value)
        found.update(f"{type(value).__name__} {len(text)};{text}".encode())
