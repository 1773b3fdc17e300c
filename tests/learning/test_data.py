"""The digits have a fixed split, and a missing scikit-learn says how to install it."""

import re
import sys

import pytest
import torch

from explorer.errors import MissingPackageError, ShapeError, UnknownNameError
from explorer.learning.data import load_digits, split
from explorer.learning.sources import load_source
from explorer.learning.structures import independent_pixels_bits
from explorer.packages import install_command


def test_every_fifth_digit_is_held_out():
    data = load_digits()
    assert (tuple(data.training.shape), tuple(data.held_out.shape)) == ((1438, 64), (359, 64))
    assert (data.num_values, data.shape, data.num_variables) == (17, (1, 8, 8), 64)
    assert data.training.dtype == data.held_out.dtype == torch.int64
    assert (int(data.training.min()), int(data.training.max())) == (0, 16)
    datasets = pytest.importorskip("sklearn.datasets")
    images = torch.from_numpy(datasets.load_digits().data).long()
    assert torch.equal(data.held_out, images[4::5])
    assert torch.equal(data.training[:5], images[[0, 1, 2, 3, 5]])


def test_the_digits_are_found_where_the_file_of_scikit_learn_has_another_place(monkeypatch):
    expected = load_digits().training
    monkeypatch.setattr("explorer.learning.data.DIGITS_FILE", "elsewhere.csv.gz")
    assert torch.equal(load_digits().training, expected)


def test_loading_the_digits_does_not_import_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)  # importing it fails
    assert len(load_digits().training) == 1438


def test_split_keeps_every_row_once():
    rows = torch.arange(12).unsqueeze(1)
    training, held_out = split(rows)
    assert held_out.flatten().tolist() == [4, 9]
    assert sorted([*training.flatten().tolist(), 4, 9]) == list(range(12))
    with pytest.raises(ShapeError, match="at least 5 rows"):
        split(rows[:4])


def test_independent_pixels_need_a_known_number_of_bits():
    assert independent_pixels_bits(load_digits()) == pytest.approx(2.4067, abs=1e-4)


def test_an_unknown_data_set_lists_those_that_are_known():
    with pytest.raises(UnknownNameError, match=r"there is no file .+people\.csv; name the file with --data"):
        load_source("people.csv")
    with pytest.raises(UnknownNameError, match="no data set named 'mnist'; known are: digits"):
        load_source("mnist")


def test_without_scikit_learn_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(
        MissingPackageError, match=re.escape(f"needs sklearn, which is not installed; run: {install_command('digits')}")
    ):
        load_digits()
