"""The weights that ship with circuits of the gallery: the kept epochs of one training each, in `learned/NAME.npz`.

`scripts/learned.py` writes them. A circuit begins with them by name (`LearnedInitializer`), so that the file of a trace
or circuit has no copy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from explorer.errors import CircuitError, UnknownNameError, look_up
from explorer.symbolic import Circuit, LearnedEpoch, LearnedInitializer, PackedValues, with_initializers
from explorer.templates.gallery.named_circuits import GALLERY

FOLDER = Path(__file__).with_name("learned")
SUFFIX = ".npz"


@dataclass(frozen=True, eq=False)
class TrainedWeights:
    """The weights of a circuit: its kept epochs in order, and the data that they were learned from.

    `baseline_bits` are the held-out bits per variable if all variables were independent. `examples` (N, D) are held-out
    rows, the first one of each digit, and `image` is their shape: channels, height, width.
    """

    name: str
    epochs: tuple[LearnedEpoch, ...]
    num_training: int
    num_held_out: int
    baseline_bits: float
    examples: NDArray[np.uint8]
    image: tuple[int, int, int] = (1, 8, 8)

    @property
    def best(self) -> LearnedEpoch:
        """The epoch with the fewest bits on held-out rows."""
        return min(self.epochs, key=lambda one: one.held_out_bits)

    @property
    def sentence(self) -> str:
        """What the circuit has learned, in one sentence."""
        reached = f"{self.best.held_out_bits:.2f} bits per pixel on {self.num_held_out:,} held-out ones"
        return (
            f"It has learned from {self.num_training:,} handwritten digits: {reached}, where independent pixels reach "
            f"{self.baseline_bits:.2f}."
        )

    def to_bytes(self) -> bytes:
        """The content of the file."""
        packed = [one.packed for one in self.epochs]
        file = BytesIO()
        np.savez_compressed(
            file,
            leaves=np.array(list(packed[0].shapes)),
            epochs=np.array([one.epoch for one in self.epochs], np.int64),
            bits=np.array([(one.train_bits, one.held_out_bits) for one in self.epochs], np.float64),
            codes=np.stack([one.codes for one in packed]),
            grids=np.stack([one.grids for one in packed]),
            rows=np.array([self.num_training, self.num_held_out], np.int64),
            baseline_bits=np.array(self.baseline_bits, np.float64),
            examples=self.examples,
        )
        return file.getvalue()


def trained_names() -> tuple[str, ...]:
    """The names of the circuits that ship with trained weights, in the order of the gallery."""
    return tuple(name for name in GALLERY.names() if is_trained(name))


def is_trained(name: str) -> bool:
    """Whether a circuit of this name ships with trained weights."""
    return name in GALLERY.names() and _file_of(name).is_file()


def trained_weights(name: str) -> TrainedWeights:
    """The weights of a circuit of the gallery. Raises: UnknownNameError, which names the circuits that have some."""
    if name in GALLERY.names() and not is_trained(name):
        raise UnknownNameError(
            f"the gallery circuit {name!r} ships without trained weights; {', '.join(trained_names())} have some"
        )
    look_up("gallery circuit", name, {known: known for known in GALLERY.names()})
    return _read(name)


def describe_learned(name: str) -> str:
    """What a circuit with trained weights has learned, in one sentence; empty if it has none."""
    return trained_weights(name).sentence if is_trained(name) else ""


def learned_epochs(name: str) -> tuple[LearnedEpoch, ...]:
    """The kept epochs of the training of a gallery circuit. Raises: UnknownNameError if it has no trained weights."""
    return trained_weights(name).epochs


def load_trained(name: str) -> Circuit:
    """A new circuit of this name that begins with its trained weights, those of the best epoch.

    Its files name the weights instead of copying them. Raises: UnknownNameError if it has none.
    """
    best, circuit = trained_weights(name).best, GALLERY.load_named(name)
    leaves = circuit.leaf_names.values()
    return with_initializers(circuit, {leaf: LearnedInitializer(name, best.epoch, leaf) for leaf in leaves})


def learned_value(circuit: str, epoch: int, leaf: str) -> NDArray[np.float32]:
    """The value of a leaf of a gallery circuit after a kept epoch. Raises: UnknownNameError."""
    kept = {str(one.epoch): one for one in learned_epochs(circuit)}
    look_up("kept epoch", str(epoch), kept)
    return look_up("leaf", leaf, _values(circuit, epoch))


@cache
def _values(circuit: str, epoch: int) -> Mapping[str, NDArray[np.float32]]:
    values = next(one for one in learned_epochs(circuit) if one.epoch == epoch).packed.unpack()
    for value in values.values():
        value.setflags(write=False)
    return values


@cache
def _read(name: str) -> TrainedWeights:
    source = partial(GALLERY.load_named, name)
    shapes = {name: leaf.shape for leaf, name in source().leaf_names.items()}
    with np.load(_file_of(name), allow_pickle=False) as file:
        if file["leaves"].tolist() != list(shapes):
            raise CircuitError(f"the weights of {name!r} are of another version of it; run scripts/learned.py again")
        rows = zip(file["epochs"].tolist(), file["bits"].tolist(), file["codes"], file["grids"], strict=True)
        epochs = tuple(
            LearnedEpoch(epoch, training, held_out, PackedValues(shapes, codes, grids), source)
            for epoch, (training, held_out), codes, grids in rows
        )
        training, held_out = file["rows"].tolist()
        return TrainedWeights(name, epochs, training, held_out, float(file["baseline_bits"]), file["examples"])


def _file_of(name: str) -> Path:
    return FOLDER / f"{name}{SUFFIX}"
