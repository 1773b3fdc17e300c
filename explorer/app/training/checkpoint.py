"""Checkpoints: values of the leaves of a circuit, options to compile it again, and whether a file may be replaced."""

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from io import BytesIO
from pathlib import Path
from shlex import quote
from typing import Any, cast

import torch
from torch import Tensor

from explorer.app.circuits import RECORD_MODULE
from explorer.app.training.kept import kept_content, read_kept
from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import FileFormatError, LearningError, listed
from explorer.files import hold_folder, replace_file
from explorer.learning.data import DataSet
from explorer.learning.loop import Epoch, best_epoch, is_of
from explorer.learning.methods import TrainingOptions
from explorer.learning.state import TrainingState
from explorer.learning.tables import CategoricalColumn, Column, GaussianColumn, columns_from_json
from explorer.options import CompilerOptions
from explorer.symbolic import Circuit, ColumnValues, LearnedEpoch, circuit_from_json, pack_values, with_values
from explorer.templates import gallery

FORMAT = "circuit-explorer checkpoint"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The values of a circuit and the circuit itself; `options` are fields of `CompilerOptions`.

    Leaves are named by the symbolic circuit, so `leaf_state` fits every mode of compilation. `history` are the finished
    epochs; with `training`, the run continues as if it had not been interrupted. `circuit` is a name of the gallery, or
    else a label, such as the name of a file, a function or a structure, and `symbolic` is the JSON of the circuit; a
    label is never used as a path. `columns` describe the table that it was trained on, if any: column i is variable i.
    `missing` says what was done with missing cells. `shape` is (C, H, W) if it was trained on images. `kept` are epochs
    with their values; older files have none.
    """

    circuit: str
    options: Mapping[str, Any]
    data: str
    leaf_state: Mapping[str, Tensor]
    history: tuple[Epoch, ...] = ()
    training: TrainingState | None = None
    symbolic: Mapping[str, Any] | None = None
    columns: tuple[Column, ...] = ()
    missing: str = "error"
    shape: tuple[int, int, int] | None = None
    kept: tuple[LearnedEpoch, ...] = ()

    @property
    def best_state(self) -> Mapping[str, Tensor]:
        """The values of the epoch that was the best one for held-out rows."""
        best = self.training.best if self.training is not None else None
        return self.leaf_state if best is None else best

    def load_circuit(self) -> Circuit:
        """Return the symbolic circuit, stored or of the gallery.

        Raises: FileFormatError if it is neither. A file that names another file, or a function, opens nothing.
        """
        if self.symbolic is not None:
            return circuit_from_json(self.symbolic, self.circuit)
        if self.circuit in gallery.names():
            return gallery.load_named(self.circuit)
        raise FileFormatError(
            f"the checkpoint has the values of {self.circuit[:80]!r}, but not the circuit itself, and a checkpoint "
            "opens no other file and runs no function; name the circuit yourself to write a complete one: "
            "circuit-explorer train CIRCUIT --resume CHECKPOINT"
        )

    def trained_circuit(self) -> Circuit:
        """The symbolic circuit; its leaves begin with the best values.

        Raises: FileFormatError if it has no circuit; UnknownNameError, ShapeError if the values are of another one.
        """
        values = {name: value.detach().cpu().numpy() for name, value in self.best_state.items()}
        circuit = replace(
            self.load_circuit(),
            columns=tuple(column.name for column in self.columns),
            column_values=tuple(map(_column_values, self.columns)),
        )
        return with_values(circuit, values)

    def learned_epochs(self) -> tuple[LearnedEpoch, ...]:
        """The kept epochs of the run with their values, and the best one for held-out rows; none of older files."""
        found = {one.epoch: one for one in self.kept}
        if not found or not self.history:
            return self.kept
        best, first = best_epoch(self.history), self.kept[0]
        values = {name: self.best_state[name].detach().cpu() for name in first.packed.shapes}
        if best.number not in found and all(bool(value.isfinite().all()) for value in values.values()):
            found[best.number] = LearnedEpoch(
                best.number,
                best.training_bits,
                best.held_out_bits,
                pack_values({name: value.numpy() for name, value in values.items()}, 16),
                first.source,
                first.fixed,
            )
        return tuple(found[epoch] for epoch in sorted(found))

    @property
    def progress(self) -> str:
        """The progress of training: `epoch 3`, or `epoch 3 and 128 of 1,438 rows of the next one`."""
        finished = f"epoch {self.history[-1].number}" if self.history else "no epoch"
        if self.training is None or not self.training.rows_done:
            return finished
        return f"{finished} and {self.training.rows_done:,} of {self.training.num_rows:,} rows of the next one"

    def restore(self, **options: Any) -> TorchCircuit:
        """Compile the circuit with the options of the checkpoint, or different ones, and load the best values.

        Raises: FileFormatError if it has no circuit; UnknownNameError, ShapeError if the values are of another one.
        """
        compiled = TorchCompiler(**{**self.options, **options}).compile(self.load_circuit())
        compiled.load_leaf_state(self.best_state)
        return compiled

    @staticmethod
    def of_gallery(name: str) -> "Checkpoint":
        """A checkpoint of the weights that ship with a circuit. Raises: UnknownNameError if it has none."""
        best = gallery.trained_weights(name).best
        values = {leaf: torch.from_numpy(value) for leaf, value in best.packed.unpack().items()}
        return Checkpoint(name, {}, "digits", values)

    def save(self, path: "str | Path") -> None:
        """Write a checkpoint file; an existing file is replaced only when the new one is complete and on the disk."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "circuit": self.circuit,
            "options": dict(self.options),
            "data": self.data,
            "leaf_state": {name: value.cpu() for name, value in self.leaf_state.items()},
            "history": [asdict(epoch) for epoch in self.history],
        }
        if self.symbolic is not None:
            content["symbolic"] = dict(self.symbolic)
        if self.columns:
            content["columns"] = [column.to_json() for column in self.columns]
            content["missing"] = self.missing
        if self.shape is not None:
            content["shape"] = list(self.shape)
        if self.training is not None:
            content["training"] = {f.name: getattr(self.training, f.name) for f in fields(TrainingState)}
        if self.kept:
            content["kept"] = kept_content(self.kept)
        replace_file(path, lambda file: torch.save(content, file))

    @staticmethod
    def load(file: "str | Path | BytesIO", path: "str | Path" = "") -> "Checkpoint":
        """Read a checkpoint file; nothing in it is executed. `path` is what errors call a file that is in memory.

        Raises: FileFormatError for a foreign, truncated or newer file.
        """
        path = path if isinstance(file, BytesIO) else file
        try:
            content = torch.load(file, map_location="cpu", weights_only=True)
        except FileNotFoundError as error:
            raise FileFormatError(f"there is no checkpoint {path}") from error
        except Exception as error:  # torch.load raises whatever a foreign file leads its unpickler to
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # which seeking in half a file gives
                raise FileFormatError(f"cannot read {path}: {error.strerror or error}") from error
            raise FileFormatError(
                f"{path} is not a {FORMAT}, or it is truncated; for other PyTorch files, {RECORD_MODULE}"
            ) from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileFormatError(
                f"{path} is not a {FORMAT}; make one with: circuit-explorer train digits; for other PyTorch files, "
                f"{RECORD_MODULE}"
            )
        if content.get("version") != VERSION:
            raise FileFormatError(
                f"{path} has version {content.get('version')!r}; this program reads version {VERSION}"
            )
        try:
            history = tuple(Epoch(**epoch) for epoch in content["history"])
            state = TrainingState(**content["training"]) if "training" in content else None
            checkpoint = Checkpoint(
                content["circuit"],
                content["options"],
                content["data"],
                content["leaf_state"],
                history,
                state,
                content.get("symbolic"),
                columns_from_json(content.get("columns", []), str(path)),
                content.get("missing", "error"),
                _shape(content.get("shape")),
            )
            problem = checkpoint._problem()
            if problem is None and "kept" in content:
                kept = read_kept(content["kept"], checkpoint.leaf_state, checkpoint.load_circuit)
                checkpoint = replace(checkpoint, kept=kept)
        except (KeyError, TypeError) as error:
            raise FileFormatError(f"{path} is not a complete {FORMAT}: {type(error).__name__}: {error}") from error
        if problem is not None:
            raise FileFormatError(f"{path} is not a complete {FORMAT}: {problem}")
        return checkpoint

    def _problem(self) -> str | None:
        """Describe a field of the wrong type, which a file may contain; None if there is none."""
        circuit, options, state = cast("tuple[object, object, object]", (self.circuit, self.options, self.leaf_state))
        if not isinstance(circuit, str):
            return f"its circuit is a {type(circuit).__name__}, not a name"
        if self.symbolic is not None and not isinstance(cast("object", self.symbolic), Mapping):
            return f"its circuit is stored as a {type(self.symbolic).__name__}, not as a mapping"
        if not isinstance(options, Mapping):
            return f"its options are a {type(options).__name__}, not a mapping"
        unknown = set(options) - {f.name for f in fields(CompilerOptions)}
        if unknown:
            return f"its options {sorted(unknown)} are not options of the compiler"
        if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
            return "its values are not tensors by name"
        return None if self.training is None else _problem_of(self.training)


def _column_values(column: Column) -> ColumnValues:
    """Return what a page needs of a column to show its cells."""
    labels = column.labels if isinstance(column, CategoricalColumn) else ()
    return ColumnValues(labels, column.zero, column.unit, isinstance(column, GaussianColumn) and column.is_integer)


def _shape(data: object) -> tuple[int, int, int] | None:
    """The shape of images from a file. Raises: TypeError for data of another form."""
    if data is None:
        return None
    match data:
        case [int(channels), int(height), int(width)]:
            return channels, height, width
        case _:
            raise TypeError(f"the shape of images is {data!r:.40}")


def _problem_of(training: TrainingState) -> str | None:
    """Describe a field of the state of training that has the wrong type; None if there is none."""
    known = {f.name for f in fields(TrainingOptions)}
    options, order, moments = cast(
        "tuple[object, object, object]", (training.options, training.order, training.moments)
    )
    if not isinstance(options, Mapping) or not known.issuperset(options):
        return f"its options of training are not a mapping with {', '.join(sorted(known))}"
    if not isinstance(order, Tensor) or not _is_generator_state(order):
        return "its order of rows is not the state of a random generator"
    if not isinstance(moments, Mapping) or not all(
        isinstance(by_leaf, Mapping) and all(isinstance(value, Tensor) for value in by_leaf.values())
        for by_leaf in moments.values()
    ):
        return "its moments are not tensors by name"
    best = cast("object", training.best)
    if best is not None and not (isinstance(best, Mapping) and all(isinstance(v, Tensor) for v in best.values())):
        return "its best values are not tensors by name"
    numbers = (training.num_rows, training.rows_done, training.steps)
    if any(type(number) is not int or number < 0 for number in numbers) or training.rows_done >= training.num_rows:
        return f"its numbers of rows, finished rows and steps are {numbers}"
    if not isinstance(cast("object", training.nats), float):
        return f"its sum of negative log-likelihoods is {training.nats!r}"
    return None


def _is_generator_state(order: Tensor) -> bool:
    try:
        torch.Generator().set_state(order)
    except (RuntimeError, TypeError):
        return False
    return True


# ---------------------------------------------------------------------- replacing the checkpoint of another run


ADVICE = "write to another file with --out, or replace it with --overwrite"


def check_replaceable(target: Path, planned: Checkpoint, settings: TrainingOptions, data: DataSet) -> None:
    """Check that a new run may write its checkpoint here; `planned` is that checkpoint, still without values.

    Raises: LearningError if the file exists: it says in what its run differs from the new one, and what to do.
    """
    if not target.is_file() or not target.stat().st_size:
        return
    try:
        found = Checkpoint.load(target)
    except FileFormatError as error:
        raise LearningError(f"{target} exists, and would be replaced by the checkpoint; {ADVICE} ({error})") from error
    different = ", ".join(differences(found, planned, settings, data))
    what = f"a different run: {different}" if different else "a run with the same settings"
    raise LearningError(
        f"{target} holds {what}, after {found.progress}, which would be lost; "
        f"continue it with --resume {quote(str(target))}, {ADVICE}"
    )


class OwnFile:
    """The checkpoint file of a run, as it was left: what another process has written meanwhile is not replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = _stamp(path)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write the checkpoint. Raises: LearningError if another process has written the file: both runs are kept."""
        with hold_folder(self._path):
            if _stamp(self._path) in (None, self._left):
                checkpoint.save(self._path)
                self._left = _stamp(self._path)
                return
        beside = self._path.with_name(f"{self._path.stem}-{os.getpid()}{self._path.suffix}")
        checkpoint.save(beside)
        raise LearningError(
            f"another process has written {self._path} since this run did; this run is kept in {beside}, after "
            f"{checkpoint.progress}; continue it with --resume {quote(str(beside))}, and run one training per file"
        )


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Identify the content of a file; None if it is not one."""
    if not path.is_file():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def is_reproduced(target: Path, planned: Checkpoint, settings: TrainingOptions, data: DataSet) -> bool:
    """Whether a run with these settings has all epochs of the checkpoint in this file, or there is none."""
    if not target.is_file():
        return True
    try:
        found = Checkpoint.load(target)
    except FileFormatError:
        return False
    return len(found.history) <= settings.epochs and not any(differences(found, planned, settings, data))


def differences(found: Checkpoint, planned: Checkpoint, settings: TrainingOptions, data: DataSet) -> Iterator[str]:
    """In what the run of a checkpoint differs from a planned one, apart from the number of epochs.

    Other columns or other data are all that is said of them: the circuit and the method follow from these by default.
    """
    columns, wanted = ([f"{listed([c.name])} ({c.kind})" for c in each.columns] for each in (found, planned))
    if found.data != planned.data:
        yield f"the data are {found.data}, not {planned.data}"
        return
    if columns != wanted:
        yield f"the columns are {_list(columns)}, not {_list(wanted)}"
        return
    if found.circuit != planned.circuit:
        yield f"the circuit is {found.circuit}, not {planned.circuit}"
    if found.training is not None and not is_of(found.training, data):
        yield "the rows differ"
    elif found.circuit == planned.circuit and found.symbolic != planned.symbolic:
        yield f"the layers of {found.circuit} differ"
    before = CompilerOptions(**found.options).to_json() | dict(found.training.options if found.training else {})
    after = CompilerOptions(**planned.options).to_json() | asdict(settings)
    for name in before:
        if name != "epochs" and before[name] != after[name]:
            yield f"{name} is {_value(before[name])}, not {_value(after[name])}"


def _value(value: object) -> str:
    return "the default" if value is None else str(value)


def _list(names: list[str], limit: int = 6) -> str:
    more = f" ... ({len(names)} in all)" if len(names) > limit else ""
    return (", ".join(names[:limit]) or "none") + more
