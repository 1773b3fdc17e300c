"""Import an exported program, a module or a compiled circuit as a tensor graph."""

import copy
import inspect
import sysconfig
import traceback
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind, TensorArgument
from torch.utils._pytree import tree_map

from explorer.backend import EvaluatedCircuit, TorchCircuit, TorchInputLayer
from explorer.backend.layers import TorchDiscreteLayer
from explorer.errors import ExportError, check_name
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Interface, ModuleTensor, Mutation
from explorer.tensor.graph.outputs import KeepGradients, sharing_of
from explorer.tensor.ir.result_types import exclusively
from explorer.tensor.ir.variables import Constant, Variable
from explorer.tensor.torch_io.export_support import (
    DETACH,
    DIFFERENTIABLE,
    detach_parts,
    first_line,
    reason,
    training_modes,
    without_reports,
)
from explorer.tensor.torch_io.nhwc import check_layout, to_nhwc
from explorer.tensor.torch_io.nodes import NodeReader, static_type, where
from explorer.tensor.torch_io.whole_layers import with_named_layers, with_whole_layers

LEVELS = ("circuit", "functional", "core")
"""`functional`: composite operators stay whole (convolution, batch norm, linear, softmax); `core`: core ATen only;
`circuit`: as `functional`, and each layer of a circuit is one operator, too."""


def from_module(
    module: nn.Module,
    example_inputs: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    level: str = "functional",
    layout: str = "",
    training: bool = False,
) -> FunctionGraph:
    """Export a module and import the program as a graph. In training its parameters may change, else they are known.

    With the layout "nhwc" convolutions and pools are converted to channels last (`to_nhwc`).
    Raises: ExportError with the reason if PyTorch cannot export it; UnknownNameError for an unknown level or layout.
    """
    program = export(module, example_inputs, kwargs, level=level, training=training)
    return from_exported(program, level=level, layout=layout, training=training, module=module)


def export(
    module: nn.Module,
    example_inputs: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    level: str = "functional",
    training: bool = False,
) -> ExportedProgram:
    """Export a module with a set of operators.

    Raises: ExportError if PyTorch cannot, with the reason and the user's line; UnknownNameError for an unknown level.
    """
    check_name("set of operators", level, LEVELS)
    arguments, keywords = _without_repeats(module, (tuple(example_inputs), dict(kwargs or {})))
    # Without gradients the logarithms of a circuit need no guard at zero.
    gradients = torch.is_grad_enabled() and (training or not isinstance(module, EvaluatedCircuit))
    try:
        with exclusively(), without_reports(), warnings.catch_warnings(), torch.set_grad_enabled(gradients):
            warnings.simplefilter("ignore")
            exported = with_named_layers(with_whole_layers(module) if level == "circuit" else module)
            program = torch.export.export(exported, arguments, keywords)
    except Exception as error:
        raise ExportError(
            f"PyTorch cannot export {type(module).__name__}{_user_line(error)}: {reason(module, error)}"
        ) from error
    if not training:
        _own_tensors(program)
    return program


def _own_tensors(program: ExportedProgram) -> None:
    """Replace the tensors of a program by copies, which share memory as the originals do.

    Rules compute with the weights of a module, so that later changes of the module must not reach the others.
    """
    values = [value for tensors in (program.state_dict, program.constants) for value in tensors.values()]
    computed = [value for value in values if isinstance(value, torch.Tensor) and not value.is_leaf]
    memo: dict[int, Any] = {id(value): value.detach().clone() for value in computed}
    for tensors in (program.state_dict, program.constants):
        for name, value in tensors.items():
            if isinstance(value, torch.Tensor):
                tensors[name] = copy.deepcopy(value, memo)


def _without_repeats(module: nn.Module, arguments: Any) -> Any:
    """Separate arguments that are the same tensor, or a parameter or buffer of the module.

    Of two arguments that are the same tensor, `torch.export` reads only one: the program would ignore the other.
    """
    seen = {id(tensor) for tensor in (*module.parameters(), *module.buffers())}

    def separate(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in seen:
            return value.detach().requires_grad_(value.requires_grad)
        seen.add(id(value))
        return value

    return tree_map(separate, arguments)


def from_exported(
    program: ExportedProgram,
    *,
    level: str = "functional",
    layout: str = "",
    training: bool = False,
    module: nn.Module | None = None,
) -> FunctionGraph:
    """Return an exported program as a graph; parameters and buffers are constants with their names.

    With `training` parameters that require gradients are constants that may change; `layout` is as in `from_module`.
    `module` is the one that was exported, where it is known.
    Raises: UnknownNameError for an unknown level or layout; ExportError, with the source line, for shapes that depend
    on the data, and for nodes that are not operators (control flow, tokens, objects).
    """
    check_name("set of operators", level, LEVELS)
    check_layout(layout)
    try:
        with exclusively(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given, returned = _strides(program)
            program = _decompose(program, level, training)
    except Exception as error:
        raise ExportError(f"PyTorch cannot decompose the program: {first_line(error)}") from error
    graph = _Reader(program, training).graph()
    graph.interface = replace(graph.interface, argument_strides=given, result_strides=returned)
    if module is not None:
        keywords = _collected_keywords(module, graph.interface)
        modes = training_modes(module)
        graph.interface = replace(graph.interface, training_modes=modes, collected_keywords=keywords)
    if training:
        graph.attach_feature(KeepGradients())
    return to_nhwc(graph) if layout == "nhwc" else graph


def _strides(program: ExportedProgram) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Return the strides of the tensors that the exported module accepts and returns."""
    nodes = list(program.graph.nodes)
    signature = program.graph_signature
    inputs = zip([node for node in nodes if node.op == "placeholder"], signature.input_specs, strict=True)
    given = [node for node, spec in inputs if spec.kind is InputKind.USER_INPUT]
    outputs = zip(nodes[-1].args[0], signature.output_specs, strict=True)
    returned = [node for node, spec in outputs if spec.kind is OutputKind.USER_OUTPUT]
    values = [[n.meta["val"] for n in found if isinstance(n, fx.Node)] for found in (given, returned)]
    strides = [tuple(tuple(v.stride()) for v in found if isinstance(v, torch.Tensor)) for found in values]
    return strides[0], strides[1]


def _decompose(program: ExportedProgram, level: str, training: bool) -> ExportedProgram:
    """Return the program in operators of a level; in training no tensor gains a gradient."""
    table: dict[Any, Any] = {**(torch.export.default_decompositions() if level == "core" else {}), **DIFFERENTIABLE}
    if not training:
        return program.run_decompositions(table)
    table.pop(DETACH, None)  # it would become an alias, through which gradients flow
    with detach_parts(program):
        return program.run_decompositions(table)


def _collected_keywords(module: nn.Module, interface: Interface) -> tuple[str, ...]:
    """Return the keywords of an export that a module collects in one dict (`**kwargs`), in order."""
    parameters = inspect.signature(module.forward).parameters.values()
    if interface.arguments is None or all(one.kind is not one.VAR_KEYWORD for one in parameters):
        return ()
    named = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    return tuple(name for name in interface.arguments.child(1).context if name not in named)


class _Reader:
    """Walks an exported program and applies its operators."""

    def __init__(self, program: ExportedProgram, training: bool) -> None:
        self._program = program
        self._training = training
        self._nodes = NodeReader()
        self._values = self._nodes.values
        self._inputs: list[Variable] = []
        self._fixed: list[tuple[int, Any]] = []
        self._fixed_results: list[tuple[int, Any]] = []

    def graph(self) -> FunctionGraph:
        nodes = list(self._program.graph.nodes)
        self._read_inputs([node for node in nodes if node.op == "placeholder"])
        for node in nodes:
            if node.op == "call_function":
                self._nodes.read(node)
            elif node.op not in ("placeholder", "output", "get_attr"):  # control flow uses get_attr
                raise ExportError(
                    f"the program has a {node.op} node ({node.name}), which is not an operator{where(node)}"
                )
        outputs, mutations = self._outputs(nodes[-1])
        spec = self._program.call_spec
        graph = FunctionGraph(self._inputs, outputs, clone=False)
        graph.interface = Interface(
            spec.in_spec,
            spec.out_spec,
            mutations,
            tuple(self._fixed),
            sharing_of(graph),
            self._tensors(graph),
            tuple(self._fixed_results),
        )
        return graph

    def _input(self, node: fx.Node) -> Variable:
        """Return an input; in training it may require a gradient, if its dtype can."""
        kind = static_type(node)
        learns = self._training and (kind.dtype.is_floating_point or kind.dtype.is_complex)
        return Variable(kind, None, 0, node.name, node.meta["val"].device, learns)

    def _tensors(self, graph: FunctionGraph) -> tuple[ModuleTensor, ...]:
        """Return the tensors of the module: its state dict in order, then the rest."""
        program = self._program
        read = {id(constant.data) for constant in graph.constants}
        return tuple(
            ModuleTensor(
                name, data, name in program.state_dict, self._training and data.requires_grad, id(data) not in read
            )
            for name, data in {**program.state_dict, **program.constants}.items()
            if isinstance(data, torch.Tensor)
        )

    def _read_inputs(self, placeholders: Sequence[fx.Node]) -> None:
        signature = self._program.graph_signature
        changed = set(signature.buffers_to_mutate.values())
        position = 0
        for node, spec in zip(placeholders, signature.input_specs, strict=True):
            target = str(spec.target)
            if spec.kind is InputKind.USER_INPUT:
                if isinstance(spec.arg, TensorArgument):
                    self._values[node] = self._input(node)
                    self._inputs.append(self._values[node])
                elif isinstance(spec.arg, ConstantArgument):
                    self._values[node] = spec.arg.value
                    self._fixed.append((position, spec.arg.value))
                else:
                    raise ExportError(f"expected a tensor as the input {node.name}; fix its value before exporting")
                position += 1
            elif spec.kind is InputKind.PARAMETER:
                data = self._find_tensor(target)
                self._values[node] = Constant(data, target, self._training and data.requires_grad)
            elif spec.kind in (InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                self._values[node] = Constant(self._find_tensor(target), target, target in changed)
            else:
                raise ExportError(
                    f"expected a tensor as the input {node.name} of the program, got a {spec.kind.name.lower()}"
                )

    def _find_tensor(self, target: str) -> torch.Tensor:
        program = self._program
        data = program.state_dict[target] if target in program.state_dict else program.constants[target]
        if not isinstance(data, torch.Tensor):
            raise ExportError(f"expected a tensor as {target} of the program, got type {type(data).__name__}")
        if data.layout is not torch.strided:
            raise ExportError(f"expected a dense tensor as {target}, got {data.layout}; convert it with .to_dense()")
        return data

    def _outputs(self, node: fx.Node) -> tuple[list[Variable], tuple[Mutation, ...]]:
        found: list[Variable] = []
        mutations: list[Mutation] = []
        results = node.args[0]
        if not isinstance(results, Iterable):
            raise ExportError("the program returns nothing; return at least one tensor")
        for value, spec in zip(results, self._program.graph_signature.output_specs, strict=True):
            variable = self._nodes.mapped(value)
            if not isinstance(variable, Variable) and spec.kind is OutputKind.USER_OUTPUT:
                self._fixed_results.append((len(found) - len(mutations) + len(self._fixed_results), variable))
                continue
            if not isinstance(variable, Variable):
                raise ExportError(f"expected a tensor as a result of the program, got {variable!r}")
            if spec.kind is OutputKind.BUFFER_MUTATION:
                mutations.append(Mutation(str(spec.target), self._find_tensor(str(spec.target))))
            elif spec.kind is not OutputKind.USER_OUTPUT:
                written = spec.kind.name.lower().removesuffix("_mutation").removeprefix("user_")
                raise ExportError(f"expected a program that changes no {written}, got one that writes {spec.target}")
            found.append(variable)
        if not found:
            raise ExportError("the program returns no tensor; return at least one")
        return found, tuple(mutations)


FOREIGN = (str(Path(torch.__file__).parent), sysconfig.get_paths()["stdlib"] + "/", __file__, "<")
"""Files of traceback frames that are not the user's."""


def _user_line(error: BaseException | None) -> str:
    """Return the innermost line of the user's program in the traceback of an error or of its causes."""
    while error is not None:
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if not frame.filename.startswith(FOREIGN) or "site-packages" in frame.filename[len(FOREIGN[0]) :]:
                return f" at {Path(frame.filename).name}:{frame.lineno}"
        error = error.__cause__ or error.__context__
    return ""


def from_circuit(
    circuit: TorchCircuit,
    *,
    batch_size: int = 1,
    level: str = "functional",
    training: bool = False,
) -> FunctionGraph:
    """Export a circuit for rows (B, D) as a graph; with `training` its parameters may change.

    Raises: ExportError, UnknownNameError, as `from_module` does.
    """
    x = example_rows(circuit, batch_size)
    return from_module(circuit, (x,), level=level, training=training)


def example_rows(circuit: TorchCircuit, batch_size: int) -> Tensor:
    """Return zeros (B, D) of a type that the circuit accepts: integers if all of its variables are discrete."""
    inputs = [layer for layer in circuit.graph.nodes.values() if isinstance(layer, TorchInputLayer) and layer.scope_idx]
    discrete = all(isinstance(layer, TorchDiscreteLayer) for layer in inputs)
    return torch.zeros(batch_size, circuit.num_variables, dtype=torch.long if discrete else None)
