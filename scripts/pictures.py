"""Take the screenshots of the README and of `docs/` from real pages: `make pictures`.

It has the requirements of the browser tests.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from explorer.app.ports import free_port

FOLDER = Path(__file__).parents[1] / "widgets" / "pictures"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PLAIN, TALL, WIDE = (1280, 800), (1440, 1000), (1920, 1080)

# name: query, colours, size, buttons to press
PICTURES = {
    "dashboard": ("circuit=digits&step=3", "light", PLAIN, ()),
    "compare": ("circuit=conflict&step=3&vs.circuit=conflict&vs.disable=SumCollapse", "dark", WIDE, ("Compare",)),
    "hmm": ("circuit=hmm&step=3", "light", WIDE, ()),
    "folds": ("circuit=mnist&step=9", "light", WIDE, ()),
    "pattern": ("circuit=digits&step=3", "light", WIDE, ("Pattern",)),
    "query": ("circuit=digits.pt", "light", TALL, ("Query", "Observe all of 7", "Erase lower half")),
    "operators": ("circuit=squared&step=1", "light", TALL, ("Operators",)),
    "gallery": ("", "light", PLAIN, ()),
    "slide": ("circuit=digits&slides=fold", "dark", PLAIN, ()),
    "watching": ("circuit=model.trace.json.gz&step=30", "light", PLAIN, ()),
}
WATCHED = """
import sys, torch, explorer
from torch import nn
model = nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 10), nn.Softmax(-1)).eval()
explorer.watch(model, torch.randn(8, 32)).save(sys.argv[1])
"""
"""The model of docs/watching.md."""


def main() -> None:
    """Take all screenshots, or the given ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    explorer = [sys.executable, "-m", "explorer.app"]
    trained = Path(tempfile.mkdtemp()) / "digits.pt"
    subprocess.run([*explorer, "train", "digits", "--epochs=10", f"--out={trained}"], check=True)
    watched = trained.with_name("model.trace.json.gz")
    subprocess.run([sys.executable, "-c", WATCHED, str(watched)], check=True)
    server = subprocess.Popen([*explorer, "serve", "--no-show", f"--port={port}", f"--folder={trained.parent}"])
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
            for name in asked.names or PICTURES:
                query, scheme, (width, height), buttons = PICTURES[name]
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
                page = context.new_page()
                _open(page, f"http://127.0.0.1:{port}/" + (query and f"?{query}"))
                for button in buttons:
                    page.get_by_role("button", name=button, exact=True).first.click()
                page.wait_for_timeout(4000)
                page.mouse.move(width - 5, height - 5)
                page.screenshot(path=asked.folder / f"{name}.png")
                context.close()
            browser.close()
    finally:
        server.terminate()
        shutil.rmtree(trained.parent)


def _open(page: Page, address: str) -> None:
    """Open a page, waiting for the server to start."""
    for _ in range(60):
        try:
            page.goto(address)
            break
        except Exception:  # noqa: BLE001  # the type depends on how the browser reports a refused connection
            time.sleep(0.5)
    page.wait_for_selector(".ce-box, .card", timeout=60_000)


if __name__ == "__main__":
    main()
