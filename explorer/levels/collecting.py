"""Pausing Python's garbage collector while a compiler creates many objects."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

MANY_OBJECTS = 20_000
"""The number of new objects from which a young collection takes longer than 2 ms."""


@contextmanager
def pause_garbage_collection(*, makes_no_cycles: bool = False) -> Generator[None]:
    """Pause the garbage collector while many small objects are created and none is dropped.

    If they form no cycles, they count as old afterwards, so that the next young collection does not search all of them
    (which takes no time for few objects).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    num_before, *_ = gc.get_count()
    try:
        yield
    finally:
        if was_enabled:
            many = gc.get_count()[0] - num_before > MANY_OBJECTS
            # Objects that the user froze stay frozen. Counting them is a walk over all of them: 50 ms for a million.
            if makes_no_cycles and many and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
