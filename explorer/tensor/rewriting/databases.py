"""Databases of rewriters of tensor graphs: in a sequence, to an equilibrium, or as a group of local ones.

Source: Theano, The optimization database (SequenceDB, EquilibriumDB, LocalGroupDB).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from explorer.errors import RuleError
from explorer.rewrite import Entry, Position, RewriteDatabase
from explorer.tensor.rewriting.equilibrium import EquilibriumRewriter
from explorer.tensor.rewriting.navigators import LocalRewriterGroup
from explorer.tensor.rewriting.rewriters import LocalRewriter, Rewriter, SequenceRewriter
from explorer.tensor.rewriting.sweep import SweepRewriter
from explorer.tensor.rewriting.walking import MAX_USE_RATIO, Order


class SequenceDB(RewriteDatabase[Rewriter]):
    """Global rewriters in the order of their positions, and of their names where those are equal.

    `not_before` gives for a tag the position behind which everything that has it must stand; at that position stands
    the mark itself, which is the first that is registered there.
    """

    ordered: ClassVar[bool] = True

    def __init__(self, name: str = "", not_before: Mapping[str, float] | None = None) -> None:
        super().__init__(name)
        self.not_before = dict(not_before or {})

    def register(
        self,
        name: str,
        rewriter: "Rewriter | SequenceDB | EquilibriumDB | SweepDB",
        *tags: "str | float",
        position: Position | None = None,
    ) -> None:
        """Take a rewriter or a database in, at a position: a number, or "last".

        The position is named, or stands before the tags: `register("simplify", simplify, 0.5, "fast_run")`.
        Raises: RuleError for what is no global rewriter, or stands before the position that its tags ask for;
        DuplicateNameError.
        """
        if tags and (tags[0] == "last" or (isinstance(tags[0], int | float) and not isinstance(tags[0], bool))):
            if position is not None:
                raise RuleError(f"{name!r} is given two positions, {tags[0]} and {position}; give one")
            position, tags = tags[0], tags[1:]
        location = self._place("last" if position is None else position)
        for tag, least in self.not_before.items():
            why = f"what has this tag must stand behind position {least:g}, and position {location:g} is not"
            marked = any(entry.position == least for entry in self.entries())
            if location > least or (location == least and not marked):
                continue
            if tag in tags:
                raise RuleError(f"{name!r} is tagged {tag!r}: {why}")
            if isinstance(rewriter, RewriteDatabase):
                rewriter.refuse(tag, why)
        self._register(name, rewriter, tags, location)

    def _accepts(self, item: object) -> bool:
        return isinstance(item, Rewriter | SequenceDB | EquilibriumDB | SweepDB)

    def _wants(self) -> str:
        return "a sequence takes global rewriters and databases; lead a local rewriter through the graph by in2out(...)"

    def _make(self, entries: list[Entry[Rewriter]]) -> SequenceRewriter:
        return SequenceRewriter(*(entry.item for entry in entries), name=self.name or "sequence")


class EquilibriumDB(RewriteDatabase["Rewriter | LocalRewriter"]):
    """Local and global rewriters that are applied until none of them changes anything.

    Source: Theano, canonicalize and specialize are such databases.
    """

    ordered: ClassVar[bool] = False

    def __init__(self, name: str = "", *, ignore_newtrees: bool = True, max_use_ratio: float = MAX_USE_RATIO) -> None:
        super().__init__(name)
        self.ignore_newtrees = ignore_newtrees
        self.max_use_ratio = max_use_ratio

    def register(
        self,
        name: str,
        rewriter: "Rewriter | LocalRewriter | RewriteDatabase[Any]",
        *tags: str,
        final_rewriter: bool = False,
        cleanup: bool = False,
    ) -> None:
        """Take a rewriter in. A final one, which is global, runs after each round, a cleanup one after each change.

        Raises: RuleError for what is no rewriter, or for a local one at the end or for cleaning up; DuplicateNameError.
        """
        if final_rewriter and cleanup:
            raise RuleError(f"{name!r} cannot be both at the end of a round and for cleaning up")
        if (final_rewriter or cleanup) and isinstance(rewriter, LocalRewriter):
            raise RuleError(f"{name!r} is local; what runs after a round or a change is global: use in2out(...)")
        self._register(name, rewriter, tags, "last", "final" if final_rewriter else "cleanup" if cleanup else "")

    def _accepts(self, item: object) -> bool:
        return isinstance(item, Rewriter | LocalRewriter | RewriteDatabase)

    def _wants(self) -> str:
        return "a database takes rewriters and databases"

    def _make(self, entries: list[Entry[Rewriter | LocalRewriter]]) -> EquilibriumRewriter:
        return EquilibriumRewriter(
            [entry.item for entry in entries if not entry.role],
            name=self.name or "equilibrium",
            ignore_newtrees=self.ignore_newtrees,
            max_use_ratio=self.max_use_ratio,
            final=self._with_role(entries, "final"),
            cleanup=self._with_role(entries, "cleanup"),
        )

    def _with_role(self, entries: list[Entry[Rewriter | LocalRewriter]], role: str) -> list[Rewriter]:
        return [entry.item for entry in entries if entry.role == role and isinstance(entry.item, Rewriter)]


class LocalGroupDB(RewriteDatabase[LocalRewriter]):
    """Local rewriters as one: the first of them that applies, or with `apply_all` one after the other."""

    ordered: ClassVar[bool] = True

    def __init__(self, name: str = "", *, apply_all: bool = False) -> None:
        super().__init__(name)
        self.apply_all = apply_all

    def register(
        self,
        name: str,
        rewriter: "LocalRewriter | LocalGroupDB",
        *tags: str,
        position: Position = "last",
    ) -> None:
        """Take a local rewriter in. Raises: RuleError for what is none; DuplicateNameError."""
        self._register(name, rewriter, tags, position)

    def _accepts(self, item: object) -> bool:
        return isinstance(item, LocalRewriter | LocalGroupDB)

    def _wants(self) -> str:
        return "a group takes local rewriters"

    def _make(self, entries: list[Entry[LocalRewriter]]) -> LocalRewriterGroup:
        members = [entry.item for entry in entries]
        return LocalRewriterGroup(*members, apply_all=self.apply_all, name=self.name)


class SweepDB(RewriteDatabase[LocalRewriter]):
    """Local rewriters that are led through the graph once, at every application in the order of their positions."""

    ordered: ClassVar[bool] = True

    def __init__(self, name: str = "", *, order: Order = "in_to_out") -> None:
        super().__init__(name)
        self.order: Order = order

    def register(
        self,
        name: str,
        rewriter: "LocalRewriter | LocalGroupDB",
        *tags: str,
        position: Position = "last",
    ) -> None:
        """Take a local rewriter in. Raises: RuleError for what is none; DuplicateNameError."""
        self._register(name, rewriter, tags, position)

    def _accepts(self, item: object) -> bool:
        return isinstance(item, LocalRewriter | LocalGroupDB)

    def _wants(self) -> str:
        return "it takes local rewriters and groups of them"

    def _make(self, entries: list[Entry[LocalRewriter]]) -> SweepRewriter:
        return SweepRewriter([entry.item for entry in entries], name=self.name or "sweep", order=self.order)
