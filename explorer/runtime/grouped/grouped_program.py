"""A circuit as groups of kernel calls that PyTorch evaluates, with the same certificate as the native kernels."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.errors import LoweringError
from explorer.runtime.constants import TOLERANCE, Constants
from explorer.runtime.grouped.group_evaluation import Given, Indices, evaluate_groups
from explorer.runtime.grouped.groups import group_calls, make_table_reads
from explorer.runtime.grouped.kernels import step_for
from explorer.runtime.packed import Answer, Packed, PlacedProgram, answer_of, columns_of, readable, why_not_precise
from explorer.runtime.packed_tensors import PackedTensors, make_packed_tensors
from explorer.runtime.plan import Kind, lower_to_plan, run_passes, units_read
from explorer.runtime.snapshots import Snapshot

MAX_READS = 20_000
"""A circuit that reads more factors, one group at a time, is evaluated by its layers."""


@dataclass(frozen=True, eq=False)
class Placed:
    """The columns of x on a device, of discrete variables with their numbers of values; and indices."""

    discrete: Tensor
    num_values: Tensor
    continuous: Tensor
    indices: Indices


class GroupedProgram(PlacedProgram[PackedTensors, Placed]):
    """The kernel calls of a circuit in groups, evaluated by operators of PyTorch on the device of the circuit.

    On CUDA, the operators are captured as a CUDA graph for each batch size. Raises: LoweringError if a layer has no
    kernel calls.
    """

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        super().__init__(circuit)
        self.plan = run_passes(lower_to_plan(circuit))
        self.groups = group_calls(self.plan)
        if self.groups.num_reads > MAX_READS:
            raise LoweringError(f"its kernel calls read {self.groups.num_reads} factors, more than {MAX_READS}")
        self._density_groups = [group.members for group in self.groups.groups if group.kind is Kind.DENSITY]

    def describe(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in self.plan.counts().items())
        return f"{counts}; {len(self.groups.groups)} groups"

    def why_not_tried(self, x: Tensor) -> str:
        """Also what makes matrix products imprecise."""
        return super().why_not_tried(x) or why_not_precise(x.device)

    def _pack(self, snapshot: Snapshot, constants: Constants) -> PackedTensors:
        return make_packed_tensors(self.circuit, constants, self.groups.groups, self.groups.tables, self.device)

    def _answer_there(self, x: Tensor, packed: Packed[PackedTensors], placed: Placed) -> Answer | None:
        x = readable(x)
        densities: tuple[Tensor, ...] = ()
        if self._density_groups:
            if not bool(self._read(x, placed, ())[1]):
                return None
            densities = self._densities(x, packed.constants, self._density_groups)
        if x.device.type == "cuda":

            def evaluate(tensors: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
                given, is_legal = self._read(inputs[0], placed, tuple(inputs[1:]))
                outputs, certified = self._evaluated(packed.numbers.with_tensors(tensors), placed, given)
                return outputs, certified, torch.stack((~is_legal, ~certified.all()))

            return answer_of(*self._graphs.run(evaluate, packed.numbers.tensors, (x, *densities)))
        given, is_legal = self._read(x, placed, densities)
        return Answer(*self._evaluated(packed.numbers, placed, given)) if bool(is_legal) else None

    def _read(self, x: Tensor, placed: Placed, densities: tuple[Tensor, ...]) -> tuple[Given, Tensor]:
        """Return the inputs of calls, and whether variables have values that they can have; others are read as 0."""
        numbers = torch.index_select(x, 1, placed.discrete)
        legal = (numbers >= 0) & (numbers < placed.num_values)
        if x.is_floating_point():
            legal &= numbers == numbers.floor()
        points = torch.index_select(x, 1, placed.continuous).float()
        states = torch.where(legal, numbers, 0).long()
        states = torch.nn.functional.pad(states, (0, 1)).t().contiguous()  # the last is of tables with one row
        return Given(states, points.t().contiguous(), densities), legal.all() & ~points.isnan().any()

    def _evaluated(self, constants: PackedTensors, placed: Placed, given: Given) -> tuple[Tensor, Tensor]:
        """The outputs, and which rows are certified."""
        step = step_for(given.states, given.states.shape[1])
        outputs, values, bounds = evaluate_groups(self.groups, constants, placed.indices, given, step)
        certified = ((bounds < TOLERANCE * values) & torch.isfinite(outputs)).all(dim=2).all(dim=1)
        return outputs, certified

    def _place(self, device: torch.device) -> Placed:
        groups = self.groups
        read = [one for tables in groups.tables.values() for one in tables]
        columns = columns_of(self.circuit, self.plan, read)
        points = {variable: row for row, variable in enumerate(columns.continuous)}
        rows = {pair: row for row, pair in enumerate(columns.discrete)} | {(-1, 1): len(columns.discrete)}

        def tensor(values: Sequence[int]) -> Tensor:
            return torch.tensor(values, dtype=torch.long, device=device)

        indices = Indices(
            make_table_reads(self.circuit, groups, rows, device),
            tuple(tensor(index) for index in groups.indices),
            tuple(
                tuple(tensor([points[v] for v in variables]) for variables in group.variables)
                if group.kind is Kind.GAUSSIAN
                else ()
                for group in groups.groups
            ),
            tuple(
                tensor(units_read(self.circuit, self.plan.calls[group.members[0]]))
                if group.kind is Kind.REARRANGE
                else tensor(())
                for group in groups.groups
            ),
        )
        discrete, num_values = zip(*columns.discrete, strict=True) if columns.discrete else ((), ())
        return Placed(tensor(discrete), tensor(num_values), tensor(columns.continuous), indices)
