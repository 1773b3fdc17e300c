"""Record the README's film of a compilation, as a GIF: `make pictures`. Has the requirements of the browser tests."""

import argparse
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import explorer
from explorer.views import TraceIndex, film, recording
from explorer_widgets import page_html

FILE = Path(__file__).parents[1] / "widgets" / "pictures" / "digits.gif"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZE = {"width": 1100, "height": 640}
FRAME_MS, MOVING_MS, FUSING_MS, READING_MS = 90, 720, 1_440, 2_200
"""Between two images of a movement; how long folding and fusing move; how long a step is shown."""
COLOURS = 128


def main() -> None:
    """Record all steps of the digits circuit that changed something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=FILE)
    asked = parser.parse_args()
    index = TraceIndex(explorer.record(explorer.gallery.load_named("digits")))
    steps = [frame["step"] for frame in film(index)]
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "digits.html"
        file.write_text(page_html(recording(index, "digits", modes=("diff",))), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport=SIZE).new_page()  # pyright: ignore[reportArgumentType]
        page.clock.install(time=0)
        page.clock.pause_at(1000)
        page.goto(file.as_uri())
        page.wait_for_selector(".ce-plate")
        page.clock.run_for(2_000)
        images = [(_image(page), READING_MS)]
        for step in steps[1:]:
            images += _move_to(page, step, FUSING_MS if index.step(step).rewrites else MOVING_MS)
        browser.close()
    first, *rest = _with_one_palette([image for image, _ in images])
    lasting = [milliseconds for _, milliseconds in images]
    asked.file.parent.mkdir(parents=True, exist_ok=True)
    first.save(asked.file, save_all=True, append_images=rest, duration=lasting, loop=0, optimize=True)
    sys.stdout.write(f"Wrote {asked.file}: {sum(lasting) / 1000:.0f} s, {asked.file.stat().st_size / 1e6:.1f} MB\n")


def _move_to(page: Page, step: int, moving_ms: int) -> list[tuple[Image.Image, int]]:
    """Go to a step, and return the images of the movement with their times in milliseconds."""
    page.evaluate("step => { circuitExplorer.model.set('step', step); circuitExplorer.model.save_changes(); }", step)
    images: list[tuple[Image.Image, int]] = []
    for _ in range(0, moving_ms, FRAME_MS):
        page.clock.run_for(FRAME_MS)
        images.append((_image(page), FRAME_MS))
    page.clock.run_for(2_000)
    return [*images, (_image(page), READING_MS)]


def _image(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def _with_one_palette(images: list[Image.Image]) -> list[Image.Image]:
    """Reduce the colours to those that are common in any of the images, so that the same thing has the same colour."""
    width, height = images[0].width // 2, images[0].height // 2
    sheet = Image.new("RGB", (width, height * len(images)))
    for row, image in enumerate(images):
        sheet.paste(image.resize((width, height), Image.Resampling.NEAREST), (0, row * height))
    palette = sheet.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    return [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]


if __name__ == "__main__":
    main()
