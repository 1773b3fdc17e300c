"""The base class of tools in the drawer: created when first opened, notified of changes while open."""

from abc import ABC, abstractmethod
from typing import ClassVar

from panel.viewable import Viewable

from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.opening import Opened
from explorer.app.session.view_state import LEVEL_NAMES

OPENED, CLOSED = "opened", "closed"
"""Names that a tool receives in addition to the events of a session."""


class Tool(ABC):
    """A tool of one reader's drawer."""

    name: ClassVar[str]
    """The name in links and code."""
    title: ClassVar[str]
    """The title on its button."""
    help: ClassVar[str]
    """Its purpose in a sentence."""
    help_without_circuit: ClassVar[str] = ""
    """Its purpose at the levels without layers, if it is another one."""
    supported_levels: ClassVar[tuple[str, ...]] = LEVEL_NAMES
    """The levels whose traces it supports."""
    elsewhere: ClassVar[str] = ""
    """Why the other levels have nothing to show here."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.view = self.build()

    @classmethod
    def supports(cls, opened: Opened) -> bool:
        """Whether it has something to show of an open trace of a supported level."""
        return True

    @abstractmethod
    def build(self) -> Viewable:
        """Build the content, which `on_change` fills."""

    @abstractmethod
    def on_change(self, names: frozenset[str]) -> None:
        """Handle changes while the tool is open, and its opening (`OPENED` and all events) and closing (`CLOSED`)."""
