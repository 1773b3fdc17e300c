"""One level of folding: its groups, where each slice reads its inputs, and its missed folds."""

from collections.abc import Sequence

from explorer.errors import UnknownNameError
from explorer.trace import FoldGroup, type_title
from explorer.views.index import NodeRead, TraceIndex
from explorer.views.words import bytes_text, plural
from explorer_widgets.schema import VERSION, FoldGroupView, FoldLevelView, SectionView, TableView

READS = {
    "view": "all slices are read in place, in order; nothing is copied",
    "slice": "evenly spaced slices are read in place; nothing is copied",
    "transpose": "the slices are read in place, with transposed axes; nothing is copied",
    "expand": "slices are read repeatedly in place; nothing is copied",
    "cat": "slices of several folded layers are concatenated, which copies them",
    "gather": "the slices are in no order that a view can have, so each is copied",
    "cat+gather": "several folded layers are concatenated, then each slice is copied",
}


def fold_levels(index: TraceIndex) -> tuple[int, ...]:
    """Return the levels that were folded."""
    return tuple(dict.fromkeys(group.level for group in index.groups))


def fold_level(index: TraceIndex, level: int) -> FoldLevelView:
    """Return the groups of a level. Raises: UnknownNameError for a level that was not folded."""
    groups = [group for group in index.groups if group.level == level]
    if not groups:
        known = f"levels {', '.join(map(str, fold_levels(index)))}" if index.groups else "no level: folding is off"
        raise UnknownNameError(f"level {level} was not folded; the trace has {known}")
    layers = sum(len(group.members) for group in groups)
    nodes = {group.node for group in groups}
    return {
        "version": VERSION,
        "level": level,
        "title": f"Level {level}: {plural(layers)} in {plural(len(groups), 'group')}",
        "groups": [_group_view(group, index.reads.get(group.node)) for group in groups],
        "missed": missed_folds(index, sorted(nodes)),
    }


def missed_folds(index: TraceIndex, nodes: Sequence[int] | None = None) -> TableView:
    """Return the missed folds of these folded nodes, or all."""
    rows = [
        [str(miss.nodes[0]), str(miss.nodes[1]), str(miss.layers), miss.reason]
        for miss in index.missed_folds
        if nodes is None or set(miss.nodes) & set(nodes)
    ]
    return {"columns": ["node", "other node", "layers", "why not folded together"], "rows": rows}


def fold_sections(index: TraceIndex, layers: Sequence[int]) -> list[SectionView]:
    """Return the fold key of these layers if they are one group, and whether the last two of them were folded together.

    The layers may be folded ones, or layers before they were folded.
    """
    group = _group_with(index, layers[-1]) if layers else None
    found: list[SectionView] = []
    if group is not None and set(layers) <= {group.node, *group.members}:
        view = _group_view(group, index.reads.get(group.node))
        read = f"Reads by {view['read']}: {view['reason']}." if view["read"] else "Reads the data."
        missed = [f"Not folded with #{row[1]}: {row[3]}." for row in missed_folds(index, [group.node])["rows"]]
        rows = [*view["key"], ["layers", str(len(group.members))]]
        found.append({"heading": f"Fold key of level {group.level}", "rows": rows, "lines": [read, *missed]})
    if len(layers) > 1:
        before = {group.node: group.members[0] for group in index.groups}
        one, other = (before.get(layer, layer) for layer in layers[-2:])
        try:
            reason = index.trace.why_not_folded(one, other).reason
        except UnknownNameError:  # nothing was folded yet, or these are no layers
            return found
        found.append({"heading": "Folded together?", "rows": [], "lines": [f"#{one} and #{other}: {reason}"]})
    return found


def _group_with(index: TraceIndex, layer: int) -> FoldGroup | None:
    return next((group for group in index.groups if layer == group.node or layer in group.members), None)


def _group_view(group: FoldGroup, read: NodeRead | None) -> FoldGroupView:
    table: list[list[list[int]]] = group.index or []
    inputs = len(table[0]) if table else 0
    rows = [
        [str(i), str(member), *(f"node {node}, slice {slot}" for node, slot in (table[i] if table else ()))]
        for i, member in enumerate(group.members)
    ]
    copied = read.copied_bytes if read is not None else 0
    cost = f" ({bytes_text(copied)} per example)" if copied else ""
    why = f"; {read.reason}" if read is not None and read.reason else ""
    return {
        "node": group.node,
        "title": f"{type_title(group.type)} x{len(group.members)}",
        "members": list(group.members),
        "key": [[name, str(value)] for name, value in group.key.items()],
        "read": group.read or "",
        "reason": READS.get(group.read, "") + cost + why if group.read else "reads no layer",
        "copied_bytes": copied,
        "index": [[list(pair) for pair in row] for row in table],
        "table": {
            "columns": ["slice", "layer", *(f"input {h + 1}" for h in range(inputs))],
            "rows": rows,
        },
    }
