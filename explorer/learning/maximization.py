"""Expected counts, and the closed M-steps: the values of leaves that are the most likely ones for these counts.

A step sets the leaves of one kind that have one link and are stored in one tensor, all at once.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.backend.declarations import MARGIN, Link
from explorer.errors import LearningError, ValueRangeError
from explorer.learning.closed_forms import ClosedForms, Joints, Normals, Single
from explorer.learning.covariances import linear_form, shrink
from explorer.learning.state import place_values
from explorer.symbolic import TensorParameter
from explorer.symbolic.checks import check_fields

KINDS = ("weights", "successes", "trials", "rows", "sums", "squares")
"""Kinds of counts, each the sum of expectations over the rows of a batch.

`weights` are how often each entry of a leaf of weights is used; `successes` and `trials` belong to binomial
distributions; `rows`, `sums` and `squares` are, for each normal distribution, the responsibilities and their products
with x and with x², and for joint ones with x and x x^T, repeated to the shape of the slopes.
"""


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """By kind and by position of a tensor (F, *shape) in `circuit.tensors`, counts of that shape in double precision.

    Slices of leaves that have no counts of a kind are zero.
    """

    values: Mapping[str, Mapping[int, Tensor]]

    def __iter__(self) -> Iterator[tuple[str, int, Tensor]]:
        for kind, by_tensor in self.values.items():
            for tensor, value in by_tensor.items():
                yield kind, tensor, value

    def __getitem__(self, kind: str) -> Mapping[int, Tensor]:
        return self.values[kind]

    def blend(self, other: "ExpectedCounts", share: float) -> "ExpectedCounts":
        """(1 - share) of these counts and a share of the others."""
        return self._combine(lambda kind, tensor, value: torch.lerp(value, other[kind][tensor], share))

    def times(self, factor: float) -> "ExpectedCounts":
        """These counts, multiplied by a number."""
        return self._combine(lambda kind, tensor, value: value * factor)

    def _combine(self, combine: Callable[[str, int, Tensor], Tensor]) -> "ExpectedCounts":
        return ExpectedCounts(
            {kind: {t: combine(kind, t, value) for t, value in found.items()} for kind, found in self.values.items()}
        )

    def by_leaf(self, circuit: TorchCircuit) -> dict[str, dict[str, Tensor]]:
        """Copies on the CPU: by kind, by name of the leaf. The names are the same in every mode of compilation."""
        slots = circuit.leaf_slots.items()
        return {
            kind: {leaf: found[tensor][row].cpu().clone() for leaf, (tensor, row) in slots if tensor in found}
            for kind, found in self.values.items()
        }


def load_counts(
    into: ExpectedCounts, circuit: TorchCircuit, by_leaf: Mapping[str, Mapping[str, Tensor]]
) -> ExpectedCounts:
    """The counts that `by_leaf` returned, in the layout of `into`, counts of the circuit in the present mode.

    Raises: UnknownNameError, ShapeError if the counts are of a different circuit.
    """
    loaded = into.times(0.0)
    for kind, tensor, row, value in place_values(circuit, "expected counts", by_leaf, into.values):
        if tensor in loaded[kind]:
            loaded[kind][tensor][row] = value.to(loaded[kind][tensor])
    return loaded


NEGLIGIBLE = 1e-12
"""Smallest count that changes a value."""


@dataclass(frozen=True, slots=True)
class MaximizationOptions:
    """`pseudo_count` is added to each row of weights in equal shares, and to the trials of each binomial distribution.

    The M-step makes no standard deviation, and no mean of an exponential density, smaller than `stddev_floor`.
    `pooled_rows` and `shrinkage` belong to joint normal densities, see `shrink`. Raises: DataTypeError,
    ValueRangeError.
    """

    pseudo_count: float = 0.0
    stddev_floor: float = 1e-3
    pooled_rows: float = 0.0
    shrinkage: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not (isfinite(self.pseudo_count) and self.pseudo_count >= 0):
            raise ValueRangeError(f"pseudo_count must be at least 0 and finite; found {self.pseudo_count}")
        if not (isfinite(self.pooled_rows) and self.pooled_rows >= 0):
            raise ValueRangeError(f"pooled_rows must be at least 0 and finite; found {self.pooled_rows}")
        if not 0 <= self.shrinkage <= 1:
            raise ValueRangeError(f"shrinkage must be from 0 to 1; found {self.shrinkage}")
        if not (isfinite(self.stddev_floor) and self.stddev_floor > 0):
            raise ValueRangeError(f"stddev_floor must be above 0 and finite; found {self.stddev_floor}")


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices (K,) of one tensor (F, *shape) of a circuit: each has the values of a leaf."""

    circuit: TorchCircuit
    tensor: int
    slices: Tensor

    def read(self) -> Tensor:
        """The values (K, *shape), in double precision."""
        return self.circuit.tensors[self.tensor].detach()[self.slices].double()

    def write(self, leaf: Tensor, known: Tensor | None = None) -> None:
        """Set the values, where they are known."""
        target = self.circuit.tensors[self.tensor].detach()
        new = leaf.to(target.dtype)
        target[self.slices] = new if known is None else torch.where(known, new, target[self.slices])

    def of(self, counts: ExpectedCounts, kind: str) -> Tensor:
        """The counts (K, *shape) of a kind."""
        return counts[kind][self.tensor][self.slices]

    def put(self, counts: ExpectedCounts, kind: str, value: Tensor) -> None:
        """Set the counts of a kind."""
        counts[kind][self.tensor][self.slices] = value


@dataclass(frozen=True, eq=False)
class MaximizationStep(ABC):
    """The M-step of some leaves; `link` leads from their numbers to the values that it finds."""

    link: Link

    @property
    @abstractmethod
    def counted(self) -> tuple[tuple[str, ...], int]:
        """The kinds of counts that it reads, and the tensor with their shape."""

    @abstractmethod
    def maximize(self, counts: ExpectedCounts, options: MaximizationOptions) -> None:
        """Set the leaves to the values that are the most likely ones for these counts. Raises: LearningError."""

    @abstractmethod
    def make_consistent(self, counts: ExpectedCounts, into: ExpectedCounts) -> None:
        """Put counts with the totals of these, and with the present values as maximum, into the others."""


@dataclass(frozen=True, eq=False)
class WeightStep(MaximizationStep):
    """Weights that sum to one along an axis, which counts the folds."""

    at: Slices
    axis: int

    @property
    def counted(self) -> tuple[tuple[str, ...], int]:
        return ("weights",), self.at.tensor

    @property
    def value(self) -> Tensor:
        """The present rows, in double precision."""
        return self.link.value(self.at.read())

    def maximize(self, counts: ExpectedCounts, options: MaximizationOptions) -> None:
        flow = self.at.of(counts, "weights")
        if bool((flow < -1e-3).any()):
            raise LearningError("expected counts are negative: the circuit has negative weights; learn it by gradient")
        smoothed = flow.clamp(min=0.0) + options.pseudo_count / flow.shape[self.axis]
        totals = smoothed.sum(self.axis, keepdim=True)
        leaf = self.link.inverse(smoothed / totals.clamp(min=NEGLIGIBLE))
        self.at.write(leaf, (totals > NEGLIGIBLE).expand_as(leaf))

    def make_consistent(self, counts: ExpectedCounts, into: ExpectedCounts) -> None:
        totals = self.at.of(counts, "weights").sum(self.axis, keepdim=True)
        self.at.put(into, "weights", totals * self.value)

    def write_normalized(self, value: Tensor) -> None:
        """Set the rows to values that are divided by their sums."""
        self.at.write(self.link.inverse(value / value.sum(self.axis, keepdim=True)))


@dataclass(frozen=True, eq=False)
class BinomialStep(MaximizationStep):
    """Probabilities of success."""

    at: Slices

    @property
    def counted(self) -> tuple[tuple[str, ...], int]:
        return ("successes", "trials"), self.at.tensor

    def maximize(self, counts: ExpectedCounts, options: MaximizationOptions) -> None:
        trials = self.at.of(counts, "trials") + options.pseudo_count
        successes = self.at.of(counts, "successes") + options.pseudo_count / 2
        low, high = max(self.link.bounds[0], 0.0), min(self.link.bounds[1], 1.0)
        margin = MARGIN * (high - low)
        best = successes / trials.clamp(min=NEGLIGIBLE)
        probability = _between(best, low + margin, high - margin, self.link.value(self.at.read()))
        self.at.write(self.link.inverse(probability), trials > NEGLIGIBLE)

    def make_consistent(self, counts: ExpectedCounts, into: ExpectedCounts) -> None:
        trials = self.at.of(counts, "trials")
        self.at.put(into, "trials", trials)
        self.at.put(into, "successes", trials * self.link.value(self.at.read()))


@dataclass(frozen=True, eq=False)
class AverageStep(MaximizationStep):
    """Expected values."""

    at: Slices

    @property
    def counted(self) -> tuple[tuple[str, ...], int]:
        return ("rows", "sums"), self.at.tensor

    def maximize(self, counts: ExpectedCounts, options: MaximizationOptions) -> None:
        rows, sums = (self.at.of(counts, kind) for kind in self.counted[0])
        low, high = self.link.bounds
        margin = MARGIN * (high - low) if isfinite(high) else 0.0
        best, floor = sums / rows.clamp(min=NEGLIGIBLE), max(options.stddev_floor, low + margin)
        value = _between(best, floor, high - margin, self.link.value(self.at.read()))
        self.at.write(self.link.inverse(value), rows > NEGLIGIBLE)

    def make_consistent(self, counts: ExpectedCounts, into: ExpectedCounts) -> None:
        rows = self.at.of(counts, "rows")
        self.at.put(into, "rows", rows)
        self.at.put(into, "sums", rows * self.link.value(self.at.read()))


@dataclass(frozen=True, eq=False)
class NormalStep(MaximizationStep):
    """Means and standard deviations of normal distributions; the link belongs to the standard deviation."""

    mean: Slices
    stddev: Slices
    learns_mean: bool
    learns_stddev: bool

    @property
    def key(self) -> Slices:
        """The leaves under which the counts are kept."""
        return self.mean if self.learns_mean else self.stddev

    @property
    def counted(self) -> tuple[tuple[str, ...], int]:
        return ("rows", "sums", "squares"), self.key.tensor

    def maximize(self, counts: ExpectedCounts, options: MaximizationOptions) -> None:
        rows, sums, squares = (self.key.of(counts, kind) for kind in ("rows", "sums", "squares"))
        known = rows > NEGLIGIBLE
        rows = rows.clamp(min=NEGLIGIBLE)
        mean = self.mean.read()
        if self.learns_mean:
            mean = torch.where(known, sums / rows, mean)
            self.mean.write(mean, known)
        if self.learns_stddev:
            variance = squares / rows - 2 * mean * sums / rows + mean**2
            low, high = self.link.bounds
            margin = MARGIN * (high - low) if isfinite(high) else 0.0
            floor = max(options.stddev_floor, low + margin)
            best = variance.clamp(min=0.0).sqrt()
            stddev = _between(best, floor, high - margin, self.link.value(self.stddev.read()))
            self.stddev.write(self.link.inverse(stddev), known)

    def make_consistent(self, counts: ExpectedCounts, into: ExpectedCounts) -> None:
        rows = self.key.of(counts, "rows")
        mean, stddev = self.mean.read(), self.link.value(self.stddev.read())
        for kind, value in (("rows", rows), ("sums", rows * mean), ("squares", rows * (mean**2 + stddev**2))):
            self.key.put(into, kind, value)


@dataclass(frozen=True, eq=False)
class JointStep(MaximizationStep):
    """Joint normal densities; the link belongs to the standard deviations."""

    mean: Slices
    stddev: Slices
    slope: Slices

    @property
    def counted(self) -> tuple[tuple[str, ...], int]:
        return ("rows", "sums", "squares"), self.slope.tensor

    def maximize(self, counts: ExpectedCounts, options: MaximizationOptions) -> None:
        rows, sums = (
            self.slope.of(counts, "rows")[..., 0, 0],
            self.slope.of(counts, "sums")[..., 0],
        )  # (K, O), (K, O, V)
        known = (rows > NEGLIGIBLE).unsqueeze(2)
        count = rows.clamp(min=NEGLIGIBLE).unsqueeze(2)
        mean = sums / count
        scatter = self.slope.of(counts, "squares") - (sums.unsqueeze(3) * mean.unsqueeze(2))
        covariance = shrink(rows, scatter, options.pooled_rows, options.shrinkage, options.stddev_floor)
        best, slope = linear_form(covariance)
        low, high = self.link.bounds
        margin = MARGIN * (high - low) if isfinite(high) else 0.0
        stddev = _between(best, low + margin, high - margin, self.link.value(self.stddev.read()))
        self.mean.write(mean, known.expand_as(mean))
        self.stddev.write(self.link.inverse(stddev), known.expand_as(stddev))
        self.slope.write(slope, known.unsqueeze(3).expand_as(slope))

    def make_consistent(self, counts: ExpectedCounts, into: ExpectedCounts) -> None:
        rows, mean = self.slope.of(counts, "rows"), self.mean.read()
        stddev, slope = self.link.value(self.stddev.read()), self.slope.read()
        one = torch.eye(slope.shape[-1], dtype=slope.dtype, device=slope.device)
        spread = torch.linalg.solve_triangular(
            one - slope.tril(-1), torch.diag_embed(stddev), upper=False, unitriangular=True
        )
        second = spread @ spread.transpose(-1, -2) + mean.unsqueeze(-1) * mean.unsqueeze(-2)
        for kind, value in (("rows", rows), ("sums", rows * mean.unsqueeze(-1)), ("squares", rows * second)):
            self.slope.put(into, kind, value)


def _between(best: Tensor, low: float, high: float, present: Tensor) -> Tensor:
    """The best value between bounds, or beyond one as far as the present value is: so no step loses likelihood."""
    return torch.minimum(torch.maximum(best, present.clamp(max=low)), present.clamp(min=high))


def find_steps(circuit: TorchCircuit, forms: ClosedForms) -> tuple[MaximizationStep, ...]:
    """The M-steps of all leaves that are learned."""
    return tuple(_Steps(circuit, forms.learned).of(forms))


class _Steps:
    def __init__(self, circuit: TorchCircuit, learned: frozenset[TensorParameter]) -> None:
        self.circuit, self.learned = circuit, learned
        names, slots = circuit.leaf_names, circuit.leaf_slots
        self.slot: Callable[[TensorParameter], tuple[int, int]] = lambda leaf: slots[names[leaf]]

    def of(self, forms: ClosedForms) -> Iterator[MaximizationStep]:
        for link, at in self.by_link(forms.links):
            last = self.circuit.tensors[at.tensor].dim() - 1
            yield WeightStep(link, at, last if link.normalized_axis is None else link.normalized_axis + 1)
        for link, at in self.by_link(_links_of(b.probability for b in forms.binomials)):
            yield BinomialStep(link, at)
        for link, at in self.by_link(_links_of(a.value for a in forms.averages)):
            yield AverageStep(link, at)
        yield from self.normals(forms.normals)
        yield from self.joints(forms.joints)

    def by_link(self, links: Mapping[TensorParameter, Link]) -> Iterator[tuple[Link, Slices]]:
        """The learned leaves that have one link and are stored in one tensor."""
        groups: dict[tuple[int, Link], list[int]] = defaultdict(list)
        for leaf, link in links.items():
            if leaf in self.learned:
                tensor, row = self.slot(leaf)
                groups[tensor, link].append(row)
        for (tensor, link), rows in groups.items():
            yield link, self.slices(tensor, rows)

    def normals(self, normals: Sequence[Normals]) -> Iterator[NormalStep]:
        groups: dict[tuple[int, int, bool, bool, Link], dict[tuple[int, int], None]] = defaultdict(dict)
        for one in normals:
            for mean, stddev, link in zip(one.mean.leaves, one.stddev.leaves, one.stddev.links, strict=True):
                learned = (mean in self.learned, stddev in self.learned)
                if any(learned):
                    (tm, rm), (ts, rs) = self.slot(mean), self.slot(stddev)
                    groups[tm, ts, *learned, link][rm, rs] = None
        for (tm, ts, learns_mean, learns_stddev, link), pairs in groups.items():
            mean, stddev = self.slices(tm, [m for m, _ in pairs]), self.slices(ts, [s for _, s in pairs])
            yield NormalStep(link, mean, stddev, learns_mean, learns_stddev)

    def joints(self, joints: Sequence[Joints]) -> Iterator[JointStep]:
        groups: dict[tuple[int, int, int, Link], dict[tuple[int, int, int], None]] = defaultdict(dict)
        for one in joints:
            for leaves, link in zip(
                zip(one.mean.leaves, one.stddev.leaves, one.slope.leaves, strict=True), one.stddev.links, strict=True
            ):
                if leaves[0] in self.learned:
                    (tm, rm), (ts, rs), (tl, rl) = map(self.slot, leaves)
                    groups[tm, ts, tl, link][rm, rs, rl] = None
        for (tm, ts, tl, link), rows in groups.items():
            yield JointStep(
                link,
                *(self.slices(t, [row[at] for row in rows]) for at, t in enumerate((tm, ts, tl))),
            )

    def slices(self, tensor: int, rows: Sequence[int]) -> Slices:
        device = self.circuit.tensors[0].device
        return Slices(self.circuit, tensor, torch.tensor(rows, dtype=torch.long, device=device))


def _links_of(singles: Iterable[Single]) -> dict[TensorParameter, Link]:
    return {leaf: link for single in singles for leaf, link in zip(single.leaves, single.links, strict=True)}
