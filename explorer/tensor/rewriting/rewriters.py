"""Rewriters: global ones change a graph as a whole, local ones replace the results of one application."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

from torch._ops import OpOverload, OpOverloadPacket

from explorer.errors import CircuitError, InconsistencyError, OperatorError, RuleError
from explorer.rewrite import Exactness, FromQuery, source_of_function
from explorer.tensor.facts import depends_on_strides, owned_by, read_once
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.graph.storages import KeepStorages
from explorer.tensor.graph.strides import KeepStrides
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rewriting.profile import Profile

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OpPattern:
    """An operator with some attributes: `OpPattern(torch.ops.aten.sum.dim_IntList, keepdim=True)`."""

    target: OpOverload | OpOverloadPacket
    attributes: tuple[tuple[str, Any], ...]

    def __init__(self, target: OpOverload | OpOverloadPacket, **attributes: Any) -> None:
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "attributes", tuple(attributes.items()))

    def __str__(self) -> str:
        return str(self.target) + "".join(f" {name}={value!r}" for name, value in self.attributes)


Tracked = Op | OpOverload | OpOverloadPacket | OpPattern
"""An operator with all its attributes, an overload, all overloads of a name, or a pattern, which a rule can track."""


def is_tracked(op: Op, wanted: Tracked) -> bool:
    """Return whether an operator is one of those that are tracked."""
    if isinstance(wanted, Op):
        return op == wanted
    if isinstance(wanted, OpOverload):
        return op.target is wanted
    if isinstance(wanted, OpOverloadPacket):
        return op.packet is wanted
    return is_tracked(op, wanted.target) and all(dict(op.arguments).get(k) == v for k, v in wanted.attributes)


@lru_cache(maxsize=10_000)
def tracked_name(wanted: Tracked) -> str:
    """Return the name of a tracked operator in messages."""
    return wanted.name if isinstance(wanted, Op) else str(wanted).removeprefix("aten.").removesuffix(".default")


class FailurePolicy(Enum):
    """The reaction to a rule that raises or returns an invalid replacement: raise an error, warn, or only record it.

    A replacement is invalid if it depends on what it replaces, has another type, or does not remove what it lists. It
    is not a failure if a feature of the graph refuses a replacement, which is then reverted and recorded, or if PyTorch
    refuses an operator while a replacement is built, which is declined with PyTorch's reason.
    """

    RAISE = "raise"
    WARN = "warn"
    REVERT = "revert"


class Described(ABC):
    """The description of a rewriter in a record: its name, exactness, docstring and source location."""

    name: str = ""
    exactness: Exactness = Exactness.REAL
    """Its promise about values, if it does not only apply other rewriters."""
    _doc: str | None = None
    _source: str = ""

    @property
    def label(self) -> str:
        """The name under which it is recorded."""
        return self.name or type(self).__name__

    @property
    def doc(self) -> str:
        """The first line of its docstring."""
        return _first_line(type(self)) if self._doc is None else self._doc

    @property
    def source(self) -> str:
        """`file.py:line` where it was written."""
        return self._source or source_of_function(self._method())

    @abstractmethod
    def _method(self) -> Callable[..., Any]:
        """Return the method of its class that implements it."""


class Rewriter(Described):
    """A global rewriter: changes a graph as a whole.

    Subclasses implement `apply`, and `add_requirements` if they need features; users call `rewrite`. `apply` replaces
    with `replace_all`, and reports why it leaves an application alone with `decline`, so that both are recorded.
    """

    def parts(self) -> "Sequence[Rewriter | LocalRewriter] | None":
        """Return the rewriters that it applies; None if it changes the graph itself."""
        return None

    def add_requirements(self, graph: FunctionGraph) -> None:
        """Attach the features that `apply` needs."""
        for part in self.parts() or ():
            part.add_requirements(graph)

    @abstractmethod
    def apply(self, graph: FunctionGraph) -> Profile | None:
        """Change the graph; returns the counts, if any."""

    def rewrite(self, graph: FunctionGraph) -> Profile:
        """Attach the required features and apply. Raises: RuleError if a rule fails, naming rule and location."""
        with graph.observer.scope(self.label, self.rule_names()):
            return self.run_on(graph)

    def run_on(self, graph: FunctionGraph) -> Profile:
        """Do the same within the current step of the record."""
        graph.attach_feature(KeepStrides())
        graph.attach_feature(KeepStorages())
        self.add_requirements(graph)
        return self.apply(graph) or Profile()

    def replace_all(
        self, graph: FunctionGraph, pairs: Sequence[tuple[Variable, Variable]], matched: Sequence[Apply] = ()
    ) -> bool:
        """Make several replacements in one transaction; returns whether they were made. Refusals are recorded.

        Raises: RuleError if the replacements are invalid.
        """
        if changes_bits(graph, self, pairs) is not None:
            return False
        try:
            graph.replace_all_validate(pairs, self.label, matched=matched)
        except InconsistencyError:
            return False
        except CircuitError as error:
            message = f"the rule {self.label} ({self.source}) failed: {error}"
            graph.observer.on_failure(message)
            raise RuleError(message) from error
        return True

    def decline(self, graph: FunctionGraph, node: Apply, reason: str) -> None:
        """Record why it leaves an application alone."""
        if graph.observer:
            graph.observer.on_refusal(Declined(reason).refusal(self.label, node))

    def _method(self) -> Callable[..., Any]:
        return type(self).apply

    def rule_names(self) -> tuple[str, ...]:
        """Return the rules that it tries."""
        parts = self.parts()
        return (self.label,) if parts is None else _unique(name for part in parts for name in part.rule_names())

    def local_rewriters(self) -> "tuple[LocalRewriter, ...]":
        """Return the local rewriters that it applies."""
        return _unique(local for part in self.parts() or () for local in part.local_rewriters())

    def global_rewriters(self) -> "tuple[Rewriter, ...]":
        """Return the rewriters that change the graph themselves: itself, or those that it applies."""
        parts = self.parts()
        return (self,) if parts is None else _unique(found for part in parts for found in part.global_rewriters())


def changes_bits(graph: FunctionGraph, rule: Described, pairs: Sequence[tuple[Variable, Variable]]) -> str | None:
    """Find an operator that might compute other bits because a result of an exact rule has other strides; or None.

    For equal numbers with other strides, kernels may add in another order.
    """
    keep = graph.feature(KeepStrides)
    if rule.exactness is not Exactness.EXACT or keep is None:
        return None
    found = (keep.first_user(old, new, depends_on_strides) for old, new in pairs if old.type == new.type)
    return next((user for user in found if user is not None), None)


class LocalRewriter(Described):
    """A local rewriter: returns the replacements for the results of one application.

    See `Rewrite` for what `transform` may return.
    """

    reentrant: bool = True
    """Whether navigators may apply it to its own results."""

    @abstractmethod
    def transform(self, node: Apply) -> Rewrite:
        """Return the replacements of the results of a node, or False."""

    def attempt(self, node: Apply) -> Rewrite:
        """Return the result of `transform`; `Declined` if it builds an operator that PyTorch refuses."""
        try:
            return self.transform(node)
        except OperatorError as error:
            return Declined(f"the replacement cannot be made: {error}")

    def tracks(self) -> Sequence[Tracked] | None:
        """Return the operators at which it is tried; None for all operators."""
        return None

    def requirements(self) -> Sequence[Feature]:
        """Return the features that it needs."""
        return ()

    def add_requirements(self, graph: FunctionGraph) -> None:
        """Attach the features that it needs."""
        for feature in self.requirements():
            graph.attach_feature(feature)

    def matched_nodes(self, node: Apply) -> Sequence[Apply]:
        """Return the applications that the last match at a node covered, the root first; for the record."""
        return (node,)

    def rule_names(self) -> tuple[str, ...]:
        """Return its name, as it is a rule itself."""
        return (self.label,)

    def local_rewriters(self) -> "tuple[LocalRewriter, ...]":
        """Return itself, or the members of a group."""
        return (self,)

    def global_rewriters(self) -> tuple[Rewriter, ...]:
        """Return no global rewriters."""
        return ()

    def _method(self) -> Callable[..., Any]:
        return type(self).transform

    def __str__(self) -> str:
        return self.label


def check_tracks(rewriter: LocalRewriter) -> Sequence[Tracked] | None:
    """Return the operators that a rewriter tracks. Raises: RuleError for an empty list, or an entry of another type."""
    found = rewriter.tracks()
    if found is None:
        return None
    if not found:
        raise RuleError(
            f"{rewriter.label} tracks an empty list, so it would never be tried; track None for all operators"
        )
    for wanted in found:
        if not isinstance(wanted, Op | OpOverload | OpOverloadPacket | OpPattern):
            raise RuleError(f"{rewriter.label} tracks {wanted!r}; expected operators, overloads or OpPatterns")
    return found


class FunctionRewriter(LocalRewriter):
    """A local rewriter that calls a function; see `node_rewriter`."""

    def __init__(
        self,
        function: Callable[..., Rewrite],
        name: str,
        tracks: Sequence[Tracked] | None,
        exactness: Exactness,
        requirements: Sequence[Callable[[], Feature]],
        reentrant: bool,
        above: Sequence[OpOverload] | None,
        sole_user: bool,
    ) -> None:
        self.name = name
        self.exactness = exactness
        self.reentrant = reentrant
        self._doc = _first_line(function)
        self._function = function
        self._tracks = tracks
        self._requirements = requirements
        self._above = above
        self._sole_user = sole_user

    def transform(self, node: Apply) -> Rewrite:
        if self._above is None:
            return self._function(node)
        above = owned_by(node.inputs[0], *self._above) if node.inputs else None
        if above is None:
            return False
        if self._sole_user and not read_once(node.inputs[0]):
            return Declined(f"the result of {above.op.name} has other users", above)
        return self._function(node, above)

    def tracks(self) -> Sequence[Tracked] | None:
        return self._tracks

    def requirements(self) -> Sequence[Feature]:
        return [make() for make in self._requirements]

    def _method(self) -> Callable[..., Any]:
        return self._function


def node_rewriter(
    tracks: Sequence[Tracked] | None,
    *,
    name: str = "",
    exactness: Exactness = Exactness.REAL,
    requirements: Sequence[Callable[[], Feature]] = (),
    reentrant: bool = True,
    above: Sequence[OpOverload] | None = None,
    sole_user: bool = False,
) -> Callable[[Callable[..., Rewrite]], FunctionRewriter]:
    """Decorator: turn a function of an application into a local rewriter.

    With `above` it is a function of the application and the owner of its first input, called only if that applies one
    of these overloads; with `sole_user` it is declined if that input has other users.
    Raises: RuleError for invalid `tracks`.
    """

    def decorate(function: Callable[..., Rewrite]) -> FunctionRewriter:
        label = name or function.__name__
        rewriter = FunctionRewriter(
            function, label, tracks, exactness, tuple(requirements), reentrant, above, sole_user
        )
        check_tracks(rewriter)
        return rewriter

    return decorate


class FunctionGraphRewriter(Rewriter):
    """A global rewriter that calls a function; see `graph_rewriter`."""

    def __init__(
        self,
        function: Callable[[FunctionGraph], Any],
        name: str,
        requirements: Sequence[Callable[[], Feature]],
        exactness: Exactness,
    ) -> None:
        self.name = name
        self.exactness = exactness
        self._doc = _first_line(function)
        self._function = function
        self._requirements = requirements

    def add_requirements(self, graph: FunctionGraph) -> None:
        for make in self._requirements:
            graph.attach_feature(make())

    def apply(self, graph: FunctionGraph) -> Profile | None:
        found = self._function(graph)
        return found if isinstance(found, Profile) else None

    def _method(self) -> Callable[..., Any]:
        return self._function


def graph_rewriter(
    name: str = "",
    requirements: Sequence[Callable[[], Feature]] = (),
    *,
    exactness: Exactness = Exactness.REAL,
) -> Callable[[Callable[[FunctionGraph], Any]], FunctionGraphRewriter]:
    """Decorator: turn a function of a graph into a global rewriter."""
    return lambda function: FunctionGraphRewriter(function, name or function.__name__, tuple(requirements), exactness)


class SequenceRewriter(FromQuery, Rewriter):
    """Rewriters one after the other."""

    def __init__(self, *rewriters: Rewriter, name: str = "sequence") -> None:
        self.name = name
        self.rewriters = rewriters

    def add_requirements(self, graph: FunctionGraph) -> None:
        """Do nothing: each rewriter adds its own when it is applied."""

    def apply(self, graph: FunctionGraph) -> Profile:
        profile = Profile()
        for rewriter in self.rewriters:
            profile.add(rewriter.rewrite(graph))
        return profile

    def parts(self) -> Sequence[Rewriter]:
        return self.rewriters

    def __str__(self) -> str:
        return "\n".join(map(str, self.rewriters))


def _first_line(described: object) -> str:
    return (described.__doc__ or "").strip().split("\n")[0]


def _unique(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))
