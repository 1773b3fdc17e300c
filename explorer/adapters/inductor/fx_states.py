"""The state of a compilation as an FX graph: records of operators, numbers that last, and how to run it."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PureWindowsPath
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from explorer.adapters.inductor.fx_copies import module_path
from explorer.adapters.snapshot import WatchedSnapshot, parameter_record, size_of
from explorer.adapters.timeline import Parts, changes_of
from explorer.graph import Graph
from explorer.levels import Change
from explorer.tensor.ir.types import OtherType, TensorType, ValueType
from explorer.tensor.recording.tensor_snapshot import kind_of, plain_setting
from explorer.trace import NodeRecord

FRAME = re.compile(r'File "([^"]+)", line (\d+), in ([^\n]+)(?:\n\s+([^\n]*))?')
"""A frame of a stack that Dynamo keeps as text."""


@dataclass(eq=False)
class FxStates:
    """Makes states of the FX graphs of one compilation; a node that did not change keeps its number and record.

    Of the outputs, the first `num_returned` are the program's; of the forward part of a training step, the others are
    saved. `inputs` are the names of inputs, with those that the user's program has for them; `parameters` are the
    inputs that are parameters or buffers of a module, with their names there.
    """

    fresh: Callable[[], int]
    inputs: Mapping[str, str]
    parameters: Mapping[str, str]
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    """The number of each node of the last graph by name."""
    records: dict[str, NodeRecord] = field(default_factory=dict[str, NodeRecord])
    num_returned: int | None = None
    marks: Mapping[str, str] = field(default_factory=dict[str, str])
    """Words about nodes, by name."""
    outputs: tuple[int | None, ...] = ()
    """The numbers of the tensors that the last graph returned, None for parameters."""

    def state_of(
        self, graph: fx.Graph, attributes: Mapping[str, Any], keep: Mapping[str, int] | None = None
    ) -> WatchedSnapshot:
        """The state of a graph.

        `attributes` has what its nodes name, and `keep` the numbers of nodes that are known under other names.
        """
        known, old = ({**self.numbers, **keep} if keep else self.numbers), self.records
        numbers: dict[str, int] = {}
        records: dict[str, NodeRecord] = {}
        inputs: dict[int, tuple[int, ...]] = {}
        returned = set(pytree.tree_leaves(graph.output_node().args[0])[: self.num_returned])
        for node in graph.nodes:
            if node.op == "output" or (node.name in self.parameters and node not in returned):
                continue
            record, before = self._record(node), old.get(node.name)
            keeps = before is None or (before.type, before.kind) == (record.type, record.kind)
            numbers[node.name] = known[node.name] if keeps and node.name in known else self.fresh()
            if before is not None and (before, before.about) == (record, record.about):
                record = before
            records[node.name] = record
            inputs[numbers[node.name]] = tuple(numbers[one.name] for one in node.all_input_nodes if one.name in numbers)
        self.outputs = tuple(numbers.get(one.name) for one in tensor_outputs(graph))
        outputs = tuple(numbers[one.name] for one in graph.output_node().all_input_nodes if one.name in numbers)
        self.numbers, self.records = numbers, records
        nodes = {numbers[name]: record for name, record in records.items()}
        drawn = Graph[NodeRecord](nodes, inputs, outputs)
        return WatchedSnapshot(drawn, lambda: fx.GraphModule(dict(attributes), graph))

    def _record(self, node: fx.Node) -> NodeRecord:
        results, name = [*_types(node)], self.inputs.get(node.name, node.name)
        has_tensor = any(isinstance(one, TensorType) for one in results)
        config: dict[str, Any] = {"results": [str(one) for one in results]}
        config["bytes"] = num_bytes(node) if has_tensor else _bytes_in_place(node)
        about = {"module": module_of(node), "source": source_of(node), "name": name}
        about = {key: text for key, text in {**about, "training": self.marks.get(node.name, "")}.items() if text}
        if node.op == "placeholder":
            return NodeRecord("Input", 1, {"name": name, **config}, scope=(), about=about, kind="input")
        title, is_view = title_of(node), self._is_view(node)
        kind = "view" if is_view else kind_of(title)
        kind = "operator" if kind == "view" and not is_view else kind
        memory = {one: self._memory_of(one) for one in node.all_input_nodes}
        written = node.args[0] if node.target is operator.setitem else None
        for read in memory if not is_view else ():
            if read is not written:
                key = "parameter_bytes" if memory[read].name in self.parameters else "read_bytes"
                config[key] = config.get(key, 0) + num_bytes(read)
        config |= _settings(node)
        named = [(self.parameters[one.name], one) for one in memory.values() if one.name in self.parameters]
        parameters = {path: parameter_record(path, next(_types(one))) for path, one in named}
        return NodeRecord(VIEW * is_view + _type_of(node), 1, config, None, parameters, {}, about, kind, title)

    def _memory_of(self, node: fx.Node) -> fx.Node:
        """The node with the memory of a value: behind views, such as the transposed weight of a linear layer."""
        while node.op != "placeholder" and self._is_view(node) and node.all_input_nodes:
            node = node.all_input_nodes[0]
        return node

    def _is_view(self, node: fx.Node) -> bool:
        """Whether a node only names memory that one of its inputs has."""
        if node.op == "get_attr":
            return True
        if node.target is operator.getitem:  # with a tensor or a list as index, it gathers
            index = node.args[1] if len(node.args) > 1 else None
            every = index if isinstance(index, tuple) else (index,)
            return not any(isinstance(one, list | fx.Node) for one in every)
        if isinstance(node.target, OpOverload):
            return any(
                one.alias_info is not None and not one.alias_info.is_write for one in node.target._schema.returns
            )
        return title_of(node) in VIEWS


VIEW = "View."
"""The beginning of the type of a node that runs nothing."""
VIEWS = {
    *("view", "reshape", "transpose", "permute", "t", "expand", "unsqueeze", "squeeze", "flatten", "unflatten"),
    *("chunk", "split", "unbind", "select", "narrow", "swapaxes", "movedim", "detach"),
    *("getattr", "size", "dim", "shape"),
}
"""Functions and methods of a captured program that return a view, or a number."""


def decomposition(
    before: WatchedSnapshot, after: WatchedSnapshot, graph: fx.Graph, old: Mapping[str, int], new: Mapping[str, int]
) -> list[Change]:
    """The changes when AOTAutograd replaces captured operators by those of ATen: a part for each captured operator."""
    parts = Parts[int]()
    kept = set(before.graph.nodes)
    last: int | None = None
    for node in graph.nodes:
        number = new.get(node.name)
        if number is None or number in kept:
            continue
        root = next(
            (old[name] for name in reversed(roots_of(node)) if name in old and old[name] not in after.graph.nodes), last
        )
        if root is not None:
            parts.join(root, number)
            last = root
    return changes_of("decompose", parts, before.graph, after.graph, 0.0)


def roots_of(node: fx.Node) -> list[str]:
    """The names of the captured nodes that a node came from, through all passes that kept that."""
    found = dict.fromkeys(name for source in node.meta.get("from_node", []) for name in _origins(source))
    forward = node.meta.get("fwd_source_fn_stack")  # of a node that computes the gradient of a captured one
    return list(found) or ([str(forward[-1][0])] if forward else [])


def _origins(source: Any) -> Iterator[str]:
    earlier = getattr(source, "from_node", None) or []
    yield from (name for one in earlier for name in _origins(one)) if earlier else (source.name,)


def tensor_outputs(graph: fx.Graph) -> list[fx.Node]:
    """The nodes that a graph returns, without numbers."""
    found = (one for one in pytree.tree_leaves(graph.output_node().args[0]) if isinstance(one, fx.Node))
    return [one for one in found if isinstance(one.meta.get("val", one.meta.get("example_value")), torch.Tensor)]


def title_of(node: fx.Node) -> str:
    """The short name of an operator: `addmm`, `layer_norm`."""
    if isinstance(node.target, OpOverload):
        return node.target._schema.name.rpartition("::")[2]
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
    return name.rpartition(".")[2]


def module_of(node: fx.Node) -> str:
    """The path of the module that a node was captured in: `blocks.0.norm`; empty outside of modules."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    return module_path(next(reversed(stack.values()))[0]) if stack else ""


def source_of(node: fx.Node) -> str:
    """The line of the user's program that a node comes from: `model.py:12`, with its text."""
    frames = FRAME.findall(node.meta.get("stack_trace") or "")
    own = [one for one in frames if "/torch/" not in one[0]] or frames
    if not own:
        return ""
    file, line, _, text = own[-1]
    return f"{PureWindowsPath(file).name}:{line}" + (f": {text.strip()}" if text.strip() else "")


def _types(node: fx.Node) -> Iterator[ValueType]:
    """The types of the results; of a symbolic size the example's, for which no guard is added."""
    value: Any = node.meta.get("val", node.meta.get("example_value"))
    for one in value if isinstance(value, tuple | list) else (value,):
        sizes: Any = tuple(map(size_hint, one.shape)) if isinstance(one, torch.Tensor) else (None,)
        yield OtherType(type(one).__name__) if None in sizes else TensorType(one.dtype, sizes)


def size_hint(size: Any) -> int | None:
    """A size as a number; None if it depends on data, or is one of each row of a nested tensor."""
    if isinstance(size, int):
        return size
    hint = size.node.hint if size.node.has_hint() else None
    return hint if isinstance(hint, int) else None


def num_bytes(node: fx.Node) -> int:
    """The size of the tensors that a node returns."""
    return sum(map(size_of, _types(node)))


def _bytes_in_place(node: fx.Node) -> int:
    """The bytes that a call writes into its arguments, if it returns no tensor: `x[1:3] = y`."""
    if node.target is operator.setitem and isinstance(node.args[0], fx.Node):
        return _bytes_set(*node.args)
    if isinstance(node.target, OpOverload):
        given = zip(node.target._schema.arguments, node.args, strict=False)
        written = [value for one, value in given if one.alias_info is not None and one.alias_info.is_write]
    else:
        written = list(node.args[:1]) if title_of(node).endswith("_") else []
    return sum(num_bytes(one) for one in pytree.tree_leaves(written) if isinstance(one, fx.Node))


def _bytes_set(target: Any, index: Any, value: Any) -> int:
    """The size of the items that are set: of the value, if tensors select them."""
    kind = next(_types(target))
    if not isinstance(kind, TensorType):
        return 0
    if any(isinstance(one, fx.Node) for one in pytree.tree_leaves(index)):
        return num_bytes(value) if isinstance(value, fx.Node) else kind.size_bytes
    items = torch.empty(kind.shape, device="meta")[index]
    return kind.size_bytes * items.numel() // max(torch.Size(kind.shape).numel(), 1)


def _type_of(node: fx.Node) -> str:
    if isinstance(node.target, OpOverload):
        return str(node.target).replace("::", ".")
    return f"method {title_of(node)}" if node.op == "call_method" else title_of(node)


def _settings(node: fx.Node) -> dict[str, Any]:
    """The arguments that are no tensors, by name where the operator has names."""
    names = [one.name for one in node.target._schema.arguments] if isinstance(node.target, OpOverload) else []
    named = {(names[i] if i < len(names) else f"argument {i}"): value for i, value in enumerate(node.args)}
    settings = {name: value for name, value in {**named, **node.kwargs}.items() if _is_plain(value)}
    return {name: plain_setting(value) for name, value in settings.items() if name not in ("results", "bytes")}


def _is_plain(value: Any) -> bool:
    return value is not None and not any(isinstance(one, fx.Node) for one in pytree.tree_leaves(value))
