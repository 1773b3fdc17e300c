"""Recording, printing, saving and loading a chain takes work and memory in proportion to its length."""

import gc
import json
import tracemalloc
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
import torch

import explorer
from explorer.templates import hmm
from explorer.trace import Trace, trace_from_json
from explorer.trace.trace_files import trace_to_json
from tests.counting import num_calls

SHORT, LONG = 20, 80
LINEAR = 1.25 * LONG / SHORT
"""Linear work grows by 4, quadratic work by 16; the margin is for what does not depend on the length."""


def chain(length: int) -> explorer.Circuit:
    return hmm(range(length), num_latent_states=2, num_categories=2)


def kept_bytes(work: Callable[[Any], object], argument: object) -> int:
    """How many bytes the result of some work keeps allocated."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = [work(argument)]
        gc.collect()
        return tracemalloc.get_traced_memory()[0] * len(kept)
    finally:
        tracemalloc.stop()


def save(trace: Trace) -> str:
    return json.dumps(trace_to_json(trace))


def load(file: str) -> Trace:
    return trace_from_json(json.loads(file))


@cache
def trace_of(length: int) -> Trace:
    return explorer.record(chain(length))


def record(length: int) -> Trace:
    trace = explorer.record(chain(length))
    assert str(trace)
    assert save(trace)
    return trace


@pytest.mark.parametrize("work", [str, save, lambda trace: load(save(trace))])
def test_work_on_a_trace_grows_with_its_length_and_not_with_its_square(work):
    short, long = (num_calls(partial(work, trace_of(n))) for n in (SHORT, LONG))
    assert long < LINEAR * short


def test_recording_a_chain_makes_linearly_many_calls():
    explorer.record(chain(SHORT))
    short, long = (num_calls(partial(explorer.record, chain(n))) for n in (SHORT, LONG))
    assert long < LINEAR * short


def test_a_recorded_printed_and_saved_trace_keeps_linearly_many_bytes():
    record(SHORT)
    short, long = (kept_bytes(record, n) for n in (SHORT, LONG))
    assert long < LINEAR * short


def test_a_loaded_trace_keeps_linearly_many_bytes():
    files = [save(trace_of(n)) for n in (SHORT, LONG)]
    short, long = (kept_bytes(load, file) for file in files)
    assert long < LINEAR * short


def test_every_step_of_a_long_chain_is_executable_and_equal_to_its_loaded_graph():
    trace = trace_of(SHORT)
    again = load(save(trace))
    x = torch.zeros(2, SHORT, dtype=torch.long)
    wanted = trace.compiled(x)
    for step in reversed(trace.steps):
        torch.testing.assert_close(trace.circuit_at(step)(x), wanted)
        assert str(again.graph_at(step.index)) == str(trace.graph_at(step))
        assert again.step(step.index).snapshot.size == step.snapshot.size
    assert str(again) == str(trace)
