"""Running a lesson in a kernel: where, by which Python, and how it ends."""

import json
import os
import signal
import sys
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")
pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install 'circuit-explorer[ui]'")
pytest.importorskip("nbclient", reason="needs nbclient: pip install 'circuit-explorer[ui]'")

import explorer.app.course.build as building
from explorer.app.course.build import LessonError, build_course, own_kernel, run_lesson
from tests.app.course.cells import code, notebook, text


class TestRunning:
    def test_a_lesson_runs_in_its_folder_and_one_that_fails_says_where(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(building, "BEGIN", "pass")  # without widgets the explorer need not be loaded
        monkeypatch.setattr(building, "END", "pass")
        (tmp_path / "helper.py").write_text("WORD = 'here'")
        good, bad = code("import helper\nprint(helper.WORD)"), code("answer = 1 / 0")
        nbformat.write(notebook(text("# 0. Bad"), good, bad), tmp_path / "00_bad.ipynb")
        with pytest.raises(LessonError, match=r"(?s)00_bad.ipynb failed: .*answer = 1 / 0.*ZeroDivisionError"):
            build_course(tmp_path, tmp_path / "out")
        assert not (tmp_path / "out" / "00_bad.html").exists()
        nbformat.write(notebook(text("# 0. Good"), good), tmp_path / "00_bad.ipynb")
        cells = run_lesson(tmp_path / "00_bad.ipynb").cells
        assert [cell.cell_type for cell in cells] == ["markdown", "code", "code"]
        assert cells[1].outputs[0].text == "here\n"
        assert cells[2].source == ""

    def test_ctrl_c_ends_the_kernel_and_propagates(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(building, "BEGIN", "import os, signal, time")
        press = code("print(os.getpid(), file=open('pid', 'w'), flush=True)\nos.kill(os.getppid(), signal.SIGINT)")
        nbformat.write(notebook(text("# 0. Long"), press, code("time.sleep(60)")), tmp_path / "00_long.ipynb")
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                run_lesson(tmp_path / "00_long.ipynb")
        finally:
            signal.signal(signal.SIGINT, before)
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)

    def test_the_kernel_is_that_of_this_python_whatever_is_registered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(building, "BEGIN", "pass")
        monkeypatch.setattr(building, "END", "pass")
        broken = tmp_path / "data" / "kernels" / "python3"
        broken.mkdir(parents=True)
        spec = {"argv": ["/nowhere/python", "{connection_file}"], "display_name": "Broken", "language": "python"}
        (broken / "kernel.json").write_text(json.dumps(spec))
        (tmp_path / "startup.py").write_text("STARTED = True")
        for name in ("JUPYTER_DATA_DIR", "JUPYTER_PATH"):
            monkeypatch.setenv(name, str(tmp_path / "data"))
        monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "startup.py"))
        kernel = own_kernel(tmp_path).kernel_spec
        assert kernel is not None
        assert kernel.argv[0] == sys.executable
        ask = code("import sys\nprint(sys.executable, 'STARTED' in globals())")
        nbformat.write(notebook(text("# 0. Who"), ask), tmp_path / "00_who.ipynb")
        (output,) = run_lesson(tmp_path / "00_who.ipynb").cells[1].outputs
        assert output.text == f"{sys.executable} False\n"
