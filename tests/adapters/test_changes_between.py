"""The changes between two states of a watched compilation: which nodes belong together, and what is matched."""

from pathlib import Path

from explorer.adapters.snapshot import WatchedSnapshot
from explorer.adapters.timeline import Timeline, changes_between
from explorer.graph import Graph
from explorer.levels import Recorded, run_options
from explorer.trace import WATCHED, NodeRecord, Recorder, RuleDescription, Trace
from explorer.trace.trace_files import trace_to_json
from explorer.trace.trace_reading import trace_from_json
from tests.trace.showing_everything import show_everything


def graph_of(reads: dict[int, tuple[int, ...]], *outputs: int) -> Graph[NodeRecord]:
    nodes = {node: NodeRecord(f"Op{node}", 1, {"results": ["f32[2]"], "bytes": 8}) for node in reads}
    return Graph(nodes, reads, outputs)


def record(before: Graph[NodeRecord], after: Graph[NodeRecord]) -> Trace:
    recorder = Recorder()
    timeline = Timeline((recorder,))
    rule = RuleDescription("change", "change", ("an operator",), WATCHED, "real", "", "")
    timeline.begin(run_options(WATCHED, "x", ["change"]), [rule])
    timeline.captured(WatchedSnapshot(before))
    timeline.state(("change",), WatchedSnapshot(after), 0.0, changes_between("change", before, after, 0.0))
    return Recorded(recorder, lambda *_: ((), None), None, None).trace(None)


def test_a_change_that_only_adds_is_about_an_older_node_beside_it():
    before = graph_of({0: (), 1: (0,)}, 1)
    trace = record(before, graph_of({0: (), 2: (0,), 1: (2,)}, 1))
    for one in (trace, trace_from_json(trace_to_json(trace))):
        assert [match.root in before.nodes for match in one.steps[1].matches] == [True]
        assert [rewrite.added for rewrite in one.steps[1].rewrites] == [(2,)]


def test_values_that_both_states_compute_end_a_part():
    before = graph_of({0: (), 1: (0,), 2: (1,), 3: (2,), 4: (3,)}, 4)
    after = graph_of({0: (), 5: (0,), 6: (5,)}, 6)
    names = {1: ["a"], 2: ["b"], 3: ["c"], 4: ["d"], 5: ["b"], 6: ["d"]}
    together = changes_between("change", before, after, 0.0)
    assert [(change.removed, change.added) for change in together] == [((4, 3, 2, 1), (5, 6))]
    parts = changes_between("change", before, after, 0.0, names)
    assert [(change.removed, change.added) for change in parts] == [((2, 1), (5,)), ((4, 3), (6,))]


def test_a_state_in_which_nothing_runs_can_be_shown(tmp_path: Path):
    view = NodeRecord("View.reshape", 1, {"results": ["f32[2]"], "bytes": 8}, kind="view")
    before = graph_of({0: (), 1: (0,)}, 1)
    trace = record(before, Graph({0: view}, {0: ()}, (0,)))
    assert trace.steps[1].snapshot.stats["calls"] == 0
    show_everything(trace_from_json(trace_to_json(trace)), tmp_path)
