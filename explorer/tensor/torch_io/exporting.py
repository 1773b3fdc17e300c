"""From a tensor graph back to PyTorch: an fx module, with parameters and buffers under their names."""

import operator
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from keyword import iskeyword
from typing import Any, Self
from unicodedata import normalize

import torch
from torch import fx, nn

from explorer.errors import OperatorError
from explorer.tensor.graph.destroy import DestroyHandler
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import ModuleTensor
from explorer.tensor.graph.outputs import outputs_to_copy
from explorer.tensor.ir.aliasing import destroys
from explorer.tensor.ir.schemas import PythonNumber, kernel, nested_results, split_call
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable

REWRITTEN = "_rewritten"
"""Suffix of the name of a rewritten parameter or buffer, so that old state dicts do not load."""


def hold(
    root: nn.Module, constants: Sequence[Constant], state: Sequence[ModuleTensor], taken: Collection[str]
) -> dict[Constant, str]:
    """Register constants on a module; return their names in it.

    A tensor that is unchanged since `state` keeps all its names; so does one that the graph never read, and one that is
    trained although no result depends on it any more: its gradient is zero. `taken` are reserved names.
    """
    holder = _Holder(root, taken)
    present = {id(constant.data) for constant in constants}
    for entry in state:
        if entry.spare or entry.trainable or id(entry.data) in present:
            holder.put(entry.name, entry.data, entry.trainable, entry.saved)
    before = {entry.name for entry in state}
    names: dict[Constant, str] = {}
    for constant in constants:
        wanted = constant.name or f"constant_{len(names)}"
        known = holder.names_of(constant.data)
        if not known:
            wanted += REWRITTEN if wanted in before else ""
            known = [holder.put(wanted, constant.data, constant.trainable)]
        names[constant] = wanted if wanted in known else known[0]
    return names


class _Holder:
    """Registers tensors on a module, in submodules for the parts of their names before the dots."""

    def __init__(self, root: nn.Module, taken: Collection[str]) -> None:
        self._root = root
        self._taken = taken
        self._data: dict[str, torch.Tensor] = {}
        self._by_id: dict[int, torch.Tensor] = {}

    def names_of(self, data: torch.Tensor) -> list[str]:
        """Return the names under which a tensor is registered."""
        return [name for name, known in self._data.items() if known is data] if id(data) in self._by_id else []

    def put(self, wanted: str, data: torch.Tensor, trainable: bool, saved: bool = True) -> str:
        """Register a tensor under a name, or a similar one if that is taken; return the name."""
        *parents, last = wanted.split(".")
        holder, path = self._root, list[str]()
        for parent in parents:
            part = self._free(holder, parent, reuse=True)
            path.append(part)
            if part not in dict(holder.named_children()):
                holder.add_module(part, nn.Module())
            holder = holder.get_submodule(part)
        last = self._free(holder, last)
        name = ".".join([*path, last])
        self._data[name] = data
        tensor = self._by_id.setdefault(id(data), _to_register(data, trainable))
        if isinstance(tensor, nn.Parameter):
            holder.register_parameter(last, tensor)
        else:
            holder.register_buffer(last, tensor, persistent=saved)
        return name

    def _free(self, holder: nn.Module, part: str, *, reuse: bool = False) -> str:
        """Return a free name in a module; with `reuse` it may be the name of a submodule."""
        part = re.sub(r"""["'\\\x00-\x1f]""", "_", normalize("NFKC", part)) or "_"
        part += "_" * iskeyword(part)  # generated code spells the name as an attribute, or between quotes
        children = dict(holder.named_children()) if reuse else {}
        while part not in children and (hasattr(holder, part) or (holder is self._root and part in self._taken)):
            part += "_"
        return part


def _to_register(data: torch.Tensor, trainable: bool) -> torch.Tensor:
    if trainable and isinstance(data, nn.Parameter):
        return data
    return data.plain if isinstance(data, PythonNumber) else data.detach()


CLONE = torch.ops.aten.clone.default
CONTIGUOUS: dict[str, Any] = {"memory_format": torch.contiguous_format}


class TensorModule(nn.Module):
    """Runs a tensor graph. Called like the imported module; supports `torch.compile` and `torch.export`.

    `run_with` turns the operators into the module that runs in their place: tensors in, a tuple of tensors out.
    Trainable constants are its parameters, all others its buffers. Without a rewrite they keep their names, so that a
    state dict of the original module can be loaded as long as all of them are present.
    """

    def __init__(self, graph: FunctionGraph, run_with: Callable[[fx.GraphModule], nn.Module] | None = None) -> None:
        super().__init__()
        constants = constants_of(graph)
        mutations = graph.interface.mutations
        changed = [Constant(mutation.data, mutation.name, True) for mutation in mutations]
        names = hold(self, [*constants, *changed], graph.interface.state, OWN_NAMES)
        operators = operators_of(graph)
        self.program = operators if run_with is None else run_with(operators)
        self._interface = replace(graph.interface, mutations=(), state=(), shared=None)
        self._expected = tuple((v.name or f"input {i}", v.tensor_type) for i, v in enumerate(graph.inputs))
        self._constant_paths = tuple(tuple(names[constant].split(".")) for constant in constants)
        self._changed = tuple(names[constant] for constant in changed)
        self.training = False not in graph.interface.training_modes

    def train(self, mode: bool = True) -> Self:
        """Set the mode. Raises: OperatorError for another mode than in the export, if results depend on it."""
        known = self._interface.training_modes
        if not known <= {mode}:
            wanted, found = ("train", "evaluation") if mode else ("eval", "training")
            raise OperatorError(
                f"the operators are those of {found} mode (dropout, batch norm and the like); "
                f"call {wanted}() on the original module and export it again"
            )
        return super().train(mode)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return the results for these arguments; mutated buffers are updated. Raises: OperatorError."""
        tensors = self.arguments(args, kwargs)
        results = list(self.program(*tensors, *self.constants()))
        for name in self._changed:
            with torch.no_grad():
                self.get_buffer(name).copy_(results.pop(0))
        return self._interface.structured_results(self._interface.with_strides(results, tensors))

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the tensors that the graph accepts. Raises: OperatorError for others than it was exported with."""
        tensors = self._interface.flat_arguments(args, kwargs)
        if len(tensors) != len(self._expected):
            raise OperatorError(f"expected {len(self._expected)} tensors, got {len(tensors)}")
        for (name, kind), value in zip(self._expected, tensors, strict=True):
            _check_argument(name, kind, value)
        return tensors

    def constants(self) -> list[torch.Tensor]:
        """Return the present values of the constants that the program reads."""
        return [self._tensor(path) for path in self._constant_paths]

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Move or convert parameters and buffers; a converted module accepts arguments of the new dtype."""
        super()._apply(fn, recurse)
        self._expected = tuple(
            (name, replace(kind, dtype=fn(torch.empty(0, dtype=kind.dtype)).dtype)) for name, kind in self._expected
        )
        return self

    def _tensor(self, path: tuple[str, ...]) -> Any:
        found: Any = self
        for part in path:
            found = getattr(found, part)
        return found


OWN_NAMES = frozenset((*dir(TensorModule), "program", "_interface", "_expected", "_constant_paths", "_changed"))
"""Names that no constant can have in a module."""


def _check_argument(name: str, kind: TensorType, value: object) -> None:
    """Check that an argument is a dense tensor of the expected shape and dtype. Raises: OperatorError."""
    if not isinstance(value, torch.Tensor):
        raise OperatorError(f"expected a tensor of shape {kind.shape} as {name}, got type {type(value).__name__}")
    if value.shape != kind.shape:
        raise OperatorError(f"expected {name} to have shape {kind.shape}, got {tuple(value.shape)}")
    if value.dtype != kind.dtype:
        raise OperatorError(f"expected {name} to have dtype {kind.dtype}, got {value.dtype}")
    if value.layout is not torch.strided:
        raise OperatorError(f"expected {name} to be a dense tensor, got {value.layout}; call to_dense()")


def to_module(graph: FunctionGraph) -> TensorModule:
    """Return a module that computes the graph and holds its constants. Raises: ExportError."""
    return TensorModule(graph)


def to_fx(graph: FunctionGraph) -> fx.GraphModule:
    """Return the graph as an fx module: tensors in, a tuple of tensors out. Raises: ExportError."""
    root = nn.Module()
    constants = constants_of(graph)
    names = hold(root, constants, graph.interface.state, dir(fx.GraphModule(root, fx.Graph())))
    program = _program(graph, constants, lambda program, constant: program.get_attr(names[constant]))
    return fx.GraphModule(root, program, "TensorProgram")


def operators_of(graph: FunctionGraph) -> fx.GraphModule:
    """Return the operators of a graph: its inputs and then its constants in, a tuple of tensors out."""
    return fx.GraphModule(nn.Module(), _program(graph, constants_of(graph), _as_input), "TensorProgram")


def constants_of(graph: FunctionGraph) -> list[Constant]:
    """Return the constants that a program of a graph reads as tensors."""
    read: list[Variable] = []
    for node in graph.toposort():
        numbers = node.numbers
        read += [variable for variable in node.inputs if variable not in numbers]
    read += graph.outputs
    return [variable for variable in dict.fromkeys(read) if isinstance(variable, Constant)]


def _as_input(program: fx.Graph, variable: Variable) -> fx.Node:
    """Return an input of a program for a variable, with its name if that is free.

    fx makes names of nodes unique and valid in Python. The parameters of the generated code are the targets.
    """
    node = program.placeholder(variable.name or f"input_{len(program.nodes)}")
    node.target = node.name
    return node


def _program(
    graph: FunctionGraph, constants: Sequence[Constant], add_constant: Callable[[fx.Graph, Constant], fx.Node]
) -> fx.Graph:
    """Return the program of a graph; `add_constant` adds the node of a constant."""
    program = fx.Graph()
    program._graph_namespace.create_name("self", None)  # reserved: the parameter of generated code
    made: dict[Variable, fx.Node] = {variable: _as_input(program, variable) for variable in graph.inputs}
    made |= {constant: add_constant(program, constant) for constant in constants}
    for constant in constants:
        if any(constant.data is mutation.data for mutation in graph.interface.mutations):
            # a call updates it, and the gradient may need the old value
            made[constant] = program.call_function(CLONE, (made[constant],))
    if any(map(destroys, graph.nodes)):
        graph.attach_feature(DestroyHandler())  # it orders the users of a value before the operator that overwrites it
    for node in graph.toposort():
        _add(program, node, made)
    copied = outputs_to_copy(graph)
    results = [
        program.call_function(CLONE, (made[v],), CONTIGUOUS) if i in copied else made[v]
        for i, v in enumerate(graph.outputs)
    ]
    program.output(tuple(results))
    return program


def _add(program: fx.Graph, node: Apply, made: dict[Variable, fx.Node]) -> None:
    numbers = node.numbers
    values = node.op.bind([numbers[v] if v in numbers else made[v] for v in node.inputs])
    args, kwargs = split_call(node.op.target, values)
    result = program.call_function(kernel(node.op.target), args, kwargs)
    if node.location.stack:
        result.meta["stack_trace"] = node.location.stack
    if node.location.module:
        result.meta["nn_module_stack"] = {node.location.module: (node.location.module, nn.Module)}
    _add_parts(program, result, nested_results(node.op.target, node.outputs), made)


def _add_parts(program: fx.Graph, value: fx.Node, parts: Any, made: dict[Variable, fx.Node]) -> None:
    if isinstance(parts, Variable):
        made[parts] = value
        return
    for i, part in enumerate(parts):
        if not isinstance(part, Variable) or part.clients:
            _add_parts(program, program.call_function(operator.getitem, (value, i)), part, made)
