"""A circuit for the native library: kernel calls, packed parameters, and the evaluation by the threads of torch."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import Lock

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.backend.evaluation import LayerValues
from explorer.runtime.constants import Constants, pack_constants
from explorer.runtime.memory import Workspaces
from explorer.runtime.native.arrays import make_arrays
from explorer.runtime.native.build import BuildError
from explorer.runtime.native.comparing import have_bytes_by_threads
from explorer.runtime.native.evaluating import CallShares, Kernels
from explorer.runtime.native.library import load_doubles, load_library, make_input
from explorer.runtime.packed import Answer, Packed, PackedProgram
from explorer.runtime.plan import Plan, lower_to_plan, run_passes
from explorer.runtime.snapshots import Bytes, Snapshot

NO_DENSITIES = torch.empty((0, 0), device="cpu")
"""The densities of a circuit without layers that PyTorch evaluates."""


@dataclass(frozen=True, eq=False)
class NativeNumbers:
    """The kernels that compute with the parameters at some time, in single precision, and in double once needed."""

    single: Kernels
    sharing: CallShares
    layer_values: Callable[[], LayerValues]
    lock: Lock = field(default_factory=Lock)  # from Python 3.12 on, a cached property has none

    @property
    def double(self) -> Kernels | None:
        """The kernels in double precision; None if they cannot be compiled, or not read these parameters."""
        with self.lock:
            return self._double

    @cached_property
    def _double(self) -> Kernels | None:
        try:
            library = load_doubles()
        except BuildError:
            return None
        circuit, plan = self.sharing.circuit, self.sharing.plan
        constants = pack_constants(circuit, self.layer_values(), plan, library.lanes(), torch.float64)
        return None if constants.problem else make_kernels(library, constants, self.sharing)


def make_kernels(library: ctypes.CDLL, constants: Constants, sharing: CallShares) -> Kernels:
    """The kernels of a library for packed parameters."""
    return Kernels(library, constants, make_arrays(sharing.circuit, constants, sharing.plan), sharing)


class NativeProgram(PackedProgram[NativeNumbers]):
    """The kernel calls of a circuit, or given ones that have slots, evaluated by the native library.

    Raises: LoweringError for another semiring, if the library cannot be compiled, or a layer has no kernel calls.
    """

    OF_ONE_PROCESS = (*PackedProgram.OF_ONE_PROCESS, "library", "workspaces", "sharing")

    def __init__(self, circuit: EvaluatedCircuit, plan: Plan | None = None) -> None:
        super().__init__(circuit)
        self.plan = run_passes(lower_to_plan(circuit)) if plan is None else plan

    def _prepare(self) -> None:
        self.library = load_library()
        self.lanes = self.library.lanes()
        self.workspaces = Workspaces()

    @staticmethod
    def have_bytes(tensors: Sequence[Tensor], copies: Sequence[Bytes]) -> bool:
        return have_bytes_by_threads(tensors, copies)

    @cached_property
    def sharing(self) -> CallShares:
        """The calls that each of several threads computes."""
        return CallShares(self.plan, self.circuit)

    def _pack(self, snapshot: Snapshot, constants: Constants) -> NativeNumbers:
        layer_values = partial(self._doubles.layer_values, snapshot)
        return NativeNumbers(make_kernels(self.library, constants, self.sharing), self.sharing, layer_values)

    def _answer(self, x: Tensor, packed: Packed[NativeNumbers]) -> Answer | None:
        found = self.run(packed.numbers.single, x)
        if found is None:
            return None
        outputs, certified = found
        return Answer(outputs, None if certified.all() else certified)

    def _evaluate_again(self, x: Tensor, packed: Packed[NativeNumbers]) -> Tensor:
        """By the kernels in double precision, and where these certify no row either, by the layers of the circuit."""
        kernels, x = packed.numbers.double, self._rows(x)
        found = None if kernels is None else self.run(kernels, x)
        if found is None:
            return self._evaluate_layers(x, packed)
        outputs, certified = found
        if not certified.all():
            again = (~certified).nonzero().squeeze(1)
            outputs[again] = self._evaluate_layers(x[again], packed)
        return outputs

    def run(self, kernels: Kernels, x: Tensor) -> tuple[Tensor, Tensor] | None:
        """The outputs, and for each row whether it is certified; None if a variable has a value that it cannot have."""
        densities = self._densities(kernels, x) if kernels.arrays.densities else NO_DENSITIES
        return kernels.evaluate(make_input(x, densities), x.shape[0], self.workspaces)

    def memory(self, rows: int) -> int:
        """The bytes for the values of a tile of some rows."""
        return self.packed().numbers.single.memory(rows)

    def _densities(self, kernels: Kernels, x: Tensor) -> Tensor:
        """The logarithms (B, units of all folds) of the layers that PyTorch evaluates."""
        layers = kernels.arrays.densities
        found = self.circuit.input_activations(self._rows(x), layers, kernels.constants.densities)
        return (
            torch.cat([found[layer].transpose(0, 1).flatten(1) for layer in layers], dim=1)
            .to(kernels.dtype)
            .contiguous()
        )
