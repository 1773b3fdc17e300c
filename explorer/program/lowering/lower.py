"""Lowering: each result of an operator gets a buffer, or is a view of the memory of another value."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from explorer.errors import OperatorError
from explorer.program.ir.instructions import (
    Alloc,
    Call,
    Copy,
    Dealloc,
    Instruction,
    Number,
    Role,
    View,
    Way,
    Weight,
)
from explorer.program.ir.out_overloads import computes_in_place
from explorer.program.ir.program import Program
from explorer.program.ir.results import Result, results_of
from explorer.program.ir.types import CPU, BufferType
from explorer.tensor.graph.destroy import DestroyHandler
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.aliasing import destroyed_inputs, destroys
from explorer.tensor.ir.numbers import PythonNumber
from explorer.tensor.ir.schemas import overloads
from explorer.tensor.ir.variables import Apply, Constant, Variable

COPIES = overloads("clone _to_copy lift_fresh_copy")
"""Operators that copy the elements of their input, maybe into another dtype or with other strides."""

QUANTIZED = (torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.quint2x4)
"""Dtypes of tensors that have a scale next to their memory."""


def lower(graph: FunctionGraph, name: str = "") -> Program:
    """The program of a graph: its operators in the order in which it is evaluated, and what each reads and writes.

    Calls keep the numbers of the applications. A buffer is allocated where it is written and freed at the end of the
    program; passes move both. Each output is copied into a weight of its own.
    Raises: OperatorError for an operator whose results have no fixed types, or that overwrites an input of the graph.
    """
    if any(map(destroys, graph.nodes)) and graph.feature(DestroyHandler) is None:
        graph.attach_feature(DestroyHandler())  # it orders the users of a value before the operator that overwrites it
    lowering = _Lowering(graph)
    nodes = graph.toposort()
    for position, variable in enumerate(graph.inputs):
        lowering.add_weight(variable, Role.INPUT, graph.interface.argument_strides[position : position + 1])
    for variable in dict.fromkeys([*(v for node in nodes for v in node.inputs), *graph.outputs]):
        if isinstance(variable, Constant) and not isinstance(variable.data, PythonNumber):
            lowering.add_weight(variable, Role.WEIGHT)
    for node in nodes:
        lowering.add(node)
    for position, variable in enumerate(graph.outputs):
        lowering.add_output(variable, position)
    lowering.free_all()
    return Program(tuple(lowering.weights), tuple(lowering.instructions), name=name)


class _Lowering:
    """The weights and instructions made so far, and the value of each variable."""

    def __init__(self, graph: FunctionGraph) -> None:
        self.weights: list[Weight] = []
        self.instructions: list[Instruction] = []
        self._numbers = graph.ids
        self._values: dict[Variable, int] = {}
        self._types: dict[int, BufferType] = {}
        self._weight_of: dict[int, Weight] = {}
        """The weight in whose memory a value is, if it is in one."""
        self._next = graph.next_id

    def add_weight(self, variable: Variable, role: Role, strides: Sequence[tuple[int, ...]] = ()) -> None:
        """Add the weight of an input or a constant; the strides of an input, if known, are those of the export."""
        number = self._numbers[variable]
        trainable = isinstance(variable, Constant) and variable.trainable
        kind = _type_of(variable)
        kind = replace(kind, strides=strides[0]) if strides else kind
        weight = Weight(number, variable.name or f"{role.value}{number}", role, kind, trainable)
        self.weights.append(weight)
        self._weight_of[number] = weight
        self._define(variable, number, kind)

    def add_output(self, variable: Variable, position: int) -> None:
        """Copy a variable into the weight of an output."""
        source = self._operand(variable)
        if isinstance(source, Number):
            raise OperatorError(f"output {position} of the graph is the Python number {source.value}, not a tensor")
        kind = self._types[source]
        if not kind.is_dense:
            kind = BufferType.contiguous(kind.dtype, kind.shape, kind.device)
        weight = Weight(self._fresh(), f"output{position}", Role.OUTPUT, kind)
        self.weights.append(weight)
        self.instructions.append(Copy(self._fresh(), source, weight.id))

    def free_all(self) -> None:
        """Free all buffers."""
        for alloc in [one for one in self.instructions if isinstance(one, Alloc)]:
            self.instructions.append(Dealloc(self._fresh(), alloc.id))

    def add(self, node: Apply) -> None:
        """Add the instructions of an application."""
        inputs = tuple(map(self._operand, node.inputs))
        kinds = tuple(value if isinstance(value, Number) else self._types[value] for value in inputs)
        results = _results(node, kinds)
        if destroyed_inputs(node.op):
            self._add_overwriting(node, inputs, results)
        elif any(results) and all(result is not None and result.source is not None for result in results):
            self._add_views(node, inputs, results)
        else:
            self._add_call(node, inputs, results)

    def _add_views(self, node: Apply, inputs: tuple[int | Number, ...], results: tuple[Result | None, ...]) -> None:
        for variable, result in zip(node.outputs, results, strict=True):
            assert result is not None
            assert result.source is not None
            source = inputs[result.source]
            assert isinstance(source, int)
            number = node.id if len(results) == 1 else self._fresh()
            self.instructions.append(View(number, source, result.type, result.offset_bytes, node.op.name))
            if source in self._weight_of:
                self._weight_of[number] = self._weight_of[source]
            self._define(variable, number, result.type)

    def _add_call(self, node: Apply, inputs: tuple[int | Number, ...], results: tuple[Result | None, ...]) -> None:
        outputs: list[int | None] = []
        for variable, result in zip(node.outputs, results, strict=True):
            if result is None:
                self._check_unread(node, variable)
                outputs.append(None)
                continue
            kind = result.type
            if not _fills_its_memory(kind):
                kind = BufferType.contiguous(kind.dtype, kind.shape, kind.device)
            number = self._fresh()
            self.instructions.append(Alloc(number, kind))
            self._define(variable, number, kind)
            outputs.append(number)
        source = inputs[0] if len(inputs) == 1 else None
        if node.op.target in COPIES and isinstance(source, int) and isinstance(outputs[0], int):
            self.instructions.append(Copy(node.id, source, outputs[0]))
            return
        in_place = all(result is not None and result.source is None for result in results)
        device = next((result.type.device.type for result in results if result is not None), CPU.type)
        way = Way.OUT if in_place and computes_in_place(node.op.target, device) else Way.COPIED
        self.instructions.append(Call(node.id, node.op, inputs, tuple(outputs), way, node.location))

    def _add_overwriting(
        self, node: Apply, inputs: tuple[int | Number, ...], results: tuple[Result | None, ...]
    ) -> None:
        """Add an operator that overwrites its own inputs: each of its results is one of these."""
        overwritten = [value for i in destroyed_inputs(node.op) if isinstance(value := inputs[i], int)]
        outside = next((self._weight_of[value] for value in overwritten if value in self._weight_of), None)
        if outside is not None:
            raise OperatorError(
                f"{node.op.name} overwrites memory of the {outside.role.value} {outside.name}, which belongs to the "
                "caller; use the operator without the underscore"
            )
        outputs: list[int | None] = []
        for variable, result in zip(node.outputs, results, strict=True):
            value = None if result is None or result.source is None else inputs[result.source]
            if (
                result is None
                or not isinstance(value, int)
                or value not in overwritten
                or not self._is_same(value, result)
            ):
                raise OperatorError(
                    f"{node.op.name} overwrites an input, but result {variable.index} is not that input"
                )
            self._values[variable] = value
            outputs.append(value)
        self.instructions.append(Call(node.id, node.op, inputs, tuple(outputs), Way.ITSELF, node.location))

    def _is_same(self, value: int, result: Result) -> bool:
        return self._types[value].is_same(result.type)

    def _check_unread(self, node: Apply, variable: Variable) -> None:
        if variable.clients:
            raise OperatorError(
                f"result {variable.index} of {node.op.name} is a {variable.type}, not a tensor, and is used; "
                "a program has tensors only"
            )

    def _operand(self, variable: Variable) -> int | Number:
        if isinstance(variable, Constant) and isinstance(variable.data, PythonNumber):
            return Number(variable.data.value, variable.data.dtype)
        return self._values[variable]

    def _define(self, variable: Variable, number: int, kind: BufferType) -> None:
        self._values[variable] = number
        self._types[number] = kind

    def _fresh(self) -> int:
        self._next += 1
        return self._next - 1


def _results(node: Apply, kinds: tuple[BufferType | Number, ...]) -> tuple[Result | None, ...]:
    """The results of an application. Raises: OperatorError, with the source line, for those that no buffer can hold."""
    where = f" at {node.location.line}" if node.location.line else ""
    named = [value for value in node.op.attributes.values() if isinstance(value, torch.dtype) and value in QUANTIZED]
    if named:  # fake tensors do not have these dtypes
        raise OperatorError(
            f"{node.op.name} returns a tensor of {named[0]}, whose scale is not in its memory{where}; "
            "use the operators of quantized_decomposed"
        )
    try:
        return results_of(node.op, kinds)
    except OperatorError as error:
        raise OperatorError(f"{error}{where}") from error


def _type_of(variable: Variable) -> BufferType:
    """The type of an input or a constant; an input is expected to be contiguous."""
    if isinstance(variable, Constant):
        return BufferType.of(variable.data)
    kind = variable.tensor_type
    return BufferType.contiguous(kind.dtype, kind.shape, variable.device or CPU)


def _fills_its_memory(kind: BufferType) -> bool:
    """Whether no two elements share a place, as far as is known: its elements are dense."""
    return kind.is_dense or kind.size == 0
