"""The compiled circuit, an `nn.Module` that holds the tensors of folded layers; for learning, it is probed."""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor, nn

from explorer.backend.addressing import FoldIndexInfo
from explorer.backend.evaluation import EvaluatedCircuit, LayerValues
from explorer.backend.frozen import FrozenCircuit, loses_digits, underflows
from explorer.backend.layers import TorchInputLayer, TorchLayer
from explorer.backend.numeric import (
    DOUBLES,
    are_below_normal,
    can_inspect,
    in_double_precision,
    in_single_precision,
    smallest_part,
)
from explorer.backend.parameters import TorchLeafParameter, TorchParameterOp
from explorer.backend.parameters.nodes import ParameterStore, foldwise_initializer_, leaf_seed
from explorer.backend.plan import (
    CircuitPlan,
    PlannedLayer,
    PlannedParameter,
    parameter_nodes,
    plan_circuit,
)
from explorer.backend.semiring import Semiring
from explorer.errors import DataTypeError, ShapeError, UnknownNameError, check_type
from explorer.graph import Graph
from explorer.symbolic import TensorParameter


class TorchCircuit(EvaluatedCircuit):
    """A compiled circuit: x (B, D) -> (B, outputs, classes).

    Values are in the form of the semiring (logarithms under lse-sum). `x` may be left out when no layer reads a
    variable. Parameters are evaluated at each call, so a call always uses their present values; `freeze()` returns a
    circuit that has them evaluated.

    Raises on call: ShapeError, DataTypeError, ValueRangeError for input that does not fit. Where values cannot be
    inspected (torch.compile, torch.export, vmap), the output for a discrete value out of range is NaN.
    """

    def __init__(
        self,
        graph: Graph[TorchLayer],
        fold_index: FoldIndexInfo | None,
        semiring: Semiring,
        tensors: Sequence[nn.Parameter],
        store: ParameterStore,
        leaf_names: Mapping[TensorParameter, str],
        seed_names: Mapping[TensorParameter, str],
        num_variables: int,
    ) -> None:
        position = {id(tensor): i for i, tensor in enumerate(tensors)}
        slots = {
            leaf: (position[id(slot.tensor)], slot.slice_idx)
            for leaf in leaf_names
            if (slot := store.slots.get(leaf)) is not None and id(slot.tensor) in position
        }
        plan = plan_circuit(graph, fold_index, slots, [tensor.shape[0] for tensor in tensors], num_variables)
        super().__init__(graph, fold_index, semiring, plan)
        self.tensors = nn.ParameterList(tensors)
        self._slots = slots
        self._leaf_names = dict(leaf_names)
        self._seed_names = dict(seed_names)

    @property
    def held_tensors(self) -> tuple[Tensor, ...]:
        return (*self.present_parameters(), *super().held_tensors)

    def present_parameters(self) -> tuple[Tensor, ...]:
        """The `tensors` in order, or their replacements by `functional_call`, pruning or a parametrization."""
        held = self.tensors._parameters
        found = held.values() if tuple(held) == _names(len(self.tensors)) else self.tensors
        return tuple([one for one in found if one is not None])

    def freeze(self) -> "FrozenCircuit":
        """A circuit with the present parameter values, evaluated once: the form for inference.

        It is a snapshot: later changes of this circuit do not reach it, and it has no parameters of its own, so nothing
        can be trained or loaded into it by mistake. Freeze again after a change. Values are computed in double
        precision; `FrozenCircuit` rounds those that lose nothing.
        """
        values = self.detached_layer_values()
        with torch.inference_mode(False), torch.no_grad():
            types = {node: {key: one.dtype for key, one in some.items()} for node, some in values.items()}
            if self._is_widened(values):
                types = {
                    node: {
                        key: self._rounded(one).dtype if one.dtype in DOUBLES else one.dtype
                        for key, one in some.items()
                    }
                    for node, some in values.items()
                }
            every = [one for some in values.values() for one in some.values()]
            has_singles = any(dtype not in DOUBLES for some in types.values() for dtype in some.values())
            if has_singles and all(map(can_inspect, every)):
                del values, every  # double precision needs their memory
                values = double_copy(self).detached_layer_values()
            frozen = FrozenCircuit(self.graph, self.fold_index, self.semiring, self._plan, values, types)
            frozen.call_layer = self.call_layer
            held = self.held_tensors
            return frozen.to(held[0].device) if held else frozen

    # ------------------------------------------------------------------ values of leaves

    @property
    def leaf_names(self) -> Mapping[TensorParameter, str]:
        """The name of every parameter leaf."""
        return self._leaf_names

    @property
    def leaf_slots(self) -> dict[str, tuple[int, int]]:
        """The slot of every parameter leaf by name: position in `tensors`, and row of that tensor."""
        return {self._leaf_names[leaf]: slot for leaf, slot in self._slots.items()}

    def leaf_state(self) -> dict[str, Tensor]:
        """The value of every parameter leaf by name, a copy; the names are the same in every mode of compilation."""
        return {self._leaf_names[leaf]: value.clone() for leaf, value in self.leaf_values().items()}

    def leaf_values(self) -> dict[TensorParameter, Tensor]:
        """The present value of every parameter leaf, as a view without gradient."""
        return {leaf: self.leaf_value(leaf) for leaf in self._slots}

    def leaf_value(self, leaf: TensorParameter) -> Tensor:
        """The present value of a parameter leaf, as a view without gradient."""
        tensor, row = self._slots[leaf]
        return self.tensors[tensor].detach()[row]

    @torch.no_grad()
    def load_leaf_state(self, state: Mapping[str, Tensor]) -> None:
        """Set every leaf to its value in the `leaf_state()` of a circuit compiled in any mode.

        Raises: UnknownNameError if a leaf is missing or unknown; ShapeError; DataTypeError. Nothing is changed then.
        """
        check_type("a state", state, Mapping, "pass the leaf_state() of a circuit")
        present_values = {self._leaf_names[leaf]: value for leaf, value in self.leaf_values().items()}
        odd = sorted(set(present_values) ^ set(state), key=str)
        if odd:
            missing, unknown = [n for n in odd if n in present_values], [n for n in odd if n in state]
            raise UnknownNameError(
                f"the state is of a different circuit: leaves missing {missing[:5]}, unknown {unknown[:5]}; "
                f"pass the leaf_state() of the same symbolic circuit"
            )
        for name, value in state.items():
            present = present_values[name]
            if not isinstance(value, Tensor) or not torch.can_cast(value.dtype, present.dtype):
                found = value.dtype if isinstance(value, Tensor) else type(value).__name__
                raise DataTypeError(f"leaf {name} holds {present.dtype}; the state has {found}")
            if value.shape != present.shape:
                raise ShapeError(f"leaf {name} has shape {tuple(present.shape)}; the state has {tuple(value.shape)}")
        for leaf, (tensor, row) in self._slots.items():
            self.tensors[tensor][row] = state[self._leaf_names[leaf]]

    @torch.no_grad()
    def reset_parameters(self, seed: int) -> None:
        """Draw the first value of every leaf again, by its initializer and the seed; shared leaves change too."""
        for node in parameter_nodes(self.graph):
            if isinstance(node, TorchLeafParameter):
                for leaf, initializer in zip(node.leaves, node.initializers, strict=True):
                    tensor, row = self._slots[leaf]
                    salt = leaf_seed(seed, self._seed_names[leaf])
                    foldwise_initializer_(self.tensors[tensor][row : row + 1], [(initializer, salt)])

    # ------------------------------------------------------------------ parameters

    def layer_values(self) -> LayerValues:
        """For each layer what it prepared from the present parameters, for one evaluation.

        Where values are logarithms, parameters in which an operator's results underflow are computed in double
        precision, and rounded. If weights still underflow, all layers receive double precision.
        """
        found: dict[int, Mapping[str, Tensor]] = {}
        least: list[tuple[PlannedLayer, Tensor]] = []
        for planned in self._plan.layers:
            values: dict[str, Tensor] = {}
            for name, parameter in planned.parameters:
                nodes = self.node_values(parameter)
                values[name] = self.result_of(parameter, nodes)
                for step in parameter.nodes if self.semiring.is_logarithmic else ():
                    if step.op is not None and step.op.may_underflow:
                        part = smallest_part(nodes[step.node])
                        least += [] if part is None else [(planned, part)]
            found[planned.node] = planned.layer.prepare(self.semiring, values) if values else {}
        are_small = are_below_normal([part for _, part in least])
        small = {planned.node: planned for (planned, _), is_small in zip(least, are_small, strict=True) if is_small}
        exact: dict[int, Mapping[str, Tensor]] = {}
        for node, planned in small.items():
            exact[node], types = self._precise_values(planned), found[node]
            found[node] = {key: value.to(types[key].dtype) for key, value in exact[node].items()}
            if any(underflows(value, exact[node][key]) for key, value in found[node].items()):
                return {
                    other.node: exact[other.node] if other.node in exact else self._precise_values(other)
                    for other in self._plan.layers
                }
        return found

    def _precise_values(self, planned: PlannedLayer) -> Mapping[str, Tensor]:
        """Prepare the parameters of a layer in double precision."""
        values = {
            name: in_double_precision(self._parameter(parameter, in_doubles=True))
            for name, parameter in planned.parameters
        }
        return planned.layer.prepare(self.semiring, values) if values else {}

    def parameter_values(
        self, operands: Collection[tuple[int, str]] = (), *, in_doubles: Collection[tuple[int, str]] = ()
    ) -> LayerValues:
        """For each layer the values (F, *shape) of its parameters by name, before the layer prepares them.

        For parameters in `operands`, by layer and name, it is the operand of their `last_operator` instead. Of those in
        `in_doubles`, operators compute in double precision, and integers are in it; what a leaf holds keeps its type.
        """
        return {
            planned.node: {
                name: self._parameter(parameter, pair in operands, pair in in_doubles)
                for name, parameter in planned.parameters
                for pair in [(planned.node, name)]
            }
            for planned in self._plan.layers
        }

    @property
    def parameter_keys(self) -> frozenset[tuple[int, str]]:
        """Every parameter, by layer and name, as `parameter_values` receives them."""
        return frozenset((planned.node, name) for planned in self._plan.layers for name, _ in planned.parameters)

    def last_operator(self, node: int, name: str) -> TorchParameterOp | None:
        """The operator of one operand that a parameter of a layer is the result of; None if there is none.

        The folds of its result may be selected and repeated.
        """
        for planned in self._plan.layers:
            for own, parameter in planned.parameters if planned.node == node else ():
                if own == name:
                    step, result = parameter.nodes[-1], parameter.result
                    is_read = result is None or tuple(result.read.sources) == (step.node,)
                    return step.op if is_read and len(step.reads) == 1 else None
        return None

    def probe(self) -> "ProbedCircuit":
        """A view of this circuit that keeps the values of the nodes of its parameter graphs."""
        return ProbedCircuit(self, self._plan)

    def node_values(
        self, planned: PlannedParameter, operand: bool = False, in_doubles: bool = False
    ) -> dict[int, Tensor]:
        """The value (F, *shape) of each node of a parameter graph, or of the last one the `operand` instead."""
        values: dict[int, Tensor] = {}
        applied = planned.nodes[:-1] if operand else planned.nodes
        is_computed = any(step.op is not None for step in applied)
        for step in planned.nodes:
            if step.op is None:
                read = step.reads[0]
                tensors = [self.tensors[source] for source in read.read.sources]
                value = self._read(read, tensors).squeeze(1)
                if in_doubles and (is_computed or not (value.is_floating_point() or value.is_complex())):
                    value = in_double_precision(value)
                values[step.node] = self._as_number(value)
            else:
                operands = [self._read(r, [values[s] for s in r.read.sources]).squeeze(1) for r in step.reads]
                values[step.node] = operands[0] if operand and step is planned.nodes[-1] else step.op.forward(*operands)
        return values

    def result_of(self, planned: PlannedParameter, values: Mapping[int, Tensor]) -> Tensor:
        """The value (F, *shape) of a parameter graph from its nodes' values."""
        if planned.result is None:
            return values[planned.last]
        return self._read(planned.result, [values[s] for s in planned.result.read.sources]).squeeze(1)

    def _parameter(self, planned: PlannedParameter, operand: bool = False, in_doubles: bool = False) -> Tensor:
        """The value (F, *shape) of a parameter graph, or the `operand` of its last operator."""
        return self.result_of(planned, self.node_values(planned, operand, in_doubles))

    def _as_number(self, value: Tensor) -> Tensor:
        """Integers in the precision of the other leaves: operators and matrix products do not mix types."""
        if value.is_floating_point() or value.is_complex():
            return value
        for tensor in self.tensors:
            if tensor.is_floating_point() or tensor.is_complex():
                return value.to(tensor.real.dtype)
        return value.to(torch.get_default_dtype())


@cache
def _names(count: int) -> tuple[str, ...]:
    """The names of the entries of a `ParameterList`."""
    return tuple(map(str, range(count)))


Evaluated = TypeVar("Evaluated", bound=EvaluatedCircuit)


def double_copy(circuit: Evaluated) -> Evaluated:
    """A copy in double precision. It has its own tensors, and shares the layers and the plan, which never change.

    Its parameters are leaves, whatever `functional_call` has put in their place in the circuit.
    """
    found = copy(circuit)
    found._buffers = {name: None if one is None else one.clone() for name, one in circuit._buffers.items()}
    found._parameters, found._modules = {}, {}
    if isinstance(circuit, TorchCircuit):
        found.tensors = nn.ParameterList(nn.Parameter(one.detach().clone(), False) for one in circuit.tensors)
    return found.double()


class ProbedCircuit(EvaluatedCircuit):
    """A circuit that is evaluated as `circuit` is, for learning from rows with missing values, made by `probe()`.

    Parameters are evaluated in double precision, and rounded once to single precision if rounding loses none of them;
    otherwise all is computed in double precision. Gradients reach the leaves of `circuit`. A variable that is NaN in a
    row is summed or integrated out. `node_values` has, by layer and name of a parameter, the value (F, *shape) of each
    node of its graph in the last evaluation: expectation-maximization differentiates the likelihood by these values.
    `precise` has, by layer, its prepared parameters in double precision.
    """

    def __init__(self, circuit: TorchCircuit, plan: CircuitPlan) -> None:
        super().__init__(circuit.graph, circuit.fold_index, circuit.semiring, plan)
        self.circuit = circuit
        self.node_values: dict[tuple[int, str], dict[int, Tensor]] = {}
        self.precise: LayerValues = {}

    def evaluate_layer(
        self, planned: PlannedLayer, x: Tensor, values: Mapping[int, Tensor], parameters: LayerValues
    ) -> Tensor:
        layer = planned.layer
        if not isinstance(layer, TorchInputLayer) or not layer.num_variables or not x.is_floating_point():
            return super().evaluate_layer(planned, x, values, parameters)
        columns = getattr(self, f"columns_{planned.columns}")
        seen = torch.index_select(x, 1, columns).reshape(len(x), layer.num_folds, layer.num_variables).transpose(0, 1)
        missing = torch.isnan(seen)
        if not bool(missing.any()):
            return super().evaluate_layer(planned, x, values, parameters)
        known = torch.where(missing, layer.placeholder, seen)
        layer.check_input(known)
        return layer.marginal(self.semiring, known, ~missing, parameters[planned.node])

    def layer_values(self) -> LayerValues:
        self.node_values = {
            (planned.node, name): self.circuit.node_values(parameter, in_doubles=True)
            for planned in self._plan.layers
            for name, parameter in planned.parameters
        }
        precise: dict[int, Mapping[str, Tensor]] = {}
        for planned in self._plan.layers:
            values = {
                name: in_double_precision(self.circuit.result_of(parameter, self.node_values[planned.node, name]))
                for name, parameter in planned.parameters
            }
            precise[planned.node] = planned.layer.prepare(self.semiring, values) if values else {}
        self.precise = precise
        if any(one.dtype in DOUBLES for one in self.circuit.tensors):
            return precise
        rounded = {
            node: {key: in_single_precision(value) for key, value in values.items()} for node, values in precise.items()
        }
        is_lost = any(
            loses_digits(key, value, precise[node])
            for node, values in rounded.items()
            for key, value in values.items()
            if value.is_floating_point()
        )
        return precise if is_lost else rounded
