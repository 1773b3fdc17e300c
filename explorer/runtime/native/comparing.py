"""Parameters compared with copies by the threads of torch: on one, that is up to a third of the time of a call."""

import ctypes
from collections.abc import Sequence
from ctypes import c_int64, c_void_p

import torch
from torch import Tensor

from explorer.runtime.native.library import load_library
from explorer.runtime.native.structures import NativeComparisonCall
from explorer.runtime.native.threads import call_in_threads
from explorer.runtime.snapshots import Bytes, contiguous_like, have_bytes

THREAD_BYTES = 1 << 19
"""A thread for fewer bytes costs more than it saves."""


def have_bytes_by_threads(tensors: Sequence[Tensor], copies: Sequence[Bytes]) -> bool:
    """As `have_bytes`, by several threads if there are many bytes."""
    threads = min(torch.get_num_threads(), sum([copy.num_bytes for copy in copies]) // THREAD_BYTES)
    if threads < 2:
        return have_bytes(tensors, copies)
    found = [contiguous_like(one, copy) for one, copy in zip(tensors, copies, strict=True)]
    given = [one for one in found if one is not None]
    if len(given) < len(copies):
        return False
    pieces = (c_void_p * len(copies))(*[one.data_ptr() for one in given])
    others = (c_void_p * len(copies))(*[copy.address for copy in copies])
    sizes = (c_int64 * len(copies))(*[copy.num_bytes for copy in copies])
    call = NativeComparisonCall(
        pieces=ctypes.addressof(pieces),
        copies=ctypes.addressof(others),
        sizes=ctypes.addressof(sizes),
        num_pieces=len(copies),
        num_parts=threads,
    )
    call.kept = (given, pieces, others, sizes)  # threads may outlive an interrupted call
    call_in_threads(load_library().compare_parts, call, threads)
    return call.done == threads and not call.differs
