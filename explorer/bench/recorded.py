"""Files of recorded runs: JSON, version 1; measurements of one machine can be viewed on another."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from explorer.errors import FileFormatError
from explorer.files import check_format, read_json, write_json
from explorer.timings import DEVICES, KINDS, SUBJECTS, Estimate, Limits, Run, Setup, Timing

FORMAT = "circuit-explorer timing"
VERSION = 1
ENDINGS = (".timing.json", ".timing.json.gz")
RECORDED_FOLDER = Path(__file__).parents[2] / "notebooks" / "recorded"
"""The folder of a checkout with runs recorded on other machines; an installed package has none."""

TIMING_FIELDS: Mapping[str, tuple[type, ...]] = {
    "what": (str,),
    "device": (str,),
    "batch_size": (int,),
    "missing": (str,),
    "reached": (bool,),
    "step": (int, type(None)),
    "node": (int, type(None)),
    "layers": (int, type(None)),
    "operators": (int, type(None)),
    "planned_bytes": (int, type(None)),
    "peak_bytes": (int, type(None)),
    "one_row": (int, float, type(None)),
}


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


def _run(row: Mapping[str, Any]) -> Run:
    if row["subject"] not in SUBJECTS or row["kind"] not in KINDS:
        raise ValueError(f"unknown subject or kind of run: {row['subject']!r}, {row['kind']!r}")
    return Run(
        row["subject"],
        row["kind"],
        _text(row["circuit"]),
        dict(row["options"]),
        tuple(_timing(timing) for timing in row["timings"]),
        _setup(row["setup"]),
        _texts(row["missing"]),
        bool(row["cancelled"]),
        _number(row["seconds"]),
    )


def _timing(row: Mapping[str, Any]) -> Timing:
    values: dict[str, Any] = {}
    for name, types in TIMING_FIELDS.items():
        value = row[name]
        if type(value) not in types:
            raise ValueError(f"{name} of a timing cannot be {value!r}")
        values[name] = value
    if values["device"] not in DEVICES or values["batch_size"] < 1:
        raise ValueError(f"unknown device or batch size: {values['device']!r}, {values['batch_size']!r}")
    found = row["estimate"]
    if found is None and not values["missing"]:
        raise ValueError(f"the timing of {values['what']} has neither a time nor a reason")
    return Timing(**values, estimate=None if found is None else _estimate(found))


def _estimate(row: Mapping[str, Any]) -> Estimate:
    median, low, high = (_number(row[name]) for name in ("median", "low", "high"))
    lower, upper, confidence = (_number(row[name]) for name in ("lower_quartile", "upper_quartile", "confidence"))
    count = row["count"]
    if type(count) is not int or count < 1 or not low <= median <= high or confidence > 1:
        raise ValueError(f"not an estimate: {dict(row)}")
    return Estimate(median, low, high, lower, upper, count, confidence)


def _setup(row: Mapping[str, Any]) -> Setup:
    limits = {
        _text(device): Limits(
            _number(found["operator_ms"]), _number(found["bytes_per_second"]), _number(found["flops_per_second"])
        )
        for device, found in row["limits"].items()
    }
    return Setup(
        _text(row["date"]),
        int(_number(row["num_threads"])),
        _text(row["clock"]),
        _text(row["malloc"]),
        _number(row["precision"]),
        _number(row["max_seconds"]),
        int(_number(row["seed"])),
        _texts(row["devices"]),
        _texts(row["versions"]),
        _text(row["system"]),
        limits,
        _text(row["warning"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a string, found {value!r}")
    return value


def _texts(value: Mapping[str, object]) -> dict[str, str]:
    return {_text(key): _text(text) for key, text in value.items()}


def _number(value: object) -> float:
    """Return a finite non-negative number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"expected a number, found {value!r}")
    return value
