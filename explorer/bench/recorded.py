"""Files of recorded runs: JSON, version 1; measurements of one machine can be viewed on another."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from math import inf
from pathlib import Path
from types import UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

from explorer.errors import CircuitError, FileFormatError
from explorer.files import check_format, read_json, write_json
from explorer.options import CompilerOptions
from explorer.symbolic import Circuit, circuit_from_json
from explorer.templates import gallery
from explorer.timings import DEVICES, KINDS, STEPS, SUBJECTS, Estimate, Run, Timing
from explorer.trace import Trace

FORMAT = "circuit-explorer timing"
VERSION = 1
ENDINGS = (".timing.json", ".timing.json.gz")
NAMES = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}
SHIPPED_FOLDER = Path(__file__).with_name("recorded_runs")
"""The runs recorded on other machines in an installed package."""
CHECKOUT_FOLDER = Path(__file__).parents[2] / "notebooks" / "recorded"
RECORDED_FOLDER = SHIPPED_FOLDER if SHIPPED_FOLDER.is_dir() else CHECKOUT_FOLDER
"""The folder of the runs recorded on other machines."""


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


# ---------------------------------------------------------------------- the trace that a run was recorded of


def recorded_of(trace: Trace, folder: "str | Path" = RECORDED_FOLDER) -> tuple[Run, ...]:
    """The runs of the files of a folder that were recorded of a trace, as `runs_of` tells."""
    return runs_of(trace, [run for file in _known_runs(str(folder)) for run in file.runs])


def runs_of(trace: Trace, runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs that were recorded of the same circuit, options, steps and sizes as a trace.

    The circuit is the one of the gallery that a run names, layer by layer; its parameters may have other values. Each
    timed step has the path, the number of calls and the bytes of activations that were recorded.
    """
    if not trace.is_compilation:
        return ()
    runs = [run for run in runs if run.circuit in gallery.names()]
    options = CompilerOptions.from_json(trace.options)
    runs = [run for run in runs if _has_options(run, options)]
    sizes: dict[int, tuple[int, int]] = {}
    runs = [run for run in runs if all(_is_of_step(trace, sizes, run, timing) for timing in run.timings)]
    circuit = _circuit_of(trace) if runs else None
    if circuit is None:
        return ()
    structure = _structure(circuit)
    return tuple(run for run in runs if structure == _gallery_structure(run.circuit))


def _has_options(run: Run, options: CompilerOptions) -> bool:
    """Whether a circuit was compiled with these options for a run; a file may lack some."""
    try:
        return CompilerOptions.from_json(run.options) == options
    except CircuitError:
        return False


@cache
def _known_runs(folder: str) -> tuple[RecordedFile, ...]:
    """The files of a folder, read once: reading takes some milliseconds."""
    return recorded_runs(folder)


def _is_of_step(trace: Trace, sizes: dict[int, tuple[int, int]], run: Run, timing: Timing) -> bool:
    """Whether a step is the one that was timed; `sizes` keeps the calls of steps, and their bytes of activations."""
    if timing.step is None:
        return True
    if timing.step not in range(len(trace.steps)):
        return False
    if run.subject == STEPS and trace.steps[timing.step].path != timing.what:
        return False
    if timing.step not in sizes:
        stats = trace.stats(timing.step)
        sizes[timing.step] = stats["layers"], stats["activation_bytes"]
    calls, activation_bytes = sizes[timing.step]
    planned = None if timing.operators is None else timing.planned_bytes
    return timing.layers in (None, calls) and planned in (None, activation_bytes * timing.batch_size)


def _circuit_of(trace: Trace) -> Circuit | None:
    if isinstance(trace.subject, Circuit):
        return trace.subject
    if trace.circuit_json is None:
        return None
    return circuit_from_json(trace.circuit_json, "the circuit in the trace")


def _structure(circuit: Circuit) -> tuple[object, ...]:
    """Layers with their units and the shapes of their parameters, what each reads, and the names of leaves."""
    graph = circuit.graph
    layers = tuple((str(layer), graph.inputs[node]) for node, layer in graph.nodes.items())
    return layers, graph.outputs, tuple(circuit.leaf_names.values())


@cache
def _gallery_structure(name: str) -> tuple[object, ...]:
    return _structure(gallery.load_named(name))


# ---------------------------------------------------------------------- reading


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
