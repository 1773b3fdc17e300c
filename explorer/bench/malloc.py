"""glibc's malloc, told to keep freed memory: otherwise times measure page faults, and more so when jobs take turns.

By default a freed block above a moving threshold goes back to the system, and the next one of that size is mapped and
zeroed page by page; that makes a training step up to twice as slow, and taking turns moves the threshold. A thread
besides the main one gets a heap of its own, which goes back to the system whatever is asked for; so all share one.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -4, -8
"""Names of options in glibc's malloc.h."""
KEEP_BYTES = 2**31 - 1


def keep_freed_memory() -> str:
    """Tell malloc, for this process from now on, to keep freed memory; says in words what holds."""
    if not sys.platform.startswith("linux"):
        return "malloc as the platform has it"
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return "malloc as the platform has it"
    settings = ((M_ARENA_MAX, 1), (M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, KEEP_BYTES), (M_TOP_PAD, 64 * 2**20))
    done = all(mallopt(option, value) == 1 for option, value in settings)
    return "malloc keeps freed memory, for all sides" if done else "malloc as the platform has it"
