"""The Triton kernels have the values of the circuit, with the same certificate as the native kernels.

They run on CUDA where there is a device, and elsewhere in Triton's interpreter: in a process of their own, as Triton
decides when it is imported. It is slow, so circuits are small here.
"""

import copy
import math
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import (
    BackendWarning,
    CertificateWarning,
    DataTypeError,
    LoweringError,
    ShapeError,
    ValueRangeError,
)
from explorer.runtime import Certificate, FastCircuit, fast
from explorer.runtime.cuda.launch_program import LaunchProgram
from explorer.runtime.plan import Kind
from explorer.symbolic import Circuit
from explorer.templates import load_named
from tests.fuzzing import examples
from tests.levels.modes import MODES, Mode, compile_circuit
from tests.lost_terms import CASES
from tests.runtime.circuits import assert_equal, doubled, image_circuit, rearranged_circuit
from tests.runtime.lossy import LOSSY, lossy_circuit
from tests.strategies import circuits, random_inputs

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CALLS = 2 if DEVICE == "cuda" else 1
"""On CUDA, the second call replays the graph."""
SIZE = (4, 4) if DEVICE == "cuda" else (2, 3)
"""The size of images in tests of values: some regions are divided in two ways, and mixed."""
SMALL = (4, 4) if DEVICE == "cuda" else (1, 3)
"""The size of images in all other tests."""
INTERPRETS = os.environ.get("TRITON_INTERPRET") == "1"

runs_kernels = pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETS, reason="runs in the process of the interpreter")
runs_only_on_cuda = pytest.mark.skipif(DEVICE == "cpu", reason="needs a CUDA device: it takes long in the interpreter")


def on_cuda(*values: object) -> list[object]:
    """Values of a parameter of a test that are tried on CUDA only: each as a tuple if there are several parameters."""
    return [
        pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=runs_only_on_cuda, id=str(one))
        for one in values
    ]


@pytest.mark.skipif(DEVICE == "cuda" or INTERPRETS, reason="starts the process of the interpreter")
@pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton, which pip has for Linux")
def test_the_kernels_in_the_interpreter():
    files = sorted(map(str, Path(__file__).parent.glob("test_triton*.py")))
    command = [sys.executable, "-m", "pytest", *files, "-q", "-n", "0", "-p", "no:cacheprovider"]
    run = subprocess.run(command, env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-4000:]
    assert " passed" in run.stdout


@torch.no_grad()
def assert_computes(circuit: TorchCircuit, x: Tensor) -> FastCircuit:
    circuit, x = circuit.to(DEVICE), x.to(DEVICE)
    made = fast(circuit, backend="triton")
    assert made.why_not(x) == ""
    for _ in range(CALLS):
        found = made(x)
        assert found.dtype == torch.float32
        assert_equal(found, doubled(circuit)(x))
    assert made.certificate is not None
    assert made.certificate.rows == len(x)
    return made


@runs_kernels
@pytest.mark.parametrize("name", ["probabilities near 1", "narrow density", *on_cuda(*LOSSY)])
def test_what_single_precision_would_lose(name: str):
    assert_computes(*lossy_circuit(name))


@runs_kernels
@torch.no_grad()
@pytest.mark.parametrize(
    "name", ["identity, 16.0", "identity, 40.0", "mixing, 40.0", "products, 40.0", *on_cuda(*CASES)]
)
def test_no_term_is_lost_next_to_a_larger_input_of_weight_zero(name: str):
    circuit, x, wanted = CASES[name]()
    found = assert_computes(TorchCompiler().compile(circuit), torch.from_numpy(x).float())(
        torch.from_numpy(x).float().to(DEVICE)
    )
    np.testing.assert_allclose(found.flatten().cpu(), wanted, rtol=2e-6)


@runs_kernels
@pytest.mark.parametrize("name", ["levels", *on_cuda("blackboard", "logic", "digits")])
def test_a_circuit_of_the_gallery(name: str):
    circuit = load_named(name)
    x = random_inputs(circuit, 7)
    assert x is not None
    made = assert_computes(compile_circuit(circuit), torch.from_numpy(np.ascontiguousarray(x)))
    # No random row is a model of the formula, and minus infinity is computed again.
    assert made.certificate == Certificate(7, 7 if name == "logic" else 0)


@runs_kernels
@pytest.mark.parametrize(("sizes", "axes"), [((3, 2), (1, 0)), *on_cuda(((6, 5), (0, -1)), ((40, 6), (-1, 0)))])
def test_rearranged_units(sizes: tuple[int, ...], axes: tuple[int, ...]):
    x = torch.cartesian_prod(torch.arange(2), torch.arange(2)).repeat(5, 1)
    assert assert_computes(rearranged_circuit(sizes, axes), x).certificate == Certificate(20, 0)


@runs_kernels
@examples(10 if DEVICE == "cuda" else 2)
@given(
    circuits(positive=True),
    st.integers(0, 2**16),
    st.sampled_from([1, 3, 17]),
    st.sampled_from(MODES),
)
def test_random_circuits(circuit: Circuit, seed: int, batch: int, mode: Mode):
    x, compiled = random_inputs(circuit, batch, seed), compile_circuit(circuit, **mode)
    if x is None:
        return
    try:
        LaunchProgram(compiled)
    except LoweringError:
        return  # a kind of kernel call that Triton has not
    assert_computes(compiled, torch.from_numpy(np.ascontiguousarray(x)))


def image(layer: str, kind: str, units: int = 8, classes: int = 1) -> TorchCircuit:
    return TorchCompiler().compile(image_circuit(*SIZE, layer=layer, units=units, inputs=kind, classes=classes))


def rows(kind: str, count: int = 20) -> Tensor:
    random = torch.Generator().manual_seed(count)
    if kind == "gaussian":
        return torch.randn(count, math.prod(SIZE), generator=random)
    return torch.randint(256, (count, math.prod(SIZE)), generator=random)


@runs_kernels
@pytest.mark.parametrize(
    ("layer", "kind", "scales"),
    [
        ("cp", "gaussian", (0.01,)),
        ("tucker", "categorical", (160,)),
        *on_cuda(
            ("cp", "categorical", (20, 160)), ("cp-t", "categorical", (20, 160)), ("tucker", "gaussian", (0.1, 0.01))
        ),
    ],
)
def test_no_row_is_finite_and_wrong_however_sharp_the_distributions(layer: str, kind: str, scales: tuple[float, ...]):
    compiled = image(layer, kind)
    initial = compiled.leaf_state()
    recomputed = []
    for scale in scales:
        deviations = {name: torch.logit(torch.sigmoid(v) * scale) for name, v in initial.items() if "stddev" in name}
        logits = {} if kind == "gaussian" else {name: v * scale for name, v in initial.items()}
        compiled.load_leaf_state({**initial, **deviations, **logits})
        made = assert_computes(compiled, rows(kind))
        assert made.certificate is not None
        recomputed.append(made.certificate.rows_recomputed)
    assert all(count == 0 for count in recomputed) if kind == "gaussian" else recomputed[-1] > 0


@runs_kernels
@pytest.mark.parametrize(
    ("layer", "units", "classes"),
    [("cp", 70, 300), ("tucker", 17, 2), *on_cuda(("cp", 1, 1), ("cp", 17, 2), ("tucker", 3, 5), ("tucker", 20, 300))],
)
def test_widths_and_classes(layer: str, units: int, classes: int):
    if layer == "tucker" and units > 64:
        units = 20
    assert_computes(image(layer, "categorical", units, classes), rows("categorical", 5))


@runs_kernels
@runs_only_on_cuda
@pytest.mark.parametrize("layer", ["cp", "cp-t", "tucker"])
@pytest.mark.parametrize("batch", [1, 31, 256, 1000])
def test_a_large_batch_of_wide_units(layer: str, batch: int):
    circuit = image_circuit(28, 28, "quad-tree-2", layer, units=48)
    x = torch.randint(256, (batch, 784), generator=torch.Generator().manual_seed(batch))
    assert_computes(TorchCompiler().compile(circuit), x)


# ---------------------------------------------------------------------- calls and parameters


@pytest.fixture
def small() -> TorchCircuit:
    return TorchCompiler().compile(image_circuit(*SMALL, "quad-tree-2", units=4, states=17)).to(DEVICE)


def pixels(count: int = 5) -> Tensor:
    return torch.randint(17, (count, math.prod(SMALL)), generator=torch.Generator().manual_seed(count)).to(DEVICE)


@runs_kernels
@torch.no_grad()
def test_types_of_x(small: TorchCircuit):
    made, x = fast(small, backend="triton"), pixels()
    for dtype in (
        torch.uint8,
        torch.float64,
        *((torch.int32, torch.float32, torch.float16) if DEVICE == "cuda" else ()),
    ):
        assert torch.equal(made(x.to(dtype)), made(x))
        assert torch.equal(made(x.to(dtype).t().contiguous().t()), made(x))


@runs_kernels
@torch.no_grad()
def test_a_type_that_kernels_do_not_read_is_read_as_another():
    circuit, x = image("cp", "gaussian", 2).to(DEVICE), rows("gaussian", 3).to(torch.float8_e4m3fn).to(DEVICE)
    torch.testing.assert_close(fast(circuit, backend="triton")(x), circuit(x.float()))


@runs_kernels
@torch.no_grad()
def test_bad_input_is_refused_as_by_the_circuit(small: TorchCircuit):
    made = fast(small, backend="triton")
    for x in (pixels() + 12, pixels() - 3, pixels().double() + 0.5, pixels() + 2**32, pixels().double() * torch.nan):
        with pytest.raises(ValueRangeError, match="must be an integer from 0 to 16"):
            made(x)
    with pytest.raises(ShapeError):
        made(pixels()[:, 1:])
    with pytest.raises(DataTypeError):
        made(pixels().to(torch.complex64))
    assert made(pixels(0)).shape == (0, 1, 1)


@runs_kernels
@torch.no_grad()
def test_values_without_a_density_have_that_of_the_circuit():
    circuit = image("cp", "gaussian", 2).to(DEVICE)
    made, x = fast(circuit, backend="triton"), rows("gaussian", 4).to(DEVICE)
    x[1, 2], x[2, 0] = torch.inf, 1e30
    assert torch.equal(made(x).isfinite(), circuit(x).isfinite())
    assert made(x)[1].item() == circuit(x)[1].item() == -torch.inf
    x[3, 1] = torch.nan
    with pytest.raises(ValueRangeError, match="NaN"):
        made(x)


@runs_kernels
@torch.no_grad()
def test_a_change_of_parameters_is_seen(small: TorchCircuit):
    made, x = fast(small, backend="triton"), pixels()
    for change in (lambda p: p.mul_(1.2), lambda p: p.data.mul_(1.5), lambda p: setattr(p, "data", p.data * 0.5)):
        before = made(x)
        for parameter in small.parameters():
            change(parameter)
        assert not torch.equal(made(x), before)
        assert_equal(made(x), doubled(small)(x))


@runs_kernels
@torch.no_grad()
def test_batches_of_many_sizes(small: TorchCircuit):
    made = fast(small.freeze().to(DEVICE), backend="triton", batch_size=3)
    for count in [*range(1, 13), 3, 1] if DEVICE == "cuda" else (1, 17):
        assert_equal(made(pixels(count)), doubled(small)(pixels(count)))


@runs_kernels
@torch.no_grad()
def test_many_rows_are_evaluated_some_at_a_time(small: TorchCircuit, monkeypatch: pytest.MonkeyPatch):
    from explorer.runtime.cuda import launch_program

    monkeypatch.setattr(launch_program, "MAX_ROWS", 4)
    sharp = copy.deepcopy(small)
    sharp.load_leaf_state({name: value * 300 for name, value in sharp.leaf_state().items()})
    for circuit in (small, sharp):
        made = fast(circuit, backend="triton")
        assert_equal(made(pixels(11)), doubled(circuit)(pixels(11)))
        assert made.certificate is not None
        assert (made.certificate.rows_recomputed > 0) == (circuit is sharp)
    with pytest.raises(ValueRangeError):
        made(torch.cat((pixels(11), pixels(1) + 17)))


@runs_kernels
@torch.no_grad()
def test_copies_and_pickles_are_independent(small: TorchCircuit):
    made, x = fast(small, backend="triton"), pixels()
    before = made(x)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert torch.equal(other(x), before)
        for parameter in other.parameters():
            parameter.add_(0.5 * torch.rand(parameter.shape, device=DEVICE))
        assert not torch.equal(other(x), before)
        torch.testing.assert_close(other(x), other.circuit(x))
        assert torch.equal(made(x), before)


@torch.no_grad()
def test_values_of_a_slot_are_read_before_another_call_gets_it():
    program = LaunchProgram(compile_circuit(image_circuit(8, 8, units=2)))
    launches, calls = program.launches, program.plan.calls
    holds: dict[tuple[int, int], int] = {}
    for launch in launches.launches:
        for number in launch.members:
            for one in calls[number].inputs:
                assert calls[one].kind is Kind.TABLE or holds[calls[one].width, launches.slots[one]] == one
        holds.update({(launch.width, launches.slots[number]): number for number in launch.members})
    assert sum(launches.num_slots.values()) < len(launches.slots)


@runs_kernels
def test_the_kernel_that_compares_memory():
    from explorer.runtime.compare_kernel import compare

    left = torch.arange(100, dtype=torch.int32, device=DEVICE)
    for at, count, differs in ((0, 0, 0), (3, 60, 1), (59, 60, 1), (60, 60, 0), (99, 60, 0), (64, 36, 0), (99, 100, 1)):
        right, found = left.clone(), torch.zeros(1, dtype=torch.int32, device=DEVICE)
        right[at] += at != 0
        starts = torch.tensor([0, 4 * 32], device=DEVICE)
        counts = torch.tensor([min(count, 32), max(count - 32, 0)], device=DEVICE)
        launch: Any = compare[(2,)]
        launch(left.data_ptr() + starts, right.data_ptr() + starts, counts, found, BLOCK=128)
        assert found.item() == differs, (at, count)


@runs_kernels
@torch.no_grad()
def test_a_kernel_that_fails_leaves_the_layers(small: TorchCircuit, monkeypatch: pytest.MonkeyPatch):
    from explorer.runtime.cuda import launch_evaluation

    made, x = fast(small, backend="triton"), pixels()
    monkeypatch.setattr(launch_evaluation.kernels, "sums", None)
    with (
        pytest.warns(CertificateWarning, match="answered it in its own precision: TypeError"),
        pytest.warns(BackendWarning, match="as its Triton kernels failed: TypeError"),
    ):
        found = made(x)
    assert torch.equal(found, small(x))
    assert made.circuit_answered
    assert "not used any more: TypeError" in made.explain()
    assert "TypeError" in made.why_not(x)
    assert torch.equal(made(x), small(x))


def test_it_is_refused_where_it_cannot_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert "triton: not used: the circuit is on cpu" in fast(compile_circuit(load_named("levels"))).explain()
    with pytest.raises(LoweringError, match="the circuit is on cpu, and its kernels run on cuda"):
        fast(compile_circuit(load_named("levels")), backend="triton")
