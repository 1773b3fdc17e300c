"""Databases of rewriters: names, tags, and queries that choose by them.

Source: Theano, The optimization database (DB, Query).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from math import inf, isnan
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, runtime_checkable

from explorer.errors import DuplicateNameError, QueryError, RuleError, unknown_name

Position = float | int | str
"""Where an entry stands: a number, or "last"."""


@dataclass(frozen=True, slots=True, init=False)
class Query:
    """Which entries to take: those with any tag of `include`, all of `require`, none of `exclude`.

    The name of an entry counts as one of its tags. A database inside of the one that is asked gets the query that
    `subquery` holds under its name, or this one. Where entries have positions, only those below `position_cutoff` are
    taken. Without `include` nothing is taken.

    >>> fast = Query(include=["fast_run"], exclude=["inplace"])
    >>> fast
    Query('+fast_run', '-inplace')
    >>> fast.including("mine").requiring("exact")
    Query('+fast_run', '+mine', '&exact', '-inplace')
    >>> fast.takes(["fast_run", "merge"]), fast.takes(["fast_run", "inplace"])
    (True, False)
    """

    include: tuple[str, ...]
    require: tuple[str, ...]
    exclude: tuple[str, ...]
    subquery: Mapping[str, "Query"] = field(hash=False)
    position_cutoff: float

    def __init__(
        self,
        include: Iterable[str],
        require: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        subquery: "Mapping[str, Query] | None" = None,
        position_cutoff: float = inf,
    ) -> None:
        object.__setattr__(self, "include", _tags("include", include))
        object.__setattr__(self, "require", _tags("require", require or ()))
        object.__setattr__(self, "exclude", _tags("exclude", exclude or ()))
        object.__setattr__(self, "subquery", MappingProxyType(dict(subquery or {})))
        object.__setattr__(self, "position_cutoff", position_cutoff)

    @classmethod
    def read(cls, *parts: str, **subquery: "Query") -> "Query":
        """A query in its short form: `+tag` to include, `&tag` to require, `-tag` to exclude.

        Raises: QueryError for a tag without a sign.

        >>> Query.read("+fast_run", "&exact", "-inplace")
        Query('+fast_run', '&exact', '-inplace')
        """
        found: dict[str, list[str]] = {"+": [], "&": [], "-": []}
        for part in parts:
            sign, tag = part[:1], part[1:]
            if sign not in found or not tag:
                raise QueryError(
                    f"{part!r} is no part of a query; write '+tag' to include, '&tag' to require, '-tag' to exclude"
                )
            found[sign].append(tag)
        return cls(found["+"], found["&"], found["-"], subquery)

    def takes(self, tags: Iterable[str]) -> bool:
        """Whether an entry with these tags is chosen."""
        has = frozenset(tags)
        return not has.isdisjoint(self.include) and has.issuperset(self.require) and has.isdisjoint(self.exclude)

    def including(self, *tags: str) -> "Query":
        """The query that takes these as well."""
        return self._with(include=(*self.include, *tags))

    def excluding(self, *tags: str) -> "Query":
        """The query that takes none of these."""
        return self._with(exclude=(*self.exclude, *tags))

    def requiring(self, *tags: str) -> "Query":
        """The query that takes only what has all of these."""
        return self._with(require=(*self.require, *tags))

    def before(self, position: float) -> "Query":
        """The query that takes only what stands before a position."""
        return Query(self.include, self.require, self.exclude, self.subquery, position)

    def inside(self, name: str) -> "Query":
        """The query for the database of a name inside of the one that is asked."""
        return self.subquery.get(name, self)

    def _with(self, include: Iterable[str] = (), require: Iterable[str] = (), exclude: Iterable[str] = ()) -> "Query":
        return Query(
            tuple(include) or self.include,
            tuple(require) or self.require,
            tuple(exclude) or self.exclude,
            self.subquery,
            self.position_cutoff,
        )

    def __repr__(self) -> str:
        parts = [repr(f"{sign}{tag}") for sign, tags in self._signed() for tag in tags]
        parts += [f"{name}={query}" for name, query in self.subquery.items()]
        if self.position_cutoff != inf:
            parts.append(f"position_cutoff={self.position_cutoff:g}")
        return f"Query({', '.join(parts)})"

    def _signed(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return (("+", self.include), ("&", self.require), ("-", self.exclude))


@runtime_checkable
class Named(Protocol):
    """What a database holds: a rewriter, with the name under which it is recorded."""

    name: str


Item = TypeVar("Item", bound=Named)
Held = TypeVar("Held", bound=Named)


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Generic[Held]):
    """A rewriter, or a database of them, under its name; `position` is its place where order counts."""

    name: str
    item: Held
    tags: tuple[str, ...]
    position: float = 0.0
    role: str = ""
    """How it is used, where a database has several ways."""

    @property
    def all_tags(self) -> tuple[str, ...]:
        """Its tags and its name, by all of which it is found."""
        return (self.name, *self.tags)


class RewriteDatabase(ABC, Generic[Item]):
    """Rewriters by name and tags. Subclasses say what they take and what a query makes of the entries it chose.

    No two entries have one name, and no name is a tag of another entry. The class of a rewriter is one of its tags, and
    so is the name of the database. A rewriter is kept under its registered name: a copy, if it has another name.
    """

    ordered: ClassVar[bool]
    """Whether the positions of its entries mean something, or only the order in which they came."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._entries: dict[str, Entry[Item | RewriteDatabase[Any]]] = {}
        self._refused: dict[str, str] = {}

    # ------------------------------------------------------------------ what is in it

    def entries(self) -> "tuple[Entry[Item | RewriteDatabase[Any]], ...]":
        """What it holds, by position and name."""
        return tuple(sorted(self._entries.values(), key=lambda entry: (entry.position, entry.name)))

    def __getitem__(self, name: str) -> "Item | RewriteDatabase[Any]":
        """The rewriter or database of a name. Raises: UnknownNameError."""
        if name not in self._entries:
            raise unknown_name(f"entry of the database {self.name or type(self).__name__}", name, list(self._entries))
        return self._entries[name].item

    def database(self, name: str) -> "RewriteDatabase[Any]":
        """The database inside of a name. Raises: UnknownNameError if there is none."""
        inner = _database(self[name])
        if inner is None:
            known = [entry.name for entry in self.entries() if _database(entry.item) is not None]
            raise unknown_name(f"database inside of {self.name or type(self).__name__}", name, known)
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
        """Take an entry in. Raises: DuplicateNameError, RuleError."""
        where = f"the database {self.name!r}" if self.name else "the database"
        texts = self._checked(name, item, tags)
        if name in self._entries:
            raise DuplicateNameError(f"{where} has an entry {name!r} already; choose another name")
        holder = next((e.name for e in self._entries.values() if name in e.tags), None)
        if holder is not None:
            raise DuplicateNameError(f"{name!r} is a tag of the entry {holder!r} of {where}; a name is no tag")
        more = [type(item).__name__, self.name] if self.name else [type(item).__name__]
        texts = tuple(dict.fromkeys((*texts, *more)))
        taken = next((tag for tag in texts if tag in self._entries or tag == name), None)
        if taken is not None:
            raise DuplicateNameError(f"the tag {taken!r} is the name of an entry of {where}; a tag is no name")
        for tag in texts:
            if tag in self._refused:
                raise RuleError(f"{name!r} is tagged {tag!r}: {self._refused[tag]}")
        location = self._place(position)
        held = self._named(item, name)
        self._entries[name] = Entry(name, held, texts, location, role)

    def _checked(self, name: object, item: object, tags: Iterable[object]) -> tuple[str, ...]:
        """Raises: RuleError for what is no name, no rewriter, or no tag."""
        if not isinstance(name, str) or not name:
            raise RuleError(f"an entry needs a text as its name; found {name!r}")
        if not self._accepts(item):
            raise RuleError(f"{name!r} is a {type(item).__name__}; {self._wants()}")
        found = tuple(tags)
        wrong = next((tag for tag in found if not isinstance(tag, str) or not tag or tag[0] in "+&-"), None)
        if wrong is not None:
            raise RuleError(
                f"{wrong!r} cannot be a tag of {name!r}; a tag is a text that does not begin with +, & or -"
            )
        return tuple(str(tag) for tag in found)

    def _place(self, position: Position) -> float:
        if isinstance(position, str):
            if position != "last":
                raise RuleError(f"a position is a number or 'last'; found {position!r}")
            return max((entry.position for entry in self._entries.values()), default=-1.0) + 1.0
        if isinstance(position, bool) or isnan(position):
            raise RuleError(f"a position is a number or 'last'; found {position!r}")
        return float(position)

    def _named(self, item: "Item | RewriteDatabase[Any]", name: str) -> "Item | RewriteDatabase[Any]":
        """The item under its name; a database keeps the name that it has."""
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
        """Take no entry with a tag, here and in the databases inside. Raises: RuleError if there is one already."""
        for entry in self._entries.values():
            if tag in entry.tags:
                raise RuleError(f"{entry.name!r} of {self.name!r} is tagged {tag!r}: {why}")
            inner = _database(entry.item)
            if inner is not None:
                inner.refuse(tag, why)
        self._refused[tag] = why

    # ------------------------------------------------------------------ queries

    def query(self, *parts: "Query | str", **subquery: Query) -> Any:
        """What a query makes of the entries it chooses; it knows the query, and can be asked to include others.

        Give a `Query`, or its short form: `query("+fast_run", "-inplace")`. Raises: QueryError.
        """
        asked = self._read(parts, subquery)
        made = self._make(self._chosen(asked))
        if isinstance(made, FromQuery):
            made.origin = Origin(self, asked)
        return made

    def _chosen(self, query: Query) -> list[Entry[Item]]:
        """The entries that a query takes, in order; a database has become what it gave, or nothing if it gave none."""
        found: list[Entry[Any]] = []
        for entry in self.entries():
            if not query.takes(entry.all_tags) or (self.ordered and entry.position >= query.position_cutoff):
                continue
            inner = _database(entry.item)
            if inner is None:
                found.append(entry)
                continue
            inside = query.inside(entry.name)
            if inner._chosen(inside):
                found.append(Entry(entry.name, inner.query(inside), entry.tags, entry.position, entry.role))
        return found

    def _read(self, parts: "tuple[Query | str, ...]", subquery: Mapping[str, Query]) -> Query:
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return Query.read(*texts, **subquery)
        query = parts[0]
        if len(parts) > 1 or not isinstance(query, Query) or subquery:
            raise QueryError("give one Query, or parts such as '+fast_run', '-inplace', not both")
        return query

    # ------------------------------------------------------------------ filled in by subclasses

    @abstractmethod
    def _accepts(self, item: object) -> bool:
        """Whether something is a rewriter, or a database of them, that it can hold."""

    @abstractmethod
    def _wants(self) -> str:
        """What it holds, for the message to someone who gave something else."""

    @abstractmethod
    def _make(self, entries: list[Entry[Item]]) -> Any:
        """One rewriter of the chosen entries, in order; databases have become what they gave."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Which database gave a rewriter, for which query."""

    database: RewriteDatabase[Any]
    query: Query


class FromQuery:
    """Part of rewriters that a database makes: they know the query, and can be asked for another choice."""

    origin: Origin | None = None

    def including(self, *tags: str) -> Self:
        """What the database gives now for the same query that takes these as well. Raises: QueryError."""
        asked = self._asked()
        return asked.database.query(asked.query.including(*tags))

    def excluding(self, *tags: str) -> Self:
        """What the database gives now for the same query without these. Raises: QueryError."""
        asked = self._asked()
        return asked.database.query(asked.query.excluding(*tags))

    def requiring(self, *tags: str) -> Self:
        """What the database gives now for the same query with these required. Raises: QueryError."""
        asked = self._asked()
        return asked.database.query(asked.query.requiring(*tags))

    def _asked(self) -> Origin:
        if self.origin is None:
            raise QueryError(
                "this rewriter was made by hand, not by the query of a database; query the database instead"
            )
        return self.origin


def _database(item: object) -> "RewriteDatabase[Any] | None":
    """An item as the database that it is, or None."""
    return item if isinstance(item, RewriteDatabase) else None  # pyright: ignore[reportUnknownVariableType]


def _tags(what: str, tags: Iterable[str]) -> tuple[str, ...]:
    if isinstance(tags, str):
        raise QueryError(f"{what} is a list of tags; write {what}=[{tags!r}]")
    found = tuple(dict.fromkeys(tags))
    wrong = next((tag for tag in found if not isinstance(tag, str)), None)  # pyright: ignore[reportUnnecessaryIsInstance]
    if wrong is not None:
        raise QueryError(f"a tag is a text; {what} holds {wrong!r}")
    return found
