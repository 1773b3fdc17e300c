"""Learning curves: what the picture and the CSV file show."""

import re
from math import log
from xml.etree import ElementTree

import pytest

from explorer.learning.curves import HeldOutCurve, curves_csv, curves_svg, held_out_svg, save_curves
from explorer.learning.loop import Epoch

SVG = "{http://www.w3.org/2000/svg}"
EPOCHS = tuple(Epoch(n + 1, 3.0 - 0.2 * n, 2.5 + 0.3 * abs(n - 2), 0.5) for n in range(5))


def test_the_picture_has_two_lines_the_baseline_and_the_best_epoch():
    picture = curves_svg(EPOCHS, "a < b", "bits", 3.1)
    ElementTree.fromstring(picture)
    lines = re.findall(r'polyline points="([^"]*)"', picture)
    assert [len(line.split()) for line in lines] == [5, 5]
    assert "best: epoch 3" in picture
    assert "independent variables" in picture
    assert "a &lt; b" in picture
    assert "independent variables" not in curves_svg(EPOCHS, "a", "bits")


def test_less_is_lower_and_later_is_further_right():
    (training, _) = re.findall(r'polyline points="([^"]*)"', curves_svg(EPOCHS, "a", "bits"))
    points = [tuple(map(float, point.split(","))) for point in training.split()]
    assert points == sorted(points)
    assert [y for _, y in points] == sorted(y for _, y in points)


@pytest.mark.parametrize("epochs", [EPOCHS[:1], (Epoch(1, 2.0, 2.0, 0.1), Epoch(2, 2.0, 2.0, 0.1))])
def test_a_single_epoch_and_a_flat_line_have_a_picture(epochs):
    ElementTree.fromstring(curves_svg(epochs, "a", "nats", 2.0))


def test_the_numbers_are_saved_in_their_unit(tmp_path):
    assert curves_csv(EPOCHS[:1], "bits").splitlines() == [
        "epoch,training_bits,held_out_bits,seconds",
        "1,3,3.1,0.500",
    ]
    save_curves(tmp_path / "run.pt", EPOCHS, "a", "nats", None)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.curves.csv", "run.curves.svg"]
    row = (tmp_path / "run.curves.csv").read_text().splitlines()[1].split(",")
    assert float(row[1]) == pytest.approx(3 * log(2), abs=1e-5)


def test_the_held_out_bits_of_two_runs_are_on_one_axis():
    curves = [HeldOutCurve("a.pt (em)", ((1, 2.0), (2, 1.0), (3, 1.25))), HeldOutCurve("<b>", ((1, 3.0), (10, 1.5)))]
    root = ElementTree.fromstring(held_out_svg(curves))
    lines = [one.get("points", "") for one in root.iter(f"{SVG}polyline")]
    (x, y), (last, _) = ([float(number) for number in point.split(",")] for point in lines[1].split())
    assert [len(line.split()) for line in lines] == [3, 2]
    assert lines[0].split()[0].startswith(f"{x:.1f},")  # one axis: both begin at epoch 1, and 3.0 is above 2.0
    assert y < float(lines[0].split()[0].split(",")[1])
    assert last > float(lines[0].split()[-1].split(",")[0])
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert "a.pt (em): best 1.000, epoch 2" in texts
    assert "<b>: best 1.500, epoch 10" in texts
