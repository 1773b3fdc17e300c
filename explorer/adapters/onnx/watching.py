"""`explorer.watch_onnx`: the trace of a model that ONNX Runtime optimizes, and its states."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import count, starmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from explorer.adapters.onnx import replay
from explorer.adapters.snapshot import BYTES, Running, WatchedSnapshot, parameter_record, size_of
from explorer.adapters.timeline import Timeline, changes_between
from explorer.errors import CircuitError, DataTypeError, FileFormatError, ShapeError, check_name
from explorer.files import read_bytes
from explorer.graph import Graph
from explorer.levels import Recorded, run_options
from explorer.packages import require
from explorer.tensor.ir.types import TensorType
from explorer.trace import WATCHED, NodeKind, NodeRecord, Recorder, RuleDescription, Trace

SIZE = 2
"""The size of a symbolic dimension, unless inputs are given."""
REFUSED = re.compile(r"\n[A-Za-z][\w.]*: (?:\[ONNXRuntimeError\] : \d+ : )?(.*)\Z", re.DOTALL)
"""The message of an exception at the end of a log."""
LOSSY = re.compile("QDQ|Quant|NBits|Approximation")
"""Names of transformers that replace numbers by rounded ones."""
MATRICES = re.compile(r"MatMul|Gemm|Conv(?!ert)|Einsum|Attention|LSTM|GRU|RNN")
VIEWS = ("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity")
"""Operators whose result is in the memory of their first input."""
SCOPES = re.compile(r"'([^']*)', '[^']*'\]$")
"""The end of the list of modules that the exporter of PyTorch writes, with the operator last."""
Types = Mapping[str, tuple[str, Sequence[Any]]]


def watch_onnx(
    model: "str | Path | bytes",
    inputs: "Mapping[str, Any] | Sequence[Any] | None" = None,
    level: str = "all",
    name: str = "",
) -> Trace:
    """Optimize a model by ONNX Runtime for the CPU, and return the trace: a step for each graph transformer.

    `model` is a file or its content; `inputs` are arrays by name or in order, random ones by default, where symbolic
    dimensions have size 2. `level` is off, basic, extended or all. The state after a step is what the runtime makes
    of the model if only the transformers up to there are allowed. Raises: MissingPackageError; FileFormatError for a
    model that cannot be read or that the runtime refuses; UnknownNameError for a level; DataTypeError and ShapeError
    for inputs that do not fit.
    """
    require("explorer.watch_onnx", "watch", "onnx", "onnxruntime")
    check_name("level", level, replay.LEVELS)
    given, where = (model, "the model") if isinstance(model, bytes) else (read_bytes(model), str(model))
    original, content = _parse(given, where, "" if isinstance(model, bytes) else str(Path(model).absolute().parent))
    constants = {one.name for one in original.graph.initializer}
    wanted = {one.name: one for one in original.graph.input if one.name not in constants}
    arguments, sizes = _arguments(wanted, inputs)
    with TemporaryDirectory() as folder:
        models, log = _replay(Path(folder), content, where, (level, json.dumps(sizes)))
    transformers = replay.transformers_of(log)
    recorder = Recorder()
    timeline = Timeline((recorder,))
    states = OnnxStates(original, timeline.numbers)

    def state_after(number: int) -> WatchedSnapshot:
        (model, types), disabled = models[number], replay.all_but_first(transformers, number)
        return states.state_of(model, types, lambda: _make_module(content, level, disabled, list(wanted)))

    rules = [_rule(one) for one in transformers]
    options = run_options(WATCHED, name or Path(where).stem, [rule.name for rule in rules])
    version = f"ONNX Runtime {import_module('onnxruntime').__version__}, optimization level {level}"
    timeline.begin({**options, "compiler": version}, rules)
    timeline.captured(state_after(0))
    file, loaded = len(original.graph.node), len(models[0][0].graph.node)
    if file != loaded:
        timeline.note(f"{file} nodes became {loaded} when the runtime loaded constants as initializers, and functions.")
    number = 0
    for transformer, (runs, times, seconds) in transformers.items():
        before = timeline.snapshot
        number += times > 0
        after = state_after(number) if times else before
        changes = changes_between(transformer, before.graph, after.graph, seconds, states.values) if times else []
        if changes:
            timeline.state((transformer,), after, seconds, changes)
        else:
            timeline.unchanged((transformer,), seconds)
        if times > 1:
            timeline.note(f"{transformer} changed the graph in {times} of its {runs} runs; this step has all of it.")
        elif times and not changes:
            timeline.note(f"{transformer} reported a change, but all nodes are as they were.")
    return Recorded(recorder, lambda *_: ((), None), arguments, None).trace(None)


def _parse(content: bytes, where: str, folder: str) -> tuple[Any, bytes]:
    """The model in these bytes, and the bytes with external data, which is in a folder. Raises: FileFormatError."""
    onnx: Any = import_module("onnx")
    message: Any = import_module("google.protobuf.message")
    try:
        model = onnx.load_model_from_string(content)
        size = model.ByteSize()
        onnx.load_external_data_for_model(model, folder)
        content = content if model.ByteSize() == size else model.SerializeToString()
    except (message.Error, onnx.checker.ValidationError, OSError, ValueError) as error:
        raise FileFormatError(f"{where} is not an ONNX model, or it is truncated or too large: {error}") from error
    if not model.graph.node:
        raise FileFormatError(f"{where} is not an ONNX model: it has no operators")
    return model, content


def _arguments(wanted: Mapping[str, Any], inputs: Any) -> tuple[tuple[torch.Tensor, ...], dict[str, int]]:
    """The inputs of a model as tensors, and the sizes of its symbolic dimensions."""
    if isinstance(inputs, Mapping):
        inputs = [inputs[one] for one in wanted if one in inputs] if set(inputs) <= set(wanted) else ()
    if inputs is not None and len(inputs) != len(wanted):
        raise DataTypeError(f"expected an array for each input of the model: {', '.join(wanted)}")
    random = torch.Generator().manual_seed(0)
    arguments: list[torch.Tensor] = []
    sizes: dict[str, int] = {}
    for position, (name, one) in enumerate(wanted.items()):
        axes = one.type.tensor_type.shape.dim
        value = _random(name, one.type.tensor_type, random) if inputs is None else torch.as_tensor(inputs[position])
        fixed = [axis.dim_value if axis.HasField("dim_value") else None for axis in axes]
        if len(axes) != value.ndim or any(a not in (None, b) for a, b in zip(fixed, value.shape, strict=True)):
            raise ShapeError(f"the input {name} has shape {fixed} in the model; found an array of {list(value.shape)}")
        sizes |= {axis.dim_param: size for axis, size in zip(axes, value.shape, strict=True) if axis.dim_param}
        arguments.append(value)
    return tuple(arguments), sizes


def _random(name: str, kind: Any, random: torch.Generator) -> torch.Tensor:
    """Normal numbers, or 0 and 1 as integers, which are in every table of embeddings."""
    text = import_module("onnx").TensorProto.DataType.Name(kind.elem_type).lower()
    shape = [axis.dim_value if axis.HasField("dim_value") else SIZE for axis in kind.shape.dim]
    dtype = _dtype_of(text)
    if dtype is None:
        raise DataTypeError(f"no random values for the input {name} of type {text}: pass inputs=")
    try:
        if dtype.is_floating_point:
            return torch.randn(shape, generator=random).to(dtype)
        return torch.randint(2, shape, generator=random).to(dtype)
    except RuntimeError as error:
        raise ShapeError(f"no random values for the input {name} of shape {shape}: pass inputs=") from error


def _replay(folder: Path, content: bytes, where: str, arguments: Sequence[str]) -> tuple[list[tuple[Any, Types]], str]:
    """The model and the types of its values after each change, and the log. Raises: FileFormatError."""
    (folder / "model.onnx").write_bytes(content)
    command = [sys.executable, "-P", replay.__file__, str(folder), *arguments]
    with (folder / "log.txt").open("wb") as file:
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False).returncode
    log = (folder / "log.txt").read_text(errors="replace")
    if code:
        found = REFUSED.search(log.strip())
        raise FileFormatError(
            f"ONNX Runtime refuses {where} (exit code {code}): {found[1][:1000] if found else 'it crashed'}"
        )
    load = import_module("onnx").load_model
    models = [load(str(folder / f"{one}.onnx")) for one in range(len([*folder.glob("*.json")]))]
    return [(one, json.loads((folder / f"{k}.json").read_text())) for k, one in enumerate(models)], log


@contextmanager
def _runtime_errors() -> Generator[None]:
    """Raise errors of ONNX Runtime as CircuitError, with its words."""
    known = vars(import_module("onnxruntime.capi.onnxruntime_pybind11_state")).values()
    errors = tuple(one for one in known if isinstance(one, type) and issubclass(one, Exception))
    try:
        yield
    except (*errors, RuntimeError, TypeError, ValueError) as error:
        raise CircuitError(f"ONNX Runtime cannot run this state on these inputs: {error}") from error


@_runtime_errors()
def _make_module(content: bytes, level: str, disabled: set[str], names: Sequence[str]) -> nn.Module:
    """A state as a module: a session in which some transformers are disabled."""
    session = replay.open_session(content, level, disabled)

    @_runtime_errors()
    def run(*arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = {one: value.numpy() for one, value in zip(names, arguments, strict=True)}
        return tuple(torch.from_numpy(value) for value in session.run(None, given))

    return Running(run)


def _rule(name: str) -> RuleDescription:
    exactness = "lossy" if LOSSY.search(name) else "real"
    return RuleDescription(name, name, ("an operator",), WATCHED, exactness, "", "")


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
            text, size = _type_of(*types[name])
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
        results = [_type_of(*types[name]) for name in names]
        kinds = {name: _constant_type(constants[name]) for name in reads if name in constants}
        parameters = {name: parameter_record(name, kind) for name, kind in kinds.items()}
        config: dict[str, Any] = {"results": [text for text, _ in results], "bytes": sum(size for _, size in results)}
        kind: NodeKind = "view" if node.op_type in VIEWS else "matmul" if MATRICES.search(node.op_type) else "operator"
        if kind != "view":
            read = [types[name] for name in reads if name in types and name not in kinds]
            config["read_bytes"] = sum(size for _, size in starmap(_type_of, read))
            config["parameter_bytes"] = sum(map(size_of, kinds.values()))
        config |= {one.name: _plain(one) for one in node.attribute if one.name not in config}
        prefixes = [node.name[: found.start()] for found in re.finditer("/", node.name)]
        known = (self._modules.get(one) for one in (*names, node.name.removesuffix("_nchwc"), *reversed(prefixes)))
        about = {"name": node.name, "module": next(filter(None, known), "")}
        about = {name: text for name, text in about.items() if text}
        name = ".".join(filter(None, ("View" * (kind == "view"), node.domain, node.op_type)))
        return NodeRecord(name, 1, config, None, parameters, {}, about, kind, node.op_type)


def _dtype_of(kind: str) -> torch.dtype | None:
    """The dtype with this name in ONNX; None if PyTorch has none."""
    found = getattr(torch, {"float": "float32", "double": "float64"}.get(kind, kind), None)
    return found if isinstance(found, torch.dtype) else None


def _type_of(kind: str, shape: Sequence[Any]) -> tuple[str, int]:
    """The type that a session names as text, and its bytes, 0 if unknown: `tensor(float)` is `f32[8,64]`."""
    name = kind.removeprefix("tensor(").removesuffix(")")
    dtype = _dtype_of(name)
    if dtype is None or not all(isinstance(one, int) for one in shape):
        return f"{name}[{','.join('?' if one is None else str(one) for one in shape)}]", 0
    found = TensorType(dtype, tuple(shape))
    return str(found), found.size_bytes


def _constant_type(tensor: Any) -> object:
    onnx: Any = import_module("onnx")
    kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
    dtype = _dtype_of(kind)
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
