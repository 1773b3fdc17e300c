"""The options of training."""

from dataclasses import dataclass
from math import isfinite

from explorer.errors import ValueRangeError, check_name
from explorer.options import MAX_SEED
from explorer.symbolic.checks import check_fields

METHODS = ("gradient", "em")
BATCH_SIZE = 64
LEARNING_RATE = 0.05


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The options of training.

    `batch_size` is 64 by default for gradients, and all rows for expectation-maximization. `learning_rate` is that of
    Adam, 0.05 by default, or the share of each batch in the running averages of mini-batch
    expectation-maximization, which decreases by default. `patience`: stop after this many epochs without a better
    likelihood of held-out rows. `pseudo_count` and `stddev_floor`: see `MaximizationOptions`.
    Raises: DataTypeError; ValueRangeError for numbers out of range; UnknownNameError for an unknown method.
    """

    epochs: int = 30
    batch_size: int | None = None
    learning_rate: float | None = None
    seed: int = 0
    method: str = "gradient"
    pseudo_count: float = 0.0
    stddev_floor: float = 1e-3
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
