"""The README's Python examples run, in order, and print what it shows; the paths it names exist."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.trace import Trace

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
EXAMPLES = [code for language, code in FENCED.findall(TEXT) if language == "python"]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Trace]:
    """The trace at the end of each example; what measures for seconds, or needs a missing peer, is only compiled."""
    names: dict[str, Any] = {}
    traces: list[Trace] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("readme"))  # an example saves its trace
        for number, code in enumerate(EXAMPLES):
            compiled = compile(code, f"README.md, example {number}", "exec")
            if "measure_steps(" not in code and ("cirkit" not in code or find_spec("cirkit") is not None):
                exec(compiled, names)
            traces.append(names["trace"])
    return traces


def test_the_table_is_printed_by_the_first_trace(traces: list[Trace]) -> None:
    (table,) = [code for _, code in FENCED.findall(TEXT) if code.startswith("step  path")]
    shown = [_without_time(line) for line in table.splitlines()[2:-1]]
    printed = [_without_time(line) for line in str(traces[0]).splitlines()[2:-1]]
    assert shown == printed
    assert table.splitlines()[-1] == str(traces[0]).splitlines()[-1]


def test_comments_are_true_of_the_first_trace(traces: list[Trace]) -> None:
    assert str(traces[0].why_not_folded(234, 250)) in TEXT
    assert f"a symbolic circuit of {len(traces[0].graph_at(0))} layers" in TEXT
    assert traces[0].compiled(torch.randint(17, (2, 64))).shape == (2, 1, 1)


def test_comments_are_true_of_the_traces_of_operators(traces: list[Trace]) -> None:
    fused, simplified = (traces[_example(word)] for word in ("BatchNorm2d(", "PatternSub("))
    assert "batch_norm" in str(fused.graph_at(0))
    assert "batch_norm" not in str(fused.graph_at(-1))
    assert "has input z, wanted mul" in str(simplified.why_not("simplify", 5))


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "notebooks/README.md", "widgets/README.md"])
def test_named_paths_exist(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    paths = re.findall(r"`((?:explorer|tests|widgets|notebooks|benchmarks|scripts)/[\w./-]+)`", text)
    assert paths
    assert [path for path in paths if "NN" not in path and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("file", sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("explorer/**/README.md")))
def test_files_named_in_the_readme_of_a_folder_exist(file: str) -> None:
    folder, text = (ROOT / file).parent, (ROOT / file).read_text(encoding="utf-8")
    names = {*re.findall(r"`([\w./-]+\.(?:py|h|cpp|json))`", text), *re.findall(r"\]\(([\w./-]+)\)", text)}
    roots = (folder, ROOT, ROOT / "explorer")
    missing = [name for name in names if not any((root / name).exists() for root in roots)]
    assert [name for name in sorted(missing) if not any(folder.rglob(name.removeprefix("../")))] == []


def _example(word: str) -> int:
    (number,) = [number for number, code in enumerate(EXAMPLES) if word in code]
    return number


def _without_time(line: str) -> tuple[str, ...]:
    """The cells of a printed step but the fifth, its time."""
    cells = re.fullmatch(r"(\d+)\s+(\S.*?)\s{2,}(\d+)\s+(\d+)\s+[\d.]+\s+(.*)", line.strip())
    assert cells
    return cells.groups()
