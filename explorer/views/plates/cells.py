"""The plates of a step: layers of equal fold key on one level, each layer a cell; a folded layer has one per slice."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from explorer.trace import NodeRecord
from explorer.views.box import box_id
from explorer.views.index import TraceIndex, cached
from explorer.views.plates.geometry import Grid, Region, Scope, infer_grid
from explorer.views.scopes import node_scopes
from explorer.views.states import State

UNKNOWN = -1
"""The layer of a slice that was folded before the trace."""
Pairs = Sequence[tuple[int, int]]
"""Numbers of cells (source, target): which cell reads which."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One layer that is called, or one slice of a folded layer; `layer` may be `UNKNOWN`."""

    layer: int
    region: Region | None


@dataclass(frozen=True, eq=False)
class Plate:
    """Layers of equal fold key on one level: separate calls, or the slices of `node`, which is one call."""

    level: int
    record: NodeRecord
    """One of its layers, or the folded layer."""
    cells: tuple[Cell, ...]
    node: int | None
    """The folded layer; None while its layers are separate."""
    is_called: bool = True
    """Inputs and constants of tensor graphs are not."""

    @property
    def num_calls(self) -> int:
        """How many layers, or operators, PyTorch calls for it."""
        return (1 if self.node is not None else len(self.cells)) if self.is_called else 0

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The nodes of the graph: the folded layer, or the separate layers, ascending."""
        return (self.node,) if self.node is not None else tuple(sorted(cell.layer for cell in self.cells))

    @cached_property
    def id(self) -> str:
        """The id of its box."""
        return box_id(np.array(self.ids, np.int32))


@dataclass(frozen=True, eq=False)
class Plates:
    """All plates of a step, lowest level first; within a level by their first layer."""

    plates: tuple[Plate, ...]
    grid: Grid | None
    layers: State
    """The layers that the cells are, and their edges."""

    @cached_property
    def reads(self) -> dict[tuple[int, int], Pairs]:
        """Which cells read which, by the positions of their plates (source, target)."""
        plate_of = np.full(len(self.layers.present), -1, np.int32)
        cell_of = plate_of.copy()
        for position, plate in enumerate(self.plates):
            layers = [cell.layer for cell in plate.cells]
            if UNKNOWN not in layers:
                plate_of[layers], cell_of[layers] = position, np.arange(len(layers))
        edges = self.layers.edges
        known = (plate_of[edges] >= 0).all(axis=1)
        plates: list[list[int]] = plate_of[edges][known].tolist()
        cells: list[list[int]] = cell_of[edges][known].tolist()
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for (source, target), (read, by) in zip(plates, cells, strict=True):
            found.setdefault((source, target), []).append((read, by))
        return dict(found)


@cached
def plates_of(index: TraceIndex, step: int) -> Plates:
    """Return the plates after a step.

    Folding keeps the layers as cells, so the plates before and after a fold level have the same cells.
    """
    state, layers = index.state(step), index.state(last_unfolded(index, step))
    cells = cells_of_layers(index, layers)
    plates = [
        Plate(level, index.record(int(state.node[node])), tuple(map(cells.__getitem__, members)), node)
        for node, (level, members) in _slices(index, step).items()
        if state.present[node]
    ]
    folded = {member.layer for plate in plates for member in plate.cells}
    separate: dict[tuple[int, Hashable], list[int]] = {}
    for node in np.flatnonzero(layers.present).tolist():
        if node not in folded:
            separate.setdefault((int(layers.level[node]), _key(index, layers, node)), []).append(node)
    for (level, _), nodes in separate.items():
        record = index.record(int(layers.node[nodes[0]]))
        if record.num_folds == 1:
            is_called = index.trace.level.has_circuit or record.kind not in ("input", "leaf")
            plates.append(Plate(level, record, tuple(map(cells.__getitem__, nodes)), None, is_called))
            continue
        for node in nodes:
            slices = (Cell(UNKNOWN, None),) * record.num_folds
            plates.append(Plate(level, index.record(int(layers.node[node])), slices, node))
    plates.sort(key=lambda plate: (plate.level, min(cell.layer for cell in plate.cells), plate.ids))
    return Plates(tuple(plates), grid_of(index), layers)


def _key(index: TraceIndex, layers: State, node: int) -> Hashable:
    """Return the fold key of a layer, or of an operator its name and the types of its results."""
    if index.trace.level.has_circuit:
        return int(layers.key[node])
    record = index.record(int(layers.node[node]))
    return record.type, str(record.config["results"])


def last_unfolded(index: TraceIndex, step: int) -> int:
    """Return the step whose layers the cells are: the last one before folding, which comes after all rewriting."""
    steps = index.trace.steps
    while step > 0 and (steps[step].folds or not steps[step].changed):
        step -= 1
    return step


def _slices(index: TraceIndex, step: int) -> dict[int, tuple[int, Sequence[int]]]:
    """Return the level and the layers of each folded layer, in the order of its slices."""
    first = last_unfolded(index, step) + 1
    folds = [group for entry in index.trace.steps[first : step + 1] for group in entry.folds]
    return {group.node: (group.level, group.members) for group in folds if group.members != (group.node,)}


@cached
def grid_of(index: TraceIndex) -> Grid | None:
    """Return the grid of the variables of a trace, which is the same at every step."""
    distinct = {scope.tobytes(): scope for scope in scopes_of_layers(index, index.state(0)).values()}
    return infer_grid(list(distinct.values()), num_variables_of(index))


@cached
def num_variables_of(index: TraceIndex) -> int:
    """Return the number of variables of the circuit."""
    scopes = scopes_of_layers(index, index.state(0)).values()
    return 1 + max((int(scope[-1]) for scope in scopes if len(scope)), default=-1)


@cached
def cells_of_layers(index: TraceIndex, layers: State) -> dict[int, Cell]:
    """Return the cell of each layer."""
    grid = grid_of(index)
    regions: dict[int, Region | None] = {}
    found: dict[int, Cell] = {}
    for layer, scope in scopes_of_layers(index, layers).items():
        if id(scope) not in regions:
            regions[id(scope)] = grid.region(scope) if grid is not None and len(scope) else None
        found[layer] = Cell(layer, regions[id(scope)])
    return found


@cached
def scopes_of_layers(index: TraceIndex, state: State) -> dict[int, Scope]:
    """Return the variables below each layer; equal scopes are one array."""
    arrays: dict[int, Scope] = {}
    for bits in set(node_scopes(index, state).values()):
        raw = np.frombuffer(bits.to_bytes(-(-bits.bit_length() // 8), "little"), np.uint8)
        arrays[bits] = np.flatnonzero(np.unpackbits(raw, bitorder="little"))
    return {node: arrays[bits] for node, bits in node_scopes(index, state).items()}
