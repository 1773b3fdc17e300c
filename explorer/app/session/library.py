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

from explorer.app.circuits import CHECKPOINT, circuit_or_trace, is_checkpoint, is_logic_file, load_gallery
from explorer.app.training.checkpoint import FORMAT, Checkpoint
from explorer.errors import FileFormatError, UnknownNameError, ValueRangeError, unknown_name
from explorer.files import ZIP_MAGIC, count_values, unpack
from explorer.learning.tables import Column
from explorer.symbolic import Circuit, LearnedEpoch, circuit_from_json
from explorer.templates import gallery
from explorer.templates.logic import LOGIC_SUFFIXES, build_circuit, logic_of_bytes
from explorer.trace import Trace

MAX_UPLOAD_BYTES = 20 * 2**20
MAX_UNPACKED_UPLOAD_BYTES = 64 * 2**20
MAX_UPLOAD_VALUES = 5_000_000
"""Maximum number of values and keys in an upload; the largest trace of the gallery, of poon-domingos, has 3,400,000."""
MAX_PICKLE_BYTES = 8 * 2**20
"""Maximum size of the structure of a checkpoint, without its tensors: that of poon-domingos has 5 MB."""
MAX_UPLOADS = 100
MAX_SESSION_BYTES = 2**30
"""Bounds on the uploads that a session keeps, and on the memory that they may take: the oldest ones are dropped."""
VALUE_BYTES, PICKLE_BYTES = 80, 80
"""The memory of a list in an upload, which has a mark in JSON, and of what a byte of a pickle may make."""
MAX_PARAMETERS = 200_000_000
MAX_UNITS, MAX_VARIABLES = 1_000_000, 100_000
"""Bounds on circuits from files and uploads: numbers in their parameters, units in a layer, variables."""
MAX_LOGIC_VARIABLES = 10_000
"""For logic files, where a few bytes declare many: each becomes layers, in about 0.2 ms."""
NAME_IT = "start the explorer with the file's name instead"
"""What to do with a large file: one that is named on the command line has no limits but its format's."""
UPLOAD = " (upload)"
"""The suffix of an upload if its name is already taken."""
ENDINGS = (
    *(".trace.json", ".trace.json.gz", ".circuit.json", ".circuit.json.gz", ".json", ".json.gz"),
    *LOGIC_SUFFIXES,
    CHECKPOINT,
)

Item = Circuit | Trace


@dataclass(frozen=True, slots=True)
class Training:
    """A training as its checkpoint describes it: the data and its columns, the method, held-out bits by epoch.

    `kept` are the epochs with their values.
    """

    data: str = ""
    columns: tuple[Column, ...] = ()
    method: str = ""
    epochs: tuple[tuple[int, float], ...] = ()
    kept: tuple[LearnedEpoch, ...] = ()

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> "Training":
        """Read it from a checkpoint."""
        state = checkpoint.training
        epochs = tuple((one.number, one.held_out_bits) for one in checkpoint.history)
        method = "" if state is None else state.method
        return cls(checkpoint.data, checkpoint.columns, method, epochs, checkpoint.learned_epochs())


@dataclass(eq=False)
class Library:
    """The circuits of the gallery, and the traces, circuits and checkpoints of `folder` and `files` by file name.

    `built` are those that functions of the user have returned, as FILE.py:FUNCTION.
    """

    folder: Path | None = None
    files: tuple[Path, ...] = ()
    built: Mapping[str, Item] = field(default_factory=dict[str, Item])
    uploads: dict[str, Item] = field(default_factory=dict[str, Item])
    _upload_bytes: dict[str, int] = field(default_factory=dict[str, int])
    _dropped: set[str] = field(default_factory=set[str])
    _trainings: dict[str, Training] = field(default_factory=dict[str, Training])

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
            return load_gallery(name)
        if name in self.built:
            return self.built[name]
        path = self._paths().get(name)
        if path is None and name in self._dropped:
            raise UnknownNameError(
                f"{name} is not kept any more: a session keeps its newest uploads, at most {MAX_UPLOADS} in about "
                f"{MAX_SESSION_BYTES // 2**20:,} MB; upload it again"
            )
        if path is None:
            raise unknown_name("circuit or trace", name, self.names())
        if path in self.files:  # the user named it: no limits
            item, self._trainings[name] = _load_named(path, name)
            return item
        read = read_limited(_read_file(path, name, MAX_UNPACKED_UPLOAD_BYTES), name)
        self._trainings[name] = read.training
        return read.item

    def upload(self, name: str, raw: bytes) -> str:
        """Keep an upload for this session only; returns the name under which it can be opened.

        The oldest uploads are dropped if there are too many, or if all together may take too much memory.
        Raises: FileFormatError if it is foreign or broken; ValueRangeError if it is too large.
        """
        if len(raw) > MAX_UPLOAD_BYTES:
            raise ValueRangeError(
                f"{name} has {len(raw) / 2**20:.0f} MB; at most {MAX_UPLOAD_BYTES // 2**20} MB can be uploaded; "
                f"{NAME_IT}"
            )
        read = read_limited(raw, name)
        free = name if name not in (*gallery.names(), *self.built, *self._paths()) else name + UPLOAD
        for known in (free, *self.uploads):
            if known == free or self._is_full(read.num_bytes):
                self._drop(known)
        self._dropped.discard(free)
        self.uploads[free], self._upload_bytes[free], self._trainings[free] = read.item, read.num_bytes, read.training
        return free

    def _is_full(self, more_bytes: int) -> bool:
        return len(self.uploads) >= MAX_UPLOADS or sum(self._upload_bytes.values()) + more_bytes > MAX_SESSION_BYTES

    def _drop(self, name: str) -> None:
        for kept in (self.uploads, self._upload_bytes, self._trainings):
            kept.pop(name, None)
        self._dropped.add(name)

    def training(self, name: str) -> Training:
        """The training of the circuit of a name, if it has trained weights, or is a checkpoint that was opened."""
        if name not in gallery.trained_names():
            return self._trainings.get(name, Training())
        epochs = gallery.trained_weights(name).epochs
        return Training(data="digits", epochs=tuple((one.epoch, one.held_out_bits) for one in epochs))

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


@dataclass(frozen=True, slots=True)
class Read:
    """What an upload or a file of a folder contains, and the memory that it may take."""

    item: Item
    training: Training
    num_bytes: int


def read_limited(raw: bytes, where: str) -> Read:
    """Read a circuit, trace, checkpoint or logic file that the user did not name on the command line.

    Raises: FileFormatError; ValueRangeError for one that is too large.
    """
    if is_checkpoint(where):
        num_bytes = _checkpoint_bytes(raw, where)
        checkpoint = Checkpoint.load(BytesIO(raw), where)
        _check_size(checkpoint.load_circuit(), where)
        return Read(checkpoint.trained_circuit(), Training.of(checkpoint), num_bytes)
    plain = unpack(raw, "circuit or trace", where, MAX_UNPACKED_UPLOAD_BYTES)
    return Read(item_of_bytes(plain, where), Training(), len(plain) + VALUE_BYTES * count_values(plain))


def item_of_bytes(raw: bytes, where: str) -> Item:
    """Read a circuit, trace or logic file. Raises: FileFormatError; ValueRangeError for a circuit that is too large."""
    if is_logic_file(where):
        formula = logic_of_bytes(raw, where)
        _check_variables(formula.num_variables, where, MAX_LOGIC_VARIABLES)
        item = build_circuit(formula, assume_deterministic=True)  # to look at, whatever it is
    else:
        item = circuit_or_trace(raw, where, MAX_UNPACKED_UPLOAD_BYTES, MAX_UPLOAD_VALUES)
    if isinstance(item, Circuit):
        _check_size(item, where)
    else:
        _check_circuit_size(item.circuit_json, where)
    return item


def _load_named(path: Path, name: str) -> tuple[Item, Training]:
    """Load a file that the user named on the command line, of any size."""
    if is_checkpoint(path):
        checkpoint = Checkpoint.load(path)
        return checkpoint.trained_circuit(), Training.of(checkpoint)
    raw = _read_file(path, name)
    if is_logic_file(name):
        return build_circuit(logic_of_bytes(raw, name), assume_deterministic=True), Training()
    return circuit_or_trace(raw, name), Training()


def _read_file(path: Path, name: str, max_bytes: int | None = None) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(-1 if max_bytes is None else max_bytes + 1)
    except OSError as error:
        raise FileFormatError(f"cannot read {name}: {error.strerror}") from error
    if max_bytes is not None and len(raw) > max_bytes:
        raise ValueRangeError(f"{name} has more than {max_bytes // 2**20} MB, the limit in a folder; {NAME_IT}")
    return raw


def _checkpoint_bytes(raw: bytes, where: str) -> int:
    """Return the memory that a checkpoint may take.

    Raises: FileFormatError if it is not an archive; ValueRangeError if it unpacks to too much.
    """
    try:
        if not raw.startswith(ZIP_MAGIC):  # PyTorch would read an older format, whatever archive follows it
            raise zipfile.BadZipFile
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            sizes = {entry: entry.file_size for entry in archive.infolist()}
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise FileFormatError(f"{where} is not a {FORMAT}, or it is truncated") from error
    unpacked = sum(sizes.values())
    if unpacked > MAX_UNPACKED_UPLOAD_BYTES:
        raise ValueRangeError(
            f"{where} unpacks to {unpacked / 2**20:.0f} MB; at most {MAX_UNPACKED_UPLOAD_BYTES // 2**20} MB are read; "
            f"{NAME_IT}"
        )
    structure = sum(size for entry, size in sizes.items() if entry.filename.endswith(".pkl"))
    if structure > MAX_PICKLE_BYTES:
        raise ValueRangeError(
            f"{where} has {structure / 2**20:.0f} MB besides its tensors; at most {MAX_PICKLE_BYTES // 2**20} MB are "
            f"read; {NAME_IT}"
        )
    return unpacked + PICKLE_BYTES * structure


def _check_circuit_size(data: Mapping[str, Any] | None, where: str) -> None:
    if data is not None:
        _check_size(circuit_from_json(data, f"the circuit in {where}"), where)


def _check_size(circuit: Circuit, where: str) -> None:
    nodes = {node for _, parameter in circuit.parameters() for node in parameter.nodes()}
    count = sum(prod(node.shape) for node in nodes)
    if count > MAX_PARAMETERS:
        raise ValueRangeError(f"{where} has {count:,} numbers in its parameters; at most {MAX_PARAMETERS:,} are read")
    _check_variables(circuit.num_variables, where)
    widest = max(layer.num_output_units for layer in circuit.layers)
    if widest > MAX_UNITS:
        raise ValueRangeError(f"{where} has a layer of {widest:,} units; at most {MAX_UNITS:,} are read")


def _check_variables(count: int, where: str, most: int = MAX_VARIABLES) -> None:
    if count > most:
        raise ValueRangeError(f"{where} has {count:,} variables; at most {most:,} are read: {NAME_IT}")
