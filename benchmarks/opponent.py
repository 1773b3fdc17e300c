"""The strongest opponent: a circuit as an expert writes it by hand in PyTorch, in the logarithmic domain, for Inductor.

Its parameters are evaluated once. Folds are laid out so that inputs are views of what was computed before
(`opponent_layout`), tables of categorical layers have contiguous rows [F, V, K], and a level of sums is a maximum, an
`exp`, a batched matrix product and a `log`. It uses nothing of `explorer.runtime`. Inductor's own matrix products
(`max_autotune` with `freezing`) were tried and are not faster: it chooses the library's.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add

import torch
from torch import Tensor, nn

from benchmarks.opponent_layout import Piece, plan_layout
from explorer.backend import (
    FrozenCircuit,
    TorchCategoricalLayer,
    TorchCPTLayer,
    TorchGaussianLayer,
    TorchHadamardLayer,
    TorchInputLayer,
    TorchLayer,
    TorchMixingLayer,
    TorchSumLayer,
    TorchTuckerLayer,
)
from explorer.errors import LoweringError

SMALLEST = torch.finfo(torch.float32).min


class HandWrittenCircuit(nn.Module):
    """Maps x (B, D) to log-likelihoods (B, 1, classes); made of a folded circuit, whose values it copies.

    Raises: LoweringError for a layer that image circuits do not have, with its type.
    """

    def __init__(self, circuit: FrozenCircuit) -> None:
        super().__init__()
        layout = plan_layout(circuit)
        levels: list[nn.Module] = []
        for (node, layer), values in zip(circuit.graph.nodes.items(), circuit.layer_values().values(), strict=True):
            order = layout.order[node]
            ordered = {name: value[list(order)] for name, value in values.items()}
            if isinstance(layer, TorchInputLayer):
                columns = torch.tensor([layer.scope_idx[fold][0] for fold in order])
                levels.append(_input_level(layer, columns, ordered))
            else:
                levels.append(_Level(*_level_of(layer, ordered), layout.pieces[node]))
        self.levels = nn.ModuleList(levels)

    def forward(self, x: Tensor) -> Tensor:
        """The log-likelihoods (B, 1, classes) of x (B, D)."""
        columns = x.t().contiguous()
        values: list[Tensor] = []
        for level in self.levels:
            values.append(level(columns, values))
        return values[-1].transpose(0, 1)


Compute = Callable[[Sequence[Tensor], Tensor], Tensor]
"""What a level computes: (each argument (F, B, I), weights (F, ...)) -> (F, B, O)."""


class _Level(nn.Module):
    """Equal layers, computed in pieces whose arguments are views; each piece is written to its place of the result."""

    weight: Tensor

    def __init__(self, compute: Compute, weight: Tensor, pieces: Sequence[Piece]) -> None:
        super().__init__()
        self.compute = compute
        self.pieces = tuple(pieces)
        self.register_buffer("weight", weight.contiguous())

    def forward(self, columns: Tensor, values: Sequence[Tensor]) -> Tensor:
        found: list[Tensor] = []
        for piece in self.pieces:
            arguments = [values[source][start : start + piece.count] for source, start in piece.arguments]
            found.append(self.compute(arguments, self.weight[piece.first : piece.first + piece.count]))
        return torch.cat(found) if len(found) > 1 else found[0]


class _Categorical(nn.Module):
    """log p[f, x_f, :] from the rows of a table (F, V, K)."""

    columns: Tensor
    offsets: Tensor
    rows: Tensor

    def __init__(self, columns: Tensor, rows: Tensor) -> None:
        super().__init__()
        self.register_buffer("columns", columns)
        self.register_buffer("offsets", torch.arange(len(rows)).unsqueeze(1) * rows.shape[1])
        self.register_buffer("rows", rows.flatten(0, 1).contiguous())

    def forward(self, columns: Tensor, values: Sequence[Tensor]) -> Tensor:
        return nn.functional.embedding(columns[self.columns] + self.offsets, self.rows)


class _Gaussian(nn.Module):
    """constant - (scale (x - mean))^2, each (F, 1, K)."""

    columns: Tensor
    mean: Tensor
    scale: Tensor
    constant: Tensor

    def __init__(self, columns: Tensor, mean: Tensor, stddev: Tensor, constant: Tensor) -> None:
        super().__init__()
        self.register_buffer("columns", columns)
        self.register_buffer("mean", mean)
        self.register_buffer("scale", math.sqrt(0.5) / stddev)
        self.register_buffer("constant", constant)

    def forward(self, columns: Tensor, values: Sequence[Tensor]) -> Tensor:
        scaled = (columns[self.columns].unsqueeze(2) - self.mean) * self.scale
        return self.constant - scaled * scaled


def _input_level(layer: TorchInputLayer, columns: Tensor, values: Mapping[str, Tensor]) -> nn.Module:
    if isinstance(layer, TorchCategoricalLayer):
        return _Categorical(columns, values["rows"])
    if isinstance(layer, TorchGaussianLayer):
        return _Gaussian(columns, values["mean"], values["stddev"], values["constant"])
    raise _unknown(layer)


def _level_of(layer: TorchLayer, values: Mapping[str, Tensor]) -> tuple[Compute, Tensor]:
    """What a level computes, and its weights: (F, I, O) of sums, (F, K, H) of mixtures."""
    if isinstance(layer, TorchHadamardLayer):
        return (lambda arguments, weight: reduce(add, arguments)), torch.empty(layer.num_folds, 0)
    if isinstance(layer, TorchMixingLayer):
        return _mix, values["weight"]
    if isinstance(layer, TorchTuckerLayer):
        return _tucker, values["weight"].transpose(1, 2)
    if isinstance(layer, TorchCPTLayer):
        return (lambda arguments, weight: _sum(reduce(add, arguments), weight)), values["weight"].transpose(1, 2)
    if isinstance(layer, TorchSumLayer):
        return (lambda arguments, weight: _sum(torch.cat(list(arguments), 2), weight)), values["weight"].transpose(1, 2)
    raise _unknown(layer)


def _sum(x: Tensor, weight: Tensor) -> Tensor:
    """Returns log sum_i w[f, i, o] exp(x[f, b, i])."""
    top = _top(x)
    return torch.log(torch.bmm(torch.exp(x - top), weight)) + top


def _mix(arguments: Sequence[Tensor], weight: Tensor) -> Tensor:
    """Returns log sum_h w[f, k, h] exp(x_h[f, b, k])."""
    top = reduce(torch.maximum, arguments).clamp_min(SMALLEST)
    terms = [torch.exp(x - top) * weight[:, None, :, h] for h, x in enumerate(arguments)]
    return torch.log(reduce(add, terms)) + top


def _tucker(arguments: Sequence[Tensor], weight: Tensor) -> Tensor:
    """Returns log sum_ij w[f, i*J+j, o] exp(x[f, b, i] + y[f, b, j])."""
    x, y = arguments
    top, other = _top(x), _top(y)
    outer = torch.exp(x - top).unsqueeze(3) * torch.exp(y - other).unsqueeze(2)
    return torch.log(torch.bmm(outer.flatten(2), weight)) + (top + other)


def _top(x: Tensor) -> Tensor:
    """The largest number of a row, and not -inf."""
    return x.amax(2, keepdim=True).clamp_min(SMALLEST)


def _unknown(layer: TorchLayer) -> LoweringError:
    return LoweringError(f"the hand-written circuit has no {type(layer).__name__}: image circuits do not have it")
