"""Lists and opens circuits and traces: of the gallery, of one folder, and uploaded ones.

Names are looked up in the listing: a name that comes from a browser is never used as a path.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

from explorer.app.circuits import CHECKPOINT, circuit_or_trace, is_checkpoint, is_logic_file
from explorer.app.training.checkpoint import Checkpoint
from explorer.errors import FileFormatError, ValueRangeError, unknown_name
from explorer.learning.tables import Column
from explorer.symbolic import Circuit, circuit_from_json
from explorer.templates import gallery
from explorer.templates.logic import LOGIC_SUFFIXES, build_circuit, logic_of_bytes
from explorer.trace import Trace

MAX_UPLOAD_BYTES = 20 * 2**20
MAX_UNPACKED_UPLOAD_BYTES = 64 * 2**20
MAX_PARAMETERS = 200_000_000
MAX_UNITS, MAX_VARIABLES = 1_000_000, 100_000
"""Bounds on circuits from files and uploads: numbers in their parameters, units in a layer, variables."""
UPLOAD = " (upload)"
"""The suffix of an upload if its name is already taken."""
ENDINGS = (
    *(".trace.json", ".trace.json.gz", ".circuit.json", ".circuit.json.gz", ".json", ".json.gz"),
    *LOGIC_SUFFIXES,
    CHECKPOINT,
)

Item = Circuit | Trace


@dataclass(eq=False)
class Library:
    """The circuits of the gallery, and the traces, circuits and checkpoints of `folder` and `files` by file name.

    `built` are those that functions of the user have returned, as FILE.py:FUNCTION.
    """

    folder: Path | None = None
    files: tuple[Path, ...] = ()
    built: Mapping[str, Item] = field(default_factory=dict[str, Item])
    uploads: dict[str, Item] = field(default_factory=dict[str, Item])
    _columns: dict[str, tuple[Column, ...]] = field(default_factory=dict[str, tuple[Column, ...]])

    def names(self) -> tuple[str, ...]:
        """All names that can be opened, in the order in which they are offered."""
        return (*gallery.names(), *self.built, *self._paths(), *self.uploads)

    def describe(self, name: str) -> str:
        """Describe the entry of a name in a sentence."""
        if name in gallery.names():
            return gallery.describe(name)
        if name in self.built:
            return f"what {name} returned"
        return "an upload of this session" if name in self.uploads else f"the file {name}"

    def open(self, name: str) -> Item:
        """Return the circuit or trace of a name. Raises: UnknownNameError, FileFormatError."""
        if name in self.uploads:
            return self.uploads[name]
        if name in gallery.names():
            return gallery.load_named(name)
        if name in self.built:
            return self.built[name]
        path = self._paths().get(name)
        if path is None:
            raise unknown_name("circuit or trace", name, self.names())
        if is_checkpoint(path):
            checkpoint = Checkpoint.load(path)
            self._columns[name] = checkpoint.columns
            return checkpoint.trained_circuit()
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise FileFormatError(f"cannot read {name}: {error.strerror}") from error
        return item_of_bytes(raw, name)

    def upload(self, name: str, raw: bytes) -> str:
        """Keep an upload for this session only; returns the name under which it can be opened.

        Raises: FileFormatError if it is foreign or broken; ValueRangeError if it is too large.
        """
        if len(raw) > MAX_UPLOAD_BYTES:
            raise ValueRangeError(
                f"{name} has {len(raw) / 2**20:.0f} MB; at most {MAX_UPLOAD_BYTES // 2**20} MB can be uploaded: "
                "start the explorer with the file's name instead"
            )
        checkpoint = checkpoint_of_bytes(raw, name) if is_checkpoint(name) else None
        item = item_of_bytes(raw, name) if checkpoint is None else checkpoint.trained_circuit()
        free = name if name not in (*gallery.names(), *self.built, *self._paths()) else name + UPLOAD
        self.uploads[free] = item
        self._columns[free] = () if checkpoint is None else checkpoint.columns
        return free

    def columns(self, name: str) -> tuple[Column, ...]:
        """The columns of the table that the circuit of a name was trained on, once it was opened; otherwise none."""
        return self._columns.get(name, ())

    def is_trace(self, name: str) -> bool:
        """Whether the entry of a name is a trace. Raises: as `open`."""
        if name in gallery.names():
            return False
        return isinstance(self.open(name), Trace)

    def file_name(self, name: str) -> str:
        """The path of the file behind a name."""
        path = self._paths().get(name)
        return name.removesuffix(UPLOAD) if path is None else str(path)

    def _paths(self) -> Mapping[str, Path]:
        found = {path.name: path for path in self.files}
        if self.folder is not None and self.folder.is_dir():
            for path in sorted(self.folder.iterdir()):
                if path.name.endswith(ENDINGS) and path.is_file() and path.resolve().parent == self.folder.resolve():
                    found.setdefault(path.name, path)
        return found


def item_of_bytes(raw: bytes, where: str) -> Item:
    """Read a circuit, trace or logic file. Raises: FileFormatError; ValueRangeError for a circuit that is too large."""
    if is_logic_file(where):
        item = build_circuit(logic_of_bytes(raw, where), assume_deterministic=True)  # to look at, whatever it is
    else:
        item = circuit_or_trace(raw, where, MAX_UNPACKED_UPLOAD_BYTES)
    if isinstance(item, Circuit):
        _check_size(item, where)
    else:
        _check_circuit_size(item.circuit_json, where)
    return item


def checkpoint_of_bytes(raw: bytes, where: str) -> Checkpoint:
    """Read an uploaded checkpoint.

    Raises: FileFormatError; ValueRangeError for a checkpoint that is too large.
    """
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile as error:
        raise FileFormatError(f"{where} is not a checkpoint, or it is truncated") from error
    if unpacked > MAX_UNPACKED_UPLOAD_BYTES:
        raise ValueRangeError(
            f"{where} unpacks to {unpacked / 2**20:.0f} MB; at most {MAX_UNPACKED_UPLOAD_BYTES // 2**20} MB are read"
        )
    checkpoint = Checkpoint.load(BytesIO(raw), where)
    _check_size(checkpoint.load_circuit(), where)
    return checkpoint


def _check_circuit_size(data: Mapping[str, Any] | None, where: str) -> None:
    if data is not None:
        _check_size(circuit_from_json(data, f"the circuit in {where}"), where)


def _check_size(circuit: Circuit, where: str) -> None:
    nodes = {node for _, parameter in circuit.parameters() for node in parameter.nodes()}
    count = sum(prod(node.shape) for node in nodes)
    if count > MAX_PARAMETERS:
        raise ValueRangeError(f"{where} has {count:,} numbers in its parameters; at most {MAX_PARAMETERS:,} are read")
    if circuit.num_variables > MAX_VARIABLES:
        raise ValueRangeError(f"{where} has {circuit.num_variables:,} variables; at most {MAX_VARIABLES:,} are read")
    widest = max(layer.num_output_units for layer in circuit.layers)
    if widest > MAX_UNITS:
        raise ValueRangeError(f"{where} has a layer of {widest:,} units; at most {MAX_UNITS:,} are read")
