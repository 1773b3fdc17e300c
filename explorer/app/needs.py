"""Checks that the packages of the user interface are installed."""

from importlib.util import find_spec

from explorer.errors import MissingPackageError

UI = ("panel", "panel_material_ui", "bokeh", "anywidget", "ipywidgets", "resvg_py", "fontpkg_inter")


def require_ui(*packages: str) -> None:
    """Raises: MissingPackageError with the missing packages and the command that installs them."""
    missing = [name for name in packages or UI if find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"the explorer needs {', '.join(missing)}, which is not installed; run: pip install 'circuit-explorer[ui]'"
        )
