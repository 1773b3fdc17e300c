"""Databases of rewriters: names, tags, and queries that choose by tags."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from math import inf, isnan
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, runtime_checkable

from explorer.errors import DuplicateNameError, QueryError, RuleError, look_up, unknown_name

Position = float | int | str
"""The position of an entry: a number, or "last"."""


@dataclass(frozen=True, slots=True)
class Query:
    """Selects the entries with any tag of `include`, all of `require` and none of `exclude`.

    The name of an entry counts as one of its tags. A nested database receives the query in `subquery` under its name,
    or this one. If entries have positions, only those below `position_cutoff` are selected. Without `include` nothing
    is selected.

    >>> fast = Query(include=["fast_run"], exclude=["inplace"])
    >>> fast
    Query('+fast_run', '-inplace')
    >>> fast.including("mine").requiring("exact")
    Query('+fast_run', '+mine', '&exact', '-inplace')
    >>> fast.selects(["fast_run", "merge"]), fast.selects(["fast_run", "inplace"])
    (True, False)
    """

    include: Collection[str]
    require: Collection[str] = ()
    exclude: Collection[str] = ()
    subquery: Mapping[str, "Query"] = field(default_factory=dict[str, "Query"], hash=False)
    position_cutoff: float = inf

    def __post_init__(self) -> None:
        for name in ("include", "require", "exclude"):
            object.__setattr__(self, name, _tags(name, getattr(self, name)))
        object.__setattr__(self, "subquery", MappingProxyType(dict(self.subquery)))

    @classmethod
    def read(cls, *parts: str, **subquery: "Query") -> "Query":
        """Parse a query: `+tag` to include, `&tag` to require, `-tag` to exclude.

        Raises: QueryError if a tag has no sign.

        >>> Query.read("+fast_run", "&exact", "-inplace")
        Query('+fast_run', '&exact', '-inplace')
        """
        found: dict[str, list[str]] = {"+": [], "&": [], "-": []}
        for part in parts:
            sign, tag = part[:1], part[1:]
            if sign not in found or not tag:
                raise QueryError(f"expected '+tag' to include, '&tag' to require or '-tag' to exclude, got {part!r}")
            found[sign].append(tag)
        return cls(found["+"], found["&"], found["-"], subquery)

    def selects(self, tags: Iterable[str]) -> bool:
        """Whether an entry with these tags is selected."""
        has = frozenset(tags)
        return not has.isdisjoint(self.include) and has.issuperset(self.require) and has.isdisjoint(self.exclude)

    def including(self, *tags: str) -> "Query":
        """The query that also includes these tags."""
        return replace(self, include=(*self.include, *tags))

    def excluding(self, *tags: str) -> "Query":
        """The query that also excludes these tags."""
        return replace(self, exclude=(*self.exclude, *tags))

    def requiring(self, *tags: str) -> "Query":
        """The query that also requires these tags."""
        return replace(self, require=(*self.require, *tags))

    def before(self, position: float) -> "Query":
        """The query limited to entries before a position."""
        return replace(self, position_cutoff=position)

    def inside(self, name: str) -> "Query":
        """The query for the nested database of this name."""
        return self.subquery.get(name, self)

    def __repr__(self) -> str:
        signed = (("+", self.include), ("&", self.require), ("-", self.exclude))
        parts = [repr(f"{sign}{tag}") for sign, tags in signed for tag in tags]
        parts += [f"{name}={query}" for name, query in self.subquery.items()]
        if self.position_cutoff != inf:
            parts.append(f"position_cutoff={self.position_cutoff:g}")
        return f"Query({', '.join(parts)})"


@runtime_checkable
class Named(Protocol):
    """An item of a database: a rewriter, with the name under which it is recorded."""

    name: str


Item = TypeVar("Item", bound=Named)
Held = TypeVar("Held", bound=Named)


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Generic[Held]):
    """A rewriter or nested database under its name; `position` orders entries where order matters."""

    name: str
    item: Held
    tags: tuple[str, ...]
    position: float = 0.0
    role: str = ""
    """The use of the entry, if the database has several."""

    @property
    def all_tags(self) -> tuple[str, ...]:
        """Its name and its tags: queries can use any of them."""
        return (self.name, *self.tags)


class RewriteDatabase(ABC, Generic[Item]):
    """Rewriters by name and tags. Subclasses define the accepted items and what a query builds from its selection.

    Names are unique, and a name is never a tag of a different entry. The class of a rewriter and the name of the
    database are tags too. A rewriter is stored under its registered name, as a copy if its own name differs.
    """

    ordered: ClassVar[bool]
    """Whether entries are ordered by position, or only by registration."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._entries: dict[str, Entry[Item | RewriteDatabase[Any]]] = {}
        self._refused: dict[str, str] = {}

    # ------------------------------------------------------------------ entries

    def entries(self) -> "tuple[Entry[Item | RewriteDatabase[Any]], ...]":
        """The entries, by position and name."""
        return tuple(sorted(self._entries.values(), key=lambda entry: (entry.position, entry.name)))

    def __getitem__(self, name: str) -> "Item | RewriteDatabase[Any]":
        """The rewriter or nested database of this name. Raises: UnknownNameError."""
        return look_up(f"entry of the database {self.name or type(self).__name__}", name, self._entries).item

    def database(self, name: str) -> "RewriteDatabase[Any]":
        """The nested database of this name. Raises: UnknownNameError."""
        inner = _database(self[name])
        if inner is None:
            known = [entry.name for entry in self.entries() if _database(entry.item) is not None]
            raise unknown_name(f"database in {self.name or type(self).__name__}", name, known)
        return inner

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return (entry.name for entry in self.entries())

    def __len__(self) -> int:
        return len(self._entries)

    # ------------------------------------------------------------------ registering

    def _register(
        self, name: str, item: "Item | RewriteDatabase[Any]", tags: Iterable[object], position: Position, role: str = ""
    ) -> None:
        """Add an entry. Raises: DuplicateNameError, RuleError."""
        where = f"the database {self.name!r}" if self.name else "the database"
        texts = self._check_entry(name, item, tags)
        if name in self._entries:
            raise DuplicateNameError(f"{where} has an entry {name!r} already; choose another name")
        holder = next((e.name for e in self._entries.values() if name in e.tags), None)
        if holder is not None:
            raise DuplicateNameError(f"{name!r} is a tag of the entry {holder!r} of {where}; choose another name")
        more = [type(item).__name__, self.name] if self.name else [type(item).__name__]
        texts = tuple(dict.fromkeys((*texts, *more)))
        taken = next((tag for tag in texts if tag in self._entries or tag == name), None)
        if taken is not None:
            raise DuplicateNameError(f"the tag {taken!r} is the name of an entry of {where}; choose another tag")
        for tag in texts:
            if tag in self._refused:
                raise RuleError(f"{name!r} is tagged {tag!r}: {self._refused[tag]}")
        number = self._position_number(position)
        renamed = self._rename(item, name)
        self._entries[name] = Entry(name, renamed, texts, number, role)

    def _check_entry(self, name: object, item: object, tags: Iterable[object]) -> tuple[str, ...]:
        """The tags as strings. Raises: RuleError for an invalid name, item or tag."""
        if not isinstance(name, str) or not name:
            raise RuleError(f"expected a non-empty string as the name of an entry, got {name!r}")
        if not self._accepts(item):
            raise RuleError(f"{name!r} is a {type(item).__name__}; {self._wants()}")
        found = tuple(tags)
        wrong = next((tag for tag in found if not isinstance(tag, str) or not tag or tag[0] in "+&-"), None)
        if wrong is not None:
            raise RuleError(f"tags of {name!r}: expected strings that do not begin with +, & or -, got {wrong!r}")
        return tuple(str(tag) for tag in found)

    def _position_number(self, position: Position) -> float:
        """The position as a number. Raises: RuleError for an invalid position."""
        if isinstance(position, str):
            if position != "last":
                raise RuleError(f"expected a number or 'last' as a position, got {position!r}")
            return max((entry.position for entry in self._entries.values()), default=-1.0) + 1.0
        if isinstance(position, bool) or isnan(position):
            raise RuleError(f"expected a number or 'last' as a position, got {position!r}")
        return float(position)

    def _rename(self, item: "Item | RewriteDatabase[Any]", name: str) -> "Item | RewriteDatabase[Any]":
        """The item under this name; a nested database keeps its own."""
        inner = _database(item)
        if inner is not None:
            inner.name = inner.name or name
            return inner
        if item.name == name:
            return item
        renamed = copy(item)
        renamed.name = name
        return renamed

    def refuse(self, tag: str, why: str) -> None:
        """Refuse entries with a tag, here and in nested databases. Raises: RuleError if there is one already."""
        for entry in self._entries.values():
            if tag in entry.tags:
                raise RuleError(f"{entry.name!r} of {self.name!r} is tagged {tag!r}: {why}")
            inner = _database(entry.item)
            if inner is not None:
                inner.refuse(tag, why)
        self._refused[tag] = why

    # ------------------------------------------------------------------ queries

    def query(self, *parts: "Query | str", **subquery: Query) -> Any:
        """Build a rewriter from the entries that a query selects; it remembers the query and can extend it.

        Accepts a `Query`, or its short form: `query("+fast_run", "-inplace")`. Raises: QueryError.
        """
        query = self._read(parts, subquery)
        made = self._make(self._select(query))
        if isinstance(made, FromQuery):
            made.origin = Origin(self, query)
        return made

    def _select(self, query: Query) -> list[Entry[Item]]:
        """The selected entries, in order; nested databases are replaced by what they build, or dropped if empty."""
        found: list[Entry[Any]] = []
        for entry in self.entries():
            if not query.selects(entry.all_tags) or (self.ordered and entry.position >= query.position_cutoff):
                continue
            inner = _database(entry.item)
            if inner is None:
                found.append(entry)
                continue
            inside = query.inside(entry.name)
            if inner._select(inside):
                found.append(Entry(entry.name, inner.query(inside), entry.tags, entry.position, entry.role))
        return found

    def _read(self, parts: "tuple[Query | str, ...]", subquery: Mapping[str, Query]) -> Query:
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return Query.read(*texts, **subquery)
        query = parts[0]
        if len(parts) > 1 or not isinstance(query, Query) or subquery:
            raise QueryError("expected one Query, or parts such as '+fast_run', '-inplace', not both")
        return query

    # ------------------------------------------------------------------ for subclasses

    @abstractmethod
    def _accepts(self, item: object) -> bool:
        """Whether an item can be registered here."""

    @abstractmethod
    def _wants(self) -> str:
        """The kinds of entries that can be registered, for error messages."""

    @abstractmethod
    def _make(self, entries: list[Entry[Item]]) -> Any:
        """Build one rewriter from the selected entries, in order; nested databases are built already."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The database and the query that a rewriter was built from."""

    database: RewriteDatabase[Any]
    query: Query


class FromQuery:
    """Mixin of rewriters built by a database: they can be built again for an extended query."""

    origin: Origin | None = None

    def including(self, *tags: str) -> Self:
        """Build for the same query, including these tags too. Raises: QueryError."""
        origin = self._require_origin()
        return origin.database.query(origin.query.including(*tags))

    def excluding(self, *tags: str) -> Self:
        """Build for the same query, excluding these tags. Raises: QueryError."""
        origin = self._require_origin()
        return origin.database.query(origin.query.excluding(*tags))

    def requiring(self, *tags: str) -> Self:
        """Build for the same query, requiring these tags. Raises: QueryError."""
        origin = self._require_origin()
        return origin.database.query(origin.query.requiring(*tags))

    def _require_origin(self) -> Origin:
        if self.origin is None:
            raise QueryError("this rewriter was not built by a query; query the database instead")
        return self.origin


def _database(item: object) -> "RewriteDatabase[Any] | None":
    """The item if it is a database, or None."""
    return item if isinstance(item, RewriteDatabase) else None  # pyright: ignore[reportUnknownVariableType]


def _tags(what: str, tags: Iterable[str]) -> tuple[str, ...]:
    if isinstance(tags, str):
        raise QueryError(f"{what}: expected a list of tags; write {what}=[{tags!r}]")
    found = tuple(dict.fromkeys(tags))
    wrong = next((tag for tag in found if not isinstance(tag, str)), None)  # pyright: ignore[reportUnnecessaryIsInstance]
    if wrong is not None:
        raise QueryError(f"{what}: expected strings as tags, got {wrong!r}")
    return found
