"""Training by Triton kernels: outputs with the gradients of the circuit.

PyTorch evaluates the parameter graphs, and so passes gradients on to the parameters. Kernels evaluate everything from
their values to the outputs, and back. Rows that are not certified are evaluated by the layers in double precision.
"""

from collections import Counter
from dataclasses import dataclass
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from explorer.backend import TorchCircuit
from explorer.errors import LoweringError
from explorer.runtime.cuda.launches import Placed, place_launches, plan_launches, shared_bytes, tucker_bytes
from explorer.runtime.cuda.reading import Read, Sources, densities_by_layers, read_layers, sources_of
from explorer.runtime.doubles import DoubleTraining
from explorer.runtime.memory import in_memory, refuse_unusual_gradients
from explorer.runtime.packed import readable
from explorer.runtime.plan import Kind, lower_to_plan, run_training_passes
from explorer.runtime.training_graphs import TrainingGraphs

TRAINED = (Kind.DENSITY, Kind.SUM, Kind.MIXING, Kind.TUCKER, Kind.PRODUCT)


@dataclass(frozen=True, eq=False)
class OnDevice:
    """Indices, and by launch whether reads are the only ones of a kernel call; independent of x and parameters."""

    device: torch.device
    placed: Placed
    sources: Sources
    alone: tuple[Tensor, ...]


class LaunchTraining:
    """The kernel calls of a circuit for training on CUDA.

    Raises: LoweringError if a layer has no kernel calls, or Triton no kernel for one.
    """

    def __init__(self, circuit: TorchCircuit) -> None:
        if circuit.semiring.name != "lse-sum":
            raise LoweringError(f"kernel calls have logarithms of values >= 0; the semiring is {circuit.semiring.name}")
        self.circuit = circuit
        self.plan = densities_by_layers(run_training_passes(lower_to_plan(circuit)))
        self._require_kernels()
        self.launches = plan_launches(self.plan, keep=True)
        self.outputs = tuple(self.launches.slots[number] for number in self.plan.outputs)
        self._precise = DoubleTraining(circuit)
        self._graphs = TrainingGraphs()
        self._on_device: OnDevice | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"circuit": self.circuit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # graphs are of one process

    def release_graphs(self) -> None:
        """Forget captured graphs; their memory is freed when no loss needs it any more."""
        self._graphs = TrainingGraphs()

    def why_not(self) -> str:
        """Return why it does not evaluate a call with plain tensors on one device; empty if it does."""
        parameters = self.circuit.present_parameters()
        if types := {one.dtype for one in parameters} - {torch.float32}:
            return f"parameters are {next(iter(types))}, and the kernels compute with float32"
        if not all(type(one) is nn.Parameter and one.is_leaf for one in parameters):
            return "parameters were replaced by other tensors, as functional_call does"
        if any(one._backward_hooks for one in parameters):
            return "a parameter has a hook, which a CUDA graph would not call"
        if torch.are_deterministic_algorithms_enabled():
            return "deterministic algorithms are wanted, and gradients of tables are added in any order"
        if self._graphs.are_exhausted:
            return "parameters moved, or batches had another size, so often that capturing CUDA graphs does not pay"
        return ""

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The outputs (B, outputs, classes), with gradients, and how many rows were not certified.

        None if a variable has a value that it cannot have, or if a weight is negative.
        """
        x = readable(x)
        with torch.inference_mode(False):
            if x.device.type == "cuda":
                there = self._place(x.device)
                parameters, held = self.circuit.present_parameters(), self.circuit.held_tensors
                found = self._graphs.run(self._step, x, parameters, held, there)
            else:  # Triton's interpreter
                found = self._step(x)
        outputs, certified, flags = found
        has_illegal, has_uncertified, has_bad_weight = flags.tolist()
        if has_illegal or has_bad_weight:
            return None
        if not has_uncertified:
            return outputs, 0
        again = (certified == 0).nonzero().squeeze(1)
        precise = self._precise(x[again])
        return outputs.index_copy(0, again, precise.to(outputs.dtype)), len(again)

    def _step(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs, which rows are certified, and flags: bad values of x, rows that are not certified, bad weights."""
        there = self._place(x.device)
        read = read_layers(self.circuit, self.launches, there.sources, x)
        outputs, certified, flags = _Launched.apply(self, there, read, x.contiguous(), *read.trained)
        return outputs, certified, torch.cat((flags, read.has_bad_weight))

    def _place(self, device: torch.device) -> OnDevice:
        with self._lock:
            if self._on_device is None or self._on_device.device != device:
                self._graphs = TrainingGraphs()  # graphs read what is on the device
                placed = place_launches(self.circuit, self.launches, device)
                sources = sources_of(self.circuit, self.launches, device)
                self._on_device = OnDevice(device, placed, sources, self._alone(device))
            return self._on_device

    def _alone(self, device: torch.device) -> tuple[Tensor, ...]:
        calls = self.plan.calls
        counts = Counter(one for _, call in self.plan.computed() for one in call.inputs) + Counter(self.plan.outputs)
        return tuple(
            torch.tensor(
                [
                    int(counts[one] == 1 and calls[one].kind is not Kind.TABLE)
                    for number in launch.members
                    for one in calls[number].inputs
                ],
                dtype=torch.int32,
                device=device,
            )
            for launch in self.launches.launches
        )

    def _require_kernels(self) -> None:
        calls = self.plan.calls
        held = self.circuit.held_tensors
        available = shared_bytes(held[0].device if held else torch.device("cpu"))
        for number, call in self.plan.computed():
            if call.kind not in TRAINED:
                raise LoweringError(f"there is no Triton kernel for gradients of kind {call.kind.value}")
            if call.kind is Kind.TUCKER:
                needed = tucker_bytes(calls[call.inputs[1]].width, call.width)
                if needed > available:
                    raise LoweringError(
                        f"gradients of the Tucker product %{number} of {call.width} units take {needed:,} bytes of "
                        f"shared memory, and a program on this device has {available:,}"
                    )
        if any(calls[number].kind is Kind.TABLE for number in self.plan.outputs):
            raise LoweringError("an output is a table, which is not evaluated")


class _Launched(torch.autograd.Function):
    """The outputs, which rows are certified, and flags, of what launches read."""

    @staticmethod
    def forward(
        ctx: Any, training: LaunchTraining, there: OnDevice, read: Read, x: Tensor, *trained: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        from explorer.runtime.cuda.launch_evaluation import Evaluation

        read = read.with_trained(trained)
        launches = training.launches
        evaluation = Evaluation(launches, read.constants(launches), there.placed, x, keep=True)
        outputs, certified, flags = evaluation.results(read.density_values())
        ctx.training, ctx.there, ctx.evaluation = training, there, evaluation
        ctx.save_for_backward(certified, *trained)
        ctx.mark_non_differentiable(certified, flags)
        ctx.set_materialize_grads(False)
        return outputs, certified, flags

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:
        from explorer.runtime.cuda.backward import pass_back

        refuse_unusual_gradients(grad_outputs[0])
        certified, *trained = ctx.saved_tensors
        if grad_outputs[0] is None:
            return (None,) * (4 + len(trained))
        training, there = ctx.training, ctx.there
        found = pass_back(ctx.evaluation, there.alone, certified, training.outputs, in_memory(grad_outputs[0]))
        return (None, None, None, None, *found.weights, *found.tables, *found.densities)
