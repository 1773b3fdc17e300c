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
from explorer.backend.plan import CircuitPlan, all_parameters
from explorer.backend.semiring import Semiring
from explorer.graph import Graph

WELL_CONDITIONED = ("weight", "rows", "table", "value", "constant", "logits", "stddev")
"""Values whose last digits change a result no more than their own: not coefficients, nor probabilities near 1."""

MAX_ROUNDING = 1e-6
"""Of means, relative to standard deviations: more changes a result."""


class FrozenCircuit(EvaluatedCircuit):
    """A circuit whose parameters are evaluated, made by `TorchCircuit.freeze()`: x (B, D) -> (B, outputs, classes).

    What depends on parameters only is in its buffers and hence in its `state_dict()`; it has no parameters.
    `has_lost_digits` is what the function of this name says of `layer_values`; None: it is unknown.
    """

    def __init__(
        self,
        graph: Graph[TorchLayer],
        fold_index: FoldIndexInfo | None,
        semiring: Semiring,
        plan: CircuitPlan,
        layer_values: LayerValues,
        has_lost_digits: bool | None,
    ) -> None:
        super().__init__(graph, fold_index, semiring, plan)
        self._names: dict[int, dict[str, str]] = {}
        fresh = count()
        for node, values in layer_values.items():
            self._names[node] = {key: f"value_{next(fresh)}{_ending(key)}" for key in values}
            for key, value in values.items():
                self.register_buffer(self._names[node][key], value.clone())
        self._has_lost_digits = has_lost_digits
        is_known = has_lost_digits or (has_lost_digits is False and self._may_lack_digits())
        self._examined = self._digest() if is_known else ""

    @property
    def may_have_lost_digits(self) -> bool:
        """Whether rounding may have lost digits of values before they came here: then no bound on results holds.

        `freeze()` finds out; most of it is underflow, after which a sum of small terms may lack all of them. Of values
        that were loaded or converted later nothing is known: one may have underflowed if it is zero, below the normal
        numbers of its type, or the logarithm of zero; and last digits that count may lack where operators compute it.
        """
        if self._examined and self._examined == self._digest():
            return bool(self._has_lost_digits)
        return self._may_lack_digits()

    def layer_values(self) -> LayerValues:
        return {node: {key: getattr(self, name) for key, name in names.items()} for node, names in self._names.items()}

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        super()._load_from_state_dict(*args, **options)
        state_dict, prefix, *_ = args
        if any(prefix + name in state_dict for name in self._buffers):
            self._examined = ""  # equal numbers may have underflowed from others

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of the values of an older version, which did not examine them so, nothing is known."""
        unknown = {} if "_has_lost_digits" in state else {"_has_lost_digits": None, "_examined": ""}
        super().__setstate__({**state, **unknown})

    def _values(self) -> Iterator[tuple[str, Tensor]]:
        """The floating-point values that are in memory, by name."""
        for names in self._names.values():
            for name in names.values():
                value = getattr(self, name)
                if value.is_floating_point() and not value.is_meta:
                    yield name, value

    def _may_lack_digits(self) -> bool:
        if any(bool(is_tiny(value).any()) for _, value in self._values()):
            return True
        layers = self.graph.nodes
        return any(
            _may_be_rounded(layers[node], values)
            for node, values in self.layer_values().items()
            if not _on_meta(values)
        )

    def _digest(self) -> str:
        """A digest of all values: that of equal values is equal, on any device."""
        found = blake2b(digest_size=16)
        for name, value in self._values():
            found.update(f"{name} {value.dtype} {tuple(value.shape)} ".encode())
            found.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        return found.hexdigest()


def has_lost_digits(values: LayerValues, precise: LayerValues) -> bool:
    """Whether rounding of these values has lost what they were computed to in double precision.

    That is a value that underflows or overflows, and the last digits of one that is not in `WELL_CONDITIONED`; those of
    a mean count where its density is narrow. Logarithms near zero are rounded, and nothing is lost.
    """
    return any(
        bool(_lost(key, one, precise[node]).any())
        for node, some in values.items()
        for key, one in some.items()
        if one.is_floating_point()
    )


def _lost(key: str, values: Tensor, precise: Mapping[str, Tensor]) -> Tensor:
    exact = precise[key]
    lost = (is_tiny(values) & (exact > 0)) | (values.isinf() & ~exact.isinf())
    if key == "mean" and "stddev" in precise:
        return lost | ((values - exact).abs() > MAX_ROUNDING * precise["stddev"])
    return lost if key.rpartition(".")[2] in WELL_CONDITIONED else lost | (values != exact)


def _may_be_rounded(layer: TorchLayer, values: Mapping[str, Tensor]) -> bool:
    """Whether a parameter of a layer is computed, not well-conditioned, and has last digits that count."""
    for key, parameter in all_parameters(layer).items():
        part, dot, name = key.rpartition(".")
        if key not in values or name in WELL_CONDITIONED or parameter.is_stored:
            continue
        stddev = values.get(f"{part}{dot}stddev")
        if name != "mean" or stddev is None:
            return True
        mean = values[key]
        if bool((mean.abs() * torch.finfo(mean.dtype).eps / 2 > MAX_ROUNDING * stddev).any()):
            return True
    return False


def _on_meta(values: Mapping[str, Tensor]) -> bool:
    return any(value.is_meta for value in values.values())


def is_tiny(values: Tensor) -> Tensor:
    """Which values are zero, below the normal numbers of their type, or the logarithm of zero."""
    return (values.abs() < torch.finfo(values.dtype).tiny) | torch.isneginf(values)


def _ending(key: str) -> str:
    """What the name of a buffer ends with. Only logits are named, which binomial layers once had as probabilities.

    So a state that was saved then is refused, and is not read as logits.
    """
    return "_logits" if key.rpartition(".")[2] == "logits" else ""
