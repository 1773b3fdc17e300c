"""Makes glibc's malloc keep freed memory; otherwise times include page faults, more so when jobs are interleaved.

By default a freed block above a moving threshold is returned to the system, and the next one of that size is mapped and
zeroed page by page; that makes a training step up to twice as slow, and interleaving moves the threshold. Threads
other than the main one have their own heaps, which are returned regardless of the options; so all threads share one.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -4, -8
"""Names of options in glibc's malloc.h."""
KEEP_BYTES = 2**31 - 1


def keep_freed_memory() -> str:
    """Make malloc keep freed memory from now on in this process; returns a description of the setting."""
    if not sys.platform.startswith("linux"):
        return "default malloc"
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return "default malloc"
    settings = ((M_ARENA_MAX, 1), (M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, KEEP_BYTES), (M_TOP_PAD, 64 * 2**20))
    done = all(mallopt(option, value) == 1 for option, value in settings)
    return "malloc keeps freed memory, for all sides" if done else "default malloc"
