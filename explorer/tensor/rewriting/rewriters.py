"""Rewriters: global ones walk a graph as they like, local ones look at one application.

Source: Theano, Graph optimization: Optimizer and LocalOptimizer, called rewriters here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from torch._ops import OpOverload, OpOverloadPacket

from explorer.errors import CircuitError, InconsistencyError, OperatorError, RuleError
from explorer.rewrite import Exactness, FromQuery, source_of_function
from explorer.tensor.facts import goes_by_memory
from explorer.tensor.graph.features import Feature, ReplaceValidate
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.graph.strides import KeepStrides
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rewriting.profile import Profile
from explorer.trace import Refusal, RefusalKind


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
"""What a rule can look for: an operator with all its attributes, an overload, all overloads of a name, or a pattern."""


def is_tracked(op: Op, wanted: Tracked) -> bool:
    """Whether an operator is what is looked for."""
    if isinstance(wanted, Op):
        return op == wanted
    if isinstance(wanted, OpOverload):
        return op.target is wanted
    if isinstance(wanted, OpOverloadPacket):
        return op.packet is wanted
    return is_tracked(op, wanted.target) and all(dict(op.arguments).get(k) == v for k, v in wanted.attributes)


@lru_cache(maxsize=10_000)
def tracked_name(wanted: Tracked) -> str:
    """What is looked for, in a word."""
    return wanted.name if isinstance(wanted, Op) else str(wanted).removeprefix("aten.").removesuffix(".default")


class FailurePolicy(Enum):
    """What happens when a rule raises or gives what it must not: end with an error, warn, or only record it.

    It must not give what depends on what it replaces, has another type, or does not remove what it says. That a
    feature of the graph has something against a replacement is no failure: it is taken back and recorded in any case.
    Nor is an OperatorError while a replacement is made: what PyTorch refuses is declined, with its reason.
    """

    RAISE = "raise"
    WARN = "warn"
    REVERT = "revert"


class Described(ABC):
    """What a record says of any rewriter: its name, what it promises, what it does and where it was written."""

    name: str = ""
    exactness: Exactness = Exactness.REAL
    """What it promises of the values, where it does more than lead other rewriters."""

    @property
    def label(self) -> str:
        """The name under which it is recorded."""
        return self.name or type(self).__name__

    @property
    def doc(self) -> str:
        """The first line of its docstring."""
        return _first_line(type(self))

    @property
    def source(self) -> str:
        """`file.py:line` where it was written."""
        return source_of_function(self._method())

    @abstractmethod
    def _method(self) -> Callable[..., Any]:
        """The method of its class that does its work."""


class Rewriter(Described):
    """A global rewriter: changes a graph as a whole.

    Subclasses fill in `apply`, and `add_requirements` if they need features. Call `rewrite`. What `apply` does goes
    through `replace_all`, and what it leaves alone through `decline`, so that the record knows.
    """

    def add_requirements(self, graph: FunctionGraph) -> None:
        """Attach the features that `apply` needs."""
        graph.attach_feature(ReplaceValidate())

    @abstractmethod
    def apply(self, graph: FunctionGraph) -> Profile | None:
        """Change the graph; give what was done, if it was counted."""

    def rewrite(self, graph: FunctionGraph) -> Profile:
        """Attach what is needed and apply. Raises: RuleError for a rule that fails, naming it and the place."""
        with graph.observer.scope(self.label, self.rule_names()):
            return self.run_on(graph)

    def run_on(self, graph: FunctionGraph) -> Profile:
        """The same as part of another step: what operators see of strides stays, and what is needed is attached."""
        if graph.feature(KeepStrides) is None:
            graph.attach_feature(KeepStrides())
        self.add_requirements(graph)
        return self.apply(graph) or Profile()

    def replace_all(
        self, graph: FunctionGraph, pairs: Sequence[tuple[Variable, Variable]], matched: Sequence[Apply] = ()
    ) -> bool:
        """Several replacements as one: whether they stand. What a feature has against them is recorded.

        Raises: RuleError for replacements that the graph cannot take.
        """
        if changes_bits(graph, self, pairs) is not None:
            return False
        try:
            graph.replace_all_validate(pairs, self.label, matched=matched)
        except InconsistencyError:
            return False
        except CircuitError as error:
            message = f"the rule {self.label} ({self.source}) failed: {error}"
            graph.observer.failed(message)
            raise RuleError(message) from error
        return True

    def decline(self, graph: FunctionGraph, node: Apply, reason: str) -> None:
        """Record why it leaves an application alone at which it might have done something."""
        if graph.observer:
            graph.observer.refused(Refusal(self.label, node.id, 0, node.id, RefusalKind.DECLINED, found=reason))

    def _method(self) -> Callable[..., Any]:
        return type(self).apply

    def rule_names(self) -> tuple[str, ...]:
        """The rules that it tries."""
        return (self.label,)

    def local_rewriters(self) -> "tuple[LocalRewriter, ...]":
        """The local rewriters that it uses, for the description of a record."""
        return ()

    def global_rewriters(self) -> "tuple[Rewriter, ...]":
        """The global rewriters that change a graph themselves, for the description of a record."""
        return (self,) if self.label in self.rule_names() and not self.local_rewriters() else ()


def changes_bits(graph: FunctionGraph, rule: Described, pairs: Sequence[tuple[Variable, Variable]]) -> str | None:
    """The first operator that might compute other bits after an exact rule, whose results have other strides; or None.

    For the same numbers with other strides, kernels add in another order.
    """
    keep = graph.feature(KeepStrides)
    if rule.exactness is not Exactness.EXACT or keep is None:
        return None
    found = (keep.first_user(old, new, goes_by_memory) for old, new in pairs if old.type == new.type)
    return next((user for user in found if user is not None), None)


class LocalRewriter(Described):
    """A local rewriter: looks at one application and may give what replaces its results.

    `transform` gives False (nothing to do; or `Declined` with the reason), or one variable for each result of the
    node, None where a result is not used; or a mapping from variables to what replaces them, in which the key
    "remove" may list what must be gone afterwards, and "layouts" may map variables to the names of their axes.
    """

    reentrant: bool = True
    """Whether it may be applied to what it made; navigators that decide by themselves ask this."""

    @abstractmethod
    def transform(self, node: Apply) -> Rewrite:
        """What replaces the results of a node, or False."""

    def attempt(self, node: Apply) -> Rewrite:
        """What `transform` gives; `Declined` if it makes something that PyTorch refuses."""
        try:
            return self.transform(node)
        except OperatorError as error:
            return Declined(f"the replacement cannot be made: {error}")

    def tracks(self) -> Sequence[Tracked] | None:
        """The operators at which it is tried; None: at all."""
        return None

    def requirements(self) -> Sequence[Feature]:
        """Features that it needs."""
        return ()

    def matched(self, node: Apply) -> Sequence[Apply]:
        """The applications that the last match at a node looked at, the root first; for the record."""
        return (node,)

    def _method(self) -> Callable[..., Any]:
        return type(self).transform

    def __str__(self) -> str:
        return self.label


def checked_tracks(rewriter: LocalRewriter) -> Sequence[Tracked] | None:
    """What a rewriter tracks. Raises: RuleError for an empty list or for what is no operator."""
    found = rewriter.tracks()
    if found is None:
        return None
    if not found:
        raise RuleError(
            f"{rewriter.label} tracks an empty list, so it would never be tried; track None for all operators"
        )
    for wanted in found:
        if not isinstance(wanted, Op | OpOverload | OpOverloadPacket | OpPattern):
            raise RuleError(f"{rewriter.label} tracks {wanted!r}; give operators, overloads or OpPatterns")
    return found


class FunctionRewriter(LocalRewriter):
    """A local rewriter made of a function; `node_rewriter` makes them."""

    def __init__(
        self,
        function: Callable[[Apply], Rewrite],
        name: str,
        tracks: Sequence[Tracked] | None,
        exactness: Exactness,
        requirements: Sequence[Callable[[], Feature]],
        reentrant: bool,
    ) -> None:
        self.name = name
        self.exactness = exactness
        self.reentrant = reentrant
        self._function = function
        self._tracks = tracks
        self._requirements = requirements

    def transform(self, node: Apply) -> Rewrite:
        return self._function(node)

    def tracks(self) -> Sequence[Tracked] | None:
        return self._tracks

    def requirements(self) -> Sequence[Feature]:
        return [make() for make in self._requirements]

    @property
    def doc(self) -> str:
        return _first_line(self._function)

    @property
    def source(self) -> str:
        return source_of_function(self._function)


def node_rewriter(
    tracks: Sequence[Tracked] | None,
    *,
    name: str = "",
    exactness: Exactness = Exactness.REAL,
    requirements: Sequence[Callable[[], Feature]] = (),
    reentrant: bool = True,
) -> Callable[[Callable[[Apply], Rewrite]], FunctionRewriter]:
    """Decorator: make a local rewriter of a function of an application. Raises: RuleError for wrong `tracks`."""

    def made(function: Callable[[Apply], Rewrite]) -> FunctionRewriter:
        rewriter = FunctionRewriter(
            function, name or function.__name__, tracks, exactness, tuple(requirements), reentrant
        )
        checked_tracks(rewriter)
        return rewriter

    return made


class FunctionGraphRewriter(Rewriter):
    """A global rewriter made of a function; `graph_rewriter` makes them."""

    def __init__(
        self,
        function: Callable[[FunctionGraph], Any],
        name: str,
        requirements: Sequence[Callable[[], Feature]],
        exactness: Exactness,
    ) -> None:
        self.name = name
        self.exactness = exactness
        self._function = function
        self._requirements = requirements

    def add_requirements(self, graph: FunctionGraph) -> None:
        for make in self._requirements:
            graph.attach_feature(make())

    def apply(self, graph: FunctionGraph) -> Profile | None:
        found = self._function(graph)
        return found if isinstance(found, Profile) else None

    @property
    def doc(self) -> str:
        return _first_line(self._function)

    @property
    def source(self) -> str:
        return source_of_function(self._function)


def graph_rewriter(
    name: str = "",
    requirements: Sequence[Callable[[], Feature]] = (),
    *,
    exactness: Exactness = Exactness.REAL,
) -> Callable[[Callable[[FunctionGraph], Any]], FunctionGraphRewriter]:
    """Decorator: make a global rewriter of a function of a graph."""
    return lambda function: FunctionGraphRewriter(function, name or function.__name__, tuple(requirements), exactness)


class SequenceRewriter(FromQuery, Rewriter):
    """Rewriters one after the other."""

    def __init__(self, *rewriters: Rewriter, name: str = "sequence") -> None:
        self.name = name
        self.rewriters = rewriters

    def add_requirements(self, graph: FunctionGraph) -> None:
        """Each rewriter adds its own before it is applied."""

    def apply(self, graph: FunctionGraph) -> Profile:
        profile = Profile()
        for rewriter in self.rewriters:
            profile.add(rewriter.rewrite(graph))
        return profile

    def rule_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for rewriter in self.rewriters for name in rewriter.rule_names()))

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        return tuple(dict.fromkeys(local for rewriter in self.rewriters for local in rewriter.local_rewriters()))

    def global_rewriters(self) -> tuple[Rewriter, ...]:
        return tuple(dict.fromkeys(inner for rewriter in self.rewriters for inner in rewriter.global_rewriters()))

    def __str__(self) -> str:
        return "\n".join(map(str, self.rewriters))


def _first_line(described: object) -> str:
    """The first line of a docstring."""
    return (described.__doc__ or "").strip().split("\n")[0]
