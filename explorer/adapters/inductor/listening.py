"""Listening to Inductor in one thread: what its hooks tell, and wraps that decide nothing.

`GraphTransformObserver` surrounds each pass over an FX graph, the artifact logger `fusion` carries refusals, rounds and
fused pairs, the choices handler is asked for scores, and the pass before fusion sees the nodes. What none of these
tell is heard by methods of the present scheduler and its backends. An error while listening ends the listening, and not
the compilation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from time import perf_counter
from typing import Any

from torch import fx
from torch._dynamo.exc import RestartAnalysis
from torch._inductor.codecache import PyCodeCache
from torch._inductor.virtualized import V
from torch.fx.passes.graph_transform_observer import GraphTransformObserver

from explorer.adapters.inductor.fx_copies import attributes_of, copy_graph, inputs_of, named_inputs, signature_of
from explorer.adapters.inductor.heard import (
    BETWEEN,
    DECOMPOSED,
    FORWARD,
    JOINT,
    POST_GRAD,
    PRE_GRAD,
    WHOLE,
    Decision,
    HeardCompilation,
    HeardKernel,
    HeardPart,
    HeardPartition,
    HeardPass,
    HeardRound,
    HeardScheduling,
)
from explorer.adapters.inductor.scheduler_notes import name_of, note_nodes
from explorer.adapters.inductor.steering import Steering, keep_arguments

WRITERS = (
    *("codegen_node", "codegen_template", "codegen_foreach", "codegen_combo_kernel"),
    *("codegen_mix_order_reduction", "codegen_nested_reduction"),
)
"""The methods of a backend that write a function for a node of the scheduler, by the node's class."""


@dataclass(eq=False)
class Session:
    """All compilations of one thread while it is watched."""

    steering: Steering = field(default_factory=Steering)
    compilations: list[HeardCompilation] = field(default_factory=list[HeardCompilation])
    present: "Hearing | None" = None
    """The graph that is compiled now."""
    is_over: bool = False

    def begin(self, graph: fx.GraphModule) -> HeardCompilation:
        """Note a graph that Dynamo has captured."""
        captured = graph.graph
        try:
            heard = HeardCompilation(copy_graph(captured), attributes_of(captured), *named_inputs(captured))
        except Exception as error:  # noqa: BLE001 (the user's compilation goes on)
            heard = HeardCompilation(fx.Graph(), {}, {}, {})
            heard.captured.output(())
            heard.missed.append(f"The captured graph was not understood: {type(error).__name__}: {error}")
        heard.apart = self.steering.apart
        self.compilations.append(heard)
        return heard

    def compile(
        self, heard: HeardCompilation, original: Callable[..., Any], graph: fx.GraphModule, *args: Any, **kwargs: Any
    ) -> Any:
        """Let Inductor compile a graph that Dynamo has captured."""
        try:
            compiled = self._compile(
                Hearing(self.steering, heard, WHOLE, graph.graph), original, graph, *args, **kwargs
            )
        except RestartAnalysis:  # Dynamo captures the program again, otherwise
            self.compilations = [one for one in self.compilations if one is not heard]
            raise
        is_function = callable(compiled) and V.aot_compilation is not True  # AOTInductor writes a file
        return keep_arguments(heard, self.steering.runs) if is_function else compiled

    def compile_part(
        self,
        heard: HeardCompilation,
        name: str,
        original: Callable[..., Any],
        graph: fx.GraphModule,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Let Inductor compile the forward or backward part of a training step."""
        heard.parts[name] = HeardPart()
        return self._compile(Hearing(self.steering, heard, name, graph.graph), original, graph, *args, **kwargs)

    def _compile(self, hearing: "Hearing", original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Hear one graph; that of a part may be compiled while that of the whole is, or later."""
        outer, self.present = self.present, hearing
        try:
            hearing.target.compiled = original(*args, **kwargs)
            hearing.code_is_loaded()
        except Exception as error:
            hearing.heard.error = hearing.heard.error or f"{type(error).__name__}: {error}"
            raise
        finally:
            self.present = outer
        return hearing.target.compiled

    def before_fusion(self, nodes: list[Any]) -> list[Any]:
        """Note the nodes that are to be fused, and hear the scheduler's answers from now on."""
        if self.present is not None:
            self.present.scheduling_begins(nodes)
        return nodes


def guarded(hear: Callable[..., None]) -> Callable[..., None]:
    """A method that hears something, unless an earlier one has failed."""

    @wraps(hear)
    def heard(hearing: "Hearing", *args: Any, **kwargs: Any) -> None:
        if hearing.is_deaf:
            return
        try:
            hear(hearing, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 (the user's compilation goes on)
            hearing.is_deaf = True
            hearing.heard.missed.append(f"From here on nothing was heard: {type(error).__name__}: {error}")

    return heard


class Hearing:
    """What hears one graph while it is compiled: a captured program, or a part of a training step."""

    def __init__(self, steering: Steering, heard: HeardCompilation, part: str, graph: fx.Graph) -> None:
        self.heard, self.target, self.is_deaf = heard, heard.parts[part], False
        self.bodies = 0
        """How many graphs the present one is inside of, counted with itself: passes run on bodies, too."""
        self._steering, self._part, self._depth = steering, part, 0
        self._inputs = inputs_of(graph)
        divided = heard.partition
        if part and divided is not None:
            graph = divided.forward if part == FORWARD else divided.backward
        self._signature = signature_of(graph)
        self._pass_started = self._round_started = perf_counter()
        self._num_loaded = len(PyCodeCache.modules)
        self._group: list[str] = []
        self._is_defined = False
        """Whether the function of the group is written: C++ ones after several nodes, Triton's while its node is."""

    # ------------------------------------------------------------------ passes over FX graphs

    @guarded
    def pass_begins(self, observer: GraphTransformObserver) -> None:
        """Note what changed since the last pass, before another one runs."""
        self._depth += 1
        if self._depth == 1 and self._is_main(observer.gm.graph, _stage_of(observer)):
            self._note(_stage_of(observer), observer.gm.graph)
            self._pass_started = perf_counter()

    @guarded
    def pass_ends(self, observer: GraphTransformObserver) -> None:
        """Note what a pass changed."""
        self._depth -= 1
        if self._depth == 0 and self._is_main(observer.gm.graph, _stage_of(observer)):
            self._note(_stage_of(observer), observer.gm.graph, observer.passname)

    def divide(self, original: Callable[..., Any], graph: fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
        """Let the joint graph of a training step be divided into forward and backward."""
        self._joint_ends(graph.graph)
        started = perf_counter()
        divided = original(graph, *args, **kwargs)
        self._divided(graph.graph, divided, kwargs.get("num_fwd_outputs"), perf_counter() - started)
        return divided

    @guarded
    def _joint_ends(self, graph: fx.Graph) -> None:
        if self._is_main(graph, JOINT):
            self._note(JOINT, graph)

    @guarded
    def _divided(self, graph: fx.Graph, divided: Any, num_outputs: Any, seconds: float) -> None:
        if self._is_main(graph, JOINT):
            forward, backward = ((copy_graph(one.graph), attributes_of(one.graph)) for one in divided)
            self.heard.partition = HeardPartition(*forward, *backward, int(num_outputs), seconds)

    def _note(self, stage: str, graph: fx.Graph, name: str = "") -> None:
        """Note a pass, or without a name what no pass has changed: the first time that is AOTAutograd."""
        before, self._signature = self._signature, signature_of(graph)
        seconds, changed = perf_counter() - self._pass_started, self._signature != before
        if not name and not changed:
            return
        if not name:
            name, seconds = BETWEEN if self.heard.is_decomposed or stage == PRE_GRAD else DECOMPOSED, 0.0
        copied = (copy_graph(graph), attributes_of(graph)) if changed else (None, {})
        self.target.passes.append(HeardPass(stage, name, seconds, *copied))
        self._pass_started = perf_counter()

    def _is_main(self, graph: fx.Graph, stage: str) -> bool:
        """Whether a graph is the one that is compiled, and not a pattern or the body of a branch."""
        found = inputs_of(graph)
        if self.bodies > 1:
            return False
        may_be = not self._part and stage != PRE_GRAD and len(found) >= len(self._inputs)
        if may_be and not self.heard.is_decomposed:
            self._inputs = found
        return found == self._inputs

    # ------------------------------------------------------------------ scheduler

    @guarded
    def scheduling_begins(self, nodes: list[Any]) -> None:
        """Note the nodes that are to be fused, unless they are those of the body of a branch or loop."""
        graph = V.graph.module
        if self.target.scheduling is not None or not nodes or not isinstance(graph, fx.GraphModule):
            return
        if inputs_of(graph.graph) != self._inputs:
            return
        self._note(POST_GRAD, graph.graph)
        self._round_started = perf_counter()
        self.target.scheduling = note_nodes(nodes, self._round_started - self._pass_started)
        scheduler = nodes[0].scheduler
        _listen(scheduler, "can_fuse", self._answered)
        _listen(scheduler, "fuse_nodes", self._fusion_ends)
        _listen(V.graph.wrapper_code, "generate", self._generated)
        for device in {node.get_device() for node in nodes if node.get_device() is not None}:
            backend = scheduler.get_backend(device)
            backend = getattr(backend, "_triton_scheduling", backend)
            for name in WRITERS:
                if hasattr(backend, name):
                    _listen(backend, name, self._grouped, before=True)
            _listen(backend, "define_kernel", self._defined)
            _listen(backend, "flush", self._flushed)

    @guarded
    def logged(self, message: Any, args: Any) -> None:
        """Note a line of the log of fusion."""
        scheduling = self.target.scheduling
        if scheduling is None or scheduling.final:
            return
        if type(message).__name__ == "WhyNoFuse":
            reason = message.reason % message.args if message.args else message.reason
            self.refused(*(_name_of(message, number) for number in (1, 2)), str(reason))
        elif not isinstance(message, str):
            return
        elif message.startswith("fuse_nodes_once"):
            self._end_round(scheduling)
            scheduling.rounds.append(HeardRound())
        elif message.startswith("fusing %s with %s") and len(args) == 2:
            self._decide("fused", *args)

    @guarded
    def refused(self, one: str, other: str, reason: str) -> None:
        """Note a refusal."""
        self._decide("refused", one, other, reason)

    @guarded
    def scored(self, one: Any, other: Any, score: Any) -> None:
        """Note the score of a candidate."""
        self._decide("scored", one.get_name(), other.get_name(), _parts(score))

    @guarded
    def _answered(self, answer: Any, one: Any, other: Any, *args: Any, **kwargs: Any) -> None:
        self._decide("answered", one.get_name(), other.get_name(), bool(answer))

    def _decide(self, kind: Any, one: str, other: str, said: Any = None) -> None:
        scheduling = self.target.scheduling
        if scheduling is not None and scheduling.rounds:
            scheduling.rounds[-1].decisions.append(Decision(kind, name_of(one), name_of(other), said))

    def forbids(self, one: str, other: str) -> bool:
        """Whether two nodes may not be fused now."""
        scheduling = self.target.scheduling
        number = 0 if scheduling is None else len(scheduling.rounds)
        return self._steering.forbids(one, other, number, self._part)

    @guarded
    def _fusion_ends(self, nodes: list[Any], *args: Any) -> None:
        scheduling = self._scheduling
        if not scheduling.final:
            scheduling.final = tuple(name_of(node.get_name()) for node in nodes)
            self._end_round(scheduling)

    def _end_round(self, scheduling: HeardScheduling) -> None:
        now = perf_counter()
        if scheduling.rounds:
            scheduling.rounds[-1].seconds = now - self._round_started
        self._round_started = now

    @property
    def _scheduling(self) -> HeardScheduling:
        assert self.target.scheduling is not None, "it is heard from the beginning of the scheduling"
        return self.target.scheduling

    # ------------------------------------------------------------------ code

    @guarded
    def _grouped(self, node: Any, *more: Any, **others: Any) -> None:
        """Note the nodes that a function is written for: of a template, those before and behind it, too."""
        if self._is_defined:
            self._group.clear()
        lists = [one for one in (*more, *others.values()) if isinstance(one, list | tuple)]
        whole = name_of(node.get_name(), *(one.get_name() for nodes in lists for one in nodes))
        known = whole in self._scheduling.final
        combined = None if known else getattr(node, "get_subkernel_nodes", None)
        self._group += [whole] if combined is None else [name_of(one.get_name()) for one in combined()]
        self._is_defined = False

    @guarded
    def _defined(self, name: Any, source: Any, *args: Any, **kwargs: Any) -> None:
        self._scheduling.kernels.append(HeardKernel(str(name), tuple(self._group), str(source)))
        self._is_defined = True

    @guarded
    def _flushed(self, result: Any) -> None:
        self._group.clear()

    @guarded
    def _generated(self, result: Any, *args: Any, **kwargs: Any) -> None:
        code = result[0] if isinstance(result, tuple) else result
        self._scheduling.code = str(getattr(code, "value", code))
        self._scheduling.order = tuple(name_of(node.get_name()) for node in V.graph.scheduler.nodes)
        self._scheduling.unwritten = frozenset((*V.graph.removed_buffers, *V.graph.inplaced_to_remove))
        self._scheduling.codegen_seconds = perf_counter() - self._round_started

    @guarded
    def code_is_loaded(self) -> None:
        """Find the module of the code among those that were loaded."""
        scheduling = self.target.scheduling
        if scheduling is None or not scheduling.code:
            return
        for module in PyCodeCache.modules[self._num_loaded :]:
            if Path(str(module.__file__)).read_text("utf-8").endswith(scheduling.code):
                scheduling.module = module
                return


def _stage_of(observer: GraphTransformObserver) -> str:
    return (observer.subsystem or POST_GRAD).removesuffix("_passes")


def _name_of(refusal: Any, number: int) -> str:
    """The name of a node in a line of the log, which has the node itself in torch 2.6."""
    return getattr(refusal, f"name{number}", None) or getattr(refusal, f"node{number}").get_name()


def _parts(score: Any) -> tuple[tuple[str, float], ...]:
    """The parts of a score: a tuple in older versions of torch, a dataclass in newer ones."""
    if isinstance(score, tuple):
        return tuple((f"part {number}", float(part)) for number, part in enumerate(score, 1))
    return tuple((name.removesuffix("_score"), float(value)) for name, value in vars(score).items())


def _listen(subject: Any, name: str, hear: Callable[..., None], *, before: bool = False) -> None:
    """Call `hear` with the result and the arguments of each call of a method, or before the call with these only."""
    method = getattr(subject, name)

    @wraps(method)
    def heard(*args: Any, **kwargs: Any) -> Any:
        if before:
            hear(*args, **kwargs)
            return method(*args, **kwargs)
        result = method(*args, **kwargs)
        hear(result, *args, **kwargs)
        return result

    setattr(subject, name, heard)
