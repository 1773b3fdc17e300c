"""How likely held-out rows of a table are under what `train` learns by default, and under Gaussian mixtures.

A categorical column has probabilities here, and a Gaussian has densities, which a peak at a category would raise
without limit. So the peer learns each code with uniform noise in [0, 1) added, and the probability of a row is the mean
of its density over `NUM_DRAWS` draws of the noise: the integral over the cell of the codes.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.learning_tables import WrittenTable, write_table
from explorer.app.training.job import Request, find_job, find_start
from explorer.compiler import TorchCompiler
from explorer.learning import train
from explorer.learning.log_likelihood import mean_log_likelihood
from explorer.learning.tables import CategoricalColumn, TableData

NUM_DRAWS = 64
MAX_COMPONENTS = 10
COVARIANCES = ("full", "tied", "diag", "spherical")
TIE = 0.005
"""Nats below which two scores are equal."""

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LearningScore:
    """Mean log-likelihoods of held-out rows in nats, and seconds: ours, the mixture that BIC chose, one Gaussian."""

    table: str
    rows: int
    reals: int
    categories: int
    structure: str
    ours: float
    mixture: float
    gaussian: float
    our_seconds: float
    peer_seconds: float
    components: str

    @property
    def better(self) -> float:
        """The score of the better peer."""
        return max(self.mixture, self.gaussian)

    @property
    def is_reached(self) -> bool:
        """Whether ours is at least as good as the better peer."""
        return self.ours >= self.better - TIE


def measure_learning(name: str, seed: int = 0) -> LearningScore:
    """Learn a table with the defaults of `train`, and by scikit-learn."""
    with TemporaryDirectory() as folder:
        written = write_table(name, Path(folder), seed)
        started = perf_counter()
        data, structure, ours = _ours(written)
        seconds = perf_counter() - started
    started = perf_counter()
    mixture, gaussian, components = _peers(data, seed)
    is_category = _categories(data)
    return LearningScore(
        name,
        len(data.training) + len(data.held_out),
        int((~is_category).sum()),
        int(is_category.sum()),
        structure,
        ours,
        mixture,
        gaussian,
        seconds,
        perf_counter() - started,
        components,
    )


def _ours(written: WrittenTable) -> tuple[TableData, str, float]:
    job = find_job(Request(data=str(written.file), kinds=written.kinds), None)
    assert isinstance(job.data, TableData)
    start = find_start(None, job.name, job.data, {}, job.options)
    circuit = TorchCompiler(seed=start.settings.seed).compile(job.symbolic)
    train(circuit, job.data, start.settings)
    return job.data, job.name, mean_log_likelihood(circuit, job.data.held_out)


def _categories(data: TableData) -> NDArray[np.bool_]:
    return np.array([isinstance(column, CategoricalColumn) for column in data.columns])


def _peers(data: TableData, seed: int) -> tuple[float, float, str]:
    """The scores of the best mixture and of one Gaussian, and the components of the mixture in words."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    training, held_out = (rows.double().numpy() for rows in (data.training, data.held_out))
    generator, is_category = np.random.default_rng(seed), _categories(data)
    known = training + generator.random(training.shape) * is_category
    scale = np.where(is_category, known.std(0), 1.0)
    draws = [
        (held_out + generator.random(held_out.shape) * is_category) / scale
        for _ in range(NUM_DRAWS if is_category.any() else 1)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits: list[Any] = [
            GaussianMixture(count, covariance_type=kind, random_state=seed).fit(known / scale)
            for count in range(1, MAX_COMPONENTS + 1)
            for kind in COVARIANCES
        ]

    def score(model: Any) -> float:
        return _mean_log([model.score_samples(rows) for rows in draws]) - float(np.log(scale).sum())

    best = min(fits, key=lambda model: model.bic(known / scale))
    return score(best), score(fits[0]), f"{best.n_components} {best.covariance_type}"


def _mean_log(logs: Sequence[Rows]) -> float:
    """The mean over rows of the logarithm of the mean density over draws."""
    rows = torch.from_numpy(np.stack(logs))
    return float((torch.logsumexp(rows, 0) - math.log(len(logs))).mean())


def scores_table(scores: Sequence[LearningScore]) -> Table:
    """One row per table; `ours - better` above 0 means that ours is better, a ratio below 1 that it is faster."""
    table = Table(title="Mean log-likelihood of held-out rows, nats: the default of train, and scikit-learn")
    table.add_column("table")
    names = ("rows", "real + categorical", "ours", "structure", "mixture by BIC", "one Gaussian", "ours - better")
    for name in (*names, "ours, s", "scikit-learn, s", "ratio"):
        table.add_column(name, justify="right")
    for row in scores:
        table.add_row(
            row.table,
            f"{row.rows:,}",
            f"{row.reals} + {row.categories}",
            f"{row.ours:.3f}",
            row.structure,
            f"{row.mixture:.3f} ({row.components})",
            f"{row.gaussian:.3f}",
            f"{row.ours - row.better:+.3f}",
            f"{row.our_seconds:.1f}",
            f"{row.peer_seconds:.1f}",
            f"{row.our_seconds / row.peer_seconds:.2f}",
        )
    return table


def summary(scores: Sequence[LearningScore]) -> str:
    """How often ours is at least as good, and where it is worst."""
    reached = sum(row.is_reached for row in scores)
    worst = min(scores, key=lambda row: row.ours - row.better)
    return (
        f"At least as good as the better of both in {reached} of {len(scores)}; "
        f"the worst: {worst.table}, {worst.ours - worst.better:+.3f} nats."
    )
