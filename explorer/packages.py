"""The installed packages: the version of this one, and the commands that install what is missing."""

import json
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from explorer.errors import MissingPackageError

NAME = "circuit-explorer"
DEPENDENCIES = ("torch", "numpy", "graphviz", "rich", "yaml")
"""The packages that every install has, as they are imported. Without the other one, typer, no command can start."""
UI = ("panel", "panel_material_ui", "bokeh", "anywidget", "ipywidgets", "resvg_py", "fontpkg_inter")
"""The packages of the dashboard."""
IMAGES = ("resvg_py", "fontpkg_inter")
"""The packages that draw a picture as PNG."""
NOTEBOOK = ("anywidget", "ipywidgets", *IMAGES)
"""The packages of `explorer.show` and `explorer.ask`."""


def installed_version() -> str:
    """Return the version of this package. Raises: MissingPackageError if it is run without being installed."""
    found = _own_distribution()
    if found is None:
        raise MissingPackageError(f"{NAME} is not installed, so it has no version; run: {install_command()}")
    return found.version


def is_installed(*packages: str) -> bool:
    """Return whether all of these packages can be imported."""
    return all(find_spec(name) is not None for name in packages)


def require(purpose: str, extra: str, *packages: str) -> None:
    """Check that packages can be imported, which the user needs for this purpose and the extra installs.

    Raises: MissingPackageError with the missing packages and the command that installs them.
    """
    missing = [name for name in packages if not is_installed(name)]
    if missing:
        verb = "which is" if len(missing) == 1 else "which are"
        needed = " and ".join([", ".join(missing[:-1]), missing[-1]] if len(missing) > 1 else missing)
        raise MissingPackageError(f"{purpose} needs {needed}, {verb} not installed; run: {install_command(extra)}")


def missing_dependency(error: ModuleNotFoundError) -> MissingPackageError | None:
    """Return the error to raise instead if a dependency of every install is missing; None for another module."""
    if error.name not in DEPENDENCIES:
        return None
    return MissingPackageError(f"{NAME} needs {error.name}, which is not installed; run: {install_command()}")


def install_command(extra: str = "") -> str:
    """Return a command that installs this package with an extra, from where it was installed.

    That is the checkout that is running, or the folder, the file or the address that pip noted. Where it is unknown or
    gone, the command names the packages of the extra.
    """
    return command_from(Path(__file__).parents[1], _own_distribution(), extra)


def command_from(folder: Path, found: Distribution | None, extra: str = "") -> str:
    """Return a command that installs this package, which is in `folder`, with an extra; see `install_command`."""
    extras = f"[{extra}]" if extra else ""
    if (folder / "pyproject.toml").is_file():
        return f"pip install -e {quote(f'{folder}{extras}')}"
    source = _source_of(found) if found is not None else None
    if isinstance(source, Path):
        return f"pip install {quote(f'{source}{extras}')}"
    if source is not None:
        return f"pip install {quote(f'{NAME}{extras} @ {source}')}"
    return f"pip install {' '.join(quote(one) for one in _requirements_of(found, extra))}"


def _own_distribution() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return None


def _source_of(found: Distribution) -> Path | str | None:
    """Return the folder, the file or the address that pip installed a distribution from; None if unknown or gone."""
    noted: dict[str, Any] | None = json.loads(found.read_text("direct_url.json") or "null")
    if noted is None:
        return None
    url: str = noted["url"]
    if url.startswith("file:"):
        path = Path(url2pathname(urlsplit(url).path))
        return path if path.exists() else None
    if "vcs_info" in noted:
        return f"{noted['vcs_info']['vcs']}+{url}@{noted['vcs_info']['commit_id']}"
    return url


def _requirements_of(found: Distribution | None, extra: str) -> list[str]:
    """Return the requirements of an extra, or, for the extra '', of every install."""
    lines = [line.partition(";") for line in (found.requires if found is not None else None) or ()]
    marker = f"extra == '{extra}'" if extra else ""
    return [name.strip() for name, _, condition in lines if condition.strip().rpartition(" and ")[2] == marker]
