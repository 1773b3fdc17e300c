"""The README and the pages in `docs/`: their examples run in order and print what they show, and what they name exists.

The Python blocks of a file share a namespace and a folder with its `bash` blocks. Other blocks are not run.
"""

import ast
import re
import shlex
import tomllib
from contextlib import redirect_stdout
from functools import cache
from importlib.util import find_spec
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from typer.core import TyperGroup

from benchmarks.commands import bench
from docs.building.sources import github_anchor
from explorer.app.cli import app
from explorer.app.dashboard.panes.tools import TOOLS
from tests.app.commands.running import run

ROOT = Path(__file__).parents[1]
README = "README.md"
PAGES = [README, *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md"))]
MAX_ECHOED_LINES = 40
"""Maximum number of lines that Python shows of the values of a block that is pasted into it."""
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block and the text between the block before it and this one."""

    language: str
    text: str
    before: str


@cache
def read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def blocks(file: str) -> list[Block]:
    ends = [0, *(found.end() for found in FENCED.finditer(read(file)))]
    return [
        Block(found[1], found[2], read(file)[end : found.start()])
        for end, found in zip(ends, FENCED.finditer(read(file)), strict=False)
    ]


@pytest.mark.parametrize("file", PAGES)
def test_examples_print_what_the_page_shows(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: None
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    echoed: list[str] = []
    monkeypatch.setattr("sys.displayhook", lambda value: echoed.append(repr(value)))
    for block, following in pairwise([*blocks(file), Block("", "", "the end")]):
        printed = StringIO()
        echoed.clear()
        if block.language == "bash":
            for line in block.text.splitlines():
                run(*words_of(line))
        if block.language == "python":
            with redirect_stdout(printed):
                pasted = ast.Interactive(ast.parse(block.text).body)
                exec(compile(pasted, f"{file}: {block.text.splitlines()[0]}", "single"), names)
            is_output = not following.language and not following.before.strip()
            shown = following.text if is_output else ""
            assert without_times(printed.getvalue()) == without_times(shown)
        assert sum(text.count("\n") + 1 for text in echoed if text != "None") <= MAX_ECHOED_LINES, block.text


@pytest.fixture
def needs(file: str) -> None:
    if file == "docs/cirkit.md" and find_spec("cirkit") is None:
        pytest.skip("libcirkit is not installed")


def test_the_readme_says_how_many_layers_the_circuit_has() -> None:
    (layers,) = re.findall(r"a symbolic circuit of (\d+) layers", read(README))
    assert re.search(rf"^ +0  compile +{layers} +{layers} ", read(README), re.MULTILINE)
    assert f"from {layers} calls to 5]" in read(README)


def test_speeds_in_the_readme_are_those_of_the_measurement() -> None:
    for row, part in (
        ("forward: `circuit.freeze().fast()`", "forward passes are"),
        ("training step", "training steps"),
    ):
        (cells,) = re.findall(rf"^\| {re.escape(row)}[^|]*\|([\d. |]+)\|$", read("docs/fast.md"), re.MULTILINE)
        *speeds, _ = map(float, cells.split("|"))
        assert f"{part} {min(speeds)} to {max(speeds)} times" in " ".join(read(README).split())


@pytest.mark.parametrize("file", [*PAGES, "CONTRIBUTING.md", "notebooks/README.md"])
def test_commands_exist_with_their_options(file: str) -> None:
    for line in re.findall(r"(?:^|`)(circuit-explorer [^`\n]*)", read(file), re.MULTILINE):
        command, words = typer.main.get_command(app), words_of(line)
        if words[0] == "bench":
            command, words = typer.main.get_command(bench), words[1:]
        if not words[0].startswith("-"):
            assert isinstance(command, TyperGroup), line
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        known = {"-h", "--help"}.union(*((*one.opts, *one.secondary_opts) for one in command.params))
        assert [word for word in words if re.match(r"--?[a-z]", word) and word not in known] == [], line


@pytest.mark.parametrize("file", [*PAGES, "CONTRIBUTING.md", "notebooks/README.md", "widgets/README.md"])
def test_named_paths_exist(file: str) -> None:
    paths = re.findall(r"`((?:docs|explorer|tests|widgets|notebooks|benchmarks|scripts)/[\w./-]+)`", read(file))
    assert [path for path in paths if "NN" not in path and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("file", PAGES)
def test_links_lead_somewhere(file: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", read(file)):
        path, _, heading = target.partition("#")
        if not path.startswith("https://"):
            found = (ROOT / file).parent / path
            assert found.exists(), target
            headings = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
            names = {github_anchor(one.strip().replace(" ", "-")) for one in headings}
            assert not heading or github_anchor(heading) in names, target


def test_every_command_has_a_line() -> None:
    for command, prefix in ((app, ""), (bench, "bench ")):
        names = [prefix + str(one.name) for one in command.registered_commands]
        assert [name for name in names if f"\ncircuit-explorer {name}" not in read("docs/cli.md")] == []


def test_every_tool_of_the_dashboard_has_a_row() -> None:
    (table,) = re.findall(r"^\| tool \| shows \|\n\|[-|]+\n((?:\|.*\n)+)", read("docs/dashboard.md"), re.MULTILINE)
    assert sorted(re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)) == sorted(tool.title for tool in TOOLS)


def test_every_page_is_in_the_contents_of_the_site() -> None:
    listed = {
        line for text in re.findall(r":hidden:\n\n(.*?):::", read("docs/index.md"), re.DOTALL) for line in text.split()
    }
    assert {Path(page).stem for page in PAGES if page != README} == {name for name in listed if "/" not in name} | {
        "index"
    }


@pytest.mark.parametrize("file", sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("explorer/**/README.md")))
def test_files_named_in_the_readme_of_a_folder_exist(file: str) -> None:
    folder, text = (ROOT / file).parent, read(file)
    names = {*re.findall(r"`([\w./-]+\.(?:py|h|cpp|json))`", text), *re.findall(r"\]\(([\w./-]+)\)", text)}
    roots = (folder, ROOT, ROOT / "explorer")
    missing = [name for name in names if not any((root / name).exists() for root in roots)]
    assert [name for name in sorted(missing) if not any(folder.rglob(name.removeprefix("../")))] == []


def words_of(line: str) -> list[str]:
    """The words of a command without its name, and without the explanation after two spaces."""
    return shlex.split(re.split(r" {2,}", line)[0])[1:]


def without_times(printed: str) -> list[str]:
    """The lines without the milliseconds of steps, and without the widths of columns and rules."""
    lines = (re.sub(r"^( *\d+  \S.*?(?:  +[\d,]+)+) +[\d.]+  (?=\S)", r"\1  ", line) for line in printed.splitlines())
    return [re.sub(r" {2,}|-{3,}", " ", line).rstrip() for line in lines]


@pytest.mark.parametrize("page", PAGES)
def test_it_installs_this_package_from_the_checkout_since_no_index_has_it(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert not re.findall(r"pip install [^`]*circuit-explorer\[", text)
    extras = re.findall(r'pip install -e ["\']\.\[([^\]]*)\]', text)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {name for extra in extras for name in extra.split(",")} <= {*known}


def test_a_citation_names_the_version_and_the_authors() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {project['version']}\n" in citation
    assert [f"name: {author['name']}" in citation for author in project["authors"]] == [True]
