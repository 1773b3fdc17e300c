"""The frozen circuit: its parameters are evaluated, and no digits that count are lost when they are rounded."""

import math
from collections.abc import Callable, Mapping
from itertools import count
from operator import is_
from typing import Any, Self

import torch
from torch import Tensor

from explorer.backend.addressing import FoldIndexInfo
from explorer.backend.evaluation import EvaluatedCircuit, LayerValues, apply_to_parts
from explorer.backend.layers import TorchLayer
from explorer.backend.numeric import can_inspect, in_double_precision
from explorer.backend.plan import CircuitPlan
from explorer.backend.semiring import Semiring
from explorer.graph import Graph

ValueTypes = Mapping[int, Mapping[str, torch.dtype]]
"""For each layer the types of the tensors by name that its `forward` receives."""


class FrozenCircuit(EvaluatedCircuit):
    """A circuit with evaluated parameters, made by `TorchCircuit.freeze()`: x (B, D) -> (B, outputs, classes).

    What depends on parameters only is in its buffers and hence in its `state_dict()`; it has no parameters.

    A tensor is rounded to the type of the circuit if that loses nothing that counts; otherwise it is kept as it came,
    and rounded for each call; if weights would underflow then, layers receive double precision. Where numbers are
    negative or complex, terms may cancel, and all are kept. Tensors come from `freeze()` in double precision, from a
    state, or from this circuit when its type is changed. So whoever evaluates in double precision, such as `fast()`,
    finds what was there before an underflow. What was rounded elsewhere is what it is now.
    """

    def __init__(
        self,
        graph: Graph[TorchLayer],
        fold_index: FoldIndexInfo | None,
        semiring: Semiring,
        plan: CircuitPlan,
        values: LayerValues,
        types: ValueTypes,
    ) -> None:
        super().__init__(graph, fold_index, semiring, plan)
        self._names: dict[int, dict[str, str]] = {}
        self._asked: tuple[list[Tensor], list[int], bool] | None = None
        """The tensors that are kept in double precision, their versions, and whether weights would underflow."""
        self._types: dict[str, torch.dtype] = {}
        """The types in which layers receive real and complex numbers, by the names of their buffers."""
        fresh = count()
        for node, some in values.items():
            names = self._names[node] = {key: f"value_{next(fresh)}{_ending(key)}" for key in some}
            for key, value in some.items():
                is_number = value.is_floating_point() or value.is_complex()
                self.register_buffer(names[key], value.clone() if is_number else value.to(types[node][key], copy=True))
                if is_number:
                    self._types[names[key]] = types[node][key]
        self._round(self._held())

    @property
    def number_types(self) -> set[torch.dtype]:
        return set(self._types.values())

    def layer_values(self) -> LayerValues:
        held = self._held()
        found = {
            node: {key: value.to(self._types.get(self._names[node][key], value.dtype)) for key, value in values.items()}
            for node, values in held.items()
        }
        if torch.compiler.is_compiling() or not self.semiring.is_logarithmic or not self._underflow(held, found):
            return found
        numbers = {
            node: {
                key: in_double_precision(value)
                for key, value in values.items()
                if self._names[node][key] in self._types
            }
            for node, values in held.items()
        }
        return {node: {**found[node], **values} for node, values in numbers.items()}

    def _underflow(self, held: LayerValues, rounded: LayerValues) -> bool:
        """Whether weights would underflow if all values were rounded; asked again when what is kept has changed."""
        pairs = [
            (value, held[node][key])
            for node, values in rounded.items()
            for key, value in values.items()
            if value.dtype != held[node][key].dtype
        ]
        kept = [one for _, one in pairs]
        if any(one.is_inference() for one in kept):  # these have no version
            return any(underflows(*pair) for pair in pairs)
        versions = [one._version for one in kept]
        if self._asked is None or self._asked[1] != versions or not all(map(is_, self._asked[0], kept)):
            if not all(can_inspect(value) for value, _ in pairs):  # in a captured graph; a later call can ask
                return False
            self._asked = kept, versions, any(underflows(*pair) for pair in pairs)
        return self._asked[2]

    def _held(self) -> dict[int, dict[str, Tensor]]:
        return {node: {key: getattr(self, name) for key, name in names.items()} for node, names in self._names.items()}

    def _round(self, every: LayerValues) -> None:
        """Keep values of layers in their types, or as they are if that would lose digits that count."""
        pairs = [(key, value) for values in every.values() for key, value in values.items()]
        can_round = not any(can_inspect(value) and may_cancel(key, value, self.semiring) for key, value in pairs)
        for node, values in every.items():
            for key, name in self._names[node].items():
                if name in self._types and values[key].dtype != self._types[name]:
                    rounded = values[key].to(self._types[name])
                    loses = can_inspect(rounded) and not (can_round and not loses_digits(key, rounded, values))
                    self._buffers[name] = values[key] if loses else rounded

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        before = self._held()
        super()._apply(fn, recurse)
        types = {
            one: apply_to_parts(fn, torch.empty(0, dtype=one)).dtype for one in dict.fromkeys(self._types.values())
        }
        self._types = {name: types[dtype] for name, dtype in self._types.items()}
        now = self._held()
        pairs = [(value, now[node][key]) for node, values in before.items() for key, value in values.items()]
        if any(value.dtype != present.dtype for value, present in pairs):
            self._round(
                {
                    node: {key: value.to(now[node][key].device) for key, value in values.items()}
                    for node, values in before.items()
                }
            )
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**state, "_asked": None})

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        """Copy a state without rounding it first; tensors that are assigned stay what they are."""
        state, prefix, metadata, *_ = args
        given = {name: state[prefix + name] for name in self._types if isinstance(state.get(prefix + name), Tensor)}
        for name, value in given.items():
            held = getattr(self, name)
            if value.is_complex() and not held.is_complex():
                continue
            self._buffers[name] = held.to(torch.promote_types(held.dtype, value.dtype))
        super()._load_from_state_dict(*args, **options)
        if given and not metadata.get("assign_to_params_buffers"):
            self._round(self._held())


def _ending(key: str) -> str:
    """Suffix of a buffer's name. Logits get one, so that states that stored probabilities are refused."""
    return "_logits" if key.rpartition(".")[2] == "logits" else ""


WELL_CONDITIONED = ("weight", "rows", "table", "value", "constant", "logits", "stddev")
"""Values that may be rounded: their last digits change only the last digits of a result, unless terms cancel. Not
coefficients, nor probabilities near 1."""

SIGN_FREE = ("mean", "stddev", "constant", "logits")
"""Values that may be negative in layers of positive units."""

MAX_ROUNDING = 1e-6
"""Largest rounding error of a mean that is accepted, in standard deviations."""


def may_cancel(key: str, value: Tensor, semiring: Semiring) -> bool:
    """Whether a value of a layer shows that terms of the circuit may cancel: numbers below zero, or complex ones.

    All digits of all values then count, as in the square of a circuit with negative weights where it is near zero.
    Polynomials may be negative anywhere.
    """
    name = key.rpartition(".")[2]
    if name == "coeff":
        return True
    if value.is_complex() and bool(value.imag.any()):
        return True
    is_logarithm = semiring.is_logarithmic and name in ("rows", "table", "value")
    if is_logarithm or name in SIGN_FREE or not (value.is_floating_point() or value.is_complex()):
        return False
    return bool((value.real < 0).any())


def loses_digits(key: str, rounded: Tensor, values: Mapping[str, Tensor]) -> bool:
    """Whether a value of a layer has lost digits that count when it was rounded.

    That is so if an entry underflows or overflows, and if another one differs and the value is not in
    `WELL_CONDITIONED`; of a mean, where its density is narrow. Logarithms near zero are rounded, and nothing is lost.
    """
    exact = values[key]
    if key == "mean" and "stddev" in values:
        if bool(((rounded - exact).abs() > MAX_ROUNDING * values["stddev"]).any()):
            return True
    elif key.rpartition(".")[2] not in WELL_CONDITIONED and bool((rounded != exact).any()):
        return True
    if not rounded.numel():
        return False
    low, high = torch.aminmax(rounded.abs())
    tiny = torch.finfo(rounded.dtype).tiny
    if low >= tiny and high < math.inf:  # all are normal numbers, as most parameters are
        return False
    return bool((((rounded.abs() < tiny) & (exact.real > 0)) | (rounded.isinf() & ~exact.isinf())).any())


def underflows(rounded: Tensor, exact: Tensor) -> bool:
    """Whether a real or imaginary part that is not zero has become smaller than all normal numbers.

    Logarithms and means are judged like weights: few are so near to zero, and then double precision does no harm.
    """
    if rounded.dtype == exact.dtype or not can_inspect(rounded):
        return False
    rounded, exact = (torch.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in (rounded, exact))
    return bool(((rounded.abs() < torch.finfo(rounded.dtype).tiny) & (exact != 0)).any())
