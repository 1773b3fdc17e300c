"""The state of an ONNX model: records of operators, and numbers that last."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import count, starmap
from typing import Any

import torch
from torch import nn

from explorer.adapters.snapshot import BYTES, WatchedSnapshot, parameter_record, size_of
from explorer.graph import Graph
from explorer.tensor.ir.types import TensorType
from explorer.trace import NodeKind, NodeRecord

MATRICES = re.compile(r"MatMul|Gemm|Conv(?!ert)|Einsum|Attention|LSTM|GRU|RNN")
VIEWS = ("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity")
"""Operators whose result is in the memory of their first input."""
SCOPES = re.compile(r"'([^']*)', '[^']*'\]$")
"""The end of the list of modules that the exporter of PyTorch writes, with the operator last."""
Types = Mapping[str, tuple[str, Sequence[Any]]]


class OnnxStates:
    """Makes states of models; `values` are the names of what each node computes, and of what it replaces."""

    def __init__(self, original: Any, numbers: "count[int]") -> None:
        self.values: dict[int, list[str]] = {}
        self._fresh = numbers
        self._modules = dict(_modules(original.graph.node))
        self._numbers: dict[str, int] = {}

    def state_of(self, model: Any, types: Types, module: Callable[[], nn.Module]) -> WatchedSnapshot:
        """The state of a model; a node that does the same for the same output keeps its number."""
        graph, old, self._numbers = model.graph, self._numbers, {}
        constants = {one.name: one for one in graph.initializer}
        nodes: dict[int, NodeRecord] = {}
        inputs: dict[int, tuple[int, ...]] = {}
        sources: dict[str, int] = {}

        def add(record: NodeRecord, names: Sequence[str], reads: Sequence[str]) -> None:
            settings = {name: value for name, value in record.config.items() if name not in ("results", *BYTES)}
            key = repr((names[0], record.type, settings, list(record.parameters)))
            number = self._numbers[key] = old[key] if key in old else next(self._fresh)
            nodes[number], inputs[number] = record, tuple(sources[name] for name in reads if name in sources)
            self.values[number] = [*names, record.about.get("name", "").removesuffix("_nchwc")]
            sources.update(dict.fromkeys(names, number))

        returned = {one.name for one in graph.output} & set(constants)
        for name in dict.fromkeys([*(one.name for one in graph.input if one.name not in constants), *returned]):
            text, size = type_of(*types[name])
            add(NodeRecord("Input", 1, {"name": name, "results": [text], "bytes": size}, (), kind="input"), [name], ())
        for node in graph.node:
            reads = list(dict.fromkeys(_reads(node)))
            names = [name for name in node.output if name]
            add(self._record(node, names, reads, types, constants), names or [node.name], reads)
        outputs = tuple(sources[one.name] for one in graph.output)
        return WatchedSnapshot(Graph[NodeRecord](nodes, inputs, outputs), module)

    def _record(
        self, node: Any, names: Sequence[str], reads: Sequence[str], types: Types, constants: Mapping[str, Any]
    ) -> NodeRecord:
        results = [type_of(*types[name]) for name in names]
        kinds = {name: _constant_type(constants[name]) for name in reads if name in constants}
        parameters = {name: parameter_record(name, kind) for name, kind in kinds.items()}
        config: dict[str, Any] = {"results": [text for text, _ in results], "bytes": sum(size for _, size in results)}
        kind: NodeKind = "view" if node.op_type in VIEWS else "matmul" if MATRICES.search(node.op_type) else "operator"
        if kind != "view":
            read = [types[name] for name in reads if name in types and name not in kinds]
            config["read_bytes"] = sum(size for _, size in starmap(type_of, read))
            config["parameter_bytes"] = sum(map(size_of, kinds.values()))
        config |= {one.name: _plain(one) for one in node.attribute if one.name not in config}
        prefixes = [node.name[: found.start()] for found in re.finditer("/", node.name)]
        known = (self._modules.get(one) for one in (*names, node.name.removesuffix("_nchwc"), *reversed(prefixes)))
        about = {"name": node.name, "module": next(filter(None, known), "")}
        about = {name: text for name, text in about.items() if text}
        name = ".".join(filter(None, ("View" * (kind == "view"), node.domain, node.op_type)))
        return NodeRecord(name, 1, config, None, parameters, {}, about, kind, node.op_type)


def dtype_of(kind: str) -> torch.dtype | None:
    """The dtype with this name in ONNX; None if PyTorch has none."""
    found = getattr(torch, {"float": "float32", "double": "float64"}.get(kind, kind), None)
    return found if isinstance(found, torch.dtype) else None


def type_of(kind: str, shape: Sequence[Any]) -> tuple[str, int]:
    """The type that a session names as text, and its bytes, 0 if unknown: `tensor(float)` is `f32[8,64]`."""
    name = kind.removeprefix("tensor(").removesuffix(")")
    dtype = dtype_of(name)
    if dtype is None or not all(isinstance(one, int) for one in shape):
        return f"{name}[{','.join('?' if one is None else str(one) for one in shape)}]", 0
    found = TensorType(dtype, tuple(shape))
    return str(found), found.size_bytes


def _constant_type(tensor: Any) -> object:
    onnx: Any = import_module("onnx")
    kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
    dtype = dtype_of(kind)
    return kind if dtype is None else TensorType(dtype, tuple(tensor.dims))


def _reads(node: Any) -> Iterator[str]:
    """The values that a node reads, also those that only its subgraphs read."""
    yield from filter(None, node.input)
    for graph in (one.g for one in node.attribute if one.HasField("g")):
        own = {name for inner in graph.node for name in inner.output}
        own |= {one.name for one in (*graph.input, *graph.initializer)}
        inside = [name for inner in graph.node for name in _reads(inner)] + [one.name for one in graph.output]
        yield from (name for name in inside if name not in own)


def _plain(attribute: Any) -> Any:
    """The value of an attribute as data."""
    onnx: Any = import_module("onnx")
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.HasField("g"):
        return f"graph of {', '.join(node.op_type for node in value.node)}"
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, int | float) else str(value)[:80]


def _modules(nodes: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """The path of the module of each node that PyTorch exported, by its name and by its outputs."""
    for node in nodes:
        found = next((SCOPES.search(one.value) for one in node.metadata_props if one.key.endswith("name_scopes")), None)
        path, last = found[1] if found else "", ""
        for part in node.name.split("/")[1:-1] if node.name.startswith("/") else ():  # /f/f.1/Mul is in f.1
            path = (
                path.removesuffix(last) + part if last and part.startswith(f"{last}.") else f"{path}.{part}".strip(".")
            )
            last = part
        yield from ((name, path) for name in (node.name, *node.output))
