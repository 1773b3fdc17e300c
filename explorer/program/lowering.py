"""Lowering: each result of an operator gets a buffer, or is a view of the memory of another value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count

from explorer.errors import OperatorError
from explorer.levels import pause_garbage_collection
from explorer.program.ir.instructions import (
    Alloc,
    Begin,
    Call,
    Copy,
    Dealloc,
    Instruction,
    Number,
    Part,
    Role,
    View,
    Way,
    Weight,
)
from explorer.program.ir.program import Program
from explorer.program.ir.results import Result, computes_in_place, results_of
from explorer.program.ir.types import CPU, BufferType
from explorer.tensor.graph.destroy import DestroyHandler
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.storages import OF_STORAGES
from explorer.tensor.ir.aliasing import destroyed_inputs, destroys
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.schemas import PythonNumber, aten, overloads
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.torch_io.joint import JointGraph

COPIES = overloads("clone _to_copy lift_fresh_copy")
"""Operators that copy the elements of their input, maybe into another dtype or with other strides."""


class Kind(Enum):
    """The instructions that an operator becomes."""

    VIEWS = "views"
    """A view for each result."""
    COPY = "copy"
    CALL = "call"
    """A call that writes into new buffers."""
    OVERWRITE = "overwrite"
    """A call that returns inputs that it overwrites."""


@dataclass(frozen=True, slots=True)
class Form:
    """The instructions that an operator becomes for inputs of some types.

    `buffers` are the types of the memory for its results; a result that is not a tensor has none.
    """

    kind: Kind
    results: tuple[Result | None, ...]
    buffers: tuple[BufferType | None, ...]
    way: Way


def form_of(op: Op, inputs: tuple[BufferType | Number, ...]) -> Form:
    """Return the form of an operator for inputs of these types. Raises: OperatorError, as `results_of`."""
    results = results_of(op, inputs)
    buffers = tuple(None if result is None else _buffer_for(result.type) for result in results)
    if destroyed_inputs(op):
        return Form(Kind.OVERWRITE, results, buffers, Way.ITSELF)
    if results and all(result is not None and result.source is not None for result in results):
        return Form(Kind.VIEWS, results, buffers, Way.OUT)
    is_copy = op.target in COPIES and len(inputs) == 1 and isinstance(inputs[0], BufferType)
    if is_copy and buffers[0] is not None:
        return Form(Kind.COPY, results, buffers, Way.OUT)
    return Form(Kind.CALL, results, buffers, _way(op, results))


def _buffer_for(kind: BufferType) -> BufferType:
    """Return the type of the buffer of a result: contiguous if its elements would share memory."""
    if kind.is_dense or kind.size == 0:
        return kind
    return BufferType.contiguous(kind.dtype, kind.shape, kind.device)


def _way(op: Op, results: tuple[Result | None, ...]) -> Way:
    """Choose how an operator writes its results: into their buffers, if none is a view."""
    first = results[0] if results else None
    if first is None or any(result is None or result.source is not None for result in results):
        return Way.COPIED
    return Way.OUT if computes_in_place(op.target, first.type.device.type) else Way.COPIED


AS_STRIDED = aten.as_strided.default


def lower(graph: FunctionGraph, name: str = "") -> Program:
    """Lower a graph to a program: its operators in the order of evaluation, on explicit buffers.

    Calls keep the numbers of the applications. A buffer is allocated where it is written and freed at the end of the
    program; passes move both. Each output is copied into its own weight.
    Raises: OperatorError for an operator with results of unknown types, or one that overwrites an input of the graph.
    """
    if any(map(destroys, graph.nodes)) and graph.feature(DestroyHandler) is None:
        graph.attach_feature(DestroyHandler())  # it orders the users of a value before the operator that overwrites it
    with pause_garbage_collection():
        lowering = _Lowering(graph)
        nodes = graph.toposort()
        lowering.add_given(nodes, graph.inputs)
        lowering.add_part(None, nodes)
        for position, variable in enumerate(graph.outputs):
            lowering.add_returned(variable, f"output{position}", Role.OUTPUT)
        return lowering.program(name)


def lower_joint(joint: JointGraph, name: str = "") -> Program:
    """Lower a joint graph to a program: parameter graphs, the rest of the forward pass, and the backward pass.

    Outputs are written in the forward pass and gradients in the backward pass. Raises: as `lower`.
    """
    lowering = _Lowering(joint.graph)
    parameters, forward, backward = joint.parts()
    num_inputs, num_outputs = len(joint.forward.inputs), len(joint.forward.outputs)
    lowering.add_given([*parameters, *forward, *backward], joint.graph.inputs[:num_inputs])
    if parameters:
        lowering.add_part(Part.PARAMETERS, parameters)
        lowering.add_part(Part.FORWARD, forward)
    else:
        lowering.add_part(None, forward)
    for position, variable in enumerate(joint.graph.outputs[:num_outputs]):
        lowering.add_returned(variable, f"output{position}", Role.OUTPUT)
    for position, tangent in zip(joint.differentiable, joint.graph.inputs[num_inputs:], strict=True):
        lowering.add_tangent(tangent, joint.graph.outputs[position])
    lowering.add_part(Part.BACKWARD, backward)
    accepted = [*joint.graph.inputs[:num_inputs], *joint.constants]
    for position, variable in zip(joint.gradients, joint.graph.outputs[num_outputs:], strict=True):
        lowering.add_returned(variable, accepted[position].name or f"input{position}", Role.GRADIENT)
    return lowering.program(name)


class _Lowering:
    """The weights and instructions made so far, and the value of each variable."""

    def __init__(self, graph: FunctionGraph) -> None:
        self.weights: list[Weight] = []
        self.instructions: list[Instruction] = []
        self._graph = graph
        self._numbers = graph.ids
        self._values: dict[Variable, int] = {}
        self._types: dict[int, BufferType] = {}
        self._storages: dict[int, tuple[int, int]] = {}
        """The value that each value is a view of (itself if it is not a view), and its offset in bytes."""
        self._weight_of: dict[int, Weight] = {}
        """The weight that holds a value, if one does."""
        self._forms: dict[tuple[Op, tuple[BufferType | Number, ...]], Form] = {}
        self._fresh = count(graph.next_id)

    def add_given(self, nodes: Sequence[Apply], inputs: Sequence[Variable]) -> None:
        """Add the weights of inputs, and of the constants that applications and outputs read."""
        for variable in inputs:
            self.add_weight(variable, Role.INPUT, self._exported_strides(variable))
        for variable in dict.fromkeys([*(v for node in nodes for v in node.inputs), *self._graph.outputs]):
            if isinstance(variable, Constant) and not isinstance(variable.data, PythonNumber):
                self.add_weight(variable, Role.WEIGHT)

    def add_tangent(self, variable: Variable, output: Variable) -> None:
        """Add the weight of the gradient of an output, with the strides of the output if these are dense."""
        value = self._operand(output)
        kind = None if isinstance(value, Number) else self._types[value]
        strides = kind.strides if kind is not None and kind.is_dense else self._exported_strides(variable)
        self.add_weight(variable, Role.TANGENT, strides)

    def _exported_strides(self, variable: Variable) -> tuple[int, ...] | None:
        """Return the strides of an input at the export, if they are known."""
        known = self._graph.interface.argument_strides
        return known[self._graph.inputs.index(variable)] if known else None

    def add_part(self, part: Part | None, nodes: Iterable[Apply]) -> None:
        """Begin a part, unless it is None, and add the instructions of its applications."""
        if part is not None:
            self.instructions.append(Begin(next(self._fresh), part))
        for node in nodes:
            self.add(node)

    def program(self, name: str) -> Program:
        """Return the program, which frees all buffers at its end."""
        for alloc in [one for one in self.instructions if isinstance(one, Alloc)]:
            self.instructions.append(Dealloc(next(self._fresh), alloc.id))
        return Program(tuple(self.weights), tuple(self.instructions), name=name)

    def add_weight(self, variable: Variable, role: Role, strides: tuple[int, ...] | None = None) -> None:
        """Add the weight of an input or a constant; an input without strides is contiguous."""
        number = self._numbers[variable]
        trainable = isinstance(variable, Constant) and variable.trainable
        kind = _type_of(variable)
        kind = kind if strides is None else replace(kind, strides=strides)
        weight = Weight(number, variable.name or f"{role.value}{number}", role, kind, trainable)
        self.weights.append(weight)
        self._weight_of[number] = weight
        self._define(variable, number, kind)

    def add_returned(self, variable: Variable, name: str, role: Role) -> None:
        """Copy a variable into a weight that is returned."""
        source = self._operand(variable)
        if isinstance(source, Number):
            raise OperatorError(f"the {role.value} {name} is the Python number {source.value}, not a tensor")
        kind = self._types[source]
        if not kind.is_dense:
            kind = BufferType.contiguous(kind.dtype, kind.shape, kind.device)
        weight = Weight(next(self._fresh), name, role, kind)
        self.weights.append(weight)
        self.instructions.append(Copy(next(self._fresh), source, weight.id))

    def add(self, node: Apply) -> None:
        """Add the instructions of an application."""
        inputs = tuple([self._operand(variable) for variable in node.inputs])
        op, inputs = self._relative(node.op, inputs)
        form = self._form(node, op, inputs)
        match form.kind:
            case Kind.VIEWS:
                self._add_views(node, inputs, form)
            case Kind.OVERWRITE:
                self._add_overwriting(node, inputs, form.results)
            case Kind.COPY | Kind.CALL:
                self._add_call(node, op, inputs, form)

    def _relative(self, op: Op, inputs: tuple[int | Number, ...]) -> tuple[Op, tuple[int | Number, ...]]:
        """Make the storage offset of an operator relative to its input, not to the storage.

        A storage belongs to a weight or to the result that all its views were made from. A view may begin anywhere in
        it, so it is made from that result. Raises: OperatorError if another operator begins before its input.
        """
        if op.target not in OF_STORAGES:
            return op, inputs
        place, value = op["storage_offset"], inputs[0]
        if place is None or not isinstance(value, int):
            return op, inputs
        root, start = self._storages[value]
        if op.target is AS_STRIDED and self._types[root].dtype == self._types[value].dtype:
            return op, (root, *inputs[1:])
        place -= start // self._types[value].dtype.itemsize
        if place < 0:
            raise OperatorError(f"{op.name} reads memory before its input; use an index in place of a storage offset")
        return op.with_attributes(storage_offset=place), inputs

    def _form(self, node: Apply, op: Op, inputs: tuple[int | Number, ...]) -> Form:
        """Return the form of an application. Raises: OperatorError, with the line, if no buffer can hold a result."""
        kinds = tuple([value if isinstance(value, Number) else self._types[value] for value in inputs])
        key = (op, kinds)
        found = self._forms.get(key)
        if found is None:
            try:
                found = self._forms[key] = form_of(op, kinds)
            except OperatorError as error:
                where = f" at {node.location.line}" if node.location.line else ""
                raise OperatorError(f"{error}{where}") from error
        return found

    def _add_views(self, node: Apply, inputs: tuple[int | Number, ...], form: Form) -> None:
        for variable, result in zip(node.outputs, form.results, strict=True):
            assert result is not None
            assert result.source is not None
            source = inputs[result.source]
            assert isinstance(source, int)
            number = node.id if len(form.results) == 1 else next(self._fresh)
            self.instructions.append(View(number, source, result.type, result.offset_bytes, node.op.name))
            if source in self._weight_of:
                self._weight_of[number] = self._weight_of[source]
            self._define(variable, number, result.type)
            root, start = self._storages[source]
            self._storages[number] = (root, start + result.offset_bytes)

    def _add_call(self, node: Apply, op: Op, inputs: tuple[int | Number, ...], form: Form) -> None:
        outputs: list[int | None] = []
        for variable, kind in zip(node.outputs, form.buffers, strict=True):
            if kind is None:
                self._check_unread(node, variable)
                outputs.append(None)
                continue
            number = next(self._fresh)
            self.instructions.append(Alloc(number, kind))
            self._define(variable, number, kind)
            outputs.append(number)
        if form.kind is Kind.COPY:
            (source,), dest = inputs, outputs[0]
            assert isinstance(source, int)
            assert dest is not None
            self.instructions.append(Copy(node.id, source, dest))
            return
        self.instructions.append(Call(node.id, op, inputs, tuple(outputs), form.way, node.location))

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
                or not self._types[value].is_same(result.type)
            ):
                raise OperatorError(
                    f"{node.op.name} overwrites an input, but result {variable.index} is not that input"
                )
            self._values[variable] = value
            outputs.append(value)
        self.instructions.append(Call(node.id, node.op, inputs, tuple(outputs), Way.ITSELF, node.location))

    def _check_unread(self, node: Apply, variable: Variable) -> None:
        if variable.clients:
            raise OperatorError(
                f"result {variable.index} of {node.op.name} is used, and is not a tensor of a known type; "
                "a program has only these"
            )

    def _operand(self, variable: Variable) -> int | Number:
        if isinstance(variable, Constant) and isinstance(variable.data, PythonNumber):
            return Number(variable.data.value, variable.data.dtype)
        return self._values[variable]

    def _define(self, variable: Variable, number: int, kind: BufferType) -> None:
        self._values[variable] = number
        self._types[number] = kind
        self._storages[number] = (number, 0)


def _type_of(variable: Variable) -> BufferType:
    """Return the type of an input or a constant; an input is expected to be contiguous."""
    if isinstance(variable, Constant):
        return BufferType.of(variable.data)
    kind = variable.tensor_type
    return BufferType.contiguous(kind.dtype, kind.shape, variable.device or CPU)
