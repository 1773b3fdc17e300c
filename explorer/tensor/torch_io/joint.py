"""The joint graph of training: the operators of a tensor graph, then the operators that compute its gradients.

PyTorch's autograd is recorded once, on fake tensors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx
from torch._export.utils import _compiling_state_context
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import Node
from torch.func import functionalize
from torch.fx import traceback
from torch.fx.experimental.proxy_tensor import make_fx

from explorer.errors import ExportError
from explorer.tensor.facts import needed, parameter_graphs
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Interface
from explorer.tensor.ir.result_types import exclusively
from explorer.tensor.ir.schemas import aten, flat_results
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.torch_io.exporting import constants_of, operators_of
from explorer.tensor.torch_io.nodes import NodeReader, static_type

LOCATION = ("stack_trace", "nn_module_stack")
"""Keys of the source location of a node of an fx graph."""


@dataclass(frozen=True, slots=True)
class TracedGradients:
    """Operators of a forward and backward pass.

    They accept inputs, constants and a tangent for each of the `differentiable` outputs, and return the outputs and,
    for each tensor that requires a gradient, that gradient or None. New values of buffers have no tangent: they are
    copied into these without autograd.
    """

    operators: fx.GraphModule
    differentiable: tuple[int, ...]


def trace_gradients(graph: FunctionGraph, learned: Sequence[int]) -> TracedGradients:
    """Record the gradients of a graph for the tensors at these positions among its inputs and constants.

    Only shapes are computed, as in an export: the tensors are fake. Raises: ExportError if PyTorch refuses.
    """
    operators = operators_of(graph)
    mode = FakeTensorMode()
    try:
        with mode, torch.enable_grad(), _compiling_state_context(), traceback.preserve_node_meta():
            given = _fake_arguments(graph)
            for position in learned:
                given[position].requires_grad_()
            outputs = operators(*given)
            num_updated = len(graph.interface.mutations)
            differentiable = tuple(i for i, v in enumerate(outputs) if v.requires_grad and i >= num_updated)
            tangents = [torch.empty_like(outputs[i].detach()) for i in differentiable]  # strides as in the outputs
            recorded = make_fx(_Joint(operators, learned, differentiable))(given, tangents)
            if any(isinstance(n.target, OpOverload) and n.target._schema.is_mutable for n in recorded.graph.nodes):
                with torch.no_grad():
                    recorded = make_fx(functionalize(fx.Interpreter(recorded).run))(*given, *tangents)
    except Exception as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise ExportError(f"PyTorch cannot record the backward pass: {first}") from error
    return TracedGradients(recorded, differentiable)


def _fake_arguments(graph: FunctionGraph) -> list[Tensor]:
    """Create tensors for the inputs and constants of a graph, in its types and strides."""
    found = [torch.empty(v.tensor_type.shape, dtype=v.tensor_type.dtype, device=v.device) for v in graph.inputs]
    if graph.interface.argument_strides:
        found = [_with_strides(v, steps) for v, steps in zip(found, graph.interface.argument_strides, strict=True)]
    return [*found, *(_with_strides(c.data, c.data.stride()) for c in constants_of(graph))]


def _with_strides(like: Tensor, strides: Sequence[int]) -> Tensor:
    return torch.empty_strided(like.shape, strides, dtype=like.dtype, device=like.device)


class _Joint:
    """The function that is recorded."""

    def __init__(self, operators: fx.GraphModule, learned: Sequence[int], differentiable: Sequence[int]) -> None:
        self._operators = operators
        self._learned = learned
        self._differentiable = differentiable

    def __call__(self, given: list[Tensor], tangents: list[Tensor]) -> list[Any]:
        outputs = _LocatedInterpreter(self._operators).run(*given)
        wanted = [given[position] for position in self._learned]
        chosen = [outputs[position] for position in self._differentiable]
        return [*outputs, *torch.autograd.grad(chosen, wanted, tangents, allow_unused=True)]


class _LocatedInterpreter(fx.Interpreter):
    """Runs operators so that the backward pass has the locations of the differentiated operators."""

    def __init__(self, operators: fx.GraphModule) -> None:
        super().__init__(operators)
        self._located: set[Node] = set()

    def run_node(self, n: fx.Node) -> Any:
        """Run an operator, and locate its nodes of the autograd graph."""
        result = super().run_node(n)
        about = {key: n.meta[key] for key in LOCATION if key in n.meta}
        waiting = [v.grad_fn for v in _tensors(result) if v.grad_fn is not None]
        while waiting:
            step = waiting.pop()
            if step in self._located:
                continue
            self._located.add(step)
            step.register_prehook(lambda gradients, about=about: _locate(about))
            waiting += [following for following, _ in step.next_functions if following is not None]
        return result


def _locate(about: dict[str, Any]) -> None:
    """Set the location of the nodes that are recorded from now on."""
    present = traceback.get_current_meta()
    for key in LOCATION:
        present.pop(key, None)
    present.update(about)


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    return [v for item in result for v in _tensors(item)] if isinstance(result, list | tuple) else []


DETACH, NEW_ZEROS = aten.detach.default, aten.new_zeros.default


@dataclass(frozen=True, slots=True, eq=False)
class JointGraph:
    """A graph with its gradients.

    `graph` has the inputs of `forward`, then a tangent for each output that has a gradient, and returns the outputs of
    `forward`, then the gradients. `constants` are the constants of `forward`, in the order in which its operators
    accept them; `order` has the applications as autograd ran them. `differentiable` are the positions of the outputs
    that have a tangent. Positions of tensors count inputs, then constants: `learned` of the tensors that require a
    gradient, `gradients` of the tensors that have one, in the order of the outputs.
    """

    graph: FunctionGraph
    forward: FunctionGraph
    constants: tuple[Constant, ...]
    order: tuple[Apply, ...]
    differentiable: tuple[int, ...]
    learned: tuple[int, ...]
    gradients: tuple[int, ...]

    def numbers(self) -> list[int]:
        """Return the numbers of the inputs of the forward pass, then of the constants; -1 for unread ones."""
        accepted = [*self.graph.inputs[: len(self.forward.inputs)], *self.constants]
        return [self.graph.ids.get(variable, -1) for variable in accepted]

    def tangents_of_gradients(self) -> list[frozenset[int]]:
        """Return, for each gradient, the positions of the outputs with tangents that it depends on."""
        tangents = self.graph.inputs[len(self.forward.inputs) :]
        found = {v: frozenset((i,)) for i, v in zip(self.differentiable, tangents, strict=True)}
        for node in self.order:
            depends = frozenset[int]().union(*(found.get(v, ()) for v in node.inputs))
            found |= dict.fromkeys(node.outputs, depends)
        return [found.get(v, frozenset()) for v in self.graph.outputs[len(self.forward.outputs) :]]

    def parts(self) -> tuple[list[Apply], list[Apply], list[Apply]]:
        """Return the applications in order: parameter graphs, the rest of the forward pass, the backward pass.

        The outputs need the forward pass. Parameter graphs are its operators that depend on constants and on no input,
        with everything that they need.
        """
        forward = needed(self.order, self.graph.outputs[: len(self.forward.outputs)])
        ordered = [node for node in self.order if node in forward]
        settled = set(parameter_graphs(ordered, self.graph.inputs))
        return (
            [node for node in ordered if node in settled],
            [node for node in ordered if node not in settled],
            [node for node in self.order if node not in forward],
        )


def joint_graph(graph: FunctionGraph, learned_inputs: Sequence[bool] = ()) -> JointGraph:
    """Make the joint graph of a graph; `learned_inputs` are the inputs that require a gradient, none by default.

    Raises: ExportError, with the reason, if nothing requires a gradient or PyTorch cannot record the backward pass.
    """
    constants = constants_of(graph)
    kinds = [variable.tensor_type.dtype for variable in graph.inputs]
    wanted = zip(learned_inputs or [False] * len(kinds), kinds, strict=True)
    inputs = [learns and (kind.is_floating_point or kind.is_complex) for learns, kind in wanted]
    parameters = [constant.trainable and constant.data.requires_grad for constant in constants]
    learned = tuple(i for i, learns in enumerate([*inputs, *parameters]) if learns)
    if not learned:
        raise ExportError("no parameter and no input requires a gradient")
    with exclusively():
        return _read(graph, constants, learned, trace_gradients(graph, learned))


def _read(
    graph: FunctionGraph, constants: Sequence[Constant], learned: tuple[int, ...], traced: TracedGradients
) -> JointGraph:
    """Return the joint graph of a recorded backward pass."""
    nodes = list(traced.operators.graph.nodes)
    reader = NodeReader()
    placeholders = [node for node in nodes if node.op == "placeholder"]
    num_given = len(graph.inputs) + len(constants)
    inputs = [_input(node, v.name) for node, v in zip(placeholders, graph.inputs, strict=False)]
    copies = [Constant(c.data, c.name, c.trainable) for c in constants]
    tangents = [
        _input(node, f"output{i}") for node, i in zip(placeholders[num_given:], traced.differentiable, strict=True)
    ]
    reader.values.update(zip(placeholders, [*inputs, *copies, *tangents], strict=True))
    for node in nodes:
        if node.op == "get_attr":
            raise ExportError(f"the backward pass has a constant ({node.name}) that is not part of the module")
        if node.op == "call_function":
            _read_operator(reader, node)
    found = reader.mapped(nodes[-1].args[0])
    results = found[len(graph.outputs) :]
    kept = [(i, v) for i, v in zip(learned, results, strict=True) if isinstance(v, Variable)]
    if not kept:
        raise ExportError("no output depends on a parameter or input that requires a gradient")
    outputs = [*found[: len(graph.outputs)], *(v for _, v in kept)]
    joint = FunctionGraph([*inputs, *tangents], outputs, clone=False)
    strides = [tuple(node.meta["val"].stride()) for node in (*placeholders[: len(inputs)], *placeholders[num_given:])]
    joint.interface = Interface(argument_strides=tuple(strides))
    gradients = tuple(i for i, _ in kept)
    made = (v for node in nodes for v in flat_results(reader.values.get(node)) if isinstance(v, Variable))
    order = tuple(dict.fromkeys(v.owner for v in made if v.owner is not None and v.owner in joint))
    return JointGraph(joint, graph, tuple(copies), order, traced.differentiable, learned, gradients)


def _read_operator(reader: NodeReader, node: fx.Node) -> None:
    """Apply an operator; one that reads a tensor for its dtype, or for autograd, does not keep that tensor alive."""
    if node.target is DETACH:
        reader.values[node] = reader.mapped(node.args[0])
        return
    if node.target is NEW_ZEROS:
        like = node.meta["val"]
        node.target, node.args = aten.zeros.default, node.args[1:]
        node.kwargs = {**node.kwargs, "dtype": like.dtype, "device": like.device}
    reader.read(node)


def _input(node: fx.Node, name: str) -> Variable:
    return Variable(static_type(node), None, 0, name, node.meta["val"].device)
