"""Images of the user: a folder or a stack in a file, as rows of grey levels."""

import sys

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from explorer.app.cli import app
from explorer.app.queries.loading import load_subject
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
    """Six grey images of 3 x 2 pixels (height x width) in two folders."""
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
    facts = "6 images, 1 held out, 3 x 2 pixels (height x width), 256 levels; in folders of it (class0, class1): 6"
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


def save_modes(folder, modes, name=lambda position: f"{position}.png"):
    """Save an image of 2 x 2 pixels per mode."""
    image = pytest.importorskip("PIL.Image")
    for position, mode in enumerate(modes):
        image.new(mode, (2, 2)).save(folder / name(position))


def note_of(folder):
    data = load_source(str(folder))
    assert isinstance(data, ImageData)
    return data.shape, data.note.replace(f" in {folder}", "")


ONE_MODE = "store them all in one mode if this is not meant"
TRANSPARENT = "was dropped; store them without transparency if it is meant to be seen"


@pytest.mark.parametrize(
    ("modes", "channels", "note"),
    [
        (
            ("RGB", "RGBA", "RGBA", "L", "RGB"),
            3,
            f"Of 5 images, 1 grey one was converted to RGB, as the first one is; {ONE_MODE}. "
            f"The transparency of 2 of 5 images {TRANSPARENT}",
        ),
        (
            ("L", "RGBA", "RGB", "1", "RGB"),
            1,
            f"Of 5 images, 3 coloured ones were converted to grey levels, as the first one is; {ONE_MODE}. "
            f"The transparency of 1 of 5 images {TRANSPARENT}",
        ),
        (("RGBA",) * 5, 3, f"The transparency of 5 of 5 images {TRANSPARENT}"),
        (("LA",) * 5, 1, f"The transparency of 5 of 5 images {TRANSPARENT}"),
        (
            ("P", "L", "1", "P", "1"),
            3,
            f"Of 5 images, 1 grey one and 2 black and white ones were converted to RGB; {ONE_MODE}",
        ),
        (("1",) * 4 + ("P",), 1, f"Of 5 images, 1 palette one was converted to grey levels; {ONE_MODE}"),
    ],
)
def test_note_of_images_names_converted_ones_and_those_that_lost_transparency(tmp_path, modes, channels, note):
    save_modes(tmp_path, modes)
    assert note_of(tmp_path) == ((channels, 2, 2), note)


def test_the_note_of_images_of_one_mode_names_the_mode_to_store_them_in(tmp_path):
    save_modes(tmp_path, ("CMYK",) * 5, lambda position: f"{position}.tif")
    assert note_of(tmp_path)[1] == (
        "Of 5 images, 5 of mode CMYK were converted to RGB; store them as RGB if this is not meant"
    )


def test_training_prints_the_note_of_images(tmp_path):
    save_modes(tmp_path, ("RGB",) * 4 + ("RGBA",))
    arguments = ["train", "--data", str(tmp_path), "--units", "1", "--epochs", "1", "--out", str(tmp_path / "f.pt")]
    note = f"Note: The transparency of 1 of 5 images in {tmp_path} {TRANSPARENT}\n"
    assert note in CliRunner().invoke(app, arguments).stderr


@pytest.mark.parametrize("mode", ["I;16", "I", "F"])
@pytest.mark.parametrize("first", [True, False])
def test_images_of_more_than_8_bits_are_refused(tmp_path, mode, first):
    save_modes(tmp_path, (mode, "L") if first else ("L", mode), lambda position: f"{position}.tif")
    with pytest.raises(
        FileFormatError, match=rf"\d\.tif has levels of more than 8 bits \(mode {mode}\); convert it to 8"
    ):
        load_source(str(tmp_path))


def test_images_that_do_not_fit_are_named(folder, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    image.fromarray(images(1, 2, 2)[0]).save(folder / "class1" / "odd.png")
    sizes = r"odd\.png has 2 x 2 pixels \(height x width\), .*0\.png has 3 x 2 pixels \(height x width\)"
    with pytest.raises(ShapeError, match=f"{sizes}; give all images one size"):
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


def test_an_image_that_unpacks_to_too_many_pixels_is_named(tmp_path, monkeypatch):
    Image = pytest.importorskip("PIL.Image")
    Image.new("L", (8, 8)).save(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(FileFormatError, match=r"cannot read the image .*bomb.png: Image size \(64 pixels\) exceeds"):
        load_source(str(tmp_path))
