"""Writes the pages of the API reference: one per package, with every public name, from the docstrings."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType

from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

from docs.building.sources import Sources

PACKAGES = {
    "explorer": "What most programs need: `import explorer`",
    "explorer.symbolic": "Circuits as data: layers, parameters, operators, files",
    "explorer.symbolic.operators": "Operators on circuits",
    "explorer.templates": "Region graphs, and circuits for images, tables and logic",
    "explorer.compiler": "The compiler and its rules",
    "explorer.backend": "Compiled circuits and their layers",
    "explorer.backend.parameters": "Compiled parameters",
    "explorer.backend.queries": "What a compiled circuit answers",
    "explorer.optimize": "Rules of optimization, presets, rounds",
    "explorer.fold": "Fold groups and levels",
    "explorer.rewrite": "Patterns, matches, strategies, pipelines",
    "explorer.graph": "The immutable graph of every level",
    "explorer.trace": "The record of a compilation, and its questions",
    "explorer.tensor": "Graphs of PyTorch operators",
    "explorer.tensor.rewriting": "Rewriters of tensor graphs",
    "explorer.tensor.rules": "The database of rewriters",
    "explorer.tensor.passes": "Passes and quantization",
    "explorer.program": "Instructions on buffers, memory plans",
    "explorer.runtime": "Fast circuits",
    "explorer.learning": "Learning from tables and images",
    "explorer.bench": "Measuring",
    "explorer.views": "Pictures as plain data",
    "explorer.errors": "Errors",
}
"""The public packages with what each is for, in the order of the reference."""


def write_reference(sources: Sources) -> None:
    """Write a page for each package, and the list of them."""
    for package in PACKAGES:
        sources.write(f"reference/{package}.rst", package_page(package))
    rows = "\n".join(f"| [{name}]({name}.rst) | {words} |" for name, words in PACKAGES.items())
    pages = "\n".join(PACKAGES)
    sources.write(
        "reference/index.md",
        "# API reference\n\nEvery public name, from the docstrings. Names that `explorer` itself has are described "
        f"there only.\n\n| package | for |\n|---|---|\n{rows}\n\n:::{{toctree}}\n:hidden:\n\n{pages}\n:::\n",
    )


def package_page(package: str) -> str:
    """Return the page of a package in reStructuredText: its classes and functions, then its constants."""
    parts = [package, "=" * len(package), "", f".. automodule:: {package}", "   :no-members:", ""]
    for name, value in public_names(package).items():
        if documented_name(package, name) != f"{package}.{name}":
            parts += [f"``{name}``: see :py:obj:`{documented_name(package, name)}`.", ""]
        elif isinstance(value, ModuleType):
            parts += [f".. automodule:: {value.__name__}", "   :members:", "   :no-index:", ""]
        elif inspect.isclass(value):
            parts += [f".. autoclass:: {package}.{name}", "   :members:", "   :show-inheritance:", ""]
        elif inspect.isroutine(value):
            parts += [f".. autofunction:: {package}.{name}", ""]
        else:
            parts += [f".. py:data:: {package}.{name}", "", f"   {comment_of(package, name)}", ""]
    return "\n".join(parts)


def public_names(package: str) -> Mapping[str, object]:
    """Return the public names of a package in alphabetical order, classes first."""
    module = import_module(package)
    found = {name: getattr(module, name) for name in sorted({*_listed_names(module)})}
    return dict(sorted(found.items(), key=lambda one: not inspect.isclass(one[1])))


def documented_name(package: str, name: str) -> str:
    """Return the full name under which the reference describes a name: that of the first package that has it."""
    value = getattr(import_module(package), name)
    for other in PACKAGES:
        if getattr(import_module(other), name, None) is value and name in public_names(other):
            return f"{other}.{name}"
    raise AssertionError(f"{package}.{name} is not public")


def comment_of(package: str, name: str) -> str:
    """Return the docstring of a constant, on one line; empty without one."""
    home = _home_of(package, name)
    try:
        lines = ModuleAnalyzer.for_module(home).find_attr_docs().get(("", name), [])
    except PycodeError:
        return ""
    return " ".join(" ".join(lines).split())


def _listed_names(module: ModuleType) -> Iterator[str]:
    yield from getattr(module, "__all__", None) or _own_names(module)


def _own_names(module: ModuleType) -> Iterator[str]:
    """Names that the package imports to export them (`X as X`), or defines."""
    tree = ast.parse(inspect.getsource(module))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                if one.name == "*":
                    yield from _listed_names(import_module(str(node.module)))
                elif one.asname == one.name:
                    yield one.name
        elif isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name


def _home_of(package: str, name: str) -> str:
    """Return the module that defines an exported constant."""
    module = import_module(package)
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ImportFrom) and any(one.name in (name, "*") for one in node.names):
            home = import_module(str(node.module))
            if hasattr(home, name):
                return _home_of(home.__name__, name)
    return package
