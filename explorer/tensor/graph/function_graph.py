"""`FunctionGraph`: the nodes of a computation, its features, and the methods that change it.

Every change is part of a transaction (transactions.py) that adds and removes nodes (wiring.py), notifies the features,
and can be undone.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from explorer.errors import GraphError, InconsistencyError
from explorer.levels import NO_OBSERVER
from explorer.tensor.graph.features import AlreadyThere, Feature
from explorer.tensor.graph.interface import PLAIN
from explorer.tensor.graph.rewrites import GraphObserver
from explorer.tensor.graph.transactions import Naming, Transactions
from explorer.tensor.graph.wiring import Change, Order, import_variable
from explorer.tensor.ir.variables import Apply, Constant, Variable, constant_text, expression, settings_text, toposort

NO_LAYOUTS: Mapping[Variable, str] = MappingProxyType({})


class FunctionGraph:
    """A graph from inputs to outputs, of the applications that the outputs need.

    `inputs` are variables without owner; a constant needs no declaration. With `clone` the graph is made of copies,
    which are in `inputs` and `outputs`, in order.
    Raises: GraphError if a variable without owner is needed that is not among the inputs.
    """

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        *,
        clone: bool = True,
        features: Sequence[Feature] = (),
        first_id: int = 0,
    ) -> None:
        if clone:
            copies = clone_variables(inputs, outputs)
            inputs, outputs = [copies[v] for v in inputs], [copies[v] for v in outputs]
        self.inputs: list[Variable] = list(inputs)
        self.outputs: list[Variable] = []
        self.nodes: dict[Apply, None] = {}
        self.ids: dict[Variable, int] = {}
        """Numbers of inputs and constants; applications have theirs in `id`. A number is never used twice."""
        self.made_by: dict[Apply, str] = {}
        """The rewriters that made applications; initial applications are not in it."""
        self.interface = PLAIN
        """The calling convention."""
        self.order = Order()
        self.observer: GraphObserver = NO_OBSERVER
        """Receives scopes, refusals and limits; a recording observer replaces it when it is attached."""
        self.features: tuple[Feature, ...] = ()
        """The features that are attached."""
        self.declared = set(self.inputs)
        self.next_id = first_id
        """A number above all that were used."""
        self.next_draw = 0
        """A position after all random operators."""
        self._published: dict[str, Callable[..., Any]] = {}
        self._transactions = Transactions(self)
        for feature in features:
            self.attach_feature(feature)
        if len(self.declared) != len(self.inputs):
            raise GraphError("a variable occurs twice among the inputs; list each variable once")
        for variable in self.inputs:
            if variable.owner is not None:
                raise GraphError(f"{variable} is the result of {variable.owner.op.name}; an input has no owner")
            self.number(variable)
        for variable in outputs:
            import_variable(self, variable)
            variable.clients[(None, len(self.outputs))] = None
            self.outputs.append(variable)

    # ------------------------------------------------------------------ contents

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: Apply) -> bool:
        return node in self.nodes

    def toposort(self) -> list[Apply]:
        """Return the applications in topological order, which respects the features and is the same for equal graphs.

        Random operators keep the order of the program as far as their inputs allow.
        Raises: CycleError if the orderings of features are impossible.
        """
        before: dict[Apply, list[Apply]] = {}
        for feature in self.features:
            for node, earlier in feature.orderings(self).items():
                before.setdefault(node, []).extend(earlier)
        random = sorted((node for node in self.nodes if node.draw >= 0), key=lambda node: node.draw)
        return toposort([*(node.outputs[0] for node in random), *self.outputs], before)

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The constants that have users, in the order in which they were imported."""
        return tuple(v for v in self.ids if isinstance(v, Constant) and v.clients)

    def users(self, node: Apply) -> tuple[Apply, ...]:
        """Return the applications that read a result of a node, each once."""
        found = {client: None for v in node.outputs for client, _ in v.clients if client is not None}
        return tuple(found)

    def is_output(self, node: Apply) -> bool:
        """Return whether a result of a node is an output of the graph."""
        return any(client is None for v in node.outputs for client, _ in v.clients)

    def clone(self) -> "FunctionGraph":
        """Return a copy without features."""
        copy = FunctionGraph(self.inputs, self.outputs)
        copy.interface = self.interface
        return copy

    # ------------------------------------------------------------------ features

    def attach_feature(self, feature: Feature) -> None:
        """Attach a feature; a second one of a class of single features, or one that raises `AlreadyThere`, is ignored.

        Raises: InconsistencyError if a name that it publishes is taken.
        """
        if feature.is_single and self.feature(type(feature)) is not None:
            return
        with suppress(AlreadyThere):
            feature.on_attach(self)
            for name in feature.publishes:
                if name in self._published:
                    raise InconsistencyError(f"a feature publishes {name!r} already")
                self._published[name] = getattr(feature, name)
            self.features = (*self.features, feature)

    def remove_feature(self, feature: Feature) -> None:
        """Detach a feature that is attached."""
        kept = list(self.features)
        kept.remove(feature)
        self.features = tuple(kept)
        for name in feature.publishes:
            del self._published[name]
        feature.on_detach(self)

    def feature(self, kind: type[Feature]) -> Any:
        """Return the attached feature of a class, or None."""
        return next((feature for feature in self.features if isinstance(feature, kind)), None)

    def __getattr__(self, name: str) -> Any:
        published = self.__dict__.get("_published", {})
        if name in published:
            return published[name]
        raise AttributeError(f"a FunctionGraph has no {name!r}; features publish {', '.join(published) or 'nothing'}")

    # ------------------------------------------------------------------ changing it

    @property
    def changes(self) -> Sequence[Change | Naming]:
        """All changes that were not undone, in order."""
        return self._transactions.changes

    def change_node_input(self, node: Apply | None, index: int, new: Variable, reason: object = None) -> None:
        """Replace an input of an application (None: an output of the graph).

        Raises: TypeMismatchError, CycleError, GraphError, InconsistencyError; then nothing has changed.
        """
        self._transactions.change_input(node, index, new, reason)

    def replace(self, old: Variable, new: Variable, reason: object = None) -> None:
        """Replace a variable in all its users; a variable without users is ignored.

        Raises: as `change_node_input`; then nothing has changed.
        """
        self.replace_all([(old, new)], reason)

    def replace_all(self, pairs: Sequence[tuple[Variable, Variable]], reason: object = None) -> None:
        """Make several replacements in one transaction, without asking features. Raises: as `change_node_input`."""
        self._transactions.replace_all(pairs, reason)

    def replace_validate(self, old: Variable, new: Variable, reason: object = None) -> None:
        """Replace a variable if all features accept it. Raises: as `replace_all_validate`."""
        self.replace_all_validate([(old, new)], reason)

    def replace_all_validate(
        self,
        pairs: Sequence[tuple[Variable, Variable]],
        reason: object = None,
        remove: Sequence[object] = (),
        matched: Sequence[Apply] = (),
        layouts: Mapping[Variable, str] = NO_LAYOUTS,
    ) -> None:
        """Make several replacements in one transaction: all of them if all features agree, or none.

        `remove` are applications and variables that must be removed by this, and for good; `matched` are the
        applications that a rule matched, the root first, for the record. `layouts` names the order of the axes of
        variables of the graph.
        Raises: TypeMismatchError, CycleError, GraphError; InconsistencyError if a feature refuses it;
        RuleError if something in `remove` is still in the graph.
        """
        self._transactions.replace_all_validate(pairs, reason, remove, matched, layouts)

    def validate(self) -> None:
        """Ask every feature. Raises: InconsistencyError if one refuses the present graph."""
        for feature in self.features:
            feature.on_validate(self)

    def checkpoint(self) -> int:
        """Return a mark to which `undo` can revert."""
        return len(self._transactions.changes)

    def undo(self, mark: int) -> None:
        """Revert all changes since a mark. Raises: GraphError for a mark in the future."""
        self._transactions.undo(mark)

    def number(self, variable: Variable) -> None:
        """Assign a number to an input or constant that enters the graph."""
        self.ids[variable] = self.next_id
        self.next_id += 1

    # ------------------------------------------------------------------ checks and text

    def verify(self) -> None:
        """Check the invariants of the graph. Raises: GraphError with the first violation."""
        for node in toposort(self.outputs):
            if node not in self.nodes:
                raise GraphError(f"{node.op.name} is needed by an output, but is not among the nodes")
            for i, source in enumerate(node.inputs):
                if (node, i) not in source.clients:
                    raise GraphError(f"%{node.id} {node.op.name} is not among the clients of its input {i}")
                if source.owner is None and source not in self.ids:
                    raise GraphError(f"%{node.id} {node.op.name} reads {source.name!r}, which is not an input")
            found = node.op.result_types([v.type for v in node.inputs])
            if len(found) != len(node.outputs):
                raise GraphError(f"%{node.id} {node.op.name} has {len(node.outputs)} results; expected {len(found)}")
            for variable, kind in zip(node.outputs, found, strict=True):
                # unused results may have any type: embedding_bag with gradients has other auxiliary results
                if variable.clients and variable.type != kind:
                    raise GraphError(
                        f"result {variable.index} of %{node.id} {node.op.name} is a {kind}, but its variable has the "
                        f"type {variable.type}"
                    )
        needed = set(toposort(self.outputs))
        for node in self.nodes:
            if node not in needed:
                raise GraphError(f"%{node.id} {node.op.name} is in the graph, but no output needs it")

    def text(self, *, ids: bool = False) -> str:
        """Return one line per application, numbered from the inputs on: equal for equal graphs.

        With `ids` they have the numbers that `why_not`, errors and `print(trace.graph_at(step))` use.
        """
        numbers: dict[Variable, str] = {}
        found: list[str] = []
        taken: set[str] = set()

        def define(variable: Variable, name: str, text: str) -> None:
            unique = f"%{name}#{len(numbers)}" if name.isdecimal() or f"%{name}" in taken else f"%{name}"
            numbers[variable] = unique
            taken.add(unique)
            found.append(f"{numbers[variable]} = {text} : {variable.type}")

        for variable in self.inputs:
            define(variable, variable.name or f"i{len(numbers)}", "input")
        nodes = self.toposort()
        for variable in [v for node in nodes for v in node.inputs] + list(self.outputs):
            if isinstance(variable, Constant) and variable not in numbers:
                define(variable, variable.name or f"c{len(numbers)}", constant_text(variable))
        for position, node in enumerate(nodes):
            i = node.id if ids else position
            names = [f"%{i}" if len(node.outputs) == 1 else f"%{i}:{k}" for k in range(len(node.outputs))]
            numbers.update(zip(node.outputs, names, strict=True))
            inside = ", ".join([*(numbers[v] for v in node.inputs), *settings_text(node.op.settings)])
            types = ", ".join(str(v.type) for v in node.outputs)
            found.append(f"%{i} = {str(node.op.target).removeprefix('aten.')}({inside}) : {types}")
        found.append("outputs: " + ", ".join(numbers[v] for v in self.outputs))
        return "\n".join(found)

    def __repr__(self) -> str:
        return expression(self.outputs)


def clone_variables(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> dict[Variable, Variable]:
    """Copy all variables from inputs to outputs; constants are shared in content, not in identity."""
    copies: dict[Variable, Variable] = {v: Variable(v.type, None, 0, v.name, v.device, v.requires_grad) for v in inputs}

    def copy(variable: Variable) -> Variable:
        if variable not in copies:
            if isinstance(variable, Constant):
                kind = variable.tensor_type
                copies[variable] = Constant(
                    variable.data, variable.name, variable.trainable, kind.layout, kind.quantization
                )
            else:
                copies[variable] = variable  # an undeclared input: reported when it is imported
        return copies[variable]

    for node in toposort(outputs):
        new = Apply(node.op, [copy(v) for v in node.inputs], location=node.location, draw=node.draw)
        new.outputs = [Variable(v.type, new, v.index, v.name, v.device, v.requires_grad) for v in node.outputs]
        copies.update(zip(node.outputs, new.outputs, strict=True))
    for variable in outputs:
        copy(variable)
    return copies
