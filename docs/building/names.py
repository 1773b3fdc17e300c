"""A Sphinx extension for docstrings: they are plain text with code in backticks, and name classes by their modules."""

import re
from functools import cache
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from docs.building.reference import PACKAGES, documented_name, public_names

CODE = re.compile(r"(``?)(.+?)\1", re.DOTALL)
SPECIAL = re.compile(r"(?<!\\)([*|]|_\b)")
"""What reStructuredText would read as markup."""


def plain(text: str) -> str:
    """Return text of a docstring as reStructuredText: code in double backticks, no other markup."""
    parts: list[str] = []
    at = 0
    for found in CODE.finditer(text):
        at, before = found.end(), text[at : found.start()]
        separator = "\\ " if text[at : at + 1].isalnum() else ""  # as in `Layer`s
        parts += [SPECIAL.sub(r"\\\1", before), f"``{' '.join(found[2].split())}``{separator}"]
    return "".join([*parts, SPECIAL.sub(r"\\\1", text[at:])])


def convert_docstring(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Convert the docstring of a public name."""
    if not any(line.startswith(">>>") for line in lines):
        lines[:] = plain("\n".join(lines)).splitlines()


@cache
def homes() -> dict[str, str]:
    """Return the documented name of each public class and function, by the module that defines it."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        for name, value in public_names(package).items():
            home = getattr(value, "__module__", None)
            if isinstance(home, str):
                found[f"{home}.{getattr(value, '__qualname__', name)}"] = documented_name(package, name)
    return found


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement) -> Any:
    """Link a name to where the reference describes it; a name that is not public remains text."""
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    known = homes().get(target)
    if known:
        return env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, "obj", known, node, content)
    return content if is_other(target) else None


def is_other(target: str) -> bool:
    """Return whether a name is that of another package, or one of ours that exists but is not public."""
    module, _, name = target.rpartition(".")
    if not target.startswith("explorer"):
        return True
    try:
        return hasattr(import_module(module), name)
    except ImportError:
        return False


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect both."""
    app.connect("autodoc-process-docstring", convert_docstring)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
