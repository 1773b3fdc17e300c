"""The frozen circuit: its parameters are evaluated, and it knows which of their values may have underflowed."""

from itertools import count
from typing import Any

import torch
from torch import Tensor

from explorer.backend.addressing import FoldIndexInfo
from explorer.backend.evaluation import EvaluatedCircuit, LayerValues
from explorer.backend.layers import TorchLayer
from explorer.backend.plan import CircuitPlan
from explorer.backend.semiring import Semiring
from explorer.graph import Graph


class FrozenCircuit(EvaluatedCircuit):
    """A circuit whose parameters are evaluated, made by `TorchCircuit.freeze()`: x (B, D) -> (B, outputs, classes).

    What depends on parameters only is in its buffers and hence in its `state_dict()`; it has no parameters.
    """

    def __init__(
        self,
        graph: Graph[TorchLayer],
        fold_index: FoldIndexInfo | None,
        semiring: Semiring,
        plan: CircuitPlan,
        layer_values: LayerValues,
        truly_tiny: LayerValues,
    ) -> None:
        super().__init__(graph, fold_index, semiring, plan)
        self._names: dict[int, dict[str, str]] = {}
        self._truly_tiny: dict[str, Tensor] = {}
        fresh = count()
        for node, values in layer_values.items():
            self._names[node] = {key: f"value_{next(fresh)}{_ending(key)}" for key in values}
            for key, value in values.items():
                self.register_buffer(self._names[node][key], value.clone())
            for key, mask in truly_tiny.get(node, {}).items():
                self._truly_tiny[self._names[node][key]] = mask.cpu()

    @property
    def may_have_underflowed(self) -> bool:
        """Whether a value may have underflowed before it came here, so that a sum of small terms may lack all of them.

        That is a value that is zero, below the normal numbers of its type, or the logarithm of zero, unless `freeze()`
        found that it has to be. Of values that were loaded or converted later nothing is known.
        """
        for name, values in self.named_buffers(recurse=False):
            tiny = is_tiny(values)
            if name in self._truly_tiny:
                tiny = tiny & ~self._truly_tiny[name].to(values.device)
            if not values.is_meta and bool(tiny.any()):
                return True
        return False

    def layer_values(self) -> LayerValues:
        return {node: {key: getattr(self, name) for key, name in names.items()} for node, names in self._names.items()}

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._truly_tiny = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_truly_tiny": {}, **state})  # a circuit saved by an older version has none


def truly_tiny(values: LayerValues, precise: LayerValues) -> LayerValues:
    """Which of the tiny values are as tiny in `precise`, the same in double precision: masks, where there are any.

    Logarithms near zero have not underflowed: they are rounded.
    """
    return {
        node: {key: ~_lost(one, precise[node][key]) for key, one in some.items() if bool(is_tiny(one).any())}
        for node, some in values.items()
    }


def is_tiny(values: Tensor) -> Tensor:
    """Which values are zero, below the normal numbers of their type, or the logarithm of zero."""
    if not values.is_floating_point():
        return torch.zeros((), dtype=torch.bool, device=values.device)
    return (values.abs() < torch.finfo(values.dtype).tiny) | torch.isneginf(values)


def _lost(values: Tensor, precise: Tensor) -> Tensor:
    tiny = (precise != 0) & (precise.abs() < torch.finfo(torch.float32).tiny)
    return torch.where(torch.isneginf(values), ~torch.isneginf(precise), tiny) & is_tiny(values)


def _ending(key: str) -> str:
    """What the name of a buffer ends with. Only logits are named, which binomial layers once had as probabilities.

    So a state that was saved then is refused, and is not read as logits.
    """
    return "_logits" if key.rpartition(".")[2] == "logits" else ""
