"""The page of a recording: one file, no external resources, and its data cannot become markup."""

import re
from pathlib import Path

import pytest

import explorer_widgets.page
from explorer_widgets import page_html
from tests.widgets.samples import recording
from tests.widgets.stored import read_page


def test_the_page_holds_the_recording_and_the_drawing() -> None:
    html = page_html(recording())
    (read,) = read_page(html)["recordings"]
    assert {name: read[name] for name in recording()} == recording()
    assert re.search(r"function render\(\{ ?model, ?el ?\}\)", html)
    assert html.count("<script") == html.count("</script>") == 3


def test_names_from_a_file_stay_text() -> None:
    nasty = "</script><script>alert(1)</script><!--"
    shown = recording(nasty)
    shown["steps"][0]["title"] = nasty
    shown["pictures"]["0/diff/change/fold"]["nodes"][0]["title"] = nasty
    html = page_html(shown)
    assert html.count("<script") == 3
    assert "<!--" not in html
    assert "alert(1)</script>" not in html
    (read,) = read_page(html)["recordings"]
    assert (read["title"], read["pictures"]) == (nasty, shown["pictures"])


def test_equal_recordings_produce_equal_pages() -> None:
    assert page_html(recording()) == page_html(recording())


def test_the_page_has_no_external_resources() -> None:
    html = page_html(recording())
    assert "default-src 'none'" in html
    addresses = set(re.findall(r"https?://[^\"'\s)]+", html))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_without_its_recording_the_page_is_small() -> None:
    assert len(page_html({**recording(), "pictures": {}, "coordinates": {}, "details": {}})) < 307_000


@pytest.mark.parametrize("name", ["graph.js", "bars.js", "question.js", "page.js"])
def test_modules_import_nothing(name: str) -> None:
    text = (Path(explorer_widgets.page.__file__).parent / "static" / name).read_text(encoding="utf-8")
    assert text.startswith("// Made from widgets/js/")
    assert not re.search(
        r"^\s*import\b|\bimport\(|\bfetch\(|innerHTML|insertAdjacentHTML|\beval\(|new Function", text, re.MULTILINE
    )
