"""The plates of a step: layers of equal fold key on one level, each layer a cell; a folded layer has one per slice."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from explorer.trace import NodeRecord
from explorer.views.boxes import box_id
from explorer.views.index import TraceIndex, cached
from explorer.views.plates.geometry import Grid, Region, Scope, infer_grid
from explorer.views.scopes import node_scopes
from explorer.views.states import BoolArray, IntArray, State

UNKNOWN = -1
"""The layer of a slice that was folded before the trace."""
Pairs = IntArray
"""Numbers of cells, shape (N, 2): source and target of each read."""
Ends = tuple[int, int]
"""Positions of the plate that is read and of the one that reads it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One layer that is called, or one slice of a folded layer; `layer` may be `UNKNOWN`."""

    layer: int
    region: Region | None
    columns: int = 0
    """The number of columns of a table that it reads; 0 if the variables are no columns."""


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
    circuit: int = 0
    """Before the compilation, the position of its circuit among those that operators combine."""

    @property
    def num_calls(self) -> int:
        """Number of layers, or operators, that PyTorch calls for it."""
        return (1 if self.node is not None else len(self.cells)) if self.is_called else 0

    @cached_property
    def layers(self) -> IntArray:
        """The layer of each cell."""
        return np.array([cell.layer for cell in self.cells], np.int32)

    @cached_property
    def first_layer(self) -> int:
        """The first of its layers."""
        return int(self.layers.min())

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The nodes of the graph: the folded layer, or the separate layers, ascending."""
        return (self.node,) if self.node is not None else tuple(np.sort(self.layers).tolist())

    @cached_property
    def id(self) -> str:
        """The id of its box."""
        return box_id(np.array(self.ids, np.int32))


@dataclass(frozen=True, eq=False)
class Plates:
    """All plates of a step, by circuit, lowest column first; within a column by their level and their first layer."""

    plates: tuple[Plate, ...]
    columns: tuple[int, ...]
    """The column of each plate: those that it reads are in lower ones."""
    ends: frozenset[Ends]
    """Which plates read which, also plates with unknown cells."""
    grid: Grid | None
    layers: State
    """The layers that the cells are, and their edges."""

    @cached_property
    def reads(self) -> dict[tuple[int, int], Pairs]:
        """Reads between cells, by the positions of their plates (source, target)."""
        plate_of = np.full(len(self.layers.present), -1, np.int32)
        cell_of = plate_of.copy()
        for position, plate in enumerate(self.plates):
            if plate.first_layer != UNKNOWN:
                plate_of[plate.layers], cell_of[plate.layers] = position, np.arange(len(plate.cells))
        edges = self.layers.edges
        known = (plate_of[edges] >= 0).all(axis=1)
        plates, cells = plate_of[edges[known]], cell_of[edges[known]]
        groups = group_equal(plates[:, 0], plates[:, 1])
        return {(int(plates[group[0], 0]), int(plates[group[0], 1])): cells[group] for group in groups}


@cached
def plates_of(index: TraceIndex, step: int) -> Plates:
    """Return the plates after a step.

    Folding keeps the layers as cells, so the plates before and after a fold level have the same cells.
    """
    state, layers = index.state(step), index.state(last_unfolded(index, step))
    plates = [
        _plate(index, layers, level, int(state.node[node]), tuple(members), node)
        for node, (level, members) in _slices(index, step).items()
        if state.present[node]
    ]
    is_separate = layers.present.copy()
    for plate in plates:
        is_separate[plate.layers] = False
    for circuit, nodes in enumerate(_circuits(index, step, is_separate)):
        for group in group_equal(layers.level[nodes], _keys(index, layers, nodes)):
            members = tuple(nodes[group].tolist())
            level, number = int(layers.level[members[0]]), int(layers.node[members[0]])
            if index.record(number).num_folds == 1:
                plates.append(_plate(index, layers, level, number, members, None, circuit))
                continue
            for node in members:
                record = index.record(int(layers.node[node]))
                plates.append(Plate(level, record, (Cell(UNKNOWN, None),) * record.num_folds, node))
    plates.sort(key=lambda plate: (plate.circuit, plate.level, plate.first_layer, plate.ids))
    ends = _ends(state, plates)
    columns = _columns([plate.level for plate in plates], ends)
    order = sorted(range(len(plates)), key=lambda at: (plates[at].circuit, columns[at]))
    place = {at: number for number, at in enumerate(order)}
    return Plates(
        tuple(plates[at] for at in order),
        tuple(columns[at] for at in order),
        frozenset((place[source], place[target]) for source, target in ends),
        grid_of(index),
        layers,
    )


def _ends(state: State, plates: Sequence[Plate]) -> list[Ends]:
    """Return which plates read which, by position, in order."""
    plate_of = np.full(len(state.present), -1, np.int32)
    for position, plate in enumerate(plates):
        plate_of[list(plate.ids)] = position
    pairs = plate_of[state.edges]
    between = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs >= 0).all(axis=1)]
    return [(source, target) for source, target in np.unique(between, axis=0).tolist()]


def _columns(levels: Sequence[int], ends: Sequence[Ends]) -> list[int]:
    """Return the longest distance of each plate from those that read no other.

    Layers of one plate may read each other by way of another plate. Such a circle is cut at its lowest level.
    """
    readers: dict[int, list[int]] = {}
    waiting: dict[int, set[int]] = {at: set() for at in range(len(levels))}
    for source, target in ends:
        readers.setdefault(source, []).append(target)
        waiting[target].add(source)
    columns = [0] * len(levels)
    ready = [at for at, sources in waiting.items() if not sources]
    lowest = iter(sorted(waiting, key=lambda at: (levels[at], at)))
    while waiting:
        at = ready.pop() if ready else next(at for at in lowest if at in waiting)
        del waiting[at]
        for target in readers.get(at, ()):
            if target in waiting:
                columns[target] = max(columns[target], columns[at] + 1)
                waiting[target].discard(at)
                if not waiting[target]:
                    ready.append(target)
    return columns


def _circuits(index: TraceIndex, step: int, present: BoolArray) -> Sequence[IntArray]:
    """Return the present layers; before the compilation, separately for each circuit."""
    nodes = np.flatnonzero(present).astype(np.int32)
    circuits = index.circuits_at(step)
    return [nodes[np.isin(nodes, np.array(one.layers, np.int32))] for one in circuits] or [nodes]


def _keys(index: TraceIndex, layers: State, nodes: IntArray) -> IntArray:
    """Return the fold keys of layers as numbers; of other nodes, for their types and some fields."""
    if index.trace.level.has_circuit:
        return layers.key[nodes]
    numbers: dict[Hashable, int] = {}
    records = (index.record(number) for number in layers.node[nodes].tolist())
    fields = index.trace.level.plate_fields
    keys = [(record.type, *(str({**record.about, **record.config}.get(name)) for name in fields)) for record in records]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)


@cached
def _plate(
    index: TraceIndex,
    layers: State,
    level: int,
    number: int,
    members: tuple[int, ...],
    node: int | None,
    circuit: int = 0,
) -> Plate:
    """Return a plate of these layers, the same object at every step: most steps change few of them."""
    cells = cells_of_layers(index, layers)
    record = index.record(number)
    is_called = node is not None or index.is_called(record)
    return Plate(level, record, tuple(map(cells.__getitem__, members)), node, is_called, circuit)


def group_equal(one: IntArray, other: IntArray) -> Sequence[IntArray]:
    """Return the positions of equal pairs of two arrays, each group ascending, groups by their pair."""
    if not len(one):
        return ()
    order = np.lexsort((other, one))
    ends = np.flatnonzero((np.diff(one[order]) != 0) | (np.diff(other[order]) != 0)) + 1
    return np.split(order, ends)


def last_unfolded(index: TraceIndex, step: int) -> int:
    """Return the step with the layers that cells show: the last one before folding, which comes after all rewriting."""
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
    """Return the grid of the variables of a trace, the same at every step; a line for a table."""
    distinct = dict.fromkeys(node_scopes(index, index.state(0)).values())
    grid = infer_grid(list(distinct), num_variables_of(index))
    return None if index.columns and grid is not None and grid.height > 1 else grid


def image_of(index: TraceIndex, count: int) -> Grid | None:
    """Return the image if the circuit of a step reads its first `count` pixels; None if its variables are no pixels.

    Evidence may leave fewer pixels than the operands read that the grid is inferred from.
    """
    grid = grid_of(index)
    return grid if grid is not None and grid.height > 1 and 0 < count <= grid.size else None


@cached
def num_variables_of(index: TraceIndex) -> int:
    """Return the number of variables of the circuit."""
    return max((scope.bit_length() for scope in node_scopes(index, index.state(0)).values()), default=0)


@cached
def cells_of_layers(index: TraceIndex, layers: State) -> dict[int, Cell]:
    """Return the cell of each layer."""
    return {
        layer: Cell(layer, _region(index, scope), scope.bit_count() if index.columns else 0)
        for layer, scope in node_scopes(index, layers).items()
    }


@cached
def _region(index: TraceIndex, scope: Scope) -> Region | None:
    grid = grid_of(index)
    return grid.region(scope) if grid is not None and scope else None
