"""A compilation that is watched, written by hand: five operators, lowered, fused in two rounds, grouped."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from explorer.adapters.snapshot import WatchedSnapshot
from explorer.adapters.timeline import Candidate, Merge, Round, Timeline
from explorer.graph import Graph
from explorer.levels import Change, Recorded, run_options
from explorer.trace import NO_REASON, WATCHED, NodeRecord, Recorder, RuleDescription, Stage, Trace
from explorer.views import TraceIndex

WIDE, THIN = ("f32[8,64]", 2048), ("f32[8,1]", 32)


def record(
    title: str, result: tuple[str, int], operators: Sequence[str], module: str = "", kind: str = "operator", **more: Any
) -> NodeRecord:
    config = {"results": [result[0]], "bytes": result[1], "read_bytes": result[1], "parameter_bytes": 0}
    config |= {"operators": [*operators], **more}
    return NodeRecord(title, 1, config, about={"module": module} if module else {}, kind=kind, title=title)  # pyright: ignore[reportArgumentType]


def given(name: str) -> NodeRecord:
    return NodeRecord("Input", 1, {"name": name, "results": ["f32[8,32]"], "bytes": 1024}, kind="input", title="Input")


def state(nodes: Mapping[int, tuple[NodeRecord, tuple[int, ...]]]) -> WatchedSnapshot:
    records: dict[int, NodeRecord] = {0: given("x")}
    inputs: dict[int, tuple[int, ...]] = {0: ()}
    for number, (node, reads) in nodes.items():
        records[number], inputs[number] = node, reads
    return WatchedSnapshot(Graph[NodeRecord](records, inputs, (max(nodes),)))


def linear(module: str) -> NodeRecord:
    return record("linear", WIDE, ["addmm"], module, "matmul", library="extern_kernels.addmm")


def compiled(*, fuses_last: bool = True) -> Trace:
    """Record a linear layer, a norm and an activation.

    Round 1 fuses the norm (12) with the activation (13), refuses the norm with the mean before it, and puts off a pair;
    round 2 refuses the linear layer without a reason. Round 3, if there is one, fuses the pair that was put off.
    """
    recorder = Recorder()
    timeline = Timeline((recorder,))
    rules = tuple(
        RuleDescription(name, name, (), WATCHED, "real", doc, "", guarded=name == "fuse")
        for name, doc in (("lower", ""), ("fuse", "Make one call of two."))
    )
    timeline.begin(run_options(WATCHED, "mlp", ["lower", "fuse"], mode="infer", layout=""), rules)
    view = NodeRecord("View.view", 1, {"results": ["f32[8,64]"]}, kind="view", title="view")
    timeline.captured(
        state({
            1: (linear("block.0"), (0,)),
            2: (view, (1,)),
            3: (record("layer_norm", WIDE, [], "norm"), (2,)),
            4: (record("gelu", WIDE, [], "act"), (3,)),
            5: (record("add", WIDE, []), (4, 1)),
        })
    )  # fmt: skip
    lowered = {
        10: (linear("block.0"), (0,)),
        11: (record("layer_norm", THIN, ["mean"], "norm"), (10,)),
        12: (record("layer_norm", WIDE, ["sub", "mul"], "norm"), (10, 11)),
        13: (record("gelu", WIDE, ["erf"], "act"), (12,)),
        14: (record("add", WIDE, ["add"]), (13, 10)),
    }
    changes = [
        Change("lower", (old,), (old,), new, 0.0) for old, new in ((1, (10,)), (3, (11, 12)), (4, (13,)), (5, (14,)))
    ]
    timeline.state(("lower",), state(lowered), 0.1, [*changes, Change("lower", (2,), (2,), (), 0.0)])
    inside = {"stays inside": ["f32[8,64]"]}
    fused = record("layer_norm + gelu", WIDE, ["sub", "mul", "erf"], "act", "fused", **inside)
    fused.about["modules"] = ["norm", "act"]  # pyright: ignore[reportIndexIssue]
    one = {10: lowered[10], 11: lowered[11], 20: (fused, (10, 11)), 14: (lowered[14][0], (20, 10))}
    first = Round(
        "fuse",
        [
            Candidate(12, 13, (("memory", 2048.0),)),
            Candidate(13, 14, (), 0, "another pair with one of the two was fused first"),
        ],
        [Merge(0, (12, 13), "a")],
        [(11, 12, "the loops differ"), (11, 14, "no shared data")],
    )
    timeline.round(("fuse", Stage("round", 1)), first, {"a": 20}, state(one), 0.1)
    second = Round("fuse", (), (), [(10, 11, NO_REASON)])
    timeline.round(("fuse", Stage("round", 2)), second, {}, timeline.snapshot, 0.1)
    both = record("layer_norm + gelu + add", WIDE, ["sub", "mul", "erf", "add"], "act", "fused", **inside)
    last = {10: lowered[10], 11: lowered[11], 30: (both, (10, 11))}
    third = Round("fuse", [Candidate(20, 14)], [Merge(0, (20, 14), "b")])
    if fuses_last:
        timeline.round(("fuse", Stage("round", 3)), third, {"b": 30}, state(last), 0.1)
    return Recorded(recorder, lambda *_: ((), None), (), None).trace(None)


def deep(blocks: int, sequence: str = "layers", last: str = "norm") -> Trace:
    """Capture equal blocks of two calls, and a call behind them."""
    recorder = Recorder()
    timeline = Timeline((recorder,))
    timeline.begin(run_options(WATCHED, "deep", [], mode="infer", layout=""), ())
    nodes: dict[int, tuple[NodeRecord, tuple[int, ...]]] = {}
    for number in range(blocks):
        at = 1 + 2 * number
        nodes[at] = (linear(f"{sequence}.{number}.up"), (at - 1,))
        nodes[at + 1] = (record("gelu", WIDE, [], f"{sequence}.{number}.act"), (at,))
    nodes[2 * blocks + 1] = (record("layer_norm", WIDE, [], last), (2 * blocks,))
    timeline.captured(state(nodes))
    return Recorded(recorder, lambda *_: ((), None), (), None).trace(None)


Node = tuple[NodeRecord, tuple[int, ...]]


def two_states(
    rule: str, first: Mapping[int, Node], last: Mapping[int, Node], *changes: Sequence[Sequence[int]]
) -> Trace:
    """Record a step of one rule; a change has the nodes that it matched, removed and added."""
    recorder = Recorder()
    timeline = Timeline((recorder,))
    described = RuleDescription(rule, rule, ("call",), WATCHED, "real", "", "")
    timeline.begin(run_options(WATCHED, "two", [rule], mode="infer", layout=""), (described,))
    timeline.captured(state(first))
    done = [Change(rule, tuple(found), tuple(gone), tuple(made), 0.0) for found, gone, made in changes]
    timeline.state((rule,), state(last), 0.1, done)
    return Recorded(recorder, lambda *_: ((), None), (), None).trace(None)


def reordered() -> Trace:
    """Capture two calls that are added, then let the second one run first."""
    one, two = (linear("one"), (0,)), (linear("two"), (0,))
    last = (record("add", WIDE, []), (1, 2))
    return two_states("reorder", {1: one, 2: two, 3: last}, {2: two, 1: one, 3: last}, [[1, 2], [], []])


def folded() -> Trace:
    """Capture two convolutions with their norms, then fold these."""
    norm = record("batch_norm", WIDE, [])
    conv = record("conv2d", WIDE, [])
    first = {1: (conv, (0,)), 2: (norm, (1,)), 3: (conv, (2,)), 4: (norm, (3,))}
    return two_states("fold", first, {5: (conv, (0,)), 6: (conv, (5,))}, [[2, 1], [2, 1], [5]], [[4, 3], [4, 3], [6]])


def apart() -> Trace:
    """Lower three calls, and fuse the first one with the last."""
    recorder = Recorder()
    timeline = Timeline((recorder,))
    rule = RuleDescription("fuse", "fuse", (), WATCHED, "real", "", "", guarded=True)
    timeline.begin(run_options(WATCHED, "apart", ["fuse"], mode="infer", layout=""), (rule,))
    one, other = (record(name, WIDE, []) for name in ("exp", "neg"))
    timeline.captured(state({1: (one, (0,)), 2: (linear("up"), (0,)), 3: (other, (1, 2))}))
    both = record("exp + neg", WIDE, ["exp", "neg"], kind="fused")
    tried = Round("fuse", [Candidate(1, 3, (("memory", 2048.0),))], [Merge(0, (1, 3), "a")])
    timeline.round(("fuse", Stage("round", 1)), tried, {"a": 4}, state({2: (linear("up"), (0,)), 4: (both, (2,))}), 0.1)
    return Recorded(recorder, lambda *_: ((), None), (), None).trace(None)


def training() -> Trace:
    """Capture a linear layer and a norm, add their gradients, divide them in two parts, and judge a pair of each."""
    recorder = Recorder()
    timeline = Timeline((recorder,))
    rules = tuple(
        RuleDescription(name, name, (), WATCHED, "real", "", "", guarded=name == "fuse")
        for name in ("decompose", "save for backward", "compute again", "fuse")
    )
    timeline.begin(run_options(WATCHED, "training", [rule.name for rule in rules], mode="train", layout=""), rules)
    captured = {1: (linear("up"), (0,)), 2: (record("layer_norm", WIDE, [], "norm"), (1,))}
    timeline.captured(state(captured))
    joint: dict[int, Node] = {
        3: (given("gradient of output 0"), ()),
        **captured,
        4: (record("rsqrt", THIN, [], "norm"), (1,)),
        5: (record("mul", WIDE, [], "norm"), (3, 4)),
        6: (record("mm", WIDE, [], "up", "matmul"), (0, 5)),
        9: (record("sum", THIN, []), (3,)),
    }
    timeline.state(("joint graph",), state(joint), 0.1, [Change("decompose", (2,), (), (3, 4, 5, 6, 9), 0.0)])
    again = record("layer_norm", WIDE, [], "norm")
    again.about["training"] = "computed again in backward"  # pyright: ignore[reportIndexIssue]
    backward = {4: joint[4], 5: (joint[5][0], (3, 4, 8)), 6: joint[6], 9: joint[9]}
    parts: dict[int, Node] = {3: joint[3], **captured, 8: (again, (1,)), **backward}
    changes = [Change("save for backward", (1,), (), (), 0.0), Change("compute again", (2,), (2,), (8, 2), 0.0)]
    timeline.state(("partition",), state(parts), 0.1, changes)
    judged = Round("fuse", (), (), [(4, 5, "the loops differ")])
    timeline.round(("backward", "fuse", Stage("round", 1)), judged, {}, state(parts), 0.1)
    return Recorded(recorder, lambda *_: ((), None), (), None).trace(None)


@cache
def compiled_index() -> TraceIndex:
    return TraceIndex(compiled())
