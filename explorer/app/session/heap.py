"""The memory of large traces: hidden from the garbage collector while they are open, returned when they are closed.

The collector would otherwise pause a step of a large trace for 0.2 s.
"""

import ctypes
import gc
import sys
from contextlib import suppress
from threading import Lock, Timer

RELEASE_SECONDS = 2.0
"""How long after the end of a session its memory is released: its page and document are gone by then."""
_timers: list[Timer] = []
_lock = Lock()


def settle_heap() -> None:
    """Hide all present objects from later collections, without looking at them: a collection of them is one long pause.

    Call it after opening a trace: a trace of 20,000 layers holds millions of objects, none of which is garbage or in a
    cycle, so they are still freed as soon as they are unused. Garbage in cycles waits for `release_heap`.
    """
    gc.freeze()


def release_heap() -> None:
    """Free closed pages, which have cycles and may be hidden from the collector, and return the memory to the system.

    Objects stay hidden if they were. Only glibc returns memory on request.
    """
    was_frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    gc.collect()
    if was_frozen:
        gc.freeze()
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def release_heap_soon() -> None:
    """Release the heap in a moment, once for all sessions that end until then."""
    with _lock:
        if not any(timer.is_alive() for timer in _timers):
            _timers[:] = [Timer(RELEASE_SECONDS, release_heap)]
            _timers[0].daemon = True
            _timers[0].start()
