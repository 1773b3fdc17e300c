"""Expectation-maximization on a compiled circuit: expected counts from gradients (E-step), then closed M-steps.

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

from explorer.backend import TorchCircuit, TorchInputLayer, TorchMultivariateGaussianLayer
from explorer.backend.parameters import Domain
from explorer.backend.queries.fold_structure import require_tractable
from explorer.backend.queries.stages import stages_of
from explorer.errors import CircuitError, LearningError, ShapeError, check_type
from explorer.learning.closed_forms import Averages, Binomials, Joints, Normals, Site, find_closed_forms
from explorer.learning.log_likelihood import check_circuit, require_distribution
from explorer.learning.maximization import KINDS, ExpectedCounts, MaximizationOptions, WeightStep, find_steps
from explorer.symbolic import TensorParameter

MAX_BYTES = 2**28
"""Maximum bytes of the activations of one backward pass, unless a single row needs more."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Folds of a value, and the slices of one tensor of the circuit that hold their leaves."""

    tensor: int
    folds: Tensor
    slices: Tensor


class ExpectationMaximization:
    """Expectation-maximization of the leaves that a circuit learns; the same in every mode of compilation.

    The circuit computes logarithms, has one output with one unit, and is smooth, decomposable and normalized, whatever
    rows of weights that sum to one an M-step finds. At construction, rows of weights without a normalizing
    parameterization are divided by their sums.
    Raises: LearningError, which names a parameter without a closed M-step, or that cannot be normalized;
    StructureError; CircuitError if the circuit is not one normalized distribution; DataTypeError if it is not compiled.
    """

    def __init__(self, circuit: TorchCircuit, options: MaximizationOptions | None = None) -> None:
        check_circuit(circuit)
        if circuit.semiring.name != "lse-sum":
            raise LearningError(
                f"a likelihood is computed as a logarithm; compile with semiring lse-sum, not {circuit.semiring.name}"
            )
        self.circuit = circuit
        self.options = MaximizationOptions() if options is None else options
        check_type("options", self.options, MaximizationOptions)
        forms = find_closed_forms(circuit)
        if not forms.learned:
            raise LearningError("the circuit has no learnable parameter")
        self._learned = forms.learned
        self._steps = find_steps(circuit, forms)
        self._slots = circuit.leaf_slots
        self._device = circuit.tensors[0].device
        self._probe = circuit.probe().to(self._device)
        self._sites = [(site, self._rows(site.leaves)) for site in forms.sites]
        self._binomials = [(b, self._rows(self._only_learned(b.probability.leaves))) for b in forms.binomials]
        self._normals = [(n, self._rows(self._keys(n))) for n in forms.normals]
        self._averages = [(a, self._rows(self._only_learned(a.value.leaves))) for a in forms.averages]
        self._joints = [(j, self._rows(self._only_learned(j.slope.leaves))) for j in forms.joints]
        self._normalize()
        require_distribution(circuit)
        self._require_distribution_at_other_weights()
        require_tractable(stages_of(circuit))
        self._rows_per_pass = max(1, MAX_BYTES // _bytes_per_row(circuit))

    # ------------------------------------------------------------------ E-step

    def expect(self, x: Tensor) -> tuple[ExpectedCounts, float]:
        """The expected counts of rows x (B, D), and the sum of their log-likelihoods in nats.

        A value that is NaN is missing: it is summed or integrated out.
        Raises: LearningError if the likelihood of a row is zero or not a number; ShapeError, DataTypeError for other
        rows than those of the circuit.
        """
        rows = self.circuit.check_rows(x)
        counts, total = self.zeros(), 0.0
        for piece in rows.split(self._rows_per_pass) if len(rows) else ():
            total += self._add_counts(piece, counts)
        return counts, total

    def zeros(self) -> ExpectedCounts:
        """Counts of no rows."""
        tensors: dict[str, set[int]] = defaultdict(set)
        for step in self._steps:
            kinds, tensor = step.counted
            for kind in kinds:
                tensors[kind].add(tensor)
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

    def _advice(self) -> str:
        """Advice about a row of probability zero."""
        if self.options.pseudo_count == 0:
            return "use a pseudo-count (--pseudo-count 1), or remove the row"
        return (
            f"the pseudo-count of {self.options.pseudo_count:g} has an effect from the first step on, and the present "
            "values exclude the row: start from positive ones, learn the distributions that are constant, or remove "
            "the row"
        )

    def _add_counts(self, x: Tensor, counts: ExpectedCounts) -> float:
        with torch.enable_grad():
            values, activations = self._probe.evaluate(x)
            targets = [self._probe.node_values[site.layer, site.name][site.node] for site, _ in self._sites]
            targets += [activations[one.layer] for one, _ in (*self._univariate, *self._joints)]
            total = values.sum(dtype=torch.float64).item()
            if not isfinite(total):
                row = int((~torch.isfinite(values.flatten())).nonzero()[0])
                raise LearningError(
                    f"the log-likelihood of a row is {values[row].item()}, so nothing can be expected of it; "
                    f"{self._advice()}"
                )
            gradients = list(torch.autograd.grad(values.sum(), targets, allow_unused=True))
        with torch.no_grad():
            found = [torch.zeros_like(t) if g is None else g for t, g in zip(targets, gradients, strict=True)]
            count, last = len(self._sites), len(targets) - len(self._joints)
            for (site, rows), value, gradient in zip(self._sites, targets, found[:count], strict=False):
                _add(counts["weights"], rows, _flow(site, value, gradient))
            inputs = zip(self._univariate, found[count:last], strict=True)
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
                    if isinstance(layer, Normals):
                        _add(counts["squares"], rows, torch.einsum("fbo,fb->fo", share, columns**2))
            for (layer, rows), gradient in zip(self._joints, found[last:], strict=True):
                for kind, value in zip(("rows", "sums", "squares"), self._moments(layer, x, gradient), strict=True):
                    _add(counts[kind], rows, value)
        return total

    @property
    def _univariate(self) -> list[tuple[Binomials | Normals | Averages, list[_Rows]]]:
        return [*self._binomials, *self._normals, *self._averages]

    def _moments(self, joints: Joints, x: Tensor, share: Tensor) -> Iterator[Tensor]:
        """The responsibilities of a layer, and their products with x and x x^T, each as (F, O, V, V)."""
        layer = self.circuit.graph.nodes[joints.layer]
        assert isinstance(layer, TorchMultivariateGaussianLayer)
        columns = torch.tensor(layer.scope_idx, device=x.device)  # (F, V)
        seen = x[:, columns].transpose(0, 1).double()
        missing = torch.isnan(seen)
        prepared = self._probe.precise[joints.layer]
        known = torch.where(missing, 0.0, seen)
        rows, sums, squares = layer.expected_moments(prepared, known, ~missing, share)
        yield rows[..., None, None].expand_as(squares)
        yield sums.unsqueeze(-1).expand_as(squares)
        yield squares

    def _variables(self, x: Tensor, layer: int) -> Tensor:
        """The values (F, B) of the variables of an input layer, in double precision."""
        found = self.circuit.graph.nodes[layer]
        assert isinstance(found, TorchInputLayer)
        return x[:, [variable for (variable,) in found.scope_idx]].T.double()

    # ------------------------------------------------------------------ M-step

    @torch.no_grad()
    def maximize(self, counts: ExpectedCounts) -> None:
        """Set the leaves to the values that are the most likely ones for these counts.

        Raises: LearningError for negative counts, which negative weights lead to, or infinite ones; DataTypeError;
        ShapeError for counts of another circuit.
        """
        self._check_counts(counts)
        for _, _, value in counts:
            if not bool(torch.isfinite(value).all()):
                raise LearningError(
                    "expected counts are not finite: convert the circuit to double precision (double())"
                )
        for step in self._steps:
            step.maximize(counts, self.options)

    @torch.no_grad()
    def consistent_counts(self, counts: ExpectedCounts) -> ExpectedCounts:
        """Make counts with the totals of these and the present values as maximum. Raises: as `maximize`."""
        self._check_counts(counts)
        new = counts.times(0.0)
        for step in self._steps:
            step.make_consistent(counts, new)
        return new

    def _check_counts(self, counts: ExpectedCounts) -> None:
        """Raises: DataTypeError; ShapeError unless they have the form of the counts of this circuit."""
        check_type("counts", counts, ExpectedCounts, "those that expect() returns")
        found, wanted = ({(kind, t): tuple(v.shape) for kind, t, v in one} for one in (counts, self.zeros()))
        for at in (*wanted, *found):
            if found.get(at) != wanted.get(at):
                kind, tensor = at
                raise ShapeError(
                    f"the {kind} of tensor {tensor} have shape {found.get(at)} where the circuit has {wanted.get(at)}: "
                    "these are counts of another circuit; use those that expect() returns"
                )

    @property
    def _weights(self) -> list[WeightStep]:
        return [step for step in self._steps if isinstance(step, WeightStep)]

    @torch.no_grad()
    def _normalize(self) -> None:
        """Divide each row of weights by its sum."""
        for step in self._weights:
            if step.link.normalized_axis is not None:
                continue
            value = step.value
            totals = value.sum(step.axis, keepdim=True)
            if bool((value < 0).any()) or not bool((totals > 0).all() and torch.isfinite(totals).all()):
                name = self._name_of(step.at.tensor, int(step.at.slices[0]))
                raise LearningError(
                    f"the weights {name} or others of their shape cannot be normalized: a value is negative or not a "
                    "number, or a row is zero; start from values above 0, or make them with Parameterization('softmax')"
                )
            step.write_normalized(value)

    @torch.no_grad()
    def _require_distribution_at_other_weights(self) -> None:
        """The partition function is a polynomial in the weights: if it is 1 at weights drawn at random, it always is.

        It is not where weights are fixed in part, or read several times. Raises: LearningError.
        """
        tensors = {step.at.tensor for step in self._weights}
        before = {tensor: self.circuit.tensors[tensor].detach().clone() for tensor in sorted(tensors)}
        generator = torch.Generator().manual_seed(0)
        try:
            for step in self._weights:
                present = step.value
                factors = 0.1 + torch.rand(present.shape, generator=generator, dtype=torch.float64).to(present.device)
                share = min(self.options.pseudo_count, 1.0) / present.shape[step.axis]
                step.write_normalized(present * factors + share)
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
    """Add the counts of each fold to its leaf's."""
    for one in rows:
        counts[one.tensor].index_add_(0, one.slices, found[one.folds])
