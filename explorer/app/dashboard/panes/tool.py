"""What a tool of the drawer is: made when it is first opened, told what changed while it is open."""

from abc import ABC, abstractmethod
from typing import ClassVar

from panel.viewable import Viewable

from explorer.app.dashboard.desk import Desk
from explorer.app.session.options import LEVELS

OPENED, CLOSED = "opened", "closed"
"""Told to a tool beside the events of a session."""


class Tool(ABC):
    """A part of the drawer over one desk."""

    name: ClassVar[str]
    """In links and code."""
    title: ClassVar[str]
    """On its button."""
    help: ClassVar[str]
    """In a sentence, what it is for."""
    looks_at: ClassVar[tuple[str, ...]] = LEVELS
    """The levels of the ladder whose traces it can look at."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.view = self.build()

    @abstractmethod
    def build(self) -> Viewable:
        """What is shown; filled by `changed`."""

    @abstractmethod
    def changed(self, names: frozenset[str]) -> None:
        """Something changed while the tool is open; or it was opened (`OPENED` and all events) or closed (`CLOSED`)."""
