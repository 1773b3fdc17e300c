"""Mixtures for tables: a joint normal density of all numbers times categories per component, chosen by held-out rows.

Expectation-maximization on tensors, for all parts of a cross-validation at once; its steps are those of
`ExpectationMaximization` on the circuit that is built.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from explorer.learning.covariances import cholesky, linear_form, shrink
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    GaussianLayer,
    MultivariateGaussianLayer,
    ParameterNode,
    SoftmaxParameter,
    SoftplusParameter,
    TensorParameter,
)

PARTS = ((300, 5), (1_000, 3), (2_500, 2))
"""The parts of the cross-validation up to these numbers of rows; one beyond. Each fifth is held out once."""
EVERY = 5
MAX_STEPS = 60
MAX_WORSE_STEPS = 10
"""Expectation-maximization ends after this many steps without a better likelihood of held-out rows."""
SMALLEST_GAIN = 1e-3
"""Nats that a further step of the search must gain."""
UNITS = (2, 3, 4, 6, 8, 12, 16, 24)
SHRINKAGES = (0.0, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0)
POOLED = (0.0, 0.125, 0.5, 2.0, 8.0)
"""Pooled rows per number; the search begins with `FIRST_POOLED`."""
FIRST_POOLED = 0.5
MIN_ROWS_PER_UNIT = 5
MAX_FAILED = 2
"""The search ends after this many consecutive numbers of components without a gain."""
MAX_REFINEMENTS = 3
RESTARTS = 5
KMEANS_STEPS = 20
MAX_MIXTURE_COLUMNS = 300
"""Maximum number of columns: a covariance has their square of numbers."""
MAX_NUMBERS = 2e7
"""Maximum numbers in one tensor of the search; more parts are evaluated one after another."""


@dataclass(frozen=True, slots=True)
class MixtureSettings:
    """The number of components and of steps, and the options of `MaximizationOptions`."""

    units: int
    steps: int = MAX_STEPS
    pooled_rows: float = 0.0
    shrinkage: float = 0.0
    pseudo_count: float = 1.0
    stddev_floor: float = 1e-3


@dataclass(frozen=True, slots=True)
class Found:
    """A mixture with its mean log-likelihood of held-out rows, in nats, and that of the rows of the first part."""

    settings: MixtureSettings
    score: float
    first_score: float


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table without missing cells: numbers (N, V), and codes (N,) with their numbers of values.

    `reals` and `discrete` are the variables of the columns.
    """

    reals: tuple[int, ...]
    discrete: tuple[int, ...]
    numbers: Tensor
    codes: tuple[Tensor, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, rows: Tensor, sizes: Sequence[int | None]) -> "Rows":
        """Make them of rows (N, D) and the number of values of each column, None if it is real."""
        reals = tuple(at for at, size in enumerate(sizes) if size is None)
        discrete = tuple(at for at, size in enumerate(sizes) if size is not None)
        codes = tuple(rows[:, at].long() for at in discrete)
        return cls(reals, discrete, rows[:, list(reals)].double(), codes, tuple(size for size in sizes if size))

    def __len__(self) -> int:
        return len(self.numbers)

    def features(self) -> Tensor:
        """Standardized columns (N, V + ...) for k-means, in which few categories have a column each."""
        parts: list[Tensor] = []
        for code, size in zip(self.codes, self.sizes, strict=True):
            parts.append(one_hot(code, size).double() if size <= EVERY else code.double().unsqueeze(1))
        centered = [part - part.mean(0) for part in parts]
        return torch.cat(
            [self.numbers, *(part / part.square().sum(1).mean().sqrt().clamp(min=1e-9) for part in centered)], 1
        )


@dataclass(frozen=True, eq=False)
class Mixture:
    """Mixtures of K components, R at once: logarithms of weights (R, K), joint normal densities, categories."""

    weights: Tensor
    mean: Tensor
    covariance: Tensor
    categories: tuple[Tensor, ...]

    def log_joint(self, rows: Rows) -> Tensor:
        """The logarithms (R, N, K) of the densities of rows and components."""
        total = self.weights.unsqueeze(1)
        if rows.reals:
            count, factor = len(rows.reals), cholesky(self.covariance)  # (R, K, V, V)
            one = torch.eye(count, dtype=factor.dtype).expand_as(factor)
            root = torch.linalg.solve_triangular(factor, one, upper=False)
            z = (rows.numbers - self.mean.unsqueeze(2)) @ root.transpose(2, 3)  # (R, K, N, V)
            size = factor.diagonal(dim1=2, dim2=3).log().sum(2) + 0.5 * count * math.log(2 * math.pi)
            total = total - 0.5 * z.square().sum(3).transpose(1, 2) - size.unsqueeze(1)
        for logs, code in zip(self.categories, rows.codes, strict=True):
            total = total + logs[:, :, code].transpose(1, 2)
        return total.expand(-1, len(rows), -1)


def maximize(rows: Rows, share: Tensor, settings: MixtureSettings) -> Mixture:
    """The M-step of responsibilities (R, N, K)."""
    count = share.sum(1)  # (R, K)
    pseudo = settings.pseudo_count
    weights = torch.log((count + pseudo / count.shape[1]) / (count.sum(1, keepdim=True) + pseudo))
    by_unit = share.transpose(1, 2)
    mean = by_unit @ rows.numbers / count.clamp(min=1e-9).unsqueeze(2)  # (R, K, V)
    weighted = by_unit.unsqueeze(3) * rows.numbers
    scatter = weighted.transpose(2, 3) @ rows.numbers - count[..., None, None] * mean.unsqueeze(3) * mean.unsqueeze(2)
    covariance = shrink(count, scatter, settings.pooled_rows, settings.shrinkage, settings.stddev_floor)
    categories: list[Tensor] = []
    for code, size in zip(rows.codes, rows.sizes, strict=True):
        flow = torch.zeros((*count.shape, size), dtype=share.dtype).index_add_(2, code, by_unit)
        categories.append(torch.log((flow + pseudo / size) / (count + pseudo).unsqueeze(2)))
    return Mixture(weights, mean, covariance, tuple(categories))


def start(features: Tensor, used: Tensor, units: int, generator: torch.Generator) -> Tensor:
    """Responsibilities (R, N, K) by k-means from k-means++, of the rows that each of R runs uses (R, N).

    Source: Arthur and Vassilvitskii 2007, k-means++: the advantages of careful seeding.
    """
    runs, centers = len(used), torch.empty((len(used), units, features.shape[1]), dtype=features.dtype)
    distance = torch.ones_like(used)
    for unit in range(units):
        chance = used * distance
        chance = torch.where(chance.sum(1, keepdim=True) > 0, chance, used)
        chosen = torch.multinomial(chance, 1, generator=generator)[:, 0]
        centers[:, unit] = features[chosen]
        from_it = (features.unsqueeze(0) - features[chosen].unsqueeze(1)).square().sum(2)
        distance = from_it if unit == 0 else torch.minimum(distance, from_it)
    nearest = torch.zeros(used.shape, dtype=torch.long)
    for _ in range(KMEANS_STEPS):
        nearest = torch.cdist(features.expand(runs, -1, -1), centers).argmin(2)
        share = one_hot(nearest, units).double() * used.unsqueeze(2)
        count = share.sum(1).unsqueeze(2)
        centers = torch.where(count > 0, share.transpose(1, 2) @ features / count.clamp(min=1.0), centers)
    return one_hot(nearest, units).double() * used.unsqueeze(2)


def fit(rows: Rows, used: Tensor, share: Tensor, settings: MixtureSettings) -> tuple[Mixture, Tensor, Tensor]:
    """Run the steps of R mixtures from responsibilities (R, N, K).

    Returns the mixtures, the mean log-likelihoods (steps, R) of the rows that a run does not use, and (R,) of the
    others. Where there are unused rows, it ends early once these get less likely.
    """
    mixture, curve, unused = maximize(rows, share, settings), list[Tensor](), 1 - used
    has_unused = bool(unused.any())
    logs = mixture.log_joint(rows)
    for step in range(settings.steps):
        total = torch.logsumexp(logs, 2)
        curve.append((total * unused).sum(1) / unused.sum(1).clamp(min=1.0))
        means = [float(one.mean()) for one in curve]
        if step + 1 == settings.steps or (has_unused and step - means.index(max(means)) >= MAX_WORSE_STEPS):
            break
        mixture = maximize(rows, torch.softmax(logs, 2) * used.unsqueeze(2), settings)
        logs = mixture.log_joint(rows)
    known = (torch.logsumexp(logs, 2) * used).sum(1) / used.sum(1)
    return mixture, torch.stack(curve), known


class MixtureSearch:
    """The search for the settings of a mixture by the likelihood of rows that are held out of these."""

    def __init__(self, rows: Rows, seed: int) -> None:
        self.rows, self._seed = rows, seed
        self._features = rows.features()
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
        part = torch.empty_like(order)
        part[order] = torch.arange(len(rows)) % EVERY
        parts = next((count for most, count in PARTS if len(rows) <= most), 1)
        self.used = torch.stack([(part != at).double() for at in range(parts)])
        self._found: dict[tuple[int, float, float], Found] = {}

    def one(self) -> Found:
        """The best joint normal density of one component."""
        shrinkages = SHRINKAGES if len(self.rows.reals) > 1 else SHRINKAGES[:1]
        return self._best(MixtureSettings(1, 1, shrinkage=share) for share in shrinkages)

    def best(self, units: int | None = None) -> Found:
        """The best mixture, of this number of components if it is given."""
        found = self.one()
        at, reals = SHRINKAGES.index(found.settings.shrinkage), len(self.rows.reals)
        pooled = FIRST_POOLED * reals if reals > 1 else 0.0
        most = max(len(self.rows) // MIN_ROWS_PER_UNIT, 1)
        failed = 0
        best: Found | None = found if units in (None, 1) else None
        for count in (one for one in ((units,) if units else UNITS) if 1 < one <= most or one == units):
            start_at = SHRINKAGES.index(best.settings.shrinkage) if best else at
            tried = self._best(
                MixtureSettings(count, pooled_rows=pooled, shrinkage=SHRINKAGES[one])
                for one in {start_at, min(start_at + 1, len(SHRINKAGES) - 1), *([len(SHRINKAGES) - 1] * (count == 4))}
            )
            failed = 0 if best is None or tried.score > best.score + SMALLEST_GAIN else failed + 1
            best = tried if failed == 0 else best
            if failed == MAX_FAILED:
                break
        assert best is not None
        return self._refine(best)

    def _refine(self, best: Found) -> Found:
        reals = len(self.rows.reals)
        if reals < 2:
            return best
        for _ in range(MAX_REFINEMENTS):
            at = SHRINKAGES.index(best.settings.shrinkage)
            near = [replace(best.settings, shrinkage=one) for one in SHRINKAGES[max(at - 1, 0) : at + 2]]
            if best.settings.units > 1:
                near += [replace(best.settings, pooled_rows=one * reals) for one in POOLED]
            steps = 1 if best.settings.units == 1 else MAX_STEPS
            found = self._best([best.settings, *(replace(one, steps=steps) for one in near)])
            if found.score <= best.score + SMALLEST_GAIN:
                break
            best = found
        return best

    def _best(self, settings: Iterable[MixtureSettings]) -> Found:
        return max((self._score(one) for one in settings), key=lambda found: found.score)

    def _score(self, settings: MixtureSettings) -> Found:
        key = (settings.units, settings.pooled_rows, settings.shrinkage)
        if key not in self._found:
            generator = torch.Generator().manual_seed(self._seed)
            share = start(self._features, self.used, settings.units, generator)
            size = max(int(MAX_NUMBERS / (len(self.rows) * settings.units * max(len(self.rows.reals), 1))), 1)
            curves = [
                fit(self.rows, used, own, settings)[1]
                for used, own in zip(self.used.split(size), share.split(size), strict=True)
            ]
            length = max(map(len, curves))
            curve = torch.cat([torch.cat([one, one[-1:].expand(length - len(one), -1)]) for one in curves], 1)
            means = curve.mean(1)
            at = int((means >= means.max() - SMALLEST_GAIN).nonzero()[0])  # no step that gains next to nothing
            self._found[key] = Found(replace(settings, steps=at + 1), float(means[at]), float(curve[at, 0]))
        return self._found[key]

    def first_part(self) -> Tensor:
        """Which rows (N,) the first part holds out."""
        return self.used[0] == 0

    def first_step(self, settings: MixtureSettings) -> Mixture:
        """The mixture after the first M-step, from the start that leads to the most likely rows."""
        runs = 1 if settings.units == 1 else RESTARTS
        used = torch.ones((runs, len(self.rows)), dtype=torch.float64)
        share = start(self._features, used, settings.units, torch.Generator().manual_seed(self._seed))
        reached = torch.cat([fit(self.rows, used[:1], one[None], settings)[2] for one in share])
        best = int(reached.argmax())
        return maximize(self.rows, share[best : best + 1], settings)


def build_mixture(rows: Rows, mixture: Mixture) -> Circuit:
    """The circuit of a mixture (R = 1): a sum of products of a joint normal density and categories."""
    units = mixture.weights.shape[1]
    b = CircuitBuilder()
    factors: list[int] = []
    if rows.reals:
        stddev, slope = linear_form(mixture.covariance[0])
        below, mean = stddev + torch.log(-torch.expm1(-stddev)), mixture.mean[0]  # the inverse of a softplus
        given = {"scope": rows.reals, "num_output_units": units}
        if len(rows.reals) == 1:
            spread = SoftplusParameter((_leaf(below[:, 0]),))
            factors.append(b.add(GaussianLayer(**given, mean=_leaf(mean[:, 0]), stddev=spread)))
        else:
            spread = SoftplusParameter((_leaf(below),))
            layer = MultivariateGaussianLayer(**given, mean=_leaf(mean), stddev=spread, slope=_leaf(slope))
            factors.append(b.add(layer))
    for variable, size, logs in zip(rows.discrete, rows.sizes, mixture.categories, strict=True):
        probs = SoftmaxParameter((_leaf(logs[0]),), axis=1)
        given = {"scope": (variable,), "num_output_units": units, "num_categories": size}
        factors.append(b.add(CategoricalLayer(**given, probs=probs)))
    product = factors[0] if len(factors) == 1 else b.hadamard(*factors)
    weight: ParameterNode = SoftmaxParameter((_leaf(mixture.weights),), axis=1)
    return b.build(b.sum(product, num_units=1, weight=weight))


def _leaf(values: Tensor) -> TensorParameter:
    return TensorParameter(tuple(values.shape), initializer=ConstantInitializer(values.float().numpy()))
