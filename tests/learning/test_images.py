"""Images of the user: a folder or a stack in a file, as rows of grey levels."""

import sys

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from explorer.app.cli import app
from explorer.app.querying import load_subject
from explorer.app.training.checkpoint import Checkpoint
from explorer.errors import (
    DataTypeError,
    FileFormatError,
    LearningError,
    MissingPackageError,
    ShapeError,
    ValueRangeError,
)
from explorer.learning.data import ImageData
from explorer.learning.sources import load_source
from explorer.learning.structures import build_structure


def images(count, *shape, top=256):
    return np.random.default_rng(0).integers(0, top, (count, *shape)).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    """Six grey images of 2 x 3 pixels in two folders."""
    image = pytest.importorskip("PIL.Image")
    for position, pixels in enumerate(images(6, 3, 2)):
        path = tmp_path / f"class{position % 2}" / f"{position}.png"
        path.parent.mkdir(exist_ok=True)
        image.fromarray(pixels).save(path)
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


def test_training_says_which_images_were_found(folder, tmp_path):
    arguments = ["train", "--data", str(folder), "--units", "1", "--epochs", "1", "--out", str(tmp_path / "f.pt")]
    found = CliRunner().invoke(app, arguments).stdout
    facts = "6 images, 1 held out, 3 x 2 pixels, 256 levels; in folders of it (class0, class1): 6"
    assert f"{folder}: {facts}\n" in found


def test_a_folder_of_images_is_read_in_the_order_of_paths(folder):
    data = load_source(str(folder))
    assert isinstance(data, ImageData)
    assert (data.shape, data.num_values, data.note) == ((1, 3, 2), 256, "")
    expected = torch.from_numpy(images(6, 3, 2).reshape(6, 6)[[0, 2, 4, 1, 3, 5]].astype(np.int64))
    assert torch.equal(data.training, expected[[0, 1, 2, 3, 5]])
    assert torch.equal(data.held_out, expected[[4]])


def test_coloured_images_have_three_channels(tmp_path):
    image = pytest.importorskip("PIL.Image")
    stack = images(5, 2, 2, 3)
    for position, pixels in enumerate(stack):
        image.fromarray(pixels).save(tmp_path / f"{position}.png")
    data = load_source(str(tmp_path))
    assert isinstance(data, ImageData)
    assert data.shape == (3, 2, 2)
    assert data.note == ""
    assert data.held_out.flatten().tolist() == stack[4].transpose(2, 0, 1).flatten().tolist()
    circuit = build_structure("quad-graph", data, 2)
    assert circuit.num_variables == 12
    assert circuit.is_smooth
    assert circuit.is_decomposable


def test_images_that_are_converted_to_the_kind_of_the_first_one_are_a_note(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for position, channels in enumerate((3, 4, 4, 0, 3)):
        pixels = images(1, 2, 2, channels)[0] if channels else images(1, 2, 2)[0]
        image.fromarray(pixels).save(tmp_path / f"{position}.png")
    mixed = load_source(str(tmp_path))
    assert isinstance(mixed, ImageData)
    assert mixed.note == (
        f"all images of {tmp_path} are read as RGB, as the first one is, without transparency: of 5 images, "
        "2 coloured with transparency and 1 grey were converted; store them all in one mode if this is not meant"
    )
    arguments = ["train", "--data", str(tmp_path), "--units", "1", "--epochs", "1", "--out", str(tmp_path / "f.pt")]
    assert f"Note: {mixed.note}\n" in CliRunner().invoke(app, arguments).stderr
    (first := tmp_path / "0.png").unlink()
    image.fromarray(images(1, 2, 2)[0]).save(first)
    grey = load_source(str(tmp_path))
    assert isinstance(grey, ImageData)
    assert grey.shape == (1, 2, 2)
    assert "read as grey levels, as the first one is" in grey.note
    assert "2 coloured with transparency and 1 coloured were converted" in grey.note


def test_images_that_do_not_fit_are_named(folder, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    image.fromarray(images(1, 2, 2)[0]).save(folder / "class1" / "odd.png")
    with pytest.raises(ShapeError, match=r"odd\.png has 2 x 2 pixels, .*0\.png has 2 x 3; give all images one size"):
        load_source(str(folder))
    (folder / "class0" / "broken.png").write_bytes(b"junk")
    with pytest.raises(FileFormatError, match=r"cannot read the image .*broken\.png"):
        load_source(str(folder))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingPackageError, match="pip install pillow"):
        load_source(str(folder))


def test_a_folder_of_images_is_trained_on_and_sampled(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "images.pt"
    options = ["--units", "2", "--epochs", "1", "--out", str(path)]
    result = CliRunner().invoke(app, ["train", "--data", str(folder), *options])
    assert result.exit_code == 0, result.output
    assert "Independent pixels reach" in result.output
    checkpoint = Checkpoint.load(path)
    assert (checkpoint.circuit, checkpoint.shape, checkpoint.columns) == ("quad-graph", (1, 3, 2), ())
    assert load_subject(str(path)).shape == (1, 3, 2)


def test_a_folder_without_images_is_refused(tmp_path):
    pytest.importorskip("PIL.Image")
    with pytest.raises(FileFormatError, match="contains no images"):
        load_source(str(tmp_path))


def test_a_stack_of_images(tmp_path):
    path = tmp_path / "stack.npy"
    np.save(path, images(10, 4, 4, top=5))
    data = load_source(str(path))
    assert isinstance(data, ImageData)
    assert (data.shape, data.num_values, data.num_variables) == ((1, 4, 4), 5, 16)
    with pytest.raises(LearningError, match="has images, not columns; leave out --column"):
        load_source(str(path), {"x0": "ignore"})
    for odd, error in (
        (np.zeros((2, 2, 2)), DataTypeError),
        (-np.ones((2, 2, 2), dtype=int), ValueRangeError),
        (np.zeros((0, 2, 2), dtype=int), ShapeError),
        (np.zeros((1, 1, 1, 2, 2), dtype=int), ShapeError),
    ):
        np.save(path, odd)
        with pytest.raises(error):
            load_source(str(path))
