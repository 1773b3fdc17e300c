"""The state of the kernel calls after a step, their values as buffers, and a circuit that is run by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchCircuit
from explorer.errors import LoweringError
from explorer.graph import Graph
from explorer.levels import Change, LevelSnapshot
from explorer.runtime.backends import Choice
from explorer.runtime.circuit import FastCircuit
from explorer.runtime.native.native_program import NativeProgram
from explorer.runtime.plan import Plan
from explorer.runtime.plan.order import with_slots
from explorer.runtime.recording.kernel_records import KernelRecords, Replacement, value_type
from explorer.runtime.work import FLOAT_BYTES, Work, measure_work, total_work
from explorer.trace import BufferRecord, MemoryRecord, NodeRecord, most_bytes


def call_with(module: torch.nn.Module, x: Any) -> torch.Tensor:
    """The result for arguments, or for a batch alone."""
    return module(*x) if isinstance(x, tuple) else module(x)


@dataclass(frozen=True, eq=False, repr=False)
class KernelsSnapshot(LevelSnapshot[MemoryRecord]):
    """A plan, and the circuit that has its numbers."""

    plan: Plan
    compiled: EvaluatedCircuit
    records: KernelRecords

    @property
    def state(self) -> Plan:
        return self.plan

    def with_state(self, state: Plan) -> Self:
        return replace(self, plan=state)

    def shows(self, number: int) -> bool:
        return number in self.graph.nodes

    def describe(self, rule: str, edits: Sequence[Replacement], after: Self, seconds: float) -> list[Change]:
        return [Change(rule, one.matched, one.removed, one.added, seconds) for one in edits]

    def make_graph(self) -> Graph[NodeRecord]:
        """The calls that are computed, and the tables that they read."""
        return self.records.graph_of(self.plan, self.work)

    def make_memory(self) -> MemoryRecord:
        """The values for a tile: from when to when each is kept, and in which slot."""
        return memory_of(self.plan, self.records.rows)

    @cached_property
    def work(self) -> Mapping[int, Work]:
        """The operations and bytes of each computed call for a tile."""
        return measure_work(self.plan, self.compiled, self.records.rows)

    def make_stats(self) -> Mapping[str, int]:
        """Count kernel calls, tables that they read, operations and bytes for a tile, and the slots of values."""
        work = total_work(tuple(self.work.values()))
        written = sum(FLOAT_BYTES * call.width * self.records.rows for _, call in self.plan.computed())
        return {
            "calls": sum(1 for _ in self.plan.computed()),
            "tables": len(self.plan.read_tables),
            "flops": round(work.flops),
            "read_bytes": round(work.num_bytes),
            "activation_bytes": written,
            "slots": self.plan.num_slots,
            "peak_bytes": self.memory.size_bytes,
        }

    def circuit(self) -> FastCircuit:
        """The circuit with its present parameters, run by these calls. Raises: LoweringError without a compiler."""
        return _run_plan(self.compiled, self.plan)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The outputs for rows of data."""
        with torch.no_grad():
            return (call_with(self.circuit(), x).detach(),)


def memory_of(plan: Plan, rows: int) -> MemoryRecord:
    """The memory of the values for a tile of rows, each kept until it was last read.

    Without slots each value has memory of its own. All slots have the size of the widest value.
    """
    order = tuple(number for number, _ in plan.computed())
    moments = {number: moment for moment, number in enumerate(order)}
    readers: dict[int, list[int]] = {number: [] for number in order}
    for number in order:
        for one in dict.fromkeys(plan.calls[number].inputs):
            if one in readers:
                readers[one].append(number)
    outputs = frozenset(plan.outputs)
    slot_bytes = max((_size_bytes(plan, number, rows) for number in order), default=0)
    buffers = tuple(
        BufferRecord(
            number,
            value_type(plan.calls[number], rows),
            moments[number],
            len(order) if number in outputs else 1 + moments[readers[number][-1] if readers[number] else number],
            _size_bytes(plan, number, rows),
            plan.slots[number] * slot_bytes if plan.slots else None,
            (number, *readers[number]),
            ("w", *("r" * len(readers[number]))),
        )
        for number in order
    )
    size = plan.num_slots * slot_bytes if plan.slots else sum(one.size_bytes for one in buffers)
    lines = zip(plan.calls, plan.text().splitlines(), strict=False)
    listing = tuple((number, line) for number, line in lines if number in moments)
    return MemoryRecord(order, buffers, size, most_bytes(buffers), listing)


def _size_bytes(plan: Plan, number: int, rows: int) -> int:
    return FLOAT_BYTES * plan.calls[number].width * rows


class StepBackend:
    """The native kernels on given calls. Values that have no slots yet get them, in the order of the calls."""

    name = "native"
    trains = False

    def __init__(self, circuit: EvaluatedCircuit, plan: Plan) -> None:
        self.program = NativeProgram(circuit, plan if plan.slots else with_slots(plan))
        if reason := self.program.why_not():
            raise LoweringError(reason)

    def describe(self) -> str:
        """The plan."""
        return repr(self.program.plan)

    def why_not(self, x: Tensor) -> str:
        """Return the reason why it cannot answer a call with x; empty if it can."""
        return "" if x.device.type == "cpu" else "the kernels run on the CPU"

    def remark(self) -> str:
        """Return no remark: nothing happens later."""
        return ""

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The outputs (B, outputs, classes), and how many rows were not certified."""
        return None if self.why_not(x) else self.program.evaluate(x)


def _run_plan(circuit: EvaluatedCircuit, plan: Plan) -> FastCircuit:
    """The circuit with its present parameters, run by a plan. Raises: LoweringError if the kernels cannot run it."""
    snapshot = circuit.freeze() if isinstance(circuit, TorchCircuit) else circuit
    return FastCircuit(
        snapshot, StepBackend(snapshot, plan), (Choice("native", "used: the kernel calls of this step"),)
    )
