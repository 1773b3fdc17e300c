"""Lower a compiled circuit to kernel calls, run the passes on them, and return the trace."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import torch
from torch import nn

from explorer.backend import EvaluatedCircuit
from explorer.errors import DataTypeError
from explorer.levels import (
    PassChoice,
    Recorded,
    StateRecording,
    choose_passes,
    describe_passes,
    explainer_of,
    run_options,
)
from explorer.rewrite import PassManager
from explorer.runtime.choosing import fast
from explorer.runtime.native.library import TILE_ROWS
from explorer.runtime.plan import lower_to_plan
from explorer.runtime.recording.kernel_passes import KERNELS_PIPELINE, WorkingKernels, passes
from explorer.runtime.recording.kernel_records import KernelRecords
from explorer.runtime.recording.kernels_snapshot import KernelsSnapshot, call_with
from explorer.trace import KERNELS, Listener, Recorder, Trace


def record_kernels(
    subject: nn.Module,
    example_inputs: Sequence[Any] = (),
    pipeline: PassChoice | Sequence[PassChoice] | None = None,
    *,
    listeners: Sequence[Listener] = (),
    name: str = "",
) -> Trace:
    """Lower a compiled circuit to kernel calls, run passes on them, and return the trace.

    `trace.compiled` is `fast(circuit)`. `pipeline` are passes on them or their names (None: all in their order).
    `example_inputs` is the input of checks and measurements, by default one tile of rows.
    Raises: DataTypeError for anything else than a compiled circuit; LoweringError for a layer that has no kernel calls.
    """
    if not isinstance(subject, EvaluatedCircuit):
        raise DataTypeError(f"expected a compiled circuit to lower to kernel calls, got {type(subject).__name__}")
    chosen = choose_passes(pipeline, KERNELS_PIPELINE)
    manager = PassManager(chosen, passes)
    started = perf_counter()
    plan = lower_to_plan(subject)
    rows = min(TILE_ROWS, len(example_inputs[0])) if example_inputs else TILE_ROWS
    snapshot = KernelsSnapshot(plan, subject, KernelRecords(rows))
    recorder = Recorder()
    recording = StateRecording(KERNELS, (recorder, *listeners), snapshot)
    options = run_options(KERNELS, name or type(subject).__name__, [str(config) for config in chosen])
    recording.begin(options, describe_passes(passes, chosen.pass_ids))
    recording.first("lower", perf_counter() - started, [_note(snapshot)])
    examples = tuple(example_inputs) or (torch.zeros(rows, subject.num_variables),)

    def run_layers(x: Any) -> tuple[torch.Tensor, ...]:
        with torch.no_grad():
            return (call_with(subject, x),)

    recorded = Recorded(recorder, explainer_of(WorkingKernels, passes), examples, run_layers)
    with recorded.kept_on_failure():
        manager.run(WorkingKernels(plan, recording))
    return recorded.trace(fast(subject))


def _note(snapshot: KernelsSnapshot) -> str:
    tables, rows = snapshot.stats["tables"], snapshot.records.rows
    read = f"; the calls read {tables:,} {'table' if tables == 1 else 'tables'}" if tables else ""
    return f"A kernel call evaluates one fold of a layer for a tile of {rows} rows{read}."
