"""The command that installs an extra exists, wherever the package came from."""

import json
import os
import subprocess
import sys
from importlib.metadata import PathDistribution, version
from pathlib import Path

import pytest

import explorer
from explorer.errors import MissingPackageError
from explorer.packages import DEPENDENCIES, command_from, install_command, missing_dependency, require

METADATA = """Metadata-Version: 2.4
Name: circuit-explorer
Version: 0.1.0
Requires-Dist: torch>=2.6
Provides-Extra: cirkit
Requires-Dist: libcirkit>=0.2.1; (python_version < '3.14') and extra == 'cirkit'
Provides-Extra: ui
Requires-Dist: panel>=1.9; extra == 'ui'
Requires-Dist: bokeh>=3.6; extra == 'ui'
"""


def installed(folder: Path, direct_url: object = None) -> PathDistribution:
    info = folder / "site-packages" / "circuit_explorer-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA)
    if direct_url is not None:
        (info / "direct_url.json").write_text(json.dumps(direct_url))
    return PathDistribution(info)


def test_a_checkout_is_installed_from_its_folder(tmp_path):
    folder = tmp_path / "a checkout"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    assert command_from(folder, None, "ui") == f"pip install -e '{folder}[ui]'"


@pytest.mark.parametrize("name", ["a wheel.whl", "ein Ordner mit ü"])
def test_a_wheel_and_a_folder_are_installed_from_where_they_are(tmp_path, name):
    file = tmp_path / name
    file.mkdir()
    found = installed(tmp_path, {"url": file.as_uri(), "dir_info": {}})
    assert command_from(tmp_path, found, "ui") == f"pip install '{file}[ui]'"
    file.rmdir()
    assert command_from(tmp_path, found, "ui") == "pip install 'panel>=1.9' 'bokeh>=3.6'"


def test_a_repository_and_an_address_are_installed_again(tmp_path):
    vcs = {"url": "https://example.org/a.git", "vcs_info": {"vcs": "git", "commit_id": "0123"}}
    found = installed(tmp_path / "a", vcs)
    assert command_from(tmp_path, found, "ui") == (
        "pip install 'circuit-explorer[ui] @ git+https://example.org/a.git@0123'"
    )
    found = installed(tmp_path / "b", {"url": "https://example.org/a.whl", "archive_info": {}})
    assert command_from(tmp_path, found) == "pip install 'circuit-explorer @ https://example.org/a.whl'"


def test_from_an_index_the_packages_of_the_extra_are_installed(tmp_path):
    found = installed(tmp_path)
    assert command_from(tmp_path, found, "cirkit") == "pip install 'libcirkit>=0.2.1'"
    assert command_from(tmp_path, found) == "pip install 'torch>=2.6'"


def test_missing_packages_are_named_with_the_command():
    require("a view", "ui", "json", "os")
    expected = r"^a view needs no_such_a, no_such_b and no_such_c, which are not installed; run: pip install "
    with pytest.raises(MissingPackageError, match=expected):
        require("a view", "ui", "no_such_a", "json", "no_such_b", "no_such_c")


def test_only_a_dependency_of_every_install_is_reported_as_missing():
    assert missing_dependency(ModuleNotFoundError(name="somebodys_module")) is None
    for name in DEPENDENCIES:
        error = missing_dependency(ModuleNotFoundError(name=name))
        assert str(error) == f"circuit-explorer needs {name}, which is not installed; run: {install_command()}"


def test_the_version_is_that_of_the_installed_package():
    assert explorer.__version__ == version("circuit-explorer")
    assert command("--version").stdout == f"circuit-explorer {version('circuit-explorer')}\n"


def command(
    *arguments: str, code: str = "from explorer.app.cli import main; main()"
) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=environment
    )


WITHOUT_TORCH = "import sys; sys.modules['torch'] = None\n"


def test_without_torch_a_command_says_what_to_install():
    result = command("trace", "blackboard", code=f"{WITHOUT_TORCH}from explorer.app.cli import main; main()")
    assert result.returncode == 2
    assert f"Error: circuit-explorer needs torch, which is not installed; run: {install_command()}" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("used", ["record(explorer.gallery.load_named('blackboard'))", "fast", "TorchCompiler", "show"])
def test_without_torch_a_public_name_says_what_to_install(used):
    result = command(code=f"{WITHOUT_TORCH}import explorer; explorer.{used}")
    last = result.stderr.splitlines()[-1]
    assert "MissingPackageError: " in last
    assert last.endswith(f" needs torch, which is not installed; run: {install_command()}")


def test_other_compilers_are_watched_with_torch_and_numpy_alone():
    without = "import sys; sys.modules.update(dict.fromkeys(('graphviz', 'typer', 'rich', 'yaml')))\n"
    result = command(code=f"{without}import explorer; explorer.watch, explorer.watching, explorer.watch_onnx")
    assert not result.stderr


@pytest.mark.parametrize("module", ["explorer", "explorer.app"])
def test_the_package_runs_the_command(module):
    result = command(code=f"import runpy; runpy.run_module({module!r}, run_name='__main__')")
    assert "Usage: " in result.stdout
    assert not command(code=f"import {module}.__main__").stdout
