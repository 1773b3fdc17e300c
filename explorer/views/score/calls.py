"""The calls of a state in the order in which they run: their operators, modules, and what they read and write."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from explorer.trace import NodeRecord
from explorer.views.index import TraceIndex, cached
from explorer.views.states import ABSENT
from explorer_widgets.schema import NodeKind

TYPE = re.compile(r"^(?:bf|float|f|i|u|s|c|bool|pred|b)(\d*)(?:_?e\d+m\d+\w*)?\[([\d,]*)\]")
"""The type of a tensor: `f32[8,64]`."""
PART = re.compile(r"[^.]+(?:\.\d+)*")
"""A part of the path of a module: a number belongs to the name before it, as in `blocks.0`."""
INPUT = "Input"
GRADIENT, SAVED, AGAIN = "gradient of output", "saved for backward", "computed again"
"""The beginning of the name of an input from which the backward part begins, and of what is said of values of both."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """The type of a value: its sizes, and its bytes."""

    text: str
    shape: tuple[int, ...]
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call, or an input of the program, which is not called.

    `sources` are the calls and inputs whose values it reads, also through views. `inside` are values that it computes
    and never writes. Bytes read are those of values; `parameters` are the bytes of parameters.
    """

    node: int
    title: str
    kind: NodeKind
    operators: tuple[str, ...]
    results: tuple[Tensor, ...]
    inside: tuple[Tensor, ...]
    read: int
    written: int
    parameters: int
    modules: tuple[str, ...]
    library: str
    sources: tuple[int, ...]
    is_input: bool
    training: str = ""
    """What the compiler decided about its value in a training step: it is saved, or computed again."""
    kept: tuple[Tensor, ...] = ()
    """The values that the code writes into buffers of its own, and nobody else reads."""


@cache
def tensor_of(text: str) -> Tensor:
    """Parse the type of a value; one that is not a tensor has no size.

    >>> tensor_of("f32[8,64]")
    Tensor(text='f32[8,64]', shape=(8, 64), num_bytes=2048)
    >>> [tensor_of(text).num_bytes for text in ("s32[2]", "pred[3]", "bool[3]", "f8e4m3fn[4]", "float8_e4m3fn[4]")]
    [8, 3, 3, 4, 4]
    """
    found = TYPE.match(text)
    if found is None:
        return Tensor(text, (), 0)
    shape = tuple(int(size) for size in found[2].split(",") if size)
    return Tensor(text, shape, prod(shape) * int(found[1] or 8) // 8)


@cached
def calls_at(index: TraceIndex, step: int) -> tuple[Call, ...]:
    """Return the calls after a step with its inputs, in the order in which they run."""
    if step and not index.step(step).changed:
        return calls_at(index, step - 1)
    records = _records(index, step)
    sources = sources_at(index, step)
    reads = _inputs(index, step)
    found: list[Call] = []
    for node, record in records.items():
        if sources[node] != node:
            continue
        read = tuple(dict.fromkeys(sources[one] for one in reads[node] if sources[one] not in (node, ABSENT)))
        results = _types(record, "results")
        read_bytes = record.config.get("read_bytes")
        if read_bytes is None:
            read_bytes = sum(one.num_bytes for source in read for one in _types(records[source], "results"))
        modules = record.about.get("modules") or [record.about.get("module", "")]
        found.append(
            Call(
                node,
                str(record.config.get("name", record.title)) if record.type == INPUT else record.title,
                record.kind,
                tuple(map(str, record.config.get("operators") or (record.title,))),
                results,
                _types(record, "stays inside"),
                int(read_bytes),
                int(record.config.get("bytes", sum(one.num_bytes for one in results))),
                int(record.config.get("parameter_bytes", 0)),
                tuple(str(module) for module in modules if module and record.type != INPUT),
                str(record.config.get("library", "")),
                read,
                record.type == INPUT,
                str(record.about.get("training", "")),
                _types(record, "kept in buffers"),
            )
        )
    return tuple(found)


@cached
def modules_of(index: TraceIndex) -> tuple[str, ...]:
    """Return the modules of all calls of a trace, and the modules around them; of a training step its parts first."""
    found: dict[str, None] = {}
    for entry in index.trace.steps:
        for call in calls_at(index, entry.index) if entry.changed or not entry.index else ():
            if call.is_input and call.title.startswith(GRADIENT):
                found = {"forward": None, "backward": None, **found}
            found.update((path, None) for module in call.modules if module not in found for path in path_of(module))
    return tuple(found)


@cached
def parts_at(index: TraceIndex, step: int) -> Mapping[int, str]:
    """Return for each call of a training step, after a step of its compilation, its part: `forward` or `backward`.

    The gradient of an output leads to a backward call, or only such calls read it and it is neither saved nor returned.
    """
    calls = calls_at(index, step)
    begins = {call.node for call in calls if call.is_input and call.title.startswith(GRADIENT)}
    if not begins:
        return {}
    users: dict[int, list[int]] = {}
    back = set(begins)
    for call in calls:
        for source in call.sources:
            users.setdefault(source, []).append(call.node)
        back |= {call.node} if back & {*call.sources} else set()
    results = {sources_at(index, step)[node] for node in index.state(step).outputs}
    for call in reversed(calls):
        if SAVED not in call.training and call.node not in results and {*users.get(call.node, (ABSENT,))} <= back:
            back.add(call.node)
    return {call.node: "backward" if call.node in back else "forward" for call in calls if not call.is_input}


@cached
def sources_at(index: TraceIndex, step: int) -> Mapping[int, int]:
    """Return for each node the call or input whose memory its value is in; -1 for views of what is not called."""
    records, reads = _records(index, step), _inputs(index, step)
    found: dict[int, int] = {}
    numbers = index.state(step).node.tolist()
    for node, record in records.items():
        if index.is_called(index.table.nodes[numbers[node]]) or record.type == INPUT:
            found[node] = node
        else:
            found[node] = next((found[one] for one in reads[node] if one in found), ABSENT)
    return found


@cached
def _records(index: TraceIndex, step: int) -> Mapping[int, NodeRecord]:
    """The nodes after a step, in the order in which they run."""
    state = index.state(step)
    present = dict.fromkeys(np.flatnonzero(state.present).tolist())
    order = [node for node in index.step(step).snapshot.graph.nodes if node in present]
    order = list(dict.fromkeys((*order, *present)))
    memory = index.step(step).snapshot.memory
    moments = {} if memory is None else {node: moment for moment, node in enumerate(memory.order)}
    ready: dict[int, int] = {}  # a view is behind the last value that it reads
    for node in order if moments else ():
        ready[node] = moments.get(node, max((ready.get(one, -1) for one in _inputs(index, step)[node]), default=-1))
    order.sort(key=lambda node: (ready.get(node, 0), bool(moments) and node not in moments))
    numbers = state.node.tolist()
    return {node: index.record(numbers[node]) for node in order}


@cached
def _inputs(index: TraceIndex, step: int) -> Mapping[int, Sequence[int]]:
    found: dict[int, list[int]] = {node: [] for node in np.flatnonzero(index.state(step).present).tolist()}
    for source, target in index.state(step).edges.tolist():
        found[target].append(source)
    return found


def _types(record: NodeRecord, name: str) -> tuple[Tensor, ...]:
    return tuple(tensor_of(str(text)) for text in record.config.get(name, ()))


def path_of(module: str) -> tuple[str, ...]:
    """Return the modules that a module is in, and itself, by their paths.

    >>> path_of("blocks.0.attn.q_proj")
    ('blocks.0', 'blocks.0.attn', 'blocks.0.attn.q_proj')
    """
    return tuple(module[: part.end()] for part in PART.finditer(module))
