"""Circuit Explorer: a compiler for probabilistic circuits that you can watch.

The names below are loaded when they are first used, so that `import explorer` loads neither torch nor a user interface.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.app.notebook.ask import ask
    from explorer.app.notebook.show import show
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
    "ask": "explorer.app.notebook.ask",
    "fast": "explorer.runtime",
    "gallery": "explorer.templates",
    "record": "explorer.recording",
    "rerun": "explorer.compiler",
    "show": "explorer.app.notebook.show",
}

__all__ = ["Circuit", "CircuitBuilder", "TorchCompiler", "Trace", "ask", "fast", "gallery", "record", "rerun", "show"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'explorer' has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
