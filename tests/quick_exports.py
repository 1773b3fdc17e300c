"""Lets PyTorch prepare its composite operators once per process: it takes 0.2 s of each export, and tests export a lot.

`run_decompositions` replaces the kernels of 560 operators while it runs, so that they stay whole, and puts the old ones
back. The replacements depend on the operator alone, so they are remembered here. The exported programs are the same.
"""

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

NAME = "_override_composite_implicit_decomp"


def install() -> None:
    """Change the functions of PyTorch if they are loaded; a version of it that does not have them stays as it is."""
    module = sys.modules.get("torch.export.exported_program")
    original = getattr(module, NAME, None)
    if original is None or isinstance(original, _Overrides):
        return
    from torch._export import utils

    setattr(module, NAME, _Overrides(original, utils._special_op_to_preserve_cia))
    utils._materialize_cpp_cia_ops = functools.cache(utils._materialize_cpp_cia_ops)


@dataclass(frozen=True, slots=True)
class _Replacement:
    """The Python kernels of an operator before and after, and its rule for fake tensors."""

    before: Mapping[Any, Any]
    after: Mapping[Any, Any]
    fake_rule: Any


class _Overrides:
    """PyTorch's context manager, with a memory for the operators that stay whole."""

    def __init__(self, original: Callable[[Mapping[Any, Any]], Any], stays_whole: Callable[..., Any]) -> None:
        self._original = original
        self._stays_whole = stays_whole
        self._memory: dict[Any, _Replacement] = {}

    @contextmanager
    def __call__(self, decompositions: Mapping[Any, Any]) -> Iterator[None]:
        from torch._subclasses.fake_impls import _deregister_op_impl, op_implementations_dict

        known = {op: found for op, made in decompositions.items() if (found := self._remembered(op, made))}
        new = {op: made for op, made in decompositions.items() if op not in known}
        before = {op: op.py_kernels.copy() for op, made in new.items() if made is self._stays_whole}
        for op, replacement in known.items():
            _set_kernels(op, replacement.after)
            op_implementations_dict.setdefault(op, replacement.fake_rule)
        try:
            with self._original(new):
                for op, kernels in before.items():
                    self._memory[op] = _Replacement(kernels, op.py_kernels.copy(), op_implementations_dict[op])
                yield
        finally:
            for op, replacement in known.items():
                _set_kernels(op, replacement.before)
                _deregister_op_impl(op)

    def _remembered(self, op: Any, made: Any) -> _Replacement | None:
        """The replacement for an operator that stays whole and has the same kernels as when it was remembered."""
        found = self._memory.get(op) if made is self._stays_whole else None
        return found if found is not None and found.before == op.py_kernels else None


def _set_kernels(op: Any, kernels: Mapping[Any, Any]) -> None:
    op.py_kernels.clear()
    op.py_kernels.update(kernels)
    op._dispatch_cache.clear()
