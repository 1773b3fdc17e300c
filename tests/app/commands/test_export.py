"""The page and the picture written by the command line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import explorer
from explorer.app.cli import app
from explorer.templates import gallery

RUN = CliRunner()


def test_a_page_contains_every_step_and_sends_no_requests(tmp_path: Path):
    explorer.record(gallery.load_named("conflict")).save(tmp_path / "any name")
    page = tmp_path / "conflict.html"
    result = RUN.invoke(app, ["html", str(tmp_path / "any name"), "-o", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert "Step 3 of 12: fuse, round 1, 7 of 9 matches" in text
    assert 'src="http' not in text
    assert 'href="http' not in text


def test_the_page_of_the_digits_is_below_one_megabyte(tmp_path: Path):
    page = tmp_path / "digits.html"
    assert RUN.invoke(app, ["html", "digits", "-o", str(page)]).exit_code == 0
    assert page.stat().st_size < 1_000_000


def test_a_picture_of_a_step_by_number_or_path(tmp_path: Path):
    for step in ("3", "optimize/round 1/fuse"):
        out = tmp_path / "step.svg"
        result = RUN.invoke(app, ["svg", "conflict", "--step", step, "-o", str(out)])
        assert result.exit_code == 0, result.output
        assert "<svg" in out.read_text(encoding="utf-8")
        assert "step 3, optimize/round 1/fuse" in result.output


def test_a_picture_is_a_png_if_its_name_says_so(tmp_path: Path):
    out = tmp_path / "picture.PNG"
    result = RUN.invoke(app, ["svg", "conflict", "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["picture.pdf", "picture"])
def test_a_picture_in_another_format_is_an_error(name: str, tmp_path: Path):
    result = RUN.invoke(app, ["svg", "conflict", "-o", str(tmp_path / name)])
    assert result.exit_code == 2
    assert "a picture is one of .svg, .png, by the name of the file" in result.output + result.stderr
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["svg", "conflict", "--mode", "sideways"], "no mode named 'sideways'; known are: diff"),
        (["svg", "conflict", "--step", "99"], "there is no step 99"),
        (["svg", "nosuch"], "no circuit 'nosuch'"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str, tmp_path: Path):
    result = RUN.invoke(app, [*arguments, "-o", str(tmp_path / "x.svg")])
    assert result.exit_code == 2
    assert message in result.output + (result.stderr if result.stderr_bytes else "")
