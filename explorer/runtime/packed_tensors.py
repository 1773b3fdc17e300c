"""Packed numbers as tensors of groups of kernel calls of one shape, on the device of the circuit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchTensorDotLayer
from explorer.runtime.constants import Constants
from explorer.runtime.plan import WEIGHTED, Kind, layer_of, num_states


@dataclass(frozen=True, eq=False)
class Tables:
    """All tables of one width, one below the other: rows (R, width), their scales (R), and their bounds (R)."""

    rows: Tensor
    scales: Tensor
    bounds: Tensor


@dataclass(frozen=True, eq=False)
class PackedTensors:
    """The part that depends on parameters: numbers and bounds of each group, and tables by width.

    `numbers` are weights (G, H*I, O) of a group of sums, (G, H, K) of mixtures, (G, J, P) of partial products;
    for densities (C, G, 1, K) of means and factors and the sums (G, 1, K) of constants.
    """

    numbers: tuple[tuple[Tensor, ...], ...]
    tables: tuple[Tables, ...]

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them in order."""
        of_tables = [part for one in self.tables for part in (one.rows, one.scales, one.bounds)]
        return (*(tensor for numbers in self.numbers for tensor in numbers), *of_tables)

    def with_tensors(self, tensors: Sequence[Tensor]) -> "PackedTensors":
        """The same with other tensors, in the order of `tensors`."""
        given = iter(tensors)
        numbers = tuple(tuple(next(given) for _ in some) for some in self.numbers)
        return PackedTensors(numbers, tuple(Tables(next(given), next(given), next(given)) for _ in self.tables))


class CallGroup(Protocol):
    """A group of kernel calls of one shape."""

    @property
    def kind(self) -> Kind: ...
    @property
    def width(self) -> int: ...
    @property
    def members(self) -> tuple[int, ...]: ...
    @property
    def terms(self) -> int: ...
    @property
    def in_width(self) -> int: ...
    @property
    def variables(self) -> tuple[tuple[int, ...], ...]: ...


def make_packed_tensors(
    circuit: EvaluatedCircuit,
    constants: Constants,
    groups: Sequence[CallGroup],
    tables_read: Mapping[int, Sequence[int]],
    device: torch.device,
) -> PackedTensors:
    """The packed constants of groups and of the tables that they read as tensors; vectors have one lane."""
    numbers = tuple(tuple(one.to(device) for one in _numbers(circuit, constants, group)) for group in groups)
    tables: list[Tables] = []
    for width, reads in tables_read.items():
        distinct = tuple(dict.fromkeys(reads))
        rows, scales, bounds = [], [], []
        for number in distinct:
            offsets, states = constants.offsets[number], num_states(circuit, constants.plan, number)
            rows.append(constants.floats[offsets.values : offsets.values + states * width])
            bounds.append(constants.floats[offsets.bounds : offsets.bounds + states])
            scales.append(constants.doubles[offsets.scales : offsets.scales + states])
        found = (torch.cat(rows).view(-1, width), torch.cat(scales), torch.cat(bounds))
        tables.append(Tables(*(one.to(device) for one in found)))
    return PackedTensors(numbers, tuple(tables))


def _numbers(circuit: EvaluatedCircuit, constants: Constants, group: CallGroup) -> list[Tensor]:
    known = [constants.offsets.get(number) for number in group.members]

    def rows(starts: Sequence[int], count: int) -> Tensor:
        return torch.stack([constants.floats[start : start + count] for start in starts])

    starts = [one.values for one in known if one is not None]
    if group.kind is Kind.GAUSSIAN:
        count = len(group.variables)
        packed = rows(starts, count * 3 * group.width).view(len(starts), count, 3, 1, group.width)
        mean, factor, constant = packed.transpose(0, 1).unbind(2)  # (C, G, 1, K)
        return [mean.contiguous(), factor.contiguous(), constant.double().sum(0).float()]
    if group.kind not in WEIGHTED:
        return []
    norms = rows([one.bounds for one in known if one is not None], group.terms).unsqueeze(2)
    if group.kind is Kind.MIXING:
        return [rows(starts, group.terms * group.width).view(-1, group.terms, group.width), norms]
    if group.kind is Kind.TENSOR_DOT:
        call = constants.plan.calls[group.members[0]]
        layer = layer_of(circuit, call.sources[0])
        assert isinstance(layer, TorchTensorDotLayer)
        outputs, summands = layer.weight.shape
        return [rows(starts, outputs * summands).view(-1, summands, outputs), norms]
    summands = group.terms * group.in_width
    return [rows(starts, summands * group.width).view(-1, summands, group.width), norms]
