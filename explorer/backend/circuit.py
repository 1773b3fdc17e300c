"""The compiled circuit: an `nn.Module` over frozen layers.

The module holds the tensors and the index buffers; layers and parameter graphs are data. It is built once, after
optimization and folding, and does three things besides evaluating: it frees activations that nobody reads any more,
it keeps what depends on parameters only while in `eval()` without gradients, and it checks its input.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from explorer.backend.addressing import FoldIndexInfo, Read, direct_read, plan_read
from explorer.backend.layers import TorchInnerLayer, TorchInputLayer, TorchLayer
from explorer.backend.parameters import (
    TorchLeafParameter,
    TorchParameter,
    TorchParameterNode,
    TorchParameterOp,
)
from explorer.backend.semiring import Semiring
from explorer.backend.storage import AddressBook, foldwise_initializer_, leaf_seed
from explorer.errors import DataTypeError, ShapeError, UnknownNameError
from explorer.graph import Graph, nested_of, parameters_of
from explorer.symbolic import TensorParameter


@dataclass(frozen=True, eq=False)
class PlannedRead:
    """A read and the position of its index among the buffers (-1 if it needs none)."""

    read: Read
    index: int


@dataclass(frozen=True, eq=False)
class PlannedNode:
    """One node of a parameter graph: where each operand is read, or which slices of which tensors a leaf is."""

    node: int
    op: TorchParameterOp | None
    reads: tuple[PlannedRead, ...]


@dataclass(frozen=True, eq=False)
class PlannedParameter:
    """The evaluation of a parameter graph: its nodes in order, then where the result is read."""

    nodes: tuple[PlannedNode, ...]
    result: PlannedRead | None
    last: int


@dataclass(frozen=True, eq=False)
class PlannedLayer:
    """The evaluation of a layer: what is read, which parameters, which activations nobody needs afterwards."""

    node: int
    layer: TorchLayer
    read: PlannedRead | None
    columns: int
    parameters: tuple[tuple[str, PlannedParameter], ...]
    frees: tuple[int, ...]


class TorchCircuit(nn.Module):
    """A compiled circuit: x (B, D) -> (B, outputs, classes).

    Values are in the form of the semiring (logarithms under lse-sum). `x` may be left out when no layer reads a
    variable. In `eval()`, what depends on parameters only is computed once, unless gradients of parameters are
    asked for, and dropped when a tensor changes (writes through `.data` are not seen: call `drop_cache()` after them).

    Raises on call: ShapeError, DataTypeError, ValueRangeError for input that does not fit.
    """

    def __init__(
        self,
        graph: Graph[TorchLayer],
        fold_index: FoldIndexInfo | None,
        semiring: Semiring,
        tensors: Sequence[nn.Parameter],
        book: AddressBook,
        leaf_names: Mapping[TensorParameter, str],
    ) -> None:
        super().__init__()
        self.graph = graph
        self.fold_index = fold_index
        self.semiring = semiring
        self.tensors = nn.ParameterList(tensors)
        position = {id(tensor): i for i, tensor in enumerate(tensors)}
        self._places = {
            leaf: (position[id(home.tensor)], home.slice_idx)
            for leaf in leaf_names
            if (home := book.homes.get(leaf)) is not None and id(home.tensor) in position
        }
        self._leaf_names = dict(leaf_names)
        self._num_indices = 0
        self._cache: dict[int, Mapping[str, Tensor]] = {}
        self._cache_key: tuple[object, ...] = ()
        self._plan = self._plan_layers()
        self._output_read = self._plan_outputs()
        self.num_variables = 1 + max(
            (
                v
                for layer in self.layers
                if isinstance(layer, TorchInputLayer)
                for scope in layer.scope_idx
                for v in scope
            ),
            default=-1,
        )

    @property
    def layers(self) -> tuple[TorchLayer, ...]:
        """The layers in topological order."""
        return tuple(self.graph.nodes.values())

    @property
    def num_folds(self) -> int:
        """The folds of all layers together: how many layers there are without folding."""
        return sum(layer.num_folds for layer in self.layers)

    def reads(self, node: int) -> Read | None:
        """How a layer reads its inputs; None for an input layer. Raises: UnknownNameError."""
        for planned in self._plan:
            if planned.node == node:
                return planned.read.read if planned.read is not None else None
        raise UnknownNameError(f"there is no layer {node}; ids are those of .graph.nodes")

    # ------------------------------------------------------------------ values of leaves

    @property
    def leaf_names(self) -> Mapping[TensorParameter, str]:
        """The name of every parameter leaf."""
        return self._leaf_names

    def leaf_state(self) -> dict[str, Tensor]:
        """The value of every parameter leaf by name, a copy; the names are the same in every mode of compilation."""
        return {self._leaf_names[leaf]: value.clone() for leaf, value in self.leaf_values().items()}

    def leaf_values(self) -> dict[TensorParameter, Tensor]:
        """The present value of every parameter leaf, as a view without gradient."""
        return {leaf: self.tensors[tensor].detach()[row] for leaf, (tensor, row) in self._places.items()}

    @torch.no_grad()
    def load_leaf_state(self, state: Mapping[str, Tensor]) -> None:
        """Take the value of every leaf from `leaf_state()` of a circuit compiled in any mode.

        Raises: UnknownNameError if a leaf is missing or unknown; ShapeError; DataTypeError. Nothing is changed then.
        """
        homes = {self._leaf_names[leaf]: value for leaf, value in self.leaf_values().items()}
        odd = sorted(set(homes) ^ set(state))
        if odd:
            missing, unknown = [n for n in odd if n in homes], [n for n in odd if n in state]
            raise UnknownNameError(
                f"the state is of another circuit: leaves missing {missing[:5]}, unknown {unknown[:5]}; "
                f"give the leaf_state() of the same symbolic circuit"
            )
        for name, value in state.items():
            home = homes[name]
            if not isinstance(value, Tensor) or not torch.can_cast(value.dtype, home.dtype):
                found = value.dtype if isinstance(value, Tensor) else type(value).__name__
                raise DataTypeError(f"leaf {name} holds {home.dtype}; the state gives {found}")
            if value.shape != home.shape:
                raise ShapeError(f"leaf {name} has shape {tuple(home.shape)}; the state gives {tuple(value.shape)}")
        for leaf, (tensor, row) in self._places.items():
            self.tensors[tensor][row] = state[self._leaf_names[leaf]]

    @torch.no_grad()
    def reset_parameters(self, seed: int) -> None:
        """Draw the first value of every leaf again, by its initializer and the seed; shared leaves change too."""
        for node in leaf_nodes(self.graph):
            if isinstance(node, TorchLeafParameter):
                for leaf, initializer in zip(node.leaves, node.initializers, strict=True):
                    tensor, row = self._places[leaf]
                    salt = leaf_seed(seed, self._leaf_names[leaf])
                    foldwise_initializer_(self.tensors[tensor][row : row + 1], [(initializer, salt)])

    # ------------------------------------------------------------------ evaluation

    def forward(self, x: Tensor | None = None) -> Tensor:
        """The value of the circuit: x (B, D) -> (B, outputs, classes); without x (outputs, classes)."""
        batch = self._checked(x)
        parameters = self._evaluated_parameters()
        values: dict[int, Tensor] = {}
        for planned in self._plan:
            inputs = self._inputs(planned, batch, values)
            values[planned.node] = planned.layer.forward(self.semiring, inputs, parameters[planned.node])
            for gone in planned.frees:
                del values[gone]
        read = self._output_read
        result = self._read(read, [values[source] for source in read.read.sources])  # (outputs, 1, B, classes)
        result = result.squeeze(1).transpose(0, 1)
        return result[0] if x is None else result

    def drop_cache(self) -> None:
        """Forget what was kept of parameters; needed only after writing through `tensor.data`."""
        self._cache = {}
        self._cache_key = ()

    def activations(self, x: Tensor | None = None) -> Iterator[tuple[int, Tensor]]:
        """The activation (F, B, O) of every layer, in order, with the layer's id."""
        x = self._checked(x)
        parameters = self._evaluated_parameters()
        values: dict[int, Tensor] = {}
        for planned in self._plan:
            inputs = self._inputs(planned, x, values)
            values[planned.node] = planned.layer.forward(self.semiring, inputs, parameters[planned.node])
            yield planned.node, values[planned.node]

    @torch.no_grad()
    def integral(self) -> Tensor:
        """The sum or integral of every output over all values of the variables, (outputs, classes), as in `forward`.

        It is the partition function if the circuit is smooth and decomposable (`Circuit.require`).
        Raises: DataTypeError for an input layer without a known integral.
        """
        parameters = self._evaluated_parameters()
        values: dict[int, Tensor] = {}
        for planned in self._plan:
            layer, prepared = planned.layer, parameters[planned.node]
            if isinstance(layer, TorchInputLayer):
                values[planned.node] = layer.integral(self.semiring, prepared)
            else:
                inputs = self._inputs(planned, torch.empty(0), values)
                values[planned.node] = layer.forward(self.semiring, inputs, prepared)
        read = self._output_read
        return self._read(read, [values[source] for source in read.read.sources]).squeeze(1)[:, 0]

    def _inputs(self, planned: PlannedLayer, x: Tensor, values: Mapping[int, Tensor]) -> Tensor:
        if planned.read is not None:
            return self._read(planned.read, [values[source] for source in planned.read.read.sources])
        layer = planned.layer
        variables = _variables(x, getattr(self, f"columns_{planned.columns}"), layer.num_folds)
        if isinstance(layer, TorchInputLayer) and not torch.compiler.is_compiling():
            layer.check_input(variables)
        return variables

    def _read(self, planned: PlannedRead, values: Sequence[Tensor]) -> Tensor:
        index = getattr(self, f"index_{planned.index}") if planned.index >= 0 else None
        return planned.read(values, index)

    def _checked(self, x: Tensor | None) -> Tensor:
        if x is None:
            if self.num_variables:
                raise ShapeError(
                    f"the circuit reads {self.num_variables} variables; give x of shape (B, {self.num_variables})"
                )
            device = self.tensors[0].device if len(self.tensors) else None
            return torch.zeros((1, 0), device=device)
        if not isinstance(x, Tensor):
            raise DataTypeError(f"x must be a torch.Tensor (B, {self.num_variables}); found {type(x).__name__}")
        if x.dim() != 2 or x.shape[1] != self.num_variables:
            raise ShapeError(f"x must have shape (B, {self.num_variables}); found {tuple(x.shape)}")
        return x

    # ------------------------------------------------------------------ parameters

    def _evaluated_parameters(self) -> Mapping[int, Mapping[str, Tensor]]:
        if torch.compiler.is_compiling() or self.training or self._tracks_gradients():
            return {planned.node: self._prepared(planned) for planned in self._plan}
        try:
            versions = tuple((id(t), t._version, t.data_ptr(), t.dtype) for t in self.tensors)
        except RuntimeError:  # under vmap a tensor has no memory of its own to recognize it by
            return {planned.node: self._prepared(planned) for planned in self._plan}
        if versions != self._cache_key:
            with torch.inference_mode(False), torch.no_grad():  # what is kept must serve in every mode
                self._cache = {planned.node: self._prepared(planned) for planned in self._plan}
            self._cache_key = versions
        return self._cache

    def _tracks_gradients(self) -> bool:
        """Whether a kept value would belong to one backward pass: then it cannot serve the next one."""
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in self.tensors)

    def _prepared(self, planned: PlannedLayer) -> Mapping[str, Tensor]:
        if not planned.parameters:
            return {}
        values = {name: self._parameter(parameter) for name, parameter in planned.parameters}
        return planned.layer.prepare(self.semiring, values)

    def _parameter(self, planned: PlannedParameter) -> Tensor:
        """The value (F, *shape) of a parameter graph."""
        values: dict[int, Tensor] = {}
        for step in planned.nodes:
            if step.op is None:
                read = step.reads[0]
                tensors = [self.tensors[source] for source in read.read.sources]
                values[step.node] = self._as_number(self._read(read, tensors).squeeze(1))
            else:
                operands = [self._read(r, [values[s] for s in r.read.sources]).squeeze(1) for r in step.reads]
                values[step.node] = step.op.forward(*operands)
        if planned.result is None:
            return values[planned.last]
        return self._read(planned.result, [values[s] for s in planned.result.read.sources]).squeeze(1)

    def _as_number(self, value: Tensor) -> Tensor:
        """Whole numbers in the precision of the other leaves: operators and products of matrices do not mix types."""
        if value.is_floating_point() or value.is_complex():
            return value
        for tensor in self.tensors:
            if tensor.is_floating_point() or tensor.is_complex():
                return value.to(tensor.real.dtype)
        return value.to(torch.get_default_dtype())

    # ------------------------------------------------------------------ planning

    def _plan_layers(self) -> tuple[PlannedLayer, ...]:
        last_use = _last_uses(self.graph)
        folds = {node: layer.num_folds for node, layer in self.graph.nodes.items()}
        plan: list[PlannedLayer] = []
        columns: dict[tuple[tuple[int, ...], ...], int] = {}
        for node, layer in self.graph.nodes.items():
            read, column = None, -1
            if isinstance(layer, TorchInputLayer):
                column = columns.setdefault(layer.scope_idx, len(columns))
                if column == len(columns) - 1:
                    flat = torch.tensor([v for scope in layer.scope_idx for v in scope], dtype=torch.long)
                    self.register_buffer(f"columns_{column}", flat, persistent=False)
            elif isinstance(layer, TorchInnerLayer):
                read = self._planned_read(node, folds)
            else:
                kind = type(layer).__name__
                raise DataTypeError(f"layer {node} ({kind}) must be a TorchInputLayer or a TorchInnerLayer")
            parameters = tuple((name, self._plan_parameter(p)) for name, p in all_parameters(layer).items())
            plan.append(PlannedLayer(node, layer, read, column, parameters, last_use.get(node, ())))
        return tuple(plan)

    def _planned_read(self, node: int, folds: Mapping[int, int]) -> PlannedRead:
        if self.fold_index is None:
            return self._with_index(direct_read(self.graph.inputs[node]))
        return self._with_index(plan_read(self.fold_index.in_fold_idx[node], folds))

    def _plan_outputs(self) -> PlannedRead:
        if self.fold_index is None:
            read = direct_read(self.graph.outputs)
            if len(self.graph.outputs) > 1:
                read = Read(read.kind, read.sources, read.arity, 1, read.pieces)
            return self._with_index(read)
        folds = {node: layer.num_folds for node, layer in self.graph.nodes.items()}
        return self._with_index(plan_read(self.fold_index.out_fold_idx[:, None, :], folds))

    def _plan_parameter(self, parameter: TorchParameter) -> PlannedParameter:
        folds = {node: value.num_folds for node, value in parameter.graph.nodes.items()}
        steps: list[PlannedNode] = []
        for node, value in parameter.graph.nodes.items():
            if isinstance(value, TorchLeafParameter):
                steps.append(PlannedNode(node, None, (self._plan_leaf(value),)))
                continue
            if not isinstance(value, TorchParameterOp):
                raise DataTypeError(f"{type(value).__name__} must be a TorchLeafParameter or a TorchParameterOp")
            steps.append(PlannedNode(node, value, self._plan_operands(parameter, node, folds)))
        if parameter.fold_index is None:
            return PlannedParameter(tuple(steps), None, parameter.graph.outputs[0])
        result = self._with_index(plan_read(parameter.fold_index.out_fold_idx[:, None, :], folds))
        return PlannedParameter(tuple(steps), result, -1)

    def _plan_operands(self, parameter: TorchParameter, node: int, folds: Mapping[int, int]) -> tuple[PlannedRead, ...]:
        if parameter.fold_index is None:
            return tuple(self._with_index(direct_read((source,))) for source in parameter.graph.inputs[node])
        table = parameter.fold_index.in_fold_idx[node]
        return tuple(self._with_index(plan_read(table[:, h : h + 1], folds)) for h in range(table.shape[1]))

    def _plan_leaf(self, leaf: TorchLeafParameter) -> PlannedRead:
        pairs = [self._places[symbolic] for symbolic in leaf.leaves]
        table = torch.tensor(pairs, dtype=torch.long).reshape(-1, 1, 2).numpy()
        return self._with_index(plan_read(table, {position: self.tensors[position].shape[0] for position, _ in pairs}))

    def _with_index(self, read: Read) -> PlannedRead:
        if read.index is None:
            return PlannedRead(read, -1)
        position = self._num_indices
        self.register_buffer(f"index_{position}", torch.from_numpy(read.index.copy()), persistent=False)
        self._num_indices += 1
        return PlannedRead(read, position)

    def __repr__(self) -> str:
        lines = [f"TorchCircuit({self.semiring.name}, {len(self.layers)} layers, {self.num_folds} folds)"]
        return "\n".join([*lines, str(self.graph)])


def all_parameters(layer: TorchLayer) -> dict[str, TorchParameter]:
    """The parameters of a layer and of the layers inside it (`layer.probs`)."""
    found: dict[str, TorchParameter] = dict(parameters_of(layer))
    for name, nested in nested_of(layer).items():
        found |= {f"{name}.{inner}": parameter for inner, parameter in all_parameters(nested).items()}
    return found


def leaf_nodes(graph: Graph[TorchLayer]) -> Iterator[TorchParameterNode]:
    """All parameter nodes of all layers, in order."""
    for layer in graph.nodes.values():
        for parameter in all_parameters(layer).values():
            yield from parameter.graph.nodes.values()


def _variables(x: Tensor, columns: Tensor, folds: int) -> Tensor:
    """The variables (F, B, V) of a layer: columns of x (B, D); whole numbers in 64 bits, where no bound wraps round."""
    if not columns.numel():
        return x.new_empty((folds, x.shape[0], 0))
    chosen = torch.index_select(x, 1, columns)  # (B, F * V)
    if not (chosen.is_floating_point() or chosen.is_complex()):
        chosen = chosen.long()
    return chosen.reshape(x.shape[0], folds, columns.numel() // folds).transpose(0, 1)


def _last_uses(graph: Graph[TorchLayer]) -> Mapping[int, tuple[int, ...]]:
    """For each layer the activations that nobody reads after it: those of its inputs, or its own if it is dead."""
    last: dict[int, int] = {}
    for node, sources in graph.inputs.items():
        last[node] = node
        for source in sources:
            last[source] = node
    frees: dict[int, list[int]] = {}
    for node, user in last.items():
        if node not in graph.output_set:
            frees.setdefault(user, []).append(node)
    return {user: tuple(nodes) for user, nodes in frees.items()}


__all__ = ["TorchCircuit", "all_parameters", "leaf_nodes"]
