"""Listening to Inductor in one thread: what its hooks tell, and wraps that decide nothing.

`GraphTransformObserver` surrounds each pass over an FX graph, the artifact logger `fusion` carries refusals, rounds and
fused pairs, the choices handler is asked for scores, and the pass before fusion sees the nodes. What none of these
tell is heard by methods of the present scheduler and its backends. An error while listening ends the listening, and not
the compilation.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from time import perf_counter
from typing import Any

from torch import fx
from torch._inductor.virtualized import V
from torch.fx.passes.graph_transform_observer import GraphTransformObserver

from explorer.adapters.inductor.fx_copies import attributes_of, copy_graph, inputs_of, named_inputs, signature_of
from explorer.adapters.inductor.heard import (
    FORWARD,
    JOINT,
    POST_GRAD,
    PRE_GRAD,
    Answered,
    Fused,
    HeardCompilation,
    HeardKernel,
    HeardPart,
    HeardPartition,
    HeardPass,
    HeardRound,
    HeardScheduling,
    Refused,
    Scored,
)
from explorer.adapters.inductor.scheduler_notes import name_of, note_nodes
from explorer.adapters.inductor.steering import Steering, keep_arguments

WRITERS = (
    *("codegen_node", "codegen_template", "codegen_foreach", "codegen_combo_kernel"),
    *("codegen_mix_order_reduction", "codegen_nested_reduction"),
)
"""The methods of a backend that write a function for a node of the scheduler, by the node's class."""
DECOMPOSED, BETWEEN = "AOTAutograd", "between passes"
"""The names of changes that happen in no pass."""


def guarded(hear: Callable[..., None]) -> Callable[..., None]:
    """A method of a session that hears something, unless an earlier one has failed."""

    @wraps(hear)
    def heard(session: "Session", *args: Any, **kwargs: Any) -> None:
        if session.is_deaf or session.current is None:
            return
        try:
            hear(session, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 (the user's compilation goes on)
            session.is_deaf = True
            session.current.missed.append(f"From here on nothing was heard: {type(error).__name__}: {error}")

    return heard


@dataclass(eq=False)
class Session:
    """All compilations of one thread while it is watched."""

    steering: Steering = field(default_factory=Steering)
    compilations: list[HeardCompilation] = field(default_factory=list[HeardCompilation])
    current: HeardCompilation | None = None
    is_over: bool = False
    is_deaf: bool = False
    _part: str = ""
    _inputs: tuple[str, ...] = ()
    _signature: Any = None
    _depth: int = 0
    bodies: int = 0
    """How many graphs the present one is inside of, counted with itself: Inductor runs its passes on bodies, too."""
    _pass_started: float = 0.0
    _round_started: float = 0.0
    _group: list[str] = field(default_factory=list[str])
    _is_defined: bool = False
    """Whether the function of the group is written: C++ ones after several nodes, Triton's while its node is."""

    # ------------------------------------------------------------------ the whole compilation

    def begin(self, graph: fx.GraphModule) -> HeardCompilation:
        """Note a graph that Dynamo has captured."""
        captured = graph.graph
        heard = HeardCompilation(copy_graph(captured), attributes_of(captured), *named_inputs(captured))
        self.compilations.append(heard)
        return heard

    def compile(
        self, heard: HeardCompilation, original: Callable[..., Any], graph: fx.GraphModule, *args: Any, **kwargs: Any
    ) -> Any:
        """Let Inductor compile a graph that Dynamo has captured."""
        with self._hearing(heard, "", graph.graph):
            heard.compiled = original(graph, *args, **kwargs)
        return keep_arguments(heard, self.steering.runs)

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
        heard.parts[name] = part = HeardPart()
        with self._hearing(heard, name, graph.graph):
            if heard.partition is not None:
                divided = heard.partition.forward if name == FORWARD else heard.partition.backward
                self._signature = signature_of(divided)
            part.compiled = result = original(graph, *args, **kwargs)
        return result

    @contextmanager
    def _hearing(self, heard: HeardCompilation, part: str, graph: fx.Graph) -> Generator[None]:
        """Hear one graph; that of the backward part may be compiled while that of the whole is, or later."""
        outer = (self.current, self.is_deaf, self._part, self._inputs, self._signature, self._depth, self.bodies)
        self.current, self.is_deaf, self._part = heard, False, part
        self._inputs, self._signature, self._depth, self.bodies = inputs_of(graph), signature_of(graph), 0, 0
        self._group.clear()
        self._pass_started = perf_counter()
        try:
            yield
        except Exception as error:
            heard.error = heard.error or f"{type(error).__name__}: {error}"
            raise
        finally:
            (self.current, self.is_deaf, self._part, self._inputs, self._signature, self._depth, self.bodies) = outer

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
            self._note_between(graph, JOINT)

    @guarded
    def _divided(self, graph: fx.Graph, divided: Any, num_outputs: Any, seconds: float) -> None:
        assert self.current is not None
        if self._is_main(graph, JOINT):
            forward, backward = (one.graph for one in divided)
            kept = [(copy_graph(one), attributes_of(one)) for one in (forward, backward)]
            self.current.partition = HeardPartition(*kept[0], *kept[1], int(num_outputs), seconds)

    # ------------------------------------------------------------------ passes over FX graphs

    @guarded
    def pass_begins(self, observer: GraphTransformObserver) -> None:
        """Note what changed since the last pass, before another one runs."""
        self._depth += 1
        if self._depth == 1 and self._is_main(observer.gm.graph, _stage_of(observer)):
            self._note_between(observer.gm.graph, _stage_of(observer))
            self._pass_started = perf_counter()

    @guarded
    def pass_ends(self, observer: GraphTransformObserver) -> None:
        """Note what a pass changed."""
        self._depth -= 1
        if self._depth == 0 and self._is_main(observer.gm.graph, _stage_of(observer)):
            self._note(_stage_of(observer), observer.passname, observer.gm.graph)

    def _note(self, stage: str, name: str, graph: fx.Graph) -> None:
        seconds = perf_counter() - self._pass_started
        signature = signature_of(graph)
        changed = signature != self._signature
        self._signature = signature
        assert self.current is not None
        heard = HeardPass(stage, name, seconds, None)
        if changed:
            heard.graph, heard.attributes = copy_graph(graph), attributes_of(graph)
        self._target.passes.append(heard)
        self._pass_started = perf_counter()

    def _note_between(self, graph: fx.Graph, stage: str) -> None:
        """Note a change that no pass with a name has made: the first one behind Dynamo's passes is AOTAutograd's."""
        assert self.current is not None
        if signature_of(graph) != self._signature:
            decomposed = any(one.name == DECOMPOSED for one in self.current.passes)
            name = BETWEEN if decomposed or stage == PRE_GRAD else DECOMPOSED
            self._pass_started = perf_counter()
            self._note(stage, name, graph)

    def _is_main(self, graph: fx.Graph, stage: str) -> bool:
        """Whether a graph is the one that is compiled, and not a pattern or the body of a branch."""
        if self.bodies > 1:
            return False
        if self._part:
            return inputs_of(graph) == self._inputs
        found = inputs_of(graph)
        assert self.current is not None
        may_be = stage != PRE_GRAD and len(found) >= len(self._inputs)
        if may_be and not any(one.name == DECOMPOSED for one in self.current.passes):
            self._inputs = found
        return found == self._inputs

    # ------------------------------------------------------------------ scheduler

    def before_fusion(self, nodes: list[Any]) -> list[Any]:
        """Note the nodes that are to be fused, and hear the scheduler's answers from now on."""
        self._scheduling_begins(nodes)
        return nodes

    @guarded
    def _scheduling_begins(self, nodes: list[Any]) -> None:
        heard, graph = self.current, V.graph.module
        if heard is None or self._scheduling is not None or not nodes or not isinstance(graph, fx.GraphModule):
            return
        if inputs_of(graph.graph) != self._inputs:  # the body of a branch or loop
            return
        self._note_between(graph.graph, POST_GRAD)
        started = perf_counter()
        self._target.scheduling = scheduling = note_nodes(nodes)
        scheduler = nodes[0].scheduler
        _listen(scheduler, "can_fuse", self._answered)
        _listen(scheduler, "fuse_nodes", self._fusion_ends)
        self._round_started = started
        _listen(V.graph.wrapper_code, "generate", self._generated)
        for device in {node.get_device() for node in nodes if node.get_device() is not None}:
            backend = scheduler.get_backend(device)
            backend = getattr(backend, "_triton_scheduling", backend)
            for name in WRITERS:
                if hasattr(backend, name):
                    _listen(backend, name, self._grouped, before=True)
            _listen(backend, "define_kernel", self._defined)
            _listen(backend, "flush", self._flushed)
        scheduling.lower_seconds = started - self._pass_started

    @guarded
    def _fusion_ends(self, nodes: list[Any], *args: Any) -> None:
        scheduling = self._scheduling
        if scheduling is not None and not scheduling.final:
            scheduling.final = tuple(name_of(node.get_name()) for node in nodes)
            self._end_round(scheduling)
            self._round_started = perf_counter()

    @guarded
    def logged(self, message: Any, args: Any) -> None:
        """Note a line of the log of fusion."""
        scheduling = self._scheduling
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
            self._round_started = perf_counter()
        elif message.startswith("fusing %s with %s") and len(args) == 2:
            self._decide(scheduling, Fused(*map(name_of, args)))

    @guarded
    def refused(self, one: str, other: str, reason: str) -> None:
        """Note a refusal."""
        if self._scheduling is not None:
            self._decide(self._scheduling, Refused(name_of(one), name_of(other), reason))

    @guarded
    def scored(self, one: Any, other: Any, score: Any) -> None:
        """Note the score of a candidate."""
        if self._scheduling is not None:
            self._decide(self._scheduling, Scored(name_of(one.get_name()), name_of(other.get_name()), _parts(score)))

    def forbids(self, one: str, other: str) -> bool:
        """Whether two nodes may not be fused now."""
        number = 0 if self._scheduling is None else len(self._scheduling.rounds)
        return self.steering.forbids(one, other, number, self._part)

    @property
    def _scheduling(self) -> HeardScheduling | None:
        return None if self.current is None else self._target.scheduling

    @property
    def _target(self) -> HeardCompilation | HeardPart:
        """What passes and decisions are noted in: the compilation, or the part that is compiled by itself."""
        assert self.current is not None
        return self.current.parts[self._part] if self._part else self.current

    def _decide(self, scheduling: HeardScheduling, decision: Any) -> None:
        if scheduling.rounds:
            scheduling.rounds[-1].decisions.append(decision)

    def _end_round(self, scheduling: HeardScheduling) -> None:
        if scheduling.rounds:
            scheduling.rounds[-1].seconds = perf_counter() - self._round_started

    @guarded
    def _answered(self, answer: Any, one: Any, other: Any, *args: Any, **kwargs: Any) -> None:
        if self._scheduling is not None:
            names = (name_of(one.get_name()), name_of(other.get_name()))
            self._decide(self._scheduling, Answered(*names, bool(answer)))

    # ------------------------------------------------------------------ code

    @guarded
    def _grouped(self, node: Any, *more: Any, **others: Any) -> None:
        """Note the nodes that a function is written for: of a template, those before and behind it, too."""
        if self._is_defined:
            self._group.clear()
        lists = [one for one in (*more, *others.values()) if isinstance(one, list | tuple)]
        whole = name_of(node.get_name(), *(one.get_name() for nodes in lists for one in nodes))
        known = self._scheduling is None or whole in self._scheduling.final
        combined = None if known else getattr(node, "get_subkernel_nodes", None)
        self._group += [whole] if combined is None else [name_of(one.get_name()) for one in combined()]
        self._is_defined = False

    @guarded
    def _defined(self, name: Any, source: Any, *args: Any, **kwargs: Any) -> None:
        if self._scheduling is not None:
            self._scheduling.kernels.append(HeardKernel(str(name), tuple(self._group), str(source)))
            self._is_defined = True

    @guarded
    def _flushed(self, result: Any) -> None:
        self._group.clear()

    @guarded
    def _generated(self, result: Any, *args: Any, **kwargs: Any) -> None:
        scheduling = self._scheduling
        if scheduling is not None:
            code = result[0] if isinstance(result, tuple) else result
            scheduling.code = str(getattr(code, "value", code))
            scheduling.codegen_seconds = perf_counter() - self._round_started


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
