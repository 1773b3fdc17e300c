"""Lower a compiled circuit to units, run the passes on them, and return the trace."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import torch
from torch import nn

from explorer.backend import EvaluatedCircuit
from explorer.errors import CircuitError, DataTypeError
from explorer.rewrite import FunctionPassConfig, FunctionPassPipeline, PassManager
from explorer.runtime.choosing import fast
from explorer.runtime.native.library import TILE_ROWS
from explorer.runtime.recording.passes import UNITS_PIPELINE, RecordedPass, passes
from explorer.runtime.recording.records import UnitRecords, titles_of
from explorer.runtime.recording.snapshot import UnitsSnapshot, call_with
from explorer.runtime.recording.working import UnitsRecording, WorkingUnits, refusal_of
from explorer.runtime.units import lower_to_units
from explorer.trace import (
    KERNELS,
    Check,
    Listener,
    Recorder,
    Refusal,
    RuleDescription,
    RunStarted,
    Trace,
)
from explorer.trace.reasons import ANY_OPERATOR, OR

Passes = FunctionPassPipeline | FunctionPassConfig | str


def record_units(
    subject: nn.Module,
    example_inputs: Sequence[Any] = (),
    pipeline: Passes | Sequence[Passes] | None = None,
    *,
    listeners: Sequence[Listener] = (),
    name: str = "",
) -> Trace:
    """Lower a compiled circuit to units, run passes on them, and return the trace.

    `trace.compiled` is `fast(circuit)`. `pipeline` are passes on units or their names (None: all in their order).
    `example_inputs` is the input of checks and measurements, by default one tile of rows.
    Raises: DataTypeError for anything else than a compiled circuit; LoweringError for a layer that has no units.
    """
    if not isinstance(subject, EvaluatedCircuit):
        raise DataTypeError(f"expected a compiled circuit to lower to units, got {type(subject).__name__}")
    chosen = _pipeline(pipeline)
    manager = PassManager(chosen, passes)
    started = perf_counter()
    units = lower_to_units(subject)
    rows = min(TILE_ROWS, len(example_inputs[0])) if example_inputs else TILE_ROWS
    snapshot = UnitsSnapshot(units, subject, UnitRecords(rows))
    recorder = Recorder()
    observer = UnitsRecording((recorder, *listeners))
    options = {
        "level": KERNELS,
        "subject": name or type(subject).__name__,
        "pipeline": [str(config) for config in chosen],
        "mode": "infer",
        "operators": "functional",
        "layout": "",
        "one_by_one": False,
    }
    run = RunStarted(None, options, describe_passes(chosen))
    observer.begin(run, perf_counter() - started, snapshot, _note(snapshot))
    working = WorkingUnits(snapshot, observer)
    examples = tuple(example_inputs) or (torch.zeros(rows, subject.num_variables),)
    try:
        manager.run(working)
    except CircuitError as error:
        error.trace = _trace(recorder, None, examples, subject)
        raise
    return _trace(recorder, fast(subject), examples, subject)


def describe_passes(pipeline: FunctionPassPipeline) -> tuple[RuleDescription, ...]:
    """Descriptions of the passes of a pipeline, each once."""
    known = (passes[name] for name in dict.fromkeys(pipeline.pass_ids))
    return tuple(
        RuleDescription(one.name, one.name, _entries(one), KERNELS, "real", one.doc, one.source, guarded=True)
        for one in known
        if isinstance(one, RecordedPass)
    )


def _entries(one: RecordedPass) -> tuple[str]:
    """The titles of the units that a pass looks at."""
    titles = [title for kind in one.made.looks_at for title in titles_of(kind)]
    return (OR.join(titles) or ANY_OPERATOR,)


def _note(snapshot: UnitsSnapshot) -> str:
    tables, rows = snapshot.stats["tables"], snapshot.records.rows
    read = f"; the calls read {tables:,} {'table' if tables == 1 else 'tables'}" if tables else ""
    return f"A kernel call evaluates one fold of a layer for a tile of {rows} rows{read}."


def _pipeline(chosen: Passes | Sequence[Passes] | None) -> FunctionPassPipeline:
    if chosen is None:
        return UNITS_PIPELINE
    if isinstance(chosen, FunctionPassPipeline):
        return chosen
    entries = (chosen,) if isinstance(chosen, FunctionPassConfig | str) else tuple(chosen)
    found = FunctionPassPipeline()
    for entry in entries:
        found += entry if isinstance(entry, FunctionPassPipeline) else FunctionPassPipeline.of(entry)
    return found


def _trace(recorder: Recorder, compiled: Any, examples: tuple[Any, ...], circuit: EvaluatedCircuit) -> Trace:
    def run_layers(x: Any) -> tuple[torch.Tensor, ...]:
        with torch.no_grad():
            return (call_with(circuit, x),)

    return Trace(
        None, None, recorder.options, recorder.rules, tuple(recorder.steps), compiled, _explain, examples, run_layers
    )


def _explain(trace: Trace, step: int, pattern: str, node: int) -> tuple[tuple[Check, ...], Refusal | None]:
    """What a pass says of a unit in the state before a step, asked again."""
    snapshot, known = trace.steps[max(step - 1, 0)].snapshot, passes[pattern]
    assert isinstance(snapshot, UnitsSnapshot)
    assert isinstance(known, RecordedPass)
    left: dict[int, str] = {}
    known.made.change(snapshot.units, left.__setitem__)
    return (), refusal_of(pattern, node, left[node]) if node in left else None
