"""Charts of bars as marks: what is drawn, what it says, and in which colours."""

from collections.abc import Iterator
from typing import Any

import pytest

from explorer.views.bars import bars_view, place_on, tick_text
from explorer_widgets.schema import BarsView, BarView


def bar(label: str, value: float | None, **more: Any) -> BarView:
    found = {"label": label, "value": value, "low": None, "high": None, "series": "CPU", "missing": ""}
    return {**found, **more}  # pyright: ignore[reportReturnType]


def change(label: str, value: float, tone: str, **more: Any) -> BarView:
    return bar(label, value, low=value - 1, high=value + 1, tone=tone, **more)


def chart(*bars: BarView, log: bool = False, series: tuple[str, ...] = ("CPU",)) -> BarsView:
    return bars_view("Forward", "ms", series, bars, "", ["what"], [], log=log)


def parts(marks: Any) -> Iterator[dict[str, Any]]:
    for one in marks:
        yield one
        yield from parts(one.get("parts", ()))


def drawn(view: BarsView, name: str) -> list[dict[str, Any]]:
    return [one for one in parts(view["chart"]["marks"]) if name in one.get("class", "").split()]


def texts(view: BarsView, tag: str = "text") -> list[str]:
    return [one["text"] for one in parts(view["chart"]["marks"]) if one["tag"] == tag and "text" in one]


def test_a_bar_has_its_interval_and_its_value():
    view = chart(bar("plain", 12.5, low=12.0, high=14.0), bar("folded", 0.5))
    assert [one["to"] > one["from"] for one in drawn(view, "ceb-bar")] == [True, True]
    assert len(drawn(view, "ceb-whisker")) == 2  # a line and its halo
    assert {"12.5 ms", "0.5 ms", "plain", "folded"} <= set(texts(view))


def test_a_missing_value_is_hatched_and_has_its_reason():
    view = chart(bar("plain", None, missing="no CUDA device"))
    assert "no CUDA device" in texts(view)
    assert any(one.get("fill") == "url(#missing)" for one in parts(view["chart"]["marks"]))
    assert texts(view, "title") == ["plain, CPU, missing: no CUDA device"]


def test_a_value_is_a_dot_on_a_logarithmic_axis():
    log = chart(bar("plain", 1.0), bar("plain", 2.0, series="CUDA"), log=True, series=("CPU", "CUDA"))
    assert [one["tag"] for one in drawn(log, "ceb-bar")] == ["circle", "path"]
    assert [one["tag"] for one in drawn(chart(bar("plain", 1.0)), "ceb-bar")] == ["rect"]


def test_a_logarithmic_axis_has_no_place_for_zero():
    view = chart(bar("a", 0.0), bar("b", 1.0), log=True)
    assert "0 ms cannot be shown on a logarithmic axis" in texts(view)
    view["axis"] = {"low": 0.2, "high": 20.0, "ticks": []}
    assert [place_on(view, value) for value in (0.2, 2.0, 20.0)] == pytest.approx([0.0, 0.5, 1.0])


def test_a_change_in_time_has_the_colour_the_sign_and_the_words_of_its_tone():
    view = chart(change("fuse", -3, "faster"), change("fold", 2, "slower"), change("rename", -0.2, "noise"))
    assert [one["fill"] for one in drawn(view, "ceb-bar")] == ["faster", "slower", "noise"]
    assert {"▼ -3 ms", "▲ 2 ms", "≈ -0.2 ms"} <= set(texts(view))
    assert texts(view, "title") == [
        "fuse, CPU, -3 ms (-4 to -2), faster",
        "fold, CPU, 2 ms (1 to 3), slower",
        "rename, CPU, -0.2 ms (-1.2 to 0.8), within the noise",
    ]
    assert [entry["text"] for entry in view["chart"]["legend"]] == ["▼ faster", "▲ slower", "≈ within the noise"]
    assert view["chart"]["text"] == (
        "Forward: 3 bars in ms; 1 faster, 1 slower, 1 within the noise. The table has the same values."
    )


def test_a_second_series_keeps_its_texture():
    second = change("fuse", 1, "slower", series="CUDA")
    view = chart(change("fuse", -3, "faster"), second, series=("CPU", "CUDA"))
    plain, textured = (one["fill"] for one in drawn(view, "ceb-bar"))
    assert (plain, textured) == ("faster", "url(#texture-1slower)")
    (pattern,) = (one for one in parts(view["chart"]["marks"]) if one.get("id") == "texture-1slower")
    assert pattern["parts"][0]["fill"] == "slower"
    assert texts(view).count("fuse") == 1
    assert [entry["text"] for entry in view["chart"]["legend"]][:2] == ["CPU", "CUDA"]


def test_numbers_have_three_digits():
    numbers = (0, 1234.5, 12.345, 0.01234, 0.00001234, 4e9)
    assert [tick_text(number) for number in numbers] == ["0", "1,234", "12.3", "0.0123", "1.23e-5", "4e9"]
