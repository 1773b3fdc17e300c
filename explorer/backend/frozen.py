"""The frozen circuit: its parameters are evaluated, and it knows whether one of their values underflowed."""

from collections.abc import Iterator
from hashlib import blake2b
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
    `underflowed` says whether one of `layer_values` is tiny and should not be; None: it is unknown.
    """

    def __init__(
        self,
        graph: Graph[TorchLayer],
        fold_index: FoldIndexInfo | None,
        semiring: Semiring,
        plan: CircuitPlan,
        layer_values: LayerValues,
        underflowed: bool | None,
    ) -> None:
        super().__init__(graph, fold_index, semiring, plan)
        self._names: dict[int, dict[str, str]] = {}
        fresh = count()
        for node, values in layer_values.items():
            self._names[node] = {key: f"value_{next(fresh)}{_ending(key)}" for key in values}
            for key, value in values.items():
                self.register_buffer(self._names[node][key], value.clone())
        known = underflowed is not None and self._has_tiny_values()
        self._underflowed = underflowed
        self._examined = self._digest() if known else ""

    @property
    def may_have_underflowed(self) -> bool:
        """Whether a value may have underflowed before it came here, so that a sum of small terms may lack all of them.

        `freeze()` finds out. Of others, loaded or converted later, each tiny one may have: a value that is zero, below
        the normal numbers of its type, or the logarithm of zero.
        """
        if not self._has_tiny_values():
            return False
        return self._underflowed is not False or self._examined != self._digest()

    def layer_values(self) -> LayerValues:
        return {node: {key: getattr(self, name) for key, name in names.items()} for node, names in self._names.items()}

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        super()._load_from_state_dict(*args, **options)
        state_dict, prefix, *_ = args
        if any(prefix + name in state_dict for name in self._buffers):
            self._examined = ""  # equal numbers may have underflowed from others

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_underflowed": None, "_examined": "", **state})  # an older version did not examine them

    def _values(self) -> Iterator[tuple[str, Tensor]]:
        """The floating-point values that are in memory, by name."""
        for names in self._names.values():
            for name in names.values():
                value = getattr(self, name)
                if value.is_floating_point() and not value.is_meta:
                    yield name, value

    def _has_tiny_values(self) -> bool:
        return any(bool(is_tiny(value).any()) for _, value in self._values())

    def _digest(self) -> str:
        """A digest of all values: that of equal values is equal, on any device."""
        found = blake2b(digest_size=16)
        for name, value in self._values():
            found.update(f"{name} {value.dtype} {tuple(value.shape)} ".encode())
            found.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        return found.hexdigest()


def has_lost(values: LayerValues, precise: LayerValues) -> bool:
    """Whether a value is tiny, and in double precision it is not. Logarithms near zero are rounded: nothing is lost."""
    return any(
        bool(_lost(one, precise[node][key]).any())
        for node, some in values.items()
        for key, one in some.items()
        if one.is_floating_point()
    )


def is_tiny(values: Tensor) -> Tensor:
    """Which values are zero, below the normal numbers of their type, or the logarithm of zero."""
    return (values.abs() < torch.finfo(values.dtype).tiny) | torch.isneginf(values)


def _lost(values: Tensor, precise: Tensor) -> Tensor:
    return is_tiny(values) & torch.where(torch.isneginf(values), ~torch.isneginf(precise), precise > 0)


def _ending(key: str) -> str:
    """What the name of a buffer ends with. Only logits are named, which binomial layers once had as probabilities.

    So a state that was saved then is refused, and is not read as logits.
    """
    return "_logits" if key.rpartition(".")[2] == "logits" else ""
