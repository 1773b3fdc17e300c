"""The actions of readers on a picture, driven in each host and looked at in light and in dark.

A host opens the traces of `DRIVEN` and does with each what is named there: an exported page (`test_plates.py`), where
axe looks, too, the dashboard (`test_dashboard.py`) and a notebook in JupyterLab (`test_jupyterlab.py`). The last two
differ from the first in what surrounds the picture, so the dashboard opens only `digits`, and the notebook only folds
it; under `make fuzz` they do all. The page stays open: the theme changes in place, and each text and the cells must
have the colours of the theme table. Where axe does not look, only what is done first with a trace is looked at in the
light, too: what surrounds a picture has its colours for all of it.

| feature of the picture                                                | looked at in light and in dark              |
|-----------------------------------------------------------------------|---------------------------------------------|
| 1. plates: cells, calls and shapes                                    | `fold`                                      |
| 2. folding and back; matches, conflicts, near misses; missed folds    | `fold`, `ask_the_lens`, `see_missed_folds`  |
| 3. film and a sentence per step                                       | `fold`                                      |
| 4. time line; half bars of measured times                             | `fold`, `see_half_bars`                     |
| 5. close-up: memory, table, parameters, values, code; its height      | `look_closer`                               |
| 6. tensor level in plates; the memory of a program                    | `merge_products`, `watch_the_memory`        |
| 7. story and slides by keys and numbers, large; copied as SVG         | `tell_the_story`                            |
| 8. details open at what is selected                                   | `open_details`                              |
| 9. beliefs: painted inputs, samples, what a layer mixes               | `paint_beliefs`                             |

Only the dashboard measures and has tools below the picture: `test_dashboard.py` measures and moves the bar above the
tools, and `test_dashboard_accessibility.py` looks at the tools in light and in dark. Cells are seen moving in
`test_plates.py`, where time passes only while a test says so.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pytest

from explorer_widgets.theme import CLOSEUPS, DARK, LIGHT
from tests.browser.axe import serious_violations_in, settled

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from explorer.trace import Trace

Theme = Literal["dark", "light"]
THEMES: tuple[tuple[Theme, Mapping[str, str]], ...] = (("dark", DARK), ("light", LIGHT))
"""The last one is that in which a view goes on."""
OPERATORS, PROGRAM = "operators.trace.json.gz", "program.trace.json.gz"
"""Traces of the tensor level and of a program with a backward pass: two linear layers of one input."""
CLOSER = {
    "memory": "64 slices of Categorical #255",
    "table": "#255[0]",
    "parameters": "weight = Softmax(A)",
    "values": "after each of these 6 steps.",
    "code": "def forward(",
}
"""The text of each part of the close-up of the 64 sums of digits, before they are folded."""
IS_IN = "([root, theme]) => root.dataset.theme === theme"
ARE_TEXTS = """([root, selector, texts]) => {
  const found = [...root.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  return texts.every((text, at) => found[at]?.textContent === text);
}"""
INKS = """parts => parts.flatMap((part) => [part, ...part.querySelectorAll("*")])
  .filter((one) => one.checkVisibility() && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((one) => getComputedStyle(one)[one instanceof SVGElement ? "fill" : "color"])
  .filter((colour) => colour !== "rgba(0, 0, 0, 0)")"""
"""The colour of each visible text in some parts."""
HAVE_COLOURS = """([root, colours]) => {
  const canvas = root.querySelector("canvas.ce-canvas");
  const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  const counts = new Map(colours.map((colour) => {
    const [red, green, blue] = colour.match(/\\d+/g).map(Number);
    return [((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0, 0];
  }));
  for (const pixel of pixels) if (counts.has(pixel)) counts.set(pixel, counts.get(pixel) + 1);
  return [...counts.values()].every((count) => count > 200);
}"""
"""Whether each colour covers more of the canvas than a line."""


@dataclass(frozen=True)
class Host:
    """A view in a host: `root` is its element.

    `axe`: axe checks what is looked at in the first theme, which takes longer.
    `themes`: in which to look.
    `follows_system`: the host has nothing but the view, so its theme changes quickly.
    """

    page: "Page"
    root: "Locator"
    axe: bool = False
    themes: tuple[tuple[Theme, Mapping[str, str]], ...] = THEMES
    follows_system: bool = False

    def see(self, selector: str, text: str) -> None:
        """Wait until an element has a text."""
        self.root.locator(selector, has_text=text).first.wait_for()

    def read(self, selector: str, *texts: str) -> None:
        """Wait until the first elements that are visible have these texts."""
        self.page.wait_for_function(ARE_TEXTS, arg=[self.root.element_handle(), selector, texts])

    def press(self, name: str) -> None:
        """Press a button of the view."""
        self.root.get_by_role("button", name=name, exact=True).first.click()

    def look(
        self, *selectors: str, cells: Sequence[str] = (), acts: Sequence[Callable[[], object]] = (lambda: None,)
    ) -> None:
        """See that parts have the colours of each theme, and not those of the other one, and that axe accepts them.

        `cells` are roles of colours that the cells of plates must have; the reader looks after each of the `acts`.
        """
        found: list[list[str]] = []
        for name, theme in self.themes:
            self.switch(name)
            self.page.wait_for_function(IS_IN, arg=[self.root.element_handle(), name])
            colours = {role: rgb(colour) for role, colour in theme.items()}
            own, inks = {*colours.values()}, list[str]()
            for act in acts:
                act()
                parts = self.root.locator(", ".join(selectors)).locator("visible=true")
                wrong = settled(partial(other_inks, parts, own), self.page)
                assert wrong == [], (name, selectors)
                inks += parts.evaluate_all(INKS)
                if self.axe and not found:  # `theme.test.mjs` compares the contrasts of the other theme
                    assert settled(partial(serious_violations_in, parts), self.page) == [], (name, selectors)
            assert inks, selectors
            if cells:
                wanted = [colours[role] for role in cells]
                self.page.wait_for_function(HAVE_COLOURS, arg=[self.root.element_handle(), wanted], polling=50)
            found.append(inks)
        for dark, light in pairwise(found):
            assert len(dark) == len(light), selectors
            assert not [ink for ink, other in zip(dark, light, strict=True) if ink == other], selectors

    def switch(self, theme: Theme) -> None:
        """Change the theme of the system, or of the surroundings of the view; the rest of the page stays."""
        if self.follows_system:
            self.page.emulate_media(color_scheme=theme)
        else:
            self.page.evaluate("theme => { document.body.dataset.jpThemeLight = String(theme === 'light'); }", theme)


def other_inks(parts: "Locator", own: Set[str]) -> list[str]:
    """The colours of texts that are not those of the theme."""
    return [ink for ink in parts.evaluate_all(INKS) if ink not in own]


def rgb(colour: str) -> str:
    """A colour as the browser writes it."""
    if not colour.startswith("#"):
        return colour
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def fold(host: Host) -> None:
    """Digits: go to a step that folds by the film, and back: plates, film, sentence and time line say the same."""
    frames = host.root.locator(".ce-frame")
    frames.nth(2).click()
    host.see(".ce-sentence", "149 calls → 86")
    frames.nth(3).click()
    host.see(".ce-sentence", "64 equal Sum layers of level 1 become one: 86 calls → 23.")
    host.read(".ce-plate-calls", "1 call", "64 → 1 call", "16 calls")
    host.read(".ce-frame[aria-current=step] b", "23 calls after")
    host.page.keyboard.press("ArrowLeft")
    host.see(".ce-sentence", "149 calls → 86")
    host.read(".ce-plate-calls", "64 → 1 call", "64 calls", "16 calls")
    host.look(".ce-plates", ".ce-film", ".ce-sentence", cells=("input", "sum", "fused"))


def look_closer(host: Host) -> None:
    """Digits: select a plate, go through the parts of the close-up, pick a digit, and move the bar above it."""
    host.root.locator(".ce-plate").nth(1).click()
    panel = host.root.locator(".ce-closeup")

    def show(name: str, text: str) -> None:
        host.press(CLOSEUPS[name])
        host.see(".ce-closeup-body", text)

    host.look(".ce-closeup", acts=[partial(show, name, text) for name, text in CLOSER.items()])
    host.press(CLOSEUPS["values"])
    panel.get_by_title("7", exact=True).click()
    host.see(".ce-closeup", "after each of these 6 steps.")
    beside = host.root.locator(".ce-side .ce-closeup").count() > 0
    part, size = ("inspector", "width") if beside else ("close-up", "height")
    host.root.get_by_role("separator", name=f"{size.capitalize()} of the {part}").focus()
    sizes: list[float] = []
    for key in ("PageDown", "ArrowLeft" if beside else "ArrowUp", "PageUp"):
        host.page.keyboard.press(key)
        sizes.append(panel.evaluate(f"panel => panel.getBoundingClientRect().{size}"))
    assert sizes == sorted(set(sizes)), "each key makes the close-up larger than the one before"
    host.root.get_by_role("button", name=f"Make the {part} smaller").click()
    assert panel.evaluate(f"panel => panel.getBoundingClientRect().{size}") < sizes[-1]


def ask_the_lens(host: Host) -> None:
    """Near misses, before its first fusion: a match, a conflict from both sides, and a refusal, asked what if."""
    host.root.locator(".ce-frame").nth(1).click()
    host.see(".ce-sentence", "14 calls → 13")  # a picture that arrives later takes the focus away
    host.root.locator(".ce-plate").first.focus()
    for place, verdict in (
        ("Match 1 of 6", "It matches"),
        ("Match 5 of 6", "It wins #10 against Candecomp."),
        ("Match 6 of 6", "It loses #10 to SumCollapse."),
        ("Near miss 1 of", "#12 is an output and would be lost inside the match."),
    ):
        host.page.keyboard.press("]")
        host.see(".ce-lens-place b", place)
        host.see(".ce-lens-verdict", verdict)
    host.press("What if this check had passed?")
    host.see(".ce-what-if-answer", "Candecomp would match once more (2 in place of 1): #13 + #12.")
    host.look(".ce-lens", ".ce-plates", cells=("input", "sum", "product"))
    host.page.keyboard.press("Escape")
    host.root.locator(".ce-lens").wait_for(state="hidden")


def see_missed_folds(host: Host) -> None:
    """Kronecker, folded: the dotted link of a selected plate says why it was not folded with another one."""
    host.root.locator(".ce-frame").last.click()
    host.see(".ce-sentence", "7 calls → 6")
    host.root.locator(".ce-plate", has_text="TensorDot").first.focus()
    host.page.keyboard.press("Enter")
    host.see(".ce-plate-reason", "Not folded")
    host.look(".ce-plates")


def merge_products(host: Host) -> None:
    """Two linear layers of the same input at the tensor level: two cells become one plate, and two again."""
    host.read(".ce-plate-calls", "2 calls", "2 calls")
    host.root.locator(".ce-frame").nth(1).click()
    host.see(".ce-plate-news", "was 2 × linear")
    host.see(".ce-sentence", "2 × linear becomes linear + split_with_sizes")
    host.look(".ce-plates", ".ce-film", ".ce-sentence", cells=("matmul",))


def watch_the_memory(host: Host) -> None:
    """A program with a backward pass: parts and layers are named, and two chosen buffers say why they share none."""
    host.see(".ce-parts span", "forward pass")
    host.see(".ce-parts span", "backward pass")
    host.see(".ce-layer", "left")
    bars = host.root.locator(".ce-buffer:not(.ce-leaving)")
    bars.nth(0).click(position={"x": 2, "y": 2})
    bars.nth(1).click(position={"x": 2, "y": 2}, modifiers=["Shift"])
    host.see(".ce-sharing", "They do not share memory: ")
    host.look(".ce-buffers", ".ce-plates")


def see_half_bars(host: Host) -> None:
    """A circuit with measured layers: each plate has a bar as long as its share of the whole."""
    host.root.locator(".ce-plate .ce-lane-cpu").first.wait_for(state="attached")
    bars = host.root.locator(".ce-plate").evaluate_all(
        """plates => plates.map((plate) => [".ce-lane-track", ".ce-lane-cpu"].map((name) =>
          Number(plate.querySelector(name)?.getAttribute("width"))))"""
    )
    assert all(0 < bar <= track for track, bar in bars)
    assert sum(bar / track for track, bar in bars) == pytest.approx(1, abs=0.02)
    host.root.locator(".ce-legend", has_text="each call timed alone").first.wait_for(state="attached")
    host.look(".ce-plates")


def tell_the_story(host: Host) -> None:
    """Digits: through the story by keys, to a slide by its number, large; then copy the picture."""
    story = host.root.get_by_role("button", name="Story", exact=True)
    if not story.is_visible():  # in a notebook it is with the details
        host.press("Details")
    story.click()
    host.see(".ce-slide-head h2", "The circuit")
    host.page.keyboard.press("ArrowRight")
    host.see(".ce-slide-head p", "Which plates take part?")
    host.root.locator(".ce-plate").first.click()
    host.page.mouse.move(0, 0)  # of a later slide, what lies under the pointer would dim the rest
    host.page.keyboard.press("Enter")
    host.see(".ce-slide-head p", "Not quite.")
    host.page.keyboard.press("7")
    host.page.keyboard.press("Enter")
    host.see(".ce-slide-head h2", "Fold")
    assert host.root.evaluate("root => parseFloat(getComputedStyle(root).fontSize)") >= 16
    host.look(".ce-slide-head", ".ce-slide-foot", ".ce-plates", cells=("input", "sum", "fused"))
    host.press("Copy SVG")
    host.root.get_by_role("button", name="Copied").wait_for()
    host.page.keyboard.press("Escape")
    host.root.locator(".ce-slide-head").wait_for(state="hidden")


def open_details(host: Host) -> None:
    """A key opens the details at the lineage of the selected plate."""
    host.root.locator(".ce-plate.ce-selected").focus()
    host.page.keyboard.press("h")
    host.root.locator(".ce-side details[open]", has_text="Lineage").locator("visible=true").wait_for()
    host.look(".ce-side")


def paint_beliefs(host: Host) -> None:
    """A stroke on the inputs is evidence, of which each cell shows what its layer makes; a sample fills in the rest."""
    host.press("Beliefs")
    host.see(".ce-living-value", "40 of 64 pixels observed")
    host.press("Forget all")
    host.see(".ce-living-value", "log p = 0.00")
    area = host.root.locator(".ce-plate-face").first.bounding_box()
    assert area is not None
    x, y = area["x"] + 0.31 * area["width"], area["y"] + 0.06 * area["height"]
    host.page.mouse.move(x, y)
    host.page.mouse.down()
    host.page.mouse.move(x, y + area["height"] / 2, steps=12)
    host.page.mouse.up()
    host.see(".ce-living-value", "5 of 64 pixels observed")
    host.page.mouse.move(0, 0)
    host.see(".ce-living-said", "The root mixes 16 units")
    host.look(".ce-living")
    host.press("Sample (s)")
    host.see(".ce-living-value", "5 of 64 pixels observed, 59 sampled")
    film = host.root.locator(".ce-epochs")
    if film.is_visible():  # of a circuit with trained weights
        host.press("Watch it learn")
        host.see(".ce-epochs", "Stop")
        film.get_by_role("button", name="Stop").press("Escape")
        host.see(".ce-epochs", "Watch it learn")
        frame = film.locator(".ce-epoch").nth(1)
        frame.press("Enter")
        host.see(".ce-living-note", "As it was after epoch")
        assert frame.evaluate("frame => frame.getRootNode().activeElement === frame")
    host.press("Beliefs")
    host.root.locator(".ce-living").wait_for(state="hidden")


DRIVEN: Mapping[str, tuple[Callable[[Host], None], ...]] = {
    "digits": (fold, look_closer, open_details, tell_the_story, paint_beliefs),
    "near-misses": (ask_the_lens,),
    "kronecker": (see_missed_folds,),
    OPERATORS: (merge_products,),
    PROGRAM: (watch_the_memory,),
}
"""The actions on each circuit or trace, which a host opens at its first step."""


IN_EVERY_HOST = (("digits",), pytest.param(tuple(DRIVEN), marks=pytest.mark.fuzz))
"""The circuits or traces that each host opens, while one opens all: the parameters of a test."""


def drive(open_view: Callable[[str], Host], names: Sequence[str] = tuple(DRIVEN)) -> None:
    """Do what is done with these circuits and traces in a host."""
    for name in names:
        host = open_view(name)
        host.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        first, *others = DRIVEN[name]
        first(host)
        for act in others:
            act(host if host.axe else replace(host, themes=THEMES[:1]))


def record_branches(name: str) -> "Trace":
    """Record the trace of the tensor level, or of the program."""
    import torch

    import explorer

    class Branches(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.left(x).relu() + self.right(x).relu()

    if name == PROGRAM:
        return explorer.record(Branches(), (torch.ones(2, 4),), level="program", mode="train")
    return explorer.record(Branches(), (torch.ones(2, 4),), level="tensor")
