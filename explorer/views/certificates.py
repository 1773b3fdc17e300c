"""The certificate of a backend in words: how many rows of a call it certified."""

from explorer.timings import Timing
from explorer.views.words import plural


def certified_text(timing: Timing | None) -> str:
    """Return how many rows a backend certified: `✓ 256 rows certified`; empty if it certifies none.

    It evaluated all others in double precision, as it does with all rows if there are few. A backend that ran the
    layers of the circuit certified nothing.
    """
    if timing is not None and timing.declined:
        return "ran the layers"
    if timing is None or timing.again is None:
        return ""
    rows = plural(timing.batch_size, "row")
    if not timing.again:
        return f"✓ {rows} certified"
    if timing.again == timing.batch_size:
        return f"{rows} in double precision"
    return f"{timing.batch_size - timing.again:,} of {rows} certified, {timing.again:,} again"
