"""The frozen circuit: its parameters are evaluated, and it knows whether rounding has lost one of their values."""

from collections.abc import Iterator, Mapping
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

MAX_ROUNDING = 1e-6
"""Of means, relative to standard deviations, and of probabilities, relative to the rest to 1: more changes a result."""


class FrozenCircuit(EvaluatedCircuit):
    """A circuit whose parameters are evaluated, made by `TorchCircuit.freeze()`: x (B, D) -> (B, outputs, classes).

    What depends on parameters only is in its buffers and hence in its `state_dict()`; it has no parameters.
    `has_lost` says whether rounding has lost something of `layer_values`; None: it is unknown.
    """

    def __init__(
        self,
        graph: Graph[TorchLayer],
        fold_index: FoldIndexInfo | None,
        semiring: Semiring,
        plan: CircuitPlan,
        layer_values: LayerValues,
        has_lost: bool | None,
    ) -> None:
        super().__init__(graph, fold_index, semiring, plan)
        self._names: dict[int, dict[str, str]] = {}
        fresh = count()
        for node, values in layer_values.items():
            self._names[node] = {key: f"value_{next(fresh)}{_ending(key)}" for key in values}
            for key, value in values.items():
                self.register_buffer(self._names[node][key], value.clone())
        self._has_lost = has_lost
        is_known = has_lost or (has_lost is False and self._has_tiny_values())
        self._examined = self._digest() if is_known else ""

    @property
    def may_have_lost(self) -> bool:
        """Whether rounding may have lost something before it came here: then no bound on values of the circuit holds.

        `freeze()` finds out; most of it is underflow, after which a sum of small terms may lack all of them. Of values
        that were loaded or converted later, each tiny one may have underflowed: one that is zero, below the normal
        numbers of its type, or the logarithm of zero.
        """
        if self._examined and self._examined == self._digest():
            return bool(self._has_lost)
        return self._has_tiny_values()

    def layer_values(self) -> LayerValues:
        return {node: {key: getattr(self, name) for key, name in names.items()} for node, names in self._names.items()}

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        super()._load_from_state_dict(*args, **options)
        state_dict, prefix, *_ = args
        if any(prefix + name in state_dict for name in self._buffers):
            self._examined = ""  # equal numbers may have underflowed from others

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_has_lost": None, "_examined": "", **state})  # an older version did not examine them

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
    """Whether rounding of these values has lost what they were computed to in double precision.

    That is a value that is tiny now and was not, the mean of a density that is much narrower than its rounding, and a
    probability near 1 of which the rest is lost. Logarithms near zero are rounded, and nothing is lost.
    """
    return any(
        bool(_lost(key, one, precise[node]).any())
        for node, some in values.items()
        for key, one in some.items()
        if one.is_floating_point()
    )


def _lost(key: str, values: Tensor, precise: Mapping[str, Tensor]) -> Tensor:
    exact = precise[key]
    lost = is_tiny(values) & torch.where(torch.isneginf(values), ~torch.isneginf(exact), exact > 0)
    if key == "mean" and "stddev" in precise:
        lost = lost | ((values - exact).abs() > MAX_ROUNDING * precise["stddev"])
    if key == "probs":
        lost = lost | ((values - exact).abs() > MAX_ROUNDING * (1 - exact))
    return lost


def is_tiny(values: Tensor) -> Tensor:
    """Which values are zero, below the normal numbers of their type, or the logarithm of zero."""
    return (values.abs() < torch.finfo(values.dtype).tiny) | torch.isneginf(values)


def _ending(key: str) -> str:
    """What the name of a buffer ends with. Only logits are named, which binomial layers once had as probabilities.

    So a state that was saved then is refused, and is not read as logits.
    """
    return "_logits" if key.rpartition(".")[2] == "logits" else ""
