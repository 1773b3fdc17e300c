"""The table with the same data as a picture: one row per box, with its arrows and hulls in the last columns."""

from collections.abc import Sequence

from explorer.views.words import bytes_text, plural
from explorer_widgets.schema import EdgeView, HullView, NodeView, TableView
from explorer_widgets.theme import KINDS

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


def table_of(nodes: Sequence[NodeView], edges: Sequence[EdgeView], hulls: Sequence[HullView]) -> TableView:
    """Return the table of a picture."""
    reads: dict[str, list[str]] = {node["id"]: [] for node in nodes}
    for edge in edges:
        reads[edge["target"]].append(edge_text(edge))
    matches: dict[str, list[str]] = {node["id"]: [] for node in nodes}
    for hull in hulls:
        for name in hull["nodes"]:
            matches[name].append(hull_text(hull))
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
    return f"{edge['source']}: {', '.join(parts)}"


def hull_text(hull: HullView) -> str:
    """Describe a hull: `lost Candecomp (lost to SumCollapse ...)`."""
    reason = f" ({hull['reason']})" if hull["reason"] else ""
    return f"{hull['kind']} {hull['label']}{reason}"
