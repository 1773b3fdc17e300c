"""Why not in the inspector: what it says of a layer is what the trace has."""

import re

import pytest
from inline_snapshot import snapshot

from explorer.trace import Trace
from explorer.views import TraceIndex, details
from tests.views.showing import index_of, section

TORCH = "notebooks/recorded/two-outputs-torch.trace.json.gz"


def test_why_not_has_the_near_misses_of_the_last_step_that_has_any():
    at = [section(details(index_of("blackboard"), step, [3]), "Why not") for step in (0, 5, 6)]
    assert [one["lines"] for one in at] == snapshot(
        [
            ["In step 3, fuse, round 1.", "More in step 6."],
            ["In step 3, fuse, round 1.", "More in step 6."],
            ["In step 6, fuse, round 2.", "More in step 3."],
        ]
    )
    assert at[0] == at[1]
    assert [row[0] for row in at[1]["rows"]] == ["CategoricalLogSoftmax"]


@pytest.mark.parametrize("name", ["digits", "hclt", "conflict", "near-misses", "kronecker", "squared", TORCH])
def test_why_not_says_what_the_trace_has_at_every_node_and_step(name):
    index = TraceIndex(Trace.load(name)) if name == TORCH else index_of(name)
    every = index.trace.steps
    folded = {group.node: group.members for group in index.groups}
    for before, step in zip((every[0], *every), every, strict=False):
        for node in {**before.snapshot.graph.nodes, **step.snapshot.graph.nodes}:
            members = folded.get(node, (node,))
            first = (members[0],)
            found = section(details(index, step.index, [node]), "Why not")
            at = [one.index for one in every if attempts_at(one, {*members, node})]
            assert any(line.startswith("No ") for line in found["lines"]) == (not at)
            if not at:
                assert found["rows"] == []
                continue
            mine = [one for one in at if attempts_at(every[one], first)]
            began = [
                one for one in mine if any(is_at(every[one], each, *first) for each in attempts_at(every[one], first))
            ]
            steps = mine if name == TORCH else began or mine or at
            shown = max((one for one in steps if one <= step.index), default=steps[0])
            rest = ", ".join(str(one) for one in at if one != shown)
            assert found["lines"][0].startswith(f"In step {shown}, ")
            assert [line.partition(" ")[2] for line in found["lines"] if line.startswith("More in ")] == (
                [f"in step{'s' * (',' in rest)} {rest}."] if rest else []
            )
            attempts = attempts_at(every[shown], first)
            assert all(any(tells(row, one, every[shown], *first) for row in found["rows"]) for one in attempts)
            assert all(any(tells(row, one, every[shown], *first) for one in attempts) for row in found["rows"])


def attempts_at(step, nodes):
    """The matches of a step that contain one of the nodes, and the near misses that began or stopped at one."""
    found = [(match, match.nodes) for match in step.matches]
    found += [(miss, (miss.refusal.root, miss.refusal.node)) for miss in step.refusals]
    owned = [(one, [int(one.parameter_path.split(".")[0])] if one.parameter_path else ids) for one, ids in found]
    return [one for one, ids in owned if not set(nodes).isdisjoint(ids)]


def tells(row, attempt, step, node):
    """Whether a row tells what the trace has of an attempt."""
    if attempt not in step.matches:
        refusal = attempt.refusal
        others = (
            {refusal.root} if "tried at" in row[1] else {refusal.root, refusal.node} if "calls" in row[1] else {node}
        )
        named = all(re.search(rf"\b{one}\b", row[1]) for one in others - {node}) or "in all" in row[1]
        is_told = attempt.parameter_path or refusal.root in others
        return row[0] == refusal.pattern and refusal.reason in row[1] and named and is_told
    lost = [step.matches[one.winner].rule for one in step.lost if one.loser == attempt.number]
    done = any(one.number == attempt.number or {*attempt.nodes} <= {*one.removed} for one in step.applied)
    fate = f"lost to {lost[0]}: " if lost else "applied" if done or attempt.number in step.copied else "not applied"
    return row[0] == attempt.rule and bool(re.match(f"match {attempt.number}, nodes [^:]*: {fate}", row[1]))


def is_at(step, attempt, node):
    """Whether an attempt that touches a node is a match of it, or began there."""
    return attempt in step.matches or bool(attempt.parameter_path) or attempt.refusal.root == node


def test_why_not_of_a_folded_layer_has_the_near_misses_of_its_members():
    index = index_of("digits")
    (group,) = [group for group in index.groups if group.level == 1]
    last = len(index.trace.steps) - 1
    folded, member = (
        section(details(index, at, ids), "Why not") for at, ids in ((last, [group.node]), (6, group.members))
    )
    assert folded == member
    assert "Candecomp: 64 near misses in this box." in folded["lines"]


def test_why_not_of_several_layers_counts_their_near_misses():
    found = section(details(index_of("digits"), 3, [64, 65, 66]), "Why not")
    assert found["lines"] == snapshot(
        [
            "In step 3, fuse, round 1.",
            "SumCollapse: 3 near misses in this box.",
            "Tucker: 3 near misses in this box.",
            "Candecomp: 3 near misses in this box.",
            "Mixing: 3 near misses in this box.",
            "More in steps 2, 5, 6.",
        ]
    )
