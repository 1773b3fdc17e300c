"""The memory of a program: its buffers over time, and what each pass did, in words."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from textwrap import wrap

import pytest
import torch
from inline_snapshot import snapshot
from torch import nn

import explorer
from explorer.trace import BufferRecord, MemoryRecord
from explorer.views import TraceIndex, cost_strip, details, film, picture, recording, static_svg
from explorer.views.buffers import buffers_height, buffers_of, buffers_svg, listing_of, memory_text, state_of_buffers
from explorer.views.layer_timings import MAX_SPANS, layer_spans, undrawn_layers
from explorer.views.messages import caption_of
from explorer_widgets.schema import BuffersView, LayerSpanView
from tests.needed import is_missing
from tests.views.showing import section

ANSWERS = Path(__file__).parents[1] / "widgets" / "sharing_answers.mjs"


class Net(nn.Module):
    """Elementwise calls, a concatenation, a matrix product: each memory pass but two finds something to do."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8, 8))

    def forward(self, x):
        left, right = x.exp(), x.sin()
        both = torch.cat([left @ self.weight, right @ self.weight], 1)
        return (both.relu() + 1).sum(1)


PASSES = (
    *("MakeWeightsConst", "DSE", "OptimizeInserts", "OptimizeExtracts", "ShareBuffers", "Peephole"),
    *("DeleteDeadAllocs", "HoistDealloc", "SinkAllocas", "PlanMemory", "StackDataParallel"),
)
"""The passes of the trace: one more in the default pipeline changes no text that these tests expect."""


@pytest.fixture(scope="module")
def index():
    torch.manual_seed(0)
    return TraceIndex(explorer.record(Net(), (torch.ones(32, 8),), level="program", pipeline=PASSES))


@pytest.fixture(scope="module")
def trained():
    return TraceIndex(explorer.record(Net(), (torch.ones(32, 8),), level="program", mode="train"))


def test_parts_of_a_trained_program_are_named_with_what_waits_for_backward(trained, tmp_path):
    last = len(trained.trace.steps) - 1
    shown = state_of_buffers(trained, last)
    assert shown is not None
    assert [text for _, text in shown["parts"]] == ["backward pass"]
    border = shown["parts"][0][0]
    assert 0 < border < len(shown["moments"])
    kept = trained.trace.steps[last].snapshot.memory.kept_bytes
    assert kept == sum(one["bytes"] for one in shown["buffers"] if one["start"] < border < one["end"]) > 0
    assert "to the backward pass." in shown["text"]
    assert "begin backward" in "\n".join(text for _, _, text in shown["listing"])
    assert ">backward pass<" in static_svg(picture(trained, last))
    trained.trace.save(tmp_path / "trained.json.gz")
    assert state_of_buffers(TraceIndex(explorer.Trace.load(tmp_path / "trained.json.gz")), last) == shown


def memory(*offsets, size_bytes=192, bound=128):
    """Three buffers of 64 bytes; the second is alive with both of the others."""
    lives = ((2, 0, 2, (3, 5)), (4, 1, 3, (5, 7)), (6, 2, 3, (7,)))
    buffers = tuple(
        BufferRecord(number, "f32[16]", start, end, 64, offset, users, ("w", "r")[: len(users)])
        for (number, start, end, users), offset in zip(lives, offsets, strict=True)
    )
    listing = ((2, "%2 = alloc f32[16]"), (3, "#3 aten.exp(self=%0) -> %2"), (4, "%4 = alloc f32[16]"), (5, "#5 ..."))
    return MemoryRecord((3, 5, 7), buffers, size_bytes, bound, listing)


def test_a_plan_says_its_size_and_whether_it_is_the_least_possible():
    assert wrap(memory_text(memory(None, None, None)), 100) == snapshot(
        [
            "3 buffers of 192 B in all, each with memory of its own, drawn one above the other; at most 128 B are",
            "alive at once.",
        ]
    )
    assert memory_text(memory(0, 64, 0, size_bytes=128)) == snapshot(
        "3 buffers, each drawn at its place in 128 B, the least possible: that much is alive at once."
    )
    assert memory_text(memory(0, 64, 128)) == snapshot(
        "3 buffers, each drawn at its place in 192 B; 128 B are alive at once, so no plan needs less."
    )
    assert memory_text(MemoryRecord((3,), (), 0, 0)) == snapshot("No buffers: every result is an output or a view.")


def test_the_bytes_that_are_alive_are_counted_at_each_moment():
    assert memory(None, None, None).live_bytes == (64, 128, 128)
    assert MemoryRecord((), (), 0, 0).live_bytes == ()


def test_the_lines_of_the_program_have_the_moments_before_or_at_which_they_are():
    assert listing_of(memory(0, 64, 0)) == [
        (-1, 0, "%2 = alloc f32[16]"),
        (3, 0, "#3 aten.exp(self=%0) -> %2"),
        (-1, 1, "%4 = alloc f32[16]"),
        (5, 1, "#5 ..."),
    ]


def test_only_planned_buffers_that_overlap_in_bytes_share_them():
    first, second, third = memory(0, 64, 0).buffers
    assert first.shares_bytes(third)
    assert not first.shares_bytes(second)
    assert not first.shares_bytes(first)
    assert not any(one.shares_bytes(memory(None, None, None).buffers[2]) for one in (first, second))


def test_buffers_are_stacked_until_they_are_planned_and_then_at_their_offsets(index):
    unplanned, planned = state_of_buffers(index, 0), state_of_buffers(index, len(index.trace.steps) - 1)
    assert unplanned is not None
    assert planned is not None
    assert not unplanned["planned"]
    assert planned["planned"]
    ends = [buffer["bottom"] + buffer["bytes"] for buffer in unplanned["buffers"]]
    assert [buffer["bottom"] for buffer in unplanned["buffers"]] == [0, *ends[:-1]]
    assert unplanned["scale"]["height"] == ends[-1]
    assert planned["scale"]["height"] == max(planned["live"]) == planned["live"][planned["peak"]]
    assert len(planned["moments"]) == len(planned["live"]) == len(planned["runs"])
    assert [text for _, text in planned["scale"]["ticks"]] == snapshot(["0 B", "2 KiB", "4 KiB"])


def test_the_states_before_and_after_a_step_have_one_scale(index):
    for step in range(1, len(index.trace.steps)):
        before, after = buffers_of(index, step, "before"), buffers_of(index, step, "after")
        assert before is not None
        assert after is not None
        assert before["scale"] == after["scale"]
        previous = state_of_buffers(index, step - 1)
        assert previous is not None
        assert before["buffers"] == previous["buffers"]


def test_a_circuit_has_no_buffers():
    found = explorer.record(explorer.gallery.load_named("blackboard"))
    assert buffers_of(TraceIndex(found), 0, "after") is None


def test_sentences_and_captions_say_what_each_pass_did(index):
    frames = film(index)
    assert [line for frame in frames for line in wrap(frame["sentence"], 100)] == snapshot(
        [
            "9 instructions lowered, each a call: 2 cat, 1 exp, 1 sin, 1 mm, 1 relu, 1 add and 2 more kinds.",
            "MakeWeightsConst: 1 weight that is only read becomes a constant.",
            "OptimizeInserts: 1 concatenation is not computed, as 2 parts are written where the result is: 9",
            "calls → 8, peak memory 12.1 KiB → 10.1 KiB.",
            "ShareBuffers: 2 results are written over an input that nothing reads later, 1 copy is not made: 8",
            "calls → 7, peak memory 10.1 KiB → 6 KiB.",
            "Peephole: 3 views are replaced by what is viewed.",
            "HoistDealloc: 2 buffers are freed right after their last use: peak memory 6 KiB → 4 KiB.",
            "PlanMemory: 3 buffers get a place in one block of 4 KiB, the least possible.",
            "StackDataParallel: 2 elementwise calls become 1 stack: 7 calls → 6.",
        ]
    )
    assert [line for frame in frames for line in wrap(caption_of(index, frame["step"]), 100)] == snapshot(
        [
            "9 instructions lowered",
            "1 weight that is only read becomes a constant",
            "1 concatenation is not computed, as 2 parts are written where the result is",
            "2 results are written over an input that nothing reads later, 1 copy is not made",
            "3 views are replaced by what is viewed",
            "2 buffers are freed right after their last use",
            "3 buffers get a place in one block of 4 KiB, the least possible",
            "2 elementwise calls become 1 stack",
        ]
    )


def test_a_plate_says_where_its_instruction_has_its_memory_after_sharing():
    class Chain(nn.Module):
        def forward(self, x):
            return (x.exp().sin() @ x).sum(1)

    found = TraceIndex(explorer.record(Chain(), (torch.ones(8, 8),), level="program"))
    step = next(step.index for step in found.trace.steps if step.path == "ShareBuffers")
    nodes = picture(found, step, group_by="plates").view["nodes"]
    news = {node["title"]: node["plate"]["news"] for node in nodes if "plate" in node}
    assert news == {"Input": "", "exp": "", "sin": "in place", "mm": "input moved", "sum": "moved"}


def test_a_match_of_an_instruction_that_keeps_its_name_is_a_whole_sentence(index):
    step = next(step.index for step in index.trace.steps if step.path == "ShareBuffers")
    hulls = picture(index, step, group_by="plates", mode="before").view["hulls"]
    verdicts = {hull["lens"].get("verdict") for hull in hulls if hull["kind"] == "match" and "lens" in hull}
    assert "It matches, and is rewritten." in verdicts


def test_a_weight_that_becomes_a_constant_is_matched_where_it_is_read(index):
    step = index.trace.step("MakeWeightsConst")
    titles = index.trace.graph_at(step.index).nodes
    assert [titles[match.root].title for match in step.matches] == ["mm"]


def test_the_strip_counts_calls_as_the_picture_does(index):
    rows = dict(cost_strip(index, 0)["rows"])
    assert picture(index, 0, group_by="plates").view["note"].endswith(f": {rows['calls']} calls.")


def test_a_kind_is_said_in_the_words_of_the_legend(index):
    node = next(node for node, record in index.trace.graph_at(-1).nodes.items() if record.title == "cat")
    assert ["kind", "moves numbers, computes none"] in details(index, -1, [node])["sections"][0]["rows"]


def test_views_are_not_calls(index):
    for frame in film(index):
        calls = sum(plate["calls"] for plate in frame.get("plates", ()))
        assert calls == frame["calls"]
        note = picture(index, frame["step"], "after", group_by="plates").view["note"]
        assert f": {calls} calls" in note


def test_the_table_of_steps_counts_instructions_buffers_and_bytes(index):
    assert [line[:58].rstrip() for line in index.trace.table().splitlines()] == snapshot(
        [
            "step  path               instructions  buffers  peak bytes",
            "----------------------------------------------------------",
            "   0  lower                         9        8      12,416",
            "   1  MakeWeightsConst              9        8      12,416",
            "   2  DSE                           9        8      12,416",
            "   3  OptimizeInserts               8        6      10,368",
            "   4  OptimizeExtracts              8        6      10,368",
            "   5  ShareBuffers                  7        3       6,144",
            "   6  Peephole                      7        3       6,144",
            "   7  DeleteDeadAllocs              7        3       6,144",
            "   8  HoistDealloc                  7        3       4,096",
            "   9  SinkAllocas                   7        3       4,096",
            "  10  PlanMemory                    7        3       4,096",
            "  11  StackDataParallel             6        3       4,096",
        ]
    )


def test_an_instruction_says_what_it_reads_and_writes_and_who_else_uses_that_memory(index):
    last = len(index.trace.steps) - 1
    relu = next(node for node, one in index.trace.graph_at(-1).nodes.items() if one.title == "relu")
    assert section(details(index, last, (relu,)), "Memory")["rows"] == snapshot(
        [
            ["reads", "%22: f32[32,16], 2 KiB at byte 0"],
            ["writes", "%22: f32[32,16], 2 KiB at byte 0"],
            ["in place", "yes, it overwrites %22"],
            ["%22 is also used by", "#7 cat, #9 add, #10 sum"],
            ["%22 shares memory with", "%18, at other times"],
        ]
    )
    first = section(details(index, 0, (relu,)), "Memory")["rows"]
    assert first == snapshot(
        [
            ["reads", "%22: f32[32,16], 2 KiB"],
            ["writes", "%23: f32[32,16], 2 KiB"],
            ["in place", "no"],
            ["%22 is also used by", "#7 cat"],
            ["%23 is also used by", "#9 add"],
        ]
    )


def test_a_page_answers_as_the_trace_whether_two_buffers_share_memory(index):
    node = shutil.which("node")
    if node is None:
        is_missing("node 20.11 or later", "apt-get install nodejs, brew install node, or https://nodejs.org")
    steps = {state["planned"]: step for step in range(12) if (state := state_of_buffers(index, step)) is not None}
    states = [state_of_buffers(index, step) for step in (0, *steps.values())]
    answers = json.loads(
        subprocess.run(
            [node, str(ANSWERS)], input=json.dumps(states), capture_output=True, text=True, check=True
        ).stdout
    )
    for step, found in zip((0, *steps.values()), answers, strict=True):
        assert len(found) > 5
        assert [text for _, _, text in found] == [
            str(index.trace.why_not_shared(one, other, step)) for one, other, _ in found
        ]
    texts = [text for found in answers for _, _, text in found]
    for words in ("They share memory", "can share memory when it is planned", "cannot write", "both are alive from"):
        assert any(words in text for text in texts), words


def test_a_recording_has_each_state_of_the_memory_once(index):
    recorded = recording(index, "net", modes=("diff", "before", "after"))
    states = recorded.get("buffers", [])
    changed = {step.index for step in index.trace.steps if step.snapshot.memory is not None}
    assert len(states) < len(changed)
    for key, view in recorded["pictures"].items():
        step, mode, *_ = key.split("/")
        own = view.get("recorded_buffers")
        assert own is not None
        assert "buffers" not in view
        shown = "before" if mode == "before" else "after"
        assert {**states[own["state"]], "scale": own["scale"]} == buffers_of(index, int(step), shown)


def test_an_image_shows_the_buffers_and_describes_them(index):
    drawn = static_svg(picture(index, len(index.trace.steps) - 1, "side"))
    assert drawn.count("time →") == 2
    found = buffers_of(index, len(index.trace.steps) - 1, "after")
    assert found is not None
    assert found["peak_text"] in drawn
    for buffer in found["buffers"]:
        assert buffer["text"] in drawn


def test_the_line_of_an_image_begins_and_stays_above_zero_bytes(index):
    for step in (0, len(index.trace.steps) - 1):
        shown = state_of_buffers(index, step)
        assert shown is not None
        layer: LayerSpanView = {"start": 0, "end": 2, "label": "Sum", "kind": "sum", "text": "", "runs": [3]}
        drawn = buffers_svg([{**shown, "layers": [layer]}], 0, 0, 600)
        (line,) = [part for part in drawn if "stroke-dasharray" in part]
        heights = [float(found) for found in re.findall(r"V([\d.]+)", line)]
        (zero,) = [float(found) for found in re.findall(r"M[\d.]+ ([\d.]+)", line)]
        assert zero - max(shown["live"]) * 150 / shown["scale"]["height"] == pytest.approx(min(heights), abs=0.1)
        assert max(heights) <= zero


def test_an_image_names_each_part_and_draws_which_layer_runs_when(index):
    shown = state_of_buffers(index, 0)
    assert shown is not None
    moments = [f"#{at} exp" for at in range(20)]
    layers: list[LayerSpanView] = [
        {"start": 1, "end": 20, "label": "Sum layer 256", "kind": "sum", "text": "", "runs": [3]}
    ]
    parts = [(0, "parameters"), (1, "forward pass"), (19, "backward pass")]
    known: BuffersView = {**shown, "moments": moments, "live": [64] * 20, "layers": [], "parts": []}
    image = "".join(buffers_svg([{**known, "layers": layers, "parts": parts}], 0, 0, 600))
    for name in ("parameters", "forward pass", "backward pass", "Sum layer 256"):
        assert f">{name}<" in image
    assert "var(--sum)" in image
    heights = [buffers_height([{**known, "parts": some}]) for some in ([], parts[1:2], parts)]
    assert heights[0] == heights[1] < heights[2]  # narrow parts have lines of their own


def test_layers_that_are_too_many_to_be_drawn_are_counted():
    trace = explorer.record(nn.Sequential(nn.Tanh(), nn.Sigmoid()), (torch.ones(2),), level="program", pipeline=())
    index, known = TraceIndex(trace), trace.steps[0].snapshot.memory
    assert known is not None
    turns = replace(known, order=known.order[:2] * 201)
    assert len(layer_spans(index, 0, replace(known, order=known.order[:2] * 200))) == MAX_SPANS == 400
    assert layer_spans(index, 0, turns) == []
    assert undrawn_layers(index, 0, known) == ""
    assert undrawn_layers(index, 0, turns) == snapshot(
        "Which layer runs when is not drawn: they take 402 turns, and at most 400 would be seen."
    )
    shown = state_of_buffers(index, 0)
    assert shown is not None
    drawn = buffers_svg([{**shown, "layers": [], "undrawn_layers": "Too many."}], 0, 0, 600)
    assert ">Too many.<" in "".join(drawn)


def test_a_loaded_trace_has_the_same_memory(index, tmp_path):
    index.trace.save(tmp_path / "net.trace.json")
    loaded = TraceIndex(explorer.Trace.load(tmp_path / "net.trace.json"))
    for step in range(len(index.trace.steps)):
        buffers = [one["id"] for one in (state_of_buffers(index, step) or {"buffers": ()})["buffers"]]
        for one, other in pairwise(buffers):
            answer = str(loaded.trace.why_not_shared(one, other, step))
            assert answer == str(index.trace.why_not_shared(one, other, step))
        assert buffers_of(loaded, step, "after") == buffers_of(index, step, "after")
    assert film(loaded) == film(TraceIndex(index.trace))
