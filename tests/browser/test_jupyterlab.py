"""A real JupyterLab without network: stepping and clicking reach Python, the theme is followed, a lesson runs."""

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from tests.browser.conftest import WAIT_MS
from tests.needed import is_missing

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSON = NOTEBOOKS / "02_patterns_and_matches.ipynb"
"""A lesson whose first two questions have the same choices."""
STEPPING = "stepping.ipynb"
SHOW = """
import explorer

trace = explorer.record(explorer.gallery.load_named("digits"))
view = explorer.show(trace, step=3)
view
"""
END = """
import pathlib

pathlib.Path("ended").touch()
"""
"""The last cell, which is executed only if no cell before it failed."""
TOKEN = "only-for-this-test"
TELL = """
import json, pathlib

def tell(change):
    state = {"step": view.step, "boxes": list(view.selection), "nodes": view.selected_nodes, "mode": view.view["mode"]}
    pathlib.Path("state.new").write_text(json.dumps(state))
    pathlib.Path("state.new").replace("state.json")

view.observe(tell, names=["step", "selection", "view"])
tell(None)
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A JupyterLab on a notebook with one picture and a lesson up to its second question; no one's own settings."""
    if importlib.util.find_spec("jupyterlab") is None:
        is_missing("JupyterLab", "pip install 'circuit-explorer[ui]'")
    from explorer.app.commands.lab import lab_command, lab_environment
    from explorer.app.dashboard.serving import free_port

    own = tmp_path_factory.mktemp("jupyter")
    folder = own / "notebooks"
    folder.mkdir()
    (folder / STEPPING).write_text(json.dumps(notebook_of(SHOW, TELL)), encoding="utf-8")
    lesson = json.loads(LESSON.read_text(encoding="utf-8"))
    asked = [at for at, cell in enumerate(lesson["cells"]) if "explorer.ask(" in "".join(cell["source"])]
    lesson["cells"] = lesson["cells"][: asked[1] + 1] + notebook_of(END)["cells"]
    (folder / LESSON.name).write_text(json.dumps(lesson), encoding="utf-8")
    shutil.copytree(NOTEBOOKS / "checks", folder / "checks")
    names = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR", "WORKSPACES_DIR", "SETTINGS_DIR")
    env = {f"JUPYTER{'LAB' if name[0] in 'WS' else ''}_{name}": str(own / name.lower()) for name in names}
    env |= {"IPYTHONDIR": str(own / "ipython"), **lab_environment(own, TOKEN)}
    port = free_port()
    with (own / "log.txt").open("w") as log:
        server = subprocess.Popen(
            lab_command(folder, port, show=False), env={**os.environ, **env}, stdout=log, stderr=log, cwd=folder
        )
        try:
            yield f"http://127.0.0.1:{port}", folder
        finally:
            server.terminate()
            server.wait(20)


def notebook_of(*cells: str) -> dict[str, Any]:
    """A notebook of some cells."""
    made = [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        for i, text in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def open_and_run(page: "Page", address: str, name: str) -> None:
    """Open a notebook and run all of its cells."""
    wait_for_server(page, address)
    # A separate workspace: in a shared one, Lab opens the notebook of the previous test, and the menu may run that.
    page.goto(f"{address}/lab/workspaces/{Path(name).stem}/tree/{name}?token={TOKEN}")
    page.get_by_text("| Idle").first.wait_for(timeout=WAIT_MS)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()


def test_a_lesson_runs_and_its_questions_are_answered(page: "Page", lab: tuple[str, Path]) -> None:
    open_and_run(page, lab[0], LESSON.name)
    page.locator(".ceq-root").first.wait_for(timeout=WAIT_MS)
    for _ in range(WAIT_MS // 100):
        if (lab[1] / "ended").exists():
            break
        page.wait_for_timeout(100)
    errors = page.locator("[data-mime-type='application/vnd.jupyter.error']")
    assert (lab[1] / "ended").exists(), errors.all_inner_texts()
    questions = page.locator(".ceq-root").filter(has=page.get_by_role("radio"))
    first, other = questions.nth(0), questions.nth(1)
    first.scroll_into_view_if_needed()
    first.get_by_role("radio", name="yes").check()
    other.scroll_into_view_if_needed()
    other.get_by_role("radio", name="no").check()
    first.scroll_into_view_if_needed()
    assert first.get_by_role("radio", name="yes").is_checked()  # the radio buttons of two questions are not one group
    first.get_by_role("button", name="Check").click()
    first.locator(".ceq-verdict.ceq-good, .ceq-verdict.ceq-bad").wait_for(timeout=WAIT_MS)
    assert other.locator(".ceq-verdict").inner_text() == ""
    assert errors.count() == 0


def test_it_steps_and_selects_and_python_sees_it(page: "Page", lab: tuple[str, Path]) -> None:
    address, folder = lab
    open_and_run(page, address, STEPPING)
    page.locator(".ce-box").first.wait_for(timeout=WAIT_MS)
    assert page.locator(".ce-root").count() == 1
    assert page.locator(".jp-RenderedImage").count() == 0  # the image for readers without widgets is hidden
    state = Watch(page, folder / "state.json")
    assert state.when(lambda now: True) == {"step": 3, "boxes": [], "nodes": [], "mode": "diff"}

    page.locator(".ce-root input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    assert state.when(lambda now: now["step"] == 7)["boxes"] == []
    page.locator(".ce-root[data-theme=light]").wait_for()
    slider = page.locator(".ce-root input[type=range]")
    assert slider.get_attribute("aria-valuetext") == "Step 7 of 11: fold, level 0, 64 layers became 1"
    page.keyboard.press("ArrowLeft")
    state.when(lambda now: now["step"] == 3)

    fused = page.locator(".ce-box[data-id^='g234x16-']")  # the 16 layers fused from four products each
    fused.click()
    selected = state.when(lambda now: now["boxes"])
    box = fused.get_attribute("data-id")
    assert selected == {"step": 3, "boxes": [box], "nodes": list(range(234, 250)), "mode": "diff"}
    page.locator(f".ce-box.ce-selected[data-id='{box}']").wait_for()
    page.keyboard.press("d")
    assert state.when(lambda now: now["mode"] == "after")["nodes"] == list(range(234, 250))
    page.locator(".ce-box.ce-is-removed").first.wait_for(state="detached")

    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-itemLabel", has_text="Theme").first.hover()
    page.get_by_text("JupyterLab Dark", exact=True).click()
    page.locator(".ce-root[data-theme=dark]").wait_for()
    ground = page.locator(".ce-root").evaluate("root => getComputedStyle(root).backgroundColor")
    assert ground == "rgb(20, 23, 28)"


class Watch:
    """The state that Python wrote last."""

    def __init__(self, page: "Page", file: Path) -> None:
        self.page = page
        self.file = file

    def when(self, holds: Any) -> dict[str, Any]:
        """Wait for a state that satisfies a condition, and return it."""
        found: Any = None
        for _ in range(WAIT_MS // 50):
            if self.file.exists():
                found = json.loads(self.file.read_text())
                if holds(found):
                    return found
            self.page.wait_for_timeout(50)
        pytest.fail(f"the expected state never came; Python last wrote {found}")


def wait_for_server(page: "Page", address: str) -> None:
    for _ in range(300):
        try:
            with urlopen(f"{address}/api", timeout=1):
                return
        except OSError:
            page.wait_for_timeout(100)
    pytest.fail("JupyterLab did not answer in 30 s")
