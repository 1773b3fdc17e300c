"""Steps, modes, layers and batches are timed with equal inputs after comparing their values."""

import dataclasses

import pytest
import torch

import explorer
from explorer import bench
from explorer.bench import candidates
from explorer.bench.programs import program
from explorer.bench.usage import measure_usage
from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError, UnknownNameError, ValueRangeError
from explorer.runtime.backends import BACKENDS
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    CircuitBuilder,
    ConstantInitializer,
    GaussianLayer,
    Parameterization,
    TensorParameter,
)
from explorer.templates import CategoricalInput, gallery, hmm
from explorer.timings import LAYER, READ, SUM, WHOLE
from explorer.views import backend_bars
from tests.bench.conftest import FEW
from tests.runtime.circuits import has_compiler

needs_cuda = pytest.mark.skipif(bench.why_no_cuda() is not None, reason=bench.why_no_cuda() or "")


def mixed_circuit():
    b = CircuitBuilder()
    soft, real = Parameterization("softmax"), Parameterization()
    coin = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=3, probs=soft((2, 3))))
    same = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=soft((2, 2))))
    count = b.add(BinomialLayer(scope=(1,), num_output_units=2, total_count=4, probs=Parameterization("sigmoid")((2,))))
    height = b.add(
        GaussianLayer(scope=(3,), num_output_units=2, mean=real((2,)), stddev=Parameterization("softplus")((2,)))
    )
    return b.build(b.sum(b.hadamard(coin, same, count, height), num_units=1))


def median_of(timing):
    assert timing.estimate is not None
    return timing.estimate.median


def test_every_default_step_gets_a_median_inside_its_interval_and_memory(digits):
    run = bench.measure_steps(digits, name="digits", **FEW)
    assert [timing.step for timing in run.timings] == list(bench.default_steps(digits))
    for timing in run.timings:
        found = timing.estimate
        assert found is not None
        assert 0 < found.low <= found.median <= found.high
        assert timing.planned_bytes == digits.stats(timing.step)["activation_bytes"] * 8
        assert timing.layers == digits.stats(timing.step)["layers"]
        assert timing.peak_bytes
        assert timing.operators
        assert timing.one_row
    first, last = (timing.operators or 0 for timing in (run.timings[0], run.timings[-1]))
    assert first > 5 * last  # folding leaves fewer operators
    assert (run.circuit, run.kind, run.subject, run.cancelled) == ("digits", "forward", "steps", False)
    assert run.setup.clock == "CPU time of the measuring thread"
    assert run.setup.versions["torch"] == torch.__version__
    assert run.setup.limits["cpu"].flops_per_second > run.setup.limits["cpu"].bytes_per_second / 100
    assert run.options["preset"] == "default"


def test_threads_are_set_recorded_and_restored():
    trace = explorer.record(gallery.load_named("blackboard"))
    seen = []
    threads = torch.get_num_threads()
    run = bench.measure_steps(
        trace, [-1], num_threads=threads + 1, on_progress=lambda progress: seen.append(torch.get_num_threads()), **FEW
    )
    assert set(seen) == {threads + 1}
    assert torch.get_num_threads() == threads
    assert (run.setup.num_threads, run.setup.clock) == (threads + 1, "wall time")


def test_a_step_with_a_different_value_is_not_timed_and_has_a_reason(digits):
    wrong = digits.circuit_at(-1)
    with torch.no_grad():
        wrong.tensors[0].add_(torch.randn(wrong.tensors[0].shape, generator=torch.Generator().manual_seed(0)))

    class Wrong:
        graph, stats, reads = (getattr(digits.steps[-1].snapshot, name) for name in ("graph", "stats", "reads"))

        def circuit(self):
            return wrong

    last = dataclasses.replace(digits.steps[-1], snapshot=Wrong())
    trace = dataclasses.replace(digits, steps=(*digits.steps[:-1], last))
    run = bench.measure_steps(trace, [0, -1], **FEW)
    good, bad = run.timings
    assert good.estimate is not None
    assert bad.estimate is None
    assert bad.missing.startswith("no time: the output differs from the unoptimized one's on the CPU by")
    whole = bench.measure_layers(trace, **FEW).timings[0]
    assert (whole.estimate, whole.missing) == (None, bad.missing)


def test_the_values_are_those_the_trace_has_now():
    trace = explorer.record(gallery.load_named("blackboard"))
    with torch.no_grad():
        for tensor in trace.compiled.parameters():
            tensor.mul_(2.0)
    run = bench.measure_steps(trace, **FEW)
    assert all(timing.estimate for timing in run.timings)


def test_a_training_step_needs_something_that_learns():
    trace = explorer.record(gallery.load_named("blackboard"))
    run = bench.measure_steps(trace, [-1], kind="training", **FEW)
    assert run.timings[0].estimate is not None
    assert trace.compiled.tensors[0].grad is None
    b = CircuitBuilder()
    probs = TensorParameter((1, 2), initializer=ConstantInitializer([[0.5, 0.5]]), learnable=False)
    fixed = b.build(b.add(CategoricalLayer(scope=(0,), num_output_units=1, num_categories=2, probs=probs)))
    with pytest.raises(CircuitError, match="no learnable parameter"):
        bench.measure_steps(explorer.record(fixed), kind="training", **FEW)


def test_inputs_fit_every_layer_and_depend_on_the_seed():
    circuit = TorchCompiler().compile(mixed_circuit())
    x = bench.random_inputs(circuit, 500, seed=3)
    assert x.shape == (500, 4)
    assert sorted(set(x[:, 0].tolist())) == [0.0, 1.0]  # two layers read it, and one has only two states
    assert sorted(set(x[:, 1].tolist())) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert x[:, 2].abs().max() == 0  # it has no users
    assert 0.8 < float(x[:, 3].std()) < 1.2
    assert torch.equal(x, bench.random_inputs(circuit, 500, seed=3))
    assert not torch.equal(x, bench.random_inputs(circuit, 500, seed=4))
    with torch.no_grad():
        assert torch.isfinite(circuit(x)).all()
    digits = TorchCompiler().compile(gallery.load_named("digits"))
    assert bench.random_inputs(digits, 4).dtype == torch.int64


def test_all_four_modes_are_timed_and_named():
    run = bench.measure_modes(gallery.load_named("blackboard"), {"preset": "handbook", "fold": False}, **FEW)
    assert [timing.what for timing in run.timings] == ["as written", "optimized", "folded", "optimized and folded"]
    assert all(timing.estimate for timing in run.timings)
    assert (run.timings[0].layers, run.timings[3].layers) == (13, 4)


@has_compiler
def test_backends_are_timed_with_and_without_comparing_parameters(digits):
    run = bench.measure_backends(digits, 3, **FEW, total_seconds=100)
    by_what = {timing.what: timing for timing in run.timings}
    assert list(by_what)[:3] == ["layers", "native", "native, parameters compared"]
    assert set(BACKENDS) < set(by_what)
    assert all(timing.estimate or timing.missing for timing in run.timings)
    of_layers = by_what["layers"].peak_bytes
    for what in ("native", "native, parameters compared"):
        timing = by_what[what]
        assert timing.peak_bytes is not None
        assert of_layers is not None
        assert 0 < timing.peak_bytes < of_layers
        assert timing.rows_recomputed == 0, "rows of likely digits are certified"
        assert timing.roof_ms is not None
        assert timing.median is not None
        assert 0 < timing.roof_ms < timing.median
    assert by_what["layers"].rows_recomputed is None
    assert [row[-2] for row in backend_bars(run)["table"]["rows"]][:2] == ["", "✓ 8 rows certified"]
    with pytest.raises(CircuitError, match="compared by their forward passes, got kind='training'"):
        bench.measure_backends(digits, kind="training")


def test_layers_add_up_to_about_the_whole_forward_pass(digits):
    run = bench.measure_layers(digits, batch_size=64, max_seconds=3.0)
    whole, total = (next(t for t in run.timings if t.what == what) for what in (WHOLE, SUM))
    layers = [timing for timing in run.timings if timing.what == LAYER]
    assert [timing.node for timing in layers] == list(digits.circuit_at(-1).graph.nodes)
    assert sum(median_of(timing) for timing in layers) == pytest.approx(median_of(total), rel=0.3)
    assert median_of(total) == pytest.approx(median_of(whole), rel=0.5)
    circuit = digits.circuit_at(-1)
    copying = [node for node in circuit.graph.nodes if (read := circuit.reads(node)) and read.kind.copies]
    assert [timing.node for timing in run.timings if timing.what == READ] == copying
    assert copying


def test_a_sweep_times_each_size_and_refuses_sizes_that_do_not_fit(digits, monkeypatch):
    run = bench.measure_sweep(digits, batch_sizes=(64, 1, 8), max_seconds=0.2, precision=0.5)
    assert [timing.batch_size for timing in run.timings] == [1, 8, 64]
    assert all(timing.estimate for timing in run.timings)
    monkeypatch.setattr(candidates, "free_bytes", lambda: 4 * (run.timings[1].peak_bytes or 0))
    less = bench.measure_sweep(digits, batch_sizes=(1, 8, 64), max_seconds=0.2, precision=0.5)
    assert [timing.estimate is None for timing in less.timings] == [False, False, True]
    assert less.timings[2].missing == "no time: it would need about 0.0 GiB, and 0.0 GiB are free"


def test_a_missing_device_has_a_reason(digits):
    why = bench.why_no_cuda()
    if why is None:
        assert torch.cuda.is_available()
        return
    run = bench.measure_steps(digits, [-1], devices=("cpu", "cuda"), **FEW)
    assert run.missing == {"cuda": why}
    assert run.devices == ("cpu",)
    assert "CUDA" in why


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"devices": ("tpu",)}, UnknownNameError, "no device named 'tpu'; known are: cpu, cuda"),
        ({"devices": ()}, ValueRangeError, "devices must name at least one"),
        ({"kind": "backward"}, UnknownNameError, "no kind of run named 'backward'"),
        ({"batch_size": 0}, ValueRangeError, "batch_size must be at least 1; found 0"),
        ({"num_threads": 0}, ValueRangeError, "num_threads must be at least 1; found 0"),
        ({"precision": 1.0}, ValueRangeError, "precision must be between 0 and 1"),
        ({"max_seconds": 0.0}, ValueRangeError, "max_seconds must be above 0"),
        ({"steps": [99]}, UnknownNameError, "there is no step 99"),
    ],
)
def test_invalid_settings_are_refused(digits, options, error, message):
    with pytest.raises(error, match=message):
        bench.measure_steps(digits, **options)


def test_outputs_are_compared_in_the_semiring_of_the_circuit():
    x = torch.zeros(2, 40, dtype=torch.long)
    shared = hmm(range(40), CategoricalInput(4), num_latent_states=4)
    likelihoods = program(TorchCompiler(semiring="sum-product").compile(shared), (x,), "forward", "cpu")
    (tiny,) = likelihoods.outputs()
    assert float(tiny.max()) < 1e-4
    assert likelihoods.disagreement((tiny,)) == ""
    assert "differs" in likelihoods.disagreement((2 * tiny,))
    logarithms = program(TorchCompiler(semiring="complex-lse-sum").compile(shared), (x,), "forward", "cpu")
    (found,) = logarithms.outputs()
    assert logarithms.disagreement((found + 2j * torch.pi,)) == ""
    assert "differs" in logarithms.disagreement((found + 1,))


# ---------------------------------------------------------------------- on CUDA


@needs_cuda
@pytest.mark.cuda
@pytest.mark.parametrize("kind", ["forward", "training"])
def test_cuda_times_the_same_steps_with_the_same_values(digits, kind):
    run = bench.measure_steps(digits, devices=("cpu", "cuda"), kind=kind, **FEW)
    cpu, cuda = run.on("cpu"), run.on("cuda")
    assert [timing.step for timing in cpu] == [timing.step for timing in cuda]
    assert all(timing.estimate and timing.estimate.median > 0 and timing.peak_bytes for timing in cuda)
    assert run.setup.devices["cuda"] == torch.cuda.get_device_name()
    assert set(run.setup.limits) == {"cpu", "cuda"}


@needs_cuda
@pytest.mark.cuda
def test_cuda_layers_add_up_and_a_sweep_covers_both_devices(digits):
    run = bench.measure_layers(digits, devices=("cuda",), max_seconds=3.0)
    layers = [median_of(timing) for timing in run.timings if timing.what == LAYER]
    total = next(timing for timing in run.timings if timing.what == SUM)
    assert sum(layers) == pytest.approx(median_of(total), rel=0.3)
    swept = bench.measure_sweep(digits, batch_sizes=(1, 64, 1024), devices=("cpu", "cuda"), max_seconds=5.0)
    assert swept.devices == ("cpu", "cuda")
    crossing = bench.crossover(swept)
    assert crossing is None or 1 < crossing < 1024


@needs_cuda
@pytest.mark.cuda
def test_cuda_memory_is_the_growth_that_the_allocator_counts():
    x = torch.zeros(2**20, device="cuda")
    usage = measure_usage(lambda: x + 1, "cuda")
    assert usage.peak_bytes == 4 * 2**20
