"""An environment without the packages that only an extra installs, made of links to the installed packages."""

import os
import re
import subprocess
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from functools import cache
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[1]
SYSTEMS = ("Linux", "Darwin", "Windows")
"""A package that torch needs on some of them only, such as Triton, is not part of a lean environment."""


class LeanEnvironment:
    """A virtual environment in `folder` that has what the dependencies of this project need, and no extra."""

    def __init__(self, folder: Path) -> None:
        venv.EnvBuilder(symlinks=True).create(folder)
        self.python = folder / "bin" / "python"
        site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
        for one in lean_distributions():
            _link(one, site)
        (site / "project.pth").write_text("\n".join(_sources()))

    def run(self, *arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
        """Run Python with some arguments."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        command = [self.python, *arguments]
        return subprocess.run(command, cwd=cwd, env=inherited, capture_output=True, text=True, check=False)


@cache
def lean_distributions() -> tuple[Distribution, ...]:
    """Return what the dependencies of this project need, without what is named by an extra only."""
    everywhere = set.intersection(*(_closure(_requirements(), {"platform_system": one}) for one in SYSTEMS))
    extras = {_normalize(one.name) for one in _requirements("optional-dependencies")} - everywhere
    return _own_distribution(), *(_installed()[name] for name in sorted(_closure(_requirements(), {}) - extras))


@cache
def optional_packages() -> dict[str, str]:
    """Return the top-level packages that a lean environment lacks, and the distribution of each."""
    lean = {_normalize(one.name) for one in lean_distributions()}
    return {module: name for name, one in _installed().items() if name not in lean for module in _top_level(one)}


def _requirements(part: str = "dependencies") -> list[Requirement]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project[part] if part == "dependencies" else [line for lines in project[part].values() for line in lines]
    return [one for one in map(Requirement, lines) if _normalize(one.name) != _normalize(project["name"])]


def _own_distribution() -> Distribution:
    return _installed()["circuit-explorer"]


def _closure(requirements: list[Requirement], environment: dict[str, str]) -> set[str]:
    """Return the names of all installed distributions that requirements need in an environment."""
    found: set[str] = set()
    rest = [(_normalize(one.name), extra) for one in requirements for extra in ("", *one.extras)]
    seen = set(rest)
    while rest:
        name, extra = rest.pop()
        found.add(name)
        for line in _installed()[name].requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({**environment, "extra": extra}):
                new = [(_normalize(needed.name), one) for one in ("", *needed.extras)]
                rest += [one for one in new if one not in seen and one[0] in _installed()]
                seen.update(new)
    return found


@cache
def _installed() -> dict[str, Distribution]:
    """Return the installed distributions by their names; of two of one name the first, which is imported."""
    return {_normalize(one.name): one for one in reversed(list(distributions()))}


def _link(one: Distribution, site: Path) -> None:
    """Link the packages and the metadata of a distribution; of this project only the metadata."""
    names = {file.parts[0] for file in one.files or ()} - {"..", "__pycache__"}
    for name in names:
        if one.name == _own_distribution().name and not name.endswith(".dist-info"):
            continue
        if not (site / name).exists():
            (site / name).symlink_to(Path(str(one.locate_file(name))))


def _sources() -> Iterator[str]:
    """Return the folders that hold the packages of this project."""
    for name in ("explorer", "explorer_widgets"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        yield str(Path(spec.origin).parents[1])


def _top_level(one: Distribution) -> set[str]:
    """Return the packages and modules of a distribution that can be imported, without those of Python itself."""
    python = Path(sysconfig.get_path("stdlib"))
    files = [file for file in one.files or () if file.suffix in (".py", ".so")]
    return {
        name
        for file in files
        if (name := file.parts[0].partition(".")[0]).isidentifier() and not (python / name).exists()
    }


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
