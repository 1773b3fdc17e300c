"""Kernel calls and the offsets of their numbers as the arrays that the native library reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.backend import EvaluatedCircuit, TorchTensorDotLayer
from explorer.runtime.constants import Constants, Offsets
from explorer.runtime.kernel_types import KIND_NUMBERS, LINE_BYTES, SPAN_ROWS, SPAN_WIDTH
from explorer.runtime.native.structures import NativeCircuit, NativeKernelCall, NativeOperand, records
from explorer.runtime.packed import columns_of, state_of
from explorer.runtime.plan import KernelCall, Kind, Plan, layer_of, num_states, units_read


@dataclass(frozen=True, eq=False)
class NativeArrays:
    """The records of a circuit, with their addresses in `native`; `densities` are the layers that PyTorch evaluates.

    `columns` are the integers by field of `native`.
    """

    native: NativeCircuit
    calls: NDArray[Any]
    operands: NDArray[Any]
    columns: Mapping[str, NDArray[np.int64]]
    densities: tuple[int, ...]


def make_arrays(circuit: EvaluatedCircuit, constants: Constants, plan: Plan) -> NativeArrays:
    """The arrays for packed constants, with the calls of these in some order."""
    made = ArrayBuilder(circuit, plan, constants.offsets, constants.lanes).build()
    made.native.constants, made.native.scales = constants.floats.data_ptr(), constants.doubles.data_ptr()
    made.native.ahead_lines = max_lines_read(circuit, constants)
    return made


def max_lines_read(circuit: EvaluatedCircuit, constants: Constants) -> int:
    """The lines of the cache with the weights, tables and densities that one call reads: the maximum over all calls."""
    plan, size, padded = constants.plan, constants.floats.element_size(), constants.padded

    def lines(*counts: int) -> int:
        return sum(count * size // LINE_BYTES + 2 for count in counts)  # the first and the last one may be partial

    def of_table(number: int) -> int:
        states = num_states(circuit, plan, number)
        return lines(states * padded(plan.calls[number].width), states, states * 2)  # values, bounds, scales

    def weight_rows(call: KernelCall) -> int:
        widths = [plan.calls[one].width for one in call.inputs]
        match call.kind:
            case Kind.SUM:
                return sum(widths[:: len(widths) // call.terms])
            case Kind.MIXING:
                return call.terms
            case Kind.TUCKER:
                return widths[0] * widths[1]
            case _:
                return 0

    def of_call(call: KernelCall) -> int:
        width = padded(call.width)
        found = lines(weight_rows(call) * width) + sum(of_table(one) for one in call.inputs if one not in plan.slots)
        return found + (lines(*[3 * width] * len(call.variables)) if call.kind is Kind.GAUSSIAN else 0)

    return max((of_call(call) for _, call in plan.computed()), default=0)


class ArrayBuilder:
    """Makes the arrays of calls from the offsets of their numbers; each slot is as wide as the widest call."""

    def __init__(self, circuit: EvaluatedCircuit, plan: Plan, offsets: Mapping[int, Offsets], lanes: int) -> None:
        self.circuit = circuit
        self.plan = plan
        self.offsets = offsets
        self.lanes = lanes
        self.rows: list[NativeKernelCall] = []
        self.operands: list[NativeOperand] = []
        columns = columns_of(circuit, plan, plan.read_tables)  # sorted: neighbours, in one line of the cache
        self.discrete = {pair: at for at, pair in enumerate(sorted(columns.discrete))}
        self.continuous = {variable: at for at, variable in enumerate(sorted(columns.continuous))}
        self.density_starts = _density_starts(circuit, plan)
        self.scratch = self.scratch_fixed = self.widest = lanes
        self.units_read: list[int] = []
        self.units_read_starts: dict[tuple[int, str], int] = {}

    def padded(self, width: int) -> int:
        """The width of a row: whole vectors."""
        return -(-width // self.lanes) * self.lanes

    def build(self) -> NativeArrays:
        """The arrays; the addresses of constants are missing."""
        self.add_calls()
        outputs = range(len(self.operands), len(self.operands) + len(self.plan.outputs))
        for number in self.plan.outputs:
            self.add_operand(number)
        value_floats = self.place_values()
        found = {
            "outputs": outputs,
            "discrete": [variable for variable, _ in self.discrete],
            "num_values": [count for _, count in self.discrete],
            "continuous": list(self.continuous),
            "units_read": self.units_read,
        }
        columns = {name: np.array(integers, dtype=np.int64) for name, integers in found.items()}
        rows, operands = records(NativeKernelCall, self.rows), records(NativeOperand, self.operands)
        native = NativeCircuit(
            calls=rows.ctypes.data,
            num_calls=len(rows),
            operands=operands.ctypes.data,
            value_floats=value_floats,
            num_slots=max(self.plan.num_slots, 1),
            scratch_floats=self.scratch,
            scratch_fixed=self.scratch_fixed,
            num_outputs=len(outputs),
            output_units=self.plan.calls[self.plan.outputs[0]].width,
            num_discrete=len(self.discrete),
            num_continuous=len(self.continuous),
            absorbs=self.plan.counts_errors_once,
            **{name: integers.ctypes.data for name, integers in columns.items()},
        )
        return NativeArrays(native, rows, operands, columns, tuple(self.density_starts))

    def add_calls(self) -> None:
        """Add the rows of all calls that the kernels run."""
        for number, call in self.plan.computed():
            self.rows.append(self.row(number, call))

    def density_rows(self, number: int, factor: int) -> int:
        """Return where the numbers of a factor of a product of densities are."""
        return self.offsets[number].values + factor * 3 * self.padded(self.plan.calls[number].width)

    def place_values(self) -> int:
        """Give each slot its place; returns the floats of all of them."""
        for one in (*self.rows, *self.operands):
            one.place = max(one.slot, 0) * self.widest
        return max(self.plan.num_slots, 1) * self.widest

    def row(self, number: int, call: KernelCall) -> NativeKernelCall:
        """The record of a call; its operands are added."""
        offsets = self.offsets.get(number, Offsets(0))
        start, weight, terms = len(self.operands), offsets.values, call.terms
        factors = len(call.inputs) // call.terms
        in_units = self.plan.calls[call.inputs[0]].width if call.inputs else 0
        for one in call.inputs:
            self.add_operand(one)
        self.widest = max(self.widest, self.padded(call.width))
        match call.kind:
            case Kind.GAUSSIAN:
                factors = len(call.variables)
                self.scratch_fixed = max(self.scratch_fixed, self.lanes * self.padded(call.width))
                for at, variable in enumerate(call.variables):
                    column, rows = self.continuous[variable], self.density_rows(number, at)
                    self.operands.append(NativeOperand(slot=-1, variable=column, rows=rows))
            case Kind.DENSITY:
                weight = self._density(call)
            case Kind.SUM | Kind.MIXING:
                self._need_scratch(in_units, self.padded(in_units) + 2 * self.padded(call.width))
            case Kind.TUCKER:
                self._need_scratch(in_units, 2 * self.padded(in_units) + self.padded(call.width))
            case Kind.KRONECKER:
                weight = self.padded(self.plan.calls[call.inputs[1]].width)
            case Kind.REARRANGE:
                weight = self._units_read(call)
            case Kind.TENSOR_DOT:
                layer = layer_of(self.circuit, call.sources[0])
                assert isinstance(layer, TorchTensorDotLayer)
                rows, terms = layer.weight.shape
                factors = self.padded(rows)
                self.scratch_fixed = max(self.scratch_fixed, in_units + in_units // terms * factors)
            case _:
                pass
        return NativeKernelCall(
            kind=KIND_NUMBERS[call.kind],
            slot=self.plan.slots.get(number, -1),
            in_units=in_units,
            in_width=self.padded(in_units),
            out_units=call.width,
            out_width=self.padded(call.width),
            terms=terms,
            factors=factors,
            operands=start,
            weight=weight,
            norms=offsets.bounds,
            source=-1,
            normalizers=-1,
        )

    def _need_scratch(self, in_units: int, floats: int) -> None:
        """Require `floats` of scratch memory for each row that a call computes at a time."""
        if self.padded(in_units) <= SPAN_WIDTH:
            self.scratch_fixed = max(self.scratch_fixed, SPAN_ROWS * floats)
        else:
            self.scratch = max(self.scratch, floats)

    def add_operand(self, number: int) -> None:
        """Add the record of an input of a call."""
        if number in self.plan.slots:
            self.operands.append(NativeOperand(slot=self.plan.slots[number], variable=-1))
            return
        offsets, state = self.offsets[number], state_of(self.circuit, self.plan, number)
        variable = -1 if state[0] < 0 else self.discrete[state]
        self.operands.append(
            NativeOperand(slot=-1, variable=variable, rows=offsets.values, scales=offsets.scales, bounds=offsets.bounds)
        )

    def _units_read(self, call: KernelCall) -> int:
        """Return where the positions begin that a call reads: they are the same in all folds of a layer."""
        key = call.sources[0].layer, call.sources[0].part
        if key not in self.units_read_starts:
            self.units_read_starts[key] = len(self.units_read)
            self.units_read += units_read(self.circuit, call)
        return self.units_read_starts[key]

    def _density(self, call: KernelCall) -> int:
        """Return where the logarithms of a call begin, among all that PyTorch evaluates."""
        source = call.sources[0]
        return self.density_starts[source.layer] + source.fold * call.width


def _density_starts(circuit: EvaluatedCircuit, plan: Plan) -> dict[int, int]:
    """Return the start of the logarithms of each layer that PyTorch evaluates: in the order of layers."""
    widths = {call.sources[0].layer: call.width for _, call in plan.computed() if call.kind is Kind.DENSITY}
    floats = [circuit.graph.nodes[layer].num_folds * widths[layer] for layer in sorted(widths)]
    return dict(zip(sorted(widths), accumulate([0, *floats]), strict=False))
