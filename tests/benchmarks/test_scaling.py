"""Times against layers and rows, and their picture."""

import xml.etree.ElementTree as ET

import benchmarks
from benchmarks import peer as peers
from benchmarks.scaling import LAYERS, NATIVE, PEER, Scaling, ScalingPoint
from tests.benchmarks.test_measurements import text_of
from tests.runtime.circuits import has_compiler

SVG = "{http://www.w3.org/2000/svg}"


@has_compiler
def test_circuits_and_batches_grow(monkeypatch):
    monkeypatch.setattr(peers, "peer_is_installed", lambda: False)
    found = benchmarks.measure_scaling(1, 1, sizes=(2, 4), batch_sizes=(1, 3))
    assert [point.num_layers for point in found.by_layers] == [10, 46]
    assert [point.batch_size for point in found.by_batch_size] == [1, 3]
    assert all(set(point.samples) == {LAYERS, NATIVE} for point in (*found.by_layers, *found.by_batch_size))
    assert "2,350" in text_of(benchmarks.scaling_table(found))
    assert benchmarks.scaling_to_json(found)["by_layers"][1]["layers"] == 46


def test_a_line_of_the_picture_goes_up_where_times_grow():
    def point(layers, rows, seconds):
        return ScalingPoint(layers, rows, {PEER: (2 * seconds,), LAYERS: (seconds,), NATIVE: (seconds / 10,)})

    layers = (point(10, 64, 0.001), point(1000, 64, 0.1))
    rows = (point(100, 1, 0.001), point(100, 64, 0.01))
    picture = ET.fromstring(benchmarks.scaling_svg(Scaling(1, layers, rows), "a machine & its versions"))
    lines = [line.attrib["points"].split() for line in picture.iter(f"{SVG}polyline")]
    assert len(lines) == 6, "three lines in each panel"
    for line in lines:
        (left, low), (right, high) = (tuple(map(float, place.split(","))) for place in line)
        assert left < right
        assert low > high, "y grows downwards"
    assert "a machine & its versions" in [text.text for text in picture.iter(f"{SVG}text")]
