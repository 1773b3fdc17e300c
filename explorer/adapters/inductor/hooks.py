"""The hooks of Inductor: installed while a thread is watched, and undone at the end.

Once for all threads: wraps of `compile_fx`, of the partitioner and of `GraphTransformObserver`. While a graph of a
watched thread is compiled, and only then: settings, the choices handler, and a handler of the log of fusion.
"""

import inspect
import logging
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from typing import Any

import torch._functorch.config as aot
from torch import fx
from torch._inductor import config
from torch._inductor.virtualized import V
from torch.fx.passes.graph_transform_observer import GraphTransformObserver

from explorer.adapters.inductor.heard import BACKWARD, FORWARD
from explorer.adapters.inductor.listening import Hearing, Session
from explorer.adapters.inductor.steering import KEPT_APART

LOGGER = "torch._inductor.scheduler.__fusion"
RECURSIVE = ("_recursive_pre_grad_passes", "_recursive_joint_graph_passes", "_recursive_post_grad_passes")
"""Functions that call themselves for the bodies of branches and loops before they run the passes on a graph."""

PARTITIONER = "min_cut_rematerialization_partition"


class _Watched(threading.local):
    session: Session | None = None

    @property
    def hearing(self) -> Hearing | None:
        """What hears the graph that this thread compiles now; None if it is not watched."""
        return None if self.session is None else self.session.present


_watched = _Watched()


class _FusionLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if (hearing := _watched.hearing) is not None:
            hearing.logged(record.msg, record.args or ())


@contextmanager
def listening(session: Session) -> Generator[Session]:
    """Hear what this thread compiles inside; other threads compile as always."""
    try:
        with _heard_by(session), _hooks.held():
            yield session
    finally:
        session.is_over = True


@contextmanager
def _heard_by(session: Session) -> Generator[None]:
    outer, _watched.session = _watched.session, session
    try:
        yield
    finally:
        _watched.session = outer


@contextmanager
def _caches_off() -> Generator[None]:
    """Turn the caches of whole graphs off: nothing is heard of a graph that comes from one."""
    with config.patch(fx_graph_cache=False, fx_graph_remote_cache=False), aot.patch(enable_autograd_cache=False):
        yield


@contextmanager
def _hearing(session: Session) -> Generator[None]:
    """Hear the scheduler, while one graph is compiled: settings are the program's before and afterwards."""
    then: Any = _chained(config._pre_fusion_custom_pass, session.before_fusion)
    with (
        _heard_by(session),
        _caches_off(),
        config.patch(_pre_fusion_custom_pass=then),
        V.set_choices_handler(_choices(session)),
        _fusion_log.held(),
    ):
        yield


def _chained(first: Callable[[list[Any]], list[Any]] | None, then: Callable[[list[Any]], list[Any]]) -> Any:
    """Return a function: settings may be copied deeply, and of a method what was heard, too."""
    return lambda nodes: then(nodes if first is None else first(nodes))


def _choices(session: Session) -> Any:
    """A choices handler like the present one, which tells scores, and fuses no pair that the session forbids."""
    base: Any = type(V.choices)

    def score_fusion(scheduler: Any, one: Any, other: Any) -> Any:
        score = base.score_fusion(scheduler, one, other)
        if session.present is not None:
            session.present.scored(one, other, score)
        return score

    def can_fuse(scheduler: Any, one: Any, other: Any, shared: int) -> bool:
        hearing, names = session.present, (one.get_name(), other.get_name())
        if hearing is not None and hearing.forbids(*names):
            hearing.refused(*names, KEPT_APART)
            return False
        return base.can_fuse(scheduler, one, other, shared)

    methods = {"score_fusion": staticmethod(score_fusion), "can_fuse": staticmethod(can_fuse)}
    return type("ListeningChoices", (base,), methods)()


class _Shared:
    """What all threads share: installed when the first one begins, and removed when the last one ends."""

    def __init__(self, install: Callable[[ExitStack], None]) -> None:
        self._install, self._lock, self._users = install, threading.Lock(), 0
        self._installed = ExitStack()

    @contextmanager
    def held(self) -> Generator[None]:
        with self._lock:
            if not self._users:
                with ExitStack() as stack:
                    self._install(stack)
                    self._installed = stack.pop_all()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._installed.close()


def _wrap_functions(stack: ExitStack) -> None:
    with warnings.catch_warnings(action="ignore"):  # it imports deprecated parts of PyTorch
        import torch._inductor.compile_fx as compiling  # takes two seconds

    _wrap(stack, compiling, "compile_fx", _compile_fx)
    for name in (*RECURSIVE, PARTITIONER):
        if hasattr(compiling, name):
            _wrap(stack, compiling, name, _partition if name == PARTITIONER else _recursive)
    _wrap(stack, GraphTransformObserver, "__enter__", _enter)
    _wrap(stack, GraphTransformObserver, "__exit__", _exit)


def _read_log(stack: ExitStack) -> None:
    logger, handler = logging.getLogger(LOGGER), _FusionLog()
    stack.callback(setattr, logger, "propagate", logger.propagate)
    stack.callback(logger.setLevel, logger.level)
    if not logger.isEnabledFor(logging.DEBUG):
        logger.propagate = False
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    stack.callback(logger.removeHandler, handler)


_hooks, _fusion_log = _Shared(_wrap_functions), _Shared(_read_log)


def _wrap(stack: ExitStack, place: Any, name: str, wrapper: Callable[..., Any]) -> None:
    original = getattr(place, name)

    @wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    setattr(place, name, wrapped)
    stack.callback(setattr, place, name, original)


def _compile_fx(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    session = _watched.session
    is_graph = len(args) in (1, 2) and isinstance(args[0], fx.GraphModule)
    if session is None or session.present is not None or not is_graph:
        return original(*args, **kwargs)
    heard, known = session.begin(args[0]), inspect.signature(original).parameters
    if "inner_compile" not in known:
        with _hearing(session):
            return session.compile(heard, original, *args, **kwargs)
    inner = kwargs.pop("inner_compile", known["inner_compile"].default)

    def compile_part(graph: fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
        """Compile a graph, or a part of a training step: backward perhaps later, in a thread of the autograd engine."""
        if session.is_over:
            return inner(graph, *args, **kwargs)
        with _hearing(session):
            if kwargs.get("is_inference"):
                return inner(graph, *args, **kwargs)
            name = BACKWARD if kwargs.get("is_backward") else FORWARD
            return session.compile_part(heard, name, inner, graph, *args, **kwargs)

    with _caches_off():
        return session.compile(heard, original, *args, inner_compile=compile_part, **kwargs)


def _partition(original: Callable[..., Any], graph: fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
    divide = original if (hearing := _watched.hearing) is None else partial(hearing.divide, original)
    return divide(graph, *args, **kwargs)


def _recursive(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if (hearing := _watched.hearing) is None:
        return original(*args, **kwargs)
    hearing.bodies += 1
    try:
        return original(*args, **kwargs)
    finally:
        hearing.bodies -= 1


def _enter(original: Callable[..., Any], observer: GraphTransformObserver) -> Any:
    if (hearing := _watched.hearing) is not None:
        hearing.pass_begins(observer)
    return original(observer)


def _exit(original: Callable[..., Any], observer: GraphTransformObserver, *args: Any) -> Any:
    result = original(observer, *args)
    if (hearing := _watched.hearing) is not None:
        hearing.pass_ends(observer)
    return result
