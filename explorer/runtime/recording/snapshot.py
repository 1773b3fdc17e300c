"""The state of the units after a step."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from explorer.backend import EvaluatedCircuit
from explorer.graph import Graph
from explorer.runtime.circuit import FastCircuit
from explorer.runtime.recording.memory import memory_of
from explorer.runtime.recording.records import UnitRecords
from explorer.runtime.recording.running import run_units
from explorer.runtime.units import Units
from explorer.runtime.work import FLOAT_BYTES, Work, measure_work, total_work
from explorer.trace import MemoryRecord, NodeRecord


def call_with(module: torch.nn.Module, x: Any) -> torch.Tensor:
    """The result for arguments, or for a batch alone."""
    return module(*x) if isinstance(x, tuple) else module(x)


@dataclass(frozen=True, eq=False)
class UnitsSnapshot:
    """Units, and the circuit that has their numbers."""

    units: Units
    circuit_of_units: EvaluatedCircuit
    records: UnitRecords

    def with_units(self, units: Units) -> "UnitsSnapshot":
        """The state after a pass."""
        return replace(self, units=units)

    @property
    def graph(self) -> Graph[NodeRecord]:
        """What is computed, and the tables that it reads."""
        return self._graph

    @cached_property
    def _graph(self) -> Graph[NodeRecord]:
        return self.records.graph_of(self.units, self.work)

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes, twice: a unit is one fold."""
        return len(self.graph), len(self.graph)

    @property
    def change(self) -> None:
        """Unknown: the graphs of two states have to be compared."""
        return None

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        """Nothing is folded at this level."""
        return {}

    @property
    def memory(self) -> MemoryRecord:
        """The values for a tile: from when to when each is kept, and in which slot."""
        return self._memory

    @cached_property
    def _memory(self) -> MemoryRecord:
        return memory_of(self.units, self.records.rows)

    @cached_property
    def work(self) -> Mapping[int, Work]:
        """The operations and bytes of each computed unit for a tile."""
        return measure_work(self.units, self.circuit_of_units, self.records.rows)

    @property
    def stats(self) -> Mapping[str, int]:
        """Units that are computed, tables that they read, operations and bytes for a tile, and the slots of values."""
        return self._stats

    @cached_property
    def _stats(self) -> Mapping[str, int]:
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
