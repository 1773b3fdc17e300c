"""Circuit Explorer: a compiler for probabilistic circuits that you can watch.

The names below are loaded when they are first used, so that `import explorer` loads neither torch nor a user interface.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.adapters import watch, watching
    from explorer.adapters.onnx.watching import watch_onnx
    from explorer.app.notebook.show import ask, show
    from explorer.app.queries.loading import load
    from explorer.compiler import TorchCompiler, rerun
    from explorer.recording import record
    from explorer.runtime import fast
    from explorer.symbolic import Circuit, CircuitBuilder
    from explorer.templates import gallery
    from explorer.trace import Trace

_PLACES = {
    "Circuit": "explorer.symbolic",
    "CircuitBuilder": "explorer.symbolic",
    "TorchCompiler": "explorer.compiler",
    "Trace": "explorer.trace",
    "ask": "explorer.app.notebook.show",
    "fast": "explorer.runtime",
    "gallery": "explorer.templates",
    "load": "explorer.app.queries.loading",
    "record": "explorer.recording",
    "rerun": "explorer.compiler",
    "show": "explorer.app.notebook.show",
    "watch": "explorer.adapters",
    "watch_onnx": "explorer.adapters.onnx.watching",
    "watching": "explorer.adapters",
}

__all__ = [
    "Circuit",
    "CircuitBuilder",
    "TorchCompiler",
    "Trace",
    "ask",
    "fast",
    "gallery",
    "load",
    "record",
    "rerun",
    "show",
    "watch",
    "watch_onnx",
    "watching",
]


__version__: str
"""The version of the installed package."""


def __getattr__(name: str) -> Any:
    from explorer.packages import installed_version, missing_dependency

    if name == "__version__":
        return installed_version()
    if name not in _PLACES:
        raise AttributeError(f"module 'explorer' has no attribute {name!r}; it offers {', '.join(__all__)}")
    try:
        found = globals()[name] = getattr(import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        missing = missing_dependency(error)
        if missing is None:
            raise
        raise missing from error
    return found


def __dir__() -> list[str]:
    return __all__
