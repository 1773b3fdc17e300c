"""Which epochs of a training are kept, and their values in few bytes, checked on held-out rows."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.learning.data import DataSet
from explorer.learning.log_likelihood import bits_per_dimension, check_data
from explorer.learning.loop import Epoch
from explorer.learning.workers import ALONE, Workers
from explorer.symbolic import Circuit, LearnedEpoch, PackedValues, pack_values

MAX_VALUES = 1_000_000
"""Maximum number of learned values of a circuit whose epochs are kept: each takes a byte or two in each of them."""
MAX_CHANGE = 0.01
"""Maximum change of the held-out bits per dimension by rounding the values."""
PRECISIONS = (8, 16)
"""Bits per value; the first one that keeps the limit is used."""
FIRST_ROWS = 1_024
"""Training rows on which the circuit is measured before the training."""


def is_chosen(epoch: int) -> bool:
    """Whether an epoch is kept: early ones, where most is learned, are close together.

    >>> [epoch for epoch in range(40) if is_chosen(epoch)]
    [0, 1, 2, 3, 5, 8, 13, 21, 34]
    """
    one, other = 0, 1
    while one < epoch:
        one, other = other, one + other
    return one == epoch


class KeptEpochs:
    """The kept epochs of a training under way; `source` makes its symbolic circuit, `before` are those of the run.

    All `workers` keep the same ones. `note` says why none are kept, if so.
    """

    def __init__(
        self,
        circuit: TorchCircuit,
        data: DataSet,
        source: Callable[[], Circuit],
        workers: Workers = ALONE,
        before: Sequence[LearnedEpoch] = (),
    ) -> None:
        self._circuit, self._data, self._source, self._workers = circuit, data, source, workers
        self._found = {one.epoch: one for one in before}
        state, slots = circuit.leaf_state(), circuit.leaf_slots
        self._learned = tuple(
            name
            for name, value in state.items()
            if value.is_floating_point() and circuit.tensors[slots[name][0]].requires_grad
        )
        self._fixed = {name: value.cpu().numpy() for name, value in state.items() if name not in self._learned}
        count = sum(state[name].numel() for name in self._learned)
        self.note = ""
        if count > MAX_VALUES:
            self.note = f"no epochs are kept: the circuit has {count:,} learned values, and at most {MAX_VALUES:,} are"

    @property
    def epochs(self) -> tuple[LearnedEpoch, ...]:
        """The kept epochs, in their order."""
        return tuple(self._found[epoch] for epoch in sorted(self._found))

    def add_first(self) -> None:
        """Keep the present values as epoch 0; the training bits are those of the first rows.

        Raises: CircuitError, ShapeError if the circuit is not a distribution of such rows.
        """
        if not self.note:
            check_data(self._circuit, self._data.training, self._data.name)
            self._keep(0, self._bits_of(self._data.training[:FIRST_ROWS]), self._bits_of(self._data.held_out))

    def add(self, epoch: Epoch, *, always: bool = False) -> None:
        """Keep the present values, which are those after this epoch, if it is a chosen one."""
        if not self.note and (always or is_chosen(epoch.number)):
            self._keep(epoch.number, epoch.training_bits, epoch.held_out_bits)

    def _keep(self, number: int, train_bits: float, held_out_bits: float) -> None:
        """Keep the present values in the fewest bits that hold the limit; not at all if none does."""
        state = self._circuit.leaf_state()
        if not (isfinite(held_out_bits) and all(bool(state[name].isfinite().all()) for name in self._learned)):
            return
        for precision in PRECISIONS:
            packed = pack_values({name: state[name].cpu().numpy() for name in self._learned}, precision)
            if abs(self._bits_with(packed, state) - held_out_bits) < MAX_CHANGE:
                self._found[number] = LearnedEpoch(number, train_bits, held_out_bits, packed, self._source, self._fixed)
                return

    def _bits_with(self, packed: PackedValues, state: Mapping[str, Tensor]) -> float:
        """The held-out bits with rounded values instead of the present ones, `state`."""
        rounded = {name: torch.from_numpy(value).to(state[name]) for name, value in packed.unpack().items()}
        try:
            self._circuit.load_leaf_state({**state, **rounded})
            return self._bits_of(self._data.held_out)
        finally:
            self._circuit.load_leaf_state(state)

    def _bits_of(self, rows: Tensor) -> float:
        return bits_per_dimension(self._circuit, rows.to(self._workers.device), self._workers)
