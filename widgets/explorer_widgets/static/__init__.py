"""The ES modules: one self-contained file per view, which every host uses unchanged."""

from pathlib import Path

FOLDER = Path(__file__).parent
ASK = FOLDER / "ask.js"
GRAPH = FOLDER / "graph.js"
BARS = FOLDER / "bars.js"
PAGE = FOLDER / "page.js"
HOST = FOLDER / "host.js"
DERIVATION = FOLDER / "derivation.js"
QUERY = FOLDER / "query.js"
QUESTION = FOLDER / "question.js"
