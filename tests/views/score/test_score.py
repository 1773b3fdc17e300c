"""The score of a compilation: calls, seams, equal blocks and marks, in each step."""

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import pytest

from explorer.adapters.timeline import Candidate, Merge, Round, Timeline
from explorer.levels import Recorded, run_options
from explorer.trace import WATCHED, NodeRecord, Recorder, StepPath, Trace, Verdict, pairs_of
from explorer.views import MODES, TraceIndex, cost_strip, details, film, picture, static_svg
from explorer.views.buffers import state_of_buffers
from explorer.views.messages import message_of, step_words
from explorer.views.score.calls import calls_at, parts_at
from explorer.views.score.drawing import score_view
from explorer.views.score.origins import names_at
from explorer.views.score.repeats import groups_at
from explorer.views.score.row import bands_of, row_at
from explorer.views.score.score_svg import score_elements
from explorer.views.score.seams import seams_at
from explorer.views.score.words import done_text, headline_of, moved_bytes, saved_text, seam_lines, vanished_text
from explorer.views.sentences import sentence_of
from tests.views.score.compiling import (
    WIDE,
    apart,
    compiled,
    compiled_index,
    deep,
    folded,
    record,
    reordered,
    state,
    training,
    two_states,
)
from tests.views.showing import index_of, section

CAPTURED, LOWERED, FIRST, SECOND, THIRD = range(5)


def seams(step):
    index = compiled_index()
    calls = calls_at(index, step)
    return [(calls[one.one].title, calls[one.other].title, one.kind, one.words) for one in seams_at(index, step)]


def marks(index, step, start):
    return [mark for mark in score_view(index, step)["marks"] if mark["key"].startswith(start)]


def test_calls_read_values_also_through_views_and_views_are_not_in_the_row():
    calls = calls_at(compiled_index(), CAPTURED)
    assert [(call.title, call.sources) for call in calls] == [
        ("x", ()),
        ("linear", (0,)),
        ("layer_norm", (1,)),
        ("gelu", (3,)),
        ("add", (1, 4)),
    ]
    assert [call.is_input for call in calls] == [True, False, False, False, False]


def test_calls_are_in_the_order_in_which_they_run_also_if_only_the_order_changed(tmp_path):
    reordered().save(tmp_path / "reordered.json")
    index = TraceIndex(Trace.load(tmp_path / "reordered.json"))
    assert [[call.title for call in calls_at(index, step)] for step in (0, 1)] == [["x", "linear", "linear", "add"]] * 2
    assert [[call.node for call in calls_at(index, step)] for step in (0, 1)] == [[0, 1, 2, 3], [0, 2, 1, 3]]
    assert done_text(index, 1) == "the calls run in another order: still 3 calls"


def test_a_step_is_told_in_calls():
    index = compiled_index()
    assert [done_text(index, step) for step in (LOWERED, FIRST, THIRD)] == [
        "1 call becomes 2 (a layer_norm becomes 2): 4 → 5 calls",
        "1 pair of calls is fused: 5 − 1 = 4 calls",
        "2 calls become 1: 4 → 3 calls",
    ]
    assert sentence_of(index, FIRST) == (
        "fuse, round 1: 1 pair of calls is fused: 5 − 1 = 4 calls: 16.1 KiB → 12.1 KiB read and written."
    )


def test_the_caption_says_what_a_rule_means_or_else_what_it_did():
    captions = [picture(compiled_index(), step, group_by="score").view["caption"] for step in (LOWERED, FIRST)]
    assert captions == ["1 call becomes 2 (a layer_norm becomes 2): 4 → 5 calls", "Fuse: make one call of two."]


def test_what_is_folded_into_another_call_is_named():
    assert done_text(TraceIndex(folded()), 1) == "2 batch_norm are folded into their conv2d: 4 → 2 calls"


def test_bytes_are_those_of_the_statistics():
    index = compiled_index()
    for step in index.trace.steps:
        assert moved_bytes(calls_at(index, step.index)) == index.trace.stats(step.index)["moved_bytes"]


def test_before_pairs_are_judged_only_those_that_are_fused_have_a_seam():
    assert seams(LOWERED) == [
        ("layer_norm", "gelu", "next", "fuse, round 1"),
        ("gelu", "add", "later", "fuse, round 3"),
    ]


def test_a_seam_is_refused_never_tried_or_fused_next():
    assert seams(FIRST) == [
        ("linear", "layer_norm", "untried", "extern_kernels.addmm is a library call"),
        ("layer_norm", "layer_norm + gelu", "refused", "the loops differ"),
        ("layer_norm + gelu", "add", "next", "fuse, round 3"),
        ("layer_norm", "add", "refused", "no shared data"),
    ]


def test_a_refusal_without_a_reason_says_so_and_later_verdicts_count():
    assert seams(SECOND)[0] == ("linear", "layer_norm", "silent", "")
    assert seams(THIRD) == [
        ("linear", "layer_norm", "silent", ""),
        ("layer_norm", "layer_norm + gelu + add", "refused", "the loops differ"),
    ]


def test_a_round_that_fused_nothing_says_why():
    index = compiled_index()
    assert message_of(index, SECOND) == "No pair was fused: 1 pair was refused, the compiler gave no reason."
    assert index.step(SECOND).summary == "nothing changed (1 pair refused)"


def test_a_pair_that_lost_to_another_one_is_put_off():
    index = TraceIndex(compiled(fuses_last=False))
    found = {(one.one, one.other): (one.kind, one.words) for one in seams_at(index, SECOND)}
    assert found[3, 4] == ("put-off", "another pair with one of the two was fused first")


def test_each_reason_is_a_line_refusals_first():
    index = compiled_index()
    lines = seam_lines(calls_at(index, THIRD), seams_at(index, THIRD))
    assert [line for *_, line in lines] == [
        "× refused because: the loops differ · layer_norm | layer_norm + gelu + add",
        "? refused, no reason given · linear | layer_norm",
    ]


def test_what_is_no_longer_written_is_named_with_its_writer():
    index = compiled_index()
    assert vanished_text(index, FIRST) == "No longer written in this step: 1 value, 2 KiB: f32[8,64] of layer_norm"
    kept = "Inside calls by all steps so far, never written: 1 value, 2 KiB: f32[8,64] of layer_norm + gelu"
    assert vanished_text(index, SECOND) == kept
    assert vanished_text(index, CAPTURED) == ""
    assert headline_of(index, THIRD) == (
        "4 → 3 calls,  6.03 KiB → 4.03 KiB written to memory",
        "read and written: 12.1 KiB → 8.06 KiB; captured: 4 calls, 16 KiB; after lower: 5 calls, 16.1 KiB",
    )


def test_what_the_code_keeps_in_a_buffer_is_counted_apart():
    wide, thin = ["f32[8,64]"], ["f32[8,1]", "f32[8,1]"]
    inside: dict[str, Any] = {"stays inside": [*wide, *thin]}
    apart: dict[str, Any] = {"stays inside": wide, "kept in buffers": thin}
    fused, code = (record("layer_norm", WIDE, ["sub", "mul"], **config) for config in (inside, apart))
    index = TraceIndex(two_states("codegen", {1: (fused, (0,))}, {2: (code, (0,))}, ([1], [1], [2])))
    assert vanished_text(index, 1) == (
        "Inside calls by all steps so far, never written: 1 value, 2 KiB: f32[8,64] of layer_norm; "
        "in a buffer that only its call reads: 2 values, 64 B"
    )
    words = {mark["key"]: "".join(mark.get("words", [])) for mark in score_view(index, 1)["marks"]}
    assert (words["n-inside"], words["n-so-far"]) == ("3 values inside,", "2 of them in buffers")
    before = {mark["key"]: "".join(mark.get("words", [])) for mark in score_view(index, 0)["marks"]}
    assert (before["n-inside"], before["n-so-far"]) == ("3 values inside,", "by all steps so far")


def test_the_cost_strip_counts_values_that_are_read_and_no_tables():
    titles = [row[0] for row in cost_strip(compiled_index(), FIRST)["rows"]]
    assert titles[:4] == ["calls", "values read", "activations", "peak memory"]


def test_calls_and_tensors_follow_each_other_without_overlap():
    index = compiled_index()
    for step in index.trace.steps:
        row = row_at(index, step.index)
        assert all(one.right + one.gap <= other.left + 1e-9 for one, other in pairwise(row))
        assert all(
            left >= spot.left and left + width <= spot.right + 1e-9 for spot in row for left, width in spot.cells()
        )


def test_operators_of_a_call_come_from_the_calls_that_were_fused():
    cells = {mark["key"]: (mark.get("words"), mark.get("was")) for mark in marks(compiled_index(), FIRST, "c20")}
    assert cells == {"c20.0": (["sub"], "c12.0"), "c20.1": (["mul"], "c12.1"), "c20.2": (["erf"], "c13.0")}
    assert [mark["box"] for mark in marks(compiled_index(), FIRST, "f20") if "box" in mark] == ["n20"]


def test_tensors_keep_their_size_from_step_to_step():
    sizes = {
        (mark["tip"].split(", ")[0], mark.get("thick"), mark["at"][3])
        for step in range(5)
        for mark in marks(compiled_index(), step, "b")
        if "tip" in mark and mark["tip"].startswith(("f32[8,64]", "f32[8,1]"))
    }
    assert len(sizes) == len({size[0] for size in sizes}) == 2


def test_a_call_of_two_modules_is_in_the_bands_of_both():
    bands = bands_of(row_at(compiled_index(), FIRST))
    assert [(band.path, band.count) for band in bands if not band.depth] == [("block.0", 1), ("norm", 1), ("act", 1)]


@pytest.mark.parametrize(("blocks", "drawn"), [(2, 6), (3, 4), (24, 4)])
def test_three_or_more_equal_blocks_are_drawn_once(blocks, drawn):
    index = TraceIndex(deep(blocks))
    assert len(row_at(index, 0)) == drawn
    assert sum(map(len, groups_at(index, 0).values())) == 2 * blocks + 2
    view = picture(index, 0, group_by="score").view
    assert sorted(node for box in view["nodes"] for node in box["ids"]) == list(range(2 * blocks + 2))
    names = [mark["words"][0] for mark in marks(index, 0, "nlayers") if "words" in mark]
    assert names[0] == ("layers.0" if blocks < 3 else f"layers.0 ×{blocks}")


def test_equal_blocks_of_a_sequence_inside_a_module_are_drawn_once():
    index = TraceIndex(deep(24, "transformer.h", "transformer.ln_f"))
    found = {(band.path, band.count) for band in bands_of(row_at(index, 0)) if band.depth < 2}
    assert len(row_at(index, 0)) == 4
    assert found == {("transformer", 1), ("transformer.h.0", 24), ("transformer.ln_f", 1)}


def test_blocks_repeat_in_pieces_if_one_kernel_prepares_several_and_keep_their_bands():
    """In every fourth block, a kernel computes something of the following ones, too."""
    nodes: dict[int, tuple[NodeRecord, tuple[int, ...]]] = {}

    def call(title, *blocks):
        modules = [f"h.{block}" for block in blocks]
        about = {"module": ", ".join(modules), "modules": modules}
        nodes[len(nodes) + 1] = (replace(record(title, WIDE, [title]), about=about), (len(nodes),))

    for block in range(12):
        call("linear", block)
        if block % 4 == 3:
            call("masks", *range(block, block + 4))
            call("linear", block)
    index = TraceIndex(two_states("same", nodes, nodes))
    assert len(groups_at(index, 0)) == 1 + 6
    bands = [(band.path, band.count) for band in bands_of(row_at(index, 0))]
    assert [bands[0], bands[3], bands[-1]] == [("h.0", 3), ("h.3", 3), ("h.3", 3)]


def test_a_pair_is_fused_if_the_fused_call_has_a_copy_of_one_of_the_two():
    recorder = Recorder()
    timeline = Timeline((recorder,))
    timeline.begin(run_options(WATCHED, "f", ["fuse"], mode="infer", layout=""), ())
    zero, add = record("constant", WIDE, ["constant"]), record("add", WIDE, ["add"])
    timeline.captured(state({1: (zero, ()), 2: (add, (1,)), 3: (add, (1, 2)), 4: (add, (1, 3))}))
    pairs = Round(
        "fuse", (Candidate(1, 2), Candidate(1, 3)), (Merge(0, (2,), "a"), Merge(1, (3,), "b")), [(3, 4, "no")]
    )
    after = state({1: (zero, ()), 5: (add, (0,)), 6: (add, (5,)), 4: (add, (1, 6))})
    timeline.round(("fuse",), pairs, {"a": 5, "b": 6}, after, 0.0)
    step = Recorded(recorder, lambda *_: ((), None), (), None).trace(None).steps[1]
    assert step.pairs == (2, 2)
    assert [pair.verdict for pair in pairs_of(step)] == [Verdict.FUSED, Verdict.FUSED, Verdict.REFUSED]


def test_the_details_of_a_call_have_its_seams():
    found = section(details(compiled_index(), FIRST, [14]), "Seams")["rows"]
    assert found == [
        ["with layer_norm + gelu #20", "fused next in fuse, round 3"],
        ["with layer_norm #11", "refused because: no shared data (that is, no part of a value is used by both)"],
    ]


def test_the_details_of_a_call_are_words_and_its_fields_are_behind_them():
    found = details(compiled_index(), FIRST, [20])
    assert found["title"] == "layer_norm (part) + gelu #20"
    assert section(found, "Call")["rows"] == [
        ["runs", "sub, mul, erf"],
        ["reads", "2 KiB"],
        ["writes", "2 KiB: f32[8,64]"],
        ["stays inside", "f32[8,64]"],
        ["of modules", "norm, act"],
    ]
    assert ["read_bytes", "2048"] in section(found, "More")["rows"]


def test_only_the_difference_shows_which_calls_became_one():
    shown = {mode: picture(compiled_index(), FIRST, mode, group_by="score").view for mode in ("diff", "after")}
    drawn = {
        mark["key"]: mark.get("words", [""])[0]
        for mark in shown["diff"].get("score", {"marks": []})["marks"]
        if mark["key"][0] in "xjy"
    }
    assert drawn == {"x20": "", "j20.2": "", "y20": "2 calls became this one"}
    assert not any(mark["key"][0] in "xjy" for mark in shown["after"].get("score", {"marks": []})["marks"])
    frame = "frame: made by this step; lines inside: where earlier calls met"
    assert [frame in [item["text"] for item in one["legend"]] for one in shown.values()] == [True, False]


def test_a_captured_operator_that_several_calls_compute_is_named_as_a_part():
    names = [list(names_at(compiled_index(), step).values())[2:] for step in (CAPTURED, LOWERED, FIRST)]
    assert names == [
        ["layer_norm", "gelu", "add"],
        ["layer_norm (part)", "layer_norm (part)", "gelu", "add"],
        ["layer_norm (part)", "layer_norm (part) + gelu", "add"],
    ]


def test_a_training_step_has_a_forward_and_a_backward_part():
    index = TraceIndex(training())
    assert parts_at(index, 0) == {}
    joint = {1: "forward", 2: "forward", 4: "backward", 5: "backward", 6: "backward", 9: "backward"}
    assert parts_at(index, 1) == joint
    bands = [(band.path, band.depth) for band in bands_of(row_at(index, 1))]
    names = [("up", 1), ("norm", 1), ("norm", 1), ("up", 1)]
    assert bands == [("forward", 0), ("backward", 0), *names]


def test_what_is_saved_for_backward_is_counted_and_drawn_apart():
    index = TraceIndex(training())
    assert [saved_text(index, step) for step in (1, 2, 3)] == ["", *["1 value, 2 KiB"] * 2]
    arcs = {mark["key"]: (mark["stroke"], mark.get("dash", [])) for mark in marks(index, 2, "a") if "stroke" in mark}
    saved, kept = ("fg", []), ("kept", [6, 3])
    assert arcs == {"a1-8": saved, "a1-4": saved, "a0-6": saved, "a3-5": kept, "a8-5": kept, "a3-9": kept}
    legend = [item["text"] for item in picture(index, 2, group_by="score").view["legend"]]
    assert "saved for backward: a value of forward that backward reads" in legend
    assert "dashed frame: computes values of forward again" in legend


def test_a_step_of_training_says_what_is_saved_and_computed_a_second_time():
    saved = "1 value is saved for backward; 1 call is computed a second time: 6 → 7 calls"
    assert done_text(TraceIndex(training()), 2) == saved


def test_neighbours_of_two_parts_or_without_a_common_value_say_so():
    index = TraceIndex(training())
    found = {(seam.one, seam.other): (seam.kind, seam.words) for seam in seams_at(index, 3) if seam.is_near}
    calls = [call.node for call in calls_at(index, 3)]
    assert calls == [0, 3, 1, 2, 8, 4, 5, 6, 9]
    assert found[3, 4] == ("untried", "forward and backward are compiled apart")
    assert [(mark["key"], mark.get("words")) for mark in marks(index, 3, "u")] == [("u6", ["–"])]
    assert {item["sign"]: item["text"] for item in picture(index, 3, group_by="score").view["legend"]}["–"] == (
        "no value in common"
    )


def test_every_picture_has_a_box_for_each_call_and_an_image():
    index = compiled_index()
    for step in index.trace.steps:
        for mode in MODES:
            drawn = picture(index, step.index, mode, group_by="score")
            view = drawn.view
            assert len(drawn.coordinates) == len(view["nodes"]) + len(view["other"]["nodes"] if "other" in view else ())
            assert len({mark["key"] for mark in view.get("score", {"marks": []})["marks"]}) == len(
                view.get("score", {"marks": []})["marks"]
            )
            image = static_svg(drawn)
            assert "written to memory" in image
            assert all(mark["at"][2] >= 0 for mark in view.get("score", {"marks": []})["marks"])


def test_a_seam_of_two_calls_that_fit_has_the_parts_of_their_score():
    tips = {mark["key"]: mark["tip"] for mark in marks(compiled_index(), LOWERED, "s") if "tip" in mark}
    assert tips["s12-13"] == "layer_norm | gelu\nfused next in fuse, round 1; score: memory 2,048"


def test_candidates_that_are_no_neighbours_have_their_score():
    index = TraceIndex(apart())
    (seam,) = [seam for seam in seams_at(index, 0) if not seam.is_near]
    assert (seam.one, seam.other) == (1, 3)
    assert seam.text == "fused next in fuse, round 1; score: memory 2,048"


def test_a_line_of_words_lights_its_seams_and_no_others():
    found = {
        mark["words"][0]: mark["lights"]
        for mark in marks(compiled_index(), FIRST, "w")
        if "lights" in mark and "words" in mark
    }
    assert [(words.split(" · ")[0], lights) for words, lights in found.items()] == [
        ("× refused because: the loops differ", ["s11-20"]),
        ("• never tried: extern_kernels.addmm is a library call", ["s10-11"]),
        ("» fused next in fuse, round 3", ["s20-14"]),
        ("Of calls further apart, which have no seam: 1 pair refused. Select a call to see its arcs.", ["s11-14"]),
    ]


def test_arcs_between_distant_calls_belong_to_both_and_are_not_in_an_image():
    (arc,) = [mark["pair"] for mark in marks(compiled_index(), FIRST, "s") if mark["shape"] == "arc" and "pair" in mark]
    drawn = picture(compiled_index(), FIRST, group_by="score")
    assert arc == [box["id"] for box in drawn.view["nodes"] if set(box["ids"]) & {11, 14}]
    assert "<title>layer_norm | add" not in static_svg(drawn)
    assert "<title>linear | layer_norm" in static_svg(drawn)


def test_the_name_of_a_module_may_be_wider_than_its_band_but_meets_no_other_name():
    index = compiled_index()
    names = [mark["at"] for mark in marks(index, LOWERED, "n") if not mark.get("fixed")]
    bands = [mark["at"] for mark in marks(index, LOWERED, "m")]
    assert all(name[2] > band[2] for name, band in zip(names, bands, strict=True))
    lines = [[at for at in names if at[1] == top] for top in {at[1] for at in names}]
    assert all(one[0] + one[2] <= other[0] + 0.2 for line in lines for one, other in pairwise(sorted(line)))


def test_a_step_says_what_a_pass_does_besides_its_own_name():
    def words(*path: str) -> str:
        return step_words(replace(compiled_index().step(0), at=StepPath.of(*path)))

    assert words("post-grad", "pass_pattern_1") == "post-grad, replace operator patterns, group 2 (pass_pattern_1)"
    assert words("backward", "post-grad", "remove_noop_ops").startswith(
        "post-grad, remove operators without effect (rem"
    )
    assert words("GeluFusionL2") == "GeluFusionL2"


def test_names_are_cut_between_words():
    long = {"shape": "text", "key": "t", "at": [0, 0, 120, 0], "words": ["scaled_dot_product_attention"]}
    view = {"score": {"marks": [long, {**long, "words": ["unseparatedandmuchtoolong"]}]}}
    (element,) = score_elements(view)  # pyright: ignore[reportArgumentType]
    assert ">scaled_dot…<" in element


def test_titles_of_neighbours_do_not_meet():
    wide, narrow = (record(f"{name} + erf", WIDE, ["sub"] * count) for name, count in (("a" * 90, 20), ("b" * 30, 2)))
    index = TraceIndex(two_states("none", {1: (wide, (0,)), 2: (narrow, (1,))}, {2: (narrow, (0,))}, [[1], [1], []]))
    one, other = (mark["at"] for mark in marks(index, 0, "t"))
    assert one[0] + one[2] <= other[0] + 0.2


def test_the_text_of_a_call_names_its_operators_and_modules():
    (frame,) = [mark["tip"] for mark in marks(compiled_index(), FIRST, "f20") if "tip" in mark]
    assert frame.splitlines() == [
        "layer_norm (part) + gelu #20",
        "runs sub, mul, erf",
        "of norm, act",
        "reads 2 KiB, writes 2 KiB",
    ]


def test_memory_is_a_model_in_which_values_that_are_kept_at_once_are_apart():
    index = compiled_index()
    for step in range(5):
        shown = state_of_buffers(index, step)
        assert shown is not None
        bars = [(one["start"], one["end"], one["bottom"], one["bottom"] + one["bytes"]) for one in shown["buffers"]]
        for one, other in combinations(bars, 2):
            assert one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
        assert max(top for *_, top in bars) == shown["scale"]["height"] <= sum(one["bytes"] for one in shown["buffers"])
    lowered = state_of_buffers(index, LOWERED)
    assert lowered is not None
    assert lowered["scale"]["height"] < sum(one["bytes"] for one in lowered["buffers"])


def test_the_text_of_memory_names_the_values_of_the_peak():
    shown = state_of_buffers(compiled_index(), FIRST)
    assert shown is not None
    assert shown["text"] == (
        "At the peak: 2 KiB of #10 linear, 2 KiB of #20 layer_norm + gelu, 2 KiB of #14 add. "
        "Modelled: a value is kept until its last reader, and put where there is room first."
    )


def test_the_film_of_a_compiler_that_is_watched_counts_calls():
    frames = film(compiled_index())
    assert [(frame["label"], frame["calls"], "memory" in frame) for frame in frames] == [
        ("capture", 4, False),
        ("lower", 5, False),
        ("fuse, round 1", 4, False),
        ("fuse, round 3", 3, False),
    ]


def test_the_legend_explains_the_signs_that_are_drawn():
    legend = picture(compiled_index(), FIRST, group_by="score").view["legend"]
    signs = {item["sign"]: item["text"] for item in legend if item["sign"]}
    assert signs == {
        "×": "refused because",
        "•": "never tried",
        "»": "fused next or later",
        "#1": "number of a call, in this trace",
    }
    sizes = [item["text"] for item in legend if item["text"].startswith("tensor")]
    assert sizes == ["tensor in memory; taller: more rows (up to 8), thicker: more columns (up to 64)"]


def test_a_watched_trace_opens_as_a_score_and_other_levels_can_be_drawn_so():
    assert compiled_index().trace.level.grouping == "score"
    conflict = index_of("conflict")
    assert conflict.trace.level.grouping == "plates"
    assert len(picture(conflict, 0, group_by="score").view["nodes"]) == len(conflict.trace.graph_at(0).nodes)
    kinds = {seam.kind for step in conflict.trace.steps for seam in seams_at(conflict, step.index)}
    assert kinds <= {"next", "later"}  # a pattern that does not match is no refusal of a pair
