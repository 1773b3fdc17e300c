"""The compiled library: where it is kept, and what happens if it cannot be made."""

import subprocess
import sys
from pathlib import Path

import pytest

from explorer.errors import BackendWarning, LoweringError
from explorer.runtime import choosing, fast
from explorer.runtime.native import build
from explorer.runtime.native.library import load_library
from explorer.templates import load_named
from tests.levels.modes import compile_circuit
from tests.runtime.circuits import has_compiler

SCRIPT = f"""
import ctypes, runpy
build = runpy.run_path({build.__file__!r})  # without PyTorch
print(ctypes.CDLL(str(build["library_path"]())).lanes())
"""


def compiler(folder: Path, script: str) -> str:
    path = folder / "cxx"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A compiler that writes the library in two halves, with time between them, and an empty cache."""
    whole = build.library_path()
    half = whole.stat().st_size // 2
    script = f"""
if [ "$1" = --version ]; then exit 0; fi
for last; do :; done
head -c {half} '{whole}' > "$last"
sleep 0.3
tail -c +{half + 1} '{whole}' >> "$last"
echo compiled >> '{tmp_path}/compiled'
"""
    monkeypatch.setenv("CXX", compiler(tmp_path, script))
    monkeypatch.setenv("CIRCUIT_EXPLORER_CACHE", str(tmp_path / "cache"))
    build._version.cache_clear()
    return str(tmp_path / "compiled")


@has_compiler
def test_processes_that_compile_at_once_load_one_whole_library(quick: str, tmp_path: Path):
    command = [sys.executable, "-c", SCRIPT]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert {process.communicate()[0].strip() for process in running} == {str(load_library().lanes())}
    assert [process.returncode for process in running] == [0, 0]
    assert len(list((tmp_path / "cache").iterdir())) == 1


FAILING = {
    "fails halfway": "echo half > \"$(eval echo \\${$#})\"; echo 'out of memory' >&2; exit 1",
    "makes nothing": "exit 0",
}


@pytest.mark.parametrize("how", FAILING)
def test_a_compiler_that_fails_leaves_nothing_and_the_next_backend_is_used(how, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("CXX", compiler(tmp_path, f'if [ "$1" = --version ]; then exit 0; fi; {FAILING[how]}'))
    monkeypatch.setenv("CIRCUIT_EXPLORER_CACHE", str(tmp_path / "cache"))
    with pytest.raises(LoweringError, match="could not compile the native kernels"):
        build.library_path()
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_compiler_that_takes_too_long_is_no_folder_that_cannot_be_written(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("CXX", compiler(tmp_path, 'if [ "$1" = --version ]; then exit 0; fi; exec sleep 60'))
    monkeypatch.setenv("CIRCUIT_EXPLORER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "TIMEOUT_S", 0.2)
    with pytest.raises(LoweringError, match=r"has not compiled the native kernels within 0\.2 seconds.*less busy"):
        build.library_path()
    assert list((tmp_path / "cache").iterdir()) == []


def test_without_a_compiler_the_circuit_runs_in_pytorch(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    monkeypatch.setattr("explorer.runtime.native.native_program.load_library", build.library_path)
    circuit = compile_circuit(load_named("digits"))
    choosing._warn_once.cache_clear()
    with pytest.warns(BackendWarning, match="several times slower"):
        made = fast(circuit)
    assert made.backend.name == "torch"
    assert "native: not used: the native backend needs a C++ compiler" in made.explain()
    with pytest.raises(LoweringError, match="set CXX to its path"):
        fast(circuit, backend="native")


def test_a_compiler_that_cannot_be_run_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("CXX", str(tmp_path / "no such compiler").replace(" ", "-"))
    monkeypatch.setenv("CIRCUIT_EXPLORER_CACHE", str(tmp_path / "cache"))
    with pytest.raises(LoweringError, match="no-such-compiler cannot be run"):
        build.library_path()


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CXX", compiler(tmp_path, "exit 0"))
    monkeypatch.setenv("CIRCUIT_EXPLORER_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(LoweringError, match="could not be compiled into"):
        build.library_path()
