"""`circuit-explorer lab` starts JupyterLab on this machine only, prints its address, and sends no requests."""

import importlib.util
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import pytest
from typer.testing import CliRunner

from explorer.app.cli import app
from explorer.app.commands.lab import lab_command, lab_environment, notebooks_folder
from explorer.app.dashboard.serving import free_port
from tests.serving import wait_for_server

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(  # looked up, not imported, which takes seconds per collecting process
    importlib.util.find_spec("jupyterlab") is None, reason="needs JupyterLab: pip install 'circuit-explorer[ui]'"
)


def test_it_serves_the_notebooks_prints_the_address_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "explorer.app", "lab", "--no-show", "--port", str(port)]
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        server = subprocess.Popen(command, stdout=out, stderr=err, cwd=ROOT, preexec_fn=hear_ctrl_c)
        try:
            wait_for_server(server, port, tmp_path / "err")
            printed = (tmp_path / "out").read_text()
            address = re.search(r"http://127\.0\.0\.1:\d+/lab\?token=[0-9a-f]{32}", printed)
            assert address is not None
            assert f"JupyterLab on {ROOT / 'notebooks'}" in printed
            with pytest.raises(HTTPError, match="403"):  # refused without the token
                urlopen(f"http://127.0.0.1:{port}/api/contents")
            with build_opener(HTTPCookieProcessor()).open(address.group()) as page:
                text = page.read().decode()
            config = json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', text, re.DOTALL).group(1))  # pyright: ignore[reportOptionalMemberAccess]
            assert config["disabledExtensions"] == ["@jupyterlab/apputils-extension:announcements"]
            assert config["news"] == {"disabled": True}
        finally:
            server.send_signal(signal.SIGINT)
            ended = server.wait(60)
    assert ended in (0, 130), (tmp_path / "err").read_text()


def test_the_kernel_is_that_of_this_interpreter_whatever_the_reader_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jupyter_client.kernelspec import KernelSpecManager

    readers, settings = tmp_path / "readers", tmp_path / "settings"
    for name in ("python3", "julia"):
        spec = readers / "kernels" / name / "kernel.json"
        spec.parent.mkdir(parents=True)
        spec.write_text(json.dumps({"argv": ["/nowhere/python"], "display_name": name, "language": "python"}))
    settings.mkdir()
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(readers))
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == "/nowhere/python"
    for name, value in lab_environment(settings, "token").items():
        monkeypatch.setenv(name, value)
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == sys.executable
    assert "julia" in KernelSpecManager().find_kernel_specs()


def hear_ctrl_c() -> None:
    """A background process of a shell ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    command = lab_command(tmp_path, 9999, show=True)
    assert "--ServerApp.ip=127.0.0.1" in command
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert "--no-browser" not in command
    assert "--no-browser" in lab_command(tmp_path, 9999, show=False)


def test_a_port_in_use_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ended = CliRunner().invoke(app, ["lab", "--no-show", "--port", str(other.getsockname()[1])])
    assert ended.exit_code == 2
    assert "choose another port with --port" in ended.output


def test_the_folder_is_that_of_the_checkout() -> None:
    assert notebooks_folder() == (ROOT / "notebooks", True)
