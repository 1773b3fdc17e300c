"""Tables in terminals of all widths: every word is whole, and no line is longer than the terminal."""

import io
import sys

import pytest
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from explorer.app.commands.console import fit, notes, print_text, results, say_error, say_note
from explorer.errors import FileFormatError

ROWS = (
    ("digits", "170", "64", "The main job: handwritten digits of 17 grey levels."),
    ("poon-domingos", "19,342", "64", "All ways to cut 8x8 pixels into rectangles."),
    ("[bold]", "1", "", "A name that looks like markup."),
)


def printed(width: int) -> str:
    table = Table(title="Circuits of the gallery", caption="There are more.")
    for name in ("name", "layers", "variables", "what it shows"):
        table.add_column(name, justify="right" if name == "layers" else "left", overflow="fold")
    for row in ROWS:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    console.print(fit(table, console))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


@pytest.mark.parametrize("width", [20, 24, 30, 40, 51, 52, 60, 79, 80, 100, 160])
def test_no_word_is_cut_and_no_line_is_too_long(width: int):
    lines = printed(width).splitlines()
    assert max(map(len, lines)) <= width
    words = {word for line in lines for word in line.replace("│", " ").replace("┃", " ").split()}
    assert {word for row in ROWS for cell in row for word in cell.split()} <= words
    assert {"layers", "gallery", "more."} <= {word.rstrip(":") for word in words}


def test_a_table_is_a_list_where_its_longest_words_do_not_fit_side_by_side():
    assert "│" not in printed(40)
    assert "name: poon-domingos\n  layers: 19,342\n  variables: 64\n  what it shows: All ways to cut" in printed(40)
    assert "name: [bold]\n  layers: 1\n  what it shows: A name" in printed(40)
    assert "│" in printed(60)


def test_a_table_that_fits_is_as_wide_as_its_cells():
    lines = printed(120).splitlines()
    assert printed(160).splitlines()[1:-1] == lines[1:-1], "only the title and the caption are centred elsewhere"
    assert max(map(len, lines)) < 120


def test_closed_output_is_a_typed_error_and_a_closed_error_stream_is_silent(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(FileFormatError, match="standard output is closed"):
        results()
    monkeypatch.setattr(sys, "stderr", None)
    say_note("nobody reads it")
    assert not notes().is_terminal


def test_names_do_not_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "a\x1b]0;owned\x07\x1b[31m\u202e\u2066\x9b2J\x7f\udc80\u2028z"
    table = Table(title=Text(hostile))
    table.add_column(Text(hostile))
    table.add_row(Text(hostile))
    say_note(hostile)
    say_error(hostile)
    print_text(hostile)
    results().print(table)
    results().print(Padding(Group(Text(hostile)), 1))
    captured = capsys.readouterr()
    for text, count in ((captured.out, 5), (captured.err, 2)):
        assert all(char.isprintable() or char == "\n" for char in text)
        shown = "".join(text.split("\n"))
        for part in (r"\x1b[31m\u202e\u2066", r"\x7f\udc80\u2028z"):
            assert shown.count(part) >= count - 2  # a cell may be folded anywhere
    print_text("one\n  two ä 界 →")
    assert capsys.readouterr().out == "one\n  two ä 界 →\n"
