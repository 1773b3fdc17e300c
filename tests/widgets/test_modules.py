"""The sources of the views, tested by node against a small fake document and model.

By hand: `node --test tests/widgets/`.
"""

import json
import shutil
import subprocess
from pathlib import Path

from tests.needed import is_missing
from tests.waiting import PATIENCE

HERE = Path(__file__).parent
MODULES = sorted(HERE.glob("*.test.mjs"))


def test_there_are_tests_of_the_modules() -> None:
    tested = [module.name.split(".")[0] for module in MODULES]
    graph = ["graph", "graph_focus", "graph_keys", "graph_parts", "graph_reading"]
    views = ["bars", *graph, "host", "page", "question"]
    tools = ["derivation", "query"]
    plates = ["buffers", "closeup", "lens", "living", "picture", "plates", "score", "slides", "still"]
    assert tested == sorted([*views, *plates, *tools, "ahead", "ask", "camera", "split", "store", "theme"])


def test_es_modules() -> None:
    node = shutil.which("node")
    if node is None:
        is_missing("node 20.11 or later", "apt-get install nodejs, brew install node, or https://nodejs.org")
    # One process for all modules: with `node --test`, which starts one for each, they take three times as long.
    code = "".join(f"await import({json.dumps(module.as_uri())});" for module in MODULES)
    command = [node, "--input-type=module", "--eval", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
