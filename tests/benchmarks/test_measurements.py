"""The benchmarks run, compare equal values, and report their conditions; on circuits that take seconds."""

import math
from dataclasses import replace
from io import StringIO

import pytest
import torch
from rich.console import Console

import benchmarks
from benchmarks import compile_times, peer as peers
from benchmarks.cases import FORWARD_CASES, GALLERY_CASES
from explorer.compiler import TorchCompiler
from explorer.errors import UnknownNameError
from explorer.symbolic import InputLayer
from explorer.templates import load_named

needs_peer = pytest.mark.skipif(not benchmarks.peer_is_installed(), reason="libcirkit is not installed")


def text_of(table):
    console = Console(width=200, file=StringIO())
    with console.capture() as captured:
        console.print(table)
    return captured.get()


@needs_peer
@pytest.mark.peer
@pytest.mark.parametrize("name", ["S2", pytest.param("M2", marks=pytest.mark.fuzz)])
def test_both_sides_agree_with_equal_values(name):
    """Mixing sums, Kronecker products, Gaussians: copied values result in equal outputs, calm or not."""
    case = replace(benchmarks.get_case(name), shape=(1, 4, 4), num_units=4, batch_size=8)
    source = case.circuit()
    ours = TorchCompiler().compile(source).eval()
    other = peers.compile_symbolic(peers.build_symbolic(case))
    order = peers.carry_values(source, ours.leaf_state(), other)
    x = case.batch()
    with torch.no_grad():
        torch.testing.assert_close(ours(x), other.module(x[:, order]), rtol=1e-5, atol=0)


@needs_peer
@pytest.mark.peer
def test_compile_times_with_the_peer():
    runs: list[str] = []
    times = benchmarks.measure_compile(benchmarks.get_case("digits"), repeats=2, on_run=runs.append)
    assert len(runs) == benchmarks.num_compile_runs(2, with_peer=True)
    assert (times.symbolic_layers, times.num_layers, times.peer_layers) == (170, 5, 5)
    assert times.ratio is not None
    assert {name: len(taken) for name, taken in times.samples.items()} == {"ours": 6, "ours, recorded": 6}
    assert {name: len(taken) for name, taken in times.beside_peer.items()} == {"ours": 2, "peer": 2}
    assert times.recording_overhead is not None
    assert times.recording_overhead > -1
    text = text_of(benchmarks.compile_table([times]))
    assert "digits" in text
    assert f"{times.ratio:.2f}" in text


def test_growth_is_compared_with_linear_growth(monkeypatch):
    times = benchmarks.measure_growth(("digits", "S2"), repeats=1)
    assert [entry.symbolic_layers for entry in times] == [170, 465]
    low, high = sorted(benchmarks.deviations_from_proportional(times))
    assert math.isclose(low, -high)
    assert "170" in text_of(benchmarks.growth_table(times))
    stats = benchmarks.compile_to_json((), times)
    assert stats["growth"][1]["case"] == "S2"
    assert compile_times.deviations_from_proportional(times) == benchmarks.deviations_from_proportional(times)


def test_an_unknown_case_lists_those_that_are_known():
    with pytest.raises(UnknownNameError, match="no benchmark case named 'L9'; known are: digits, mnist"):
        benchmarks.get_case("L9")


@pytest.mark.parametrize("name", FORWARD_CASES)
def test_benchmark_cases_build(name):
    case = FORWARD_CASES[name]
    circuit = case.circuit()
    inputs = [layer for layer in circuit.layers if isinstance(layer, InputLayer)]
    assert len(inputs) == circuit.num_variables == case.shape[1] * case.shape[2]
    assert {layer.num_output_units for layer in inputs} == {case.num_units}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.fuzz] * (name == "poon-domingos")) for name in GALLERY_CASES]
)
def test_a_case_of_the_gallery_is_that_circuit(name):
    assert str(GALLERY_CASES[name].circuit()) == str(load_named(name))
