"""The state of a program after a step, and the edits that led to it as changes of its graph.

Steps of a training program are compared by their outputs together with their gradients.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.func import functional_call
from torch.utils import _pytree as pytree

from explorer.graph import Graph
from explorer.levels import Change, LevelSnapshot
from explorer.program.editing import Edit
from explorer.program.ir.instructions import Copy, Role, View, runs
from explorer.program.ir.program import Program
from explorer.program.memory.sharing import memory_record, why_not_shared
from explorer.program.recording.instruction_records import Links, RecordCache, graph_of, links_of
from explorer.program.running.executor import poison
from explorer.program.running.module import to_program_module
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Arguments, Interface
from explorer.tensor.recording.tensor_snapshot import run
from explorer.tensor.torch_io.exporting import to_module
from explorer.tensor.torch_io.joint import JointGraph
from explorer.trace import MemoryRecord, NodeRecord


@dataclass(frozen=True, eq=False, repr=False)
class ProgramSnapshot(LevelSnapshot[MemoryRecord]):
    """A program, and the graph that it was lowered from, which has the values of the weights."""

    program: Program
    source: FunctionGraph | JointGraph
    cache: RecordCache
    why_no_backward: str = ""
    """Reason why a program for training has no backward pass."""

    @classmethod
    def of(cls, program: Program, source: FunctionGraph | JointGraph, why_no_backward: str = "") -> Self:
        """The snapshot of a program that was lowered, in which records know where the operators are."""
        graph = source.graph if isinstance(source, JointGraph) else source
        return cls(program, source, RecordCache({node.id: node.location for node in graph.nodes}), why_no_backward)

    @property
    def state(self) -> Program:
        return self.program

    def with_state(self, state: Program) -> Self:
        return replace(self, program=state)

    def shows(self, number: int) -> bool:
        return number in self.links.inputs

    def describe(self, rule: str, edits: Sequence[Edit], after: Self, seconds: float) -> list[Change]:
        before = Linked(self.program, self.links)
        return changes_of(rule, edits, before, Linked(after.program, after.links), seconds)

    def make_graph(self) -> Graph[NodeRecord]:
        """The instructions that compute, and their reads."""
        return graph_of(self.program, self.links, self.cache)

    @cached_property
    def links(self) -> Links:
        """The graph without its records, which is much faster to compute."""
        return links_of(self.program)

    def make_memory(self) -> MemoryRecord:
        """The buffers: when each is alive, and where it is."""
        return replace(memory_record(self.program), sharing=partial(why_not_shared, self.program))

    def make_stats(self) -> Mapping[str, int]:
        """Instructions that run, copies among them, views, buffers, their bytes, and the most at one moment."""
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

    def circuit(self) -> Any:
        """A module that runs the program."""
        return to_program_module(self.source, self.program, self.why_no_backward)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The results of the module for a tuple of arguments, and gradients if it has some; mutable state is copied.

        The program runs in poisoned memory: it has nothing from an earlier call.
        """
        module = to_program_module(self.source, self.program, self.why_no_backward, poison)
        if isinstance(self.source, JointGraph):
            return _run_with_gradients(module, learned_of(self.source, module), x)
        return run(deepcopy(module) if self.source.interface.mutations else module, x)


class Linked(NamedTuple):
    """A program and the links of its graph."""

    program: Program
    links: Links


def changes_of(rule: str, edits: Sequence[Edit], before: Linked, after: Linked, seconds: float) -> list[Change]:
    """The changes of the graph by edits that were done together; each took `seconds`."""
    readers = _first_readers(before) if any(edit.weights for edit in edits) else {}
    old, new = before.links.inputs, after.links.inputs
    changes: list[Change] = []
    for edit, added in zip(edits, _added(edits, before, after), strict=True):
        removed = tuple(one for one in edit.removed if one in old and one not in new)
        became = tuple(one for one in edit.became if one in new and one not in added)
        changes.append(Change(rule, _matched(before, edit, readers), removed, added, seconds, became))
    return changes


def _first_readers(before: Linked) -> dict[int, int]:
    """The first node of the graph that reads each buffer or weight."""
    program, known = before.program, before.links.inputs
    found: dict[int, int] = {}
    for one in program.instructions:
        if one.id in known:
            for value in one.values_read:
                found.setdefault(program.origin(value), one.id)
    return found


def _matched(before: Linked, edit: Edit, readers: Mapping[int, int]) -> tuple[int, ...]:
    """The nodes of the graph that an edit is about; of a weight the first one that reads it; else those next to it."""
    known = before.links.inputs
    found = tuple(number for number in dict.fromkeys(edit.matched) if number in known)
    found = found or tuple(dict.fromkeys(readers[number] for number in edit.matched if number in readers))
    if found:
        return found
    program = before.program
    places = [program.positions[n] for n in (*edit.matched, *edit.removed) if n in program.positions]
    following = program.moments[min(places, default=0)]
    return (program.running[following] if following < len(program.running) else next(iter(known)),)


def _added(edits: Sequence[Edit], before: Linked, after: Linked) -> list[tuple[int, ...]]:
    """For each edit the nodes of the graph that it adds.

    A view is in the graph if something reads it after the last write of its memory. One that appears because
    instructions moved belongs to the first edit with nodes that read it, or to the last edit.
    """
    old, sources = before.links.inputs, after.links.inputs
    new = [node for node in sources if node not in old]
    made = [(*(one.id for one in edit.changed), *(found.instruction.id for found in edit.placed)) for edit in edits]
    owner = {node: number for number, nodes in enumerate(made) for node in nodes}
    readers = {source: node for node in reversed(new) for source in sources[node]}
    for node in reversed(new):
        if node not in owner:
            owner[node] = owner.get(readers.get(node, -1), len(edits) - 1)
    found: list[list[int]] = [[] for _ in edits]
    for node in new:
        found[owner[node]].append(node)
    return list(map(tuple, found))


@dataclass(frozen=True, slots=True)
class Learned:
    """The tensors with compared gradients: parameters by name, and inputs by position."""

    parameters: tuple[str, ...]
    inputs: frozenset[int]
    interface: Interface


def learned_of(joint: JointGraph, module: nn.Module) -> Learned:
    """The tensors of a module of a joint graph that require a gradient."""
    names = tuple(name for name, parameter in module.named_parameters() if parameter.requires_grad)
    inputs = frozenset(position for position in joint.learned if position < len(joint.forward.inputs))
    return Learned(names, inputs, joint.forward.interface)


def _run_with_gradients(module: nn.Module, learned: Learned, x: Any) -> tuple[Tensor, ...]:
    """The tensors that a module returns, then the gradients of its parameters and inputs, for fixed tangents.

    Random operators start with the same seed each time, and mutable state is copied. A tensor on which no output
    depends has the gradient 0.
    """
    state = {name: buffer.clone() for name, buffer in module.named_buffers()}
    args, kwargs, inputs = _with_gradients(learned, x)
    wanted = [*(module.get_parameter(name) for name in learned.parameters), *inputs]
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        given = functional_call(module, state, args, kwargs)
        outputs = [value for value in pytree.tree_leaves(given) if isinstance(value, Tensor)]
        chosen = [value for value in outputs if value.requires_grad]
        tangents = [_tangent(value) for value in chosen]
        found = torch.autograd.grad(chosen, wanted, tangents, allow_unused=True) if chosen else [None] * len(wanted)
    gradients = (torch.zeros_like(v) if g is None else g for v, g in zip(wanted, found, strict=True))
    return tuple(value.detach() for value in (*outputs, *gradients))


def _with_gradients(learned: Learned, x: Any) -> tuple[tuple[Any, ...], dict[str, Any], list[Tensor]]:
    """The arguments and keywords of a call, in which the learned inputs, which follow, require a gradient."""
    by_name = dict(x.by_name) if isinstance(x, Arguments) else {}
    given = learned.interface.ordered_arguments(tuple(x) if isinstance(x, tuple) else (x,), by_name)
    leaves, spec = pytree.tree_flatten(given)
    tensors = [position for position, value in enumerate(leaves) if isinstance(value, Tensor)]
    inputs: list[Tensor] = []
    for i, position in enumerate(tensors):
        leaves[position] = leaves[position].detach().requires_grad_(i in learned.inputs)
        inputs += [leaves[position]] if i in learned.inputs else []
    args, kwargs = pytree.tree_unflatten(leaves, spec)
    return args, kwargs, inputs


def run_source_with_gradients(
    program: ExportedProgram, graph: FunctionGraph, learned: Learned, x: Any
) -> tuple[Tensor, ...]:
    """As `_run_with_gradients`, of the program that PyTorch exported.

    If autograd refuses that, because it changes a buffer that its gradients need, of the operators of its graph.
    """
    try:
        return _run_with_gradients(program.module(), learned, x)
    except RuntimeError:
        return _run_with_gradients(to_module(graph), learned, x)


def _tangent(like: Tensor) -> Tensor:
    """Numbers from 0.5 to 1.5: with equal ones, gradients of what is normalized would vanish."""
    ramp = torch.linspace(0.5, 1.5, max(like.numel(), 1), device=like.device)[: like.numel()]
    return torch.empty_like(like).copy_(ramp.reshape(like.shape))
