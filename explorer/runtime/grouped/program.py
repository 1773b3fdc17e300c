"""A circuit as groups of units that PyTorch evaluates, with the same certificate as the native kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchContinuousLayer, TorchDiscreteLayer
from explorer.errors import LoweringError
from explorer.program.running.plain import why_not_plain
from explorer.runtime.constants import TOLERANCE, Constants, pack_constants
from explorer.runtime.doubles import DoubleCopy
from explorer.runtime.grouped.constants import (
    GroupConstants,
    make_group_constants,
    make_table_reads,
    state_of,
)
from explorer.runtime.grouped.groups import Group, group_units
from explorer.runtime.grouped.kernels import Given, Indices
from explorer.runtime.grouped.running import Runner
from explorer.runtime.snapshots import Snapshot, take_snapshot
from explorer.runtime.units import MAX_TABLE_ENTRIES, Kind, lower_to_units, plan_units

FULL_PRECISION = ("none", "ieee", "highest")
"""The settings of `torch.backends` under which a matrix product of float32 has the rounding of float32."""

MAX_READS = 20_000
"""A circuit that reads more factors, one group at a time, is evaluated by its layers."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of x: of discrete variables with their numbers of values, and of continuous variables."""

    discrete: Tensor
    num_values: Tensor
    continuous: Tensor


@dataclass(frozen=True, eq=False)
class Packed:
    """The parameters at some time, and the tensors of groups."""

    snapshot: Snapshot
    constants: Constants
    tensors: GroupConstants
    doubles: DoubleCopy

    @cached_property
    def precise(self) -> EvaluatedCircuit:
        """The circuit with these parameters in double precision, in the logarithmic domain."""
        return self.doubles.frozen(self.snapshot)


class GroupedProgram:
    """The units of a circuit in groups, evaluated by operators of PyTorch on the device of the circuit, as `run` does.

    Raises: LoweringError if a layer has no units.
    """

    def __init__(self, circuit: EvaluatedCircuit, run: Runner) -> None:
        if circuit.semiring.name != "lse-sum":
            raise LoweringError(f"units have logarithms of values >= 0; the semiring is {circuit.semiring.name}")
        self.circuit = circuit
        self.run = run
        self.groups = group_units(plan_units(lower_to_units(circuit)))
        if self.groups.num_reads > MAX_READS:
            raise LoweringError(f"its units read {self.groups.num_reads} factors, more than {MAX_READS}")
        self._doubles = DoubleCopy(circuit)
        self._packed: Packed | None = None
        self._placed: tuple[torch.device, Columns, Indices] | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """A copy packs again: it has its own parameters."""
        return {"circuit": self.circuit, "groups": self.groups, "run": self.run}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _packed=None, _placed=None, _lock=Lock())
        self._doubles = DoubleCopy(self.circuit)

    def packed(self) -> Packed:
        """The present parameters: packed now, if they have changed."""
        packed = self._packed
        if packed is None or not packed.snapshot.is_present():
            with self._lock, torch.inference_mode(False), torch.no_grad():
                snapshot = take_snapshot(self.circuit)
                values = self._doubles.layer_values(snapshot)
                values = {node: {name: one.cpu() for name, one in some.items()} for node, some in values.items()}
                constants = pack_constants(self.circuit, values, self.groups.units, 1)
                tensors = make_group_constants(self.circuit, constants, self.groups, self.device)
                self._packed = packed = Packed(snapshot, constants, tensors, self._doubles)
        return packed

    # ------------------------------------------------------------------ a call

    def describe(self) -> str:
        """What was made of the circuit, in one line."""
        counts = ", ".join(f"{count} {kind}" for kind, count in self.groups.units.counts().items())
        return f"{counts}; {len(self.groups.groups)} groups"

    def why_not_tried(self, x: Tensor) -> str:
        """Why a call with x is not tried: its type, a mode or precision of PyTorch, or tensors on several devices."""
        tensors = [x, *self.circuit.parameters(), *self.circuit.buffers()]
        if reason := why_not_plain(tensors):
            return reason
        if (precision := _matmul_precision(x.device)) not in FULL_PRECISION:
            return f"matrix products of float32 may be rounded to {precision}, which no bound counts"
        devices = {one.device for one in tensors}
        return f"tensors are on several devices: {', '.join(sorted(map(str, devices)))}" if len(devices) > 1 else ""

    def why_not(self) -> str:
        """Why it may not be evaluated with the present parameters; empty if it may."""
        return self.packed().constants.problem

    def evaluate_precisely(self, x: Tensor) -> tuple[Tensor, int] | None:
        """As `evaluate`, with all rows in double precision, by the layers."""
        packed = self.packed()
        if packed.constants.problem:
            return None
        with torch.inference_mode(False), torch.no_grad():
            result = packed.precise(x.double() if x.is_floating_point() else x)
        return result.to(torch.float32), len(x)

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The outputs (B, outputs, classes) of x (B, D), and how many rows were not certified.

        Those are evaluated in double precision, in the logarithmic domain. None if a variable has a value that it
        cannot have, or if the present parameters have a problem.
        """
        packed = self.packed()
        if packed.constants.problem:
            return None
        with torch.inference_mode(False), torch.no_grad():
            columns, indices = self._place()
            given = self._read(x, columns, packed.constants)
            if given is None:
                return None
            result, values, bounds = self.run(self.groups, packed.tensors, indices, given)
            certified = ((bounds < TOLERANCE * values) & torch.isfinite(result)).all(dim=2).all(dim=1)
            again = (~certified).nonzero().squeeze(1)
            if len(again):
                chosen = x[again].double() if x.is_floating_point() else x[again]
                result[again] = packed.precise(chosen).to(result.dtype)
        return result, len(again)

    def _read(self, x: Tensor, columns: Columns, constants: Constants) -> Given | None:
        """What units read of x; None if a variable has a value that it cannot have."""
        numbers = torch.index_select(x, 1, columns.discrete)
        legal = (numbers >= 0) & (numbers < columns.num_values)
        if x.is_floating_point():
            legal &= numbers == numbers.floor()
        points = torch.index_select(x, 1, columns.continuous).float()
        if not bool(legal.all()) or bool(points.isnan().any()):
            return None
        states = torch.nn.functional.pad(numbers.long(), (0, 1)).t().contiguous()  # the last is of tables with one row
        return Given(states, points.t().contiguous(), self._densities(x, constants))

    def _densities(self, x: Tensor, constants: Constants) -> tuple[Tensor, ...]:
        """The logarithms (G, B, K) of the layers that have no unit, in double precision."""
        groups = [group for group in self.groups.groups if group.kind is Kind.DENSITY]
        if not groups:
            return ()
        x = x.double() if x.is_floating_point() else x
        values = {
            node: {name: one.to(x.device) for name, one in some.items()} for node, some in constants.densities.items()
        }
        found = self.circuit.input_activations(x, tuple(values), values)
        return tuple(found[node][folds] for node, folds in (self._folds(group) for group in groups))

    def _folds(self, group: Group) -> tuple[int, list[int]]:
        sources = [self.groups.units.units[number].sources[0] for number in group.members]
        return sources[0].layer, [source.fold for source in sources]

    # ------------------------------------------------------------------ what neither x nor parameters change

    @property
    def device(self) -> torch.device:
        """Where the circuit is."""
        tensors = (*self.circuit.parameters(), *self.circuit.buffers())
        return tensors[0].device if tensors else torch.device("cpu")

    def _place(self) -> tuple[Columns, Indices]:
        """Columns and indices on the device of the circuit."""
        device = self.device
        if self._placed is None or self._placed[0] != device:
            self._placed = (device, *self._plan(device))
        return self._placed[1:]

    def _plan(self, device: torch.device) -> tuple[Columns, Indices]:
        units, nodes = self.groups.units, self.circuit.graph.nodes.values()
        read = [state_of(self.circuit, units, one) for tables in self.groups.tables.values() for one in tables]
        discrete = [pair for pair in dict.fromkeys(read) if pair[0] >= 0]
        discrete += [
            (scope[0], layer.num_values)
            for layer in nodes
            if isinstance(layer, TorchDiscreteLayer) and layer.num_values <= MAX_TABLE_ENTRIES
            for scope in layer.scope_idx
        ]  # the circuit refuses bad values of variables that no output depends on as well
        discrete = list(dict.fromkeys(discrete))
        groups = [group for group in self.groups.groups if group.kind is Kind.GAUSSIAN]
        continuous = [variable for group in groups for variables in group.variables for variable in variables]
        continuous += [
            variable
            for layer in nodes
            if isinstance(layer, TorchContinuousLayer)
            for scope in layer.scope_idx
            for variable in scope
        ]
        continuous = list(dict.fromkeys(continuous))
        points = {variable: row for row, variable in enumerate(continuous)}
        rows = {pair: row for row, pair in enumerate(discrete)} | {(-1, 1): len(discrete)}

        def tensor(values: Sequence[int]) -> Tensor:
            return torch.tensor(values, dtype=torch.long, device=device)

        columns = Columns(
            tensor([variable for variable, _ in discrete]), tensor([count for _, count in discrete]), tensor(continuous)
        )
        indices = Indices(
            make_table_reads(self.circuit, self.groups, rows, device),
            tuple(tensor(index) for index in self.groups.indices),
            tuple(
                tuple(tensor([points[v] for v in variables]) for variables in group.variables)
                if group.kind is Kind.GAUSSIAN
                else ()
                for group in self.groups.groups
            ),
        )
        return columns, indices


def _matmul_precision(device: torch.device) -> str:
    """The precision that PyTorch allows for matrix products of float32 on a device."""
    library: Any = torch.backends.cuda if device.type == "cuda" else torch.backends.mkldnn
    try:
        return library.matmul.fp32_precision
    except AttributeError:  # before torch 2.9, there is one setting for all libraries
        return torch.get_float32_matmul_precision()
