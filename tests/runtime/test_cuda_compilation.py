"""The Triton kernels compile for CUDA: all that circuits launch, for an architecture, on a machine without a device.

Triton's interpreter, which the other tests use there, accepts types and sizes that its compiler refuses.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime.cuda.launch_program import LaunchProgram
from explorer.runtime.cuda.training import LaunchTraining
from explorer.runtime.graphs import launcher
from explorer.runtime.packed import READABLE
from tests.runtime.circuits import image_circuit, rearranged_circuit
from tests.runtime.test_triton import DEVICE, INTERPRETS

pytestmark = [
    pytest.mark.skipif(DEVICE == "cuda" or INTERPRETS, reason="the kernels run here"),
    pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton, which pip has for Linux"),
]

SHARED_BYTES = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 90: 227 << 10}
"""The shared memory that a program can have, by architecture."""
WIDEST_TUCKER = {75: 64, 80: 70, 86: 64, 90: 70}
"""The most units, of those tried here, of Tucker products with gradients that fit."""


class WithoutDevice:
    """The driver, as Triton needs it to compile."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_target(self) -> object:
        """The architecture."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        """Its number: kernels are kept by device."""
        return self.capability

    def get_current_stream(self, device: int | None = None) -> int:
        """Its number."""
        return 0


@pytest.fixture
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Compile launches instead, which must fit; return the shared memory of a program by name of its kernel."""
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    found: dict[str, int] = {}
    run: Any = JITFunction.run

    def compile_only(kernel: Any, *args: Any, warmup: bool, **options: Any) -> Any:
        made = run(kernel, *args, warmup=True, **options)
        found[kernel.__name__] = made.metadata.shared
        assert made.metadata.shared <= SHARED_BYTES[request.param], kernel.__name__
        return made

    monkeypatch.setattr("explorer.runtime.cuda.training.shared_bytes", lambda device: SHARED_BYTES[request.param])
    monkeypatch.setattr(JITFunction, "run", compile_only)
    monkeypatch.setattr(driver, "_active", WithoutDevice(request.param))
    return found


def launch(
    layer: str,
    inputs: str,
    units: int = 8,
    *,
    size: tuple[int, int] = (2, 3),
    trains: bool = True,
    optimize: bool = True,
    dtype: torch.dtype | None = None,
) -> None:
    """Launch the kernels of a forward pass and a training step of a small image; their results mean nothing."""
    circuit = image_circuit(*size, layer=layer, units=units, inputs=inputs, states=7)
    x = torch.zeros((18, size[0] * size[1]), dtype=dtype or (torch.float32 if inputs == "gaussian" else torch.int64))
    module = TorchCompiler(optimize=optimize).compile(circuit)
    with torch.no_grad():
        LaunchProgram(module.eval()).evaluate(x)
    if trains:
        outputs, *_ = LaunchTraining(module.train())._step(x)
        outputs.sum().backward()


@pytest.mark.parametrize("compiled", [80], indirect=True)
def test_every_kernel_compiles(compiled: dict[str, int]):
    from explorer.runtime import compare_kernel as kernel
    from explorer.runtime.cuda import backward_kernels, kernels

    launch("cp", "categorical", size=(2, 2))
    launch("tucker", "gaussian", size=(1, 2))
    launch("tucker", "categorical", size=(1, 2), optimize=False, trains=False)  # Kronecker products have no gradient
    launch("cp", "gaussian", 300, size=(1, 2), trains=False)
    with torch.no_grad():
        LaunchProgram(rearranged_circuit((3, 2), (1, 0)).eval()).evaluate(torch.zeros((18, 2), dtype=torch.int64))
    numbers, flag = torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int32)
    launcher(kernel.compare, (1,))(numbers, numbers, numbers, flag, BLOCK=64)
    assert compiled.keys() == {name for module in (kernel, kernels, backward_kernels) for name in declared_in(module)}


@pytest.mark.fuzz
@pytest.mark.parametrize(("compiled", "capability"), [(one, one) for one in SHARED_BYTES], indirect=["compiled"])
@pytest.mark.parametrize("layer", ["cp", "cp-t", "tucker"])
@pytest.mark.parametrize("units", [1, 17, 64, 70, 256])
def test_circuits_of_many_widths_compile(compiled: dict[str, int], capability: int, layer: str, units: int):
    for inputs in ("categorical", "gaussian"):
        launch(layer, inputs, units, trains=layer != "tucker")
        if layer == "tucker" and units <= WIDEST_TUCKER[capability]:
            launch(layer, inputs, units)
        elif layer == "tucker":
            with pytest.raises(LoweringError, match="bytes of shared memory, and a program on this device has"):
                launch(layer, inputs, units)
    assert len(compiled) > 4


@pytest.mark.fuzz
@pytest.mark.parametrize("compiled", [80], indirect=True)
@pytest.mark.parametrize("dtype", sorted(READABLE, key=str), ids=str)
def test_every_type_of_x_compiles(compiled: dict[str, int], dtype: torch.dtype):
    launch("cp", "categorical", dtype=dtype)
    assert "read_inputs" in compiled


def declared_in(module: Any) -> set[str]:
    """The kernels that a module declares and launches: others begin with an underscore."""
    source = Path(module.__file__).read_text()
    return {name for name in vars(module) if f"\ndef {name}(" in source and not name.startswith("_")}
