"""Listening to Inductor in one thread: the hooks that it offers, and wraps that decide nothing.

`GraphTransformObserver` surrounds each pass over an FX graph, the artifact logger `fusion` carries refusals, rounds and
fused pairs, the choices handler is asked for scores, and the passes before and after fusion see the nodes. What none
of these tell is heard by methods of the present scheduler and its backends. All of it is undone at the end.
"""

import logging
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from time import perf_counter
from typing import Any

import torch
import torch._functorch.config as aot
from torch import fx
from torch._inductor import config
from torch._inductor.virtualized import V
from torch.fx.passes.graph_transform_observer import GraphTransformObserver

from explorer.adapters.inductor.fx_copies import copy_graph, inputs_of, named_inputs, signature_of
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

LOGGER = "torch._inductor.scheduler.__fusion"
KEPT_APART = "kept apart, as asked"
DECOMPOSED, BETWEEN = "AOTAutograd", "between passes"
"""The names of changes that happen in no pass."""


@dataclass(frozen=True, slots=True)
class Steering:
    """Wishes for the scheduler: pairs of nodes that are not to end in one kernel, and the last round that may fuse."""

    apart: frozenset[tuple[str, str]] = frozenset()
    last_round: int | None = None

    def forbids(self, one: str, other: str, round_number: int) -> bool:
        """Whether two nodes may not be fused in a round."""
        if self.last_round is not None and round_number > self.last_round:
            return True
        mine, theirs = parts_of(one), parts_of(other)
        return any((a in mine and b in theirs) or (b in mine and a in theirs) for a, b in self.apart)


def parts_of(name: str) -> set[str]:
    """The scheduler nodes that a fused one was made of, by its name: `op0_op1`."""
    return set(name.split("_"))


@dataclass(eq=False)
class Session:
    """All compilations of one thread while it is watched."""

    steering: Steering = Steering()
    compilations: list[HeardCompilation] = field(default_factory=list[HeardCompilation])
    on_compiled: Callable[[HeardCompilation], None] = lambda heard: None
    current: HeardCompilation | None = None
    _inputs: tuple[str, ...] = ()
    _signature: Any = None
    _depth: int = 0
    _pass_started: float = 0.0
    _round_started: float = 0.0
    _group: list[str] = field(default_factory=list[str])

    # ------------------------------------------------------------------ the whole compilation

    def compile(self, original: Callable[..., Any], graph: fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
        """Let Inductor compile a graph that Dynamo has captured."""
        with torch.no_grad():
            copied = copy_graph(graph.graph)
        trains = torch.is_grad_enabled()
        heard = HeardCompilation("train" if trains else "infer", copied, graph, *named_inputs(graph.graph))
        self.compilations.append(heard)
        self.current, self._inputs, self._depth = heard, inputs_of(graph.graph), 0
        self._signature = signature_of(graph.graph)
        started = perf_counter()
        try:
            heard.compiled = original(graph, *args, **kwargs)
        except Exception as error:
            heard.error = f"{type(error).__name__}: {error}"
            raise
        finally:
            heard.seconds = perf_counter() - started
            self.current = None
            self.on_compiled(heard)
        return _keeping_arguments(heard)

    # ------------------------------------------------------------------ passes over FX graphs

    def pass_begins(self, observer: GraphTransformObserver) -> None:
        """Note what changed since the last pass, before another one runs."""
        self._depth += 1
        if self._depth == 1 and self._is_main(observer.gm.graph, _stage_of(observer)):
            self._note_between(observer.gm.graph, _stage_of(observer))
            self._pass_started = perf_counter()

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
        self.current.passes.append(HeardPass(stage, name, seconds, copy_graph(graph) if changed else None))

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
        found = inputs_of(graph)
        assert self.current is not None
        may_be = stage != PRE_GRAD and len(found) >= len(self._inputs)
        if may_be and not any(one.name == DECOMPOSED for one in self.current.passes):
            self._inputs = found
        return found == self._inputs

    # ------------------------------------------------------------------ scheduler

    def before_fusion(self, nodes: list[Any]) -> list[Any]:
        """Note the nodes that are to be fused, and hear the scheduler's answers from now on."""
        heard, graph = self.current, V.graph.module
        if heard is None or heard.scheduling is not None or not nodes or not isinstance(graph, fx.GraphModule):
            return nodes
        if inputs_of(graph.graph) != self._inputs:  # the body of a branch or loop
            return nodes
        self._note_between(graph.graph, POST_GRAD)
        started = perf_counter()
        heard.scheduling = scheduling = note_nodes(nodes)
        scheduler = nodes[0].scheduler
        _listen(scheduler, "can_fuse", self._answered)
        self._round_started = started
        _listen(V.graph.wrapper_code, "generate", self._generated)
        for device in {node.get_device() for node in nodes if node.get_device() is not None}:
            backend = scheduler.get_backend(device)
            backend = getattr(backend, "_triton_scheduling", backend)
            _listen(backend, "codegen_node", self._grouped)
            _listen(backend, "define_kernel", self._defined)
            _listen(backend, "flush", self._flushed)
        scheduling.lower_seconds = started - self._pass_started
        return nodes

    def after_fusion(self, nodes: list[Any]) -> list[Any]:
        """Note the kernels that are left."""
        scheduling = self._scheduling
        if scheduling is not None and not scheduling.final:
            scheduling.final = tuple(node.get_name() for node in nodes)
            self._end_round(scheduling)
            self._round_started = perf_counter()
        return nodes

    def logged(self, message: Any, args: Any) -> None:
        """Note a line of the log of fusion."""
        scheduling = self._scheduling
        if scheduling is None or scheduling.final:
            return
        if type(message).__name__ == "WhyNoFuse":
            reason = message.reason % message.args if message.args else message.reason
            self.refused(message.name1, message.name2, str(reason))
        elif not isinstance(message, str):
            return
        elif message.startswith("fuse_nodes_once"):
            self._end_round(scheduling)
            scheduling.rounds.append(HeardRound())
            self._round_started = perf_counter()
        elif message.startswith("fusing %s with %s") and len(args) == 2:
            self._decide(scheduling, Fused(str(args[0]), str(args[1])))

    def refused(self, one: str, other: str, reason: str) -> None:
        """Note a refusal."""
        if self._scheduling is not None:
            self._decide(self._scheduling, Refused(one, other, reason))

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

    def _answered(self, answer: Any, one: Any, other: Any, *args: Any, **kwargs: Any) -> None:
        if self._scheduling is not None:
            self._decide(self._scheduling, Answered(one.get_name(), other.get_name(), bool(answer)))

    # ------------------------------------------------------------------ code

    def _grouped(self, result: Any, node: Any, *args: Any, **kwargs: Any) -> None:
        self._group.append(node.get_name())

    def _defined(self, name: Any, source: Any, *args: Any, **kwargs: Any) -> None:
        if self._scheduling is not None:
            self._scheduling.kernels.append(HeardKernel(str(name), tuple(self._group), str(source)))

    def _flushed(self, result: Any) -> None:
        self._group.clear()

    def _generated(self, result: Any, *args: Any, **kwargs: Any) -> None:
        scheduling = self._scheduling
        if scheduling is not None:
            code = result[0] if isinstance(result, tuple) else result
            scheduling.code = str(getattr(code, "value", code))
            scheduling.codegen_seconds = perf_counter() - self._round_started


def _stage_of(observer: GraphTransformObserver) -> str:
    return (observer.subsystem or POST_GRAD).removesuffix("_passes")


def _parts(score: Any) -> tuple[tuple[str, float], ...]:
    """The parts of a score: a tuple in older versions of torch, a dataclass in newer ones."""
    if isinstance(score, tuple):
        return tuple((f"part {number}", float(part)) for number, part in enumerate(score, 1))
    return tuple((name.removesuffix("_score"), float(value)) for name, value in vars(score).items())


def _listen(subject: Any, name: str, hear: Callable[..., None]) -> None:
    """Call `hear` with the result and the arguments of each call of a method of one object."""
    method = getattr(subject, name)

    @wraps(method)
    def heard(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        hear(result, *args, **kwargs)
        return result

    setattr(subject, name, heard)


def _keeping_arguments(heard: HeardCompilation) -> Callable[..., Any]:
    """The compiled function, which keeps the arguments of its first call."""
    compiled = heard.compiled
    assert compiled is not None

    @wraps(compiled)
    def first(*args: Any) -> Any:
        if heard.arguments is None:
            heard.is_boxed = len(args) == 1 and isinstance(args[0], list)
            heard.arguments = tuple(args[0] if heard.is_boxed else args)
        return compiled(*args)

    return first


# ---- installing: once for all threads, as long as one of them is watched


class _Watched(threading.local):
    session: Session | None = None


_watched = _Watched()
_lock = threading.Lock()
_installed: list[ExitStack] = []
_users = [0]


class _FusionLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if _watched.session is not None:
            _watched.session.logged(record.msg, record.args or ())


@contextmanager
def listening(session: Session) -> Generator[Session]:
    """Hear what this thread compiles inside; other threads compile as always.

    The caches of whole graphs are off, since nothing is heard of a graph that comes from one.
    """
    settings: dict[str, Any] = {
        "fx_graph_cache": False,
        "fx_graph_remote_cache": False,
        "_pre_fusion_custom_pass": _chained(config._pre_fusion_custom_pass, session.before_fusion),
        "_post_fusion_custom_pass": _chained(config._post_fusion_custom_pass, session.after_fusion),
    }
    outer, _watched.session = _watched.session, session
    try:
        with (
            _hooks(),
            config.patch(settings),
            aot.patch(enable_autograd_cache=False),
            V.set_choices_handler(_choices(session)),
        ):
            yield session
    finally:
        _watched.session = outer


def _chained(first: Callable[[list[Any]], list[Any]] | None, then: Callable[[list[Any]], list[Any]]) -> Any:
    return then if first is None else lambda nodes: then(first(nodes))


def _choices(session: Session) -> Any:
    """A choices handler like the present one, which tells scores, and fuses no pair that the session forbids."""
    base: Any = type(V.choices)

    def score_fusion(scheduler: Any, one: Any, other: Any) -> Any:
        score = base.score_fusion(scheduler, one, other)
        session.scored(one, other, score)
        return score

    def can_fuse(scheduler: Any, one: Any, other: Any, shared: int) -> bool:
        if session.steering.forbids(one.get_name(), other.get_name(), session.round_number):
            session.refused(one.get_name(), other.get_name(), KEPT_APART)
            return False
        return base.can_fuse(scheduler, one, other, shared)

    methods = {"score_fusion": staticmethod(score_fusion), "can_fuse": staticmethod(can_fuse)}
    return type("ListeningChoices", (base,), methods)()


@contextmanager
def _hooks() -> Generator[None]:
    """Install what all threads share when the first one begins, and remove it when the last one ends."""
    with _lock:
        _users[0] += 1
        if _users[0] == 1:
            _installed.append(_install())
    try:
        yield
    finally:
        with _lock:
            _users[0] -= 1
            if not _users[0]:
                _installed.pop().close()


def _install() -> ExitStack:
    with warnings.catch_warnings(action="ignore"):  # it imports deprecated parts of PyTorch
        import torch._inductor.compile_fx as compiling  # takes two seconds

    stack = ExitStack()
    _wrap(stack, compiling, "compile_fx", _compile_fx)
    _wrap(stack, GraphTransformObserver, "__enter__", _enter)
    _wrap(stack, GraphTransformObserver, "__exit__", _exit)
    logger, handler = logging.getLogger(LOGGER), _FusionLog()
    level, propagate = logger.level, logger.propagate
    if not logger.isEnabledFor(logging.DEBUG):
        logger.propagate = False
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)

    def restore() -> None:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate

    stack.callback(restore)
    return stack


def _wrap(stack: ExitStack, place: Any, name: str, wrapper: Callable[..., Any]) -> None:
    original = getattr(place, name)

    @wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    setattr(place, name, wrapped)
    stack.callback(setattr, place, name, original)


def _compile_fx(original: Callable[..., Any], graph: Any, *args: Any, **kwargs: Any) -> Any:
    session = _watched.session
    if session is None or session.current is not None or not isinstance(graph, fx.GraphModule):
        return original(graph, *args, **kwargs)
    return session.compile(original, graph, *args, **kwargs)


def _enter(original: Callable[..., Any], observer: GraphTransformObserver) -> Any:
    if _watched.session is not None and _watched.session.current is not None:
        _watched.session.pass_begins(observer)
    return original(observer)


def _exit(original: Callable[..., Any], observer: GraphTransformObserver, *args: Any) -> Any:
    result = original(observer, *args)
    if _watched.session is not None and _watched.session.current is not None:
        _watched.session.pass_ends(observer)
    return result
