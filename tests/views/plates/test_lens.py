"""The rule lens as data: what a match binds, where a near miss stopped and why, who won a conflict."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from inline_snapshot import snapshot

import explorer
from explorer.compiler import TorchCompiler
from explorer.templates import gallery
from explorer.trace import KeptNearMisses, MatchRefused, Trace
from explorer.views import TraceIndex, add_what_ifs, offer_what_ifs, picture
from explorer.views.hulls import stops_of
from explorer.views.plates import lens
from tests.views.showing import index_of, marks_of


def before(index, step, near_misses=None):
    return picture(index, step, "before", group_by="plates", near_misses=near_misses).view


def with_near_misses(trace, misses, over: Mapping[str, int] = MappingProxyType({})):
    """The trace as if the recorder had kept these near misses of step 3, and had counted some more."""
    entry = replace(trace.step(3), near_misses=lambda: KeptNearMisses(misses, over))
    return replace(trace, steps=(*trace.steps[:3], entry, *trace.steps[4:]))


def lenses(view, kind):
    return [
        hull["lens"] for hull in (*view["hulls"], *view.get("misses", ())) if hull["kind"] == kind if "lens" in hull
    ]


def test_a_match_binds_layers_root_first_and_says_what_it_becomes():
    view = before(index_of("digits"), 3)
    first = lenses(view, "match")[0]
    assert not first.get("at_least")
    assert (first["rule"], first["count"], first.get("saved"), first.get("made")) == snapshot(
        ("Candecomp", 16, 1, [{"title": "CPT", "kind": "fused"}])
    )
    assert first["attempts"][0] == snapshot({"cells": [144, 68]})


def test_a_conflict_has_both_sides_and_the_reason_of_the_winner():
    view = before(index_of("conflict"), 3)
    (won,), (lost,) = lenses(view, "winner"), lenses(view, "lost")
    assert won["attempts"][0] == snapshot(
        {
            "cells": [6, 5],
            "verdict": "It wins #5 against Candecomp. "
            "Equal size (2 = 2): SumCollapse is nearer to the outputs, so it wins.",
            "rival": {"rule": "Candecomp", "cells": [5, 4]},
        }
    )
    assert lost["attempts"][0] == snapshot(
        {
            "cells": [5, 4],
            "verdict": "It loses #5 to SumCollapse. "
            "Equal size (2 = 2): SumCollapse is nearer to the outputs, so it wins.",
            "rival": {"rule": "SumCollapse", "cells": [6, 5]},
        }
    )
    assert "made" not in lost


def test_matches_are_numbered_through_all_stops_and_near_misses_on_their_own(monkeypatch):
    monkeypatch.setattr(lens, "MAX_NEAR_MISSES", 1)
    view = before(index_of("near-misses"), 3)
    shown = [hull["lens"] for hull in (*view["hulls"], *view.get("misses", ())) if "lens" in hull]
    places = [(one["noun"], one["first"], one["total"], one["stop"]) for one in shown]
    assert [place for place in places if place[0] == "Match"] == snapshot(
        [
            ("Match", 1, 6, "stop 1 of 3: CategoricalLogSoftmax: 4 matches"),
            ("Match", 5, 6, "stop 2 of 3: SumCollapse"),
            ("Match", 6, 6, "stop 3 of 3: Candecomp"),
        ]
    )
    more = ". Not shown: 13 attempts at layers of another type"
    assert [place for place in places if place[0] == "Near miss"][:3] == [
        ("Near miss", 1, 13, f"stop 1 of 10: Candecomp: 1 near miss{more}"),
        ("Near miss", 2, 13, f"stop 2 of 10: Candecomp: 2 near misses (the first 1 one by one){more}"),
        ("Near miss", 4, 13, f"stop 3 of 10: Mixing: 1 near miss{more}"),
    ]


def test_a_near_miss_stops_at_the_layer_that_refused_with_the_lines_to_blame():
    view = before(index_of("near-misses"), 3)
    (users,) = (one for one in lenses(view, "near-miss") if one.get("sign") == "feeds 2 or more layers")
    assert (users["rule"], users["count"]) == ("Candecomp", 2)
    assert users["attempts"][0] == snapshot(
        {
            "cells": [6, 5],
            "verdict": "It stops at 1: #5 is read by 2 nodes; only the first entry may be read by more than one.",
            "question": 5,
            "lines": [5, 6, 5, 7],
        }
    )
    questions = [question for entry in view.get("rules", {})["Candecomp"]["finds"] for question in entry["questions"]]
    assert questions[users["attempts"][0].get("question", -1)] == "is it read by at most one node?"
    (inputs,) = (
        one for one in lenses(view, "near-miss") if one["rule"] == "SumCollapse" and "has 2" in one.get("sign", "")
    )
    assert inputs["attempts"][0].get("lines") == snapshot([6, 8, 7, 8])


def test_closest_near_misses_are_first_and_those_of_the_chosen_pattern_are_drawn():
    index = index_of("near-misses")
    progress = [
        miss.refusal.progress
        for stop in stops_of(index, 3, None)[1]
        for miss in stop.attempts[:1]
        if isinstance(miss, MatchRefused)
    ]
    assert progress == sorted(progress, reverse=True)
    view = before(index, 3, near_misses="Tucker")
    assert {hull["lens"]["rule"] for hull in view["hulls"] if hull["kind"] == "near-miss" if "lens" in hull} == {
        "Tucker"
    }
    assert not [hull for hull in view.get("misses", ()) if "lens" in hull and hull["lens"]["rule"] == "Tucker"]


def test_a_rule_is_a_small_picture_with_its_questions():
    rules = before(index_of("near-misses"), 3).get("rules", {})
    assert rules["Candecomp"] == snapshot(
        {
            "name": "Candecomp",
            "meaning": "A sum over a Hadamard product is one layer: a product, then a matrix.",
            "finds": [
                {
                    "title": "Sum",
                    "kind": "sum",
                    "questions": [
                        "is it a Sum layer?",
                        "does it read at most one node?",
                        "is arity 1?",
                        "does it read a node?",
                    ],
                    "place": "2",
                },
                {
                    "title": "Hadamard",
                    "kind": "product",
                    "questions": ["is it a Hadamard layer?", "is it read by at most one node?", "is it not an output?"],
                    "place": "1",
                },
            ],
            "makes": [{"title": "CPT", "kind": "fused"}],
        }
    )
    assert rules["Tucker"]["makes"] == []  # it has no match in this trace
    assert rules["SumCollapse"]["finds"][1]["questions"][-1] == "does the rule accept it?"


def test_declined_match_has_bound_all_entries_and_fails_the_last_question():
    compiler = TorchCompiler()
    rule = compiler.rules.fuse.rules["SumCollapse"].with_guard(lambda _, match: "not today")
    compiler.rules.fuse.rules["SumCollapse"] = rule
    index = TraceIndex(explorer.record(gallery.load_named("conflict"), compiler=compiler))
    step = next(step.index for step in index.trace.steps if step.pass_name == "fuse")
    view = before(index, step)
    (declined,) = (one for one in lenses(view, "near-miss") if one.get("sign") == "the rule declined")
    questions = [question for entry in view.get("rules", {})["SumCollapse"]["finds"] for question in entry["questions"]]
    assert declined["attempts"][0]["cells"] == [6, 5]
    assert questions[declined["attempts"][0].get("question", -1)] == "does the rule accept it?"
    assert declined["attempts"][0].get("verdict") == "The pattern matches, but the rule declined: not today."


def test_many_matches_are_counted_and_the_first_are_shown_one_by_one(monkeypatch):
    monkeypatch.setattr(lens, "MAX_ATTEMPTS", 3)
    first = lenses(before(index_of("digits"), 3), "match")[0]
    assert (first["count"], len(first["attempts"])) == (16, 3)


def test_a_file_has_the_same_lenses_and_an_old_one_those_without_questions(tmp_path):
    index = index_of("near-misses")
    index.trace.save(tmp_path / "t.json")
    loaded = TraceIndex(Trace.load(tmp_path / "t.json"))
    assert before(loaded, 3).get("misses") == before(index, 3).get("misses")
    assert before(loaded, 3).get("rules") == before(index, 3).get("rules")
    text = (tmp_path / "t.json").read_text().replace('"questions"', '"unknown"')
    (tmp_path / "old.json").write_text(text)
    old = before(TraceIndex(Trace.load(tmp_path / "old.json")), 3)
    assert old.get("rules", {})["SumCollapse"]["finds"][0]["questions"] == ["is it a Sum layer?"]
    assert {attempt.get("question") for lens in lenses(old, "near-miss") for attempt in lens["attempts"]} == {None}


def test_plate_counts_blocked_matches_and_marks_the_layers_that_blocked_them():
    nodes = before(index_of("near-misses"), 3)["nodes"]
    plates = [(node["title"], node["plate"]["news"], marks_of(node["plate"])) for node in nodes if "plate" in node]
    assert [plate for plate in plates if plate[1] or "near-miss" in plate[2]] == snapshot(
        [
            ("Hadamard", "", {"near-miss": [0]}),
            ("Sum", "2 of 3 blocked", {"matched": [2]}),
            ("Hadamard", "", {"near-miss": [0]}),
            ("Sum", "blocked", {}),
        ]
    )
    assert not any(node["plate"]["news"] for node in before(index_of("digits"), 3)["nodes"] if "plate" in node)


def test_counts_say_at_least_if_the_recorder_did_not_keep_all_refusals():
    trace = explorer.record(gallery.load_named("near-misses"))
    view = before(TraceIndex(with_near_misses(trace, trace.step(3).refusals, {"Candecomp": 5})), 3, "Candecomp")
    labels = {hull["label"] for hull in view["hulls"] if hull["kind"] == "near-miss"}
    assert labels
    assert all(label.startswith("Candecomp: at least ") for label in labels)
    news = [node["plate"]["news"] for node in view["nodes"] if "plate" in node]
    assert "at least 2 of 3 blocked" in news


def test_near_misses_of_one_hull_that_differ_in_the_third_are_an_example():
    index = index_of("near-misses")
    miss = index.step(3).refusals[0]
    third = miss._replace(refusal=miss.refusal._replace(found="another"))
    other = TraceIndex(with_near_misses(index.trace, (miss, miss, third)))
    (stop,) = stops_of(other, 3, miss.refusal.pattern)[0][-1:]
    assert stop.view["reason"].startswith("for example: ")


def test_the_state_after_has_no_lenses():
    assert "rules" not in picture(index_of("conflict"), 3, "after", group_by="plates").view
    assert "rules" not in picture(index_of("conflict"), 3, "plain", group_by="plates").view


def what_if(index, step, sign):
    view = before(index, step)
    add_what_ifs(index, view)
    return next(one for one in lenses(view, "near-miss") if sign in one.get("sign", "")).get("what_if")


def test_near_miss_knows_what_would_match_without_the_question_that_refused_it():
    index = index_of("near-misses")
    assert what_if(index, 3, "feeds 2") == snapshot(
        {
            "text": "Candecomp would match 2 more times (3 in place of 1): "
            "#6 + #5, #7 + #5. "
            "Only one of the two could be applied, because they overlap. "
            "Other layers read a layer inside the match, so it would be computed twice.",
            "matches": [[6, 5], [7, 5]],
        }
    )
    assert what_if(index, 3, "arity differs") == snapshot(
        {
            "text": "Mixing would still match nowhere. "
            "The attempt at #4 would stop at a later question: "
            "the parameter 'weight' of #4 does not match MixingWeightOut "
            "(node 1 is a Softmax parameter, not a MixingWeight parameter).",
            "matches": [],
        }
    )
    assert what_if(index, 3, "is an output") == snapshot(
        {
            "text": "Candecomp would match once more (2 in place of 1): "
            "#13 + #12. "
            "It overlaps no other match. "
            "An output of the circuit would be lost inside the match.",
            "matches": [[13, 12]],
        }
    )
    assert what_if(index, 3, "has 2") is None


def test_each_stop_has_the_answer_to_its_own_attempt():
    index = index_of("near-misses")
    view = before(index, 3)
    add_what_ifs(index, view)
    found = [one for one in lenses(view, "near-miss") if one["rule"] == "Mixing" and "arity" in one.get("sign", "")]
    roots = [one["attempts"][0]["cells"][0] for one in found]
    assert len(set(roots)) > 1
    for root, one in zip(roots, found, strict=True):
        assert "what_if" in one
        assert f"The attempt at #{root} would stop at a later question" in one["what_if"]["text"]


def test_a_match_that_is_switched_off_is_gained_only_if_it_is_asked_about():
    trace = explorer.record(gallery.load_named("near-misses"), TorchCompiler(skip=("Candecomp@10",)))
    misses = [miss for miss in trace.step(3).refusals if miss.refusal.pattern == "Candecomp"]
    gained = {miss.refusal.root: trace.what_if(miss, 3).matches for miss in misses}
    assert gained == snapshot(
        {4: (), 6: ((6, 5), (7, 5)), 7: ((6, 5), (7, 5)), 8: (), 11: (), 13: ((13, 12),), 10: ((10, 9),)}
    )


def test_only_matches_that_were_declined_for_the_same_reason_are_gained():
    options = TorchCompiler(skip=("CategoricalLogSoftmax@0", "CategoricalLogSoftmax@1"))
    trace = explorer.record(gallery.load_named("near-misses"), options)
    step = trace.step(3)
    first, *others = [miss for miss in step.refusals if miss.refusal.pattern == "CategoricalLogSoftmax"]
    assert trace.what_if(first, step).matches == snapshot(((0,), (1,)))
    other = others[0]._replace(refusal=others[0].refusal._replace(found="the axes differ"))
    cut = with_near_misses(trace, (first, other))
    assert cut.what_if(other, 3).matches == snapshot(((1,),))


def test_a_loaded_trace_offers_no_answer_that_it_does_not_have(tmp_path):
    trace = index_of("near-misses").trace
    trace.save(tmp_path / "t.json.gz")
    index = TraceIndex(Trace.load(tmp_path / "t.json.gz"))
    assert what_if(index, 3, "feeds 2") is None
    view = before(index, 3)
    offer_what_ifs(index, view)
    assert not any("what_if" in lens for lens in lenses(view, "near-miss"))


def test_the_number_of_near_misses_is_a_bound_where_the_recorder_kept_fewer():
    index = index_of("near-misses")
    misses = index.step(3).refusals
    view = before(TraceIndex(with_near_misses(index.trace, misses, {"Candecomp": 7})), 3)
    assert all(lens.get("at_least") for lens in lenses(view, "near-miss"))
    assert not any(lens.get("at_least") for kind in ("match", "winner", "lost") for lens in lenses(view, kind))
