"""Units and the offsets of their numbers as the arrays that the native library reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.backend import EvaluatedCircuit, TorchTensorDotLayer
from explorer.runtime.constants import Constants, Offsets
from explorer.runtime.kernel_types import KIND_NUMBERS, LINE_BYTES, SPAN_ROWS, SPAN_WIDTH
from explorer.runtime.native.structures import NativeCircuit, NativeOperand, NativeUnit, records
from explorer.runtime.packed import columns_of, state_of
from explorer.runtime.units import KernelCall, Kind, Plan, layer_of, num_states, units_read


@dataclass(frozen=True, eq=False)
class NativeArrays:
    """The records of a circuit, whose addresses `native` has; `densities` are the layers that PyTorch evaluates.

    `columns` are the integers by field of `native`.
    """

    native: NativeCircuit
    units: NDArray[Any]
    operands: NDArray[Any]
    columns: Mapping[str, NDArray[np.int64]]
    densities: tuple[int, ...]


def make_arrays(circuit: EvaluatedCircuit, constants: Constants, units: Plan) -> NativeArrays:
    """The arrays for packed constants, with the units of these in some order."""
    made = ArrayBuilder(circuit, units, constants.offsets, constants.lanes).build()
    made.native.constants, made.native.scales = constants.floats.data_ptr(), constants.doubles.data_ptr()
    made.native.ahead_lines = max_lines_read(circuit, constants)
    return made


def max_lines_read(circuit: EvaluatedCircuit, constants: Constants) -> int:
    """The lines of the cache with the weights, tables and densities that one unit reads: the maximum over all units."""
    units, size, padded = constants.units, constants.floats.element_size(), constants.padded

    def lines(*counts: int) -> int:
        return sum(count * size // LINE_BYTES + 2 for count in counts)  # the first and the last one may be partial

    def of_table(number: int) -> int:
        states = num_states(circuit, units, number)
        return lines(states * padded(units.calls[number].width), states, states * 2)  # values, bounds, scales

    def weight_rows(unit: KernelCall) -> int:
        widths = [units.calls[one].width for one in unit.inputs]
        match unit.kind:
            case Kind.SUM:
                return sum(widths[:: len(widths) // unit.terms])
            case Kind.MIXING:
                return unit.terms
            case Kind.TUCKER:
                return widths[0] * widths[1]
            case _:
                return 0

    def of_unit(unit: KernelCall) -> int:
        width = padded(unit.width)
        found = lines(weight_rows(unit) * width) + sum(of_table(one) for one in unit.inputs if one not in units.slots)
        return found + (lines(*[3 * width] * len(unit.variables)) if unit.kind is Kind.GAUSSIAN else 0)

    return max((of_unit(unit) for _, unit in units.computed()), default=0)


class ArrayBuilder:
    """Makes the arrays of units whose numbers have known offsets; each slot is as wide as the widest unit."""

    def __init__(self, circuit: EvaluatedCircuit, units: Plan, offsets: Mapping[int, Offsets], lanes: int) -> None:
        self.circuit = circuit
        self.units = units
        self.offsets = offsets
        self.lanes = lanes
        self.rows: list[NativeUnit] = []
        self.operands: list[NativeOperand] = []
        columns = columns_of(circuit, units, units.read_tables)  # sorted: neighbours, in one line of the cache
        self.discrete = {pair: at for at, pair in enumerate(sorted(columns.discrete))}
        self.continuous = {variable: at for at, variable in enumerate(sorted(columns.continuous))}
        self.density_starts = _density_starts(circuit, units)
        self.scratch = self.scratch_fixed = self.widest = lanes
        self.units_read: list[int] = []
        self.units_read_starts: dict[tuple[int, str], int] = {}

    def padded(self, width: int) -> int:
        """The width of a row: whole vectors."""
        return -(-width // self.lanes) * self.lanes

    def build(self) -> NativeArrays:
        """The arrays; the addresses of constants are missing."""
        self.add_units()
        outputs = range(len(self.operands), len(self.operands) + len(self.units.outputs))
        for number in self.units.outputs:
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
        rows, operands = records(NativeUnit, self.rows), records(NativeOperand, self.operands)
        native = NativeCircuit(
            units=rows.ctypes.data,
            num_units=len(rows),
            operands=operands.ctypes.data,
            value_floats=value_floats,
            num_slots=max(self.units.num_slots, 1),
            scratch_floats=self.scratch,
            scratch_fixed=self.scratch_fixed,
            num_outputs=len(outputs),
            output_units=self.units.calls[self.units.outputs[0]].width,
            num_discrete=len(self.discrete),
            num_continuous=len(self.continuous),
            absorbs=self.units.counts_errors_once,
            **{name: integers.ctypes.data for name, integers in columns.items()},
        )
        return NativeArrays(native, rows, operands, columns, tuple(self.density_starts))

    def add_units(self) -> None:
        """Add the rows of all units that the kernels run."""
        for number, unit in self.units.computed():
            self.rows.append(self.row(number, unit))

    def density_rows(self, number: int, factor: int) -> int:
        """Return where the numbers of a factor of a product of densities are."""
        return self.offsets[number].values + factor * 3 * self.padded(self.units.calls[number].width)

    def place_values(self) -> int:
        """Give each slot its place; returns the floats of all of them."""
        for one in (*self.rows, *self.operands):
            one.place = max(one.slot, 0) * self.widest
        return max(self.units.num_slots, 1) * self.widest

    def row(self, number: int, unit: KernelCall) -> NativeUnit:
        """The record of a unit; its operands are added."""
        offsets = self.offsets.get(number, Offsets(0))
        start, weight, terms = len(self.operands), offsets.values, unit.terms
        factors = len(unit.inputs) // unit.terms
        in_units = self.units.calls[unit.inputs[0]].width if unit.inputs else 0
        for one in unit.inputs:
            self.add_operand(one)
        self.widest = max(self.widest, self.padded(unit.width))
        match unit.kind:
            case Kind.GAUSSIAN:
                factors = len(unit.variables)
                self.scratch_fixed = max(self.scratch_fixed, self.lanes * self.padded(unit.width))
                for at, variable in enumerate(unit.variables):
                    column, rows = self.continuous[variable], self.density_rows(number, at)
                    self.operands.append(NativeOperand(slot=-1, variable=column, rows=rows))
            case Kind.DENSITY:
                weight = self._density(unit)
            case Kind.SUM | Kind.MIXING:
                self._need_scratch(in_units, self.padded(in_units) + 2 * self.padded(unit.width))
            case Kind.TUCKER:
                self._need_scratch(in_units, 2 * self.padded(in_units) + self.padded(unit.width))
            case Kind.KRONECKER:
                weight = self.padded(self.units.calls[unit.inputs[1]].width)
            case Kind.REARRANGE:
                weight = self._units_read(unit)
            case Kind.TENSOR_DOT:
                layer = layer_of(self.circuit, unit.sources[0])
                assert isinstance(layer, TorchTensorDotLayer)
                rows, terms = layer.weight.shape
                factors = self.padded(rows)
                self.scratch_fixed = max(self.scratch_fixed, in_units + in_units // terms * factors)
            case _:
                pass
        return NativeUnit(
            kind=KIND_NUMBERS[unit.kind],
            slot=self.units.slots.get(number, -1),
            in_units=in_units,
            in_width=self.padded(in_units),
            out_units=unit.width,
            out_width=self.padded(unit.width),
            terms=terms,
            factors=factors,
            operands=start,
            weight=weight,
            norms=offsets.bounds,
            source=-1,
            normalizers=-1,
        )

    def _need_scratch(self, in_units: int, floats: int) -> None:
        """Require `floats` of scratch memory for each row that a unit computes at a time."""
        if self.padded(in_units) <= SPAN_WIDTH:
            self.scratch_fixed = max(self.scratch_fixed, SPAN_ROWS * floats)
        else:
            self.scratch = max(self.scratch, floats)

    def add_operand(self, number: int) -> None:
        """Add the record of an input of a unit."""
        if number in self.units.slots:
            self.operands.append(NativeOperand(slot=self.units.slots[number], variable=-1))
            return
        offsets, state = self.offsets[number], state_of(self.circuit, self.units, number)
        variable = -1 if state[0] < 0 else self.discrete[state]
        self.operands.append(
            NativeOperand(slot=-1, variable=variable, rows=offsets.values, scales=offsets.scales, bounds=offsets.bounds)
        )

    def _units_read(self, unit: KernelCall) -> int:
        """Return where the positions begin that a unit reads: they are the same in all folds of a layer."""
        key = unit.sources[0].layer, unit.sources[0].part
        if key not in self.units_read_starts:
            self.units_read_starts[key] = len(self.units_read)
            self.units_read += units_read(self.circuit, unit)
        return self.units_read_starts[key]

    def _density(self, unit: KernelCall) -> int:
        """Return where the logarithms of a unit are among those of all layers that PyTorch evaluates."""
        source = unit.sources[0]
        return self.density_starts[source.layer] + source.fold * unit.width


def _density_starts(circuit: EvaluatedCircuit, units: Plan) -> dict[int, int]:
    """Return the start of the logarithms of each layer that PyTorch evaluates: in the order of layers."""
    widths = {unit.sources[0].layer: unit.width for _, unit in units.computed() if unit.kind is Kind.DENSITY}
    floats = [circuit.graph.nodes[layer].num_folds * widths[layer] for layer in sorted(widths)]
    return dict(zip(sorted(widths), accumulate([0, *floats]), strict=False))
