"""A circuit as launches of Triton kernels, captured as a CUDA graph for each batch size."""

import os
from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.runtime.constants import Constants
from explorer.runtime.cuda.launches import Launches, Placed, place_launches, plan_launches
from explorer.runtime.graphs import preparing
from explorer.runtime.packed import Answer, Packed, PlacedProgram, answer_of, readable
from explorer.runtime.packed_tensors import PackedTensors, make_packed_tensors
from explorer.runtime.plan import Kind, lower_to_plan, run_passes
from explorer.runtime.snapshots import Snapshot

MAX_ROWS = 8192
"""Rows per CUDA graph; larger batches are evaluated in chunks, as all values of a batch are kept on the device."""


def interprets() -> bool:
    """Return whether Triton interprets kernels, on the CPU: for tests."""
    return os.environ.get("TRITON_INTERPRET") == "1"


class LaunchProgram(PlacedProgram[PackedTensors, Placed]):
    """The kernel calls of a circuit, evaluated on CUDA by one launch of a kernel for all calls of one shape and level.

    Raises: LoweringError if a layer has no kernel calls, or Triton no kernel for one.
    """

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        super().__init__(circuit)
        self.plan = run_passes(lower_to_plan(circuit))
        self.launches: Launches = plan_launches(self.plan)
        self._density_launches = [one.members for one in self.launches.launches if one.kind is Kind.DENSITY]

    def describe(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in self.plan.counts().items())
        return f"{counts}; {len(self.launches.launches)} launches"

    def _pack(self, snapshot: Snapshot, constants: Constants) -> PackedTensors:
        return make_packed_tensors(self.circuit, constants, self.launches.launches, self.launches.tables, self.device)

    def _answer_there(self, x: Tensor, packed: Packed[PackedTensors], placed: Placed) -> Answer | None:
        from explorer.runtime.cuda.launch_evaluation import evaluate_launches

        x = readable(x)
        if len(x) > MAX_ROWS:
            return _joined([self._answer_there(part, packed, placed) for part in x.split(MAX_ROWS)])
        densities: tuple[Tensor, ...] = ()
        if self._density_launches:
            if not _is_legal(x, placed):
                return None
            densities = self._densities(x, packed.constants, self._density_launches)

        def evaluate(tensors: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
            constants = packed.numbers.with_tensors(tensors)
            return evaluate_launches(self.launches, constants, placed, inputs[0], inputs[1:])

        if x.device.type != "cuda":  # Triton's interpreter
            with preparing():
                outputs, certified, flags = evaluate(packed.numbers.tensors, (x.contiguous(), *densities))
            return answer_of(outputs, (certified,), flags.tolist())
        return answer_of(*self._graphs.run(evaluate, packed.numbers.tensors, (x, *densities)))

    def _place(self, device: torch.device) -> Placed:
        return place_launches(self.circuit, self.launches, device)


def _is_legal(x: Tensor, placed: Placed) -> bool:
    """Return whether all values of variables are legal: layers that PyTorch evaluates may not read others."""
    inputs = placed.inputs
    columns, counts = inputs.columns[: inputs.num_discrete], inputs.num_values[: inputs.num_discrete]
    numbers = torch.index_select(x, 1, columns)
    legal = (numbers >= 0) & (numbers < counts)
    if x.is_floating_point():
        legal &= numbers == numbers.floor()
    points = torch.index_select(x, 1, inputs.columns[inputs.num_discrete + 2 :])
    return bool(legal.all() & ~points.isnan().any())


def _joined(parts: Sequence[Answer | None]) -> Answer | None:
    """One answer of the answers for consecutive rows."""
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    outputs = torch.cat([one.outputs for one in found])
    if all(one.certified is None for one in found):
        return Answer(outputs, None)
    certified = [
        torch.ones(len(one.outputs), dtype=torch.bool, device=outputs.device)
        if one.certified is None
        else one.certified
        for one in found
    ]
    return Answer(outputs, torch.cat(certified))
