"""The benchmark of the tensor level: its graphs and counts, and that rewriting grows no faster than the graphs.

Growth is counted in calls, not in seconds.
"""

from importlib.util import find_spec

import pytest

import benchmarks
from benchmarks import rewrite_times
from benchmarks.growing_graphs import SHAPES
from benchmarks.identity_counts import measure_identity
from benchmarks.rewrite_times import RewriteTime, exponent, our_library, ours, peer_library
from explorer.errors import UnknownNameError
from explorer.tensor import FunctionGraph
from tests.benchmarks.test_measurements import text_of
from tests.counting import num_calls
from tests.needed import is_missing

AFTER_50 = {
    "expressions": 47,
    "chain": 38,  # a quotient and the following sum become one operator
    "sum": 50,
    "product": 50,
    "balanced sum": 50,
    "shared": 50,
    "concats": 1,
    "matmuls": 3,
}
"""Number of operators left of 50."""


@pytest.mark.parametrize("name", SHAPES)
def test_a_graph_of_a_given_size_has_that_many_operators(name):
    for size in (25, 100):
        graph = FunctionGraph(*SHAPES[name].build(size, our_library()))
        graph.verify()
        assert len(graph) == size


def test_shapes_are_those_that_can_be_slow():
    def readers(name):
        graph = FunctionGraph(*SHAPES[name].build(100, our_library()))
        read = [variable for node in graph.nodes for variable in set(node.inputs)]
        return max(map(read.count, read))

    def depth(name):
        found = {}
        for node in FunctionGraph(*SHAPES[name].build(100, our_library())).toposort():
            found[node] = 1 + max((found[v.owner] for v in node.inputs if v.owner is not None), default=0)
        return max(found.values())

    assert {name: depth(name) for name in SHAPES if depth(name) == 100} == dict.fromkeys(
        ("chain", "sum", "product", "concats"), 100
    )
    assert depth("balanced sum") == 7
    assert readers("shared") == 99
    assert readers("matmuls") == 100


def test_rewriting_is_measured_for_each_shape_and_size():
    runs = []
    times = benchmarks.measure_rewriting((25, 50), on_run=runs.append)
    assert [(time.shape, time.nodes) for time in times] == [(name, size) for name in SHAPES for size in (25, 50)]
    assert {time.shape: time.after for time in times if time.nodes == 50} == AFTER_50
    assert all(time.seconds > 0 for time in times)
    assert all((time.peer_nodes, time.peer_seconds, time.ratio) == (None, None, None) for time in times)
    assert runs[:2] == [f"independent expressions of 25 operators, {size} operators" for size in (25, 50)]
    assert len(runs) == len(times)


def test_a_shape_that_took_too_long_is_measured_no_larger():
    times = benchmarks.measure_rewriting((25, 50, 75), ("chain", "shared"), limit_s=0.0)
    assert [(time.shape, time.nodes) for time in times] == [("chain", 25), ("shared", 25)]


def test_pytensor_rewrites_the_same_graphs(monkeypatch):
    if find_spec("pytensor") is None:
        is_missing("PyTensor", "pip install 'pytensor>=3.0'")
    monkeypatch.setattr(rewrite_times, "PEER_SIZES", (25,))
    times = benchmarks.measure_rewriting((25, 50), ("expressions", "concats"))
    assert [(time.nodes, time.peer_nodes) for time in times] == [(25, 25), (50, None), (25, None), (50, None)]
    first = times[0]
    assert first.peer_seconds is not None
    assert first.ratio == pytest.approx(first.seconds / first.peer_seconds)
    variable = peer_library().variable("x", 0)
    assert (variable.name, variable.type.dtype, variable.type.ndim) == ("x", "float64", 0)


def test_growth_is_the_power_of_the_size():
    times = [RewriteTime("sum", 100, 100, 0.5), RewriteTime("sum", 200, 200, 2.0), RewriteTime("chain", 100, 50, 0.1)]
    assert exponent(*times[:2]) == pytest.approx(2)
    rows = text_of(benchmarks.rewrite_table(times)).splitlines()
    assert [("n^2.0" in row, "n^" in row) for row in rows if row.startswith("│")] == [
        (False, False),
        (True, True),
        (False, False),
    ]


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "expressions"])
def test_rewriting_grows_as_graphs_do(name):
    """From 2n to 4n operators the calls grow twice as much as from n to 2n; with quadratic growth it is 4 times.

    Random expressions are excluded: some need far more calls than others.
    """
    sizes = (20, 40, 80)
    ours(SHAPES[name], sizes[-1])  # warm-up: imports and caches of shapes
    few, more, most = (num_calls(lambda size=size: ours(SHAPES[name], size)) for size in sizes)
    assert sizes[0] < few < more
    assert (most - more) / (more - few) < 2.3


def test_a_circuit_is_counted_before_and_after_with_equal_values():
    counts = benchmarks.measure_tensor("conflict")
    assert (counts.name, counts.before, counts.after, counts.difference) == ("conflict", 70, 33, 0.0)
    assert counts.fewer == pytest.approx(37 / 70)
    assert min(counts.circuit_ms, counts.before_ms, counts.after_ms, counts.rewrite_s) > 0
    assert counts.ratio == counts.after_ms / counts.before_ms
    written = benchmarks.tensor_to_json([counts], [RewriteTime("sum", 10, 8, 0.5, 10, 0.25)])
    assert written["tensor"][0]["before"] == 70
    assert written["growth"] == [
        {
            "shape": "sum",
            "nodes": 10,
            "after": 8,
            "seconds": 0.5,
            "peer_nodes": 10,
            "peer_seconds": 0.25,
            "ratio": 2.0,
        }
    ]
    assert "53%" in text_of(benchmarks.tensor_table([counts]))


def test_an_unknown_circuit_is_refused():
    with pytest.raises(UnknownNameError, match="conflict"):
        benchmarks.measure_tensor("no such circuit")


def test_expressions_are_counted_next_to_pytensor():
    texts = {case.text: case for case in benchmarks.IDENTITY_CASES}
    assert len(texts) == len(benchmarks.IDENTITY_CASES)
    chosen = ("sum(sum(X, 1), 0)", "log(exp(X) + exp(Y))", "take(exp(X), [2, 0])", "xor(B, B)")
    counts = [measure_identity(texts[text]) for text in chosen]
    assert [one.after for one in counts] == [(1, 1), (1, 12), (2, 16), (0, 0)]
    assert [one.verdict for one in counts] == ["same", "better", "less", "same"]
    table = text_of(benchmarks.identities_table(counts))
    assert "4 expressions next to PyTensor: 2 same, 1 better, 1 less" in table
    assert "take(exp(X), [2, 0])" in table
    assert benchmarks.identities_to_json(counts)[0]["verdict"] == "same"
