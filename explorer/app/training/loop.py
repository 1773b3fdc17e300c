"""Trains a circuit by gradient descent on the mean negative log-likelihood, epoch by epoch."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor

from explorer.app.training.data import ImageData
from explorer.backend import TorchCircuit
from explorer.backend.layers.inputs import TorchContinuousLayer
from explorer.errors import CircuitError, ShapeError, ValueRangeError
from explorer.options import MAX_SEED

EVALUATION_BATCH = 1024
NORMALIZED_NATS = 1e-4
"""A circuit counts as normalized if its log partition function is this close to 0, per dimension."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """The results of an epoch: -log2 p(x) / D, the mean over its batches and over the held-out images."""

    number: int
    training_bits: float
    held_out_bits: float
    seconds: float


@dataclass(frozen=True)
class TrainingResult:
    """The finished epochs, and whether training was interrupted before the last requested one.

    `is_density`: some input is a density, so the circuit has negative log-densities instead of code lengths: they
    depend on the scale of the data, may be negative, and do not compare with the bits of probabilities.
    """

    epochs: tuple[Epoch, ...]
    interrupted: bool = False
    is_density: bool = False


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The options of training. Raises: ValueRangeError for numbers out of range."""

    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueRangeError(
                f"epochs and batch_size must be at least 1; found {self.epochs} and {self.batch_size}"
            )
        if not self.learning_rate > 0:
            raise ValueRangeError(f"learning_rate must be above 0; found {self.learning_rate}")
        if not 0 <= self.seed <= MAX_SEED:
            raise ValueRangeError(f"seed must be from 0 to {MAX_SEED}; found {self.seed}")


def train(
    circuit: TorchCircuit,
    data: ImageData,
    options: TrainingOptions,
    *,
    before: Sequence[Epoch] = (),
    on_batch: Callable[[int, int], None] = lambda done, total: None,
    on_epoch: Callable[[Epoch], None] = lambda epoch: None,
) -> TrainingResult:
    """Train with Adam; `on_batch` receives the number of finished batches and of all, `on_epoch` each finished epoch.

    The order of the images depends on `options.seed` only. Ctrl-C ends training: the circuit then has the values of
    the last finished epoch. `before` are earlier epochs, whose numbering is continued. The circuit must be smooth and
    decomposable (`Circuit.require`).

    Raises: CircuitError if the likelihood is not finite, or the circuit does not compute the log-likelihood of one
    normalized distribution; ShapeError if the data has a different number of variables.
    """
    _check(circuit, data)
    generator = torch.Generator().manual_seed(options.seed)
    optimizer = torch.optim.Adam([p for p in circuit.parameters() if p.requires_grad], lr=options.learning_rate)
    batches_in_epoch = -(-len(data.training) // options.batch_size)
    finished = list(before)
    kept = circuit.leaf_state()
    try:
        for _ in range(options.epochs):
            started = perf_counter()
            circuit.train()
            total = 0.0
            order = torch.randperm(len(data.training), generator=generator)
            for done, rows in enumerate(order.split(options.batch_size), start=1):
                total += _step(circuit, data.training[rows], optimizer) * len(rows)
                on_batch(done, batches_in_epoch)
            training_bits = total / len(data.training) / data.num_variables / math.log(2)
            held_out_bits = bits_per_dimension(circuit, data.held_out)
            epoch = Epoch(len(finished) + 1, training_bits, held_out_bits, perf_counter() - started)
            finished.append(epoch)
            kept = circuit.leaf_state()
            on_epoch(epoch)
    except KeyboardInterrupt:
        circuit.load_leaf_state(kept)
        return TrainingResult(tuple(finished), True, is_density(circuit))
    finally:
        circuit.eval()
    return TrainingResult(tuple(finished), False, is_density(circuit))


def is_density(circuit: TorchCircuit) -> bool:
    """Whether the circuit is a density in at least one variable."""
    return any(isinstance(layer, TorchContinuousLayer) for layer in circuit.layers)


@torch.no_grad()
def bits_per_dimension(circuit: TorchCircuit, images: Tensor) -> float:
    """Mean of -log2 p(x) / D over images (N, D).

    Raises: CircuitError if the circuit is not one normalized distribution.
    """
    _require_distribution(circuit)
    frozen = circuit.freeze()
    total = sum(float(frozen(batch).sum(dtype=torch.float64)) for batch in images.split(EVALUATION_BATCH))
    return -total / len(images) / images.shape[1] / math.log(2)


def _step(circuit: TorchCircuit, batch: Tensor, optimizer: torch.optim.Optimizer) -> float:
    """Run one step of the optimizer; returns the mean negative log-likelihood of the batch before it, in nats."""
    optimizer.zero_grad(set_to_none=True)
    loss = -circuit(batch).mean()
    value = loss.item()
    if not math.isfinite(value):
        raise CircuitError(
            f"the likelihood is no longer finite (mean log-likelihood {-value}); try a smaller learning rate"
        )
    loss.backward()
    optimizer.step()
    return value


def _check(circuit: TorchCircuit, data: ImageData) -> None:
    if circuit.semiring.name != "lse-sum":
        raise CircuitError(
            f"training maximizes log-likelihoods; compile with semiring lse-sum, not {circuit.semiring.name}"
        )
    if circuit.num_variables != data.num_variables:
        raise ShapeError(
            f"the circuit reads {circuit.num_variables} variables, an image of {data.name} has {data.num_variables}"
        )
    if not any(p.requires_grad for p in circuit.parameters()):
        raise CircuitError("the circuit has no learnable parameter")
    _require_distribution(circuit)


def _require_distribution(circuit: TorchCircuit) -> None:
    """Raises: CircuitError unless the circuit has one output, whose integral is 1."""
    partition = circuit.integral()
    if partition.numel() != 1:
        outputs, units = partition.shape
        raise CircuitError(
            f"a likelihood needs one output with one unit; the circuit has {outputs} output{'s' * (outputs != 1)} "
            f"with {units} unit{'s' * (units != 1)}: add a sum with num_units=1, or build it with num_classes=1"
        )
    log_partition = partition.item()
    if abs(log_partition) > NORMALIZED_NATS * max(circuit.num_variables, 1):  # NaN is an error of the likelihood
        raise CircuitError(
            f"the circuit is not normalized: the logarithm of its partition function is {log_partition:.4g}, not 0, so "
            "its outputs are not log-likelihoods; give its weights and inputs a normalizing parameterization, such as "
            "Parameterization('softmax')"
        )
