"""The driver: how replacements are connected, which events it sends, and what happens when a rule fails."""

import itertools
from typing import Any

import pytest

from explorer.errors import RuleError, ShapeError
from explorer.graph import Graph
from explorer.rewrite import (
    GraphOptMatch,
    LayerOptRegistry,
    OptMatchStrategy,
    RewriteContext,
    Rule,
    match_optimization_patterns,
    optimize_graph,
)
from explorer.rewrite.rules import ReplacementGuard
from explorer.trace import AttemptsRefused, MatchFound, MatchLost, RefusalKind, Rewritten
from tests.levels.modes import Watcher, only
from tests.rewrite.toys import A, B, C, Toy, chain, pattern, toy_graph

AB = pattern("AB", A, B)


def fuse(compiler: Any, match: GraphOptMatch) -> tuple[Toy, ...]:
    """A over B becomes one C."""
    return (C(name="+".join(entry.name for entry in match.entries)),)


def shatter(compiler: Any, match: GraphOptMatch) -> tuple[Toy, ...]:
    """One A becomes three, in topological order."""
    return tuple(C(name=f"{match.entries[0].name}{i}") for i in range(3))


def context(*listeners: Watcher, **options: Any) -> RewriteContext:
    return RewriteContext(compiler="the compiler", fresh=itertools.count(100), listeners=listeners, **options)


def rewrite(graph: Graph[Any], *rules: Rule, **options: Any) -> Graph[Any]:
    result = optimize_graph(graph, rules, context(**options))
    assert result is not None
    return result


def picture(graph: Graph[Any]) -> str:
    """Nodes by name, what each reads, the outputs."""
    lines = [f"{n}:{v.name}({','.join(map(str, graph.inputs[n]))})" for n, v in graph.nodes.items()]
    return " ".join(lines) + " -> " + ",".join(map(str, graph.outputs))


FUSE = Rule(AB, fuse, source="tests/rewrite/test_driver.py:1")
SHATTER = Rule(pattern("Split", A), shatter)


# ---- wiring


def test_replacement_has_the_inputs_of_the_entry_point_and_the_users_of_the_root():
    graph = toy_graph(
        {0: C("x"), 1: C("y"), 2: B("b"), 3: A("a"), 4: C("z"), 5: C("w")},
        {2: (0, 1, 0), 3: (2,), 4: (3, 0), 5: (3, 3)},
        (4, 5),
    )
    assert picture(rewrite(graph, FUSE)) == "0:x() 1:y() 100:a+b(0,1,0) 4:z(100,0) 5:w(100,100) -> 4,5"


def test_several_new_nodes_are_a_chain():
    graph = chain(C("x"), A("a"), C("y"))
    assert picture(rewrite(graph, SHATTER)) == "0:x() 100:a0(0) 101:a1(100) 102:a2(101) 2:y(102) -> 2"


def test_a_root_that_is_an_output_is_replaced_in_every_output_position():
    graph = chain(C("x"), B("b"), A("a"), outputs=(2, 0, 2))
    assert picture(rewrite(graph, FUSE)) == "0:x() 100:a+b(0) -> 100,0,100"


def test_neighbouring_matches_read_each_other():
    graph = chain(B("b0"), A("a0"), B("b1"), A("a1"))
    assert picture(rewrite(graph, FUSE)) == "100:a0+b0() 101:a1+b1(100) -> 101"


def test_the_replacement_gets_the_position_of_the_root_after_its_inputs():
    graph = toy_graph({0: B("b"), 1: C("x"), 2: A("a"), 3: C("y")}, {1: (), 2: (0,), 3: (1, 2)}, (3,))
    assert picture(rewrite(graph, FUSE)) == "1:x() 100:a+b() 3:y(1,100) -> 3"


def test_untouched_nodes_are_shared_and_the_old_graph_is_unchanged():
    graph = chain(C("x"), B("b"), A("a"), C("y"))
    before = picture(graph)
    new = rewrite(graph, FUSE)
    assert new.nodes[0] is graph.nodes[0]
    assert new.nodes[3] is graph.nodes[3]
    assert picture(graph) == before


def test_without_a_match_there_is_no_new_graph():
    assert optimize_graph(chain(A(), B()), (FUSE,), context()) is None
    assert optimize_graph(chain(A(), B()), (), context()) is None


def test_only_chosen_matches_are_applied():
    graph = chain(B("b"), A("a"), A("c"))
    both = Rule(pattern("AA", A, A), fuse)
    assert picture(rewrite(graph, FUSE, both)) == "0:b() 100:c+a(0) -> 100"


def test_the_compiler_is_handed_to_the_rule_and_the_guard():
    seen = []

    def apply(compiler: Any, match: GraphOptMatch) -> tuple[Toy, ...]:
        seen.append(("apply", compiler))
        return (C(),)

    def guard(compiler: Any, match: GraphOptMatch) -> None:
        seen.append(("guard", compiler))

    rewrite(chain(B(), A()), Rule(AB, apply, guard))
    assert seen == [("guard", "the compiler"), ("apply", "the compiler")]


def test_lowest_cost_values_the_replacement():
    graph = chain(B("b"), A("a"), A("c"))
    both = Rule(pattern("AA", A, A), fuse)
    costs = {"a+b": 1.0, "c+a": 2.0}
    new = rewrite(
        graph, FUSE, both, strategy=OptMatchStrategy.LOWEST_COST, cost=lambda match, nodes: costs[nodes[0].name]
    )
    assert picture(new) == "100:a+b() 2:c(100) -> 2"


# ---- events


def test_listeners_receive_matches_conflicts_refusals_and_rewrites():
    watcher = Watcher()
    graph = chain(B("b"), A("a"), A("c"))
    optimize_graph(
        graph, (FUSE, Rule(pattern("AA", A, A), fuse)), context(watcher, numbers=itertools.count(5)), "12.weight"
    )
    assert [type(event) for event in watcher.events] == [
        MatchFound,
        MatchFound,
        MatchLost,
        AttemptsRefused,
        Rewritten,
    ]
    assert [(e.number, e.rule, e.nodes, e.parameter_path) for e in watcher.found] == [
        (5, "AB", (1, 0), "12.weight"),
        (6, "AA", (2, 1), "12.weight"),
    ]
    conflict = only(watcher.lost)
    assert (conflict.loser, conflict.winner, conflict.node, conflict.strategy) == (5, 6, 1, "largest-match")
    assert [(e.refusal.pattern, e.refusal.kind) for e in watcher.refused] == [
        ("AA", RefusalKind.WRONG_TYPE),
        ("AB", RefusalKind.WRONG_TYPE),
    ]
    done = only(watcher.of(Rewritten))
    assert (done.number, done.rule, done.removed, done.added, done.parameter_path) == (
        6,
        "AA",
        (2, 1),
        (100,),
        "12.weight",
    )
    assert done.seconds >= 0


def test_a_guard_declines_with_its_reason():
    watcher = Watcher()
    declining = Rule(AB, fuse, guard=lambda compiler, match: f"{match.entries[0].name} is too small")
    assert optimize_graph(chain(B("b"), A("a")), (declining,), context(watcher)) is None
    refusal = only(watcher.refused).refusal
    assert refusal.kind is RefusalKind.DECLINED
    assert refusal.reason == "the rule declined: a is too small"
    assert watcher.found == []


def test_a_replacement_is_made_once_for_its_guard_and_the_rewriting():
    made: list[str] = []

    def counted(compiler: Any, match: GraphOptMatch) -> tuple[Toy, ...]:
        made.append(str(match))
        return fuse(compiler, match)

    seen: list[tuple[str, ...]] = []

    def guard(compiler: Any, match: GraphOptMatch, nodes: tuple[Toy, ...]) -> str | None:
        seen.append(tuple(node.name for node in nodes))
        return "it is seen" if len(seen) > 1 else None

    watcher = Watcher()
    graph = chain(B("b"), A("a"), B("d"), A("c"))
    after = optimize_graph(graph, (Rule(AB, counted, replacement_guard=guard),), context(watcher))
    assert after is not None
    assert len(made) == len(set(made)) == len(watcher.found) + len(watcher.refused) == 2
    assert seen == [("a+b",), ("c+d",)]
    assert only(watcher.refused).refusal.reason == "the rule declined: it is seen"
    assert [node.name for node in after.nodes.values()] == ["a+b", "d", "c"]


def test_a_replacement_guard_is_asked_only_about_matches_that_the_guard_accepts():
    def never(compiler: Any, match: GraphOptMatch, nodes: tuple[Toy, ...]) -> str | None:
        raise AssertionError

    rule = Rule(AB, fuse, guard=lambda compiler, match: "no", replacement_guard=never)
    assert optimize_graph(chain(B(), A()), (rule,), context()) is None


def test_second_replacement_guard_is_asked_about_matches_that_the_first_accepts():
    asked: list[str] = []

    def answering(name: str, reason: str | None) -> ReplacementGuard:
        def guard(compiler: Any, match: GraphOptMatch, nodes: tuple[Toy, ...]) -> str | None:
            asked.append(name)
            return reason

        return guard

    for reasons, wanted, reason in (
        ((None, "second"), ["own", "other"], "second"),
        (("first", "second"), ["own"], "first"),
    ):
        own, other = answering("own", reasons[0]), answering("other", reasons[1])
        watcher = Watcher()
        rule = Rule(AB, fuse, replacement_guard=own).with_replacement_guard(other)
        asked.clear()
        assert optimize_graph(chain(B(), A()), (rule,), context(watcher)) is None
        assert asked == wanted
        assert only(watcher.refused).refusal.reason == f"the rule declined: {reason}"


# ---- rules that fail


def failing(error: Exception) -> Rule:
    rules = LayerOptRegistry()

    @rules.rule(pattern("Broken", A, B))
    def broken(compiler: Any, match: GraphOptMatch) -> tuple[Toy, ...]:
        raise error

    return rules["Broken"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (KeyError("gone"), "KeyError: 'gone'"),
        (ShapeError("weight must be square"), "weight must be square"),
    ],
)
def test_a_rule_that_raises_is_named_with_its_match_and_location(error: Exception, message: str):
    with pytest.raises(RuleError) as found:
        optimize_graph(chain(B(), A()), (failing(error),), context())
    where = f"the rule Broken ({failing(error).source}) failed on the match Broken at 1, 0: "
    assert str(found.value) == where + message
    assert failing(error).source.startswith("tests/rewrite/test_driver.py:")
    assert found.value.__cause__ is error


def test_a_guard_that_raises_is_reported_like_a_rule():
    def guard(compiler: Any, match: GraphOptMatch) -> str:
        raise ZeroDivisionError("no")

    with pytest.raises(RuleError, match=r"the rule AB \(.*\) failed on the match AB at 1, 0: ZeroDivisionError: no"):
        optimize_graph(chain(B(), A()), (Rule(AB, fuse, guard),), context())


@pytest.mark.parametrize(
    ("nodes", "message"),
    [((), r"returned \(\) for the match AB at 1, 0"), (None, "returned None for the match AB at 1, 0; return a tuple")],
)
def test_a_rule_that_returns_nothing_is_refused(nodes: Any, message: str):
    rule = Rule(AB, lambda compiler, match: nodes, source="here.py:3")
    with pytest.raises(RuleError, match=rf"the rule AB \(here.py:3\).* {message}"):
        optimize_graph(chain(B(), A()), (rule,), context())


def test_nodes_that_the_check_finds_illegal_are_refused_with_its_reason():
    def check(match: GraphOptMatch, nodes: tuple[Any, ...]) -> str | None:
        return f"{nodes[0].name} does not fit"

    with pytest.raises(
        RuleError, match=r"the rule AB \(.*:1\) returned illegal nodes for the match AB at 1, 0: a\+b does not fit"
    ):
        optimize_graph(chain(B("b"), A("a")), (FUSE,), context(check=check))


def test_searching_a_graph_twice_finds_equal_matches():
    graph = chain(*(A(str(i)) if i % 3 else B(str(i)) for i in range(12)))
    first, second = (match_optimization_patterns(graph, (AB, pattern("AA", A, A))) for _ in range(2))
    assert [str(m) for m in first.found] == [str(m) for m in second.found]
    assert picture(rewrite(graph, FUSE)) == picture(rewrite(graph, FUSE))


@pytest.mark.parametrize("answer", [True, False])
def test_a_guard_must_return_a_reason_or_none(answer: bool):
    rule = Rule(FUSE.pattern, fuse, guard=lambda compiler, match: answer)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuleError, match="or None from the guard, got"):
        optimize_graph(chain(B("b"), A("a")), (rule,), context())
    rule = Rule(FUSE.pattern, fuse, replacement_guard=lambda *_: answer)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuleError, match="or None from the replacement guard, got"):
        optimize_graph(chain(B("b"), A("a")), (rule,), context())
