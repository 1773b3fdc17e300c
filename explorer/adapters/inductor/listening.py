"""Listening to Inductor in one thread: what its hooks tell, and wraps that decide nothing.

`GraphTransformObserver` surrounds each pass over an FX graph, the artifact logger `fusion` carries refusals, rounds and
fused pairs, the choices handler is asked for scores, and the pass before fusion sees the nodes. What none of these
tell is heard by methods of the present scheduler and its backends. An error while listening ends the listening, and not
the compilation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from time import perf_counter
from typing import Any, Literal

import torch
from torch import fx, nn
from torch._inductor.virtualized import V
from torch.fx.passes.graph_transform_observer import GraphTransformObserver

from explorer.adapters.inductor.fx_copies import attributes_of, copy_graph, inputs_of, named_inputs, signature_of
from explorer.adapters.inductor.heard import (
    POST_GRAD,
    PRE_GRAD,
    Answered,
    Fused,
    HeardCompilation,
    HeardKernel,
    HeardPass,
    HeardRound,
    HeardScheduling,
    Refused,
    Scored,
)
from explorer.adapters.inductor.scheduler_notes import note_nodes

KEPT_APART = "kept apart, as asked"
DECOMPOSED, BETWEEN = "AOTAutograd", "between passes"
"""The names of changes that happen in no pass."""


@dataclass(frozen=True, slots=True)
class Steering:
    """Wishes for the scheduler: pairs of nodes that are not to end in one kernel, and the last round that may fuse."""

    apart: frozenset[tuple[str, str]] = frozenset()
    last_round: int | None = None
    runs: bool = True
    """Whether the program is run once it is compiled."""

    def forbids(self, one: str, other: str, round_number: int) -> bool:
        """Whether two nodes may not be fused in a round."""
        if self.last_round is not None and round_number > self.last_round:
            return True
        mine, theirs = parts_of(one), parts_of(other)
        return any((a in mine and b in theirs) or (b in mine and a in theirs) for a, b in self.apart)


def parts_of(name: str) -> set[str]:
    """The scheduler nodes that a fused one was made of, by its name: `op0_op1`."""
    return set(name.split("_"))


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

    steering: Steering = Steering()
    compilations: list[HeardCompilation] = field(default_factory=list[HeardCompilation])
    current: HeardCompilation | None = None
    is_deaf: bool = False
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

    def compile(self, original: Callable[..., Any], graph: fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
        """Let Inductor compile a graph that Dynamo has captured."""
        captured = graph.graph
        mode: Literal["infer", "train"] = "train" if torch.is_grad_enabled() else "infer"
        heard = HeardCompilation(mode, copy_graph(captured), attributes_of(captured), *named_inputs(captured))
        self.compilations.append(heard)
        self.current, self._inputs, self._depth, self.is_deaf = heard, inputs_of(captured), 0, False
        self._signature = signature_of(captured)
        self._group.clear()
        started = self._pass_started = perf_counter()
        try:
            heard.compiled = original(graph, *args, **kwargs)
        except Exception as error:
            heard.error = f"{type(error).__name__}: {error}"
            raise
        finally:
            heard.seconds = perf_counter() - started
            self.current = None
        return _keeping_arguments(heard, self.steering.runs)

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
        self.current.passes.append(heard)
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
        if heard is None or heard.scheduling is not None or not nodes or not isinstance(graph, fx.GraphModule):
            return
        if inputs_of(graph.graph) != self._inputs:  # the body of a branch or loop
            return
        self._note_between(graph.graph, POST_GRAD)
        started = perf_counter()
        heard.scheduling = scheduling = note_nodes(nodes)
        scheduler = nodes[0].scheduler
        _listen(scheduler, "can_fuse", self._answered)
        _listen(scheduler, "fuse_nodes", self._fusion_ends)
        self._round_started = started
        _listen(V.graph.wrapper_code, "generate", self._generated)
        for device in {node.get_device() for node in nodes if node.get_device() is not None}:
            backend = scheduler.get_backend(device)
            backend = getattr(backend, "_triton_scheduling", backend)
            _listen(backend, "codegen_node", self._grouped, before=True)
            _listen(backend, "define_kernel", self._defined)
            _listen(backend, "flush", self._flushed)
        scheduling.lower_seconds = started - self._pass_started

    @guarded
    def _fusion_ends(self, nodes: list[Any], *args: Any) -> None:
        scheduling = self._scheduling
        if scheduling is not None and not scheduling.final:
            scheduling.final = tuple(node.get_name() for node in nodes)
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
            self._decide(scheduling, Fused(str(args[0]), str(args[1])))

    @guarded
    def refused(self, one: str, other: str, reason: str) -> None:
        """Note a refusal."""
        if self._scheduling is not None:
            self._decide(self._scheduling, Refused(one, other, reason))

    @guarded
    def scored(self, one: Any, other: Any, score: Any) -> None:
        """Note the score of a candidate."""
        if self._scheduling is not None:
            self._decide(self._scheduling, Scored(one.get_name(), other.get_name(), _parts(score)))

    @property
    def round_number(self) -> int:
        """The number of the present round, from 1."""
        return 0 if self._scheduling is None else len(self._scheduling.rounds)

    @property
    def _scheduling(self) -> HeardScheduling | None:
        return None if self.current is None else self.current.scheduling

    def _decide(self, scheduling: HeardScheduling, decision: Any) -> None:
        if scheduling.rounds:
            scheduling.rounds[-1].decisions.append(decision)

    def _end_round(self, scheduling: HeardScheduling) -> None:
        if scheduling.rounds:
            scheduling.rounds[-1].seconds = perf_counter() - self._round_started

    @guarded
    def _answered(self, answer: Any, one: Any, other: Any, *args: Any, **kwargs: Any) -> None:
        if self._scheduling is not None:
            self._decide(self._scheduling, Answered(one.get_name(), other.get_name(), bool(answer)))

    # ------------------------------------------------------------------ code

    @guarded
    def _grouped(self, node: Any, *args: Any, **kwargs: Any) -> None:
        if self._is_defined:
            self._group.clear()
        self._group.append(node.get_name())
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


class NotRunError(Exception):
    """What was compiled is not run: only the compilation was asked for."""


def _keeping_arguments(heard: HeardCompilation, runs: bool) -> Callable[..., Any]:
    """The compiled function, which keeps copies of the arguments of its first call; parameters are not copied.

    It forgets the notes then, since Dynamo keeps it. Raises: NotRunError unless it `runs`.
    """
    compiled = heard.compiled
    assert compiled is not None
    waiting = [heard]

    @wraps(compiled)
    def first(*args: Any) -> Any:
        if waiting:
            noted = waiting.pop()
            noted.is_boxed = len(args) == 1 and isinstance(args[0], list)
            noted.arguments = tuple(_copied(one) for one in (args[0] if noted.is_boxed else args))
        if not runs:
            raise NotRunError
        return compiled(*args)

    return first


def _copied(value: Any) -> Any:
    is_changed = isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter)
    return value.detach().clone() if is_changed else value
