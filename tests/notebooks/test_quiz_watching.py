"""The answers of the quiz about torch.compile agree with a recorded compilation."""

from explorer.trace import PairJudged, Trace, pairs_of
from tests.notebooks.quiz import NOTEBOOKS, judges, says

TRACE = Trace.load(NOTEBOOKS / "recorded" / "two-outputs-torch.trace.json.gz")


def calls_of(title: str, step: str) -> list[int]:
    nodes = TRACE.graph_at(step).nodes
    return [number for number, call in nodes.items() if call.title == title]


def moved(numbers: list[int], step: str) -> int:
    nodes = TRACE.graph_at(step).nodes
    return sum(nodes[number].config["bytes"] + nodes[number].config["read_bytes"] for number in numbers)


def pair_of(step: str, one: int, other: int) -> PairJudged:
    (found,) = [pair for pair in pairs_of(TRACE.step(step)) if {pair.one, pair.other} == {one, other}]
    return found


def test_27_a_layer_norm_of_four_nodes() -> None:
    nodes, (kernel,) = calls_of("layer_norm", "lower"), calls_of("layer_norm", "fuse/round 4")
    x = 4 * 32 * 64
    graph = TRACE.graph_at("lower")
    assert [graph.nodes[number].config["bytes"] for number in nodes] == [128, 128, 128, x]
    assert [graph.nodes[number].config["read_bytes"] for number in nodes] == [x, 128, x + 128, x + 2 * 128]
    says(27, f"{moved(nodes, 'lower'):,} bytes, and {moved([kernel], 'fuse/round 4'):,} after the last round")
    first, last = nodes[0], nodes[-1]
    one, two = (pair_of(f"fuse/round {number}", first, last) for number in (1, 2))
    assert (one.verdict.value, two.verdict.value) == ("refused", "fused")
    assert one.reason == "intermediate nodes between node1 & node2"
    says(27, "the first and the last are refused: intermediate nodes", "In the second they are fused")
    linear = calls_of("linear", "lower")[0]
    assert last in graph.inputs[linear]
    answer = TRACE.why_not_fused(last, linear)
    says(27, f"The linear layer was {answer.verdict.value}")
    assert "extern_kernels.addmm is a library call" in str(answer)


def test_28_what_is_true() -> None:
    graph = TRACE.graph_at("lower")
    captured, decomposed = (TRACE.stats(step)["moved_bytes"] for step in ("capture", "joint graph/AOTAutograd"))
    linear, (gelu,) = calls_of("linear", "lower")[0], calls_of("gelu", "lower")
    mean_of_columns = calls_of("mean", "lower")[0]
    readers = {number for number, inputs in graph.inputs.items() if gelu in inputs}
    assert readers == {mean_of_columns, calls_of("linear", "lower")[1]}
    fused = [pair for pair in pairs_of(TRACE.step("fuse/round 1")) if pair.verdict.value == "fused"]
    norm = calls_of("layer_norm", "lower")
    assert pair_of("fuse/round 1", *norm[-2:]).verdict.value == "put off"
    shared = dict(pair_of("fuse/round 2", *norm[-2:]).score)["memory"]
    softmax, mean = (calls_of(title, "fuse/round 4")[0] for title in ("softmax", "mean"))
    functions = TRACE.graph_at(-1).nodes.values()
    assert "softmax + mean" in [call.title for call in functions]
    grouped = TRACE.why_not_fused(softmax, mean).verdict.value
    assert "called as one function" in grouped
    judges(
        28,
        TRACE.why_not_fused(gelu, mean_of_columns).verdict.value == "refused"
        and pair_of("fuse/round 2", gelu, mean_of_columns).reason == "no shared data",
        decomposed > captured,
        TRACE.why_not_fused(linear, gelu).verdict.value != "never tried",
        max(dict(pair.score)["memory"] for pair in fused) >= shared,
        len(graph.nodes[gelu].config["operators"]) == 5,
        not grouped.startswith("not fused"),
    )
