"""The graph of a computation, and the one place where it changes.

Source: Theano, Graph optimization (FunctionGraph, features). Every change goes through `change_node_input`; what a
change imports and prunes follows from it, features are told, and the change is kept so that it can be undone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from explorer.errors import CircuitError, CycleError, GraphError, InconsistencyError, TypeMismatchError
from explorer.tensor.features import AlreadyThere, Feature
from explorer.tensor.interface import PLAIN
from explorer.tensor.observer import Observer
from explorer.tensor.order import Order
from explorer.tensor.variables import Apply, Constant, Variable
from explorer.trace import Listener


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """An input of an application (None: of the graph's outputs) became another variable."""

    node: Apply | None
    index: int
    old: Variable
    new: Variable
    reason: object


class FunctionGraph:
    """A graph from inputs to outputs; what it holds is what the outputs need.

    `inputs` are variables without owner; a constant needs no declaration. With `clone` the graph is made of copies, so
    that what the caller holds does not change; the copies are in `inputs` and `outputs`, in order.
    Raises: GraphError if a variable without owner is needed that is not among the inputs.
    """

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        *,
        clone: bool = True,
        features: Sequence[Feature] = (),
        listeners: Sequence[Listener] = (),
        first_id: int = 0,
    ) -> None:
        if clone:
            copies = cloned(inputs, outputs)
            inputs, outputs = [copies[v] for v in inputs], [copies[v] for v in outputs]
        self.inputs: list[Variable] = list(inputs)
        self.outputs: list[Variable] = []
        self.nodes: dict[Apply, None] = {}
        self.ids: dict[Variable, int] = {}
        """Numbers of inputs and constants; applications have theirs in `id`. A number is never used twice."""
        self.changes: list[Change] = []
        self.made_by: dict[Apply, str] = {}
        """Which rewriter made an application; those of the beginning are not in it."""
        self.interface = PLAIN
        """How the graph is called."""
        self.order = Order()
        self.observer = Observer(self, listeners)
        self._features: list[Feature] = []
        self._published: dict[str, Callable[..., Any]] = {}
        self.declared = set(self.inputs)
        self._next_id = first_id
        self._removed: set[Apply] = set()
        for feature in features:
            self.attach_feature(feature)
        if len(self.declared) != len(self.inputs):
            raise GraphError("an input stands twice among the inputs; give each variable once")
        for variable in self.inputs:
            if variable.owner is not None:
                raise GraphError(f"{variable} is the result of {variable.owner.op.name}; an input has no owner")
            self._number(variable)
        for variable in outputs:
            self._import(variable, None)
            variable.clients[(None, len(self.outputs))] = None
            self.outputs.append(variable)

    # ------------------------------------------------------------------ what is in it

    @property
    def next_id(self) -> int:
        """A number above all that were used."""
        return self._next_id

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: Apply) -> bool:
        return node in self.nodes

    def toposort(self) -> list[Apply]:
        """The applications, each behind all it reads and behind what features ask for; the same for equal graphs.

        Raises: CycleError if what features ask for cannot be kept.
        """
        before: dict[Apply, list[Apply]] = {}
        for feature in self._features:
            for node, earlier in feature.orderings(self).items():
                before.setdefault(node, []).extend(earlier)
        return toposorted(self.outputs, before)

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The constants that something reads, in the order in which they came."""
        return tuple(v for v in self.ids if isinstance(v, Constant) and v.clients)

    def users(self, node: Apply) -> tuple[Apply, ...]:
        """The applications that read a result of a node, each once."""
        found = {client: None for v in node.outputs for client, _ in v.clients if client is not None}
        return tuple(found)

    def is_output(self, node: Apply) -> bool:
        """Whether a result of a node is an output of the graph."""
        return any(client is None for v in node.outputs for client, _ in v.clients)

    def clone(self) -> "FunctionGraph":
        """A copy without features and listeners."""
        copy = FunctionGraph(self.inputs, self.outputs)
        copy.interface = self.interface
        return copy

    # ------------------------------------------------------------------ features

    def attach_feature(self, feature: Feature) -> None:
        """Attach a feature; one that says that it is there already is passed over.

        Raises: InconsistencyError if a name that it publishes is taken.
        """
        with suppress(AlreadyThere):
            feature.on_attach(self)
            for name in feature.publishes:
                if name in self._published:
                    raise InconsistencyError(f"a feature publishes {name!r} already")
                self._published[name] = getattr(feature, name)
            self._features.append(feature)

    def remove_feature(self, feature: Feature) -> None:
        """Detach a feature that is attached."""
        self._features.remove(feature)
        for name in feature.publishes:
            del self._published[name]
        feature.on_detach(self)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features that are attached."""
        return tuple(self._features)

    def feature(self, kind: type[Feature]) -> Any:
        """The attached feature of a class, or None."""
        return next((feature for feature in self._features if isinstance(feature, kind)), None)

    def __getattr__(self, name: str) -> Any:
        published = self.__dict__.get("_published", {})
        if name in published:
            return published[name]
        raise AttributeError(f"a FunctionGraph has no {name!r}; features publish {', '.join(published) or 'nothing'}")

    # ------------------------------------------------------------------ changing it

    def change_node_input(self, node: Apply | None, index: int, new: Variable, reason: object = None) -> None:
        """Let an application (None: the outputs) read another variable at a position.

        Raises: TypeMismatchError, CycleError, GraphError, InconsistencyError; then nothing has changed.
        """
        with self._transaction(reason, [self.outputs[index] if node is None else node.inputs[index]], [new]):
            self._change_checked(node, index, new, reason)

    def replace(self, old: Variable, new: Variable, reason: object = None) -> None:
        """Let all that read one variable read another one. A variable that nothing reads is passed over.

        Raises: as `change_node_input`; then nothing has changed.
        """
        self.replace_all([(old, new)], reason)

    def replace_all(self, pairs: Sequence[tuple[Variable, Variable]], reason: object = None) -> None:
        """Several replacements as one, without asking features. Raises: as `change_node_input`."""
        with self._transaction(reason, [old for old, _ in pairs], [new for _, new in pairs]):
            self._replace_all(pairs, reason)

    def replace_validate(self, old: Variable, new: Variable, reason: object = None) -> None:
        """Replace a variable if all features agree. Raises: as `replace_all_validate`."""
        self.replace_all_validate([(old, new)], reason)

    def replace_all_validate(
        self,
        pairs: Sequence[tuple[Variable, Variable]],
        reason: object = None,
        remove: Sequence[object] = (),
        matched: Sequence[Apply] = (),
    ) -> None:
        """Several replacements as one: all of them, and all features agree, or none.

        `remove` are applications and variables that must be gone afterwards, and may never come back; `matched` are
        the applications that a rule looked at, the root first, for the record.
        Raises: TypeMismatchError, CycleError, GraphError; InconsistencyError with what a feature has against it.
        """
        with self._transaction(reason, [old for old, _ in pairs], [new for _, new in pairs], matched):
            self._replace_all(pairs, reason)
            self.validate()
            for gone in remove:
                owner = gone if isinstance(gone, Apply) else gone.owner if isinstance(gone, Variable) else None
                if owner in self.nodes if owner is not None else gone in self.ids:
                    raise InconsistencyError(f"the replacement by {name_of(reason)} did not remove {gone}, as it said")
        self._removed.update(gone for gone in remove if isinstance(gone, Apply))

    @contextmanager
    def _transaction(
        self, reason: object, old: Sequence[Variable], new: Sequence[Variable], matched: Sequence[Apply] = ()
    ) -> Iterator[None]:
        """All that happens inside, or nothing; the observer is told which."""
        mark = len(self.changes)
        self.observer.begin()
        try:
            yield
        except CircuitError as error:
            self._undo(mark)
            self.observer.reverted(name_of(reason), old, str(error))
            raise
        if len(self.changes) > mark:
            self.observer.applied(name_of(reason), old, new, matched)

    def _replace_all(self, pairs: Sequence[tuple[Variable, Variable]], reason: object) -> None:
        for old, new in pairs:
            for node, index in tuple(old.clients):
                self._change_checked(node, index, new, reason)

    def _change_checked(self, node: Apply | None, index: int, new: Variable, reason: object) -> None:
        old = self.outputs[index] if node is None else node.inputs[index]
        if old is not new:
            self._check(node, old, new)
            self._change(node, index, new, reason)

    def validate(self) -> None:
        """Ask every feature. Raises: InconsistencyError with what one has against the present graph."""
        for feature in self._features:
            feature.on_validate(self)

    def checkpoint(self) -> int:
        """A mark to go back to with `undo`."""
        return len(self.changes)

    def undo(self, mark: int) -> None:
        """Take back all changes since a mark. Raises: GraphError for a mark that lies ahead."""
        if not 0 <= mark <= len(self.changes):
            raise GraphError(f"there are {len(self.changes)} changes; one cannot go back to change {mark}")
        self.observer.begin()
        undone = self.changes[mark:]
        self._undo(mark)
        if undone:
            self.observer.applied("undo", [change.new for change in undone], [change.old for change in undone], ())

    def _undo(self, mark: int) -> None:
        while len(self.changes) > mark:
            change = self.changes[-1]
            self._change(change.node, change.index, change.old, ("undo", change.reason))
            del self.changes[-2:]

    def _check(self, node: Apply | None, old: Variable, new: Variable) -> None:
        if old.type != new.type:
            raise TypeMismatchError(f"{_short(new)} is a {new.type} and cannot stand for a {old.type}")
        if node is not None:
            blocked = self.order.path(new, [node])
            if blocked is not None:
                raise CycleError(f"{_short(new)} depends on %{node.id} {node.op.name}, which would read it: a cycle")
        back = next((owner for owner in _owners(new, self.nodes) if owner in self._removed), None)
        if back is not None:
            raise InconsistencyError(f"%{back.id} {back.op.name} was removed for good, and would come back")

    def _change(self, node: Apply | None, index: int, new: Variable, reason: object) -> None:
        old = self.outputs[index] if node is None else node.inputs[index]
        self._import(new, node, reason)
        new.clients[(node, index)] = None
        if node is None:
            self.outputs[index] = new
        else:
            node.inputs[index] = new
            self.order.raise_above(node)
        del old.clients[(node, index)]
        self.changes.append(Change(node, index, old, new, reason))
        self.observer.rewired(node, old)
        self._prune(old, reason)
        for feature in self._features:
            feature.on_change_input(self, node, index, old, new, reason)

    def _import(self, variable: Variable, reader: Apply | None, reason: object = None) -> None:
        """Take in what a variable needs and is not in the graph yet, inputs first."""
        below = self.order.label(reader) if reader is not None else None
        if variable.owner is None:
            self._import_leaf(variable)
            return
        if variable.owner in self.nodes:
            return
        for node in toposorted([variable], stop=self.nodes):
            for leaf in node.inputs:
                if leaf.owner is None:
                    self._import_leaf(leaf)
        for node in toposorted([variable], stop=self.nodes):
            if node.id < 0:
                node.id = self._next_id
            self._next_id = max(self._next_id, node.id + 1)
            self.nodes[node] = None
            if reason is not None:
                self.made_by.setdefault(node, name_of(reason))
            for i, source in enumerate(node.inputs):
                source.clients[(node, i)] = None
            self.order.add(node, below)
            self.observer.imported(node)
            for feature in self._features:
                feature.on_import(self, node, reason)

    def _import_leaf(self, variable: Variable) -> None:
        self.observer.leaf(variable)
        if variable in self.ids:
            return
        if not isinstance(variable, Constant) and variable not in self.declared:
            name = variable.name or "a variable without a name"
            raise GraphError(f"{name} is needed and is not among the inputs of the graph")
        self._number(variable)

    def _number(self, variable: Variable) -> None:
        self.ids[variable] = self._next_id
        self._next_id += 1

    def _prune(self, variable: Variable, reason: object) -> None:
        """Drop what nothing reads any more."""
        waiting = [variable]
        while waiting:
            owner = waiting.pop().owner
            if owner is None or owner not in self.nodes or any(v.clients for v in owner.outputs):
                continue
            del self.nodes[owner]
            self.order.remove(owner)
            self.observer.pruned(owner)
            for feature in self._features:
                feature.on_prune(self, owner, reason)
            for i, source in enumerate(owner.inputs):
                source.clients.pop((owner, i), None)
                if source.owner is None:
                    self.observer.leaf(source)
                waiting.append(source)

    # ------------------------------------------------------------------ checks and text

    def verify(self) -> None:
        """Whether everything in it agrees. Raises: GraphError with the first thing that does not."""
        for node in toposorted(self.outputs):
            if node not in self.nodes:
                raise GraphError(f"{node.op.name} is needed, and is not among the nodes")
            for i, source in enumerate(node.inputs):
                if (node, i) not in source.clients:
                    raise GraphError(f"%{node.id} {node.op.name} is not among the clients of its input {i}")
                if source.owner is None and source not in self.ids:
                    raise GraphError(f"%{node.id} {node.op.name} reads {source.name!r}, which is no input")
            found = node.op.result_types([v.type for v in node.inputs])
            if found != tuple(v.type for v in node.outputs):
                raise GraphError(f"%{node.id} {node.op.name} gives {found}, and says {[v.type for v in node.outputs]}")
        needed = set(toposorted(self.outputs))
        for node in self.nodes:
            if node not in needed:
                raise GraphError(f"%{node.id} {node.op.name} is in the graph, and no output needs it")

    def text(self) -> str:
        """One line an application, numbered from the inputs on: equal for equal graphs."""
        from explorer.tensor.text import lines

        return lines(self)

    def __repr__(self) -> str:
        from explorer.tensor.text import expression

        return expression(self.outputs)


def toposorted(
    outputs: Iterable[Variable],
    before: Mapping[Apply, Sequence[Apply]] | None = None,
    stop: Mapping[Apply, None] | None = None,
) -> list[Apply]:
    """Applications that outputs need, each behind all it reads, depth first in the order of the inputs.

    `before` names more applications that must stand before one; those in `stop` are left out with all below them.
    Raises: CycleError.
    """
    before, stop = before or {}, stop or {}
    done: set[Apply] = set()
    open_: set[Apply] = set()
    order: list[Apply] = []
    for output in outputs:
        if output.owner is None or output.owner in done or output.owner in stop:
            continue
        stack: list[tuple[Apply, Iterator[Apply]]] = [(output.owner, _reads(output.owner, before))]
        open_.add(output.owner)
        while stack:
            node, sources = stack[-1]
            for source in sources:
                if source in done or source in stop:
                    continue
                if source in open_:
                    raise CycleError(f"{source.op.name} and {node.op.name} need each other")
                open_.add(source)
                stack.append((source, _reads(source, before)))
                break
            else:
                stack.pop()
                open_.discard(node)
                done.add(node)
                order.append(node)
    return order


def _reads(node: Apply, before: Mapping[Apply, Sequence[Apply]]) -> Iterator[Apply]:
    for variable in node.inputs:
        if variable.owner is not None:
            yield variable.owner
    yield from before.get(node, ())


def _owners(variable: Variable, stop: Mapping[Apply, None]) -> Iterator[Apply]:
    """The applications that taking in a variable would bring along."""
    yield from toposorted([variable], stop=stop)


def cloned(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> dict[Variable, Variable]:
    """Copies of all variables from inputs to outputs; constants are shared in content, not in identity."""
    copies: dict[Variable, Variable] = {v: Variable(v.type, None, 0, v.name) for v in inputs}

    def copied(variable: Variable) -> Variable:
        if variable not in copies:
            if isinstance(variable, Constant):
                kind = variable.tensor_type
                copies[variable] = Constant(
                    variable.data, variable.name, variable.trainable, kind.layout, kind.quantization
                )
            else:
                copies[variable] = variable  # an input that was not declared: told when it is imported
        return copies[variable]

    for node in toposorted(outputs):
        new = Apply(node.op, [copied(v) for v in node.inputs], place=node.place)
        new.outputs = [Variable(v.type, new, v.index, v.name) for v in node.outputs]
        copies.update(zip(node.outputs, new.outputs, strict=True))
    for variable in outputs:
        copied(variable)
    return copies


def name_of(reason: object) -> str:
    """The name under which a change is recorded: that of a rewriter, a text as it is."""
    if isinstance(reason, str):
        return reason
    return str(getattr(reason, "name", "")) or ("a change by hand" if reason is None else type(reason).__name__)


def _short(variable: Variable) -> str:
    if variable.owner is not None:
        return f"%{variable.owner.id} {variable.owner.op.name}" if variable.owner.id >= 0 else variable.owner.op.name
    return variable.name or "a variable"
