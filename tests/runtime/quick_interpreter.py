"""Lets Triton's interpreter replace the operators of its language once per launch, not in each call within a kernel.

That took a third of its time. A version of Triton that works differently is left alone.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any


def install() -> None:
    """Patch Triton's interpreter."""
    try:
        from triton.runtime import interpreter
    except ImportError:
        return
    module: Any = interpreter
    if hasattr(module, "_LangPatchScope") and hasattr(module, "_patch_lang"):
        module._patch_lang = _Once(module._patch_lang, module._LangPatchScope)


@cache
def _modules_of(fn: Any) -> frozenset[int]:
    """The identities of the modules that a function can name."""
    return frozenset(id(value) for value in fn.__globals__.values() if inspect.ismodule(value))


class _Once:
    """Triton's function, which replaces nothing where the launch in progress has replaced it already."""

    def __init__(self, original: Callable[[Any], Any], scope: Callable[[], Any]) -> None:
        self._original = original
        self._scope = scope
        self._replaced: frozenset[int] = frozenset()
        """The modules in which the launch in progress replaced the operators."""

    def __call__(self, fn: Any) -> Any:
        modules = _modules_of(fn)
        if modules <= self._replaced:
            return self._scope()  # nothing to restore
        starts = not self._replaced
        self._replaced |= modules
        scope = self._original(fn)
        if starts:
            restore = scope.restore

            def ended() -> None:
                self._replaced = frozenset()
                restore()

            scope.restore = ended
        return scope
