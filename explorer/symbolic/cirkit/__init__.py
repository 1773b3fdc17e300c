"""Circuits of the package cirkit (libcirkit) as circuits of this one, with their values, and the reverse."""

from explorer.symbolic.cirkit.cirkit_reader import (
    CirkitReader as CirkitReader,
    circuits_from_cirkit as circuits_from_cirkit,
    from_cirkit as from_cirkit,
)
from explorer.symbolic.cirkit.cirkit_writer import to_cirkit as to_cirkit
from explorer.symbolic.cirkit.classes import is_cirkit as is_cirkit
