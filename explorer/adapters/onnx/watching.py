"""`explorer.watch_onnx`: optimize a model by ONNX Runtime, and return the trace of that."""

import json
import re
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from explorer.adapters.onnx import replay
from explorer.adapters.onnx.states import OnnxStates, Types, dtype_of
from explorer.adapters.snapshot import Running, WatchedSnapshot
from explorer.adapters.timeline import Timeline, changes_between
from explorer.errors import CircuitError, DataTypeError, FileFormatError, ShapeError, check_name
from explorer.files import read_bytes
from explorer.levels import Recorded, run_options
from explorer.packages import require
from explorer.trace import WATCHED, Recorder, RuleDescription, Trace

SIZE = 2
"""The size of a symbolic dimension, unless inputs are given."""
REFUSED = re.compile(r"\n[A-Za-z][\w.]*: (?:\[ONNXRuntimeError\] : \d+ : )?(.*)\Z", re.DOTALL)
"""The message of an exception at the end of a log."""
LOSSY = re.compile("QDQ|Quant|NBits|Approximation")
"""Names of transformers that replace numbers by rounded ones."""


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
    dtype = dtype_of(text)
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
    count = len([*folder.glob("*.json")])
    models = [load(str(folder / f"{one}.onnx")) for one in range(count)]
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
