"""Queries, and the rules of names and tags in a database of rewriters."""

import pytest

from explorer.errors import DuplicateNameError, QueryError, RuleError, UnknownNameError
from explorer.rewrite import FromQuery, Position, Query, RewriteDatabase


class Thing:
    """A rewriter, as far as a database is concerned."""

    def __init__(self, name=""):
        self.name = name


class Things(FromQuery):
    """The rewriter that the database below builds."""

    def __init__(self, names):
        self.names = names


class Shelf(RewriteDatabase):
    """A database of things."""

    ordered = True

    def register(self, name, thing, *tags, position: Position = "last"):
        self._register(name, thing, tags, position)

    def _accepts(self, item):
        return isinstance(item, Thing | Shelf)

    def _wants(self):
        return "a shelf takes things"

    def _make(self, entries):
        return Things([e.item.names if isinstance(e.item, Things) else e.item.name for e in entries])


def shelf():
    found = Shelf()
    found.register("a", Thing(), "red", "round")
    found.register("b", Thing(), "red")
    found.register("c", Thing(), "green", "round")
    return found


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (Query(include=["red"]), ["a", "b"]),
        (Query(include=["red", "green"]), ["a", "b", "c"]),
        (Query(include=["red", "green"], require=["round"]), ["a", "c"]),
        (Query(include=["red", "green"], require=["round", "red"]), ["a"]),
        (Query(include=["red", "green"], exclude=["round"]), ["b"]),
        (Query(include=["a", "green"]), ["a", "c"]),
        (Query(include=["round"], exclude=["a"]), ["c"]),
        (Query(include=[]), []),
        (Query(include=["Thing"]), ["a", "b", "c"]),
    ],
)
def test_a_query_selects_any_of_include_all_of_require_none_of_exclude(query, names):
    assert shelf().query(query).names == names


def test_a_query_is_made_narrower_and_wider_without_changing():
    query = Query(include=["red"])
    wider = query.including("green").requiring("round").excluding("a")
    assert query == Query(include=("red",))
    assert wider == Query(include=["red", "green"], require=["round"], exclude=["a"])
    assert shelf().query(wider).names == ["c"]
    assert hash(query.including("red")) == hash(query)


def test_the_short_form_of_a_query():
    found = shelf()
    assert found.query("+red", "+green", "&round", "-a").names == ["c"]
    for wrong in ("red", "", "+"):
        with pytest.raises(QueryError, match="expected '\\+tag' to include"):
            found.query(wrong)
    with pytest.raises(QueryError, match="one Query, or parts"):
        found.query(Query(["red"]), "+green")
    with pytest.raises(QueryError, match=r"write include=\['red'\]"):
        Query(include="red")
    with pytest.raises(QueryError, match="got 3"):
        Query(include=[3])  # pyright: ignore[reportArgumentType]


def test_a_rewriter_built_by_a_query_can_extend_the_query():
    found = shelf()
    red = found.query(Query(include=["red"]))
    assert red.excluding("round").names == ["b"]
    assert red.including("green").names == ["a", "b", "c"]
    assert red.requiring("round").names == ["a"]
    assert red.including("green").excluding("round").names == ["b"]
    found.register("d", Thing(), "red")
    assert red.names == ["a", "b"]
    assert red.including().names == ["a", "b", "d"]
    with pytest.raises(QueryError, match="not built by a query"):
        Things([]).excluding("red")


@pytest.mark.parametrize(
    ("name", "tags", "message"),
    [
        ("a", (), "an entry 'a' already"),
        ("round", (), "'round' is a tag of the entry 'a'"),
        ("Thing", (), "'Thing' is a tag"),
        ("e", ("b",), "the tag 'b' is the name of an entry"),
        ("e", ("e",), "the tag 'e' is the name"),
    ],
)
def test_names_and_tags_are_distinct(name, tags, message):
    found = shelf()
    with pytest.raises(DuplicateNameError, match=message):
        found.register(name, Thing(), *tags)
    assert list(found) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "thing", "tags", "message"),
    [
        ("", Thing(), (), "expected a non-empty string as the name"),
        (3, Thing(), (), "expected a non-empty string as the name"),
        ("e", object(), (), "'e' is a object; a shelf takes things"),
        ("e", Thing(), (0.5,), "got 0.5"),
        ("e", Thing(), ("+red",), "do not begin with"),
    ],
)
def test_an_invalid_entry_is_refused(name, thing, tags, message):
    with pytest.raises(RuleError, match=message):
        shelf().register(name, thing, *tags)


def test_an_item_is_stored_under_its_registered_name_unchanged():
    found, thing = Shelf(), Thing("mine")
    found.register("one", thing, "red")
    found.register("two", thing, "red")
    assert (found["one"].name, found["two"].name, thing.name) == ("one", "two", "mine")
    found.register("mine", thing, "red")
    assert found["mine"] is thing
    with pytest.raises(UnknownNameError, match="known are: one, two, mine"):
        found["three"]


def test_positions_order_the_entries_then_names_and_the_cutoff_is_strict():
    found = Shelf()
    for name, position in (("b", 1), ("a", 1), ("z", 0), ("m", "last"), ("n", "last"), ("y", 2.5)):
        found.register(name, Thing(), "all", position=position)
    assert list(found) == ["z", "a", "b", "m", "y", "n"]
    assert [entry.position for entry in found.entries()] == [0, 1, 1, 2, 2.5, 3]
    assert found.query(Query(["all"], position_cutoff=1)).names == ["z"]
    assert found.query(Query(["all"]).before(2)).names == ["z", "a", "b"]
    for wrong in (float("nan"), "first", True):
        with pytest.raises(RuleError, match="a number or 'last'"):
            found.register("x", Thing(), position=wrong)


def test_a_nested_database_receives_its_subquery_or_the_query():
    outer, inner = Shelf("outer"), Shelf()
    inner.register("x", Thing(), "red")
    inner.register("y", Thing(), "green")
    outer.register("first", Thing(), "red", "green")
    outer.register("inner", inner, "red", "green")
    assert inner.name == "inner"
    assert outer.query("+red").names == ["first", ["x"]]
    assert outer.query("+red", inner=Query(["green"])).names == ["first", ["y"]]
    assert outer.query(Query(["red"], subquery={"inner": Query(["red", "green"])})).names == ["first", ["x", "y"]]
    assert outer.query(Query(["red"], exclude=["inner"])).names == ["first"]
    assert outer.query("+outer", "-first").names == [], "no entry inside has the tag: the database is left out"
    assert outer.query("+red", "&round").names == []


def test_an_entry_is_tagged_with_the_name_of_its_database():
    named = Shelf("shop")
    named.register("x", Thing(), "red")
    assert named.query("+shop").names == ["x"]
    assert named.entries()[0].tags == ("red", "Thing", "shop")


def test_a_tag_can_be_refused_here_and_in_nested_databases():
    outer, inner = Shelf(), Shelf()
    outer.register("inner", inner, "red")
    outer.refuse("wild", "wild things stand elsewhere")
    for database in (outer, inner):
        with pytest.raises(RuleError, match="wild things stand elsewhere"):
            database.register("w", Thing(), "wild")
    late = Shelf()
    late.register("w", Thing(), "wild")
    with pytest.raises(RuleError, match="'w' of '' is tagged 'wild'"):
        late.refuse("wild", "no")
