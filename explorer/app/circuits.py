"""The circuit that a command names: one of the gallery, or a circuit file."""

from pathlib import Path

from explorer.errors import UnknownNameError
from explorer.symbolic import Circuit
from explorer.templates import gallery


def load_circuit(name_or_file: str) -> Circuit:
    """The gallery circuit of this name, or else the circuit in this file.

    Raises: UnknownNameError if it is neither; FileFormatError for a file that holds no circuit.
    """
    if name_or_file in gallery.names():
        return gallery.load_named(name_or_file)
    if Path(name_or_file).is_file():
        return Circuit.load(name_or_file)
    raise UnknownNameError(
        f"no circuit {name_or_file!r}: it is no file, and the gallery has {', '.join(gallery.names())}"
    )
