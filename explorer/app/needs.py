"""What must be installed for a user interface, and how to get it."""

from importlib.util import find_spec

from explorer.errors import MissingPackageError

UI = ("panel", "panel_material_ui", "bokeh", "anywidget", "ipywidgets", "PIL")


def require_ui(*packages: str) -> None:
    """Raises: MissingPackageError that names the packages that are missing, and how to install them."""
    missing = [name for name in packages or UI if find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"the explorer needs {', '.join(missing)}, which is not installed: pip install 'circuit-explorer[ui]'"
        )
