"""Every file that this package writes is written as a whole, or the older one stays: tried on a disk that is full.

The full disk is a limit on the size of files, which needs no administrator; a process of its own has it.
"""

import ast
import errno
import json
import os
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from explorer.errors import FileFormatError
from explorer.files import check_writable, replace_file

ROOT = Path(__file__).parents[1]
WRITTEN_OTHERWISE = {
    "explorer/files.py",
    "explorer/runtime/native/build.py",  # a library in a folder of its own, which is renamed
    "explorer/app/commands/workers.py",  # /dev/null
    "benchmarks/browser_times.py",  # in a temporary folder, as all that follow
    "benchmarks/watch_command.py",
    "benchmarks/watched_model.py",
    "explorer/adapters/onnx/replay.py",
    "explorer/adapters/onnx/watching.py",
    "explorer/adapters/xla/recording.py",
    "explorer/adapters/xla/running.py",
}

WRITERS = """
import json, resource, sys
from pathlib import Path
import torch
from typer.testing import CliRunner
import explorer
from explorer.app.cli import app
from explorer.app.training.checkpoint import Checkpoint
from explorer.bench.recorded import RECORDED_FOLDER, load_runs, save_runs
from explorer.errors import CircuitError
from explorer.learning.curves import save_curves
from explorer.learning.loop import Epoch
from explorer.rewrite import FunctionPassConfig, FunctionPassPipeline, write_pipeline
from explorer.templates import gallery
from explorer.templates.regions import random_binary_tree

folder = Path(sys.argv[1])
RECORDED = sorted(RECORDED_FOLDER.glob('*.timing.json*'))
table = folder / "table.csv"
circuit = gallery.load_named("conflict")
trace = explorer.record(circuit)
pipeline = FunctionPassPipeline((FunctionPassConfig("Any"),) * 9)


def command(*arguments):
    def write(path):
        result = CliRunner().invoke(app, [*arguments, str(path)])
        if result.exit_code == 2:
            raise CircuitError(result.output)
        assert result.exit_code == 0, result.output

    return write


def checkpoint(size):
    return lambda path: Checkpoint("conflict", {}, "digits", {"a": torch.ones(size)}).save(path)


writers = {
    "trace.json": trace.save,
    "trace.json.gz": trace.save,
    "circuit.json": circuit.save,
    "region.json": random_binary_tree(12, depth=2).save,
    "times.timing.json": lambda path: save_runs(path, load_runs(RECORDED[0])),
    "pipeline.yaml": lambda path: write_pipeline(pipeline, path),
    "small.pt": checkpoint(10),
    "large.pt": checkpoint(1_000_000),
    "run.curves.svg": lambda path: save_curves(path.with_name("run.pt"), (Epoch(1, 1.0, 2.0, 1.0),), "", "bits", None),
    "command.trace.json.gz": command("trace", "conflict", "-o"),
    "command.html": command("html", "conflict", "-o"),
    "command.svg": command("svg", "conflict", "-o"),
    "command.png": command("svg", "conflict", "-o"),
    "command.csv": command("sample", "hmm", "-n", "100", "--overwrite", "-o"),
    "command.npy": command("sample", "hmm", "-n", "100", "--overwrite", "-o"),
    "trained.pt": command("train", "--data", str(table), *"--units 1 --epochs 1 --method em --overwrite -o".split()),
    "image.png": command("sample", "digits", "-n", "4", "--overwrite", "-o"),
}
table.write_text("a,b\\n" + "0,1\\n1,0\\n" * 10)
for name, write in writers.items():
    write(folder / name)
before = {path.name: path.read_bytes() for path in folder.iterdir()}
resource.setrlimit(resource.RLIMIT_FSIZE, (150, resource.RLIM_INFINITY))  # Python ignores SIGXFSZ
said = {}
for name, write in writers.items():
    try:
        write(folder / name)
        said[name] = "written"
    except CircuitError as error:
        said[name] = str(error)
after = {path.name: path.read_bytes() for path in folder.iterdir()}
changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
print(json.dumps({"said": said, "changed": changed}))
"""
NAMES = [
    "trace.json",
    "trace.json.gz",
    "circuit.json",
    "region.json",
    "times.timing.json",
    "pipeline.yaml",
    "small.pt",
    "large.pt",
    "run.curves.svg",
    "command.trace.json.gz",
    "command.html",
    "command.svg",
    "command.png",
    "command.csv",
    "command.npy",
    "trained.pt",
    "image.png",
]


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The message of each writer when the disk was full, and the files that changed."""
    pytest.importorskip("resource")
    folder = tmp_path_factory.mktemp("full disk")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WRITERS), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout.splitlines()[-1]), "folder": folder}


@pytest.mark.parametrize("name", NAMES)
def test_full_disk_names_file_and_reason(full_disk, name):
    said = full_disk["said"][name]
    assert f"cannot write {full_disk['folder'] / name}: {os.strerror(errno.EFBIG)}" in said


def test_full_disk_changes_no_file(full_disk):
    assert full_disk["changed"] == []


def test_failed_content_leaves_the_older_file_and_no_other(tmp_path):
    file = tmp_path / "file"
    file.write_text("older")

    def write(stream):
        stream.write(b"newer")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_file(file, write)
    assert file.read_text() == "older"
    assert _names(tmp_path) == ["file"]


def test_permissions_of_the_older_file_are_kept(tmp_path):
    file = tmp_path / "file"
    file.write_text("older")
    for mode in (0o600, 0o664, 0o755):
        file.chmod(mode)
        replace_file(file, b"newer")
        assert stat.S_IMODE(file.stat().st_mode) == mode


def test_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "usual").write_text("")
    replace_file(tmp_path / "file", b"")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_symbolic_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "file", tmp_path / "link"
    link.symlink_to(target)
    for text in (b"first", b"second"):  # of a link that leads nowhere, and of one that leads to a file
        replace_file(link, text)
        assert link.is_symlink()
        assert target.read_bytes() == text
    assert _names(tmp_path / "folder") == ["file"]


def test_device_and_pipe_are_written_directly(tmp_path):
    replace_file(os.devnull, b"anything")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    replace_file(pipe, b"content")
    reader.join()
    assert read == [b"content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_full_device_is_a_typed_error():
    with pytest.raises(FileFormatError, match=r"^cannot write /dev/full: No space left on device$"):
        replace_file("/dev/full", b"anything")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_to_a_full_device_is_an_error_with_its_reason(unbuffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "explorer.app", "gallery"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (2, "Error: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("write", [check_writable, lambda path: replace_file(path, b"")])
def test_what_cannot_be_written_is_named(tmp_path, write):
    (tmp_path / "file").write_text("older")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, reason in (
        (tmp_path, "Is a directory"),
        (tmp_path / "file" / "below", "Not a directory"),
        (tmp_path / ("a" * 300), "File name too long"),
        (tmp_path / "loop", "Too many levels of symbolic links"),
    ):
        with pytest.raises(FileFormatError) as error:
            write(path)
        assert str(error.value).startswith(f"cannot write {path}: {reason}")
    assert _names(tmp_path) == ["file", "loop"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write every file")
def test_read_only_file_is_not_replaced(tmp_path):
    file = tmp_path / "file"
    file.write_text("older")
    file.chmod(0o444)
    with pytest.raises(FileFormatError, match="Permission denied"):
        replace_file(file, b"newer")
    assert file.read_text() == "older"


def test_longest_file_name_can_be_written(tmp_path):
    replace_file(tmp_path / ("ü" * 127), b"content")
    assert _names(tmp_path) == ["ü" * 127]


def test_no_other_function_writes_files():
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for package in ("explorer", "widgets", "benchmarks")
        for file in sorted((ROOT / package).rglob("*.py"))
        if str(file.relative_to(ROOT)) not in WRITTEN_OTHERWISE
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _writes(node)
    ]
    assert found == []


def _writes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [
        each.value for each in (*call.args[:2], *(k.value for k in call.keywords)) if isinstance(each, ast.Constant)
    ]
    is_open = name == "open" and any(mode in ("w", "wb", "a", "ab", "x", "xb", "r+b", "w+b") for mode in modes)
    return is_open or name in ("write_text", "write_bytes", "savefig")


def _names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())
