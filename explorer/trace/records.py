"""The record of a node: type, folds, config, scope and parameter graphs, as plain data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, get_args

from explorer.graph import config_of, field_names, nested_of, parameters_of, value_text

LeafName = Callable[[Any], str]
NodeKind = Literal["input", "sum", "product", "fused", "matmul", "view", "operator", "leaf"]
NODE_KINDS: tuple[NodeKind, ...] = get_args(NodeKind)


def type_title(name: str) -> str:
    """The name of a layer or parameter class without what all of them share.

    >>> type_title("TorchSumLayer"), type_title("TorchSoftmaxParameter")
    ('Sum', 'Softmax')
    """
    return name.removeprefix("Torch").removesuffix("Layer").removesuffix("Parameter")


@dataclass(frozen=True, slots=True)
class ParameterNodeRecord:
    """A node of a parameter graph; `inputs` are positions in the graph, `leaves` the names of leaves (one per fold)."""

    type: str
    num_folds: int
    config: Mapping[str, Any]
    inputs: tuple[int, ...]
    leaves: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The type without the words that all types share."""
        return type_title(self.type)


@dataclass(frozen=True, slots=True)
class ParameterRecord:
    """A parameter graph in topological order; `outputs` names for each fold (node position, slice)."""

    shape: tuple[int, ...]
    nodes: tuple[ParameterNodeRecord, ...]
    outputs: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return ">".join(node.title for node in self.nodes) + str(self.shape).replace(",)", ")")


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node of a trace, without its position in the graph.

    `scope` has one tuple of variables for each fold; it is None if the layer reads layers. `about` holds what nodes of
    one group may differ in: the name of a constant, the line that an operator comes from, which results of operators
    with several it reads (`%7:1`); a node with replaced inputs has an equal record. `kind` selects how the node
    is drawn. `title` is its short name: `Sum`, `conv2d`; by default its type's.
    """

    type: str
    num_folds: int
    config: Mapping[str, Any]
    scope: tuple[tuple[int, ...], ...] | None = None
    parameters: Mapping[str, ParameterRecord] = field(default_factory=dict[str, ParameterRecord])
    nested: "Mapping[str, NodeRecord]" = field(default_factory=dict[str, "NodeRecord"])
    about: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    kind: NodeKind = "operator"
    title: str = ""

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", type_title(self.type))

    @property
    def shapes(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Shapes of activations in the fixed letters: in (F, H, B, I) or (F, B, V), out (F, B, O)."""
        units = self.config.get("num_output_units")
        if self.scope is not None:
            return ((self.num_folds, "B", len(self.scope[0]) if self.scope else 0), (self.num_folds, "B", units))
        inputs = (self.num_folds, self.config.get("arity"), "B", self.config.get("num_input_units"))
        return (inputs, (self.num_folds, "B", units))

    def describe(self) -> str:
        """The node in one line."""
        folds = f"[x{self.num_folds}]" if self.num_folds > 1 else ""
        parts = [f"{name}={value}" for name, value in self.config.items() if value is not None]
        if self.scope:
            parts.append("scope=" + _some([str(list(s)) if len(s) != 1 else str(s[0]) for s in self.scope]))
        parts += [f"{name}={inner.describe()}" for name, inner in self.nested.items()]
        parts += [f"{name}={parameter}" for name, parameter in self.parameters.items()]
        return f"{self.title}{folds}({', '.join(parts)})"

    def reads(self, inputs: tuple[int, ...]) -> tuple[str, ...]:
        """Its inputs by id, and of those with several results which one it reads: `%3`, `%7:1`."""
        known: object = self.about.get("reads")
        results = list(map(str, reversed(known))) if isinstance(known, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        names = [f"%{source}" for source in inputs]
        return tuple(results.pop() if results and results[-1].startswith(f"{name}:") else name for name in names)


def record_of(node: Any, leaf_name: LeafName) -> NodeRecord:
    """The record of a layer; `leaf_name` names parameter leaves. A record is its own record."""
    if isinstance(node, NodeRecord):
        return node
    scope: tuple[tuple[int, ...], ...] | None = None
    for name in field_names(node.__class__, "scope"):
        value = getattr(node, name)
        scope = value if not value or isinstance(value[0], tuple) else (value,)
    folds = next((getattr(node, name) for name in field_names(node.__class__, "folds")), 1)
    return NodeRecord(
        type(node).__name__,
        folds,
        {name: plain(value) for name, value in config_of(node).items()},
        scope,
        {name: parameter_record(parameter, leaf_name) for name, parameter in parameters_of(node).items()},
        {name: record_of(inner, leaf_name) for name, inner in nested_of(node).items()},
        kind=node.kind,
    )


def title_of(node: Any) -> str:
    """The title of the record of a node, which is not made for it."""
    return node.title if isinstance(node, NodeRecord) else type_title(type(node).__name__)


class Records:
    """The records of nodes, each created once and shared by all steps. `leaf_name` names parameter leaves."""

    def __init__(self, leaf_name: LeafName) -> None:
        self._leaf_name = leaf_name
        self._known: dict[int, tuple[Any, NodeRecord]] = {}  # keeps the node alive, so that its id stays unique

    def of(self, node: Any) -> NodeRecord:
        """The record of a node."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = (node, record_of(node, self._leaf_name))
        return known[1]


def parameter_record(parameter: Any, leaf_name: LeafName) -> ParameterRecord:
    """The record of a compiled parameter."""
    position = {node: i for i, node in enumerate(parameter.graph.nodes)}
    nodes: list[ParameterNodeRecord] = []
    for node, value in parameter.graph.nodes.items():
        leaves = next((getattr(value, name) for name in field_names(value.__class__, "leaves")), ())
        folds = next((getattr(value, name) for name in field_names(value.__class__, "folds")), 1)
        config = {name: plain(item) for name, item in config_of(value).items()}
        inputs = tuple(position[source] for source in parameter.graph.inputs[node])
        names = tuple(leaf_name(leaf) for leaf in leaves)
        nodes.append(ParameterNodeRecord(type(value).__name__, folds, config, inputs, names))
    if parameter.fold_index is None:
        outputs: tuple[tuple[int, int], ...] = ((position[parameter.graph.outputs[0]], 0),)
    else:
        outputs = tuple((position[int(node)], int(fold)) for node, fold in parameter.fold_index.out_fold_idx)
    return ParameterRecord(tuple(parameter.shape), tuple(nodes), outputs)


def plain(value: Any) -> Any:
    """A config value as JSON data; other values become strings."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value_text(value) if type(value).__str__ is object.__str__ else str(value)


def plain_text(value: Any) -> str:
    """A config value in one line, equal for live values and values read from a file: `(2, 2)`, `torch.float32`."""
    data = plain(value)
    return f"({', '.join(plain_text(item) for item in data)})" if isinstance(data, list) else str(data)  # pyright: ignore[reportUnknownVariableType]


def _some(items: list[str], limit: int = 6) -> str:
    """A list in brackets; a long list is shortened and counted."""
    if len(items) <= limit:
        return f"[{', '.join(items)}]"
    return f"[{', '.join(items[:limit])}, ... {len(items)} in all]"
