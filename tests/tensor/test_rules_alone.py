"""Every rule alone on random graphs: it keeps its promise, and undo restores the graph byte for byte."""

import warnings
from collections import Counter

import pytest
import torch
from hypothesis import given, strategies as st

from explorer.rewrite import Exactness
from explorer.tensor import FunctionGraph
from explorer.tensor.passes import GraphPass, passes
from explorer.tensor.rewriting import LocalRewriter, Rewriter, SweepRewriter
from explorer.tensor.rewriting.rewriters import is_tracked
from explorer.tensor.rules import canonicalize, optdb, overwrite, specialize, stabilize
from tests.fuzzing import examples
from tests.tensor import planted, planted_identities
from tests.tensor.models import plain_kernels
from tests.tensor.passes.checking import assert_same_bits, results, special_values
from tests.tensor.passes.random_programs import random_graph, random_values
from tests.tensor.quantization.building import values as integers
from tests.tensor.quantization.test_raising import pairs
from tests.tensor.quantization.test_random_graphs import random_graph as random_quantized_graph
from tests.tensor.random_networks import networks
from tests.tensor.test_random_rewriting import graphs

DATABASES = (canonicalize, stabilize, specialize, overwrite)


def rewriter(item) -> LocalRewriter | Rewriter:
    """The entries of a database that are not databases."""
    assert isinstance(item, LocalRewriter | Rewriter)
    return item


def all_rules():
    """The rules of all databases and passes, each once, by where they are, and the rewriters of whole graphs."""
    found: dict[str, LocalRewriter | Rewriter] = {}
    for database in DATABASES:
        found |= {f"{database.name}: {entry.name}": rewriter(entry.item) for entry in database.entries()}
    names = {database.name for database in DATABASES}
    found |= {f"optdb: {entry.name}": rewriter(entry.item) for entry in optdb.entries() if entry.name not in names}
    for made in passes:
        assert isinstance(made, GraphPass)
        if made.whole is None:
            found |= {f"{made.name}: {rule.label}": rule for rule in made.rules}
        elif made.name.lower() not in names:
            found[made.name] = made.rewriter()
    first = {id(rule): where for where, rule in reversed(found.items())}
    return {where: rule for where, rule in found.items() if first[id(rule)] == where}


RULES = all_rules()
PLANTS = planted.PLANTS | planted_identities.PLANTS
NEVER_CHANGE_A_GRAPH = ["optdb: add_destroy_handler"]
"""It attaches a feature, and that is all."""


def promise(where):
    """The exactness of a rule; for a rewriter of whole graphs, of its pass."""
    made = passes[where] if where in passes.names else RULES[where]
    assert isinstance(made, GraphPass | LocalRewriter | Rewriter)
    return made.exactness


def may_apply(rule, graph):
    """Whether a rule tracks an operator of a graph."""
    tracked = rule.tracks() if isinstance(rule, LocalRewriter) else None
    return tracked is None or any(is_tracked(node.op, wanted) for node in graph.nodes for wanted in tracked)


def assert_kept(where, exactness, found, wanted):
    """Results with and without the rule agree as it promises; ordinary numbers first."""
    for i, (new, old) in enumerate(zip(found, wanted, strict=True)):
        assert [(v.dtype, v.shape) for v in new] == [(v.dtype, v.shape) for v in old], where
        if exactness is Exactness.EXACT:
            assert_same_bits(new, old)
        elif exactness is Exactness.REAL and i == 0:  # of infinities another order of sums makes NaN
            for after, before in zip(new, old, strict=True):
                near = {torch.float64: 1e-9, torch.float32: 1e-5}.get(before.dtype, 0.0)
                size = float(before.double().nan_to_num(0, 0, 0).abs().max()) if before.numel() else 0.0
                torch.testing.assert_close(after, before, rtol=near, atol=near * (1 + size), equal_nan=True)


def try_all(graph, given_, applied: Counter):
    """Run every rule alone on a graph, compare the results, and revert it."""
    text, mark = graph.text(), graph.checkpoint()
    before = [results(graph, one) for one in given_]
    for where, rule in RULES.items():
        if not may_apply(rule, graph):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a limit that is hit is a warning
            (SweepRewriter([rule]) if isinstance(rule, LocalRewriter) else rule).rewrite(graph)
        if graph.checkpoint() == mark:
            continue
        applied[where] += 1
        graph.verify()
        assert_kept(where, promise(where), [results(graph, one) for one in given_], before)
        graph.undo(mark)
        assert graph.text().encode() == text.encode(), where
    graph.verify()
    for one, wanted in zip(given_, before, strict=True):
        assert_same_bits(results(graph, one), wanted)


def drawn(data, kind):
    """A random graph of a kind."""
    if kind == "quantized":
        return random_quantized_graph(data.draw(st.integers(0, 999)), data.draw(st.integers(8, 14)))
    if kind == "program":
        return random_graph(data.draw(st.integers(0, 999)), torch.float64, data.draw(st.integers(8, 20)))
    if kind == "planted":
        return planted_graph(data)
    return data.draw(networks() if kind == "network" else graphs(torch.float64))


def planted_graph(data):
    """Some planted expressions in one graph; one may grow on another."""
    xy = planted.inputs()
    known, outputs = list(xy), []
    for name in data.draw(st.lists(st.sampled_from(list(PLANTS)), min_size=4, max_size=8)):
        outputs.append(PLANTS[name](data.draw(st.sampled_from(known)), data.draw(st.sampled_from(known))))
        if outputs[-1].type == xy[0].type:
            known.append(outputs[-1])
    return FunctionGraph(xy, list(dict.fromkeys(outputs)))


@pytest.fixture(autouse=True, scope="module")
def with_plain_kernels_and_pairs():
    pairs()  # registers PyTorch's operators of quantization
    with plain_kernels():
        yield


def test_every_rule_alone_is_as_exact_as_declared_and_can_be_undone():
    """On each expression all rules are tried that track one of its operators; together they are all rules there are."""
    applied: Counter = Counter()
    for name, plant in PLANTS.items():
        graph = FunctionGraph(xy := planted.inputs(), [plant(*xy)])
        before = applied.total()
        try_all(graph, [random_values(graph, 0), special_values(graph)], applied)
        assert applied.total() > before, f"no rule applies to {name}"
    never = sorted(set(RULES) - set(applied))
    assert never == NEVER_CHANGE_A_GRAPH, "add an expression that the rule changes to tests/tensor/planted.py"


@examples(6)
@given(data=st.data())
def test_rules_alone_keep_random_graphs(data):
    """On each graph all rules are tried that track one of its operators, one by one."""
    applied: Counter = Counter()
    for kind in ("network", "expression", "program", "planted"):
        graph = drawn(data, kind)
        try_all(graph, [random_values(graph, 0), special_values(graph)], applied)
    graph = drawn(data, "quantized")
    try_all(graph, [integers(graph, seed) for seed in (0, 1)], applied)
