"""Imports the modules next to the notebooks, as a notebook does: from their folder; and what a lesson needs."""

import os
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.needed import is_missing

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NUMBERS = [file.stem[:2] for file in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))]


def module(name: str) -> Any:
    """Import a module from the folder of the notebooks, such as `checks.lesson_03`."""
    if str(NOTEBOOKS) not in sys.path:
        sys.path.append(str(NOTEBOOKS))
    return import_module(name)


COMPILED = "12"
"""The lesson that compiles by torch.compile."""
IGNORED = ("ignore::DeprecationWarning", "ignore::FutureWarning")
"""Warnings of what Inductor imports: deprecated parts of PyTorch."""


def needs_compiler() -> None:
    """Skip a test, loudly, without a C++ compiler."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        is_missing("a C++ compiler", "apt-get install g++ (or set CXX to one)")
