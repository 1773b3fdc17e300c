"""The weights that ship with the gallery: what they reach, what they take, and that files name them."""

import json
import sys
from io import BytesIO
from subprocess import run as run_program

import numpy as np
import pytest
import torch

import explorer
from explorer.app.queries.learned_words import words_on_values
from explorer.compiler import TorchCompiler
from explorer.errors import ShapeError, UnknownNameError
from explorer.learning.data import load_digits
from explorer.learning.kept_epochs import MAX_CHANGE, is_chosen
from explorer.learning.log_likelihood import bits_per_dimension
from explorer.learning.structures import independent_pixels_bits
from explorer.symbolic import ConstantInitializer, LearnedInitializer, circuit_from_json, with_initializers
from explorer.templates import gallery
from explorer.templates.gallery.trained_weights import FOLDER
from tests.app.commands.running import run

NAMES = gallery.trained_names()
MAX_BYTES = 400_000
"""The size of the file of a circuit; it is in the wheel."""


def bits_of(circuit: explorer.Circuit) -> float:
    """The held-out bits per pixel; the seed of the compiler does not matter."""
    return bits_per_dimension(TorchCompiler(seed=3).compile(circuit), load_digits().held_out)


@pytest.mark.parametrize("name", NAMES)
def test_every_kept_epoch_has_its_recorded_bits(name: str) -> None:
    epochs = gallery.learned_epochs(name)
    for one in epochs:
        assert bits_of(one.circuit()) == pytest.approx(one.held_out_bits, abs=MAX_CHANGE)
    numbers = [one.epoch for one in epochs]
    best = gallery.trained_weights(name).best
    chosen = [number for number in range(numbers[-1] + 1) if is_chosen(number)]
    assert numbers == sorted({*chosen, best.epoch})
    assert epochs[0].held_out_bits > 4 > epochs[2].held_out_bits > best.held_out_bits
    assert best.held_out_bits < 2.05


@pytest.mark.parametrize("name", NAMES)
def test_the_trained_circuit_is_that_of_the_best_epoch_and_has_the_same_structure(name: str) -> None:
    best, trained = gallery.trained_weights(name).best, gallery.load_trained(name)
    compiled = TorchCompiler().compile(trained)
    expected = TorchCompiler().compile(best.circuit()).leaf_state()
    assert all(torch.equal(value, expected[leaf]) for leaf, value in compiled.leaf_state().items())
    one, other = (explorer.record(circuit) for circuit in (gallery.load_named(name), trained))

    assert [(s.path, s.changed, s.snapshot.stats) for s in one.steps] == [
        (s.path, s.changed, s.snapshot.stats) for s in other.steps
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_names_the_weights_and_is_hardly_larger(name: str, tmp_path) -> None:
    sizes = {}
    for what, load in (("named", gallery.load_named), ("trained", gallery.load_trained)):
        explorer.record(load(name)).save(tmp_path / f"{what}.json", times=False)
        sizes[what] = (tmp_path / f"{what}.json").stat().st_size
    assert sizes["trained"] < 1.03 * sizes["named"]
    again = explorer.rerun(explorer.Trace.load(tmp_path / "trained.json")).compiled
    reached = bits_per_dimension(again, load_digits().held_out)
    assert reached == pytest.approx(gallery.trained_weights(name).best.held_out_bits, abs=MAX_CHANGE)


def test_the_files_are_small_and_of_circuits_of_the_gallery() -> None:
    files = sorted(FOLDER.glob("*.npz"))
    assert tuple(file.stem for file in files) == tuple(sorted(NAMES)) == ("digits", "hclt")
    assert all(file.stat().st_size <= MAX_BYTES for file in files)
    for name in NAMES:
        written, read = np.load(BytesIO(gallery.trained_weights(name).to_bytes())), np.load(FOLDER / f"{name}.npz")
        assert all(np.array_equal(written[key], read[key]) for key in {*written, *read})
        data = load_digits()
        found = gallery.trained_weights(name)
        assert (found.num_training, found.num_held_out) == (len(data.training), len(data.held_out))
        assert found.baseline_bits == pytest.approx(independent_pixels_bits(data))


def test_loading_them_needs_numpy_only() -> None:
    code = (
        "import sys; from explorer.templates import gallery; gallery.load_trained('digits'); "
        "gallery.learned_epochs('hclt')[0].circuit(); "
        "print([name for name in ('torch', 'scipy', 'sklearn', 'pandas', 'panel') if name in sys.modules])"
    )
    found = run_program([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_other_circuits_have_none() -> None:
    assert [name for name in gallery.names() if gallery.is_trained(name)] == list(NAMES)
    assert not gallery.is_trained("nothing")
    assert gallery.describe_learned("hmm") == ""
    with pytest.raises(UnknownNameError, match="'hmm' ships without trained weights; digits, hclt have some"):
        gallery.load_trained("hmm")
    with pytest.raises(UnknownNameError, match="no gallery circuit named 'digit'"):
        gallery.learned_epochs("digit")


def test_values_of_other_names_or_shapes_are_typed_errors() -> None:
    best = gallery.trained_weights("digits").best.epoch
    with pytest.raises(UnknownNameError, match="no kept epoch named '4'"):
        gallery.learned_value("digits", 4, "0.probs")
    with pytest.raises(UnknownNameError, match="no leaf named 'other'"):
        gallery.learned_value("digits", best, "other")
    circuit = explorer.gallery.load_named("blackboard")
    leaf = next(iter(gallery.learned_epochs("digits")[0].packed.shapes))
    initializers = {name: LearnedInitializer("digits", best, leaf) for name in circuit.leaf_names.values()}
    with pytest.raises(ShapeError, match="learned values of shape"):
        TorchCompiler().compile(with_initializers(circuit, initializers))


def test_a_circuit_file_keeps_the_names() -> None:
    data = json.loads(json.dumps(gallery.load_trained("digits").to_json()))
    leaves = circuit_from_json(data).leaf_names
    assert {type(leaf.initializer) for leaf in leaves} == {LearnedInitializer}


def test_the_commands_begin_with_them_and_training_does_not() -> None:
    evaluated = run("evaluate", "digits").output
    assert "359 held-out images of digits" in evaluated
    assert "2.0345 bits per dimension" in evaluated
    sampled = run("sample", "digits", "-n", 1)
    assert "trained weights of the gallery (held-out 2.03 bits per pixel)" in sampled.stderr
    assert len(sampled.stdout.splitlines()) == 2
    assert "ships without trained weights; digits, hclt have some" in run("evaluate", "hmm", code=2).stderr
    assert "--data FILE" in run("sample", "hmm", "-n", 1).stderr
    assert run("gallery").output.count("held-out") == len(NAMES)


def test_words_say_how_to_train_a_circuit() -> None:
    assert words_on_values(gallery.load_named("blackboard"), "blackboard") == ""
    words = words_on_values(gallery.load_named("digits"), "my file.json")
    assert words.endswith("which takes about ten seconds: circuit-explorer train 'my file.json'")
    assert "some minutes" in words_on_values(gallery.load_named("poon-domingos"), "poon-domingos")
    values = gallery.learned_epochs("digits")[0].values()
    assert all(value.dtype == np.float32 for value in values.values())
    constant = gallery.learned_epochs("digits")[0].circuit()
    assert {type(leaf.initializer) for leaf in constant.leaf_names} == {ConstantInitializer}
    assert words_on_values(constant, "digits") == ""
