"""A circuit for training by the native library: what it reads of each layer, and where gradients are kept.

All values are kept until the backward pass, so each kernel call has a slot of its own. The gradient of a call is kept
until the call has passed it on. Tables are not combined: a combined table would be computed again in each step.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.backend import TorchCategoricalLayer, TorchCircuit, TorchEmbeddingLayer
from explorer.backend.parameters import TorchLogSoftmaxParameter, TorchSoftmaxParameter
from explorer.graph import parameters_of
from explorer.runtime.constants import Offsets
from explorer.runtime.kernel_types import MAX_FACTORS, TUCKER_VECTORS, Content
from explorer.runtime.native.arrays import ArrayBuilder, NativeArrays
from explorer.runtime.native.structures import NativeKernelCall, NativeTable, NativeTraining, records
from explorer.runtime.plan import (
    WEIGHTED,
    KernelCall,
    Kind,
    Plan,
    SlotStep,
    Source,
    layer_of,
    lower_to_plan,
    num_states,
    run_training_passes,
    slots_by_width,
)

NORMALIZED = "normalized"
"""The content of a table's operand of a softmax or log-softmax, which the kernels compute."""

SOFTMAX = "softmax"
"""The content of a weight's operand of a softmax, which the kernels compute."""

CONTENTS = {
    "linear": Content.LINEAR,
    "logarithms": Content.LOGARITHMS,
    "evaluated": Content.LOGARITHMS,
    NORMALIZED: Content.NORMALIZED,
}
"""The contents of tables by the contents of their tensors."""

FEW_ROWS = 2
"""A table with more states per row of the batch has rows for the states of the batch only."""

STATES = 1
"""The axis of the states of a table (K, V), and of the units that a weight (K, I) weighs."""


@dataclass(frozen=True, slots=True)
class Read:
    """A tensor of a layer that the library reads.

    It is a weight (F, K, I) or the operand of its "softmax", or a table: "linear" or "logarithms" (F, K, V), the
    operand of a "normalized" one, or what the layer is `evaluated` to (F, V, K).
    """

    layer: int
    name: str
    content: str


@dataclass(frozen=True, eq=False)
class TrainingPlan:
    """The arrays of a circuit, the tensors that they read, and the sizes of what a step needs.

    `gaussians` has the offset in the constants of the densities of each layer; after these and the normalizers of
    weights come the rows of tables, from `first_row` on. `partial` has the tensors with folds that no call reads: their
    gradient is zero there; `table_operands` the positions of operands that are tables, and `operand_tables` the number
    of the table of each. A tile adds the gradients of a call after the tile before has gone back through as many
    calls as `turns` has for the call.
    """

    arrays: NativeArrays
    reads: tuple[Read, ...]
    partial: frozenset[int]
    gaussians: Mapping[int, int]
    turns: NDArray[np.int64]
    tables: NDArray[Any]
    table_operands: NDArray[np.int64]
    operand_tables: NDArray[np.int64]
    lanes: int
    gaussian_floats: int
    first_row: int
    sizes: NativeTraining

    def place_rows(self, batch: int) -> "PlacedRows":
        """Place the rows of tables for a batch: one for each state, or for each row of the batch if these are few."""
        tables, operands = self.tables.copy(), self.arrays.operands.copy()
        width = tables["width"]
        by_row = tables["states"] > FEW_ROWS * batch
        rows = np.where(by_row, batch, tables["states"])
        filled = -(-rows // self.lanes) * self.lanes
        sizes = rows * width + filled + np.where(tables["content"] == Content.NORMALIZED, 3 * width, 0)
        tables["rows"] = self.first_row + np.cumsum(sizes) - sizes
        tables["scales"] = np.cumsum(rows) - rows
        tables["bounds"] = tables["rows"] + rows * width
        tables["normalizers"] = tables["bounds"] + filled
        for name in ("rows", "scales", "bounds"):
            operands[name][self.table_operands] = tables[name][self.operand_tables]
        operands["by_row"][self.table_operands] = by_row[self.operand_tables]
        return PlacedRows(tables, operands, self.first_row + int(sizes.sum()), int(rows.sum()))


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Tables and operands with the places of rows, and how many floats and rows there are."""

    tables: NDArray[Any]
    operands: NDArray[Any]
    constant_floats: int
    num_rows: int


def plan_training(circuit: TorchCircuit, lanes: int) -> TrainingPlan:
    """The plan of a circuit. Raises: LoweringError for a layer that has no kernel calls."""
    plan = run_training_passes(lower_to_plan(circuit))
    slots = {number: slot for slot, (number, _) in enumerate(plan.computed())}
    return _Planner(circuit, replace(plan, slots=slots), lanes).training_plan()


class _Planner(ArrayBuilder):
    """Adds to the arrays of a circuit what training reads and writes."""

    def __init__(self, circuit: TorchCircuit, plan: Plan, lanes: int) -> None:
        self.table_numbers: dict[int, int] = {}
        self.table_operands: dict[int, int] = {}  # the number of the table of each operand that is one
        super().__init__(circuit, plan, defaultdict(lambda: Offsets(0)), lanes)
        self.numbers: list[int] = []  # of the call of each row
        self.reads: dict[Read, int] = {}
        self.circuit: TorchCircuit = circuit
        self.folds_read: dict[int, set[int]] = {}
        self.tables: list[NativeTable] = []
        self.gaussians: dict[int, int] = {}
        self.constant_floats = 0
        self.sizes = NativeTraining(weight_floats=lanes, block_floats=lanes, max_terms=1)

    def training_plan(self) -> TrainingPlan:
        self._place_gaussians()
        gaussian_floats = self.constant_floats
        self._add_tables()
        arrays = self.build()
        self.sizes.widest = self.widest
        folds = {number: self.circuit.graph.nodes[read.layer].num_folds for read, number in self.reads.items()}
        return TrainingPlan(
            arrays=arrays,
            reads=tuple(self.reads),
            partial=frozenset(number for number, count in folds.items() if len(self.folds_read[number]) < count),
            gaussians=self.gaussians,
            turns=self._turns(),
            tables=records(NativeTable, self.tables),
            table_operands=np.array(list(self.table_operands), dtype=np.int64),
            operand_tables=np.array(list(self.table_operands.values()), dtype=np.int64),
            lanes=self.lanes,
            gaussian_floats=gaussian_floats,
            first_row=self.constant_floats,
            sizes=self.sizes,
        )

    def _turns(self) -> NDArray[np.int64]:
        """For each call, how many calls the previous tile must have gone back through before this one may.

        Up to the same call, which adds to the same gradients; for densities, up to the first call in order that reads
        one of them; 0 for calls without parameters.
        """
        first: dict[Source, int] = {}
        found = np.zeros(len(self.numbers), dtype=np.int64)
        for at, number in enumerate(self.numbers):
            call = self.plan.calls[number]
            if call.kind is Kind.GAUSSIAN:
                found[at] = len(found) - min(first.setdefault(source, at) for source in call.sources)
            elif call.kind in WEIGHTED or call.kind is Kind.TABLE:
                found[at] = len(found) - at
        return found

    # ------------------------------------------------------------------ constants

    def _place_gaussians(self) -> None:
        """Rows of means, factors and constants (F, 3, K) of each layer of densities."""
        for call in self.plan.calls.values():
            for source in call.sources if call.kind is Kind.GAUSSIAN else ():
                if source.layer not in self.gaussians:
                    self.gaussians[source.layer] = self.constant_floats
                    folds = self.circuit.graph.nodes[source.layer].num_folds
                    self.constant_floats += folds * 3 * self.padded(call.width)

    def density_rows(self, number: int, factor: int) -> int:
        call = self.plan.calls[number]
        source = call.sources[factor]
        return self.gaussians[source.layer] + source.fold * 3 * self.padded(call.width)

    def _add_tables(self) -> None:
        """Add the records of tables; their rows have no places yet."""
        for number, call in self.plan.calls.items():
            if call.kind is not Kind.TABLE:
                continue
            read, states = self._table_of(call.sources[0]), num_states(self.circuit, self.plan, number)
            unit_stride, state_stride = (1, call.width) if read.content == "evaluated" else (states, 1)
            width = self.padded(call.width)
            self.sizes.most_states = max(self.sizes.most_states, states)
            self.table_numbers[number] = len(self.tables)
            self.tables.append(
                NativeTable(
                    source=self._read(read, call.sources[0].fold),
                    offset=call.sources[0].fold * states * call.width,
                    unit_stride=unit_stride,
                    state_stride=state_stride,
                    units=call.width,
                    width=width,
                    states=states,
                    content=CONTENTS[read.content],
                )
            )
            self.sizes.block_floats = max(self.sizes.block_floats, width)

    def _table_of(self, source: Source) -> Read:
        layer = self.circuit.graph.nodes[source.layer]
        if type(layer) is TorchEmbeddingLayer:
            return self._given(source, "weight", "linear")
        if type(layer) is TorchCategoricalLayer:
            logits = "logits" in parameters_of(layer)
            return self._given(source, *(("logits", "logarithms") if logits else ("probs", "linear")))
        return Read(source.layer, "", "evaluated")

    def _given(self, source: Source, name: str, content: str) -> Read:
        operator = self.circuit.last_operator(source.layer, name)
        softmax = TorchLogSoftmaxParameter if content == "logarithms" else TorchSoftmaxParameter
        is_normalized = isinstance(operator, softmax) and operator.axis == STATES and self._is_of_leaf(source, name)
        return Read(source.layer, name, NORMALIZED if is_normalized else content)

    def _weight_of(self, source: Source) -> Read:
        name = f"{source.part}weight"
        operator = self.circuit.last_operator(source.layer, name)
        is_softmax = type(operator) is TorchSoftmaxParameter and operator.axis == STATES and len(operator.shape) == 2
        is_softmax = is_softmax and self._is_of_leaf(source, "weight")
        return Read(source.layer, name, SOFTMAX if is_softmax else "weight")

    def _is_of_leaf(self, source: Source, name: str) -> bool:
        """Return whether the last operator of a parameter reads leaves, and kernels can apply it."""
        return parameters_of(layer_of(self.circuit, source))[name].keeps_digits

    def _read(self, read: Read, fold: int) -> int:
        """The number of a tensor; the call that reads a fold of it alone writes the gradient of this fold."""
        number = self.reads.setdefault(read, len(self.reads))
        folds = self.folds_read.setdefault(number, set())
        assert fold not in folds, f"two kernel calls read fold {fold} of {read}"
        folds.add(fold)
        return number

    # ---------------------------------------------------------------------- calls

    def add_calls(self) -> None:
        for number, call in self.plan.calls.items():
            self.numbers.append(number)
            self.rows.append(self.row(number, call))

    def add_operand(self, number: int) -> None:
        if number in self.table_numbers:
            self.table_operands[len(self.operands)] = self.table_numbers[number]
        super().add_operand(number)

    def row(self, number: int, call: KernelCall) -> NativeKernelCall:
        found = super().row(number, call)
        if call.kind is Kind.TABLE:
            self.scratch_fixed = max(self.scratch_fixed, self.lanes * found.out_width)
            found.weight = self.table_numbers[number]
            self.add_operand(number)
        if call.kind in WEIGHTED:
            source = call.sources[0]
            parameter = parameters_of(layer_of(self.circuit, source))["weight"]
            rows, columns = parameter.shape[0], int(np.prod(parameter.shape[1:]))
            found.weight = source.fold * rows * columns
            read = self._weight_of(source)
            found.source = self._read(read, source.fold)
            if read.content == SOFTMAX:
                found.normalizers = self.constant_floats
                self.constant_floats += 2 * self.padded(rows) + self.lanes
            in_width = self.padded(columns if call.kind is Kind.TENSOR_DOT else self.plan.calls[call.inputs[0]].width)
            self.sizes.weight_floats = max(self.sizes.weight_floats, columns * self.padded(rows))
            self.sizes.block_floats = max(self.sizes.block_floats, self.padded(rows), rows * in_width)
            self.sizes.max_terms = max(self.sizes.max_terms, call.terms)
            if call.kind is Kind.TUCKER:
                self.widest = max(self.widest, TUCKER_VECTORS * self.lanes)
        assert len(call.inputs) <= MAX_FACTORS * call.terms, f"kernel call {number} has a product of too many factors"
        return found

    def place_values(self) -> int:
        """Give all values a place of their own, and gradients of values the first place of their width that is free."""
        values, places = 0, dict[int, int]()
        for row in self.rows:
            if row.slot >= 0:
                places[row.slot] = row.place = values
                values += row.out_width
        for operand in self.operands:
            operand.place = places.get(operand.slot, 0)
        self._place_gradients()
        return values

    def _place_gradients(self) -> None:
        """Give gradients their places. The call that is run backward first writes a gradient, others add to it."""
        calls = self.plan.calls
        reversed_steps = [SlotStep(calls[number].inputs, (number,)) for number in reversed(self.numbers)]
        widths = {number: self.padded(call.width) for number, call in calls.items()}
        places: dict[int, int] = {}
        for width, slots in slots_by_width([SlotStep(self.plan.outputs), *reversed_steps], widths).items():
            places |= {number: self.sizes.gradient_floats + slot * width for number, slot in slots.items()}
            self.sizes.gradient_floats += (1 + max(slots.values())) * width
        reads = list(zip(self.operands[-len(self.plan.outputs) :], self.plan.outputs, strict=True))
        for row, number in zip(reversed(self.rows), reversed(self.numbers), strict=True):
            row.gradient = places[number]
            inputs = calls[number].inputs
            reads += zip(self.operands[row.operands : row.operands + len(inputs)], inputs, strict=True)
        written: set[int] = set()
        for operand, number in reads:
            operand.gradient, operand.adds = places[number], number in written
            written.add(number)
