"""Databases of rewriters of tensor graphs: a sequence, an equilibrium, a group of local ones, one sweep."""

from collections.abc import Mapping
from typing import Any, ClassVar

from explorer.errors import RuleError
from explorer.rewrite import Entry, Position, RewriteDatabase
from explorer.tensor.rewriting.equilibrium import EquilibriumRewriter, SweepRewriter
from explorer.tensor.rewriting.navigators import MAX_USE_RATIO, LocalRewriterGroup, Order
from explorer.tensor.rewriting.rewriters import LocalRewriter, Rewriter, SequenceRewriter


class SequenceDB(RewriteDatabase[Rewriter]):
    """Global rewriters ordered by position, then by name.

    `not_before` maps a tag to a position: entries with that tag must come after it. The first entry registered at that
    position itself is the mark.
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
        """Register a rewriter or a database at a position: a number, or "last".

        The position is a keyword, or precedes the tags: `register("simplify", simplify, 0.5, "fast_run")`.
        Raises: RuleError if it is not a global rewriter, or comes before the position that its tags require;
        DuplicateNameError.
        """
        if tags and (tags[0] == "last" or (isinstance(tags[0], int | float) and not isinstance(tags[0], bool))):
            if position is not None:
                raise RuleError(f"{name!r} has two positions, {tags[0]} and {position}; pass one")
            position, tags = tags[0], tags[1:]
        number = self._position_number("last" if position is None else position)
        for tag, least in self.not_before.items():
            why = f"entries with this tag must come after position {least:g}; got position {number:g}"
            marked = any(entry.position == least for entry in self.entries())
            if number > least or (number == least and not marked):
                continue
            if tag in tags:
                raise RuleError(f"{name!r} is tagged {tag!r}: {why}")
            if isinstance(rewriter, RewriteDatabase):
                rewriter.refuse(tag, why)
        self._register(name, rewriter, tags, number)

    def _accepts(self, item: object) -> bool:
        return isinstance(item, Rewriter | SequenceDB | EquilibriumDB | SweepDB)

    def _wants(self) -> str:
        return "a sequence accepts global rewriters and databases; wrap a local rewriter in a walker: in2out(rule)"

    def _make(self, entries: list[Entry[Rewriter]]) -> SequenceRewriter:
        return SequenceRewriter(*(entry.item for entry in entries), name=self.name or "sequence")


class EquilibriumDB(RewriteDatabase["Rewriter | LocalRewriter"]):
    """Local and global rewriters that are applied until none of them changes the graph."""

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
        """Register a rewriter. A final one runs after each round, a cleanup one after each change; both are global.

        Raises: RuleError if it is not a rewriter, or a local one that is final or for cleanup; DuplicateNameError.
        """
        if final_rewriter and cleanup:
            raise RuleError(f"{name!r} cannot be both a final rewriter and a cleanup rewriter")
        if (final_rewriter or cleanup) and isinstance(rewriter, LocalRewriter):
            raise RuleError(f"{name!r} is local; final and cleanup rewriters are global: use in2out(...)")
        self._register(name, rewriter, tags, "last", "final" if final_rewriter else "cleanup" if cleanup else "")

    def _accepts(self, item: object) -> bool:
        return isinstance(item, Rewriter | LocalRewriter | RewriteDatabase)

    def _wants(self) -> str:
        return "a database accepts rewriters and databases"

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


class LocalRewriterDB(RewriteDatabase[LocalRewriter]):
    """Base of the databases of local rewriters, which are ordered by position."""

    ordered: ClassVar[bool] = True

    def register(
        self, name: str, rewriter: "LocalRewriter | LocalGroupDB", *tags: str, position: Position = "last"
    ) -> None:
        """Register a local rewriter. Raises: RuleError if it is not one; DuplicateNameError."""
        self._register(name, rewriter, tags, position)

    def _accepts(self, item: object) -> bool:
        return isinstance(item, LocalRewriter | LocalGroupDB)


class LocalGroupDB(LocalRewriterDB):
    """Local rewriters as one: applies the first that matches, or with `apply_all` all of them."""

    def __init__(self, name: str = "", *, apply_all: bool = False) -> None:
        super().__init__(name)
        self.apply_all = apply_all

    def _wants(self) -> str:
        return "a group accepts local rewriters"

    def _make(self, entries: list[Entry[LocalRewriter]]) -> LocalRewriterGroup:
        return LocalRewriterGroup(*(entry.item for entry in entries), apply_all=self.apply_all, name=self.name)


class SweepDB(LocalRewriterDB):
    """Local rewriters for one walk through the graph, tried at every application in the order of their positions."""

    def __init__(self, name: str = "", *, order: Order = "in_to_out") -> None:
        super().__init__(name)
        self.order: Order = order

    def _wants(self) -> str:
        return "a sweep accepts local rewriters and groups of them"

    def _make(self, entries: list[Entry[LocalRewriter]]) -> SweepRewriter:
        return SweepRewriter([entry.item for entry in entries], name=self.name or "sweep", order=self.order)
