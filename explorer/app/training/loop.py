"""Trains a circuit by gradient descent on the mean negative log-likelihood, epoch by epoch."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

import torch
from torch import Tensor, nn

from explorer.app.training.data import ImageData
from explorer.app.training.evaluation import bits_per_dimension, check_data, require_distribution
from explorer.app.training.state import TrainingState, load_moments, moments_of
from explorer.app.training.workers import ALONE, Workers
from explorer.backend import TorchCircuit
from explorer.backend.layers.inputs import TorchContinuousLayer
from explorer.errors import CircuitError, ShapeError, ValueRangeError
from explorer.options import MAX_SEED


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

    `state` is where the last epoch of this run ended; None if it finished none.

    `is_density`: some input is a density, so the circuit has negative log-densities instead of code lengths: they
    depend on the scale of the data, may be negative, and do not compare with the bits of probabilities.
    """

    epochs: tuple[Epoch, ...]
    interrupted: bool = False
    is_density: bool = False
    state: TrainingState | None = None


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
    workers: Workers = ALONE,
    fast: bool = False,
    before: Sequence[Epoch] = (),
    state: TrainingState | None = None,
    save_every: int = 0,
    on_batch: Callable[[int, int], None] = lambda done, total: None,
    on_epoch: Callable[[Epoch], None] = lambda epoch: None,
    on_state: Callable[[tuple[Epoch, ...], TrainingState], None] = lambda epochs, state: None,
) -> TrainingResult:
    """Train with Adam; `on_batch` receives the number of finished batches and of all, `on_epoch` each finished epoch.

    The order of the images depends on `options.seed` only. Ctrl-C ends training: the circuit then has the values of
    the last finished epoch. `before` are earlier epochs, whose numbering is continued, and `state` is where they ended:
    training continues as if it had not been interrupted, beginning with the rest of an unfinished epoch.
    `on_state` receives the finished epochs and the state after each epoch and, if `save_every` is not 0, also every
    `save_every` steps. The circuit must be smooth and decomposable (`Circuit.require`), and on the device of the
    workers. With `fast`, its calls are those of `circuit.fast()`.

    Several `workers` have the same circuit, data and options, and compute the same steps as one: each has a shard of
    every batch, and its loss is the sum over its rows divided by the rows of the whole batch.

    Raises: CircuitError if the likelihood is not finite, or the circuit does not compute the log-likelihood of one
    normalized distribution, or if the workers differ; ShapeError if the data has a different number of variables, or
    the state is of data with a different number of rows.
    """
    _check(circuit, data)
    training, held_out = (rows.to(workers.device) for rows in (data.training, data.held_out))
    generator = torch.Generator().manual_seed(options.seed)
    optimizer = torch.optim.Adam([p for p in circuit.parameters() if p.requires_grad], lr=options.learning_rate)
    steps, done, nats = 0, 0, 0.0
    if state is not None:
        if state.num_rows != len(training):
            raise ShapeError(
                f"the state of training is of data with {state.num_rows} rows; {data.name} has {len(training)}"
            )
        generator.set_state(state.order)
        load_moments(circuit, optimizer, state.steps, state.moments)
        steps, done, nats = state.steps, state.rows_done, state.nats
    workers.require_equal(
        {
            "the compiled circuit": [(name, value.shape) for name, value in circuit.leaf_state().items()],
            "the data": (data.training, data.held_out),
            "the configuration": (options, save_every, len(before)),
            "the checkpoint": (generator.get_state(), steps, done, moments_of(circuit, optimizer)),
        }
    )
    model = workers.parallel(circuit.fast() if fast else circuit)
    batches_in_epoch = -(-len(training) // options.batch_size)

    def present_state(order: Tensor) -> TrainingState:
        found = moments_of(circuit, optimizer)[1]
        return TrainingState(asdict(options), len(training), order, done, nats, steps, found)

    finished = list(before)
    kept = circuit.leaf_state()
    kept_state = None
    try:
        for _ in range(options.epochs):
            started = perf_counter()
            circuit.train()
            start_of_epoch = generator.get_state()
            order = torch.randperm(len(training), generator=generator)
            for rows in order[done:].split(options.batch_size):
                nats += _step(model, training[workers.shard(rows)], len(rows), optimizer, workers)
                done += len(rows)
                steps += 1
                if save_every and steps % save_every == 0 and done < len(training):
                    on_state(tuple(finished), present_state(start_of_epoch))
                on_batch(-(-done // options.batch_size), batches_in_epoch)
            training_bits = nats / len(training) / data.num_variables / math.log(2)
            held_out_bits = bits_per_dimension(circuit, held_out, workers)
            epoch = Epoch(len(finished) + 1, training_bits, held_out_bits, perf_counter() - started)
            finished.append(epoch)
            done, nats = 0, 0.0
            kept, kept_state = circuit.leaf_state(), present_state(generator.get_state())
            on_state(tuple(finished), kept_state)
            on_epoch(epoch)
    except KeyboardInterrupt:
        circuit.load_leaf_state(kept)
        return TrainingResult(tuple(finished), True, is_density(circuit), kept_state)
    finally:
        circuit.eval()
    return TrainingResult(tuple(finished), False, is_density(circuit), kept_state)


def is_density(circuit: TorchCircuit) -> bool:
    """Whether the circuit is a density in at least one variable."""
    return any(isinstance(layer, TorchContinuousLayer) for layer in circuit.layers)


def _step(model: nn.Module, shard: Tensor, num_rows: int, optimizer: torch.optim.Optimizer, workers: Workers) -> float:
    """Run one step of the optimizer on a batch of `num_rows` rows, of which this worker has a shard.

    Returns the sum of the negative log-likelihoods of the whole batch before the step, in nats.
    """
    optimizer.zero_grad(set_to_none=True)
    loss = -model(shard).sum()
    nats = workers.total(loss)
    if not math.isfinite(nats):
        raise CircuitError(
            f"the likelihood is no longer finite (mean log-likelihood {-nats / num_rows}); try a smaller learning rate"
        )
    # Gradients are averaged over workers, so the loss of each counts as many times as there are workers.
    (loss * (workers.size / num_rows)).backward()
    optimizer.step()
    return nats


def _check(circuit: TorchCircuit, data: ImageData) -> None:
    check_data(circuit, data)
    if not any(p.requires_grad for p in circuit.parameters()):
        raise CircuitError("the circuit has no learnable parameter")
    require_distribution(circuit)
