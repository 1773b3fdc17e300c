"""The visible part of a lesson: no answer below its question, and nothing needed that is folded away.

Each rule holds in the notebook, where the code of questions and assertions is hidden, and on the page made of it.
"""

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")
pytest.importorskip("nbclient", reason="needs nbclient: pip install 'circuit-explorer[ui]'")

import explorer.templates
from docs.building.lessons import claims_at, is_answer, is_figure, is_question, site_cells

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
MAX_CODE = 88
"""Columns of code that fit the text column of a page."""

FOLDED = (is_question, is_answer, is_figure)
"""Cells that visible code must not depend on."""

each_lesson = pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.stem)


def cells_of(file: Path) -> list[Any]:
    return nbformat.read(file, as_version=4).cells


def calls_of_explorer(source: str) -> Iterator[tuple[str, str, list[Any], dict[str | None, Any]]]:
    """The calls of `explorer.show` and `explorer.ask`: name, subject, other arguments, keywords; constants only."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("show", "ask"):
            arguments = [one.value if isinstance(one, ast.Constant) else None for one in node.args[1:]]
            constants = {one.arg: one.value.value for one in node.keywords if isinstance(one.value, ast.Constant)}
            yield node.func.attr, ast.unparse(node.args[0]), arguments, constants


@each_lesson
class TestTheNotebook:
    def test_a_question_is_followed_by_its_answer_which_has_to_be_run(self, file: Path) -> None:
        cells = cells_of(file)
        for at, cell in enumerate(cells):
            if is_question(cell):
                assert is_answer(cells[at + 1]), cell.source
                assert cells[at + 1].cell_type == "code", cell.source
            elif is_answer(cell):
                assert is_question(cells[at - 1]) or is_answer(cells[at - 1]), cell.source
                assert not re.search("^#{1,6} ", cell.source, re.MULTILINE) or cell.cell_type == "code"

    def test_no_film_tells_the_answer_to_a_later_question(self, file: Path) -> None:
        """A film counts matches and layers of all steps, so a picture before such a question has none."""
        shown: set[str] = set()
        for cell in cells_of(file):
            for name, subject, arguments, words in calls_of_explorer(cell.source if cell.cell_type == "code" else ""):
                if name == "show" and words.get("film") is not False:
                    shown.add(subject)
                asks_counts = name == "ask" and arguments[:1] in (["matches"], ["layers-left"])
                assert not (asks_counts and subject in shown), cell.source

    def test_visible_code_uses_only_what_visible_code_defines(self, file: Path) -> None:
        cells = cells_of(file)
        claims = claims_at(cells)
        known = set(dir(builtins))
        for at, cell in enumerate(cells):
            if cell.cell_type == "code" and at not in claims and not any(is_one(cell) for is_one in FOLDED):
                tree = ast.parse(cell.source)
                assert not names_used(tree) - known - names_defined(tree), cell.source
                known |= names_defined(tree)

    def test_a_number_of_layers_is_not_asked_after_a_film_that_shows_it(self, file: Path) -> None:
        """The film above a picture of a trace has the number of layers after each step."""
        shown: list[str] = []
        for cell in cells_of(file):
            if cell.cell_type == "code":
                asked = re.findall(r'explorer\.ask\(\s*(\w+),\s*"layers-left"', cell.source)
                assert not set(asked) & set(shown), cell.source
                shown += re.findall(r"explorer\.show\(\s*(\w+)[,)]", cell.source)

    def test_the_code_of_questions_and_assertions_is_hidden(self, file: Path) -> None:
        cells = cells_of(file)
        claims = claims_at(cells)
        for at, cell in enumerate(cells):
            hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False)
            assert hidden == (at in claims or is_question(cell) or is_figure(cell)), cell.source

    def test_a_question_defines_nothing_but_itself(self, file: Path) -> None:
        for cell in filter(is_question, cells_of(file)):
            assert len(names_defined(ast.parse(cell.source))) == 1, cell.source

    def test_the_stated_reading_time_is_that_of_its_words_code_and_pictures(self, file: Path) -> None:
        cells = cells_of(file)
        stated = re.search(r"bout (\d+) minutes to read", cells[0].source)
        assert stated
        assert abs(int(stated[1]) - reading_minutes(cells)) <= 5

    def test_it_ends_with_three_to_five_references(self, file: Path) -> None:
        *_, references, last = cells_of(file)
        assert references.source.startswith("## Read on\n")
        assert 3 <= len(re.findall(r"^- .*\(\d{4}\), \*", references.source, re.MULTILINE)) <= 5
        assert last.source.startswith("Next: ")

    def test_code_fits_the_text_column(self, file: Path) -> None:
        lines = [line for cell in cells_of(file) if cell.cell_type == "code" for line in cell.source.splitlines()]
        assert [line for line in lines if len(line) > MAX_CODE] == []


@pytest.mark.parametrize("file", LESSONS[:6], ids=lambda file: file.stem)
def test_lesson_adds_at_most_one_circuit_to_the_one_of_the_course(file: Path) -> None:
    """All lessons use `digits`. Exercises may ask for circuits of their own, and tables may count more of them."""
    code: list[str] = []
    for cell in cells_of(file):
        if cell.cell_type == "code" and "exercise_" not in cell.source:
            code.append(cell.source)
        elif re.search("^## Exercises", cell.source, re.MULTILINE):
            break
    assert len(side_circuits("\n".join(code))) <= (2 if file.stem == "05_folding" else 1)
    # lesson 5 also needs the four pairs of coins, which fold worse if they are fused first


def side_circuits(code: str) -> set[str]:
    """The circuits that code builds layer by layer, from a template, or takes from the gallery; without `digits`."""
    built = {f"built {at}" for at in range(len(re.findall(r"\bCircuitBuilder\(", code)))}
    templates = {
        name for name in vars(explorer.templates) if name.islower() and re.search(rf"(?<![.\w]){name}\(", code)
    }
    named = set(re.findall(r'\bload_named\("([^"]+)"\)', code))
    return built | (templates - {"build_circuit"}) | (named - {"digits"})


def test_more_the_same_and_fewer_are_each_right_several_times() -> None:
    code = [cell.source for file in LESSONS[:7] for cell in cells_of(file) if cell.cell_type == "code"]
    right = re.findall(r'\.check\("(more|the same|fewer)"\)\.right', "\n".join(code))
    assert {choice: right.count(choice) >= 2 for choice in set(right)} == {
        "more": True,
        "the same": True,
        "fewer": True,
    }


def reading_minutes(cells: list[Any]) -> float:
    """120 words or 8 lines of code take a minute, a picture half of one; the assertions at the end are not read."""
    claims = claims_at(cells)
    words, lines, pictures = 0, 0, 0
    for at, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            words += len(re.findall(r"\w+", re.sub(r"\$\$?.*?\$\$?", "x", cell.source, flags=re.DOTALL)))
        elif at not in claims:
            pictures += is_question(cell) or is_figure(cell) or "explorer.show(" in cell.source
            lines += (
                0 if is_question(cell) or is_figure(cell) else len(list(filter(str.strip, cell.source.splitlines())))
            )
    return words / 120 + lines / 8 + pictures / 2


def names_defined(tree: ast.AST) -> set[str]:
    """The names that code binds, including those within functions and comprehensions."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


def names_used(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


@each_lesson
class TestThePage:
    def test_answers_and_assertions_are_folded_and_the_code_of_questions_is_hidden(self, file: Path) -> None:
        around: list[str] = []
        cells = cells_of(file)
        hidden = [cell.source for cell in cells if is_question(cell) or is_figure(cell)]
        answers = [cell.source for cell in cells if is_answer(cell)]
        claimed = [cells[at].source for at in claims_at(cells)]
        for cell in site_cells(cells):
            begin = re.match('<details class="fold ([a-z]+)">', cell.source)
            if begin:
                around.append(begin[1])
            elif cell.source == "</details>":
                around.pop()
            else:
                assert (around[-1:] == ["source"]) == (cell.source in hidden), cell.source
                assert ("behind" in around) == (cell.source in answers) or cell.source == "...", cell.source
                assert (around == ["claims"]) == (cell.source in claimed), cell.source
        assert around == []

    def test_a_question_is_followed_by_the_fold_that_answers_it(self, file: Path) -> None:
        cells = site_cells(cells_of(file))
        asked = [at for at, cell in enumerate(cells) if is_question(cell)]
        assert asked
        for at in asked:
            ends = [re.sub("<summary>.*", "", one.source) for one in cells[at - 1 : at + 4]]
            del ends[1]
            assert ends == ['<details class="fold source">', "</details>", "...", '<details class="fold behind">']
