"""The trace of one compilation by Inductor, made of what was heard."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import torch
from torch import fx, nn

from explorer.adapters.inductor.calls import Calls, kernel_key
from explorer.adapters.inductor.fx_copies import inputs_of
from explorer.adapters.inductor.fx_states import FxStates, decomposition
from explorer.adapters.inductor.heard import HeardCompilation, HeardPass
from explorer.adapters.inductor.listening import BETWEEN, DECOMPOSED
from explorer.adapters.inductor.rounds import round_of
from explorer.adapters.snapshot import Running
from explorer.adapters.timeline import Timeline, changes_between, first_refusal
from explorer.errors import CircuitError
from explorer.levels import Recorded, run_options
from explorer.trace import WATCHED, Listener, Recorder, RuleDescription, Stage, Trace

STAGES: Mapping[str, str] = {"pre_grad": "pre-grad", "joint_graph": "joint graph", "post_grad": "post-grad"}
PURPOSES: Mapping[str, str] = {
    "decompose": "AOTAutograd makes the program functional and replaces its operators by those of ATen.",
    "lower": "Replace operators by loops that Inductor writes, and by calls of libraries; views become indices.",
    "fuse": "Fuse two nodes of the scheduler that share a buffer into one, the pair with the best score first.",
    "codegen": "Write functions: consecutive loops that run on the CPU become one function.",
    BETWEEN: "Changes that no pass with a name has made.",
}
"""The purposes of the rules that are not passes with a name of their own."""


def trace_of(
    heard: HeardCompilation,
    name: str,
    rerun: Callable[[int], nn.Module] | None = None,
    listeners: Sequence[Listener] = (),
) -> Trace:
    """The trace of a compilation; `rerun` compiles again up to a round, for states that cannot be run by themselves."""
    recorder = Recorder()
    timeline = Timeline((recorder, *listeners))
    rules = _rules(heard)
    options = run_options(WATCHED, name, [rule.name for rule in rules], mode=heard.mode, layout="")
    timeline.begin({**options, "compiler": f"torch.compile, torch {torch.__version__}"}, rules)
    states = FxStates(timeline.numbers.__next__, heard.inputs, heard.parameters)
    captured = {node.name: node for node in heard.captured.nodes}
    after = states.state_of(heard.captured, heard.attributes)
    timeline.captured(after)
    graph = heard.captured
    try:
        for one in heard.passes:
            graph = _record_pass(timeline, states, one, graph)
        if heard.scheduling is not None:
            _record_scheduling(timeline, heard, states, graph, captured, rerun)
    except Exception as error:  # noqa: BLE001 (a program that is not understood has a shorter trace, which says so)
        heard.missed.append(f"The steps behind this one were not understood: {type(error).__name__}: {error}")
    if heard.error:
        timeline.on_failure(heard.error)
    for text in _notes(heard, has_calls=bool(timeline.snapshot.calls)):
        timeline.note(text)
    recorded = Recorded(recorder, first_refusal, heard.arguments, None)
    return recorded.trace(heard.compiled)


def _record_pass(timeline: Timeline, states: FxStates, one: HeardPass, graph: fx.Graph) -> fx.Graph:
    """Record a pass over the FX graph, and return the graph after it."""
    path = (STAGES.get(one.stage, one.stage), one.name)
    if one.graph is None:
        timeline.unchanged(path, one.seconds)
        return graph
    before, old = timeline.snapshot, states.numbers
    if one.name == DECOMPOSED:
        keep = _same_inputs(graph, one.graph, states)
        after = states.state_of(one.graph, one.attributes, keep)
        changes = decomposition(before, after, one.graph, old, states.numbers)
    else:
        after = states.state_of(one.graph, one.attributes)
        changes = changes_between(one.name, before.graph, after.graph, one.seconds)
    timeline.state(path, after, one.seconds, changes)
    return one.graph


def _same_inputs(before: fx.Graph, after: fx.Graph, states: FxStates) -> dict[str, int]:
    """The numbers of the inputs under the names that AOTAutograd gives them; parameters get these names, too."""
    old, new = inputs_of(before), inputs_of(after)
    if len(old) != len(new):
        return {}
    named = dict(zip(new, old, strict=True))
    states.inputs = {one: states.inputs.get(other, other) for one, other in named.items()}
    states.parameters = {one: states.parameters[other] for one, other in named.items() if other in states.parameters}
    numbers, records = states.numbers, states.records
    states.records = {one: records[other] for one, other in named.items() if other in records}
    states.numbers = {}
    return {one: numbers[other] for one, other in named.items() if other in numbers}


def _record_scheduling(
    timeline: Timeline,
    heard: HeardCompilation,
    states: FxStates,
    graph: fx.Graph,
    captured: Mapping[str, fx.Node],
    rerun: Callable[[int], nn.Module] | None,
) -> None:
    scheduling = heard.scheduling
    assert scheduling is not None
    calls = Calls(heard, scheduling, states, graph, captured)

    def up_to(number: int) -> Callable[[], nn.Module] | None:
        return None if rerun is None else partial(rerun, number)

    names = [node.name for node in scheduling.nodes]
    before, after = timeline.snapshot, calls.state_of(names, up_to(0))
    timeline.state(("lower",), after, scheduling.lower_seconds, calls.lowering(before, after))
    for number, one in enumerate(scheduling.rounds, 1):
        told, groups = round_of(one, names, calls.numbers)
        names = list(groups.members())
        after = calls.state_of(names, up_to(number)) if told.merges else timeline.snapshot
        timeline.round(("fuse", Stage("round", number)), told, calls.numbers, after, one.seconds)
    if scheduling.kernels:
        kernels = calls.with_empty_nodes(scheduling.kernels)
        functions = {part: kernel for kernel in kernels for part in kernel.nodes}
        final = list(dict.fromkeys(kernel_key(functions[name]) if name in functions else name for name in names))
        before = timeline.snapshot
        whole = None if heard.compiled is None else partial(compiled_module, heard)
        after = calls.state_of(final, whole, kernels)
        changes = calls.grouping(kernels, before)
        timeline.state(("codegen",), after, scheduling.codegen_seconds, changes)


def compiled_module(heard: HeardCompilation) -> nn.Module:
    """What was compiled, as a module of the captured arguments. Raises: CircuitError if nothing was."""
    compiled = heard.compiled
    if compiled is None:
        raise CircuitError(f"the compilation failed: {heard.error}")
    return Running((lambda *arguments: compiled(list(arguments))) if heard.is_boxed else compiled)


def _rules(heard: HeardCompilation) -> tuple[RuleDescription, ...]:
    names = dict.fromkeys(one.name for one in heard.passes if one.name != DECOMPOSED)
    every = [*(("decompose",) if any(one.name == DECOMPOSED for one in heard.passes) else ()), *names]
    every += ["lower", "fuse", "codegen"] if heard.scheduling is not None else []
    return tuple(_rule(name) for name in every)


def _rule(name: str) -> RuleDescription:
    entries = ("a call", "a call that shares a buffer with it") if name == "fuse" else ("an operator",)
    return RuleDescription(name, name, entries, WATCHED, "real", PURPOSES.get(name, ""), "", guarded=name == "fuse")


def _notes(heard: HeardCompilation, has_calls: bool) -> Iterator[str]:
    yield from heard.missed
    if has_calls and heard.scheduling is None and not heard.error and not heard.missed:
        yield "Lowering and fusion of this graph were not heard."
