"""The adapters of other compilers, by name: installed packages announce theirs as entry points."""

from importlib.metadata import EntryPoint, entry_points

from explorer.errors import CircuitError, DataTypeError, look_up
from explorer.trace import Trace

GROUP = "circuit_explorer.adapters"
"""The group of entry points. Each is a function from a source, a path or other text, to a trace."""


def find_adapters() -> dict[str, EntryPoint]:
    """The adapters that installed packages announce, by name."""
    return {one.name: one for one in sorted(entry_points(group=GROUP))}


def watch_by(name: str, source: str) -> Trace:
    """The trace that the adapter with this name makes of a source.

    Raises: UnknownNameError; CircuitError if the adapter cannot be imported or fails; DataTypeError if it returns no
    trace.
    """
    entry = look_up("adapter", name, find_adapters())
    try:
        trace = entry.load()(source)
    except CircuitError:
        raise
    except Exception as error:
        raise CircuitError(f"the adapter {name} ({entry.value}) failed: {type(error).__name__}: {error}") from error
    if not isinstance(trace, Trace):
        raise DataTypeError(f"expected a trace from the adapter {name} ({entry.value}), got {type(trace).__name__}")
    return trace
