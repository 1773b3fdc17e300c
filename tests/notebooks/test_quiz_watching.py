"""The answers of the quiz about torch.compile agree with a recorded compilation."""

from explorer.trace import Trace, pairs_of
from tests.notebooks.quiz import NOTEBOOKS, says

TRACE = Trace.load(NOTEBOOKS / "recorded" / "two-outputs-torch.trace.json.gz")


def calls_of(title: str, step: str) -> list[int]:
    nodes = TRACE.graph_at(step).nodes
    return [number for number, call in nodes.items() if call.title == title]


def moved(numbers: list[int], step: str) -> int:
    nodes = TRACE.graph_at(step).nodes
    return sum(nodes[number].config["bytes"] + nodes[number].config["read_bytes"] for number in numbers)


def test_27_a_layer_norm_of_four_nodes() -> None:
    nodes, (kernel,) = calls_of("layer_norm", "lower"), calls_of("layer_norm", "fuse/round 2")
    assert len(nodes) == 4
    says(27, f"{moved(nodes, 'lower'):,} bytes and {moved([kernel], 'fuse/round 2'):,}")
    first, second = (
        [pair for pair in pairs_of(TRACE.step(f"fuse/round {number}")) if pair.one in nodes and pair.other in nodes]
        for number in (1, 2)
    )
    assert not any(pair.verdict.value == "fused" for pair in first)
    ends = {one.verdict.value: one.reason for one in (*first, *second) if (one.one, one.other) == (nodes[0], nodes[-1])}
    assert ends["refused"] == "intermediate nodes between node1 & node2"
    assert "fused" in ends
    inputs = TRACE.graph_at("lower").inputs
    assert {*inputs[nodes[0]]} & {*inputs[nodes[-1]]} == {0}


def test_28_what_is_true() -> None:
    said = {pair.reason for step in TRACE.steps for pair in pairs_of(step)}
    assert len(calls_of("gelu", "lower")) == 1
    captured, decomposed = (TRACE.stats(step)["moved_bytes"] for step in ("capture", "joint graph/AOTAutograd"))
    assert decomposed > captured
    linear, gelu = calls_of("linear", "lower")[0], calls_of("gelu", "lower")[0]
    answer = TRACE.why_not_fused(linear, gelu)
    assert answer.verdict.value == "never tried"
    assert "extern_kernels.addmm is a library call" in str(answer)
    assert "no shared data" in said
    says(28, "Only 2 and 5 are true")
