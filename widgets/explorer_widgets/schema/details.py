"""Details of a selection, and the tables of folding."""

from typing import Literal, NotRequired, TypedDict

from explorer_widgets.schema.closeup import CloseupView
from explorer_widgets.schema.picture import TableView


class SectionView(TypedDict):
    """A section of the details of a node: a heading, rows of (name, value), then lines of text."""

    heading: str
    name: NotRequired[Literal["node", "why-not", "lineage", "timing"]]
    """The name by which buttons, keys and predictions find it."""
    rows: list[list[str]]
    lines: list[str]


class DetailsView(TypedDict):
    """Content of the inspector for a selection."""

    id: str
    title: str
    sections: list[SectionView]
    closeup: NotRequired[CloseupView]
    """Only of a plate."""
    layer: NotRequired[int]
    """The layer of the plate that the sections are about; without it, they are about the whole."""


class FoldGroupView(TypedDict):
    """One folded layer: its members, their common key, and where each slice reads its inputs."""

    node: int
    title: str
    members: list[int]
    """The layer of each slice, in order."""
    key: list[list[str]]
    """The fold key: rows of (name, value)."""
    read: str
    """Read of the inputs (view, slice, gather ...); empty for input layers."""
    reason: str
    """Effect and cost of that read, in words."""
    copied_bytes: int
    index: list[list[list[int]]]
    """(F, H, 2): the (folded node, slice) that each slice reads as each input; empty for input layers."""
    table: TableView
    """The same as a table, one row per slice."""


class FoldLevelView(TypedDict):
    """One level of folding: its groups, and its missed folds."""

    version: int
    level: int
    title: str
    groups: list[FoldGroupView]
    missed: TableView
