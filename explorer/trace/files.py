"""Trace files: JSON, version 2, gzip by extension.

The table `nodes` contains every node once, and `parameters` every form of parameter graph once. A step contains only
its changes: removed ids, added ids with their index in the table, ids whose inputs changed. Times are stored apart, so
that files without them are equal for equal runs. Unknown fields are ignored; a newer version is refused.
"""

from pathlib import Path

from explorer.files import read_json, write_json
from explorer.trace.file_format import TRACE_FORMAT
from explorer.trace.reading import trace_from_json
from explorer.trace.trace import Trace
from explorer.trace.writing import trace_to_json


def save_trace(trace: Trace, path: "str | Path", times: bool = True) -> None:
    """Write a trace file."""
    write_json(trace_to_json(trace, times), path)


def load_trace(path: "str | Path") -> Trace:
    """Read a trace file. Raises: FileFormatError."""
    return trace_from_json(read_json(path, TRACE_FORMAT), str(path))
