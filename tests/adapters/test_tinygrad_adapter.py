"""The adapter that `docs/write-an-adapter.md` explains."""

import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from jsonschema import Draft202012Validator

from explorer.errors import CircuitError
from explorer.trace.file_types import trace_schema
from explorer.trace.trace_files import trace_to_json
from tests.trace.showing_everything import show_everything

DOCS = Path(__file__).parents[2] / "docs"
ADAPTER = DOCS / "tinygrad_adapter.py"
PROGRAM = """
from tinygrad import Tensor
x, w = Tensor.empty(8, 32), Tensor.empty(32, 64)
(x @ w).relu().sum(1).realize()
"""


@pytest.fixture
def adapter() -> ModuleType:
    module = ModuleType("tinygrad_adapter")
    module.__file__ = str(ADAPTER)
    exec(compile(ADAPTER.read_text(encoding="utf-8"), str(ADAPTER), "exec"), module.__dict__)
    return module


def test_the_adapter_has_under_200_lines_and_the_page_shows_what_it_has():
    code = ADAPTER.read_text(encoding="utf-8")
    page = (DOCS / "write-an-adapter.md").read_text(encoding="utf-8")
    assert len(code.splitlines()) < 200
    excerpts = [text for _, text in re.findall(r"^```(\w*)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)]
    shown = [line.strip() for excerpt in excerpts if "def " in excerpt for line in excerpt.splitlines()]
    assert shown
    written = {line.strip() for line in code.splitlines()} | {"...", ""}
    assert [line for line in shown if line not in written] == []


def test_a_program_that_fails_is_an_error_with_its_words(adapter: ModuleType, tmp_path: Path):
    (tmp_path / "program.py").write_text("raise SystemExit('no tensors today')")
    with pytest.raises(CircuitError, match="failed under tinygrad"):
        adapter.watch_tinygrad(str(tmp_path / "program.py"))


def test_a_kernel_of_tinygrad_becomes_a_trace(adapter: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("tinygrad", reason="needs tinygrad: pip install tinygrad")
    monkeypatch.setenv("DEV", "PYTHON")  # an interpreter, which needs no compiler
    monkeypatch.setenv("CACHELEVEL", "0")
    (tmp_path / "program.py").write_text(PROGRAM)
    trace = adapter.watch_tinygrad(str(tmp_path / "program.py"))
    changing = [step for step in trace.steps if step.changed]
    assert len(changing) > 5
    assert len(trace.steps) > len(changing)
    types = {record.type for record in changing[0].snapshot.graph.nodes.values()}
    assert {"REDUCE", "PARAM", "SINK"} <= types
    last = changing[-1].snapshot.graph
    assert [last.nodes[node].type for node in last.outputs] == ["SINK"]
    assert "REDUCE" not in {record.type for record in last.nodes.values()}
    assert any("Patterns: " in note for step in trace.steps for note in step.notes)
    data = json.loads(json.dumps(trace_to_json(trace)))
    assert [error.message for error in Draft202012Validator(trace_schema()).iter_errors(data)] == []
    show_everything(trace, tmp_path)
