"""Lets PyTorch prepare its composite operators once per process: it takes 0.2 s of each export, and tests export a lot.

`run_decompositions` replaces the kernels of 560 operators while it runs, so that they stay whole, and puts the old ones
back. The replacements depend on the operator alone, so they are remembered here; so are the operators to replace, until
another one is registered. And the state of random numbers on a GPU, reset in each trace, shares its empty tensor.
The exported programs are the same.
"""

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

NAME = "_override_composite_implicit_decomp"
COLLECT = "_collect_all_valid_cia_ops"


def install() -> None:
    """Patch the functions of PyTorch if they are loaded; a version that lacks one of them is left alone."""
    torch: Any = sys.modules.get("torch")
    exports: Any = sys.modules.get("torch.export.exported_program")
    utils: Any = sys.modules.get("torch._export.utils")
    fakes: Any = sys.modules.get("torch._subclasses.fake_impls")
    states: Any = sys.modules.get("torch._decomp.decompositions_for_rng")
    original: Any = getattr(exports, NAME, None)
    stays_whole: Any = getattr(utils, "_special_op_to_preserve_cia", None)
    materialize: Any = getattr(utils, "_materialize_cpp_cia_ops", None)
    remove_fake_rule: Any = getattr(fakes, "_deregister_op_impl", None)
    fake_rules: Any = getattr(fakes, "op_implementations_dict", None)
    collect: Any = getattr(exports, COLLECT, None)
    state: Any = getattr(states, "PhiloxState", None)
    if isinstance(original, _Overrides):
        return
    if None in (original, stays_whole, materialize, remove_fake_rule, fake_rules, collect, state):
        return
    setattr(exports, NAME, _Overrides(original, stays_whole, fake_rules, remove_fake_rule))
    setattr(exports, COLLECT, _remembered_by_operators(collect, torch.ops))
    utils._materialize_cpp_cia_ops = functools.cache(materialize)
    state.reset = _reset_with(state.reset, torch.tensor(()))


def _remembered_by_operators(collect: Callable[[], set[Any]], ops: Any) -> Callable[[], set[Any]]:
    """Remember the composite operators as long as no namespace has a new operator."""
    memory: dict[Any, set[Any]] = {}

    def operators() -> tuple[tuple[str, int], ...]:
        return tuple((name, len(getattr(getattr(ops, name), "_dir", ()))) for name in ops._dir)

    @functools.wraps(collect)
    def collected() -> set[Any]:
        if (known := memory.get(operators())) is not None:
            return known
        found = collect()  # which loads more operators
        memory[operators()] = found
        return found

    return collected


def _reset_with(original: Any, empty: Any) -> Callable[[Any], None]:
    """`PhiloxState.reset`, which otherwise makes two new tensors, in the fake mode of the trace."""

    @functools.wraps(original)
    def reset(state: Any) -> None:
        state.seed = state.base_offset = empty
        state.relative_offset = 0
        state.offset_advanced_at_least_once = False

    return reset


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
        known = {op: found for op, made in decompositions.items() if (found := self._look_up(op, made))}
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

    def _look_up(self, op: Any, made: Any) -> _Replacement | None:
        """The replacement for an operator that stays whole and has the same kernels as when it was remembered."""
        found = self._memory.get(op) if made is self._stays_whole else None
        return found if found is not None and found.before == op.py_kernels else None


def _set_kernels(op: Any, kernels: Mapping[Any, Any]) -> None:
    op.py_kernels.clear()
    op.py_kernels.update(kernels)
    op._dispatch_cache.clear()
