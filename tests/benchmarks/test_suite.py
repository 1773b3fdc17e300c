"""The suite compares what computes the same, refuses what does not, and says what is wanted; on small circuits."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch._C._autograd import DeviceType
from typer.testing import CliRunner

import benchmarks
from benchmarks import device_times, peer as peers, suite, suite_entrants, suite_report
from benchmarks.allocations import kept_bytes, peak_bytes
from benchmarks.cases import Case
from benchmarks.opponent import HandWrittenCircuit
from benchmarks.opponent_layout import plan_layout
from benchmarks.suite import SuiteRow, faster_median
from benchmarks.suite_entrants import (
    COMPARED,
    HAND_WRITTEN,
    LAYERS,
    LAYERS_COMPILED,
    OPPONENTS,
    PEER,
    PEER_COMPILED,
    PEER_GRAPHS,
    WRITTEN_GRAPHS,
    Entrant,
    calm_values,
    enter,
    names_for,
)
from benchmarks.suite_report import opponents_of, suite_notes
from benchmarks.wanted import outcomes
from explorer.app.cli import app
from explorer.bench import why_no_cuda
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime import BACKENDS
from explorer.templates import load_named
from tests.benchmarks.test_measurements import needs_peer, text_of
from tests.runtime.circuits import has_compiler

UNCOMPILED = ("native", COMPARED, LAYERS, PEER)
compiles = pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")
"""Modules that Inductor imports use it."""
TINY = Case("tiny", (1, 4, 4), "quad-graph", "cp", 4, "categorical", 16, 8)


def row_of(case="L1", training=False, refused="", **seconds):
    samples = {name.replace("_", " "): (one, one, 9 * one) for name, one in seconds.items()}
    names = {"peer": PEER, "compiled": PEER_COMPILED, "graphs": PEER_GRAPHS, "written": HAND_WRITTEN}
    samples = {names.get(name, name): one for name, one in samples.items()}
    temporaries = dict.fromkeys(samples, 100)
    return SuiteRow(case, 1, training, ("native",), samples, {}, temporaries, 0.0, {}, None, refused)


@pytest.mark.parametrize(
    ("layer", "region_graph", "inputs"),
    [
        ("cp", "quad-graph", "categorical"),
        ("cp-t", "quad-tree-4", "gaussian"),
        ("tucker", "quad-tree-2", "categorical"),
        ("tucker", "quad-graph", "gaussian"),
        ("cp", "random-binary-tree", "gaussian"),
    ],
)
def test_the_hand_written_opponent_computes_the_circuit(layer, region_graph, inputs):
    case = replace(TINY, shape=(1, 7, 7), sum_product_layer=layer, region_graph=region_graph, input_layer=inputs)
    circuit = TorchCompiler().compile(case.circuit())
    written, x = HandWrittenCircuit(circuit.freeze()), case.batch()
    with torch.no_grad():
        torch.testing.assert_close(written(x), circuit(x), rtol=1e-6, atol=0)  # float32 on |LL| near 100


def test_the_opponents_layout_reads_a_tree_as_views():
    """In a tree all first arguments of a layer are next to each other, and all second ones."""
    case = replace(TINY, shape=(1, 8, 8), region_graph="quad-tree-2", sum_product_layer="cp-t")
    layout = plan_layout(TorchCompiler().compile(case.circuit()))
    assert [len(pieces) for pieces in layout.pieces.values()] == [1] * 6
    assert all(sorted(order) == list(range(len(order))) for order in layout.order.values())


def test_the_opponent_refuses_a_layer_that_it_does_not_have():
    with pytest.raises(LoweringError, match=r"the hand-written circuit has no Torch\w+Layer"):
        HandWrittenCircuit(TorchCompiler().compile(load_named("kronecker")).freeze())


@has_compiler
@needs_peer
@pytest.mark.peer
@pytest.mark.parametrize("training", [False, True])
def test_a_row_of_the_suite(training):
    row = benchmarks.measure_suite(TINY, num_threads=1, repeats=2, training=training, only=UNCOMPILED)
    assert row.ours == ("native", LAYERS if training else COMPARED)
    assert set(row.samples) == set(row.temporary_bytes) == {*row.ours, PEER}
    assert set(row.alone) == {PEER}
    assert row.difference < 1e-4
    assert row.peer_clamps is None, "no log-likelihood of 16 pixels is below -708"
    assert min(row.temporary_bytes.values()) > 0
    assert not row.refused or "not quiet" in row.refused


@has_compiler
@needs_peer
@pytest.mark.peer
@pytest.mark.fuzz
@compiles
def test_a_row_of_all_entrants():
    """Half a minute, for what torch.compile compiles."""
    row = benchmarks.measure_suite(TINY, num_threads=1, repeats=2)
    assert {"native", PEER, PEER_COMPILED, HAND_WRITTEN} <= set(row.samples)
    assert row.difference < 1e-4


@needs_peer
@pytest.mark.peer
@pytest.mark.fuzz
@compiles
@pytest.mark.filterwarnings("ignore::FutureWarning")  # PyTorch's own
@pytest.mark.parametrize("training", [False, True])
def test_all_entrants_of_cuda_compute_the_same_on_the_cpu(training):
    """Two minutes, for what torch.compile compiles."""
    names = names_for("cuda", training)
    field = enter(TINY, training=training, only=names)
    assert not field.refused
    assert set(names) - set(field.entrants) <= set(BACKENDS), field.absent
    assert set(field.entrants) >= ({"native"} if training else {"native", "torch"}), field.absent


@pytest.mark.cuda
@pytest.mark.skipif(why_no_cuda() is not None, reason=why_no_cuda() or "")
@pytest.mark.parametrize("training", [False, True])
def test_a_row_on_cuda(training):
    only = ("native", "torch", COMPARED, LAYERS, PEER)
    row = benchmarks.measure_suite(TINY, num_threads=1, repeats=2, training=training, only=only, device="cuda")
    assert row.absent["native"] == "a tensor is on cuda, and the kernels run on the CPU"
    assert set(row.ours) == ({LAYERS} if training else {"torch", COMPARED, LAYERS})
    assert min(row.temporary_bytes[name] for name in row.ours) > 0
    assert not row.refused
    assert row.difference < 1e-4
    assert "forward" in text_of(benchmarks.suite_table(row)) or training


def test_cuda_has_further_entrants():
    assert set(names_for("cuda", False)) - set(names_for("cpu", False)) == {LAYERS, PEER_GRAPHS, WRITTEN_GRAPHS}
    assert set(names_for("cuda", True)) - set(names_for("cpu", True)) == {LAYERS_COMPILED, PEER_GRAPHS}
    found = CliRunner().invoke(app, ["bench", "suite", "S1", "--only", PEER_GRAPHS])
    assert found.exit_code == 2
    assert "entrant" in found.output


def test_an_entrant_that_fails_is_absent(monkeypatch):
    def fail(module, mode=None):
        raise RuntimeError("no such kernel\nin a stack of calls")

    monkeypatch.setattr(suite_entrants, "_compile", fail)
    monkeypatch.setattr(peers, "peer_is_installed", lambda: False)
    row = benchmarks.measure_suite(TINY, num_threads=1, repeats=1, only=(HAND_WRITTEN, "torch"))
    assert row.absent[HAND_WRITTEN] == "RuntimeError: no such kernel"
    assert set(row.samples) == {"torch"}


def test_without_cuda_the_command_says_why():
    if why_no_cuda() is None:
        pytest.skip("there is a CUDA device")
    found = CliRunner().invoke(app, ["bench", "suite", "L1", "--device", "cuda"])
    assert found.exit_code == 2
    assert found.output == f"Error: --device cuda needs a CUDA device: {why_no_cuda()}\n"
    assert "no device named 'tpu'" in CliRunner().invoke(app, ["bench", "suite", "--device", "tpu"]).output


def test_on_cuda_the_best_of_the_peer_is_that_of_all_its_modes():
    row = replace(row_of(native=1.0, peer=8.0, compiled=4.0, graphs=2.0, written=3.0), device="cuda")
    assert row.speedup("native", opponents_of(row)["best of libcirkit"]) == 2.0
    assert row.speedup("native", opponents_of(row)["strongest"]) is None, f"without {WRITTEN_GRAPHS}"
    failed = replace(row, absent={WRITTEN_GRAPHS: "RuntimeError: no such kernel"})
    assert row.speedup("native", opponents_of(failed)["strongest"]) == 2.0
    on_cpu = opponents_of(replace(row, device="cpu"))
    assert set(on_cpu["strongest"]) == set(OPPONENTS) - {PEER_GRAPHS, WRITTEN_GRAPHS}
    assert row.speedup("native", on_cpu["best of libcirkit"]) == 4.0


def test_a_table_on_cuda_has_no_unknown_memory_and_no_wanted_figures():
    row = replace(row_of(native=1.0, peer=8.0, graphs=2.0), device="cuda", temporary_bytes={"native": 2**20})
    assert "1.00" in text_of(benchmarks.suite_table(row))
    assert not outcomes([row])
    assert "| native against libcirkit: forward, CUDA | 8.0 | 8.0 |" in benchmarks.suite_markdown([row]).splitlines()


def test_a_difference_refuses_the_row(monkeypatch):
    monkeypatch.setattr(suite_entrants, "TOLERANCE", -1.0)
    monkeypatch.setattr(peers, "peer_is_installed", lambda: False)
    row = benchmarks.measure_suite(TINY, num_threads=1, repeats=1, training=True, only=(LAYERS,))
    assert "layers differs from double precision by" in row.refused
    assert not row.samples
    assert row.speedup(LAYERS, (PEER,)) is None
    assert "refused" in text_of(benchmarks.suite_table(row))


def test_samples_that_are_not_quiet_refuse_the_row(monkeypatch):
    monkeypatch.setattr(suite, "QUIET", -1.0)
    monkeypatch.setattr(peers, "peer_is_installed", lambda: False)
    row = benchmarks.measure_suite(TINY, num_threads=1, repeats=1, training=True, only=(LAYERS,))
    assert row.refused.startswith("samples are not quiet: ")
    assert {len(samples) for samples in row.samples.values()} == {suite.ATTEMPTS}
    assert row.memory_saving(LAYERS, LAYERS) is None


def test_a_peer_that_clamps_is_compared_where_it_does_not():
    """The released peer clamps logarithms at -708; 784 uniform pixels of 256 grey levels are near -4,350."""
    case = benchmarks.get_case("L1")
    ours = TorchCompiler().compile(case.circuit()).eval()
    with torch.no_grad():
        assert float(ours(case.batch()[:8]).mean()) < -4000
        values, x = calm_values(ours.leaf_state(), case)
        ours.load_leaf_state(values)
        assert float(ours(x[:8]).min()) > -600


def test_the_note_about_clamping_says_no_more_than_was_seen(monkeypatch):
    monkeypatch.setattr(suite_report, "versions", lambda peer: {PEER: "1.2"})
    row = row_of("L1", native=1.0, peer=2.0)
    found = [suite_notes([replace(row, peer_clamps=clamps)])[0] for clamps in (None, False, True)]
    assert "1.2 may clamp logarithms or not" in found[0]
    assert "does not clamp logarithms: its outputs agree with double precision below -708 (L1)" in found[1]
    assert "its outputs are wrong for L1" in found[2]


def test_the_notes_name_the_cases_in_which_an_entrant_is_absent():
    rows = [replace(row_of(case, native=1.0), absent={"torch": "too many reads"}) for case in ("L1", "L6", "L6")]
    assert "torch (L1, L6): too many reads." in suite_notes(rows)


def test_the_command_prints_each_case_and_writes_all_conditions(tmp_path):
    path = tmp_path / "suite.json"
    arguments = ["bench", "suite", "S1", "--threads", "1", "--threads", "2", "--repeats", "1", "--only", LAYERS]
    found = CliRunner().invoke(app, [*arguments, "--json", str(path)])
    assert found.exit_code == 0, found.output
    assert found.output.index("S1, forward, 1 thread") < found.output.index("S1, forward, 2 threads")
    assert [one["num_threads"] for one in json.loads(path.read_text())["conditions"]] == [1, 2]


class Counting(torch.nn.Module):
    """Counts its calls, and the gradients that its weight has when it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.calls = self.gradients = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.gradients += self.weight.grad is not None
        return x * self.weight


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(("threads", "calls"), [(1, 0), (2, 1)])
def test_with_several_threads_a_sample_is_the_second_call(training, threads, calls, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    module = Counting()
    job = Entrant(module, torch.ones(2, 1), training).job()
    for _ in range(2):
        module.calls = 0
        prepared = job.prepare()
        assert module.calls == calls
        job.run(prepared)
        assert (module.calls, module.gradients) == (calls + 1, 0)


def test_the_slower_half_of_the_samples_does_not_count():
    assert faster_median((3.0, 1.0, 2.0, 100.0, 200.0)) == 2.0


def test_an_opponent_is_as_fast_as_it_is_alone():
    row = row_of(native=1.0, peer=5.0)
    assert row.speedup("native", (PEER,)) == 5.0
    assert replace(row, alone={PEER: (4.0,)}).speedup("native", (PEER,)) == 4.0


def test_wanted_statistics_are_those_of_large_cases_and_rows_not_refused():
    rows = [
        row_of("L1", native=1.0, peer=25.0, compiled=8.0, written=4.0),
        row_of("L2", native=1.0, peer=4.0, compiled=4.0, written=4.0),
        row_of("L3", native=1.0, peer=1.0, compiled=1.0, written=1.0, refused="samples are not quiet"),
        row_of("S1", native=1.0, peer=1.0, compiled=1.0, written=1.0),
        row_of("L1", training=True, native=1.0, peer=3.0, compiled=2.0),
    ]
    found = {str(one.wanted): one for one in outcomes(rows)}
    first = found["forward: libcirkit"]
    assert (first.mean, first.worst, first.worst_case, first.num_cases) == (pytest.approx(10.0), 4.0, "L2", 2)
    assert first.is_met
    assert not found["forward: the best of libcirkit"].worst < 4.0
    step = found["training step: the best of libcirkit"]
    assert (step.mean, step.is_met) == (2.0, False)
    assert not found["forward: memory of libcirkit, torch.compile"].is_met
    assert "forward: libcirkit" in text_of(benchmarks.wanted_table(rows))
    assert not outcomes(rows[3:4]), "nothing is wanted of small cases"


def test_the_table_for_a_readme_has_a_column_per_case():
    rows = [
        row_of("L1", native=1.0, peer=16.0),
        row_of("L2", native=1.0, peer=4.0),
        row_of("L3", refused="no", peer=1.0),
    ]
    assert benchmarks.suite_markdown(rows).splitlines() == [
        "| times as fast as | L1 | L2 | L3 | geometric mean |",
        "|---|---|---|---|---|",
        "| libcirkit: forward, 1 thread | 16.0 | 4.0 |  | 8.0 |",
    ]


def test_peaks_of_pytorch_and_what_numpy_keeps():
    kept: list[object] = []
    assert peak_bytes(lambda: (torch.ones(1000) + torch.ones(1000)).sum()) == 3 * 4000  # not the sum, which comes later
    assert kept_bytes(lambda: kept.append(torch.ones(5).numpy().repeat(1000))) == 4 * 5000


def test_time_on_the_device_is_that_of_its_kernels(monkeypatch):
    """A profiler that has seen each run as a call of 8 µs on the CPU, and two kernels of 3 µs."""

    class Event:
        def __init__(self, device, ns):
            self.device_type, self.duration_ns = lambda: device, lambda: ns

    class Profiler:
        def __init__(self, **_):
            self.kineto_results = SimpleNamespace(events=lambda: [Event(*one) for one in seen])

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    seen: list[tuple[DeviceType, int]] = []
    runs = [(DeviceType.CPU, 8000), (DeviceType.CUDA, 3000), (DeviceType.CUDA, 3000)]
    monkeypatch.setattr(device_times, "profile", Profiler)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    assert device_times.device_seconds(lambda: seen.extend(runs)) == pytest.approx(6e-6)
    seen.clear()
    assert device_times.device_seconds(lambda: None) is None
