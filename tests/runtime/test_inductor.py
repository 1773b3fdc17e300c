"""The inductor backend has the values of the torch backend; where the compiler fails, it is that backend."""

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._inductor import config

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import BackendWarning, LoweringError, ValueRangeError
from explorer.runtime import Certificate, FastCircuit, backends, choosing, fast
from explorer.runtime.grouped import inductor
from explorer.runtime.native.library import load_library
from explorer.templates import load_named
from tests.runtime.circuits import doubled, has_compiler, image_circuit
from tests.strategies import random_inputs

pytestmark = [
    has_compiler,
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning"),  # what inductor imports uses it
]


@pytest.fixture(autouse=True)
def fresh(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch.compiler.reset()
    # A pool of processes would outlive the test. Headers compiled in advance, programs that try each kind of vector
    # instructions and the headers of such instructions, for the slow cases only, take longer than what tests compile.
    quickly = {"compile_threads": 1, "cpp_cache_precompile_headers": False, "cpp.vec_isa_ok": True}
    with config.patch(quickly if request.node.get_closest_marker("fuzz") else {**quickly, "cpp.simdlen": 1}):
        yield
    torch.compiler.reset()


def image(layer: str, kind: str, units: int = 3) -> TorchCircuit:
    region_graph = "quad-tree-4" if layer == "cp" else "quad-tree-2"
    return TorchCompiler().compile(image_circuit(2, 2, region_graph, layer, units=units, inputs=kind))


def rows(kind: str, count: int) -> Tensor:
    random = torch.Generator().manual_seed(count)
    if kind == "gaussian":
        return torch.randn(count, 4, generator=random)
    return torch.randint(256, (count, 4), generator=random)


@torch.no_grad()
def assert_equal(made: FastCircuit, circuit: TorchCircuit, x: Tensor) -> None:
    expected = doubled(circuit)(x.double() if x.is_floating_point() else x)
    torch.testing.assert_close(made(x).double(), expected, rtol=2e-6, atol=2e-5)
    assert made.certificate == Certificate(len(x), 0)


@pytest.mark.skipif(" " in torch.__file__, reason="the compiler command of PyTorch does not quote its own path")
@torch.no_grad()
def test_one_compiled_function_serves_all_batches_and_changed_parameters(monkeypatch: pytest.MonkeyPatch):
    compiled: list[object] = []
    compile_groups = inductor._compile
    monkeypatch.setattr(inductor, "_compile", lambda *args: compiled.append(args) or compile_groups(*args))
    circuit = image("cp", "categorical")
    made = fast(circuit, backend="inductor", batch_size=64)
    assert len(compiled) == 1, "before the first call"
    x = rows("categorical", 64)
    assert made.why_not(x) == ""
    with torch._dynamo.config.patch(error_on_recompile=True):
        for batch in (64, 33, 2, 1, 300):
            assert_equal(made, circuit, rows("categorical", batch))
        before = made(x)
        for parameter in circuit.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
        assert not torch.equal(made(x), before)
        assert_equal(made, circuit, x)
        with pytest.raises(ValueRangeError, match="must be an integer from 0 to 255"):
            made(x + 200)
        circuit.load_leaf_state({name: value * 200 for name, value in circuit.leaf_state().items()})
        torch.testing.assert_close(made(x).double(), doubled(circuit)(x), rtol=2e-6, atol=2e-5)
        assert made.certificate is not None
        assert made.certificate.again > 0  # rows that are not certified are evaluated in double precision
    assert len(compiled) == 1
    assert "not compiled" not in made.explain()


@pytest.mark.fuzz  # the C++ compiler takes longest
@pytest.mark.parametrize("layer", ["tucker", "cp-t"])
@torch.no_grad()
def test_layers_of_other_kinds(layer: str):
    circuit = image(layer, "gaussian")
    made = fast(circuit, backend="inductor")
    assert_equal(made, circuit, rows("gaussian", 20))
    assert_equal(made, circuit, rows("gaussian", 7))
    assert "not compiled" not in made.explain()


@pytest.mark.fuzz
@pytest.mark.parametrize("name", ["digits", "blackboard", "near-misses", "kronecker", "sum-chain"])
@torch.no_grad()
def test_a_circuit_of_the_gallery(name: str):
    circuit = TorchCompiler().compile(load_named(name))
    made = fast(circuit, backend="inductor")
    for batch in (30, 9):
        x = random_inputs(load_named(name), batch)
        assert x is not None
        assert_equal(made, circuit, torch.from_numpy(np.ascontiguousarray(x)))
    assert "not compiled" not in made.explain()


@torch.no_grad()
def test_a_compiler_that_fails_leaves_the_torch_backend_and_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken = tmp_path / "g++"
    broken.write_text("#!/bin/sh\necho this compiler is broken >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(config.cpp, "cxx", (str(broken),))
    circuit = image("cp", "categorical")
    made = fast(circuit, backend="inductor")
    assert_equal(made, circuit, rows("categorical", 20))
    assert_equal(made, circuit, rows("categorical", 20))
    assert "inductor: not compiled, but run eagerly: " in made.explain()
    assert_equal(pickle.loads(pickle.dumps(copy.deepcopy(made))), circuit, rows("categorical", 20))


def test_circuits_that_it_does_not_compile_have_a_reason(monkeypatch: pytest.MonkeyPatch):
    circuit = TorchCompiler().compile(load_named("digits"))
    monkeypatch.setattr(backends, "MAX_COMPILED_READS", 3)
    with pytest.raises(LoweringError, match="its units read 12 factors"):
        fast(circuit, backend="inductor")
    with pytest.raises(LoweringError, match="the semiring is sum-product"):
        fast(TorchCompiler(semiring="sum-product").compile(load_named("blackboard")), backend="inductor")


def test_without_a_compiler_the_torch_backend_is_chosen_and_one_warning_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CXX", "")
    monkeypatch.setenv("PATH", "")
    for remembered in (choosing._warn_once, load_library):
        remembered.cache_clear()
    circuit = TorchCompiler().compile(load_named("digits"))
    with pytest.warns(BackendWarning, match="needs a C\\+\\+ compiler"):
        made = fast(circuit)
    assert made.backend.name == "torch"
    assert "native: not used: the native backend needs a C++ compiler" in made.explain()
    assert fast(circuit).backend.name == "torch"  # without a warning, which would be an error here
    with pytest.raises(LoweringError, match="Inductor needs a C\\+\\+ compiler"):
        fast(circuit, backend="inductor")
    choosing._warn_once.cache_clear()
