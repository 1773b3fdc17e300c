"""Whether a file may be replaced by the checkpoint of a run: not if a different run would be lost without a word."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from shlex import quote

from explorer.app.training.checkpoint import Checkpoint
from explorer.errors import FileFormatError, LearningError, listed
from explorer.files import hold_folder
from explorer.learning.data import DataSet
from explorer.learning.loop import is_of
from explorer.learning.methods import TrainingOptions
from explorer.options import CompilerOptions

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
    """In what the run of a checkpoint differs from a planned one, apart from the number of epochs."""
    if found.circuit != planned.circuit:
        yield f"the circuit is {found.circuit}, not {planned.circuit}"
    if found.data != planned.data:
        yield f"the data are {found.data}, not {planned.data}"
    columns, wanted = ([f"{listed([c.name])} ({c.kind})" for c in each.columns] for each in (found, planned))
    if columns != wanted:
        yield f"the columns are {_list(columns)}, not {_list(wanted)}"
    elif found.training is not None and not is_of(found.training, data):
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
