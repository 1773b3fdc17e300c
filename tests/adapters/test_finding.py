"""Adapters of other compilers by name: those of installed packages, and errors that say which one and why."""

import json
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import explorer
from explorer.adapters.finding import GROUP, find_adapters, watch_by
from explorer.errors import CircuitError, DataTypeError, FileFormatError, UnknownNameError
from explorer.templates import gallery
from tests.app.commands.running import run

ADAPTERS = """
from explorer.trace.trace_files import load_trace

def crash(source):
    return 1 / 0

def return_text(source):
    return source
"""
ENTRIES = """
[circuit_explorer.adapters]
file = adapters_of_a_test:load_trace
crash = adapters_of_a_test:crash
text = adapters_of_a_test:return_text
gone = no_such_module_of_a_test:watch
missing = adapters_of_a_test:no_such_function
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages with a package that has adapters."""
    folder = tmp_path / "site-packages"
    info = folder / "adapters_of_a_test-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "adapters_of_a_test.py").write_text(ADAPTERS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: adapters-of-a-test\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(folder)
    return tmp_path


def test_an_adapter_of_an_installed_package_is_found(installed: Path):
    explorer.record(gallery.load_named("conflict")).save(installed / "a.json")
    assert {"file", "crash"} <= set(find_adapters())
    assert len(watch_by("file", str(installed / "a.json")).steps) > 1
    with pytest.raises(FileFormatError, match="cannot read"):
        watch_by("file", str(installed / "b.json"))
    out = installed / "b.json"
    said = run("watch", installed / "a.json", "--adapter", "file", "--no-dashboard", "-o", out).output
    assert "compile" in said
    assert json.loads(out.read_text())["steps"]
    refused = run("watch", installed / "a.json", "--adapter", "file", "--mode", "train", "--no-dashboard", code=2)
    assert "--mode train is for torch.compile" in refused.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crash", r"the adapter crash \(adapters_of_a_test:crash\) failed: ZeroDivisionError: division by zero"),
        ("gone", r"the adapter gone .* failed: ModuleNotFoundError: No module named 'no_such_module_of_a_test'"),
        ("missing", r"the adapter missing .* failed: AttributeError"),
    ],
)
def test_an_adapter_that_fails_is_named(name: str, message: str, installed: Path):
    with pytest.raises(CircuitError, match=message):
        watch_by(name, "source")
    assert f"the adapter {name}" in run("watch", "x", "--adapter", name, "--no-dashboard", code=2).output


def test_an_unknown_adapter_and_one_that_returns_no_trace_are_refused(installed: Path):
    with pytest.raises(UnknownNameError, match=r"no adapter named 'fil'; known are: .*did you mean file\?"):
        watch_by("fil", "source")
    with pytest.raises(DataTypeError, match=r"expected a trace from the adapter text .*, got str"):
        watch_by("text", "source")


def test_the_adapters_of_this_package_are_announced_as_entry_points():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = project["entry-points"][GROUP]
    assert own["onnx"] == "explorer.adapters.onnx.watching:watch_onnx"
    for target in own.values():
        module, _, function = target.partition(":")
        assert callable(getattr(import_module(module), function))
