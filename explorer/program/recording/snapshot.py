"""The state of a program after a step."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from typing import Any

import torch

from explorer.graph import Graph
from explorer.program.editing import Kept
from explorer.program.ir.instructions import Copy, Role, View, runs
from explorer.program.ir.program import Program
from explorer.program.memory.record import memory_record, why_not_shared
from explorer.program.passes import find_pass
from explorer.program.recording.gradients import learned_of, run_with_gradients
from explorer.program.recording.records import Links, RecordCache, graph_of, links_of
from explorer.program.running.executor import poison
from explorer.program.running.module import to_program_module
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.recording.snapshot import run
from explorer.tensor.torch_io.joint import JointGraph
from explorer.trace import MemoryRecord, NodeRecord, Refusal, RefusalKind


def refusal_of(name: str, kept: Kept) -> Refusal:
    """A near miss of a pass."""
    return Refusal(name, kept.root, 0, kept.root, RefusalKind.DECLINED, found=kept.reason)


@dataclass(frozen=True, eq=False)
class ProgramSnapshot:
    """A program, and the graph that it was lowered from, which has the values of the weights."""

    program: Program
    source: FunctionGraph | JointGraph
    cache: RecordCache
    why_no_backward: str = ""
    """Why a program for training has no backward pass."""

    @property
    def graph(self) -> Graph[NodeRecord]:
        """What computes, and what it reads."""
        return self._graph

    @cached_property
    def _graph(self) -> Graph[NodeRecord]:
        return graph_of(self.program, self.links, self.cache)

    @cached_property
    def links(self) -> Links:
        """The graph without its records, which is much faster to compute."""
        return links_of(self.program)

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes, twice: nothing is folded at this level."""
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
        """The buffers: when each is alive, and where it lies."""
        return self._memory

    @cached_property
    def _memory(self) -> MemoryRecord:
        return replace(memory_record(self.program), sharing=partial(why_not_shared, self.program))

    @property
    def stats(self) -> Mapping[str, int]:
        """Instructions that run, copies among them, views, buffers, their bytes, and the most at one moment."""
        return self._stats

    @cached_property
    def _stats(self) -> Mapping[str, int]:
        program = self.program
        running = [one for one in program.instructions if runs(one)]
        written = [program.definitions[value].type for one in running for value in one.values_written]
        weights = [weight.type for weight in program.weights if weight.role in (Role.WEIGHT, Role.CONSTANT)]
        return {
            "instructions": len(running),
            "copies": sum(isinstance(one, Copy) for one in running),
            "views": sum(isinstance(one, View) for one in program.instructions),
            "buffers": len(program.allocs),
            "parameters": sum(kind.size for kind in weights),
            "activation_bytes": sum(kind.size * kind.dtype.itemsize for kind in written),
            "allocated_bytes": sum(buffer.size_bytes for buffer in self.memory.buffers),
            "peak_bytes": self.memory.size_bytes,
        }

    def refusal(self, name: str, number: int) -> Refusal | None:
        """What a pass says of an instruction of this program, if it leaves it as it is."""
        known = find_pass(name)
        if known is None:
            return None
        found = known.rule(self.program, count(self.program.next_id))
        mine = (one for one in found if isinstance(one, Kept) and one.root == number)
        return next((refusal_of(name, one) for one in mine), None)

    def circuit(self) -> Any:
        """A module that runs the program."""
        return to_program_module(self.source, self.program, self.why_no_backward)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The results of the module for a tuple of arguments, and gradients if it has some; mutable state is copied.

        The program runs in poisoned memory: it has nothing from an earlier call.
        """
        module = to_program_module(self.source, self.program, self.why_no_backward, poison)
        if isinstance(self.source, JointGraph):
            return run_with_gradients(module, learned_of(self.source, module), x)
        return run(deepcopy(module) if self.source.interface.mutations else module, x)
