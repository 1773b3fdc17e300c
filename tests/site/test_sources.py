"""The sources of the site: links that lead to its pages, and files that are written only if they change."""

import re
from pathlib import Path

import pytest

from docs.building.sources import ROOT, Sources, github_anchor, keep, links, rewrite_links


@pytest.mark.parametrize(
    ("source", "address", "target"),
    [
        ("docs/cirkit.md", "../notebooks/05_b.ipynb#View,-slice", "notebooks/05_b.ipynb#view-slice"),
        ("docs/cirkit.md", "levels.md", "levels.md"),
        ("docs/cirkit.md", "https://example.org/a.md#X,y", "https://example.org/a.md#X,y"),
        ("notebooks/00_a.ipynb", "solutions/quiz.md#answer-1", "solutions/quiz.md#answer-1"),
        ("notebooks/00_a.ipynb", "../docs/levels.md", "../levels.md"),
        ("notebooks/solutions/quiz.md", "../05_b.ipynb", "../05_b.ipynb"),
        ("notebooks/00_a.ipynb", "#Does-it-pay?", "#does-it-pay"),
        ("explorer/app/README.md", "../../docs/cli.md", "../../cli.md"),
    ],
)
def test_a_link_leads_to_the_page_of_its_target(source: str, address: str, target: str) -> None:
    assert rewrite_links(f"See [*that*]({address}).", source) == f"See [*that*]({target})."


def test_every_link_of_the_texts_of_lessons_leads_to_a_file() -> None:
    for file in (ROOT / "notebooks").rglob("*.md"):
        source = file.relative_to(ROOT).as_posix()
        for path in links(file.read_text(encoding="utf-8"), source):
            assert (ROOT / path).exists(), f"{source}: {path}"


def test_a_heading_has_the_name_of_github() -> None:
    assert github_anchor("#View,-slice,-gather") == "#view-slice-gather"


def test_only_changed_files_are_written_and_others_are_removed(tmp_path: Path) -> None:
    first = Sources(tmp_path)
    first.write("a.md", "a")
    first.write("b/c.md", "c")
    before = (tmp_path / "a.md").stat().st_mtime_ns
    second = Sources(tmp_path)
    second.write("a.md", "a")
    second.remove_others()
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    assert not (tmp_path / "b" / "c.md").exists()


def test_what_was_made_is_kept_until_its_inputs_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.building.sources.CODE", ())
    lesson = tmp_path / "lesson"
    lesson.write_text("1")
    made: list[str] = []

    def make() -> str:
        made.append(lesson.read_text())
        return made[-1]

    folder = tmp_path / "kept"
    assert [keep(folder, "x", [lesson], make) for _ in range(2)] == ["1", "1"]
    lesson.write_text("2")
    assert keep(folder, "x", [lesson], make) == "2"
    assert made == ["1", "2"]
    assert len(list(folder.iterdir())) == 1


def test_the_reference_has_every_package_that_the_guides_import_from() -> None:
    pytest.importorskip("sphinx", reason="needs sphinx: pip install 'circuit-explorer[site]'")
    from docs.building.reference import PACKAGES, public_names

    for file in (ROOT / "docs").glob("*.md"):
        text = file.read_text(encoding="utf-8")
        for package, names in re.findall(r"^from (explorer[\w.]*) import ([\w, ]+)$", text, re.MULTILINE):
            found = {one.strip() for one in names.split(",") if f"{package}.{one.strip()}" not in PACKAGES}
            assert package not in PACKAGES or found <= {*public_names(package)}, f"{file.name}: {package}"


def test_a_docstring_is_plain_text_with_code() -> None:
    pytest.importorskip("sphinx", reason="needs sphinx: pip install 'circuit-explorer[site]'")
    from docs.building.names import plain

    assert plain("Return `x`s of a*b | c_.") == "Return ``x``\\ s of a\\*b \\| c\\_."


def test_a_formula_is_mathml_or_refused() -> None:
    pytest.importorskip("sphinx", reason="needs sphinx: pip install 'circuit-explorer[site]'")
    from docs.building.formulas import formula_html

    assert formula_html("\\sum_i w_i", "block").startswith("<math")
    with pytest.raises(Exception, match="cannot be shown"):
        formula_html("\\nosuch{x}", "inline")
