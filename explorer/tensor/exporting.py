"""From a tensor graph back to PyTorch: an fx module, with parameters and buffers under their names."""

import operator
from typing import Any

import torch
from torch import fx, nn

from explorer.errors import ExportError, OperatorError
from explorer.tensor.aliasing import destroys
from explorer.tensor.destroy import DestroyHandler
from explorer.tensor.function_graph import FunctionGraph
from explorer.tensor.interface import Mutation
from explorer.tensor.numbers import PythonNumber
from explorer.tensor.ops import split_call
from explorer.tensor.sharing import outputs_to_copy
from explorer.tensor.variables import Apply, Constant, Variable

CLONE = torch.ops.aten.clone.default
CONTIGUOUS: dict[str, Any] = {"memory_format": torch.contiguous_format}


class TensorModule(nn.Module):
    """Runs a tensor graph. Called as the module it was made of; goes through `torch.compile` and `torch.export`.

    Trainable constants are its parameters, all others its buffers, under the names that they had.
    """

    def __init__(self, graph: FunctionGraph) -> None:
        super().__init__()
        self.program, names = _program(graph)
        self.interface = graph.interface
        self._takes = tuple((v.name or f"input {i}", v.tensor_type.shape) for i, v in enumerate(graph.inputs))
        self._changed = tuple(_changed_name(self.program, mutation, names) for mutation in graph.interface.mutations)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The results for these arguments; buffers that a call changes are changed. Raises: OperatorError."""
        tensors = self.interface.flat_arguments(args, kwargs)
        if len(tensors) != len(self._takes):
            raise OperatorError(f"the graph takes {len(self._takes)} tensors; {len(tensors)} were given")
        for (name, shape), value in zip(self._takes, tensors, strict=True):
            if not isinstance(value, torch.Tensor):
                raise OperatorError(f"{name} must be a tensor of the shape {shape}; a {type(value).__name__} was given")
            if value.shape != shape:
                raise OperatorError(f"{name} has the shape {tuple(value.shape)}; the graph was made for {shape}")
        results = list(self.program(*tensors))
        for name in self._changed:
            with torch.no_grad():
                self.program.get_buffer(name).copy_(results.pop(0))
        return self.interface.structured_results(results)


def to_module(graph: FunctionGraph) -> TensorModule:
    """A module that computes the graph, with its own structure around the present constants. Raises: ExportError."""
    return TensorModule(graph)


def to_fx(graph: FunctionGraph) -> fx.GraphModule:
    """The graph as an fx module: tensors in, a tuple of tensors out. Raises: ExportError."""
    return _program(graph)[0]


def _program(graph: FunctionGraph) -> tuple[fx.GraphModule, dict[str, Constant]]:
    """The fx module, and the constants by the names that they have in it."""
    root = nn.Module()
    program = fx.Graph()
    made: dict[Variable, fx.Node] = {}
    for i, variable in enumerate(graph.inputs):
        name = _identifier(variable.name) or f"input_{i}"
        while any(node.target == name for node in made.values()):
            name += "_"
        made[variable] = program.placeholder(name)
    if any(map(destroys, graph.nodes)):
        graph.attach_feature(DestroyHandler())  # it knows what must run before what is overwritten
    nodes = graph.toposort()
    read = [*(v for node in nodes for v in node.inputs if v not in node.numbers), *graph.outputs]
    names: dict[str, Constant] = {}
    for variable in read:
        if isinstance(variable, Constant) and variable not in made:
            held = program.get_attr(_put(root, variable, names))
            # a call gives it a new value, and the gradient may need the old one
            changed = any(variable.data is mutation.data for mutation in graph.interface.mutations)
            made[variable] = program.call_function(CLONE, (held,)) if changed else held
    for node in nodes:
        _emit(program, node, made)
    copied = outputs_to_copy(graph)
    results = [
        program.call_function(CLONE, (made[v],), CONTIGUOUS) if i in copied else made[v]
        for i, v in enumerate(graph.outputs)
    ]
    program.output(tuple(results))
    with_names = fx.GraphModule(root, program, "TensorProgram")
    kept = {name for name, _ in with_names.named_parameters(remove_duplicate=False)}
    kept.update(name for name, _ in with_names.named_buffers(remove_duplicate=False))
    for name, constant in names.items():
        if name not in kept:
            raise ExportError(f"the constant {constant.name or name} was lost on the way to fx")
    return with_names, names


def _changed_name(program: fx.GraphModule, mutation: Mutation, names: dict[str, Constant]) -> str:
    """The name of a buffer that a call changes; one that is only written is registered."""
    for name, constant in names.items():
        if constant.data is mutation.data:
            return name
    return _put(program, Constant(mutation.data, mutation.name, True), names)


AS_VIEWS = {
    torch.ops.aten.view.default: torch.ops.aten.reshape.default,
    torch.ops.aten._unsafe_view.default: torch.ops.aten.reshape.default,
}
"""A view asks for a layout of the memory, which a rewrite may have changed; a reshape copies where it must."""


def _emit(program: fx.Graph, node: Apply, made: dict[Variable, fx.Node]) -> None:
    numbers = node.numbers
    values = node.op.bind([numbers[v] if v in numbers else made[v] for v in node.inputs])
    args, kwargs = split_call(node.op.target, values)
    target = AS_VIEWS.get(node.op.target, node.op.target)
    result = program.call_function(target, args, kwargs)
    if node.place.stack:
        result.meta["stack_trace"] = node.place.stack
    returns = node.op.target._schema.returns
    if len(returns) == 1 and len(node.outputs) == 1 and "List" not in str(returns[0].type):
        made[node.outputs[0]] = result
        return
    if any("List" in str(kind.type) for kind in returns) and len(returns) > 1:
        raise ExportError(f"{node.op.target} gives lists among other results; such operators are not taken")
    for variable in node.outputs:
        if variable.clients:
            made[variable] = program.call_function(operator.getitem, (result, variable.index))


def _put(root: nn.Module, constant: Constant, names: dict[str, Constant]) -> str:
    """Register a constant under its name, in modules for the parts before the dots; gives the name."""
    wanted = constant.name or f"constant_{len(names)}"
    parts = [part or "_" for part in wanted.split(".")]
    if hasattr(fx.GraphModule, parts[0]):
        parts[0] += "_"
    name = ".".join(parts)
    while name in names or any(known.startswith(f"{name}.") for known in names):
        parts[-1] += "_"
        name = ".".join(parts)
    holder = root
    for i, part in enumerate(parts[:-1]):
        inner = getattr(holder, part, None)
        if not isinstance(inner, nn.Module):
            if inner is not None:  # a tensor stands there: this one goes to the top
                parts = ["_".join(parts[: i + 1] + parts[i + 1 :])]
                return _put(root, Constant(constant.data, parts[0], constant.trainable), names)
            inner = nn.Module()
            setattr(holder, part, inner)
        holder = inner
    names[name] = constant
    data = constant.data
    if constant.trainable and isinstance(data, nn.Parameter):
        holder.register_parameter(parts[-1], data)
    else:
        holder.register_buffer(parts[-1], data.plain if isinstance(data, PythonNumber) else data.detach())
    return name


def _identifier(name: str) -> str:
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return f"_{text}" if text[:1].isdigit() else text
