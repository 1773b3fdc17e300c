"""The page of all passes: what it lists is what the levels have and run."""

import pytest

import explorer
from explorer.passes import ON_REQUEST, PASSES, purposes_of
from explorer.recording import lowered_level
from explorer.templates import load_named
from explorer.trace import COMPILED, LEVELS

LOWERED = [level for level in LEVELS if level != COMPILED]


@pytest.mark.parametrize("level", LOWERED)
def test_page_lists_the_registered_passes(level: str):
    passes = lowered_level(level).passes
    assert {one.name for one in passes} == set(purposes_of(level))
    assert {one.name: one.doc for one in passes} == purposes_of(level)


@pytest.mark.parametrize("level", LOWERED)
def test_default_pipeline_is_the_page(level: str):
    listed = [entry.name for entry in PASSES[level]]
    assert [one.pass_id for one in lowered_level(level).pipeline] == listed
    assert not {entry.name for entry in ON_REQUEST.get(level, ())} & set(listed)


def test_compilation_runs_the_passes_of_the_page():
    steps = explorer.record(load_named("digits"), order_slices=True).steps
    ran = dict.fromkeys("fold" if step.at.names[0] == "fold" else step.pass_name for step in steps[1:])
    assert list(ran) == list(purposes_of(COMPILED))


@pytest.mark.parametrize("level", LEVELS)
def test_every_pass_on_the_page_has_a_purpose(level: str):
    assert {entry.name for entry in (*PASSES[level], *ON_REQUEST.get(level, ()))} == set(purposes_of(level))
