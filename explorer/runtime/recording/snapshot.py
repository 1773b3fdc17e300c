"""The state of the units after a step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import torch

from explorer.backend import EvaluatedCircuit
from explorer.graph import Graph
from explorer.levels import Change, LevelSnapshot
from explorer.runtime.circuit import FastCircuit
from explorer.runtime.recording.changes import Replacement
from explorer.runtime.recording.memory import memory_of
from explorer.runtime.recording.records import KernelRecords
from explorer.runtime.recording.running import run_units
from explorer.runtime.units import Plan
from explorer.runtime.work import FLOAT_BYTES, Work, measure_work, total_work
from explorer.trace import MemoryRecord, NodeRecord


def call_with(module: torch.nn.Module, x: Any) -> torch.Tensor:
    """The result for arguments, or for a batch alone."""
    return module(*x) if isinstance(x, tuple) else module(x)


@dataclass(frozen=True, eq=False)
class KernelsSnapshot(LevelSnapshot[MemoryRecord]):
    """A plan, and the circuit that has its numbers."""

    units: Plan
    circuit_of_units: EvaluatedCircuit
    records: KernelRecords

    @property
    def state(self) -> Plan:
        return self.units

    def with_state(self, state: Plan) -> Self:
        return replace(self, units=state)

    def shows(self, number: int) -> bool:
        return number in self.graph.nodes

    def describe(self, rule: str, edits: Sequence[Replacement], after: Self, seconds: float) -> list[Change]:
        return [Change(rule, one.matched, one.removed, one.added, seconds) for one in edits]

    def make_graph(self) -> Graph[NodeRecord]:
        """The units that are computed, and the tables that they read."""
        return self.records.graph_of(self.units, self.work)

    def make_memory(self) -> MemoryRecord:
        """The values for a tile: from when to when each is kept, and in which slot."""
        return memory_of(self.units, self.records.rows)

    @cached_property
    def work(self) -> Mapping[int, Work]:
        """The operations and bytes of each computed unit for a tile."""
        return measure_work(self.units, self.circuit_of_units, self.records.rows)

    def make_stats(self) -> Mapping[str, int]:
        """Plan that are computed, tables that they read, operations and bytes for a tile, and the slots of values."""
        work = total_work(tuple(self.work.values()))
        written = sum(FLOAT_BYTES * unit.width * self.records.rows for _, unit in self.units.computed())
        return {
            "units": sum(1 for _ in self.units.computed()),
            "tables": len(self.units.read_tables),
            "flops": round(work.flops),
            "read_bytes": round(work.num_bytes),
            "activation_bytes": written,
            "slots": self.units.num_slots,
            "peak_bytes": self.memory.size_bytes,
        }

    def circuit(self) -> FastCircuit:
        """The circuit with its present parameters, run by these units. Raises: LoweringError without a compiler."""
        return run_units(self.circuit_of_units, self.units)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The outputs for rows of data."""
        with torch.no_grad():
            return (call_with(self.circuit(), x).detach(),)
