"""The databases of rewriters and `optdb`: the tutorial's examples, positions, tags, and what must not be registered."""

import pytest
import torch

from explorer.errors import DuplicateNameError, QueryError, RuleError, UnknownNameError
from explorer.rewrite import Query
from explorer.tensor import FunctionGraph, call, doubles
from explorer.tensor.ir.scalars import add, div, mul
from explorer.tensor.rewriting import (
    EquilibriumDB,
    EquilibriumRewriter,
    LocalGroupDB,
    LocalRewriterGroup,
    MergeRewriter,
    PatternSub,
    Rewriter,
    SequenceDB,
    SequenceRewriter,
    SweepDB,
    SweepRewriter,
    TopoRewriter,
    in2out,
)
from explorer.tensor.rules import optdb, overwrite, specialize

aten = torch.ops.aten
x, y, z = doubles("x y z")


class Nothing(Rewriter):
    """Changes nothing."""

    def apply(self, graph):
        return None


def local(name="local", op=div):
    return PatternSub((op, (mul, "x", "y"), "y"), "x", name=name)


def names(rewriter):
    return [one.label for one in rewriter.rewriters]


@pytest.fixture
def mine():
    """A database as `optdb` is, to register things in."""
    found = SequenceDB("mine", not_before={"inplace": 49.5})
    found.register("merge1", MergeRewriter(), 0, "fast_run", "merge")
    inner = EquilibriumDB()
    inner.register("rule", local(), "fast_run")
    inner.register("other", local(), "odd")
    found.register("canonicalize", inner, 1, "fast_run")
    found.register("mark", Nothing(), 49.5, "marks")
    found.register("late", Nothing(), 50, "fast_run", "inplace")
    return found


# ---------------------------------------------------------------------- the tutorial, 11 to 14


def test_the_pipelines_of_the_tutorial():
    fast_run = optdb.query(Query(include=["fast_run"]))
    fast_compile = optdb.query(Query(include=["fast_compile"]))
    without = optdb.query(Query(include=["fast_run"], exclude=["inplace"]))
    assert names(fast_run) == [
        *("merge1", "canonicalize", "merge1.2", "stabilize", "specialize", "merge2"),
        *("add_destroy_handler", "overwrite", "merge3"),
    ]
    assert names(fast_compile) == ["merge1", "canonicalize", "merge1.2", "stabilize"]
    assert names(without) == ["merge1", "canonicalize", "merge1.2", "stabilize", "specialize", "merge2", "merge3"]
    again = fast_run.excluding("inplace")
    assert names(again) == names(without)
    assert again.rule_names() == without.rule_names()
    tagged = {entry.name for entry in (*optdb.entries(), *overwrite.entries()) if "inplace" in entry.tags}
    assert not tagged & {*names(again), *again.rule_names()}


def test_requiring_a_tag():
    merges = optdb.query(Query(include=["fast_run"], require=["merge"]))
    assert names(merges) == ["merge1", "merge1.2", "merge2", "merge3"]
    assert names(optdb.query("+fast_run", "&merge")) == names(merges)
    assert names(optdb.query("+fast_run").requiring("merge")) == names(merges)


def test_only_rules_that_keep_every_bit():
    exact = optdb.query("+fast_run", "-real", "-inplace")
    assert {rule.exactness.value for rule in exact.local_rewriters()} == {"exact"}
    graph = FunctionGraph([x, y], [div(mul(call(aten.alias.default, x), y), y)])
    exact.rewrite(graph)
    assert repr(graph) == "[div(mul(x, y), y)]"
    optdb.query("+fast_run").rewrite(graph)
    assert repr(graph) == "[x]"


@pytest.mark.parametrize("by_name", [False, True])
def test_a_rewriter_is_registered_at_a_position(mine, by_name):
    simplify = TopoRewriter(local())
    before = mine.query("+fast_run")
    if by_name:
        mine.register("simplify", simplify, "fast_run", position=0.5)
    else:
        mine.register("simplify", simplify, 0.5, "fast_run")
    assert names(mine.query("+fast_run")) == ["merge1", "simplify", "canonicalize", "late"]
    assert names(before) == ["merge1", "canonicalize", "late"]
    graph = FunctionGraph([x, y], [div(mul(x, y), y)])
    assert mine.query("+simplify").rewrite(graph).applied == 1
    assert repr(graph) == "[x]"


def test_rewriters_registered_in_optdb_are_in_the_next_query():
    before = optdb.query("+fast_run")
    optdb.register("a test's own", Nothing(), 0.5, "fast_run")
    try:
        assert names(optdb.query("+fast_run"))[:3] == ["merge1", "a test's own", "canonicalize"]
        assert names(before.including()) == names(optdb.query("+fast_run"))
        assert "a test's own" not in names(before)
    finally:
        del optdb._entries["a test's own"]


def test_a_nested_database_receives_the_query_or_a_subquery(mine):
    def rules(rewriter):
        return [one.label for one in rewriter.rewriters[1].local]

    assert rules(mine.query("+fast_run")) == ["rule"]
    assert rules(mine.query("+fast_run", canonicalize=Query(["odd"]))) == ["other"]
    assert rules(mine.query(Query(["fast_run"], subquery={"canonicalize": Query(["odd", "fast_run"])}))) == [
        "rule",
        "other",
    ]
    assert names(mine.query("+fast_run", canonicalize=Query(["nothing"]))) == ["merge1", "late"]
    kept = mine.query("+fast_run", canonicalize=Query(["odd"])).excluding("inplace")
    assert (names(kept), rules(kept)) == (["merge1", "canonicalize"], ["other"])


def test_the_positions_of_optdb():
    places = {entry.name: entry.position for entry in optdb.entries()}
    expected = {
        "merge1": 0,
        "canonicalize": 1,
        "specialize": 2,
        "merge2": 49,
        "add_destroy_handler": 49.5,
        "merge3": 100,
    }
    assert expected.items() <= places.items()
    assert {entry.name for entry in optdb.entries() if "inplace" in entry.tags} == {"add_destroy_handler", "overwrite"}


@pytest.mark.parametrize("position", [0, 49, 49.5])
def test_inplace_rewriters_cannot_be_registered_before_the_mark(mine, position):
    with pytest.raises(RuleError, match=f"must come after position 49.5; got position {position:g}"):
        mine.register("bold", Nothing(), position, "fast_run", "inplace")
    inside = EquilibriumDB()
    inside.register("bold rule", local(), "inplace")
    with pytest.raises(RuleError, match="'bold rule' of '' is tagged 'inplace'"):
        mine.register("bold", inside, position, "fast_run")
    assert "bold" not in mine
    mine.register("bold", Nothing(), 50, "fast_run", "inplace")


def test_inplace_rewriters_cannot_be_registered_last_before_the_mark():
    found = SequenceDB("mine", not_before={"inplace": 49.5})
    found.register("first", Nothing(), 1, "t")
    with pytest.raises(RuleError, match=r"must come after position 49\.5; got position 2"):
        found.register("bold", Nothing(), "last", "t", "inplace")
    inside = EquilibriumDB()
    found.register("inside", inside, "last", "t")
    with pytest.raises(RuleError, match="must come after"):
        inside.register("bold rule", local(), "inplace")
    found.register("mark", Nothing(), 49.5, "t")
    found.register("bold", Nothing(), "last", "t", "inplace")
    assert [entry.name for entry in found.entries()] == ["first", "inside", "mark", "bold"]


def test_inplace_rewriters_cannot_be_registered_in_a_database_before_the_mark(mine):
    inner = mine["canonicalize"]
    assert inner is mine.database("canonicalize")
    with pytest.raises(RuleError, match="tagged 'inplace': entries with this tag must come after"):
        inner.register("bold rule", local(), "fast_run", "inplace")
    with pytest.raises(RuleError, match=r"must come after position 49\.5"):
        specialize.register("bold rule", local(), "fast_run", "inplace")
    assert "bold rule" not in specialize
    with pytest.raises(UnknownNameError, match="known are: canonicalize"):
        mine.database("merge1")


# ---------------------------------------------------------------------- the kinds of databases


def test_items_and_results_of_each_database():
    sequence, equilibrium, group, sweep = SequenceDB(), EquilibriumDB(), LocalGroupDB(), SweepDB()
    with pytest.raises(RuleError, match=r"wrap a local rewriter in a walker: in2out\(rule\)"):
        sequence.register("a", local(), 1, "t")  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuleError, match="a group accepts local rewriters"):
        group.register("a", Nothing(), "t")  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuleError, match="'a' is a LocalGroupDB"):
        sequence.register("a", group, 1, "t")  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuleError, match="'a' is a str"):
        equilibrium.register("a", "rule", "t")  # pyright: ignore[reportArgumentType]
    group.register("second", local(), "t", position=2)
    group.register("first", local(), "t", position=1)
    assert [rule.label for rule in group.query("+t").rewriters] == ["first", "second"]
    sweep.register("group", group, "t")
    equilibrium.register("local", local(), "t")
    equilibrium.register("global", Nothing(), "t")
    equilibrium.register("group", group, "t")
    sequence.register("equilibrium", equilibrium, 1, "t")
    sequence.register("sweep", sweep, 2, "t")
    made = sequence.query("+t")
    assert [type(one) for one in made.rewriters] == [EquilibriumRewriter, SweepRewriter]
    assert isinstance(made, SequenceRewriter)
    assert isinstance(group.query("+t"), LocalRewriterGroup)
    graph = FunctionGraph([x, y], [div(mul(x, y), y)])
    made.rewrite(graph)
    assert repr(graph) == "[x]"
    assert len(sequence.query("+none").rewriters) == 0


def test_rewriters_for_the_end_of_a_round_and_for_cleaning_up():
    found = EquilibriumDB("e")
    found.register("rule", local(), "t")
    found.register("end", Nothing(), "t", final_rewriter=True)
    found.register("clean", MergeRewriter(), "t", cleanup=True)
    made = found.query("+t")
    assert [[one.label for one in some] for some in (made.local, made.globals, made.final, made.cleanup)] == [
        *(["rule"], [], ["end"], ["clean"])
    ]
    with pytest.raises(RuleError, match="'odd' is local"):
        found.register("odd", local(), "t", cleanup=True)
    with pytest.raises(RuleError, match="both"):
        found.register("odd", Nothing(), "t", cleanup=True, final_rewriter=True)


def test_invalid_positions_and_names_are_refused(mine):
    with pytest.raises(RuleError, match="two positions, 1 and 2"):
        mine.register("a", Nothing(), 1, "t", position=2)
    with pytest.raises(RuleError, match=r"got 0.5"):
        mine.register("a", Nothing(), "t", 0.5)
    with pytest.raises(DuplicateNameError, match="an entry 'merge1' already"):
        mine.register("merge1", Nothing(), 1)
    with pytest.raises(DuplicateNameError, match="'fast_run' is a tag"):
        mine.register("fast_run", Nothing(), 1)
    with pytest.raises(QueryError, match=r"expected '\+tag'"):
        mine.query("fast_run")
    mine.register("z", Nothing(), "last", "t")
    mine.register("end", Nothing(), "t", position="last")
    assert list(mine)[-2:] == ["z", "end"]


def test_a_rule_is_recorded_under_the_name_it_was_registered_with():
    found, rule = EquilibriumDB(), in2out(local("inner name", add), name="outer name")
    found.register("registered", local("another"), "t")
    found.register("walk", rule, "t")
    profile = found.query("+t").rewrite(FunctionGraph([x, y], [add(mul(div(mul(x, y), y), y), y)]))
    assert profile.rules["inner name"].applied == 1, "a walk keeps the names of its rules"
    assert profile.rules["registered"].applied == 1
    assert rule.name == "outer name"


def test_equal_positions_are_ordered_by_name_and_a_cutoff_is_strict(mine):
    mine.register("b", Nothing(), 1, "fast_run")
    mine.register("a", Nothing(), 1, "fast_run")
    assert names(mine.query("+fast_run")) == ["merge1", "a", "b", "canonicalize", "late"]
    assert names(mine.query(Query(["fast_run"], position_cutoff=1))) == ["merge1"]
    assert names(mine.query(Query(["fast_run"], position_cutoff=1.1))) == ["merge1", "a", "b", "canonicalize"]
