"""Circuits inside a module that is exported: the paths of their layers, and layers as operators.

With `operators="circuit"` a layer is an operator: `circuit::TorchSumLayer` and so on, one per class of compiled layers.
It is composite: it is evaluated, differentiated, mapped and compiled as the operators of PyTorch that the `forward` of
the layer calls. To open it in a graph, run the pass `DecomposeLayers`.
"""

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import OpOverload

from explorer.backend import EvaluatedCircuit, TorchLayer
from explorer.backend.semiring import Semiring
from explorer.errors import UnknownNameError
from explorer.graph import config_of, field_names, nested_of
from explorer.graph.graph import value_text
from explorer.trace import LAYER


def replace_circuits(module: nn.Module, change: Callable[[EvaluatedCircuit], EvaluatedCircuit]) -> nn.Module:
    """Replace each circuit in a module by `change`; parameters and buffers stay the same."""
    if isinstance(module, EvaluatedCircuit):
        return change(module)
    children = {name: replace_circuits(child, change) for name, child in module.named_children()}
    if all(children[name] is child for name, child in module.named_children()):
        return module
    copied = copy.copy(module)
    copied._modules = {**module._modules, **children}
    return copied


def with_named_layers(module: nn.Module) -> nn.Module:
    """Return a module that exports operators with the path of the layer that they evaluate: `layer.12` in a circuit.

    Operators that evaluate parameters, before all layers, have no such path.
    """
    return replace_circuits(module, _name_layers)


class _Layer(nn.Module):
    """Evaluates a layer under the path of this module."""

    def forward(self, evaluate: Callable[[], Tensor]) -> Tensor:
        return evaluate()


def _name_layers(circuit: EvaluatedCircuit) -> EvaluatedCircuit:
    copied = copy.copy(circuit)
    paths = nn.Module()
    for node in circuit.graph.nodes:
        paths.add_module(str(node), _Layer())
    copied._modules = {**circuit._modules, LAYER: paths}
    evaluate: Callable[..., Tensor] = partial(type(circuit).evaluate_layer, copied)

    def evaluate_named(planned: Any, x: Tensor, values: Mapping[int, Tensor], parameters: Any) -> Tensor:
        return paths.get_submodule(str(planned.node))(partial(evaluate, planned, x, values, parameters))

    copied.evaluate_layer = evaluate_named
    return copied


NAMESPACE = "circuit"
SCHEMA = "(Tensor x, Tensor[] parameters, str layer) -> Tensor"
_LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")


@dataclass(frozen=True, slots=True, eq=False)
class _Whole:
    """The data of an operator in addition to tensors: layer, semiring, names of prepared parameters."""

    layer: TorchLayer
    semiring: Semiring
    names: tuple[str, ...]

    def computes_as(self, other: "_Whole") -> bool:
        """Return whether both return the same for the same tensors."""
        mine, theirs = (self.semiring, self.names), (other.semiring, other.names)
        return mine == theirs and _equal(self.layer, other.layer)


_known: dict[str, _Whole] = {}
"""The layers by the names that operators call them; the same circuit has the same names in every process."""
_lock = Lock()


def with_whole_layers(module: nn.Module) -> nn.Module:
    """Return a module with the same parameters and buffers, in which each layer of a circuit is one operator."""
    return replace_circuits(module, _make_whole)


def _make_whole(circuit: EvaluatedCircuit) -> EvaluatedCircuit:
    copied = copy.copy(circuit)
    copied.call_layer = call_layer
    return copied


def call_layer(layer: TorchLayer, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
    """Call `layer.forward` as one operator."""
    operator, name = operator_of(layer, semiring, tuple(parameters))
    return operator(x, list(parameters.values()), name)


def operator_of(layer: TorchLayer, semiring: Semiring, parameters: tuple[str, ...]) -> tuple[OpOverload, str]:
    """Return the operator of a layer with these prepared parameters, and its argument `layer`."""
    return _operator(type(layer)), _name_of(_Whole(layer, semiring, parameters))


def _operator(kind: type[TorchLayer]) -> OpOverload:
    """Return the operator of a class of layers, defined at its first use."""
    name = re.sub(r"\W", "_", kind.__name__)
    with _lock:
        if not hasattr(getattr(torch.ops, NAMESPACE), name):
            _LIBRARY.define(name + SCHEMA)
            for key in ("CompositeImplicitAutograd", "FuncTorchBatchedDecomposition"):  # the latter is `vmap`
                _LIBRARY.impl(name, forward_layer, key)
    return getattr(getattr(torch.ops, NAMESPACE), name).default


def forward_layer(x: Tensor, parameters: Sequence[Tensor], layer: str) -> Tensor:
    """Compute the operator of a layer with PyTorch's operators. Raises: UnknownNameError."""
    if layer not in _known:
        raise UnknownNameError(
            f"no layer {layer!r} was exported in this process; export its circuit first, with operators='circuit'"
        )
    whole = _known[layer]
    result = whole.layer.forward(whole.semiring, x, dict(zip(whole.names, parameters, strict=True)))
    # The schema promises that the result has memory of its own.
    return result.clone() if whole.layer.may_return_view else result


def _name_of(whole: _Whole) -> str:
    """Name a layer by its configuration, followed by a number if another layer has that name."""
    title = _title(whole.layer)
    with _lock:
        for number in range(1, len(_known) + 2):
            name = f"{title}, {whole.semiring.name}" + (f" #{number}" if number > 1 else "")
            if _known.setdefault(name, whole).computes_as(whole):
                return name
    raise AssertionError("there are more names than layers")


def _title(layer: TorchLayer) -> str:
    parts = [f"{name}={value_text(value)}" for name, value in config_of(layer).items() if value is not None]
    parts += [f"{name}={type(nested).__name__}({_title(nested)})" for name, nested in nested_of(layer).items()]
    return ", ".join([f"{layer.num_folds} folds", *parts])


def _equal(one: TorchLayer, other: TorchLayer) -> bool:
    """Return whether two layers are of one class and equal in everything but their parameters."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    names = [name for role in ("config", "scope", "folds") for name in field_names(type(one), role)]
    mine, theirs = nested_of(one), nested_of(other)
    return (
        all(_same_value(getattr(one, name), getattr(other, name)) for name in names)
        and mine.keys() == theirs.keys()
        and all(_equal(nested, theirs[name]) for name, nested in mine.items())
    )


def _same_value(one: Any, other: Any) -> bool:
    """Return whether two values of one type are equal; arrays are only if they are one object."""
    return one is other or (type(one) is type(other) and (one == other) is True)
