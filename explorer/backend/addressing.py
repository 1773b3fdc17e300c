"""Addresses of the inputs of a folded node, and the cheapest way to read them.

After folding, the value of an original node is a pair (folded node, slice). `FoldIndexInfo` keeps, for every folded
node, a table (F, H, 2) of such pairs, and one (N, 2) for the outputs. `plan_read` turns a table into a `Read`: a view
if the slices are evenly spaced, and a gather only if they are not; there are no identity gathers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

IndexTable = NDArray[np.int64]

MAX_CAT_PIECES = 16
"""A read of several nodes is a concatenation of slices up to this many pieces; beyond it, one gather is cheaper."""


@dataclass(frozen=True, eq=False)
class FoldIndexInfo:
    """Locates the inputs of every folded node, and the outputs.

    `in_fold_idx[n]`: for folded node n a table (F, H, 2) of (node id, slice), one row per fold, one column per input;
    `out_fold_idx`: a table (N, 2), one row per output.
    """

    in_fold_idx: Mapping[int, IndexTable]
    out_fold_idx: IndexTable


class ReadKind(Enum):
    """Ways to read inputs, cheapest first; only the last three copy."""

    VIEW = "view"
    SLICE = "slice"
    TRANSPOSE = "transpose"
    EXPAND = "expand"
    CAT = "cat"
    GATHER = "gather"
    CAT_GATHER = "cat+gather"

    @property
    def copies(self) -> bool:
        """Whether the values read are copied."""
        return self in (ReadKind.CAT, ReadKind.GATHER, ReadKind.CAT_GATHER)


@dataclass(frozen=True, eq=False)
class Read:
    """A way to read the inputs (F, H, ...) of a folded node from the values (folds, ...) of its sources.

    `pieces` are slices (position in `sources`, start, stop, step), which are concatenated; `index` selects rows of the
    concatenation; its rows are in the order (F, H), or if `column_major` in the order (H, F). An expanding read has
    one slice per fold, or if `column_major` one per input.
    """

    kind: ReadKind
    sources: tuple[int, ...]
    num_folds: int
    arity: int
    pieces: tuple[tuple[int, int, int, int], ...]
    index: IndexTable | None = None
    column_major: bool = False

    @property
    def rows_copied(self) -> int:
        """The number of source slices that are copied: F*H, and those that are concatenated before a gather."""
        concatenated = sum((stop - start + step - 1) // step for _, start, stop, step in self.pieces)
        return {
            ReadKind.CAT: concatenated,
            ReadKind.GATHER: self.num_folds * self.arity,
            ReadKind.CAT_GATHER: concatenated + self.num_folds * self.arity,
        }.get(self.kind, 0)

    def __call__(self, values: Sequence[Tensor], index: Tensor | None) -> Tensor:
        """The inputs (F, H, ...) from the values of the sources, in order; `index` is on their device."""
        rest = values[0].shape[1:]
        if self.kind is ReadKind.EXPAND:
            return self._expand(values[0])
        if len(self.pieces) == 1:
            source, start, stop, step = self.pieces[0]
            x = values[source]
            if (start, stop, step) != (0, x.shape[0], 1):
                x = x[start:stop:step]
        else:
            x = torch.cat([values[s][start:stop:step] for s, start, stop, step in self.pieces])
        if index is not None:
            x = torch.index_select(x, 0, index)
        if self.column_major:
            return x.reshape(self.arity, self.num_folds, *rest).transpose(0, 1)
        return x.reshape(self.num_folds, self.arity, *rest)

    def _expand(self, x: Tensor) -> Tensor:
        _, start, stop, step = self.pieces[0]
        x = x[start:stop:step].unsqueeze(0 if self.column_major else 1)
        return x.expand(self.num_folds, self.arity, *x.shape[2:])


def plan_read(table: IndexTable, folds_of: Mapping[int, int]) -> Read:
    """The cheapest read for a table (F, H, 2) of (node id, slice), given the number of folds of each node."""
    num_folds, arity, _ = table.shape
    if num_folds == 1 and arity <= MAX_CAT_PIECES:
        slices: list[tuple[int, int]] = table[0].tolist()
        if len({node for node, _ in slices}) == arity:
            return _read_distinct(slices, folds_of)
    sources = tuple(dict.fromkeys(table[:, :, 0].ravel().tolist()))
    if len(sources) == 1:
        return _read_one(table[:, :, 1], sources[0], folds_of[sources[0]])
    for column_major in (False, True):
        flat = (table.transpose(1, 0, 2) if column_major else table).reshape(-1, 2)
        pieces = _pieces(flat, sources)
        if is_cat(len(pieces), num_folds * arity, len(sources)):
            return Read(ReadKind.CAT, sources, num_folds, arity, pieces, column_major=column_major)
    offsets = dict(zip(sources, np.cumsum([0] + [folds_of[s] for s in sources[:-1]]).tolist(), strict=True))
    index = table[:, :, 1] + np.vectorize(offsets.__getitem__, otypes=[np.int64])(table[:, :, 0])
    whole = tuple((i, 0, folds_of[s], 1) for i, s in enumerate(sources))
    return Read(ReadKind.CAT_GATHER, sources, num_folds, arity, whole, index.ravel())


def is_cat(pieces: int, slices: int, sources: int) -> bool:
    """Whether to concatenate (`pieces`) instead of gathering (`slices`)."""
    return pieces <= MAX_CAT_PIECES and (pieces < slices or pieces <= sources)


def count_copied_slices(slices: Sequence[tuple[int, int]], folds_of: Mapping[int, int]) -> int:
    """The number of slices that the read of a node with one fold copies, from the (node id, slice) of each input.

    Equal to `plan_read(table, folds_of).rows_copied` for the table (1, H, 2), but cheaper; `folds_of` may omit nodes
    with one fold.
    """
    arity = len(slices)
    sources = dict.fromkeys([node for node, _ in slices])
    if len(sources) == 1:
        steps = {later - earlier for (_, earlier), (_, later) in pairwise(slices)}
        return 0 if not steps or (len(steps) == 1 and min(steps) >= 0) else arity
    runs = 1 + sum([one[0] != other[0] or other[1] - one[1] != 1 for one, other in pairwise(slices)])
    if is_cat(runs, arity, len(sources)):
        return arity
    return arity + sum([folds_of.get(node, 1) for node in sources])


def direct_read(sources: Sequence[int]) -> Read:
    """The read of an unfolded node (F = 1) from unfolded nodes: one slice each, in order."""
    distinct = tuple(dict.fromkeys(sources))
    if len(sources) == 1:
        return Read(ReadKind.VIEW, distinct, 1, 1, ((0, 0, 1, 1),))
    if len(distinct) == 1:
        return Read(ReadKind.EXPAND, distinct, 1, len(sources), ((0, 0, 1, 1),))
    position = {source: i for i, source in enumerate(distinct)}
    return Read(ReadKind.CAT, distinct, 1, len(sources), tuple((position[s], 0, 1, 1) for s in sources))


def _read_distinct(slices: Sequence[tuple[int, int]], folds_of: Mapping[int, int]) -> Read:
    """The read of a node with one fold from one slice of each of several nodes; without arrays, which take longer."""
    sources = tuple([node for node, _ in slices])
    pieces = tuple([(i, start, start + 1, 1) for i, (_, start) in enumerate(slices)])
    if len(sources) > 1:
        return Read(ReadKind.CAT, sources, 1, len(sources), pieces)
    (node, _), *_ = slices
    return Read(ReadKind.VIEW if folds_of[node] == 1 else ReadKind.SLICE, sources, 1, 1, pieces)


def _read_one(slices: IndexTable, source: int, folds: int) -> Read:
    """A read of one node: slices a + f*s + h*t are a view, any others a gather."""
    num_folds, arity = slices.shape
    start = int(slices[0, 0])
    by_fold = int(slices[1, 0]) - start if num_folds > 1 else 0
    by_input = int(slices[0, 1]) - start if arity > 1 else 0
    regular = start + by_fold * np.arange(num_folds)[:, None] + by_input * np.arange(arity)[None, :]
    gather = Read(ReadKind.GATHER, (source,), num_folds, arity, ((0, 0, folds, 1),), slices.ravel().copy())
    if not np.array_equal(regular, slices) or by_fold < 0 or by_input < 0:
        return gather

    def read(kind: ReadKind, count: int, step: int) -> Read:
        step = max(step, 1)
        stop = start + (count - 1) * step + 1
        return Read(kind, (source,), num_folds, arity, ((0, start, stop, step),))

    total = num_folds * arity
    if total == 1 or (arity == 1 and by_fold > 0) or (num_folds == 1 and by_input > 0):
        step = by_fold or by_input
        whole = total == folds and step <= 1
        return read(ReadKind.VIEW if whole else ReadKind.SLICE, total, step)
    if by_fold == 0 and by_input == 0:
        return read(ReadKind.EXPAND, 1, 1)
    if by_input == 0 and num_folds > 1:
        return read(ReadKind.EXPAND, num_folds, by_fold)
    if by_fold == 0:
        return replace(read(ReadKind.EXPAND, arity, by_input), column_major=True)
    if by_fold == arity * by_input:
        return read(ReadKind.VIEW if total == folds else ReadKind.SLICE, total, by_input)
    if by_input == num_folds * by_fold:
        return replace(read(ReadKind.TRANSPOSE, total, by_fold), column_major=True)
    return gather


def _pieces(flat: IndexTable, sources: tuple[int, ...]) -> tuple[tuple[int, int, int, int], ...]:
    """Runs of consecutive slices of one node, in order: (position in sources, start, stop, 1)."""
    cuts = np.flatnonzero((np.diff(flat[:, 0]) != 0) | (np.diff(flat[:, 1]) != 1)) + 1
    if len(cuts) >= MAX_CAT_PIECES:
        return ((0, 0, 0, 1),) * (MAX_CAT_PIECES + 1)
    position = {source: i for i, source in enumerate(sources)}
    bounds = [0, *cuts.tolist(), len(flat)]
    return tuple((position[int(flat[a, 0])], int(flat[a, 1]), int(flat[b - 1, 1]) + 1, 1) for a, b in pairwise(bounds))
