"""The job of a training: a circuit, by name or built for the data, the data, and where the training starts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from explorer.app.circuits import load_circuit
from explorer.app.training.checkpoint import Checkpoint
from explorer.errors import LearningError
from explorer.learning.choice import DEFAULT_UNITS, choose_structure
from explorer.learning.data import DATA_SETS, DataSet, ImageData
from explorer.learning.loop import Epoch, is_of
from explorer.learning.methods import TrainingOptions
from explorer.learning.sources import load_source
from explorer.learning.state import TrainingState
from explorer.learning.structures import STRUCTURES, build_structure, check_width
from explorer.learning.tables import READERS, TableData, encode_rows, log_scales, read_table
from explorer.symbolic import Circuit
from explorer.templates import gallery

DEFAULT_CIRCUIT_DATA = "digits"
WIDEST_STRUCTURE = "hclt"
"""The structure of tables that are too wide for a mixture."""
DEFAULT_IMAGE_STRUCTURE = "quad-graph"


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `train` that choose the circuit and the data; None for fields that were not given."""

    circuit: str | None = None
    data: str | None = None
    structure: str | None = None
    units: int | None = None
    kinds: Mapping[str, str] | None = None
    missing: str | None = None
    resume: Path | None = None


@dataclass(frozen=True, eq=False)
class Job:
    """A circuit and the data to train it on. `name` names the circuit, or its structure if it was built.

    A checkpoint of it contains the circuit if it is `stored`: if it is not one of the gallery. `missing` says what is
    done with missing cells. `options` are those of training that fit a structure which was chosen, and `note` says why.
    """

    name: str
    symbolic: Circuit
    stored: bool
    data: DataSet
    missing: str
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def argument(self) -> str:
        """The circuit as an argument of `train`; empty if it is stored in the checkpoint."""
        return "" if self.stored else f"{self.name} "

    def checkpoint(self, options: Mapping[str, Any]) -> Checkpoint:
        """A checkpoint without values, of the circuit compiled with these options."""
        return Checkpoint(
            self.name,
            options,
            self.data.name,
            {},
            symbolic=self.symbolic.to_json() if self.stored else None,
            columns=self.data.columns if isinstance(self.data, TableData) else (),
            missing=self.missing,
            shape=self.data.shape if isinstance(self.data, ImageData) else None,
        )


def find_job(request: Request, earlier: Checkpoint | None) -> Job:
    """Find the circuit and the data of a request; an earlier checkpoint has the defaults.

    Raises: LearningError for arguments that contradict each other, or if there is no circuit and no data.
    """
    if request.circuit is not None and Path(request.circuit).suffix.lower() in READERS:
        given = quote(request.circuit)
        raise LearningError(f"{request.circuit} is a table, not a circuit; train on it with --data {given}")
    if request.circuit is not None and (request.structure is not None or request.units is not None):
        raise LearningError(
            f"the circuit {request.circuit} has its structure and units; leave out --structure and --units"
        )
    if earlier is not None:
        return _continued(request, earlier)
    missing = request.missing or "error"
    if request.circuit is not None:
        data = load_source(request.data or DEFAULT_CIRCUIT_DATA, request.kinds, missing=missing)
        return _named(request.circuit, data, missing)
    if request.data is None:
        raise LearningError(
            "name a circuit (circuit-explorer train digits), or data for which one is built "
            "(circuit-explorer train --data FILE.csv)"
        )
    width = partial(check_width, request.structure or WIDEST_STRUCTURE, request.data)
    data = load_source(request.data, request.kinds, missing=missing, check_width=width)
    if isinstance(data, TableData) and request.structure in (None, "mixture"):
        found = choose_structure(data, request.units, name=request.structure)
        return Job(found.name, found.circuit, True, data, missing, found.options, found.note)
    structure = request.structure or DEFAULT_IMAGE_STRUCTURE
    return Job(structure, build_structure(structure, data, request.units or DEFAULT_UNITS), True, data, missing)


def _continued(request: Request, earlier: Checkpoint) -> Job:
    if request.structure is not None or request.units is not None or request.kinds:
        raise LearningError(
            "--resume continues with the circuit and the columns of its checkpoint; "
            "leave out --structure, --units and --column"
        )
    data = load_data_of(earlier, request.data, request.missing)
    missing = request.missing or earlier.missing
    is_built = earlier.symbolic is not None and earlier.circuit in STRUCTURES
    if request.circuit is not None and not (is_built and request.circuit == earlier.circuit):
        return _named(request.circuit, data, missing)
    return Job(earlier.circuit, earlier.load_circuit(), earlier.symbolic is not None, data, missing)


def _named(circuit: str, data: DataSet, missing: str) -> Job:
    """Return the job of a circuit that the command line names: only there may it be a function.

    One of the gallery begins with random values, also if it ships with trained ones.
    """
    if circuit in gallery.names():
        return Job(circuit, gallery.load_named(circuit), False, data, missing)
    return Job(circuit, load_circuit(circuit), True, data, missing)


def load_data_of(checkpoint: Checkpoint, data: str | None = None, missing: str | None = None) -> DataSet:
    """The data of a checkpoint, or other data, with the columns of the checkpoint if it has any."""
    columns = checkpoint.columns or None
    return load_source(data or checkpoint.data, columns=columns, missing=missing or checkpoint.missing)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Rows (N, D) to evaluate, what they are (`held-out rows of table.csv`), and the mean log-scale of their cells.

    `note` says what may be unexpected about them; empty otherwise.
    """

    data: str
    rows: Tensor
    what: str
    log_scale: float
    note: str = ""


def rows_to_evaluate(checkpoint: Checkpoint, data: str | None, missing: str | None) -> Evaluated:
    """The held-out rows of the data of a checkpoint, also if `data` is this file, or all rows of another file.

    Raises: the errors of `load_source`, `encode_rows`.
    """
    if data is None or _is_same_data(data, checkpoint.data):
        found = load_data_of(checkpoint, None, missing)
        kind = "images" if isinstance(found, ImageData) else "rows"
        note = ""
        if checkpoint.training is not None and not is_of(checkpoint.training, found):
            note = (
                f"{found.name} has other rows than in training, so some of these held-out ones may have been trained "
                "on; restore the file, or write rows that were not trained on to another one and name it with --data"
            )
        elif data is not None and data not in DATA_SETS:
            note = (
                f"{data} is the data of the training: only its held-out {kind} are evaluated, since the others were "
                f"trained on; to evaluate all of them, copy it and name the copy with --data"
            )
        return replace(_evaluated(checkpoint, found.name, found.held_out, f"held-out {kind}"), note=note)
    if checkpoint.columns:
        rows = encode_rows(read_table(data), checkpoint.columns, missing or checkpoint.missing)
        return _evaluated(checkpoint, data, rows, "rows")
    images = load_source(data)
    if data in DATA_SETS:
        return _evaluated(checkpoint, data, images.held_out, "held-out images")
    note = images.note if isinstance(images, ImageData) else ""
    return replace(_evaluated(checkpoint, data, torch.cat([images.training, images.held_out]), "images"), note=note)


def _is_same_data(one: str, other: str) -> bool:
    """Whether two names mean the same data set or file, however the path is written."""
    if one == other or one in DATA_SETS or other in DATA_SETS:
        return one == other
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


def _evaluated(checkpoint: Checkpoint, data: str, rows: Tensor, what: str) -> Evaluated:
    scale = float(log_scales(checkpoint.columns, ~torch.isnan(rows)).mean()) if checkpoint.columns else 0.0
    return Evaluated(data, rows, what, scale)


# ---------------------------------------------------------------------- where a training starts


@dataclass(frozen=True, eq=False)
class Start:
    """The start of a training.

    `values` belong to the leaves, None for the first ones; `before`, `best` and `state` are arguments of `train`.
    `note` says why the training does not simply continue; empty otherwise.
    """

    settings: TrainingOptions
    values: Mapping[str, Tensor] | None = None
    before: tuple[Epoch, ...] = ()
    best: Mapping[str, Tensor] | None = None
    state: TrainingState | None = None
    note: str = ""


def find_start(
    earlier: Checkpoint | None,
    circuit: str,
    data: DataSet,
    given: Mapping[str, Any],
    fitting: Mapping[str, Any] = MappingProxyType({}),
) -> Start:
    """Find where training on this data starts: `given` are fields of `TrainingOptions`, None if not given.

    `fitting` are options that fit the structure: defaults, unless another method is given, or a learning rate without
    one, which is that of gradient descent.

    A run continues with the options of its checkpoint unless they are given. With another method, it continues without
    what the first one has averaged. On other rows or with another circuit, only the best values are used, since the
    epochs do not compare. Raises: ValueRangeError, UnknownNameError for options out of range.
    """
    named = {name: value for name, value in given.items() if value is not None}
    if earlier is None:
        is_fitting = fitting.get("method") == named.get("method", fitting.get("method"))
        if is_fitting and ("method" in named or "learning_rate" not in named):
            named = {**fitting, **named}
        return Start(TrainingOptions(**named))
    state = earlier.training
    reason = _difference(earlier, circuit, data)
    if state is None or reason is not None:
        note = f"{reason or 'saved without the state of its training'}: only its values are used"
        return Start(TrainingOptions(**named), earlier.best_state, note=note)
    if named.get("method", state.method) != state.method:
        note = f"trained with --method {state.method}: only its values and epochs are used"
        return Start(TrainingOptions(**named), earlier.leaf_state, earlier.history, state.best, note=note)
    settings = TrainingOptions(**{**state.options, **named})
    return Start(settings, earlier.leaf_state, earlier.history, state=state)


def _difference(earlier: Checkpoint, circuit: str, data: DataSet) -> str | None:
    """Return how the circuit or the rows of a checkpoint differ from these, if they do."""
    if earlier.circuit != circuit:
        return f"trained with the circuit {earlier.circuit}"
    if earlier.data != data.name:
        return f"trained on {earlier.data}"
    if earlier.training is not None and not is_of(earlier.training, data):
        return f"trained on other rows of {data.name}"
    return None
