"""The layers that operators, instructions and buffers of a lower level come from, and the results of a layer.

An operator has the path of the module that it was exported from: `layer1.0.conv1` in a module, `layer.12` in a circuit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from explorer.errors import UnknownNameError
from explorer.graph import Graph
from explorer.trace.memory import MemoryRecord
from explorer.trace.records import NodeKind, NodeRecord

LAYER = "layer"
"""Operators of layer 12 of a circuit are in the module `layer.12`."""
_PATH = re.compile(rf"(?:^|\.){LAYER}\.(\d+)$")
MAX_LISTED = 12
"""Maximum number of ids that are listed as text."""


@dataclass(frozen=True, slots=True)
class LayerOrigin:
    """A compiled layer of the circuit that was exported, and the symbolic layers that it was made from."""

    layer: int
    title: str
    kind: NodeKind
    num_folds: int
    symbolic: tuple[int, ...]

    def to_json(self) -> list[Any]:
        """The origin as plain data."""
        return [self.layer, self.title, self.kind, self.num_folds, list(self.symbolic)]

    @classmethod
    def from_json(cls, row: tuple[int, str, NodeKind, int, list[int]]) -> Self:
        """Read an origin from checked data."""
        layer, title, kind, num_folds, symbolic = row
        return cls(layer, title, kind, num_folds, tuple(symbolic))


@dataclass(frozen=True, slots=True)
class LayerParts:
    """The nodes that compute a layer in a state, and the buffers that they write.

    `paths` are the modules. `origins` are the compiled layers that they are, if a circuit was exported.
    """

    paths: tuple[str, ...]
    origins: tuple[LayerOrigin, ...]
    nodes: tuple[int, ...]
    buffers: tuple[int, ...]

    def __str__(self) -> str:
        known = {origin.layer: origin for origin in self.origins}
        lines = [f"{title_of_path(path, known)}:" for path in self.paths]
        lines += [f"  symbolic layers: {ids_text(origin.symbolic)}" for origin in self.origins]
        lines.append(f"  nodes: {ids_text(self.nodes, '#')}")
        lines += [f"  buffers: {ids_text(self.buffers, '%')}"] if self.buffers else []
        return "\n".join(lines)


def layer_of_path(path: str) -> int | None:
    """The layer of a circuit that a module path names; None for another module."""
    found = _PATH.search(path)
    return int(found.group(1)) if found else None


def paths_of(record: NodeRecord) -> tuple[str, ...]:
    """The modules that a node was exported from; none for inputs, and for what evaluates parameters."""
    about = record.about
    return tuple(about.get("modules") or ([about["module"]] if "module" in about else []))


def title_of_path(path: str, origins: Mapping[int, LayerOrigin]) -> str:
    """The name of a module: `Sum layer 12` if it is a layer of a circuit, otherwise its path."""
    layer = layer_of_path(path)
    origin = origins.get(layer) if layer is not None else None
    return path if origin is None else f"{origin.title} layer {layer}"


def ids_text(ids: tuple[int, ...], sign: str = "") -> str:
    """Ids in order, and how many there are if these are too many: ranges are `3 to 9`."""
    parts: list[str] = []
    for start, end in _ranges(ids):
        parts.append(f"{sign}{start}" if start == end else f"{sign}{start} to {sign}{end}")
    more = f" ... ({len(ids):,} in all)" if len(parts) > MAX_LISTED else ""
    return ", ".join(parts[:MAX_LISTED]) + more if parts else "none"


def _ranges(ids: tuple[int, ...]) -> list[tuple[int, int]]:
    """First and last of each run of at least three consecutive ids; other ids on their own."""
    runs: list[list[int]] = []
    for number in sorted(ids):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [pair for run in runs for pair in ([(run[0], run[-1])] if len(run) > 2 else [(one, one) for one in run])]


def paths_of_number(number: int, graph: Graph[NodeRecord], memory: MemoryRecord | None) -> tuple[str, ...]:
    """The modules of a node, or of the nodes that write a buffer. Raises: UnknownNameError."""
    if number in graph.nodes:
        return paths_of(graph.nodes[number])
    found = next((one for one in (memory.buffers if memory is not None else ()) if one.id == number), None)
    if found is None:
        raise UnknownNameError(f"there is no node #{number}, and no buffer %{number}")
    return tuple(dict.fromkeys(path for writer in found.writers for path in paths_of(graph.nodes[writer])))


def parts_of_layer(
    layer: int | str, graph: Graph[NodeRecord], memory: MemoryRecord | None, origins: Mapping[int, LayerOrigin]
) -> LayerParts:
    """Find the nodes and buffers of a layer by its id in the symbolic or compiled circuit, or by a module's path.

    Raises: UnknownNameError if no node comes from it.
    """
    nodes = {number: paths_of(record) for number, record in graph.nodes.items()}
    wanted = {path for path in (path for paths in nodes.values() for path in paths) if _is_of(path, layer, origins)}
    found = tuple(number for number, paths in nodes.items() if not wanted.isdisjoint(paths))
    if not found:
        raise UnknownNameError(f"nothing here comes from layer {layer}")
    known = {layer_of_path(path) for path in wanted}
    written = () if memory is None else (one for one in memory.buffers if not set(one.writers).isdisjoint(found))
    compiled = tuple(origin for number, origin in origins.items() if number in known)
    return LayerParts(tuple(sorted(wanted)), compiled, found, tuple(one.id for one in written))


def _is_of(path: str, layer: int | str, origins: Mapping[int, LayerOrigin]) -> bool:
    if isinstance(layer, str):
        return path == layer or path.startswith(f"{layer}.")
    number = layer_of_path(path)
    origin = origins.get(number) if number is not None else None
    return number == layer or (origin is not None and layer in origin.symbolic)
