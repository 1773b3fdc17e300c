"""The evaluation of a planned circuit: what a trainable and a frozen circuit have in common."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import reduce
from importlib import import_module
from typing import Self

import torch
from torch import Tensor, nn

from explorer.backend.addressing import FoldIndexInfo, Read, ReadKind
from explorer.backend.layers import TorchContinuousLayer, TorchInnerLayer, TorchInputLayer, TorchLayer
from explorer.backend.numeric import DOUBLES, can_inspect
from explorer.backend.plan import CircuitPlan, PlannedLayer, PlannedRead
from explorer.backend.semiring import Semiring
from explorer.errors import DataTypeError, ShapeError, UnknownNameError
from explorer.graph import Graph, nested_of

LayerValues = Mapping[int, Mapping[str, Tensor]]
"""For each layer the tensors by name that its `forward` receives."""

LayerCall = Callable[[TorchLayer, Semiring, Tensor, Mapping[str, Tensor]], Tensor]
"""A function that calls a layer with the arguments of its `forward`."""


def forward_layer(layer: TorchLayer, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
    """Evaluate a layer, as circuits do unless their `call_layer` is replaced."""
    return layer.forward(semiring, x, parameters)


def apply_to_parts(fn: Callable[[Tensor], Tensor], tensor: Tensor) -> Tensor:
    """Apply a function, to the real and imaginary parts of a complex tensor unless they would become complex."""
    if tensor.is_complex() and not (parts := fn(torch.view_as_real(tensor))).is_complex():
        return torch.view_as_complex(parts)
    return fn(tensor)


class EvaluatedCircuit(nn.Module, ABC):
    """Maps x (B, D) to (B, outputs, classes); a subclass supplies the evaluated parameters of the layers."""

    def __init__(
        self, graph: Graph[TorchLayer], fold_index: FoldIndexInfo | None, semiring: Semiring, plan: CircuitPlan
    ) -> None:
        super().__init__()
        self.graph = graph
        self.fold_index = fold_index
        self.semiring = semiring
        self._plan = plan
        self._planned = {planned.node: planned for planned in plan.layers}
        self.call_layer: LayerCall = forward_layer
        for name, tensors in (("index", plan.indices), ("columns", plan.columns)):
            for position, tensor in enumerate(tensors):
                self.register_buffer(f"{name}_{position}", tensor, persistent=False)
        self.num_variables = plan.num_variables
        self.reads_variables = any(isinstance(one, TorchInputLayer) and one.num_variables for one in self.layers)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """As in `nn.Module`, but `to(torch.float64)` changes the precision of complex tensors instead of their type."""
        return super()._apply(lambda tensor: apply_to_parts(fn, tensor), recurse)

    @property
    def held_tensors(self) -> tuple[Tensor, ...]:
        """All parameters and buffers; `parameters()` and `buffers()` visit each module, which takes longer."""
        return tuple([one for one in self._buffers.values() if one is not None])

    @property
    def number_types(self) -> set[torch.dtype]:
        """The types of real and complex numbers in which layers receive parameters."""
        return {one.dtype for one in self.held_tensors if one.is_floating_point() or one.is_complex()}

    @property
    def layers(self) -> tuple[TorchLayer, ...]:
        """The layers in topological order."""
        return tuple(self.graph.nodes.values())

    @property
    def num_folds(self) -> int:
        """The folds of all layers together, which is the number of layers without folding."""
        return sum(layer.num_folds for layer in self.layers)

    @property
    def output_shape(self) -> tuple[int, int]:
        """The number of outputs, and of the classes (units) of each."""
        if self.fold_index is None:
            outputs = list(self.graph.outputs)
        else:
            outputs = [int(node) for node, _ in self.fold_index.out_fold_idx]
        return len(outputs), self.graph.nodes[outputs[0]].num_output_units

    def reads(self, node: int) -> Read | None:
        """Return the read of a layer's inputs; None for an input layer. Raises: UnknownNameError."""
        if node not in self._planned:
            raise UnknownNameError(f"unknown layer {node}; the ids are those of .graph.nodes")
        read = self._planned[node].read
        return read.read if read is not None else None

    def forward(self, x: Tensor | None = None) -> Tensor:
        """The value of the circuit: x (B, D) -> (B, outputs, classes); without x (outputs, classes)."""
        batch, parameters, is_widened = self._given(x)
        values: dict[int, Tensor] = {}
        for planned in self._plan.layers:
            value = self.evaluate_layer(planned, batch, values, parameters)
            values[planned.node] = value.clone() if planned.may_alias and planned.is_output else value
            for freed in planned.frees:
                del values[freed]
        result = self._outputs(values)
        result = self._rounded(result) if is_widened else result
        return result[0] if x is None else result

    def activations(self, x: Tensor | None = None) -> Iterator[tuple[int, Tensor]]:
        """The activation (F, B, O) of every layer, in order, with the layer's id."""
        batch, parameters, is_widened = self._given(x)
        values: dict[int, Tensor] = {}
        for planned in self._plan.layers:
            value = values[planned.node] = self.evaluate_layer(planned, batch, values, parameters)
            value = self._rounded(value) if is_widened else value
            yield planned.node, value.clone() if planned.may_alias else value

    def evaluate(self, x: Tensor | None = None) -> tuple[Tensor, dict[int, Tensor]]:
        """The value of the circuit as `forward` returns it, and the activation (F, B, O) of each layer by its id."""
        values = dict(self.activations(x))
        result = self._outputs(values)
        return (result[0] if x is None else result), values

    def detached_layer_values(self) -> LayerValues:
        """As `layer_values`, without gradients and in full precision, whatever modes the caller is in."""
        device = next((tensor.device.type for tensor in self.parameters()), "cpu")
        autocast = torch.amp.is_autocast_available(device)
        precision = torch.autocast(device, enabled=False) if autocast else nullcontext()
        with torch.inference_mode(False), torch.no_grad(), precision:
            return self.layer_values()

    def input_activations(self, x: Tensor, nodes: Sequence[int], parameters: LayerValues) -> dict[int, Tensor]:
        """The activations (F, B, O) of some input layers, with what they prepared from their parameters."""
        chosen = [planned for planned in self._plan.layers if planned.node in nodes]
        return {planned.node: self.evaluate_layer(planned, x, {}, parameters) for planned in chosen}

    @torch.no_grad()
    def integral(self) -> Tensor:
        """The sum or integral of every output over all values of the variables, (outputs, classes), as in `forward`.

        It is the partition function if the circuit is smooth and decomposable (`Circuit.require`).
        Raises: DataTypeError for an input layer without a known integral, or an inner layer that may not be linear in
        each of its inputs (`multiplies`).
        """
        parameters = self.layer_values()
        values: dict[int, Tensor] = {}
        for planned in self._plan.layers:
            layer, prepared = planned.layer, parameters[planned.node]
            if isinstance(layer, TorchInputLayer):
                values[planned.node] = layer.integral(self.semiring, prepared).clone()
            else:
                _require_linear(layer)
                inputs = self._inputs(planned, torch.empty(0), values)
                values[planned.node] = layer.forward(self.semiring, inputs, prepared)
        result = self._outputs(values)[0]
        return self._rounded(result) if self._is_widened(parameters) else result

    def fast(self, *, backend: str = "auto", batch_size: int | None = None) -> nn.Module:
        """This circuit on the fastest backend that can run it here, or on the one named: `explorer.fast`."""
        fast = import_module("explorer.runtime").fast  # a package above this one
        return fast(self, backend=backend, batch_size=batch_size)

    @abstractmethod
    def layer_values(self) -> LayerValues:
        """For each layer what it prepared from the present parameters, for one evaluation."""

    @property
    def own_type(self) -> torch.dtype:
        """The type of real numbers in which layers receive parameters that do not underflow."""
        return reduce(torch.promote_types, self.number_types, torch.bool).to_real()

    def _is_widened(self, parameters: LayerValues) -> bool:
        """Whether layers receive double precision in a circuit that has less, as weights would underflow there."""
        if torch.compiler.is_compiling():
            return False
        has_doubles = any(one.dtype in DOUBLES for some in parameters.values() for one in some.values())
        return has_doubles and bool(self.number_types) and not self.number_types & DOUBLES

    def _rounded(self, value: Tensor) -> Tensor:
        """A real or complex value in the precision of the circuit."""
        return value.to(self.own_type.to_complex() if value.is_complex() else self.own_type)

    def _given(self, x: Tensor | None) -> tuple[Tensor, LayerValues, bool]:
        """The rows, what layers prepared from the parameters, and whether that is in double precision for once.

        Continuous variables are rounded as layers round them that receive their own precision.
        """
        batch, parameters = self.check_rows(x), self.layer_values()
        is_widened = self._is_widened(parameters)
        if is_widened and batch.dtype == torch.float64:
            is_continuous = torch.zeros(self.num_variables, dtype=torch.bool, device=batch.device)
            for planned in self._plan.layers:
                if isinstance(planned.layer, TorchContinuousLayer):
                    is_continuous[getattr(self, f"columns_{planned.columns}")] = True
            batch = torch.where(is_continuous, self._rounded(batch).double(), batch)
        return batch, parameters, is_widened

    def _outputs(self, values: Mapping[int, Tensor]) -> Tensor:
        """The outputs (B, outputs, classes), each in its own memory."""
        planned = self._plan.output
        result = self._read(planned, [values[source] for source in planned.read.sources])  # (outputs, 1, B, classes)
        if planned.read.kind is ReadKind.EXPAND:
            result = result.contiguous()
        return result.squeeze(1).transpose(0, 1)

    def evaluate_layer(
        self, planned: PlannedLayer, x: Tensor, values: Mapping[int, Tensor], parameters: LayerValues
    ) -> Tensor:
        """The activation (F, B, O) of a layer: it reads the values of others, and is called."""
        inputs = self._inputs(planned, x, values)
        return self.call_layer(planned.layer, self.semiring, inputs, parameters[planned.node])

    def _inputs(self, planned: PlannedLayer, x: Tensor, values: Mapping[int, Tensor]) -> Tensor:
        if planned.read is not None:
            return self._read(planned.read, [values[source] for source in planned.read.read.sources])
        layer = planned.layer
        inputs = _variables(x, getattr(self, f"columns_{planned.columns}"), layer.num_folds)
        if isinstance(layer, TorchInputLayer) and can_inspect(inputs):
            layer.check_input(inputs)
        return inputs

    def read_inputs(self, node: int, values: Mapping[int, Tensor]) -> Tensor:
        """The inputs (F, H, B, I) of an inner layer, from the activations (F, B, O) of the layers that it reads."""
        read = self._planned[node].read
        if read is None:
            raise UnknownNameError(f"layer {node} reads variables, not layers")
        return self._read(read, [values[source] for source in read.read.sources])

    def read_outputs(self, values: Mapping[int, Tensor]) -> Tensor:
        """The outputs (B, outputs, classes), from the activations (F, B, O) of the layers."""
        return self._outputs(values)

    def _read(self, planned: PlannedRead, values: Sequence[Tensor]) -> Tensor:
        index = getattr(self, f"index_{planned.index}") if planned.index >= 0 else None
        return planned.read(values, index)

    def check_rows(self, x: Tensor | None) -> Tensor:
        """The rows of x (B, D); without x, one row of zeros, if nothing reads it.

        Raises: ShapeError, DataTypeError.
        """
        if x is None:
            if self.reads_variables:
                raise ShapeError(
                    f"the circuit reads {self.num_variables} variables; pass x of shape (B, {self.num_variables})"
                )
            tensor = next(itertools.chain(self.parameters(), self.buffers()), None)
            return torch.zeros((1, self.num_variables), device=tensor.device if tensor is not None else None)
        if not isinstance(x, Tensor):
            raise DataTypeError(f"x must be a torch.Tensor (B, {self.num_variables}); found {type(x).__name__}")
        if x.dim() != 2 or x.shape[1] != self.num_variables:
            raise ShapeError(f"x must have shape (B, {self.num_variables}); found {tuple(x.shape)}")
        return x

    def __repr__(self) -> str:
        title = f"{type(self).__name__}({self.semiring.name}, {len(self.layers)} layers, {self.num_folds} folds)"
        return f"{title}\n{self.graph}"


def _variables(x: Tensor, columns: Tensor, folds: int) -> Tensor:
    """The variables (F, B, V) of a layer: columns of x (B, D). Integers become 64-bit ones, in which no bound wraps."""
    if not columns.numel():
        return x.new_empty((folds, x.shape[0], 0))
    chosen = torch.index_select(x, 1, columns)  # (B, F * V)
    if not (chosen.is_floating_point() or chosen.is_complex()):
        chosen = chosen.long()
    return chosen.reshape(x.shape[0], folds, columns.numel() // folds).transpose(0, 1)


def _require_linear(layer: TorchLayer) -> None:
    """Raises: DataTypeError unless an inner layer, or each layer of a chain, is linear in each input."""
    nested = nested_of(layer)
    for inner in nested.values():
        _require_linear(inner)
    if not nested and isinstance(layer, TorchInnerLayer) and layer.multiplies is None:
        name = type(layer).__name__
        raise DataTypeError(f"{name} does not say that it is linear in each of its inputs; set {name}.multiplies")
