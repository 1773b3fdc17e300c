"""Files of recorded runs: JSON, version 1; measurements of one machine can be viewed on another."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from math import inf
from pathlib import Path
from types import UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

from explorer.errors import FileFormatError
from explorer.files import check_format, read_json, write_json
from explorer.timings import DEVICES, KINDS, SUBJECTS, Estimate, Run

FORMAT = "circuit-explorer timing"
VERSION = 1
ENDINGS = (".timing.json", ".timing.json.gz")
NAMES = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}
RECORDED_FOLDER = Path(__file__).parents[2] / "notebooks" / "recorded"
"""The folder of a checkout with runs recorded on other machines; an installed package has none."""


@dataclass(frozen=True)
class RecordedFile:
    """A file of recorded runs; if it cannot be read, `error` contains the reason and there are no runs."""

    path: Path
    runs: tuple[Run, ...] = ()
    error: str = ""


def save_runs(path: "str | Path", runs: Sequence[Run]) -> None:
    """Write runs into one file (gzip if the name ends in .gz)."""
    write_json({"format": FORMAT, "version": VERSION, "runs": [asdict(run) for run in runs]}, path)


def load_runs(path: "str | Path") -> tuple[Run, ...]:
    """Read the runs of a file. Raises: FileFormatError for a foreign, truncated or newer file."""
    return runs_from_json(read_json(path, FORMAT), str(path))


def runs_from_json(data: object, where: str = "timing data") -> tuple[Run, ...]:
    """Read runs from such data. Raises: FileFormatError with the invalid part."""
    content = check_format(data, FORMAT, VERSION, where)
    try:
        return tuple(_run(row) for row in content["runs"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{where}: not a complete recorded run: {type(error).__name__}: {error}") from error


def recorded_runs(folder: "str | Path" = RECORDED_FOLDER) -> tuple[RecordedFile, ...]:
    """The files of recorded runs in a folder, by name; none if the folder does not exist."""
    found: list[RecordedFile] = []
    for path in sorted(Path(folder).glob("*")):
        if path.name.endswith(ENDINGS):
            try:
                found.append(RecordedFile(path, load_runs(path)))
            except FileFormatError as error:
                found.append(RecordedFile(path, error=str(error)))
    return tuple(found)


def _run(row: object) -> Run:
    run: Run = _read(Run, row, "a run")
    if run.subject not in SUBJECTS or run.kind not in KINDS:
        raise ValueError(f"unknown subject or kind of run: {run.subject!r}, {run.kind!r}")
    for timing in run.timings:
        if timing.device not in DEVICES or timing.batch_size < 1:
            raise ValueError(f"unknown device or batch size: {timing.device!r}, {timing.batch_size!r}")
        if timing.estimate is None and not timing.missing:
            raise ValueError(f"the timing of {timing.what} has neither a time nor a reason")
        if timing.estimate is not None:
            _check_estimate(timing.estimate)
    return run


def _check_estimate(found: Estimate) -> None:
    if found.count < 1 or not found.low <= found.median <= found.high or found.confidence > 1:
        raise ValueError(f"not an estimate: {found}")


def _read(kind: Any, value: Any, name: str) -> Any:
    """Read a value as the annotation of its field says; numbers are finite and not negative.

    A field that older files lack has its default. Raises: ValueError; TypeError if it has none.
    """
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return cast("type", kind)(
            **{field: _read(hints[field], value[field], field) for field in hints if field in value}
        )
    if isinstance(kind, UnionType):
        return None if value is None else _read(get_args(kind)[0], value, name)
    if get_origin(kind) is tuple:
        return tuple(_read(get_args(kind)[0], item, name) for item in value)
    if get_origin(kind) is Mapping:
        return {_read(str, key, name): _read(get_args(kind)[1], item, name) for key, item in value.items()}
    if kind is Any:
        return value
    is_fitting = type(value) is kind or (kind is float and type(value) is int)
    if not is_fitting or (kind in (int, float) and not 0 <= value < inf):
        raise ValueError(f"{name}: expected {NAMES[kind]}, found {value!r}")
    return value
