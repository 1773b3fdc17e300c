"""Lower a compiled circuit to kernel calls, run the passes on them, and return the trace."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import torch
from torch import nn

from explorer.backend import EvaluatedCircuit
from explorer.errors import DataTypeError, GraphError
from explorer.levels import (
    Kept,
    Outcome,
    PassChoice,
    Recorded,
    StatePass,
    StateRecording,
    WorkingState,
    choose_passes,
    describe_passes,
    explainer_of,
    run_options,
)
from explorer.passes import PASSES as LISTED
from explorer.rewrite import DCERequiredMode, Exactness, FunctionPassPipeline, PassManager, PassRegistry
from explorer.runtime.choosing import fast
from explorer.runtime.native.library import TILE_ROWS
from explorer.runtime.plan import PASSES, Plan, PlanPass, ReportSkipped, lower_to_plan
from explorer.runtime.recording.kernel_records import (
    KernelRecords,
    Replacement,
    fresh_numbers,
    renumbered,
    replacements,
    titles_of,
)
from explorer.runtime.recording.kernels_snapshot import KernelsSnapshot, call_with
from explorer.trace import KERNELS, Listener, Recorder, Trace
from explorer.trace.reasons import ANY_OPERATOR, OR


class _WorkingKernels(WorkingState[Plan]):
    """The kernel calls that passes change. A number means one call, and is never used again for another one."""

    def __init__(self, plan: Plan, recording: StateRecording[Plan] | None = None) -> None:
        super().__init__(plan, max(plan.calls, default=-1) + 1, recording)

    def look(self, rule: Callable[[Plan, ReportSkipped], Plan]) -> Outcome[Plan]:
        kept: list[Kept] = []
        before = self.state
        after = rule(before, lambda number, reason: kept.append(Kept(number, reason)))
        names = fresh_numbers(before, after, self.fresh.__next__)
        after = renumbered(after, names)
        done = list(replacements(before, after, names))
        if not done and (list(before.calls) != list(after.calls) or before.slots != after.slots):
            done = [Replacement((), (), after.outputs[:1])]
        return Outcome(after if done else before, done, kept)

    def verify(self) -> None:
        """Raises: GraphError if a kernel call reads a later one, or a value that has been overwritten."""
        plan = self.state
        seen: set[int] = set()
        holds: dict[int, int] = {}
        for number, call in plan.calls.items():
            for one in call.inputs:
                if one not in seen:
                    raise GraphError(f"kernel call {number} reads {one}, which is not evaluated before it")
                if one in plan.slots and holds[plan.slots[one]] != one:
                    raise GraphError(f"kernel call {number} reads {one}, whose slot has another value by then")
            seen.add(number)
            if number in plan.slots:
                holds[plan.slots[number]] = number
        for one in plan.outputs:
            if one not in seen or (one in plan.slots and holds[plan.slots[one]] != one):
                raise GraphError(f"the output {one} is not evaluated, or its slot has another value in the end")

    def __len__(self) -> int:
        return len(self.state)


def _pass_of(name: str, made: PlanPass) -> StatePass:
    titles = [title for kind in made.looks_at for title in titles_of(kind)]
    return StatePass(name, made.change, KERNELS, Exactness.REAL, OR.join(titles) or ANY_OPERATOR)


passes: PassRegistry[_WorkingKernels] = PassRegistry({name: _pass_of(name, one) for name, one in PASSES.items()})
"""All passes on kernel calls."""

KERNELS_PIPELINE = FunctionPassPipeline.of_listed(LISTED[KERNELS], DCERequiredMode.NONE)
"""All passes in their order."""


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

    recorded = Recorded(recorder, explainer_of(_WorkingKernels, passes), examples, run_layers)
    with recorded.kept_on_failure():
        manager.run(_WorkingKernels(plan, recording))
    return recorded.trace(fast(subject))


def _note(snapshot: KernelsSnapshot) -> str:
    tables, rows = snapshot.stats["tables"], snapshot.records.rows
    read = f"; the calls read {tables:,} {'table' if tables == 1 else 'tables'}" if tables else ""
    return f"A kernel call evaluates one fold of a layer for a tile of {rows} rows{read}."
