"""The compiled library: where it is kept, and what happens if it cannot be made."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.errors import BackendWarning, LoweringError
from explorer.runtime import choosing, fast
from explorer.runtime.native import build, library as native_library
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


posix = pytest.mark.skipif(sys.platform == "win32", reason="files have no modes there")


@posix
@has_compiler
@pytest.mark.parametrize("umask", [0, 0o002, 0o277, 0o777])
def test_the_cache_is_of_this_user_alone_whatever_the_umask(umask: int, quick: str, tmp_path: Path):
    before = os.umask(umask)
    try:
        library = build.library_path()
    finally:
        os.umask(before)
    assert stat.S_IMODE(library.parent.stat().st_mode) == 0o700
    assert not stat.S_IMODE(library.stat().st_mode) & 0o022
    assert load_functions(library)


def load_functions(library: Path) -> object:
    return native_library._load(library, ("lanes",)).lanes()


@posix
@has_compiler
def test_a_folder_that_others_can_write_is_refused_and_nothing_is_compiled(quick: str, tmp_path: Path):
    folder = tmp_path / "cache"
    folder.mkdir()
    for mode in (0o777, 0o770, 0o1777, 0o702):
        folder.chmod(mode)
        with pytest.raises(LoweringError, match=r"other users can write .*cache; set CIRCUIT_\w+ to .*chmod go-w"):
            build.library_path()
    assert list(folder.iterdir()) == []
    for mode in (0o755, 0o700):
        folder.chmod(mode)
        assert build.library_path().parent == folder


@posix
@has_compiler
def test_a_folder_that_others_can_replace_is_refused(quick: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """They could rename the checked folder, and put one of theirs in its place before the library is loaded."""
    around = tmp_path / "around"
    folder = around / "between" / "cache"
    folder.mkdir(parents=True, mode=0o700)
    (tmp_path / "link").symlink_to(around)
    monkeypatch.setattr(build, "_is_private", lambda group: False)
    for named in (folder, tmp_path / "link" / "between" / "cache"):
        monkeypatch.setenv("CIRCUIT_EXPLORER_CACHE", str(named))
        for mode in (0o777, 0o775, 0o703):
            around.chmod(mode)
            with pytest.raises(LoweringError, match=r"other users can write .*/around; set CIRCUIT_.* chmod go-w"):
                build.library_path()
        assert list(folder.iterdir()) == []
    for mode in (0o1777, 0o755):
        around.chmod(mode)
        assert build.library_path().parent == folder
    around.chmod(0o775)
    monkeypatch.setattr(build, "_is_private", lambda group: group == around.stat().st_gid)
    assert build.library_path().parent == folder


@posix
@has_compiler
def test_a_library_that_others_can_write_is_compiled_again(quick: str, tmp_path: Path):
    library = build.library_path()
    whole = library.read_bytes()
    library.write_bytes(b"of another user")
    library.chmod(0o777)
    assert build.library_path() == library
    assert library.read_bytes() == whole
    assert not stat.S_IMODE(library.stat().st_mode) & 0o022


@posix
@has_compiler
def test_a_folder_or_library_of_another_user_is_refused_and_one_of_root_is_used(
    quick: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    library = build.library_path()
    owners = {library: 0, library.parent: 0}
    own, usual = os.geteuid(), Path.stat
    monkeypatch.setattr(build.os, "geteuid", lambda: own + 1)

    def stat_of(path: Path, **more: bool) -> os.stat_result:
        found = usual(path, **more)
        usual_owner = 0 if path in library.parents else found.st_uid
        return os.stat_result([*found[:4], owners.get(path, usual_owner), *found[5:10]])

    monkeypatch.setattr(Path, "stat", stat_of)
    assert build.library_path() == library
    owners[library.parent] = own + 2
    with pytest.raises(LoweringError, match=rf"cache belongs to another user \(uid {own + 2}\)"):
        build.library_path()
    owners |= {library.parent: own + 1, library: own + 2}
    with pytest.raises(LoweringError, match=r"\.so belongs to another user"):
        build.library_path()  # what was compiled again belongs to it too, in this test
    owners[library] = own + 1
    assert build.library_path() == library


@posix
@has_compiler
def test_the_default_folder_that_an_earlier_version_made_is_closed(
    quick: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("CIRCUIT_EXPLORER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(build.sys, "platform", "linux")
    folder = tmp_path / "xdg" / "circuit-explorer"
    folder.mkdir(parents=True)
    folder.chmod(0o775)
    assert build.library_path().parent == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@has_compiler
def test_a_library_without_a_function_is_named():
    with pytest.raises(LoweringError, match=r"kernels-\w+\.so have no function no_such; delete the file"):
        native_library._load(build.library_path(), ("lanes", "no_such"))
