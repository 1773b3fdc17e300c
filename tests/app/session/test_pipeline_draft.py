"""Editing a pipeline of passes, and its entries as strings of a link."""

import pytest

from explorer.app.session.pipeline_draft import PipelineDraft, entry_of, entry_text, pipeline_of
from explorer.errors import UnknownNameError, ValueRangeError
from explorer.rewrite import CompilationMode, ConvergenceMode, DCERequiredMode, FunctionPassConfig, FunctionPassPipeline

KNOWN = ("EmptyPass", "DCE", "CSE", "SinkCode")
SINK = FunctionPassConfig("SinkCode", ConvergenceMode.UNTIL_FIXED_POINT, {CompilationMode.INFER})
PIPELINE = FunctionPassPipeline.of("CSE", SINK, "DCE")


def test_an_entry_is_a_string_of_its_non_default_options():
    assert [entry_text(config) for config in PIPELINE] == ["CSE", "SinkCode:until_fixed_point:infer", "DCE"]
    assert entry_text(FunctionPassConfig("CSE", dce=DCERequiredMode.NONE)) == "CSE:none"


@pytest.mark.parametrize("config", [*PIPELINE, FunctionPassConfig("CSE", dce=DCERequiredMode.NONE)])
def test_pipeline_texts_round_trip(config):
    assert entry_of(entry_text(config), KNOWN) == config


@pytest.mark.parametrize("text", ["Nothing", "CSE:often"])
def test_an_unknown_pass_or_word_is_an_error_that_lists_the_known(text):
    with pytest.raises(UnknownNameError, match="known are"):
        pipeline_of([text], KNOWN)


def test_a_draft_can_be_reordered_toggled_edited_and_extended():
    draft = PipelineDraft.of(PIPELINE)
    assert draft.labels == ("1. CSE", "2. SinkCode, until nothing changes, only to infer", "3. DCE")
    assert draft.move(0, 1).pipeline.pass_ids == ("SinkCode", "CSE", "DCE")
    assert draft.move(0, -1) == draft
    assert draft.switch(0, on=False).pipeline.pass_ids == ("SinkCode", "DCE")
    assert draft.switch(0, on=False).labels[0] == "1. CSE (off)"
    assert draft.change(1, convergence=ConvergenceMode.ONE_PASS).texts == ("CSE", "SinkCode:infer", "DCE")
    assert draft.insert(1, "DCE", KNOWN).texts == ("CSE", "DCE", "SinkCode:until_fixed_point:infer", "DCE")
    assert draft.remove(1).texts == ("CSE", "DCE")


def test_missing_entries_cannot_be_edited():
    draft = PipelineDraft.of(PIPELINE)
    with pytest.raises(ValueRangeError, match="none at position 4"):
        draft.remove(3)
    with pytest.raises(UnknownNameError):
        draft.insert(0, "Nothing", KNOWN)
