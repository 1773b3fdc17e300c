"""A training step as one state: the forward and the backward part, and the values that one saves for the other."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import fx, nn
from torch.utils import _pytree as pytree

from explorer.adapters.inductor.fx_copies import inputs_of
from explorer.adapters.inductor.fx_states import FxStates, num_bytes, size_hint, tensor_outputs
from explorer.adapters.inductor.heard import HeardCompilation, HeardPartition
from explorer.adapters.snapshot import NO_CALLS, Mark, Running, WatchedSnapshot
from explorer.graph import Graph
from explorer.levels import Change
from explorer.trace import NodeRecord

SAVE, AGAIN, DROP = "save for backward", "compute again", "drop"
"""The rules of the partition: a value is saved, or computed again by the backward part, or nothing reads it."""


@dataclass(frozen=True, eq=False)
class Division:
    """The decisions of the partitioner."""

    heard: HeardPartition
    joint: fx.Graph
    parameters: Mapping[str, str]

    @cached_property
    def saved(self) -> Mapping[str, int]:
        """The inputs of the backward part that the forward part saves, each with its position in the outputs."""
        outputs = pytree.tree_leaves(self.heard.forward.output_node().args[0])
        names = {one.name: place for place, one in enumerate(outputs) if place >= self.heard.num_outputs}
        return {name: names[name] for name in inputs_of(self.heard.backward) if name in names}

    @cached_property
    def again(self) -> tuple[str, ...]:
        """The operators of the forward part that the backward part computes again."""
        forward = {node.name for node in self.heard.forward.nodes if node.op == "call_function"}
        return tuple(n.name for n in self.heard.backward.nodes if n.op == "call_function" and n.name in forward)

    def note(self, state: WatchedSnapshot, numbers: Mapping[str, int]) -> str:
        """Say what is saved and what is computed again, with bytes; parameters are there anyway."""
        nodes = {node.name: node for node in self.heard.forward.nodes}
        sizes = {name: num_bytes(nodes[name]) for name in self.saved if name not in self.parameters}
        again = [state.graph.nodes[numbers[name]] for name in self.again if name in numbers]
        calls = [one for one in again if one.kind not in NO_CALLS]
        largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:5]
        named = ", ".join(f"{name} ({sizes[name]:,})" for name in largest)
        bytes_again = sum(one.config.get("bytes", 0) for one in calls)
        return (
            f"Saved for backward: {len(sizes)} values, {sum(sizes.values()):,} bytes, besides parameters"
            f"{f'; the largest: {named}' if named else ''}. "
            f"Computed again in backward: {len(calls)} calls, whose values have {bytes_again:,} bytes."
        )

    def changes(
        self, before: Graph[NodeRecord], after: Graph[NodeRecord], old: Mapping[str, int], new: Mapping[str, int]
    ) -> list[Change]:
        """The decisions as changes; `new` are the numbers of the nodes of the backward part."""
        saved = [old[name] for name in self.saved if name in old and old[name] in after.nodes]
        changes = [Change(SAVE, (node,), (), (), 0.0) for node in saved]
        for name in self.again:
            if name in old and name in new:
                changes.append(Change(AGAIN, (old[name],), (old[name],), (new[name], old[name]), 0.0))
        changes += [Change(DROP, (node,), (node,), (), 0.0) for node in before.nodes if node not in after.nodes]
        return changes

    # ------------------------------------------------------------------ states

    def halves(self, states: FxStates) -> tuple[FxStates, FxStates]:
        """The states of the parts: a node has its number still, unless it is computed again or a saved value."""
        numbers, records = states.numbers, states.records
        inputs = {**states.inputs}
        forward = FxStates(states.fresh, inputs, self.parameters, {**numbers}, {**records}, self.heard.num_outputs)
        forward.marks = dict.fromkeys(self.saved, "saved for backward")
        twice = {*self.again, *self.saved} - {*inputs_of(self.heard.forward)}
        kept = {name: number for name, number in numbers.items() if name not in twice}
        backward = FxStates(states.fresh, inputs, self.parameters, kept, {name: records[name] for name in kept})
        backward.marks = dict.fromkeys(self.again, "computed again in backward")
        return forward, backward

    def joined(
        self,
        heard: HeardCompilation,
        forward: WatchedSnapshot,
        outputs: Sequence[int | None],
        backward: WatchedSnapshot,
        ports: Mapping[str, int],
    ) -> WatchedSnapshot:
        """Both parts as one state; `outputs` are the nodes of the tensors that forward returns.

        `ports` are the numbers of the inputs of the backward part.
        """
        places = {one.name: place for place, one in enumerate(tensor_outputs(self.heard.forward))}
        written = {ports[name]: outputs[places[name]] for name in self.saved if name in ports and name in places}
        first, second = forward.graph, backward.graph
        nodes = {**first.nodes, **{n: one for n, one in second.nodes.items() if n not in written}}
        inputs = {n: second.inputs[n] for n in second.nodes if n not in written} | dict(first.inputs)
        for node, read in inputs.items():
            if node not in first.nodes:
                found = (written.get(one, one) for one in read)
                inputs[node] = tuple(dict.fromkeys(one for one in found if one is not None))
        results = [one for one in outputs[: self._num_results] if one is not None]
        gradients = [written.get(one, one) for one in second.outputs]
        graph = Graph[NodeRecord](nodes, inputs, (*results, *(one for one in gradients if one is not None)))
        lines = {**forward.lines, **backward.lines}
        module = self._step_module(heard, forward.module, backward.module)
        marks = None if forward.marks is None or backward.marks is None else partial(_both, forward, backward)
        return WatchedSnapshot(graph, module, "this training step cannot be run", lines, marks)

    @cached_property
    def _num_results(self) -> int:
        results = pytree.tree_leaves(self.heard.forward.output_node().args[0])[: self.heard.num_outputs]
        return sum(isinstance(one, fx.Node) and one in tensor_outputs(self.heard.forward) for one in results)

    # ------------------------------------------------------------------ running

    def can_run(self, heard: HeardCompilation) -> bool:
        """Whether the parts read and return what the captured program does, saved values, and gradients of outputs."""
        same = len(inputs_of(self.heard.forward)) == len(inputs_of(heard.captured))
        returned = pytree.tree_leaves(heard.captured.output_node().args[0])
        known = {*inputs_of(self.heard.backward)} <= {*self.saved, *self._gradients}
        return same and known and len(returned) == self.heard.num_outputs

    @cached_property
    def _gradients(self) -> Mapping[str, torch.Tensor]:
        """The gradients of the outputs, by the names of the inputs that they are: ones, as of a sum."""
        return {one.name: _ones(one) for one in self.joint.nodes if one.op == "placeholder" and is_gradient(one.name)}

    def joint_module(self, module: nn.Module) -> nn.Module:
        """A joint graph as a module of the arguments of the captured program."""
        gradients = [*self._gradients.values()]
        return Running(torch.no_grad()(lambda *arguments: module(*arguments, *gradients)))

    def _step_module(
        self, heard: HeardCompilation, forward: Callable[[], nn.Module] | None, backward: Callable[[], nn.Module] | None
    ) -> Callable[[], nn.Module] | None:
        if forward is None or backward is None or not self.can_run(heard):
            return None
        order = [self.saved.get(name, self._gradients.get(name)) for name in inputs_of(self.heard.backward)]

        def make() -> nn.Module:
            first, second = forward(), backward()

            @torch.no_grad()
            def run(*arguments: Any) -> Any:
                given = list(first(*arguments))
                results = given[: self.heard.num_outputs]
                read = [given[one] if isinstance(one, int) else one for one in order]
                del given
                return results, second(*read)

            return Running(run)

        return make


@contextmanager
def _both(forward: WatchedSnapshot, backward: WatchedSnapshot, mark: Mark) -> Generator[None]:
    with forward.marked(mark), backward.marked(mark):
        yield


def is_gradient(name: str) -> bool:
    """Whether an input of a joint graph is the gradient of an output."""
    return name.startswith("tangents")


def _ones(node: fx.Node) -> torch.Tensor:
    value = node.meta["val"]
    sizes, strides = ([size_hint(size) or 0 for size in one] for one in (value.shape, value.stride()))
    return torch.empty_strided(sizes, strides, dtype=value.dtype, device=value.device).fill_(1)


def with_gradients(program: nn.Module) -> nn.Module:
    """A captured program that also returns the gradients of the sum of its outputs, of the arguments that need one."""

    @torch.enable_grad()
    def run(*arguments: Any) -> Any:
        outputs = program(*arguments)
        needed = [one for one in arguments if isinstance(one, torch.Tensor) and one.requires_grad]
        return outputs, _gradients(outputs, needed)

    return Running(run)


def differentiate(outputs: Any) -> bool:
    """Compute the gradients of the sum of outputs and drop them; returns False if no output needs one."""
    leaves = [*_leaves(_needing_gradients(outputs))]
    if leaves:
        _gradients(outputs, leaves)
    return bool(leaves)


def _gradients(outputs: Any, needed: Sequence[torch.Tensor]) -> Any:
    given = _needing_gradients(outputs)
    return torch.autograd.grad(given, needed, [torch.ones_like(one) for one in given], allow_unused=True)


def _needing_gradients(outputs: Any) -> list[torch.Tensor]:
    return [one for one in pytree.tree_leaves(outputs) if isinstance(one, torch.Tensor) and one.grad_fn is not None]


def _leaves(outputs: Sequence[torch.Tensor]) -> Iterator[torch.Tensor]:
    """The tensors whose gradients autograd would accumulate."""
    waiting: list[Any] = [one.grad_fn for one in outputs]
    seen: set[Any] = set()
    while waiting:
        function = waiting.pop()
        if function is not None and function not in seen:
            seen.add(function)
            leaf = getattr(function, "variable", None)
            if leaf is not None:
                yield leaf
            waiting += [one for one, _ in function.next_functions]
