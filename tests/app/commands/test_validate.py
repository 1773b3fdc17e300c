"""`circuit-explorer validate`."""

import gzip
import json
from pathlib import Path

import pytest

import explorer
from explorer.templates import gallery
from explorer.trace.file_types import trace_schema
from explorer.trace.trace_files import trace_to_json
from tests.app.commands.running import run


@pytest.fixture(scope="module")
def text() -> str:
    return json.dumps(trace_to_json(explorer.record(gallery.load_named("conflict"))))


def test_a_trace_is_described(text: str, tmp_path: Path):
    for name, content in (("a.json", text.encode()), ("a.json.gz", gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(content)
        said = " ".join(run("validate", tmp_path / name).output.split())
        count = len(json.loads(text)["steps"])
        assert said.endswith(f"{name} is a trace of a circuit at the level compiled, {count} steps")


def test_the_first_error_is_said_with_its_place(text: str, tmp_path: Path):
    data = json.loads(text)
    data["steps"][1]["outputs"] = "none"
    file = tmp_path / "a.json"
    file.write_text(json.dumps(data))
    assert "steps[1].outputs is 'none'; expected a list" in " ".join(run("validate", file, code=2).output.split())
    data["steps"][1]["outputs"] = [99]
    file.write_text(json.dumps(data))
    assert "99" in run("validate", file, code=2).output


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"\x1f\x8b cut", b"{" * 5000, b'{"format": "circuit-explorer trace"}']
)
def test_other_files_are_refused_without_a_traceback(content: bytes, tmp_path: Path):
    (tmp_path / "a.json").write_bytes(content)
    assert "a.json" in run("validate", tmp_path / "a.json", code=2).output.replace("\n", "")


def test_a_truncated_trace_is_refused(text: str, tmp_path: Path):
    packed = gzip.compress(text.encode())
    for size in range(0, len(packed), max(len(packed) // 20, 1)):
        (tmp_path / "a.json.gz").write_bytes(packed[:size])
        run("validate", tmp_path / "a.json.gz", code=2)


def test_a_missing_file_and_no_file_are_refused(tmp_path: Path):
    assert "cannot read" in run("validate", tmp_path / "none.json", code=2).output
    assert "--schema" in run("validate", code=2).output


def test_the_schema_is_printed():
    assert json.loads(run("validate", "--schema").output) == trace_schema()
