"""The trace of one compilation by Inductor, made of what was heard."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import fx, nn

from explorer.adapters.inductor.calls import Calls, kernel_key
from explorer.adapters.inductor.fx_copies import inputs_of
from explorer.adapters.inductor.fx_states import FxStates, decomposition, title_of
from explorer.adapters.inductor.heard import (
    BACKWARD,
    BETWEEN,
    DECOMPOSED,
    FORWARD,
    WHOLE,
    HeardCompilation,
    HeardKernel,
    HeardPart,
    HeardPartition,
    HeardPass,
    HeardScheduling,
)
from explorer.adapters.inductor.rounds import round_of
from explorer.adapters.inductor.training import AGAIN, DROP, SAVE, Division, is_gradient, with_gradients
from explorer.adapters.snapshot import Running, WatchedSnapshot
from explorer.adapters.timeline import Timeline, changes_between, first_refusal
from explorer.errors import CircuitError
from explorer.graph import Graph
from explorer.levels import Recorded, run_options
from explorer.trace import WATCHED, Listener, NodeRecord, Recorder, RuleDescription, Stage, Trace

STAGES: Mapping[str, str] = {"pre_grad": "pre-grad", "joint_graph": "joint graph", "post_grad": "post-grad"}
PURPOSES: Mapping[str, str] = {
    "decompose": "AOTAutograd makes the program functional and replaces its operators by those of ATen.",
    "lower": "Replace operators by loops that Inductor writes, and by calls of libraries; views become indices.",
    "fuse": "Fuse two nodes of the scheduler that share a buffer into one, the pair with the best score first.",
    "codegen": "Write functions: consecutive loops that run on the CPU become one function.",
    SAVE: "The backward part reads a value of the forward part from memory.",
    AGAIN: "The backward part computes a value of the forward part again, instead of reading it from memory.",
    DROP: "Drop an operator that nothing reads, or that another one repeats.",
    BETWEEN: "Changes that no pass with a name has made.",
}
"""The purposes of the rules that are not passes with a name of their own."""


def trace_of(
    heard: HeardCompilation,
    name: str,
    rerun: Callable[[str, int], nn.Module] | None = None,
    listeners: Sequence[Listener] = (),
) -> Trace:
    """The trace of a compilation; `rerun` compiles a part up to a round, for states that cannot be run by themselves.

    A training step has one: its joint graph is divided into a forward and a backward part, which stay in one state.
    """
    recorder = Recorder()
    timeline = Timeline((recorder, *listeners))
    rules = _rules(heard)
    options = run_options(WATCHED, name, [rule.name for rule in rules], mode=heard.mode, layout="")
    timeline.begin({**options, "compiler": f"torch.compile, torch {torch.__version__}"}, rules)
    states = FxStates(timeline.numbers.__next__, heard.inputs, heard.parameters)
    whole = _Part(heard, timeline, states, heard.captured, heard.attributes, rerun)
    if heard.mode == "train":
        whole.show = partial(_with_module, with_gradients)
    last = [whole]
    try:
        timeline.captured(whole.show(states.state_of(heard.captured, heard.attributes)))
        whole.record(heard.whole)
        if heard.partition is not None:
            last = _divide(whole, heard.partition)
            for part in last:
                if part.name not in heard.parts:
                    timeline.note(f"The {part.name} part was not compiled: nothing has asked for it.")
                    break
                part.record(heard.parts[part.name])
    except Exception as error:  # noqa: BLE001 (a program that is not understood has a shorter trace, which says so)
        heard.missed.append(f"The steps behind this one were not understood: {type(error).__name__}: {error}")
        if not timeline.has_state:
            timeline.captured(WatchedSnapshot(Graph[NodeRecord]({}, {}, ())))
    if heard.error:
        timeline.on_failure(heard.error)
    for text in _notes(heard, last, has_calls=bool(timeline.snapshot.calls)):
        timeline.note(text)
    return Recorded(recorder, first_refusal, heard.arguments, None).trace(heard.whole.compiled)


@dataclass(eq=False)
class _Part:
    """A graph on its way to code: the program, or the forward or backward part of a training step.

    `show` completes a state of it. `outputs` are the numbers of the tensors that its last state returns.
    """

    heard: HeardCompilation
    timeline: Timeline
    states: FxStates
    graph: fx.Graph
    attributes: Mapping[str, Any]
    rerun: Callable[[str, int], nn.Module] | None
    name: str = WHOLE
    show: Callable[[WatchedSnapshot], WatchedSnapshot] = lambda state: state
    last: WatchedSnapshot | None = None
    outputs: tuple[int | None, ...] = ()

    def record(self, told: HeardPart) -> None:
        """Record what was heard: passes, and what the scheduler made of the graph behind them."""
        for one in told.passes:
            self.record_pass(one)
        if told.scheduling is not None:
            self.record_scheduling(told.scheduling, told.compiled)

    def shown(self, state: WatchedSnapshot, outputs: tuple[int | None, ...]) -> WatchedSnapshot:
        """Complete the state that is the last one from now on."""
        self.last, self.outputs = state, outputs
        return self.show(state)

    def state_of(self, one: HeardPass, graph: fx.Graph, keep: Mapping[str, int] | None = None) -> WatchedSnapshot:
        """The state with the graph after a pass."""
        return self.shown(self.states.state_of(graph, one.attributes, keep), self.states.outputs)

    def path(self, *stages: Stage | str) -> tuple[Stage | str, ...]:
        """The path of a step."""
        return (self.name, *stages) if self.name else stages

    def record_pass(self, one: HeardPass) -> None:
        """Record a pass over the FX graph."""
        path = self.path(STAGES.get(one.stage, one.stage), one.name)
        if one.graph is None:
            self.timeline.unchanged(path, one.seconds)
            return
        before, old = self.timeline.snapshot, self.states.numbers
        if one.name == DECOMPOSED:
            keep = self._same_inputs(self.graph, one.graph)
            if self.heard.partition is not None:
                division = Division(self.heard.partition, one.graph, self.states.parameters)
                self.show = partial(_with_module, division.joint_module if division.can_run(self.heard) else None)
            after = self.state_of(one, one.graph, keep)
            changes = decomposition(before, after, one.graph, old, self.states.numbers)
        else:
            after = self.state_of(one, one.graph)
            changes = changes_between(one.name, before.graph, after.graph, one.seconds)
        self.timeline.state(path, after, one.seconds, changes)
        self.graph, self.attributes = one.graph, one.attributes

    def _same_inputs(self, before: fx.Graph, after: fx.Graph) -> dict[str, int]:
        """The numbers of the inputs under the names that AOTAutograd gives them; parameters get these names, too.

        Gradients of outputs come behind them.
        """
        old, new = inputs_of(before), inputs_of(after)
        gradients = [one for one in new if is_gradient(one)]
        if len(old) + len(gradients) != len(new):
            return {}
        states, named = self.states, dict(zip(new, old, strict=False))
        states.inputs = {one: states.inputs.get(other, other) for one, other in named.items()}
        states.inputs |= {one: f"gradient of output {number}" for number, one in enumerate(gradients)}
        states.parameters = {
            one: states.parameters[other] for one, other in named.items() if other in states.parameters
        }
        numbers, records = states.numbers, states.records
        states.records = {one: records[other] for one, other in named.items() if other in records}
        states.numbers = {}
        return {one: numbers[other] for one, other in named.items() if other in numbers}

    def record_scheduling(self, scheduling: HeardScheduling, compiled: Callable[..., Any] | None) -> None:
        """Record lowering, the rounds of fusion, and the generated functions."""
        timeline = self.timeline
        captured = {node.name: node for node in self.heard.captured.nodes}
        calls = Calls(scheduling, self.states, self.graph, captured, self.name)

        def state(names: Sequence[str], module: Any, kernels: Sequence[HeardKernel] = ()) -> WatchedSnapshot:
            return self.shown(calls.state_of(names, module, kernels), calls.outputs)

        def up_to(number: int) -> Callable[[], nn.Module] | None:
            return None if self.rerun is None else partial(self.rerun, self.name, number)

        names = list(scheduling.names)
        before, after = timeline.snapshot, state(names, up_to(0))
        timeline.state(self.path("lower"), after, scheduling.lower_seconds, calls.lowering(before, after))
        for number, one in enumerate(scheduling.rounds, 1):
            told, groups = round_of(one, names, calls.numbers)
            names = list(groups.members())
            after = state(names, up_to(number)) if told.merges else timeline.snapshot
            timeline.round(self.path("fuse", Stage("round", number)), told, calls.numbers, after, one.seconds)
        if scheduling.kernels:
            kernels = calls.with_empty_nodes(scheduling.kernels)
            functions = {part: kernel for kernel in kernels for part in kernel.nodes}
            final = list(dict.fromkeys(kernel_key(functions[name]) if name in functions else name for name in names))
            before = timeline.snapshot
            whole = None if compiled is None else partial(compiled_module, self.heard, self.name)
            after = state(final, whole, kernels)
            timeline.state(self.path("codegen"), after, scheduling.codegen_seconds, calls.grouping(kernels, before))
            for text in calls.kept_apart(kernels, self.heard.apart):
                timeline.note(text)


def _divide(whole: _Part, partition: HeardPartition) -> list[_Part]:
    """Record the partition of a joint graph; returns its forward and its backward part, which stay in one state."""
    heard, timeline, old = whole.heard, whole.timeline, whole.states.numbers
    division = Division(partition, whole.graph, whole.states.parameters)
    states = division.halves(whole.states)
    graphs = (partition.forward, partition.forward_attributes), (partition.backward, partition.backward_attributes)
    first, second = (
        _Part(heard, timeline, state, *graph, whole.rerun, name, last=state.state_of(*graph), outputs=state.outputs)
        for state, graph, name in zip(states, graphs, (FORWARD, BACKWARD), strict=True)
    )
    numbers = dict(states[1].numbers)

    def both(_: WatchedSnapshot | None = None) -> WatchedSnapshot:
        assert first.last is not None
        assert second.last is not None
        return division.joined(heard, first.last, first.outputs, second.last, numbers)

    first.show = second.show = both
    before, after = timeline.snapshot, both()
    timeline.state(("partition",), after, partition.seconds, division.changes(before.graph, after.graph, old, numbers))
    timeline.note(division.note(after, numbers))
    return [first, second]


def _with_module(wrap: Callable[[nn.Module], nn.Module] | None, state: WatchedSnapshot) -> WatchedSnapshot:
    """A state of a joint graph, that runs as a module of the arguments of the captured program."""
    module = state.module
    return replace(state, module=None if wrap is None or module is None else lambda: wrap(module()))


def compiled_module(heard: HeardCompilation, part: str = WHOLE) -> nn.Module:
    """What was compiled, as a module of its arguments. Raises: CircuitError if nothing was."""
    compiled = heard.parts[part].compiled if part in heard.parts else None
    if compiled is None:
        raise CircuitError(f"the compilation failed: {heard.error}")
    return Running((lambda *arguments: compiled(list(arguments))) if part or heard.is_boxed else compiled)


def _rules(heard: HeardCompilation) -> tuple[RuleDescription, ...]:
    told = heard.parts.values()
    passes = [one.name for some in told for one in some.passes]
    every = ["decompose"] * (DECOMPOSED in passes) + [one for one in passes if one != DECOMPOSED]
    every += [SAVE, AGAIN, DROP] if heard.partition is not None else []
    every += ["lower", "fuse", "codegen"] if any(one.scheduling is not None for one in told) else []
    return tuple(_rule(name) for name in dict.fromkeys(every))


def _rule(name: str) -> RuleDescription:
    entries = ("a call", "a call that shares a buffer with it") if name == "fuse" else ("an operator",)
    return RuleDescription(name, name, entries, WATCHED, "real", PURPOSES.get(name, ""), "", guarded=name == "fuse")


def _notes(heard: HeardCompilation, last: Sequence[_Part], has_calls: bool) -> Iterator[str]:
    yield from heard.missed
    not_heard = heard.whole.scheduling is None and heard.partition is None
    if has_calls and not_heard and not heard.error and not heard.missed:
        yield "Lowering and fusion of this graph were not heard."
    nodes = [(node, part.attributes.get(str(node.target))) for part in last for node in part.graph.nodes]
    bodies = [node for node, named in nodes if node.op == "get_attr" and isinstance(named, fx.GraphModule)]
    if calls := dict.fromkeys(title_of(user) for body in bodies for user in body.users):
        yield f"The bodies of {', '.join(calls)} are left out: they are compiled as graphs of their own."
