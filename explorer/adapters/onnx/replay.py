"""The part that runs in a process of its own, by its path: a log, and the model after each transformer, as files.

`python -P replay.py FOLDER LEVEL SIZES` reads FOLDER/model.onnx, and FOLDER/log.txt, which is its standard error. It
writes FOLDER/K.onnx, the model if only the first K transformers that changed it may, without large initializers.
"""

import json
import re
import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

LEVELS = {"off": "DISABLE_ALL", "basic": "ENABLE_BASIC", "extended": "ENABLE_EXTENDED", "all": "ENABLE_ALL"}
"""The levels of optimization by name, as ONNX Runtime calls them."""
REPORT = re.compile(r" (\d+):(\d+):([\d.]+) \[.*GraphTransformer (\S+) modified: ([01])")
"""The line of the log about a graph transformer: when it ended, its name, and whether it changed the graph."""
INFO, FATAL = 1, 4
LARGE = 256
"""Bytes of an initializer whose values are not kept."""


class Transformer(NamedTuple):
    """A graph transformer: how often it ran, how often it changed the graph, and how long that took."""

    runs: int = 0
    changes: int = 0
    seconds: float = 0.0


def open_session(
    model: bytes, level: str, disabled: Collection[str] = (), log: int = FATAL, optimized: str = ""
) -> Any:
    """A session on the CPU without some transformers, which writes the optimized model to a file."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, f"ORT_{LEVELS[level]}")
    options.log_severity_level = log
    options.optimized_model_filepath = optimized
    without = {"disabled_optimizers": sorted(disabled)} if disabled else {}
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"], **without)


def transformers_of(log: str) -> dict[str, Transformer]:
    """The transformers in a log by name, in the order of their first changes, or runs if they changed nothing."""
    found: dict[str, Transformer] = {}
    order: dict[str, int] = {}
    before = None
    for position, report in enumerate(REPORT.finditer(log)):
        hours, minutes, seconds, name, changed = report.groups()
        now = 3600 * int(hours) + 60 * int(minutes) + float(seconds)
        took = 0.0 if before is None else max(now - before, 0.0)
        before, one = now, found.get(name, Transformer())
        if name not in order or (int(changed) and not one.changes):
            order[name] = position
        found[name] = Transformer(one.runs + 1, one.changes + int(changed), one.seconds + took)
    return {name: found[name] for name in sorted(found, key=order.__getitem__)}


def all_but_first(transformers: Mapping[str, Transformer], number: int) -> set[str]:
    """All transformers but the first ones, by number, of those that changed the graph."""
    return set(transformers) - set([name for name, one in transformers.items() if one.changes][:number])


def types_of(model: Any, sizes: Mapping[str, int]) -> dict[str, tuple[str, list[Any]]]:
    """The types and shapes of all values of a model, with these sizes of symbolic dimensions."""
    onnx: Any = import_module("onnx")
    typed = onnx.ModelProto()
    typed.CopyFrom(model)
    for dimension in (axis for value in typed.graph.input for axis in value.type.tensor_type.shape.dim):
        if dimension.dim_param in sizes:
            dimension.dim_value = sizes[dimension.dim_param]
    outputs = dict.fromkeys(value.name for value in typed.graph.output)
    outputs |= dict.fromkeys(name for node in typed.graph.node for name in node.output if name)
    del typed.graph.value_info[:], typed.graph.output[:]
    typed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    session = open_session(typed.SerializeToString(), "off")
    return {one.name: (one.type, one.shape) for one in [*session.get_inputs(), *session.get_outputs()]}


def main(folder: Path, level: str, sizes: Mapping[str, int]) -> None:
    """Optimize a model with a log, and again with ever more transformers."""
    onnx: Any = import_module("onnx")
    content = (folder / "model.onnx").read_bytes()
    open_session(content, level, log=INFO)
    transformers = transformers_of((folder / "log.txt").read_text(errors="replace"))
    for number in range(1 + sum(one.changes > 0 for one in transformers.values())):
        file = folder / f"{number}.onnx"
        open_session(content, level, all_but_first(transformers, number), optimized=str(file))
        model = onnx.load(str(file))
        file.with_suffix(".json").write_text(json.dumps(types_of(model, sizes)))
        for tensor in model.graph.initializer:
            if tensor.ByteSize() > LARGE:
                tensor.ClearField("raw_data")
        onnx.save(model, str(file))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
