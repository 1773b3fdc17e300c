"""Expectation-maximization on a compiled circuit: expected counts from gradients, then closed M-steps.

The expected count of a weight is weight x d log p / d weight (Darwiche 2009, ch. 12), and the responsibility of a unit
of an input layer is d log p / d log f, both summed over rows. So one backward pass is an E-step, in every mode of
compilation. Source: Dempster, Laird and Rubin 1977; Peharz et al. 2017, On the latent variable interpretation in
sum-product networks.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from explorer.backend import TorchCircuit, TorchInputLayer
from explorer.backend.queries.stages import stages_of
from explorer.backend.queries.structure import require_tractable
from explorer.errors import CircuitError, LearningError, ValueRangeError
from explorer.learning.closed_forms import Binomials, Domain, Normals, Single, Site, find_closed_forms
from explorer.learning.counts import KINDS, ExpectedCounts
from explorer.learning.evaluation import require_distribution
from explorer.learning.links import MARGIN, Link, SoftmaxLink
from explorer.symbolic import TensorParameter

MAX_BYTES = 2**28
"""The activations of one backward pass need at most so many bytes, or are those of a single row."""
NEGLIGIBLE = 1e-12
"""What was expected less often than this keeps its values."""


@dataclass(frozen=True, slots=True)
class MaximizationOptions:
    """`pseudo_count` is added to each row of weights in equal shares, and to the trials of each binomial distribution.

    The M-step makes no standard deviation smaller than `stddev_floor`. Raises: ValueRangeError.
    """

    pseudo_count: float = 0.0
    stddev_floor: float = 1e-3

    def __post_init__(self) -> None:
        if not (isfinite(self.pseudo_count) and self.pseudo_count >= 0):
            raise ValueRangeError(f"pseudo_count must be at least 0 and finite; found {self.pseudo_count}")
        if not (isfinite(self.stddev_floor) and self.stddev_floor > 0):
            raise ValueRangeError(f"stddev_floor must be above 0 and finite; found {self.stddev_floor}")


@dataclass(frozen=True, eq=False)
class _Rows:
    """Folds of a value, and the slices of one tensor of the circuit that hold their leaves."""

    tensor: int
    folds: Tensor
    slices: Tensor


@dataclass(frozen=True, eq=False)
class _Weights:
    """Slices of a tensor whose values have one link; their rows sum to one along an axis, which counts the folds."""

    tensor: int
    slices: Tensor
    link: Link
    axis: int


@dataclass(frozen=True, eq=False)
class _Chances:
    """Slices of a tensor with probabilities of success."""

    tensor: int
    slices: Tensor
    link: Link


@dataclass(frozen=True, eq=False)
class _Bells:
    """Slices of two tensors with the means and standard deviations of normal distributions; `key` has their counts."""

    mean: tuple[int, Tensor]
    stddev: tuple[int, Tensor]
    learns_mean: bool
    learns_stddev: bool
    link: Link

    @property
    def key(self) -> tuple[int, Tensor]:
        return self.mean if self.learns_mean else self.stddev


class ExpectationMaximization:
    """Expectation-maximization of the leaves that a circuit learns; the same in every mode of compilation.

    The circuit computes logarithms, has one output with one unit, and is smooth, decomposable and normalized, whatever
    rows of weights that sum to one an M-step finds. At construction, rows of weights without a normalizing
    parameterization are divided by their sums.
    Raises: LearningError, which names a parameter without a closed M-step, or whose values cannot be normalized;
    StructureError; CircuitError if the circuit is not one normalized distribution.
    """

    def __init__(self, circuit: TorchCircuit, options: MaximizationOptions | None = None) -> None:
        if circuit.semiring.name != "lse-sum":
            raise LearningError(
                f"a likelihood is computed as a logarithm; compile with semiring lse-sum, not {circuit.semiring.name}"
            )
        self.circuit = circuit
        self.options = options or MaximizationOptions()
        forms = find_closed_forms(circuit)
        if not forms.learned:
            raise LearningError("the circuit has no learnable parameter")
        self._learned = forms.learned
        self._slots = circuit.leaf_slots
        self._device = circuit.tensors[0].device
        self._probe = circuit.probe().to(self._device)
        self._sites = [(site, self._rows(site.leaves)) for site in forms.sites]
        self._binomials = [(b, self._rows(self._only_learned(b.probability.leaves))) for b in forms.binomials]
        self._normals = [(n, self._rows(self._keys(n))) for n in forms.normals]
        self._weights = list(self._weight_steps(forms.links))
        self._chances = list(self._chance_steps([b.probability for b in forms.binomials]))
        self._bells = list(self._bell_steps(forms.normals))
        self._normalize()
        require_distribution(circuit)
        self._require_distribution_at_other_weights()
        require_tractable(stages_of(circuit))
        self._rows_per_pass = max(1, MAX_BYTES // _bytes_per_row(circuit))

    # ------------------------------------------------------------------ E-step

    def expect(self, x: Tensor) -> tuple[ExpectedCounts, float]:
        """The expected counts of rows x (B, D), and the sum of their log-likelihoods in nats.

        A value that is NaN is missing: it is summed or integrated out.
        Raises: LearningError if the likelihood of a row is zero or not a number.
        """
        counts, total = self.zeros(), 0.0
        for piece in x.split(self._rows_per_pass) if len(x) else ():
            total += self._add_counts(piece, counts)
        return counts, total

    def zeros(self) -> ExpectedCounts:
        """Counts of no rows."""
        tensors: dict[str, set[int]] = defaultdict(set)
        for step in self._weights:
            tensors["weights"].add(step.tensor)
        for step in self._chances:
            tensors["successes"].add(step.tensor)
            tensors["trials"].add(step.tensor)
        for step in self._bells:
            for kind in ("rows", "sums", "squares"):
                tensors[kind].add(step.key[0])
        return ExpectedCounts(
            {
                kind: {
                    t: torch.zeros_like(self.circuit.tensors[t], dtype=torch.float64, requires_grad=False)
                    for t in sorted(tensors[kind])
                }
                for kind in KINDS
                if kind in tensors
            }
        )

    def _add_counts(self, x: Tensor, counts: ExpectedCounts) -> float:
        with torch.enable_grad():
            values, activations = self._probe.evaluate(x)
            targets = [self._probe.node_values[site.layer, site.name][site.node] for site, _ in self._sites]
            targets += [activations[one.layer] for one, _ in (*self._binomials, *self._normals)]
            total = values.sum(dtype=torch.float64).item()
            if not isfinite(total):
                row = int((~torch.isfinite(values.flatten())).nonzero()[0])
                raise LearningError(
                    f"the log-likelihood of a row is {values[row].item()}, so nothing can be expected of it; "
                    "use a pseudo-count (--pseudo-count 1), or remove the row"
                )
            gradients = list(torch.autograd.grad(values.sum(), targets, allow_unused=True))
        with torch.no_grad():
            found = [torch.zeros_like(t) if g is None else g for t, g in zip(targets, gradients, strict=True)]
            count = len(self._sites)
            for (site, rows), value, gradient in zip(self._sites, targets, found[:count], strict=False):
                _add(counts["weights"], rows, _flow(site, value, gradient))
            inputs = zip((*self._binomials, *self._normals), found[count:], strict=True)
            for (layer, rows), gradient in inputs:
                columns = self._variables(x, layer.layer)  # (F, B)
                missing = torch.isnan(columns)
                share = torch.where(missing.unsqueeze(2), 0.0, gradient.double())
                columns = torch.where(missing, 0.0, columns)
                total_share, sums = share.sum(1), torch.einsum("fbo,fb->fo", share, columns)
                if isinstance(layer, Binomials):
                    _add(counts["successes"], rows, sums)
                    _add(counts["trials"], rows, layer.total_count * total_share)
                else:
                    _add(counts["rows"], rows, total_share)
                    _add(counts["sums"], rows, sums)
                    _add(counts["squares"], rows, torch.einsum("fbo,fb->fo", share, columns**2))
        return total

    def _variables(self, x: Tensor, layer: int) -> Tensor:
        """The values (F, B) of the variables of an input layer, in double precision."""
        found = self.circuit.graph.nodes[layer]
        assert isinstance(found, TorchInputLayer)
        return x[:, [variable for (variable,) in found.scope_idx]].T.double()

    # ------------------------------------------------------------------ M-step

    @torch.no_grad()
    def maximize(self, counts: ExpectedCounts) -> None:
        """Set the leaves to the values that are the most likely ones for these counts.

        Raises: LearningError for negative counts, which negative weights lead to, or infinite ones.
        """
        for _, _, value in counts:
            if not bool(torch.isfinite(value).all()):
                raise LearningError(
                    "expected counts are not finite: convert the circuit to double precision (double())"
                )
        for step in self._weights:
            flow = counts["weights"][step.tensor][step.slices]
            if bool((flow < -1e-3).any()):
                raise LearningError(
                    "expected counts are negative: the circuit has negative weights; learn it by gradient"
                )
            self._write_weights(step, flow)
        for step in self._chances:
            self._write_chances(step, counts)
        for step in self._bells:
            self._write_bells(step, counts)

    @torch.no_grad()
    def consistent_counts(self, counts: ExpectedCounts) -> ExpectedCounts:
        """Counts with the totals of these, of which the present values are the maximum."""
        new = counts.times(0.0)
        for step in self._weights:
            totals = counts["weights"][step.tensor][step.slices].sum(step.axis, keepdim=True)
            new["weights"][step.tensor][step.slices] = totals * step.link.value(self._read(step.tensor, step.slices))
        for step in self._chances:
            trials = counts["trials"][step.tensor][step.slices]
            new["trials"][step.tensor][step.slices] = trials
            chance = step.link.value(self._read(step.tensor, step.slices))
            new["successes"][step.tensor][step.slices] = trials * chance
        for step in self._bells:
            tensor, slices = step.key
            rows = counts["rows"][tensor][slices]
            mean, stddev = self._read(*step.mean), step.link.value(self._read(*step.stddev))
            new["rows"][tensor][slices] = rows
            new["sums"][tensor][slices] = rows * mean
            new["squares"][tensor][slices] = rows * (mean**2 + stddev**2)
        return new

    def _write_weights(self, step: _Weights, flow: Tensor) -> None:
        size = flow.shape[step.axis]
        smoothed = flow.clamp(min=0.0) + self.options.pseudo_count / size
        totals = smoothed.sum(step.axis, keepdim=True)
        leaf = step.link.inverse(smoothed / totals.clamp(min=NEGLIGIBLE))
        self._write(step.tensor, step.slices, leaf, (totals > NEGLIGIBLE).expand_as(leaf))

    def _write_chances(self, step: _Chances, counts: ExpectedCounts) -> None:
        pseudo = self.options.pseudo_count
        trials = counts["trials"][step.tensor][step.slices] + pseudo
        successes = counts["successes"][step.tensor][step.slices] + pseudo / 2
        present = step.link.value(self._read(step.tensor, step.slices))
        low, high = max(step.link.bounds[0], 0.0), min(step.link.bounds[1], 1.0)
        margin = MARGIN * (high - low)
        best = successes / trials.clamp(min=NEGLIGIBLE)
        chance = _between(best, low + margin, high - margin, present)
        self._write(step.tensor, step.slices, step.link.inverse(chance), trials > NEGLIGIBLE)

    def _write_bells(self, step: _Bells, counts: ExpectedCounts) -> None:
        tensor, slices = step.key
        rows, sums, squares = (counts[kind][tensor][slices] for kind in ("rows", "sums", "squares"))
        known = rows > NEGLIGIBLE
        rows = rows.clamp(min=NEGLIGIBLE)
        mean = self._read(*step.mean)
        if step.learns_mean:
            mean = torch.where(known, sums / rows, mean)
            self._write(*step.mean, mean, known)
        if step.learns_stddev:
            present = step.link.value(self._read(*step.stddev))
            variance = squares / rows - 2 * mean * sums / rows + mean**2
            low, high = step.link.bounds
            margin = MARGIN * (high - low) if isfinite(high) else 0.0
            floor = max(self.options.stddev_floor, low + margin)
            stddev = _between(variance.clamp(min=0.0).sqrt(), floor, high - margin, present)
            self._write(*step.stddev, step.link.inverse(stddev), known)

    @torch.no_grad()
    def _normalize(self) -> None:
        """Divide each row of weights by its sum."""
        for step in self._weights:
            if isinstance(step.link, SoftmaxLink):
                continue
            value = step.link.value(self._read(step.tensor, step.slices))
            totals = value.sum(step.axis, keepdim=True)
            if bool((value < 0).any()) or not bool((totals > 0).all() and torch.isfinite(totals).all()):
                name = self._name_of(step.tensor, int(step.slices[0]))
                raise LearningError(
                    f"the weights {name} or others of their shape cannot be normalized: a value is negative or not a "
                    "number, or a row is zero; start from values above 0, or make them with Parameterization('softmax')"
                )
            leaf = step.link.inverse(value / totals)
            self._write(step.tensor, step.slices, leaf, torch.ones_like(leaf, dtype=torch.bool))

    @torch.no_grad()
    def _require_distribution_at_other_weights(self) -> None:
        """The partition function is a polynomial in the weights: if it is 1 at weights drawn at random, it always is.

        It is not where weights are fixed in part, or read several times. Raises: LearningError.
        """
        before = {step.tensor: self.circuit.tensors[step.tensor].detach().clone() for step in self._weights}
        generator = torch.Generator().manual_seed(0)
        try:
            for step in self._weights:
                present = step.link.value(self._read(step.tensor, step.slices))
                factors = 0.1 + torch.rand(present.shape, generator=generator, dtype=torch.float64).to(present.device)
                drawn = present * factors + min(self.options.pseudo_count, 1.0) / present.shape[step.axis]
                leaf = step.link.inverse(drawn / drawn.sum(step.axis, keepdim=True))
                self._write(step.tensor, step.slices, leaf, torch.ones_like(leaf, dtype=torch.bool))
            require_distribution(self.circuit)
        except CircuitError as error:
            raise LearningError(
                "the circuit is normalized now, but not for other weights whose rows sum to one, so an M-step would "
                "not find a distribution: a weight is fixed in part, or read several times; learn it by gradient "
                "descent (--method gradient), with a normalizing parameterization"
            ) from error
        finally:
            for tensor, value in before.items():
                self.circuit.tensors[tensor].detach().copy_(value)

    # ------------------------------------------------------------------ leaves

    def _read(self, tensor: int, slices: Tensor) -> Tensor:
        return self.circuit.tensors[tensor].detach()[slices].double()

    def _write(self, tensor: int, slices: Tensor, leaf: Tensor, known: Tensor) -> None:
        """Set slices of a tensor where the new values are known."""
        target = self.circuit.tensors[tensor].detach()
        target[slices] = torch.where(known, leaf.to(target.dtype), target[slices])

    def _slot(self, leaf: TensorParameter) -> tuple[int, int]:
        return self._slots[self.circuit.leaf_names[leaf]]

    def _name_of(self, tensor: int, row: int) -> str:
        return next(name for name, slot in self._slots.items() if slot == (tensor, row))

    def _only_learned(self, leaves: Sequence[TensorParameter]) -> dict[int, TensorParameter]:
        return {fold: leaf for fold, leaf in enumerate(leaves) if leaf in self._learned}

    def _keys(self, normals: Normals) -> dict[int, TensorParameter]:
        """For each fold the leaf under which its counts are kept: the mean if it is learned."""
        return self._only_learned(normals.stddev.leaves) | self._only_learned(normals.mean.leaves)

    def _rows(self, leaves: Mapping[int, TensorParameter]) -> list[_Rows]:
        by_tensor: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for fold, leaf in leaves.items():
            tensor, row = self._slot(leaf)
            by_tensor[tensor].append((fold, row))
        return [
            _Rows(tensor, self._index(f for f, _ in pairs), self._index(r for _, r in pairs))
            for tensor, pairs in by_tensor.items()
        ]

    def _index(self, numbers: Iterator[int]) -> Tensor:
        return torch.tensor(list(numbers), dtype=torch.long, device=self._device)

    def _weight_steps(self, links: Mapping[TensorParameter, Link]) -> Iterator[_Weights]:
        groups: dict[tuple[int, Link], list[int]] = defaultdict(list)
        for leaf, link in links.items():
            tensor, row = self._slot(leaf)
            groups[tensor, link].append(row)
        for (tensor, link), rows in groups.items():
            last = self.circuit.tensors[tensor].dim() - 1
            axis = link.axis + 1 if isinstance(link, SoftmaxLink) else last
            yield _Weights(tensor, self._index(iter(rows)), link, axis)

    def _chance_steps(self, singles: Sequence[Single]) -> Iterator[_Chances]:
        links = {leaf: link for single in singles for leaf, link in zip(single.leaves, single.links, strict=True)}
        groups: dict[tuple[int, Link], list[int]] = defaultdict(list)
        for leaf, link in links.items():
            if leaf in self._learned:
                tensor, row = self._slot(leaf)
                groups[tensor, link].append(row)
        for (tensor, link), rows in groups.items():
            yield _Chances(tensor, self._index(iter(rows)), link)

    def _bell_steps(self, normals: Sequence[Normals]) -> Iterator[_Bells]:
        groups: dict[tuple[int, int, bool, bool, Link], dict[tuple[int, int], None]] = defaultdict(dict)
        for one in normals:
            for mean, stddev, link in zip(one.mean.leaves, one.stddev.leaves, one.stddev.links, strict=True):
                learned = (mean in self._learned, stddev in self._learned)
                if any(learned):
                    (tm, rm), (ts, rs) = self._slot(mean), self._slot(stddev)
                    groups[tm, ts, *learned, link][rm, rs] = None
        for (tm, ts, learns_mean, learns_stddev, link), pairs in groups.items():
            mean, stddev = self._index(m for m, _ in pairs), self._index(s for _, s in pairs)
            yield _Bells((tm, mean), (ts, stddev), learns_mean, learns_stddev, link)


def _between(best: Tensor, low: float, high: float, present: Tensor) -> Tensor:
    """The best value between bounds, or beyond one as far as the present value is: so no step loses likelihood."""
    return torch.minimum(torch.maximum(best, present.clamp(max=low)), present.clamp(min=high))


def _bytes_per_row(circuit: TorchCircuit) -> int:
    """The size of the activations of a row, and of their gradients."""
    itemsize = max(tensor.element_size() for tensor in circuit.tensors)
    return 2 * itemsize * sum(layer.num_folds * layer.num_output_units for layer in circuit.layers)


def _flow(site: Site, value: Tensor, gradient: Tensor) -> Tensor:
    """The expected counts of the entries of a value (F, *shape), from the gradient of the log-likelihood by it."""
    if site.domain is Domain.LOG:
        return gradient.double()
    return torch.where(value != 0, value.double() * gradient.double(), 0.0)


def _add(counts: Mapping[int, Tensor], rows: Sequence[_Rows], found: Tensor) -> None:
    """Add the counts of each fold to those of its leaf."""
    for one in rows:
        counts[one.tensor].index_add_(0, one.slices, found[one.folds])
