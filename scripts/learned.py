"""Train the circuits of the gallery whose weights ship, and write these: `make learned` (about a minute)."""

import argparse
import sys
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits as load_digits_with_labels

from explorer.compiler import TorchCompiler
from explorer.files import replace_file
from explorer.learning.data import HELD_OUT_EVERY, load_digits
from explorer.learning.kept_epochs import KeptEpochs
from explorer.learning.loop import best_epoch, train
from explorer.learning.methods import TrainingOptions
from explorer.learning.structures import independent_pixels_bits
from explorer.templates import gallery
from explorer.templates.gallery.trained_weights import FOLDER, SUFFIX, TrainedWeights

NAMES = ("digits", "hclt")
EPOCHS, PATIENCE = 40, 10


def main() -> None:
    """Train all of them, or the given ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    torch.set_num_threads(1)  # the order of additions depends on it
    for name in parser.parse_args().names or NAMES:
        found = learn(name)
        content = found.to_bytes()
        replace_file(FOLDER / f"{name}{SUFFIX}", content)
        kept = ", ".join(f"{one.epoch}: {one.held_out_bits:.3f}" for one in found.epochs)
        sys.stdout.write(f"{name}: {len(content):,} bytes, best {found.best.epoch}; held-out bits {kept}\n")


def learn(name: str) -> TrainedWeights:
    """Train a circuit on the digits of scikit-learn, and return the chosen epochs and the best one."""
    data, source = load_digits(), partial(gallery.load_named, name)
    compiled = TorchCompiler(seed=0).compile(source())
    kept = KeptEpochs(compiled, data, source)
    kept.add_first()
    options = TrainingOptions(epochs=EPOCHS, patience=PATIENCE, seed=0)
    result = train(compiled, data, options, on_state=lambda epochs, state: kept.add(epochs[-1]))
    kept.add(best_epoch(result.epochs), always=True)  # with `patience`, the circuit has its values now
    baseline = independent_pixels_bits(data)
    return TrainedWeights(name, kept.epochs, len(data.training), len(data.held_out), baseline, examples())


def examples() -> NDArray[np.uint8]:
    """Return the first held-out image of each digit."""
    pixels, digits = load_digits_with_labels(return_X_y=True)
    held_out = torch.arange(len(pixels)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    return np.stack([pixels[(digits == one) & held_out.numpy()][0] for one in range(10)]).astype(np.uint8)


if __name__ == "__main__":
    main()
