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
    """Patch the functions of PyTorch if they are loaded; a version that lacks one of them is left alone."""
    exports: Any = sys.modules.get("torch.export.exported_program")
    utils: Any = sys.modules.get("torch._export.utils")
    fakes: Any = sys.modules.get("torch._subclasses.fake_impls")
    original: Any = getattr(exports, NAME, None)
    stays_whole: Any = getattr(utils, "_special_op_to_preserve_cia", None)
    materialize: Any = getattr(utils, "_materialize_cpp_cia_ops", None)
    remove_fake_rule: Any = getattr(fakes, "_deregister_op_impl", None)
    fake_rules: Any = getattr(fakes, "op_implementations_dict", None)
    if None in (original, stays_whole, materialize, remove_fake_rule, fake_rules) or isinstance(original, _Overrides):
        return
    setattr(exports, NAME, _Overrides(original, stays_whole, fake_rules, remove_fake_rule))
    utils._materialize_cpp_cia_ops = functools.cache(materialize)


@dataclass(frozen=True, slots=True)
class _Replacement:
    """The Python kernels of an operator before and after, and its rule for fake tensors."""

    before: Mapping[Any, Any]
    after: Mapping[Any, Any]
    fake_rule: Any


class _Overrides:
    """PyTorch's context manager, with a memory for the operators that stay whole."""

    def __init__(
        self,
        original: Callable[[Mapping[Any, Any]], Any],
        stays_whole: Callable[..., Any],
        fake_rules: dict[Any, Any],
        remove_fake_rule: Callable[[Any], None],
    ) -> None:
        self._original = original
        self._stays_whole = stays_whole
        self._fake_rules = fake_rules
        self._remove_fake_rule = remove_fake_rule
        self._memory: dict[Any, _Replacement] = {}

    @contextmanager
    def __call__(self, decompositions: Mapping[Any, Any]) -> Iterator[None]:
        known = {op: found for op, made in decompositions.items() if (found := self._remembered(op, made))}
        new = {op: made for op, made in decompositions.items() if op not in known}
        before = {op: op.py_kernels.copy() for op, made in new.items() if made is self._stays_whole}
        for op, replacement in known.items():
            _set_kernels(op, replacement.after)
            self._fake_rules.setdefault(op, replacement.fake_rule)
        try:
            with self._original(new):
                for op, kernels in before.items():
                    self._memory[op] = _Replacement(kernels, op.py_kernels.copy(), self._fake_rules[op])
                yield
        finally:
            for op, replacement in known.items():
                _set_kernels(op, replacement.before)
                self._remove_fake_rule(op)

    def _remembered(self, op: Any, made: Any) -> _Replacement | None:
        """The replacement for an operator that stays whole and has the same kernels as when it was remembered."""
        found = self._memory.get(op) if made is self._stays_whole else None
        return found if found is not None and found.before == op.py_kernels else None


def _set_kernels(op: Any, kernels: Mapping[Any, Any]) -> None:
    op.py_kernels.clear()
    op.py_kernels.update(kernels)
    op._dispatch_cache.clear()
