"""The page of a recording: one file, no external resources, and its data cannot become markup."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

import widgets.page
from tests.widgets.samples import recording
from widgets import page_html


def read_recording(html: str) -> str:
    found = re.search(
        r'<script type="application/json" id="recording" data-packed="(true|false)">(.*?)</script>', html, re.DOTALL
    )
    assert found is not None
    return gzip.decompress(base64.b64decode(found[2])).decode() if found[1] == "true" else found[2]


def test_the_page_holds_the_recording_and_the_drawing() -> None:
    html = page_html(recording())
    assert json.loads(read_recording(html)) == recording()
    assert re.search(r"function render\(\{ ?model, ?el ?\}\)", html)
    assert html.count("<script") == 2
    assert html.count("</script>") == 2


@pytest.mark.parametrize("pack_from", [0, 10**9])
def test_names_from_a_file_stay_text(pack_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    nasty = "</script><script>alert(1)</script><!--"
    monkeypatch.setattr(widgets.page, "PACK_FROM_BYTES", pack_from)
    shown = recording(nasty)
    shown["steps"][0]["title"] = nasty
    shown["pictures"]["0/diff"]["nodes"][0]["title"] = nasty
    html = page_html(shown)
    assert html.count("<script") == 2
    assert "<!--" not in html
    assert "alert(1)</script>" not in html
    assert json.loads(read_recording(html)) == shown


def test_a_large_recording_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = page_html(recording())
    monkeypatch.setattr(widgets.page, "PACK_FROM_BYTES", 0)
    assert len(page_html(recording())) < len(plain)


def test_equal_recordings_produce_equal_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets.page, "PACK_FROM_BYTES", 0)
    assert page_html(recording()) == page_html(recording())


def test_the_page_has_no_external_resources() -> None:
    html = page_html(recording())
    assert "default-src 'none'" in html
    addresses = set(re.findall(r"https?://[^\"'\s)]+", html))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_without_its_recording_the_page_is_small() -> None:
    assert len(page_html({**recording(), "pictures": {}, "coordinates": {}, "details": {}})) < 250_000


@pytest.mark.parametrize("name", ["graph.js", "bars.js", "question.js", "page.js"])
def test_modules_import_nothing(name: str) -> None:
    text = (Path(widgets.page.__file__).parent / "static" / name).read_text(encoding="utf-8")
    assert text.startswith("// Made from widgets/js/")
    assert not re.search(
        r"^\s*import\b|\bimport\(|\bfetch\(|innerHTML|insertAdjacentHTML|\beval\(|new Function", text, re.MULTILINE
    )
