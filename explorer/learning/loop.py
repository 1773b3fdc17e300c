"""Trains a circuit by maximum likelihood, epoch by epoch: early stopping, and the best values."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.backend.layers.inputs import TorchContinuousLayer
from explorer.errors import CircuitError, ValueRangeError, check_type
from explorer.learning.data import DataSet
from explorer.learning.log_likelihood import bits_per_dimension, check_circuit, check_data, require_distribution
from explorer.learning.methods import TrainingOptions, make_method
from explorer.learning.state import TrainingState
from explorer.learning.workers import ALONE, Workers

MIN_NATS, MIN_SHARE = 0.05, 0.01
"""A last epoch that gained less per held-out row, or a smaller share of what all epochs gained, was worth no other."""


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

    `state` is where the last epoch of this run ended, None if it finished none; `values` the leaves' values then.

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
    best: Mapping[str, Tensor] | None = None,
    state: TrainingState | None = None,
    save_every: int = 0,
    on_batch: Callable[[int, int], None] = lambda done, total: None,
    on_epoch: Callable[[Epoch], None] = lambda epoch: None,
    on_state: Callable[[tuple[Epoch, ...], TrainingState], None] = lambda epochs, state: None,
) -> TrainingResult:
    """Train by gradient descent or expectation-maximization; the circuit then has the values of the last epoch.

    With `patience`, it has the best epoch's values. `on_batch` receives the number of finished batches and of all,
    `on_epoch` each finished epoch.

    The order of the rows depends on `options.seed` only. Ctrl-C ends training: the circuit then has the values of the
    last finished epoch. `before` are earlier epochs on this data, to continue their numbers, and `best` the values
    of the best one of them, None if it was the last one. `state` is where they ended, with these values: training
    continues as if it had not been interrupted, beginning with the rest of an unfinished epoch.
    `on_state` receives the finished epochs and the state after each epoch and, if `save_every` is not 0, also every
    `save_every` steps; the circuit then has the values of that step. The circuit must be smooth and decomposable
    (`Circuit.require`), and on the device of the workers. With `fast`, `circuit.fast()` runs its calls.

    Several `workers` have the same circuit, data and options, and compute the same steps as one: each has a shard of
    every batch; losses, gradients and expected counts are added up.

    Raises: CircuitError if the likelihood is not finite, or the circuit does not compute the log-likelihood of one
    normalized distribution, or if the workers differ; LearningError if a parameter cannot be learned by this method;
    ShapeError if the data has a different number of variables; ValueRangeError if the state is of other rows;
    DataTypeError if the circuit is not compiled, or the data or the options are something else.
    """
    check_circuit(circuit)
    check_type("the data", data, DataSet, "make one of training and held-out rows (N, D)")
    check_type("the options", options, TrainingOptions)
    run = _Run(circuit, data, options, workers, fast, before, best)
    if state is not None:
        run.resume(state)
    run.require_equal_workers(save_every)

    def after_batch() -> None:
        if save_every and run.steps % save_every == 0 and run.rows_done < len(run.training):
            on_state(tuple(run.finished), run.state_in_epoch())
        on_batch(-(-run.rows_done // run.batch_size), -(-len(run.training) // run.batch_size))

    reached: TrainingState | None = None
    interrupted = False
    try:
        for _ in range(options.epochs):
            epoch = run.finish_epoch(after_batch)
            reached = run.state_after_epoch()
            on_state(tuple(run.finished), reached)
            on_epoch(epoch)
            if options.patience is not None and epoch.number - best_epoch(run.finished).number >= options.patience:
                break
    except KeyboardInterrupt:
        circuit.load_leaf_state(run.values)
        interrupted = True
    finally:
        circuit.eval()
    if options.patience is not None and reached is not None and reached.best is not None:
        circuit.load_leaf_state(reached.best)
    return TrainingResult(tuple(run.finished), interrupted, is_density(circuit), reached, run.values)


def best_epoch(epochs: Sequence[Epoch]) -> Epoch:
    """The first epoch with the highest likelihood of held-out rows."""
    return min(epochs, key=lambda epoch: epoch.held_out_bits)


def improving_words(held_out: Sequence[tuple[int, float]], num_variables: int) -> str:
    """Say that a training ended while it still improved; empty if its last epoch was not the best, or gained little.

    `held_out` has the numbers of some epochs, ascending, and their bits per dimension.

    >>> improving_words([(0, 2.25), (3, 1.77), (5, 1.63)], num_variables=14)
    'Still improving: the last epochs gained 0.68 nats per held-out row each, so more of them help.'
    """
    if len(held_out) < 2 or held_out[-1][1] > min(bits for _, bits in held_out):
        return ""
    (_, first), (number, before), (last, bits) = held_out[0], held_out[-2], held_out[-1]
    gain = (before - bits) / (last - number)
    nats = gain * num_variables * math.log(2)
    if nats < MIN_NATS or gain < MIN_SHARE * (first - bits):
        return ""
    each = "the last epoch gained" if last - number == 1 else "the last epochs gained"
    row = "per held-out row" if last - number == 1 else "per held-out row each"
    return f"Still improving: {each} {nats:.2f} nats {row}, so more of them help."


def is_density(circuit: TorchCircuit) -> bool:
    """Whether the circuit is a density in at least one variable."""
    return any(isinstance(layer, TorchContinuousLayer) for layer in circuit.layers)


def is_of(state: TrainingState, data: DataSet) -> bool:
    """Whether a state was reached on these rows, as far as it is known: older files only have their number."""
    return state.num_rows == len(data.training) and state.rows_digest in ("", data.digest)


class _Run:
    """A training under way: the finished epochs, and how far the present one has got.

    `values` are the leaves' values after the last finished epoch, and `best` after the best one before it, None if
    it is the best one itself or there is none.
    """

    def __init__(
        self,
        circuit: TorchCircuit,
        data: DataSet,
        options: TrainingOptions,
        workers: Workers,
        fast: bool,
        before: Sequence[Epoch],
        best: Mapping[str, Tensor] | None,
    ) -> None:
        check_data(circuit, data.training, data.name)
        if not any(p.requires_grad for p in circuit.parameters()):
            raise CircuitError("the circuit has no learnable parameter")
        self._circuit, self._data, self._options, self._workers = circuit, data, options, workers
        self.training, self._held_out = (rows.to(workers.device) for rows in (data.training, data.held_out))
        self.batch_size = options.rows_per_step(len(self.training))
        self._generator = torch.Generator().manual_seed(options.seed)
        self._method = make_method(circuit, options, workers, self.training, fast)
        require_distribution(circuit)
        self.steps = 0
        self.rows_done = 0
        self._nats = 0.0
        self._start_of_epoch = self._generator.get_state()
        self.finished = list(before)
        self.values: Mapping[str, Tensor] = circuit.leaf_state()
        self.best = best

    def resume(self, state: TrainingState) -> None:
        """Continue where this state was reached. Raises: ValueRangeError if it is of other rows."""
        if not is_of(state, self._data):
            raise ValueRangeError(
                f"the state of training is of {state.num_rows} rows that are not the {len(self.training)} of "
                f"{self._data.name}; continue on the rows it is of, or without it"
            )
        self._generator.set_state(state.order)
        self._method.load(state.steps, state.moments)
        self.steps, self.rows_done, self._nats, self.best = state.steps, state.rows_done, state.nats, state.best

    def require_equal_workers(self, save_every: int) -> None:
        """Check that all workers begin with the same training. Raises: CircuitError, which says what differs."""
        steps, averages = self._method.state()
        self._workers.require_equal(
            {
                "the compiled circuit": [(name, value.shape) for name, value in self._circuit.leaf_state().items()],
                "the data": (self._data.training, self._data.held_out),
                "the configuration": (self._options, save_every, len(self.finished)),
                "the checkpoint": (self._generator.get_state(), steps, self.rows_done, averages),
            }
        )

    def finish_epoch(self, after_batch: Callable[[], None]) -> Epoch:
        """Take the steps that are left of this epoch, and measure the likelihood of the held-out rows."""
        started = perf_counter()
        self._circuit.train()
        self._start_of_epoch = self._generator.get_state()
        order = torch.randperm(len(self.training), generator=self._generator)
        for rows in order[self.rows_done :].split(self.batch_size):
            self._nats += self._method.step(self.training[self._workers.shard(rows)], len(rows))
            self.rows_done += len(rows)
            self.steps += 1
            after_batch()
        training_bits = self._nats / len(self.training) / self._data.num_variables / math.log(2)
        held_out_bits = bits_per_dimension(self._circuit, self._held_out, self._workers)
        epoch = Epoch(len(self.finished) + 1, training_bits, held_out_bits, perf_counter() - started)
        best = self._best_values()
        self.finished.append(epoch)
        self.rows_done, self._nats = 0, 0.0
        self.values = self._circuit.leaf_state()
        self.best = None if best_epoch(self.finished) is epoch else best
        return epoch

    def state_in_epoch(self) -> TrainingState:
        """The state after the last step of an unfinished epoch."""
        return self._state(self._start_of_epoch, self._best_values())

    def state_after_epoch(self) -> TrainingState:
        """The state after a finished epoch."""
        return self._state(self._generator.get_state(), self.best)

    def _state(self, order: Tensor, best: Mapping[str, Tensor] | None) -> TrainingState:
        steps, averages = self._method.state()
        options = asdict(self._options)
        return TrainingState(
            options, len(self.training), order, self.rows_done, self._nats, steps, averages, best, self._data.digest
        )

    def _best_values(self) -> Mapping[str, Tensor] | None:
        """The values of the best finished epoch; None if there is none."""
        return self.values if self.best is None and self.finished else self.best
