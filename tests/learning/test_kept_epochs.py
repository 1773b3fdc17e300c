"""The epochs of a run that are kept: their values in few bytes, and the same after a checkpoint and a resumed run."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import explorer
from explorer.app.training.checkpoint import Checkpoint
from explorer.compiler import TorchCompiler
from explorer.errors import FileFormatError, ShapeError, ValueRangeError
from explorer.learning import kept_epochs
from explorer.learning.data import DataSet, load_digits
from explorer.learning.kept_epochs import MAX_CHANGE, KeptEpochs
from explorer.learning.log_likelihood import bits_per_dimension
from explorer.learning.loop import Epoch, improving_words
from explorer.symbolic import PackedValues, pack_values
from explorer.templates import fully_factorized
from tests.app.commands.running import run

FEW = ("--batch-size", "512", "--threads", "1")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of nine epochs, of which six were continued."""
    path = tmp_path_factory.mktemp("runs") / "digits.pt"
    run("train", "digits", *FEW, "--epochs", 3, "--out", path)
    run("train", "--resume", path, "--epochs", 6)
    return path


def test_the_chosen_epochs_of_a_run_and_its_best_one_are_kept(checkpoint: Path) -> None:
    found = Checkpoint.load(checkpoint)
    assert [one.epoch for one in found.kept] == [0, 1, 2, 3, 5, 8]
    learned = explorer.load(checkpoint).epochs
    best = min(found.history, key=lambda epoch: epoch.held_out_bits).number
    assert [one.epoch for one in learned] == sorted({0, 1, 2, 3, 5, 8, best})
    for one in learned[1:]:
        epoch = found.history[one.epoch - 1]
        assert (one.train_bits, one.held_out_bits) == (epoch.training_bits, epoch.held_out_bits)
    assert learned[0].held_out_bits > learned[1].held_out_bits > learned[-1].held_out_bits
    assert learned[0].packed.codes.dtype == np.uint8


def test_the_circuit_of_an_epoch_has_the_bits_of_the_epoch(checkpoint: Path) -> None:
    held_out = load_digits().held_out
    for one in Checkpoint.load(checkpoint).learned_epochs():
        reached = bits_per_dimension(TorchCompiler(seed=5).compile(one.circuit()), held_out)
        assert reached == pytest.approx(one.held_out_bits, abs=MAX_CHANGE)


def test_keeping_epochs_changes_nothing_of_a_training(checkpoint: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(kept_epochs, "MAX_VALUES", 10)
    output = run("train", "digits", *FEW, "--epochs", 3, "--out", tmp_path / "none.pt").stderr
    assert output.count("no epochs are kept: the circuit has 38,928 learned values, and at most 10 are") == 1
    run("train", "--resume", tmp_path / "none.pt", "--epochs", 6)
    one, other = Checkpoint.load(checkpoint), Checkpoint.load(tmp_path / "none.pt")
    assert other.kept == other.learned_epochs() == ()
    assert all(torch.equal(value, other.leaf_state[name]) for name, value in one.leaf_state.items())


def test_values_get_as_many_bits_as_they_need() -> None:
    circuit, rows = fully_factorized(1, num_categories=50), torch.arange(1, 50).reshape(-1, 1)
    compiled = TorchCompiler().compile(circuit)
    kept = KeptEpochs(compiled, DataSet("numbers", rows, rows), lambda: circuit)
    ((name, value),) = compiled.leaf_state().items()
    for low, dtype in ((-3.0, np.uint8), (-3_000.0, np.uint16)):
        value[..., 0] = low  # never seen
        compiled.load_leaf_state({name: value})
        kept.add_first()
        assert kept.epochs[0].packed.codes.dtype == dtype
    value[..., 0] = -math.inf
    compiled.load_leaf_state({name: value})
    assert torch.equal(compiled.leaf_state()[name], value)
    kept.add(Epoch(1, 5.0, 5.0, 1.0))
    assert len(kept.epochs) == 1


def test_packed_values_are_within_half_a_step() -> None:
    values = {"a": np.linspace(-7.0, 9.0, 300).reshape(20, 15), "same": np.full(3, 0.1), "none": np.zeros((0, 2))}
    for bits in (8, 16):
        found = pack_values(values, bits).unpack()
        for name, value in values.items():
            assert found[name].shape == value.shape
            np.testing.assert_allclose(found[name], value, atol=16 / (2**bits - 1) / 2 + 1e-6)
    with pytest.raises(ValueRangeError, match="leaf a has infinity or NaN"):
        pack_values({"a": np.array([0.0, -np.inf])})
    with pytest.raises(ShapeError, match="expected 4 codes and 1 grids"):
        PackedValues({"a": (2, 2)}, np.zeros(3, np.uint8), np.zeros((1, 2), np.float32))


def _broken(content: dict, change: str) -> None:
    first = content["kept"]["epochs"][0]
    match change:
        case "short":
            first["codes"] = first["codes"][:-1]
        case "bits":
            first["bits"] = 7
        case "half":
            first["bits"] = 16
        case "nan":
            first["grids"] = first["grids"] * float("nan")
        case "type":
            first["codes"] = first["codes"].float()
        case "leaves":
            content["kept"]["leaves"].append("other")
        case "many":
            content["kept"]["epochs"] *= 40
        case "words":
            content["kept"] = "words"


@pytest.mark.parametrize("change", ["short", "bits", "half", "nan", "type", "leaves", "many", "words"])
def test_kept_epochs_of_another_form_are_a_typed_error(checkpoint: Path, tmp_path: Path, change: str) -> None:
    content = torch.load(checkpoint, weights_only=True)
    _broken(content, change)
    torch.save(content, tmp_path / "broken.pt")
    with pytest.raises(FileFormatError, match="is not a complete"):
        Checkpoint.load(tmp_path / "broken.pt")


def test_an_older_checkpoint_has_no_kept_epochs(checkpoint: Path, tmp_path: Path) -> None:
    content = torch.load(checkpoint, weights_only=True)
    del content["kept"]
    torch.save(content, tmp_path / "older.pt")
    assert Checkpoint.load(tmp_path / "older.pt").learned_epochs() == ()
    run("train", "--resume", tmp_path / "older.pt", "--epochs", 4)
    assert [one.epoch for one in Checkpoint.load(tmp_path / "older.pt").kept] == [13]


@pytest.mark.parametrize(
    ("held_out", "words"),
    [
        ([(0, 2.25), (3, 1.77), (5, 1.63)], "the last epochs gained 0.68 nats per held-out row each"),
        ([(1, 1.4168), (2, 1.3597)], "the last epoch gained 0.55 nats per held-out row"),
        ([(4, 2.0), (5, 2.1)], ""),  # the last one is not the best
        ([(1, 3.0), (20, 2.0), (21, 1.995)], ""),  # a small share of all that was gained
        ([(1, 0.4718), (2, 0.4710)], ""),  # less than a row can tell
        ([(1, 2.0)], ""),
    ],
)
def test_a_training_says_whether_it_ended_while_it_still_improved(held_out, words) -> None:
    found = improving_words(held_out, 14)
    assert found == (f"Still improving: {words}, so more of them help." if words else "")
