"""The state of a training, to continue as if it had not been interrupted.

The moments of Adam, or the averages of expected counts, are kept by symbolic leaf, as the values are, so that training
continues in any mode of compilation and with any number of workers.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.errors import ShapeError, UnknownNameError


class PlacedValue(NamedTuple):
    """A value, what it is (`kind`), and the tensor of the circuit and the row of it that it belongs to."""

    kind: str
    tensor: int
    row: int
    value: Tensor


def place_values(
    circuit: TorchCircuit, what: str, by_leaf: Mapping[str, Mapping[str, Tensor]], kinds: Collection[str]
) -> tuple[PlacedValue, ...]:
    """Return values by kind and name of the leaf with their places in the tensors of a circuit; `what` names them.

    Raises: UnknownNameError for other kinds than `kinds` and for unknown leaves, ShapeError: for values of a different
    circuit.
    """
    if set(by_leaf) != set(kinds):
        raise UnknownNameError(f"expected the {what} {', '.join(kinds)}; found {', '.join(sorted(by_leaf))}")
    slots = circuit.leaf_slots
    found: list[PlacedValue] = []
    for kind, values in by_leaf.items():
        for leaf, value in values.items():
            if leaf not in slots:
                raise UnknownNameError(f"the {what} are of a different circuit: it has no leaf {leaf}")
            tensor, row = slots[leaf]
            expected = tuple(circuit.tensors[tensor].shape[1:])
            if value.shape != expected:
                raise ShapeError(f"leaf {leaf} has shape {expected}; found {kind} of shape {tuple(value.shape)}")
            found.append(PlacedValue(kind, tensor, row, value))
    return tuple(found)


MOMENTS = ("exp_avg", "exp_avg_sq")
"""The names of Adam's first and second moments in the state of `torch.optim.Adam`."""


@dataclass(frozen=True, eq=False)
class TrainingState:
    """The state between two steps.

    `options` are fields of `TrainingOptions`; `num_rows` counts the training data; `order` the state of the random
    generator at the start of the unfinished epoch, which draws the order of its rows; `rows_done` of them are done, and
    their negative log-likelihoods have the sum `nats`. `moments` are Adam's after `steps` steps, or the averages of
    expected counts: by name, by leaf. `best` are the values of the epoch that was the best one for held-out rows, None
    if it was the last one or there is none. `rows_digest` covers the training and the held-out rows, empty in older
    files.
    """

    options: Mapping[str, Any]
    num_rows: int
    order: Tensor
    rows_done: int
    nats: float
    steps: int
    moments: Mapping[str, Mapping[str, Tensor]]
    best: Mapping[str, Tensor] | None = None
    rows_digest: str = ""

    @property
    def method(self) -> str:
        """The method of the training."""
        return self.options.get("method", "gradient")


def moments_of(circuit: TorchCircuit, optimizer: torch.optim.Adam) -> tuple[int, dict[str, dict[str, Tensor]]]:
    """The number of steps of Adam, and copies of its moments on the CPU: by name, by leaf."""
    steps = 0
    found: dict[str, dict[str, Tensor]] = {name: {} for name in MOMENTS}
    for leaf, (tensor, row) in circuit.leaf_slots.items():
        state = optimizer.state.get(circuit.tensors[tensor], {})
        if state:
            steps = max(steps, int(state["step"]))
            for name in MOMENTS:
                found[name][leaf] = state[name][row].detach().cpu().clone()
    return steps, found


def load_moments(
    circuit: TorchCircuit, optimizer: torch.optim.Adam, steps: int, moments: Mapping[str, Mapping[str, Tensor]]
) -> None:
    """Let Adam continue after `steps` steps with these moments. Leaves without moments start with zeros.

    Raises: UnknownNameError, ShapeError if the moments are of a different circuit.
    """
    for name, tensor, row, value in place_values(circuit, "moments of Adam", moments, MOMENTS):
        parameter = circuit.tensors[tensor]
        if not parameter.requires_grad:
            continue
        state = optimizer.state[parameter]
        if not state:
            state["step"] = torch.tensor(float(steps))
            state.update({each: torch.zeros_like(parameter) for each in MOMENTS})
        state[name][row] = value.to(parameter)
