"""Trains a circuit by maximum likelihood, epoch by epoch: early stopping, and the best values."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.backend.layers.inputs import TorchContinuousLayer
from explorer.errors import CircuitError, ShapeError
from explorer.learning.data import DataSet
from explorer.learning.evaluation import bits_per_dimension, check_data, require_distribution
from explorer.learning.methods import make_method
from explorer.learning.options import TrainingOptions
from explorer.learning.state import TrainingState
from explorer.learning.workers import ALONE, Workers


@dataclass(frozen=True, slots=True)
class Epoch:
    """The results of an epoch: -log2 p(x) / D, the mean over its batches and over the held-out rows."""

    number: int
    training_bits: float
    held_out_bits: float
    seconds: float


@dataclass(frozen=True)
class TrainingResult:
    """The finished epochs, and whether training was interrupted before the last requested one.

    `state` is where the last epoch of this run ended, None if it finished none; `values` are those of the leaves then.

    `is_density`: some input is a density, so the circuit has negative log-densities instead of code lengths: they
    depend on the scale of the data, may be negative, and do not compare with the bits of probabilities.
    """

    epochs: tuple[Epoch, ...]
    interrupted: bool = False
    is_density: bool = False
    state: TrainingState | None = None
    values: Mapping[str, Tensor] = field(default_factory=dict)


def train(
    circuit: TorchCircuit,
    data: DataSet,
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
    """Train by gradient descent or expectation-maximization; the circuit then has the values of the last epoch.

    With `patience`, it has those of the best epoch. `on_batch` receives the number of finished batches and of all,
    `on_epoch` each finished epoch.

    The order of the rows depends on `options.seed` only. Ctrl-C ends training: the circuit then has the values of the
    last finished epoch. `before` are earlier epochs, whose numbering is continued, and `state` is where they ended:
    training continues as if it had not been interrupted, beginning with the rest of an unfinished epoch.
    `on_state` receives the finished epochs and the state after each epoch and, if `save_every` is not 0, also every
    `save_every` steps; the circuit then has the values of that step. The circuit must be smooth and decomposable
    (`Circuit.require`), and on the device of the workers. With `fast`, its calls are those of `circuit.fast()`.

    Several `workers` have the same circuit, data and options, and compute the same steps as one: each has a shard of
    every batch; losses, gradients and expected counts are added up.

    Raises: CircuitError if the likelihood is not finite, or the circuit does not compute the log-likelihood of one
    normalized distribution, or if the workers differ; LearningError if a parameter cannot be learned by this method;
    ShapeError if the data has a different number of variables, or the state is of data with a different number of rows.
    """
    check_data(circuit, data.training, data.name)
    if not any(p.requires_grad for p in circuit.parameters()):
        raise CircuitError("the circuit has no learnable parameter")
    training, held_out = (rows.to(workers.device) for rows in (data.training, data.held_out))
    generator = torch.Generator().manual_seed(options.seed)
    method = make_method(circuit, options, workers, training, fast)
    require_distribution(circuit)
    done, nats = 0, 0.0
    best = None
    if state is not None:
        if state.num_rows != len(training):
            raise ShapeError(
                f"the state of training is of data with {state.num_rows} rows; {data.name} has {len(training)}"
            )
        generator.set_state(state.order)
        method.load(state.steps, state.moments)
        done, nats, best = state.rows_done, state.nats, state.best
    steps, averages = method.state()
    workers.require_equal(
        {
            "the compiled circuit": [(name, value.shape) for name, value in circuit.leaf_state().items()],
            "the data": (data.training, data.held_out),
            "the configuration": (options, save_every, len(before)),
            "the checkpoint": (generator.get_state(), steps, done, averages),
        }
    )
    batch_size = options.rows_per_step(len(training))
    batches_in_epoch = -(-len(training) // batch_size)

    def present_state(order: Tensor) -> TrainingState:
        steps, averages = method.state()
        return TrainingState(asdict(options), len(training), order, done, nats, steps, averages, best)

    finished = list(before)
    kept = circuit.leaf_state()
    kept_state = None
    interrupted = False
    try:
        for _ in range(options.epochs):
            started = perf_counter()
            circuit.train()
            start_of_epoch = generator.get_state()
            order = torch.randperm(len(training), generator=generator)
            for rows in order[done:].split(batch_size):
                nats += method.step(training[workers.shard(rows)], len(rows))
                done += len(rows)
                steps += 1
                if save_every and steps % save_every == 0 and done < len(training):
                    if best is None and finished:
                        best = kept
                    on_state(tuple(finished), present_state(start_of_epoch))
                on_batch(-(-done // batch_size), batches_in_epoch)
            training_bits = nats / len(training) / data.num_variables / math.log(2)
            held_out_bits = bits_per_dimension(circuit, held_out, workers)
            epoch = Epoch(len(finished) + 1, training_bits, held_out_bits, perf_counter() - started)
            if best is None and finished:
                best = kept
            finished.append(epoch)
            done, nats = 0, 0.0
            kept = circuit.leaf_state()
            if best_epoch(finished) is epoch:
                best = None
            kept_state = present_state(generator.get_state())
            on_state(tuple(finished), kept_state)
            on_epoch(epoch)
            if options.patience is not None and epoch.number - best_epoch(finished).number >= options.patience:
                break
    except KeyboardInterrupt:
        circuit.load_leaf_state(kept)
        interrupted = True
    finally:
        circuit.eval()
    if options.patience is not None and kept_state is not None and kept_state.best is not None:
        circuit.load_leaf_state(kept_state.best)
    return TrainingResult(tuple(finished), interrupted, is_density(circuit), kept_state, kept)


def best_epoch(epochs: Sequence[Epoch]) -> Epoch:
    """The first epoch with the highest likelihood of held-out rows."""
    return min(epochs, key=lambda epoch: epoch.held_out_bits)


def is_density(circuit: TorchCircuit) -> bool:
    """Whether the circuit is a density in at least one variable."""
    return any(isinstance(layer, TorchContinuousLayer) for layer in circuit.layers)
