"""The two methods of maximum likelihood and their options: a step on a batch, and the state to continue from."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor, nn

from explorer.backend import TorchCircuit
from explorer.errors import CircuitError, LearningError, ValueRangeError, check_name
from explorer.learning.expectation_maximization import ExpectationMaximization
from explorer.learning.log_likelihood import has_missing
from explorer.learning.maximization import ExpectedCounts, MaximizationOptions, load_counts
from explorer.learning.state import load_moments, moments_of
from explorer.learning.workers import Workers
from explorer.options import MAX_SEED
from explorer.symbolic.checks import check_fields

METHODS = ("gradient", "em")
BATCH_SIZE = 64
LEARNING_RATE = 0.05


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The options of training.

    `batch_size` is 64 by default for gradients, and all rows for expectation-maximization. `learning_rate` is Adam's,
    0.05 by default, or the share of each batch in the running averages of mini-batch
    expectation-maximization, which decreases by default. `patience`: stop after this many epochs without a better
    likelihood of held-out rows. The other fields are those of `MaximizationOptions`.
    Raises: DataTypeError; ValueRangeError for numbers out of range; UnknownNameError for an unknown method.
    """

    epochs: int = 30
    batch_size: int | None = None
    learning_rate: float | None = None
    seed: int = 0
    method: str = "gradient"
    pseudo_count: float = 0.0
    stddev_floor: float = 1e-3
    pooled_rows: float = 0.0
    shrinkage: float = 0.0
    patience: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("method", self.method, METHODS)
        for name in ("epochs", "batch_size", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueRangeError(f"{name} must be at least 1; found {value}")
        if self.learning_rate is not None and not (isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueRangeError(f"learning_rate must be above 0 and finite; found {self.learning_rate}")
        if self.method == "em" and self.learning_rate is not None and self.learning_rate > 1:
            raise ValueRangeError(
                f"learning_rate is the share of a batch in running averages, so at most 1; found {self.learning_rate}"
            )
        if not 0 <= self.seed <= MAX_SEED:
            raise ValueRangeError(f"seed must be from 0 to {MAX_SEED}; found {self.seed}")

    @property
    def gradient_learning_rate(self) -> float:
        """The learning rate of Adam."""
        return LEARNING_RATE if self.learning_rate is None else self.learning_rate

    def rows_per_step(self, num_rows: int) -> int:
        """The number of rows of a batch, given the number of all rows."""
        if self.batch_size is not None:
            return min(self.batch_size, num_rows)
        return min(BATCH_SIZE, num_rows) if self.method == "gradient" else num_rows


DECAY = 0.6
"""Step t of mini-batch expectation-maximization, counted from 1, has the size t^-DECAY: between 1/2 and 1, the running
averages converge. Source: Cappé and Moulines 2009, Online EM algorithm for latent data models."""


class Method(ABC):
    """A way to raise the likelihood; several workers take the same steps, each with its shard of a batch."""

    @abstractmethod
    def step(self, shard: Tensor, num_rows: int) -> float:
        """Take a step on a batch of `num_rows` rows; this worker has a shard of them.

        Returns the sum of the negative log-likelihoods of the whole batch before the step, in nats.
        Raises: CircuitError if it is not finite.
        """

    @abstractmethod
    def state(self) -> tuple[int, dict[str, dict[str, Tensor]]]:
        """The number of steps, and copies on the CPU of what the method has averaged: by name, by leaf."""

    @abstractmethod
    def load(self, steps: int, averages: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Continue after these steps. Raises: UnknownNameError, ShapeError for a state of a different circuit."""


class GradientDescent(Method):
    """Adam on the mean negative log-likelihood of a batch; its averages are its moments."""

    def __init__(self, circuit: TorchCircuit, model: nn.Module, options: TrainingOptions, workers: Workers) -> None:
        learned = [p for p in circuit.parameters() if p.requires_grad]
        self._circuit, self._workers = circuit, workers
        self._optimizer = torch.optim.Adam(learned, lr=options.gradient_learning_rate)
        self._model = workers.parallel(model)

    def step(self, shard: Tensor, num_rows: int) -> float:
        self._optimizer.zero_grad(set_to_none=True)
        loss = -self._model(shard).sum()
        nats = self._workers.total(loss)
        if not math.isfinite(nats):
            raise CircuitError(
                f"the likelihood is no longer finite (mean log-likelihood {-nats / num_rows}); "
                "try a smaller learning rate"
            )
        # Gradients are averaged over workers, so the loss of each counts as many times as there are workers.
        (loss * (self._workers.size / num_rows)).backward()
        self._optimizer.step()
        return nats

    def state(self) -> tuple[int, dict[str, dict[str, Tensor]]]:
        return moments_of(self._circuit, self._optimizer)

    def load(self, steps: int, averages: Mapping[str, Mapping[str, Tensor]]) -> None:
        load_moments(self._circuit, self._optimizer, steps, averages)


class Maximization(Method):
    """Expectation-maximization; its averages are the running averages of expected counts, as if of all rows.

    A batch of all rows replaces the averages, so that no step lowers the likelihood. A smaller one is blended in, into
    counts that are consistent with the initial values.
    """

    def __init__(self, circuit: TorchCircuit, options: TrainingOptions, workers: Workers, total_rows: int) -> None:
        workers.start_equal(circuit)
        settings = MaximizationOptions(
            options.pseudo_count, options.stddev_floor, options.pooled_rows, options.shrinkage
        )
        self._circuit, self._workers, self._total_rows = circuit, workers, total_rows
        self._size = options.learning_rate
        self._em = ExpectationMaximization(circuit, settings)
        self._steps = 0
        self._averages: ExpectedCounts | None = None

    def step(self, shard: Tensor, num_rows: int) -> float:
        counts, log_likelihood = self._em.expect(shard)
        nats = self._workers.total(torch.tensor(-log_likelihood, dtype=torch.float64))
        for _, _, value in counts:
            self._workers.add_up(value)
        self._steps += 1
        if num_rows >= self._total_rows:
            self._averages = counts
        else:
            batch = counts.times(self._total_rows / num_rows)
            before = self._averages if self._averages is not None else self._em.consistent_counts(batch)
            self._averages = before.blend(batch, self._size or (self._steps + 1) ** -DECAY)
        self._em.maximize(self._averages)
        return nats

    def state(self) -> tuple[int, dict[str, dict[str, Tensor]]]:
        return self._steps, self._averages.by_leaf(self._circuit) if self._averages is not None else {}

    def load(self, steps: int, averages: Mapping[str, Mapping[str, Tensor]]) -> None:
        self._steps = steps
        self._averages = load_counts(self._em.zeros(), self._circuit, averages)


def make_method(circuit: TorchCircuit, options: TrainingOptions, workers: Workers, rows: Tensor, fast: bool) -> Method:
    """The method that the options name, for rows (N, D) in which NaN is a missing value.

    Raises: LearningError if it cannot learn the circuit, or not with `fast`.
    """
    if fast:
        check_fast(rows)
    if options.method == "gradient":
        model = circuit.fast() if fast else circuit.probe().to(workers.device) if has_missing(rows) else circuit
        return GradientDescent(circuit, model, options, workers)
    if fast:
        raise LearningError(
            "a fast backend computes gradients by leaves, and expectation-maximization needs those by weights; "
            "leave out --fast, or use --method gradient"
        )
    return Maximization(circuit, options, workers, len(rows))


def check_fast(rows: Tensor) -> None:
    """Raises: LearningError if a fast backend cannot take steps on these rows (N, D)."""
    if has_missing(rows):
        raise LearningError("a fast backend does not sum out missing values; leave out --fast")
