"""A running dashboard, and how tests read it: from the models that Python and the browser share."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from explorer.app.session.view_state import trace_of, view_state_of_query
from tests.browser.driving import OPERATORS, PROGRAM, record_branches
from tests.chromium import WAIT_MS
from tests.serving import wait_for_server
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from explorer.app.session.opening import Opened

# The data of the models of a class, in the order in which the page shows them.
DATA = """([kind, name]) => [...Bokeh.documents[0]._all_models.values()]
  .filter((model) => model.class_name === kind).map((model) => model.data[name])"""


# Does what Back and Forward do. If the link is of another trace, the steps are empty until those of that trace arrive.
GO = """([query, sameTrace]) => {
  const models = [...Bokeh.documents[0]._all_models.values()];
  const graph = models.find((model) => model.class_name === "GraphPane").data;
  if (!sameTrace) graph.setv({ steps: "[]" }, { sync: false });
  history.pushState(null, "", query);
  dispatchEvent(new PopStateEvent("popstate"));
}"""
# Asks Python to answer, and waits until what it has sent before the answer is drawn.
HELLO = """async () => {
  const models = [...Bokeh.documents[0]._all_models.values()];
  const host = models.find((model) => model.class_name === "BrowserHost").data;
  const answered = new Promise((resolve) => host.properties.answer.change.connect(resolve));
  host.setv({ hello: host.hello + 1 });
  await answered;
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
}"""
MENU = ".MuiMenu-list"
SHOWN = """() => !document.body.inert && [...Bokeh.documents[0]._all_models.values()].some(
  (model) => model.class_name === "BrowserHost" && model.data.ready
)"""


SOUND = ("sound-1.circuit.json", "sound-2.circuit.json")
STRANGE = "strange.circuit.json"
STRANGE_NAME = "<script>alert(1)</script>"


def fill(folder: Path) -> None:
    """Write the files that tests open: a page lists those that are there when it is loaded."""
    import explorer
    from explorer.symbolic import CategoricalLayer, Parameterization

    for name in SOUND:
        explorer.gallery.load_named("blackboard").save(folder / name)
    builder = explorer.CircuitBuilder()
    probs = Parameterization("softmax")((2, 2))
    layer = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=probs)
    circuit = builder.build(builder.sum(builder.add(layer, name=STRANGE_NAME), num_units=1))
    circuit.save(folder / STRANGE)
    for name in (OPERATORS, PROGRAM):
        record_branches(name).save(folder / name)


@dataclass
class Server:
    """A dashboard in a separate process."""

    url: str
    folder: Path
    log: Path


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dashboard in a process of its own."""
    from explorer.app.ports import free_port

    port = free_port()
    folder = tmp_path_factory.mktemp("files")
    fill(folder)
    log = tmp_path_factory.mktemp("log") / "server.log"
    command = [sys.executable, "-m", "explorer.app", "serve", "--no-show", f"--port={port}", f"--folder={folder}"]
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_for_server(process, port, log)
        yield Server(f"http://127.0.0.1:{port}/", folder, log)
    finally:
        process.terminate()
        process.wait(PATIENCE)


class Dashboard:
    """One page of the dashboard, operated as a reader does; its state is read from the models."""

    def __init__(self, page: "Page") -> None:
        self.page = page

    def load(self, url: str) -> None:
        """Load the page."""
        self.page.goto(url)
        self.wait_until_shown()

    def wait_until_shown(self) -> None:
        """Wait until a page that loads can be used."""
        self.page.wait_for_selector(".ce-box, .ce-canvas", timeout=WAIT_MS)
        self.page.wait_for_function(SHOWN, timeout=WAIT_MS)

    def show(self, query: str) -> None:
        """Show a link in the page that is open, with no tool open."""
        tools = self.page.locator("header .MuiToggleButton-root[aria-pressed=true]")
        tools.evaluate_all("all => all.forEach((one) => one.click())")
        self.settle()
        close = self.page.locator(".scrollable-vertical").get_by_role("button", name="Close", exact=True)
        close.evaluate_all("all => all.filter((one) => one.checkVisibility()).forEach((one) => one.click())")
        query = query or "?circuit=digits"
        states = (view_state_of_query(urlsplit(url).query) for url in (self.page.url, query))
        before, after = (trace_of(replace(state, other=None)) for state in states)  # a comparison keeps its left trace
        self.page.evaluate(GO, [query, before == after])
        self.wait(lambda: self.trait("steps") != "[]", "the steps of the trace")
        self.settle()
        self.wait(lambda: self.page.locator("[data-moving=true]").count() == 0, "the boxes in their places")

    def settle(self) -> None:
        """Wait until what Python has sent so far is drawn."""
        self.page.evaluate(HELLO)

    def trait(self, name: str, kind: str = "GraphPane", number: int = 0) -> Any:
        """A trait of a drawing, which Python and the browser share."""
        return self.page.evaluate(DATA, [kind, name])[number]

    def picture(self, number: int = 0) -> dict[str, Any]:
        """The picture on the page."""
        return self.page.evaluate(f"([k, n]) => JSON.parse(({DATA})([k, n])[{number}])", ["GraphPane", "picture"])

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds; fail with what was expected."""
        waited = 0.0
        while not condition():
            if waited > WAIT_MS:
                pytest.fail(f"it never came: {what}")
            pause = min(20 + waited / 4, 120)  # asking takes time too: less often while it takes longer
            self.page.wait_for_timeout(pause)
            waited += pause

    def wait_for_step(self, step: int) -> dict[str, Any]:
        """Wait for the picture of a step and return it."""
        drawn = f"([k, n]) => JSON.parse(({DATA})([k, n])[0]).step"
        self.wait(
            lambda: self.trait("step") == step == self.page.evaluate(drawn, ["GraphPane", "picture"]), f"step {step}"
        )
        return self.picture()

    def tool(self, title: str) -> None:
        """Open a tool, or close it."""
        self.page.get_by_role("button", name=title, exact=True).first.click()
        self.settle()  # a field that is about to be replaced would lose what a test puts into it

    def choose(self, label: str, option: str, number: int = 0) -> None:
        """Choose an option of a list."""
        self.page.get_by_role("combobox", name=re.compile(f"^{label}")).nth(number).click()
        self.page.locator(MENU).get_by_role("option", name=option, exact=True).click()

    def press(self, name: str) -> None:
        """Press the last button of a name, since tools are below."""
        self.page.get_by_role("button", name=name, exact=True).last.click()

    def see(self, text: str) -> None:
        """Wait until a string is visible."""
        self.page.get_by_text(text).locator("visible=true").first.wait_for(timeout=WAIT_MS)

    def until(self, text: str, action: Callable[[], object]) -> None:
        """Repeat an action until a string is visible: what is typed while a row is being replaced is lost."""
        shown = self.page.get_by_text(text).locator("visible=true").first
        for _ in range(6):
            action()
            try:
                shown.wait_for(timeout=WAIT_MS // 5)
            except Exception as error:
                if "Timeout" not in str(error):
                    raise
                continue
            return
        pytest.fail(f"it never came: {text}")


def opened_by(url: str) -> "Opened":
    """Open the trace of a link without the page, which takes much longer."""
    from explorer.app.session.library import Library
    from explorer.app.session.opening import open_state
    from explorer.app.session.view_state import view_state_of_query

    return open_state(Library(), view_state_of_query(urlsplit(url).query))


@pytest.fixture
def dashboard(browsing: "Page", server: Server, request: pytest.FixtureRequest) -> Iterator[Callable[..., Dashboard]]:
    """Show a link in the page that is open, as Back and Forward do; `fresh` loads another page, which takes longer.

    The page of a test that fails is not used again.
    """
    num_failed = request.session.testsfailed

    def open_(query: str = "", *, fresh: bool = False, **media: Any) -> Dashboard:
        if media:
            browsing.emulate_media(**media)
        page = Dashboard(browsing)
        if fresh or not browsing.url.startswith(server.url):
            page.load(server.url + (query or "?circuit=digits"))
        else:
            page.show(query)
        return page

    yield open_
    if request.session.testsfailed > num_failed:
        browsing.goto("about:blank")
