"""Loads what a command names: a circuit of the gallery, or a file, whose `format` field tells circuits from traces."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from explorer.errors import FileFormatError, UnknownNameError
from explorer.files import read_json
from explorer.symbolic import CIRCUIT_FORMAT, Circuit, circuit_from_json
from explorer.templates import gallery
from explorer.trace import TRACE_FORMAT, Trace, trace_from_json


def load_circuit(name_or_file: str) -> Circuit:
    """Return the gallery circuit of this name, or else the circuit in this file.

    Raises: UnknownNameError if it is neither; FileFormatError for a file without a circuit.
    """
    found = load_circuit_or_trace(name_or_file)
    if isinstance(found, Trace):
        raise FileFormatError(f"{name_or_file} holds a trace; expected a circuit")
    return found


def load_circuit_or_trace(name_or_file: str) -> Circuit | Trace:
    """Return the gallery circuit of this name, or else the circuit or trace in this file, whatever its name.

    Raises: UnknownNameError if it is neither; FileFormatError for a file that holds neither.
    """
    if name_or_file in gallery.names():
        return gallery.load_named(name_or_file)
    if Path(name_or_file).is_file():
        return circuit_or_trace(read_json(name_or_file, "circuit or trace"), name_or_file)
    raise UnknownNameError(
        f"no circuit {name_or_file!r}: it is not a file, and the gallery has {', '.join(gallery.names())}"
    )


def circuit_or_trace(data: Mapping[str, Any], where: str) -> Circuit | Trace:
    """The circuit or trace of such data. Raises: FileFormatError, also for data of another format."""
    found = data.get("format")
    if found == TRACE_FORMAT:
        return trace_from_json(data, where)
    if found == CIRCUIT_FORMAT:
        return circuit_from_json(data, where)
    raise FileFormatError(f"{where}: expected format {CIRCUIT_FORMAT!r} or {TRACE_FORMAT!r}, found {found!r}")
