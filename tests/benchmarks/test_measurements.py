"""The benchmarks run, compare equal values, and report their conditions; on circuits that take seconds."""

import json
import math
from dataclasses import replace
from io import StringIO

import pytest
import torch
from rich.console import Console

import benchmarks
from benchmarks import compile_times, forward_times, peer as peers
from benchmarks.cases import FORWARD_CASES, GALLERY_CASES
from benchmarks.conditions import Conditions, write_json
from benchmarks.forward_times import COMPILED, FORWARD, MEASURED, TRAINING
from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError, UnknownNameError
from explorer.symbolic import InputLayer
from explorer.templates import load_named

needs_peer = pytest.mark.skipif(not benchmarks.peer_is_installed(), reason="libcirkit is not installed")


def text_of(table):
    console = Console(width=200, file=StringIO())
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_forward_times_without_the_peer(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "peer_is_installed", lambda: False)
    times = benchmarks.measure_forward(benchmarks.get_case("S1"), num_threads=1, repeats=2)
    assert (times.num_layers, times.peer_layers, times.difference, times.ratio(FORWARD)) == (7, None, None, None)
    assert set(times.ours) == set(MEASURED) - {COMPILED}
    assert all(len(seconds) == 2 and min(seconds) > 0 for seconds in times.ours.values())
    conditions = Conditions(1, 2, "malloc as it is", benchmarks.PACKAGE)
    write_json(tmp_path / "new" / "times.json", conditions, benchmarks.forward_to_json([times]))
    written = json.loads((tmp_path / "new" / "times.json").read_text())
    assert written["statistics"][0]["case"] == "S1"
    assert written["conditions"]["versions"]["torch"] == torch.__version__
    assert written["conditions"]["clock"] == "CPU time of the measuring thread"
    assert "S1" in text_of(benchmarks.forward_table([times]))


@needs_peer
@pytest.mark.peer
@pytest.mark.parametrize("name", ["S1", pytest.param("digits", marks=pytest.mark.fuzz)])
def test_forward_times_with_the_peer(name):
    times = benchmarks.measure_forward(benchmarks.get_case(name), num_threads=1, repeats=2)
    assert times.difference is not None
    assert times.difference < 1e-4
    assert times.peer_layers is not None
    assert set(times.peers) == set(times.peers_alone) == set(MEASURED) - {COMPILED}
    found = times.ratio(TRAINING)
    assert found is not None
    assert 0 < found < 10


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
def test_a_difference_from_the_peer_is_an_error_and_no_time(monkeypatch):
    """No benchmark may compare two programs that compute different things."""
    monkeypatch.setattr(forward_times, "RELATIVE_TOLERANCE", -1.0)
    with pytest.raises(CircuitError, match=r"S1: our outputs differ from the peer's by .* no time is reported"):
        benchmarks.measure_forward(benchmarks.get_case("S1"), num_threads=1, repeats=1)


def test_calm_values_keep_every_likelihood_above_the_peers_floor():
    """The peer clamps logarithms at -708; 784 uniform pixels of 256 grey levels are near -4,350."""
    case = benchmarks.get_case("L1")
    ours = TorchCompiler().compile(case.circuit()).eval()
    with torch.no_grad():
        assert float(ours(case.batch()[:8]).mean()) < -4000
        values, x = forward_times.calm_values(ours.leaf_state(), case)
        ours.load_leaf_state(values)
        assert float(ours(x[:8]).min()) > -600


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
