"""The backends of a circuit, fastest first: each either runs it or says why it cannot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from types import MappingProxyType
from typing import Protocol

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchCircuit
from explorer.backend.plain import why_not_plain
from explorer.errors import BackendWarning, LoweringError, warn
from explorer.runtime.cuda.launch_program import LaunchProgram, interprets
from explorer.runtime.cuda.training import LaunchTraining
from explorer.runtime.graphs import KernelError
from explorer.runtime.grouped.grouped_program import GroupedProgram
from explorer.runtime.native.training import RefusedError, TrainingProgram

ONLY_ON = {"native": "cpu", "triton": "cuda"}
"""The type of device that the kernels of a backend run on; others run on any."""

MIN_NUMBERS = 1600
"""With fewer numbers per operator, PyTorch takes longer to call the operators of groups than layers take in double
precision. Measured, both take equally long at 300 (kronecker), 900 (digits), 1,100 (hclt) or 2,700 (poon-domingos).
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """A backend, and why it was chosen or not."""

    name: str
    reason: str


class Backend(Protocol):
    """Evaluates a circuit."""

    name: str

    trains: bool
    """Whether its outputs have gradients; else the circuit answers where these are recorded."""

    def describe(self) -> str:
        """Return what it made of the circuit, in one line."""
        ...

    def why_not(self, x: Tensor) -> str:
        """Return why it cannot answer a call with x; empty if it can."""
        ...

    def remark(self) -> str:
        """Return what has happened since that `describe` did not say; empty for nothing."""
        ...

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The outputs (B, outputs, classes), and how many rows took its slower path; None if it cannot after all."""
        ...


def records_gradients(circuit: EvaluatedCircuit) -> bool:
    """Return whether PyTorch records the gradients of its parameters now."""
    return torch.is_grad_enabled() and any(one.requires_grad for one in circuit.parameters())


class NativeBackend:
    """Kernels in C++ on scaled values; see `explorer/runtime/README.md`. Raises: LoweringError."""

    name = "native"
    trains = True

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        from explorer.runtime.native.native_program import NativeProgram

        self.circuit = circuit
        if reason := self._why_not_here(circuit.held_tensors):  # before anything is compiled
            raise LoweringError(reason)
        self.program = NativeProgram(circuit)
        if reason := self.program.why_not():
            raise LoweringError(reason)

    def describe(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in self.program.plan.counts().items())
        return f"{counts}; {self.program.plan.num_slots} values are kept at a time"

    def why_not(self, x: Tensor) -> str:
        if reason := self._why_not_tried(x):
            return reason
        return self.training.why_not(x) if records_gradients(self.circuit) else self.program.why_not()

    def remark(self) -> str:
        return ""

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        if self._why_not_tried(x):
            return None
        if not records_gradients(self.circuit):
            return self.program.evaluate(x)
        try:
            return self.training.evaluate(x)
        except RefusedError:
            return None

    @cached_property
    def training(self) -> TrainingProgram:
        """For calls with recorded gradients."""
        assert isinstance(self.circuit, TorchCircuit), "others have no parameters"
        return TrainingProgram(self.circuit)

    def _why_not_tried(self, x: Tensor) -> str:
        tensors = (x, *self.circuit.held_tensors)
        return why_not_plain(tensors) or self._why_not_here(tensors)

    def _why_not_here(self, tensors: Sequence[Tensor]) -> str:
        for one in tensors:
            if not one.is_cpu:
                return why_not_on(self.name, one.device.type)
        return ""


class TritonBackend:
    """Kernels in Triton on CUDA, one launch for all kernel calls of one shape and level. Raises: LoweringError.

    If a kernel cannot be compiled, or a graph not captured, the layers run from then on, and a warning says why.
    """

    name = "triton"
    trains = True

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        self.circuit = circuit
        self.problem = ""
        device = next((one.device.type for one in circuit.held_tensors), "cpu")
        if reason := why_not_on(self.name, device):
            raise LoweringError(reason)
        if find_spec("triton") is None:
            raise LoweringError("Triton is not installed: pip install triton")
        self.program = LaunchProgram(circuit)
        if reason := self.program.why_not():
            raise LoweringError(reason)

    def describe(self) -> str:
        return f"{self.program.describe()}, captured as a CUDA graph for each batch size"

    def why_not(self, x: Tensor) -> str:
        if reason := self._why_not_tried(x):
            return reason
        if not records_gradients(self.circuit):
            return self.program.why_not()
        return self.training if isinstance(self.training, str) else self.training.why_not()

    def remark(self) -> str:
        return f"not used any more: {self.problem}" if self.problem else ""

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        if self._why_not_tried(x):
            return None
        try:
            return self._evaluate(x)
        except torch.OutOfMemoryError:
            self._release_graphs()  # their memory may be enough
            return self._evaluate(x)
        except KernelError as error:
            self.problem = str(error)
            warn(
                f"a fast circuit runs its layers from now on, as its Triton kernels failed: {self.problem}",
                BackendWarning,
            )
            return None

    def _evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        if not records_gradients(self.circuit):
            return self.program.evaluate(x)
        training = self.training
        return None if isinstance(training, str) or training.why_not() else training.evaluate(x)

    def _release_graphs(self) -> None:
        """Free the memory of all graphs; they are captured again when they are needed."""
        self.program.release_graphs()
        if isinstance(self.training, LaunchTraining):
            self.training.release_graphs()
        torch.cuda.empty_cache()

    @cached_property
    def training(self) -> "LaunchTraining | str":
        """For calls with recorded gradients, or why there is none."""
        if not isinstance(self.circuit, TorchCircuit):
            return "a frozen circuit has no parameters"
        try:
            return LaunchTraining(self.circuit)
        except LoweringError as error:
            return str(error)

    def _why_not_tried(self, x: Tensor) -> str:
        return self.problem or self.program.why_not_tried(x) or why_not_on(self.name, x.device.type)


class TorchBackend:
    """Operators of PyTorch, on groups of kernel calls as the native kernels compute; for few rows and else the layers.

    For few rows these are evaluated in double precision, which takes as long as single precision there.
    """

    name = "torch"
    trains = False

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        self.circuit = circuit
        self.program: GroupedProgram | None = None
        self.problem = ""
        try:
            self.program = GroupedProgram(circuit)
        except LoweringError as error:
            self.problem = str(error)

    def describe(self) -> str:
        problem = self.problem or (self.program.why_not() if self.program is not None else "")
        if problem or self.program is None:
            return f"{len(self.circuit.layers)} layers, one after the other: {problem}"
        return f"{self.program.describe()}{_on_cuda(self.program)}"

    def why_not(self, x: Tensor) -> str:
        if self.program is None:
            return self.problem
        return self.program.why_not_tried(x) or self.program.why_not()

    def remark(self) -> str:
        return ""

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        program = self.program
        if program is None or program.why_not_tried(x):
            return None
        has_little_to_do = len(x) * program.groups.numbers_per_operator < MIN_NUMBERS
        return program.evaluate_precisely(x) if x.device.type == "cpu" and has_little_to_do else program.evaluate(x)


def why_not_on(name: str, device: str) -> str:
    """Return why a backend does not run on a type of device; empty if it does."""
    wanted = ONLY_ON.get(name, device)
    if device == wanted or (name == TritonBackend.name and interprets()):
        return ""
    return f"the circuit is on {device}, and its kernels run on {wanted}"


def _on_cuda(program: GroupedProgram) -> str:
    return "; a CUDA graph for each batch size" if program.device.type == "cuda" else ""


BACKENDS: Mapping[str, Callable[[EvaluatedCircuit], Backend]] = MappingProxyType(
    {"native": NativeBackend, "triton": TritonBackend, "torch": TorchBackend}
)
"""Fastest first."""
