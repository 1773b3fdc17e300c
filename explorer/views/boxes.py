"""Boxes, each some nodes drawn as one, and their content: title, detail, kind, folds, bytes, names; as a table."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import numpy as np

from explorer.trace import NodeRecord
from explorer.views.index import TraceIndex, cached
from explorer.views.scopes import node_scopes
from explorer.views.states import ABSENT, IntArray, State
from explorer.views.words import bytes_text, list_text, plural, scope_text
from explorer_widgets.schema import Change, EdgeView, HullView, NodeKind, NodeView, PinView, TableView
from explorer_widgets.theme import KINDS

ShownMode = Literal["before", "after", "diff"]

MAX_NAMES = 4
"""Maximum number of names in the name of one layer."""

MAX_DETAIL = 25
"""Maximum number of characters of a detail."""
MAX_TITLE = 16
"""Maximum number of characters of a title with the variables of a layer."""
MAX_NAMED = 2_000
"""Layers have their variables in their titles up to this many layers; finding them takes time for each."""

COLUMNS = (
    "box",
    "what",
    "details",
    "kind",
    "level",
    "layers",
    "slices",
    "change",
    "value",
    "matched",
    "signs",
    "reads",
    "matches",
)


@dataclass(frozen=True)
class Box:
    """Nodes drawn as one box. `level` is that after the step, or before it for removed nodes."""

    id: str
    ids: tuple[int, ...]
    change: Change
    level: int
    level_before: int
    roles: int
    merges: int | None = None
    """For a folded node: the position of the box of exactly its slices, if any, which it replaces."""
    merged: int | None = None
    """For such a box of slices: the position of the folded node's box."""
    only: Literal["before", "after"] | None = None
    """For a plate that gains or loses some of its layers: the state that has it."""

    @property
    def before(self) -> bool:
        """Return whether its nodes existed before the step."""
        return self.change != "added" and self.merges is None and self.only != "after"

    @property
    def after(self) -> bool:
        """Return whether its nodes exist after the step."""
        return self.change != "removed" and self.merged is None and self.only != "before"


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of a step; the arrays map each id to the position of its box before and after the step, or -1."""

    boxes: tuple[Box, ...]
    before: IntArray
    after: IntArray


def state_of_box(index: TraceIndex, step: int, box: Box) -> State:
    """Return the state that contains the nodes of a box: after the step, or before it for removed nodes."""
    return index.state(step) if box.after else index.before(step)


def forms_of(index: TraceIndex, state: State, ids: Sequence[int]) -> list[tuple[NodeRecord, int]]:
    """Return one record and a count for each form (type, config, shapes) among these nodes, in order of appearance."""
    keys = state.key[list(ids)]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    order = np.argsort(first)
    return [(index.record(int(state.node[ids[int(first[i])]])), int(counts[i])) for i in order]


def kind_of_box(forms: Sequence[tuple[NodeRecord, int]]) -> NodeKind:
    """Return the common kind of all nodes of a box, or `operator`."""
    kinds: set[NodeKind] = {record.kind for record, _ in forms}
    return kinds.pop() if len(kinds) == 1 else "operator"


def title_of(
    index: TraceIndex, state: State, box: Box, forms: Sequence[tuple[NodeRecord, int]], *, with_scope: bool
) -> str:
    """Return the type of the nodes, `with_scope` a single layer's with its variables: `Categorical x0`, `Sum {0..3}`.

    Columns of a table are in the detail. For several types, return the number of variables in their scopes.
    """
    titles = {record.title for record, _ in forms}
    if len(titles) == 1:
        title = titles.pop()
        is_one = len(box.ids) == 1 and folds_of_box(box, forms) == 1 and index.trace.level.has_circuit
        if not (with_scope and is_one) or index.columns or int(np.count_nonzero(state.present)) > MAX_NAMED:
            return title
        named = f"{title} {scope_text(node_scopes(index, state)[box.ids[0]])}"
        return named if len(named) <= MAX_TITLE else title
    variables = {node_scopes(index, state)[node].bit_count() for node in box.ids}
    return plural(variables.pop(), "variable") if len(variables) == 1 else plural(len(box.ids), "node")


def detail_of(box: Box, forms: Sequence[tuple[NodeRecord, int]], columns: str = "") -> str:
    """Return id, units and parameter shapes, as much as fits into a box; the inspector shows them all.

    Inputs that read a table have the names of their columns.
    """
    name = f"#{box.ids[0]} " if len(box.ids) == 1 else ""
    if len(forms) > 1:
        types: dict[str, int] = {}
        for record, count in forms:
            types[record.title] = types.get(record.title, 0) + count
        full = ", ".join(f"{count} {title}" for title, count in types.items())
        choices = [full, f"{plural(len(box.ids), 'node')} of {plural(len(types), 'type')}"]
    else:
        record = forms[0][0]
        units = units_text(record)
        shapes = [f"{name} {'×'.join(map(str, p.shape))}" for name, p in record.parameters.items()]
        choices = [name + ", ".join([units, *shapes]), name + units, units]
        if columns and record.scope is not None:
            choices = [f"{name}{columns} → {record.config['num_output_units']}", columns, *choices]
    return next((choice for choice in choices if len(choice) <= MAX_DETAIL), choices[-1])


def units_text(record: NodeRecord) -> str:
    """Return the units of one fold, `2×16 → 16` or `1 variable → 16`; for other nodes, the shape of the result."""
    units = record.config.get("num_output_units")
    if "results" in record.config:
        return results_text(record)
    if units is None:
        shape = record.config.get("shape")
        return f"({list_text(shape)})" if isinstance(shape, list | tuple) else ""  # pyright: ignore[reportUnknownArgumentType]
    if record.scope is not None:
        return f"{plural(len(record.scope[0]) if record.scope else 0, 'variable')} → {units}"
    arity, inputs = record.config.get("arity"), record.config.get("num_input_units")
    return f"{f'{arity}×' if arity != 1 else ''}{inputs} → {units}"


def results_text(record: NodeRecord) -> str:
    """Return the name of a constant and the types of results: `conv1.weight f32[64,3,7,7]`."""
    results: Sequence[object] = record.config["results"]
    value = record.config.get("value")
    name = record.about.get("name") or record.config.get("name")
    facts = [str(name)] if name else [] if value is None else [str(value)]
    return " ".join([*facts, list_text(results, 2)])


def folds_of_box(box: Box, forms: Sequence[tuple[NodeRecord, int]]) -> int:
    """Return F of a node; 1 for a group."""
    return forms[0][0].num_folds if len(box.ids) == 1 else 1


def bytes_of_box(index: TraceIndex, step: int, box: Box, forms: Sequence[tuple[NodeRecord, int]]) -> int | None:
    """Return the bytes that the nodes of a box write per example, including copies of their inputs."""
    total = 0
    for record, count in forms:
        if isinstance(written := record.config.get("bytes"), int):
            total += written * count
            continue
        units = record.config.get("num_output_units")
        if not isinstance(units, int):
            return None
        total += units * record.num_folds * number_bytes(index) * count
    shown_at = step if box.after else step - 1
    folded = [node for node in box.ids if index.folded_at[node] <= shown_at and node in index.reads]
    return total + sum(index.reads[node].copied_bytes for node in folded)


@cached
def number_bytes(index: TraceIndex) -> int:
    """Return the bytes of one number that a layer of the circuit computes."""
    state = index.state(0)
    forms = forms_of(index, state, np.flatnonzero(state.present).tolist())
    numbers = sum(record.config["num_output_units"] * record.num_folds * count for record, count in forms)
    return index.trace.stats(0)["activation_bytes"] // numbers


def parameter_count(record: NodeRecord) -> int:
    """Return the number of entries in the parameter leaves of a node, over all folds."""
    return sum(
        prod(node.config["shape"]) * max(len(node.leaves), 1)
        for parameter in record.parameters.values()
        for node in parameter.nodes
        if node.leaves and isinstance(node.config.get("shape"), list | tuple)
    )


def box_id(ids: IntArray) -> str:
    """Return an id that depends only on the nodes: `n12` for one; first id, count and checksum for several."""
    if len(ids) == 1:
        return f"n{ids[0]}"
    return f"g{ids[0]}x{len(ids)}-{zlib.crc32(ids.astype('<i4').tobytes()):08x}"


def with_folds(index: TraceIndex, step: int, boxes: list[Box]) -> Boxes:
    """Let each folded node replace the box of its slices, if they fill exactly one."""
    place = {box.id: i for i, box in enumerate(boxes)}
    for group in index.step(step).folds:
        if group.members == (group.node,):
            continue
        slices = place.get(box_id(np.array(sorted(group.members), np.int32)))
        folded = place[f"n{group.node}"]
        if slices is not None:
            boxes[slices] = replace(boxes[slices], change="changed", merged=folded)
            boxes[folded] = replace(boxes[folded], change="changed", merges=slices)
    before, after = np.full(index.size, ABSENT, np.int32), np.full(index.size, ABSENT, np.int32)
    for i, box in enumerate(boxes):
        if box.before:
            before[list(box.ids)] = i
        if box.after:
            after[list(box.ids)] = i
    return Boxes(tuple(boxes), before, after)


def is_shown(box: Box, mode: ShownMode) -> bool:
    """Return whether a box is drawn in a mode; `diff` shows a folded node instead of the box it replaces."""
    if mode == "diff":
        return box.merged is None
    return box.before if mode == "before" else box.after


@cached
def name_of(index: TraceIndex, layer: int) -> str:
    """Return the name of a layer, or the names of those that it was made from; empty if they have none."""
    if not index.trace.level.has_circuit or not index.symbolic_names:
        return ""
    names = (index.symbolic_names.get(symbolic) for symbolic in index.trace.lineage(layer).symbolic)
    return list_text([name for name in names if name], MAX_NAMES)


def names_of(index: TraceIndex, layers: Sequence[int]) -> list[str]:
    """Return the name of each layer; a negative id is a slice of an unknown layer."""
    return [name_of(index, layer) if layer >= 0 else "" for layer in layers]


def table_of(
    nodes: Sequence[NodeView],
    edges: Sequence[EdgeView],
    hulls: Sequence[HullView],
    pins: Sequence[PinView] = (),
) -> TableView:
    """Return the table of a picture."""
    reads: dict[str, list[str]] = {node["id"]: [] for node in nodes}
    for edge in edges:
        reads[edge["target"]].append(edge_text(edge))
    matches: dict[str, list[str]] = {node["id"]: [] for node in nodes}
    for hull in hulls:
        for name in hull["nodes"]:
            matches[name].append(hull_text(hull))
    for pin in pins:
        for name in pin["nodes"]:
            matches[name].append(pin["reason"])
    rows = [[*node_cells(node), "; ".join(reads[node["id"]]), "; ".join(matches[node["id"]])] for node in nodes]
    return {"columns": list(COLUMNS), "rows": rows}


def node_cells(node: NodeView) -> list[str]:
    """Return the data of a box without its arrows and hulls."""
    return [
        node["id"],
        node["title"],
        node["detail"],
        KINDS[node["kind"]].words,
        str(node["level"]),
        str(node["count"]),
        str(node["folds"]),
        node["change"],
        node["fill_text"],
        "yes" if node["matched"] else "",
        "; ".join(f"{badge['sign']} {badge['text']}" for badge in node["badges"]),
    ]


def edge_text(edge: EdgeView) -> str:
    """Describe an arrow at its target: `n3: 2 edges, kept, gather, 64 B copied`."""
    parts = [plural(edge["count"], "edge"), edge["change"]]
    if edge["read"]:
        parts.append(edge["read"])
    if edge["copied_bytes"]:
        parts.append(f"{bytes_text(edge['copied_bytes'])} copied")
    if "port" in edge:
        parts.append(f"its line is cut at {edge['port']['number']}")
    return f"{edge['source']}: {', '.join(parts)}"


def hull_text(hull: HullView) -> str:
    """Describe a hull: `lost Candecomp (lost to SumCollapse ...)`."""
    reason = f" ({hull['reason']})" if hull["reason"] else ""
    return f"{hull['kind']} {hull['label']}{reason}"
