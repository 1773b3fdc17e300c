"""A lesson in a real JupyterLab without network: it runs, and answers, steps and clicks reach Python."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import pytest

from tests.browser.conftest import WAIT_MS
from tests.browser.driving import DRIVEN, OPERATORS, PROGRAM, Host, drive, fold, record_branches, see_half_bars
from tests.needed import is_missing
from tests.serving import wait_for_text
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSON = NOTEBOOKS / "02_patterns_and_matches.ipynb"
"""A lesson with the same choices in its first two questions."""
CELL = ".jp-Notebook .jp-CodeCell"
VIEW_CELL = f"{CELL}:has-text('view = explorer.show(')"
OTHERS_CELL = f"{CELL}:has-text('NAMES = ')"
STATIC_CELL = f"{CELL}:has-text('static=True')"
"""Cells by their texts: JupyterLab attaches those that are out of sight later, so their numbers change."""
SHOW = """
import explorer

trace = explorer.record(explorer.gallery.load_named("digits"))
view = explorer.show(trace, step=3)
view
"""
SHOW_STATIC = "explorer.show(trace, step=3, static=True)"
SHOW_OTHERS = """
from IPython.display import display

for name in NAMES:
    trace = explorer.Trace.load(name) if "." in name else explorer.record(explorer.gallery.load_named(name))
    display(explorer.show(trace))
trace = explorer.record(explorer.gallery.load_named("blackboard"))
display(explorer.show(trace, timing=explorer.bench.measure_layers(trace, batch_size=4, max_seconds=0.2)))
"""
TELL = """
import json, pathlib

def tell(change):
    state = {"step": view.step, "boxes": list(view.selection), "nodes": view.selected_nodes, "mode": view.view["mode"]}
    pathlib.Path("state.new").write_text(json.dumps(state))
    pathlib.Path("state.new").replace("state.json")

view.observe(tell, names=["step", "selection", "view"])
tell(None)
"""
"""A cell that is executed only if no cell before it failed."""


@dataclass
class Lab:
    """A JupyterLab that `circuit-explorer lab` has started, with a lesson that shows these circuits and traces, too."""

    names: Sequence[str]
    address: str
    folder: Path
    printed: str


@pytest.fixture(scope="module", params=[(), pytest.param(tuple(DRIVEN), marks=pytest.mark.fuzz)])
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab with a lesson up to its second question, and more pictures; no one's own settings."""
    if importlib.util.find_spec("jupyterlab") is None:
        is_missing("JupyterLab", "pip install 'circuit-explorer[ui]'")
    from explorer.app.ports import free_port

    own = tmp_path_factory.mktemp("jupyter")
    folder = own / "notebooks"
    folder.mkdir()
    lesson = json.loads(LESSON.read_text(encoding="utf-8"))
    asked = [at for at, cell in enumerate(lesson["cells"]) if "explorer.ask(" in "".join(cell["source"])]
    others = [code_cell(f"NAMES = {request.param}\n{SHOW_OTHERS}")] if request.param else []
    own_cells = map(code_cell, (SHOW, TELL, SHOW_STATIC))
    lesson["cells"] = [*lesson["cells"][: asked[1] + 1], *others, *own_cells]
    (folder / LESSON.name).write_text(json.dumps(lesson), encoding="utf-8")
    shutil.copytree(NOTEBOOKS / "checks", folder / "checks")
    for name in {OPERATORS, PROGRAM} & {*request.param}:
        record_branches(name).save(folder / name)
    names = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR", "WORKSPACES_DIR", "SETTINGS_DIR")
    env = {f"JUPYTER{'LAB' if name[0] in 'WS' else ''}_{name}": str(own / name.lower()) for name in names}
    env |= {"IPYTHONDIR": str(own / "ipython")}
    port = free_port()
    command = [sys.executable, "-m", "explorer.app", "lab", str(folder), "--no-show", f"--port={port}"]
    with (own / "out").open("w") as out, (own / "err").open("w") as err:
        server = subprocess.Popen(
            command, env={**os.environ, **env}, stdout=out, stderr=err, cwd=folder, preexec_fn=hear_ctrl_c
        )
        try:
            printed = wait_for_text(server, "Ctrl-C ends it.", own / "out", own / "err")
            address = re.search(rf"http://127\.0\.0\.1:\d+/lab/tree/{LESSON.name}\?token=[0-9a-f]{{32}}", printed)
            assert address is not None
            yield Lab(request.param, address.group(), folder, printed)
        finally:
            server.send_signal(signal.SIGINT)
            ended = server.wait(PATIENCE)
    assert ended in (0, 130), (own / "err").read_text()


def hear_ctrl_c() -> None:
    """A background process of a shell ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def code_cell(text: str) -> dict[str, Any]:
    """A cell to append to a notebook."""
    return {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}


def open_and_run(page: "Page", address: str) -> None:
    """Open the lesson and run all of its cells."""
    page.goto(address)
    page.get_by_text("| Idle").first.wait_for(timeout=WAIT_MS)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()


def test_it_prints_an_address_with_a_token_and_fetches_no_news(lab: Lab) -> None:
    assert f"JupyterLab on {lab.folder}: {lab.address}" in lab.printed
    with pytest.raises(HTTPError, match="403"):  # refused without the token
        urlopen(lab.address.partition("/lab")[0] + "/api/contents")
    with build_opener(HTTPCookieProcessor()).open(lab.address) as page:
        text = page.read().decode()
    config = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert config is not None
    settings = json.loads(config.group(1))
    assert settings["disabledExtensions"] == ["@jupyterlab/apputils-extension:announcements"]
    assert settings["news"] == {"disabled": True}


def test_lesson_runs_its_clicks_reach_python_and_its_pictures_are_saved(page: "Page", lab: Lab) -> None:
    open_and_run(page, lab.address)
    errors = page.locator("[data-mime-type='application/vnd.jupyter.error']")
    state = Watch(page, lab.folder / "state.json")
    assert state.when(lambda now: True) == {"step": 3, "boxes": [], "nodes": [], "mode": "diff"}
    assert errors.count() == 0, errors.all_inner_texts()

    view = page.locator(VIEW_CELL).locator(".ce-root")
    view.scroll_into_view_if_needed()
    view.locator(".ce-box").first.wait_for()
    assert page.locator(".jp-RenderedImage:visible").count() == 0  # the image for readers without widgets is hidden
    title, frame = view.locator(".ce-step-title"), view.locator(".ce-frame[tabindex='0']")
    title.filter(has_text="Step 3 of ").wait_for()  # Python knows it before the page
    page.keyboard.press("ArrowRight")  # it is the notebook's while the view has no focus
    assert title.inner_text().startswith("Step 3 of ")
    frame.focus()
    page.keyboard.press("ArrowRight")
    assert state.when(lambda now: now["step"] == 7)["boxes"] == []
    assert title.inner_text() == "Step 7 of 11: fold, level 0"
    fold(Host(page, view))
    frame.focus()
    page.keyboard.press("ArrowLeft")
    state.when(lambda now: now["step"] == 3)

    fused = view.locator(".ce-box[data-id^='g234x16-']")  # the 16 layers fused from four products each
    fused.click()
    selected = state.when(lambda now: now["boxes"])
    box = fused.get_attribute("data-id")
    clicked = selected["nodes"]  # the layer in the middle of the plate
    assert clicked in [[node] for node in range(234, 250)]
    assert selected == {"step": 3, "boxes": [box], "nodes": clicked, "mode": "diff"}
    view.locator(f".ce-box.ce-selected[data-id='{box}']").wait_for()
    page.keyboard.press("d")
    assert state.when(lambda now: now["mode"] == "after")["nodes"] == clicked
    view.locator(".ce-box.ce-is-removed").first.wait_for(state="detached")

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

    drive_others(page, lab.names)
    assert errors.count() == 0, errors.all_inner_texts()

    root = page.locator(".ce-root:visible").first
    page.locator(".ce-root[data-theme=light]:visible").first.wait_for()
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-itemLabel", has_text="Theme").first.hover()
    page.get_by_text("JupyterLab Dark", exact=True).click()
    page.locator(".ce-root[data-theme=dark]:visible").first.wait_for()
    ground = root.evaluate("root => getComputedStyle(root).backgroundColor")
    assert ground == "rgb(20, 23, 28)"

    save(page, lab)
    with page.expect_popup() as opened:  # in the same process, which has compiled the scripts of JupyterLab
        page.evaluate("() => { open('about:blank'); }")
    page.goto("about:blank")
    look_at_saved(opened.value, lab)  # errors of this tab are ignored: JupyterLab reports lost widgets


def drive_others(page: "Page", names: Sequence[str]) -> None:
    """Do with the pictures of the last cell what readers do with them, if it was run."""
    if not names:
        return
    views = page.locator(OTHERS_CELL).locator(".ce-root")

    def open_view(name: str) -> Host:
        root = views.nth(names.index(name))
        root.scroll_into_view_if_needed()
        return Host(page, root)

    drive(open_view, names)
    views.last.scroll_into_view_if_needed()
    see_half_bars(Host(page, views.last))


def step_in_frame(page: "Page") -> None:
    """Step through the static picture, which neither a kernel nor a widget is needed for."""
    cell = page.locator(STATIC_CELL)
    cell.scroll_into_view_if_needed()
    picture = cell.frame_locator("iframe")
    picture.locator(".ce-box").first.wait_for()
    picture.locator(".ce-frame[tabindex='0']").press("ArrowRight")
    picture.locator(".ce-step-title", has_text="Step 7 of 11").wait_for()


def save(page: "Page", lab: Lab) -> None:
    """Save the notebook: with the pictures in it, which are hidden while their widgets live."""
    saved = page.locator(".jp-Notebook .ce-saved")
    assert saved.locator("visible=true").count() == 0
    page.keyboard.press("Control+s")
    page.wait_for_function("() => !document.querySelector('.jp-mod-dirty')")
    notebook = json.loads((lab.folder / LESSON.name).read_text(encoding="utf-8"))
    assert sum("ce-saved" in json.dumps(cell.get("outputs", "")) for cell in notebook["cells"]) >= 2
    assert "widgets" not in notebook["metadata"]


def look_at_saved(page: "Page", lab: Lab) -> None:
    """Open the saved notebook: its pictures are seen with a new kernel and without one."""
    reopen(page, lab.address)
    last = page.locator(VIEW_CELL).locator(".ce-saved")
    last.scroll_into_view_if_needed()
    for kernel in ("a new kernel", "no kernel"):
        if kernel == "no kernel":
            page.get_by_role("menuitem", name="Kernel", exact=True).click()
            page.get_by_text("Shut Down Kernel", exact=True).click()
            page.get_by_text("No Kernel").first.wait_for(timeout=WAIT_MS)
            step_in_frame(page)
            last.scroll_into_view_if_needed()
        last.locator("visible=true").wait_for()
        page.wait_for_function("image => image.complete && image.naturalWidth > 300", arg=last.element_handle())
        assert "Step 3 of 11" in (last.get_attribute("alt") or "")
        page.wait_for_timeout(2500)  # the widget manager gives up after two seconds
        assert last.is_visible()
        for words in ("model not found", "Loading widget"):
            assert page.get_by_text(words).locator("visible=true").count() == 0


def reopen(page: "Page", address: str) -> None:
    """End the kernels of the lab and open the saved lesson with a new one."""
    server, _, token = address.partition(f"/lab/tree/{LESSON.name}?token=")
    for kind in ("sessions", "kernels"):
        for running in page.request.get(f"{server}/api/{kind}?token={token}").json():
            page.request.delete(f"{server}/api/{kind}/{running['id']}?token={token}")
    page.goto(address.replace("?", "?reset&"))
    page.get_by_text("| Idle").first.wait_for(timeout=WAIT_MS)


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
