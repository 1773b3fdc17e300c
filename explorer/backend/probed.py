"""A circuit as learning reads it: with the values of all parameter nodes, and rows in which values are missing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from explorer.backend.evaluation import EvaluatedCircuit, LayerValues
from explorer.backend.frozen import loses_digits
from explorer.backend.layers import TorchInputLayer
from explorer.backend.numeric import DOUBLES, in_double_precision, in_single_precision
from explorer.backend.plan import CircuitPlan, PlannedLayer

if TYPE_CHECKING:
    from explorer.backend.circuit import TorchCircuit


class ProbedCircuit(EvaluatedCircuit):
    """A circuit that is evaluated as `circuit` is, for learning from rows with missing values, made by `probe()`.

    Parameters are evaluated in double precision, and rounded once to single precision if rounding loses none of them;
    otherwise all is computed in double precision. Gradients reach the leaves of `circuit`. A variable that is NaN in a
    row is summed or integrated out. `node_values` has, by layer and name of a parameter, the value (F, *shape) of each
    node of its graph in the last evaluation: expectation-maximization differentiates the likelihood by these values.
    """

    def __init__(self, circuit: "TorchCircuit", plan: CircuitPlan) -> None:
        super().__init__(circuit.graph, circuit.fold_index, circuit.semiring, plan)
        self.circuit = circuit
        self.node_values: dict[tuple[int, str], dict[int, Tensor]] = {}

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
