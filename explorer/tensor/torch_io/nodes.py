"""Reads the operator calls of an fx graph of ATen operators as applications."""

import operator
from functools import cache
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from explorer.errors import ExportError, OperatorError
from explorer.tensor.ir.aliasing import shared_inputs
from explorer.tensor.ir.ops import make_apply
from explorer.tensor.ir.quantized import name_quantization
from explorer.tensor.ir.schemas import flat_results, nested_results
from explorer.tensor.ir.types import TensorType, ValueType, type_of
from explorer.tensor.ir.variables import SourceLocation


class NodeReader:
    """Applies the operators of an fx graph; `values` has the value of each node, inputs first."""

    def __init__(self) -> None:
        self.values: dict[fx.Node, Any] = {}
        self._draws = 0

    def read(self, node: fx.Node) -> None:
        """Apply the operator of a node. Raises: ExportError, with the source line."""
        self.values[node] = self._apply(node)

    def mapped(self, value: Any) -> Any:
        """Return an argument with values in place of nodes."""
        if isinstance(value, fx.Node):
            return self.values[value]
        if isinstance(value, list | tuple):
            return [self.mapped(item) for item in value]
        if isinstance(value, dict):
            return {key: self.mapped(item) for key, item in value.items()}
        return value

    def _apply(self, node: fx.Node) -> Any:
        target = node.target
        if target is not operator.getitem and not isinstance(target, OpOverload):
            raise ExportError(
                f"{getattr(target, '__name__', target)} ({node.name}) is not an operator on tensors{where(node)}; "
                "export with fixed shapes and without control flow"
            )
        args, kwargs = self.mapped(node.args), self.mapped(node.kwargs)
        if not isinstance(target, OpOverload):
            return args[0][args[1]]
        static_type(node)
        try:
            name_quantization(target, args, kwargs)
            made = make_apply(target, args, kwargs, _location(node), _result_types(node))
            results = nested_results(target, made.outputs)
        except OperatorError as error:
            raise ExportError(f"{error} ({node.name}){where(node)}") from error
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
            raise ExportError(
                f"expected a dense tensor as the result of {made.op.name}, got {value.layout}{where(node)}"
            )
        if _may_depend_on_data(target):
            try:
                shared_inputs(made)
            except OperatorError as error:
                raise ExportError(f"{error}{where(node)}") from error
        if made.op.is_random:
            made.draw = self._draws = self._draws + 1
        return results


@cache
def _may_depend_on_data(target: OpOverload) -> bool:
    """Return whether an operator may need the numbers of its inputs, even if the shapes of an export are fixed."""
    if torch.Tag.dynamic_output_shape in target.tags or torch.Tag.data_dependent_output in target.tags:
        return True
    return torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), "CompositeImplicitAutograd")


def static_type(node: fx.Node) -> TensorType:
    """Return the type of the values of a node. Raises: ExportError if a shape is not fixed."""
    values = node.meta.get("val")
    for value in values if isinstance(values, list | tuple) else [values]:
        if isinstance(value, torch.Tensor) and any(not isinstance(size, int) for size in value.shape):
            raise ExportError(
                f"the shape of {node.name} is not fixed: {tuple(value.shape)}{where(node)}; export without dynamic "
                "shapes and without operators whose result's shape depends on the data"
            )
    kind = type_of(values)
    return kind if isinstance(kind, TensorType) else TensorType(torch.float32, ())


def where(node: fx.Node) -> str:
    """Return the source line of a node, as the end of a message; empty if it is unknown."""
    line = _location(node).line
    return f" at {line}" if line else ""


def _result_types(node: fx.Node) -> list[ValueType] | None:
    """Return the types that the export inferred, or None; to infer them again would take a quarter of an import."""
    results = flat_results(node.meta.get("val"))
    return list(map(type_of, results)) if all(isinstance(value, torch.Tensor) for value in results) else None


def _location(node: fx.Node) -> SourceLocation:
    stack = node.meta.get("stack_trace") or ""
    modules = node.meta.get("nn_module_stack") or {}
    paths = [entry[0] for entry in modules.values()]
    return SourceLocation(stack, paths[-1].removeprefix("L['self'].") if paths else "")
