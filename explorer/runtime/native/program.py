"""A circuit for the native library: its units, its packed parameters, and its evaluation by the threads of torch."""

import ctypes
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.backend.evaluation import LayerValues
from explorer.errors import LoweringError
from explorer.runtime.constants import Constants, pack_constants
from explorer.runtime.doubles import DoubleCopy, DoubleRows
from explorer.runtime.native.arrays import NativeArrays, make_arrays
from explorer.runtime.native.build import BuildError
from explorer.runtime.native.evaluating import Kernels, UnitShares
from explorer.runtime.native.library import load_doubles, load_library, make_input
from explorer.runtime.native.workspaces import Workspaces
from explorer.runtime.snapshots import Snapshot, take_snapshot
from explorer.runtime.units import Units, lower_to_units, plan_units

NO_DENSITIES = torch.empty((0, 0), device="cpu")
"""Of a circuit all of whose layers have kernels."""


@dataclass(frozen=True, eq=False)
class Packed:
    """The parameters at some time, and the kernels that compute with them."""

    snapshot: Snapshot
    kernels: Kernels
    doubles: DoubleCopy
    sharing: UnitShares

    @property
    def constants(self) -> Constants:
        """The packed parameters in single precision."""
        return self.kernels.constants

    @property
    def arrays(self) -> NativeArrays:
        """What the kernels in single precision read."""
        return self.kernels.arrays

    @cached_property
    def in_doubles(self) -> Kernels | None:
        """The kernels in double precision; None if they cannot be compiled, or not read these parameters."""
        try:
            library = load_doubles()
        except BuildError:
            return None
        values = self.doubles.layer_values(self.snapshot)
        made = make_kernels(library, self.doubles.circuit, values, self.sharing, torch.float64)
        return None if made.constants.problem else made

    @cached_property
    def precise(self) -> EvaluatedCircuit:
        """The circuit with these parameters in double precision, in the logarithmic domain."""
        return self.doubles.frozen(self.snapshot)


def make_kernels(
    library: ctypes.CDLL, circuit: EvaluatedCircuit, values: LayerValues, sharing: UnitShares, dtype: torch.dtype
) -> Kernels:
    """Pack parameters for a library."""
    constants = pack_constants(circuit, values, sharing.units, library.lanes(), dtype)
    return Kernels(library, constants, make_arrays(circuit, constants, sharing.units), sharing)


class NativeProgram:
    """The units of a circuit, or given ones that have slots, evaluated by the native library.

    Parameters are packed when they have changed: their bytes are compared with a copy in each call, since some changes
    leave no other trace. Those of a frozen circuit are compared by the version that PyTorch counts.

    Raises: LoweringError for another semiring, if the library cannot be compiled, or a layer has no units.
    """

    def __init__(self, circuit: EvaluatedCircuit, units: Units | None = None) -> None:
        if circuit.semiring.name != "lse-sum":
            raise LoweringError(
                f"the kernels compute logarithms of values >= 0; the semiring is {circuit.semiring.name}"
            )
        self.circuit = circuit
        self.library = load_library()
        self.units = plan_units(lower_to_units(circuit)) if units is None else units
        self._sharing = UnitShares(self.units, circuit)
        self._rows, self._doubles = DoubleRows.of(circuit), DoubleCopy(circuit)
        self.workspaces = Workspaces()
        self._packed: Packed | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """A copy compiles and packs anew: addresses are of this process, and a copy has parameters of its own."""
        return {"circuit": self.circuit, "units": self.units}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, library=load_library(), workspaces=Workspaces(), _packed=None, _lock=Lock())
        self._sharing = UnitShares(self.units, self.circuit)
        self._rows, self._doubles = DoubleRows.of(self.circuit), DoubleCopy(self.circuit)

    def packed(self) -> Packed:
        """The present parameters: packed now, if they have changed."""
        packed = self._packed
        if packed is None or not packed.snapshot.is_present():
            with self._lock:
                if self._packed is not packed and self._packed is not None and self._packed.snapshot.is_present():
                    return self._packed  # another thread was first
                snapshot = take_snapshot(self.circuit)
                values = self._doubles.layer_values(snapshot)
                kernels = make_kernels(self.library, self.circuit, values, self._sharing, torch.float32)
                self._packed = packed = Packed(snapshot, kernels, self._doubles, self._sharing)
        return packed

    def why_not(self) -> str:
        """Why it may not be evaluated with the present parameters; empty if it may."""
        return self.packed().constants.problem

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The outputs (B, outputs, classes) of x (B, D), and how many rows were not certified.

        Those are evaluated in double precision. None if a variable has a value that it cannot have, or if the present
        parameters have a problem.
        """
        packed = self.packed()
        if packed.constants.problem:
            return None
        found = self.run(packed.kernels, x)
        if found is None:
            return None
        result, certified = found
        if certified.all():
            return result, 0
        again = (~certified).nonzero().squeeze(1)
        result[again] = self.evaluate_precisely(x[again], packed)
        return result, len(again)

    def evaluate_precisely(self, x: Tensor, packed: Packed | None = None) -> Tensor:
        """The outputs (B, outputs, classes) in double precision, of x (B, D) whose values are legal.

        Rows that the kernels do not certify in double precision either are evaluated by the layers of the circuit, in
        the logarithmic domain.
        """
        packed, x = packed or self.packed(), self._rows(x)
        found = None if packed.in_doubles is None else self.run(packed.in_doubles, x)
        if found is None:
            return self._evaluate_layers(packed, x)
        result, certified = found
        if not certified.all():
            again = (~certified).nonzero().squeeze(1)
            result[again] = self._evaluate_layers(packed, x[again])
        return result

    def run(self, kernels: Kernels, x: Tensor) -> tuple[Tensor, Tensor] | None:
        """The outputs, and for each row whether it is certified; None if a variable has a value that it cannot have."""
        return kernels.evaluate(make_input(x, self._densities(kernels, x)), x.shape[0], self.workspaces)

    def memory(self, rows: int) -> int:
        """The bytes for the values of a tile of some rows."""
        return self.packed().kernels.memory(rows)

    @torch.no_grad()
    def _evaluate_layers(self, packed: Packed, x: Tensor) -> Tensor:
        return packed.precise.forward(self._rows(x)).float()

    def _densities(self, kernels: Kernels, x: Tensor) -> Tensor:
        """The logarithms (B, units of all folds) of the layers that PyTorch evaluates."""
        layers = kernels.arrays.densities
        if not layers:
            return NO_DENSITIES
        found = self.circuit.input_activations(self._rows(x), layers, kernels.constants.densities)
        return (
            torch.cat([found[layer].transpose(0, 1).flatten(1) for layer in layers], dim=1)
            .to(kernels.dtype)
            .contiguous()
        )
