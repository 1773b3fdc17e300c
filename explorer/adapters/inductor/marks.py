"""The generated code with marks: it tells which call begins and which ends, while the program runs.

Only code objects are replaced, and only inside a `with`: what runs otherwise is what Inductor wrote. Other threads may
run the program meanwhile: their calls have no marks.
"""

import ast
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import RLock, get_ident
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from explorer.adapters.snapshot import Mark
from explorer.errors import CircuitError

BOOKKEEPING = ("empty_strided", "reinterpret_tensor", "alloc_from_pool", "assert_")
"""The beginnings of the names of functions that allocate or check a buffer, and compute nothing."""
NAME = "explorer_mark"
_CHANGING = RLock()
"""Held while code is replaced: what one thread puts back is what Inductor wrote."""


class MarkedCall(NamedTuple):
    """A call by its number, the function that was generated for it (empty for one of a library), and what it writes."""

    number: int
    function: str
    writes: Sequence[str]


@dataclass(frozen=True, eq=False)
class MarkedCode:
    """The code of a loaded module, and its calls in the order in which they run."""

    module: ModuleType
    code: str
    calls: Sequence[MarkedCall]

    @contextmanager
    def marked(self, mark: Mark) -> Generator[None]:
        """Call `mark` around each statement that runs a call, while the module runs inside, in this thread.

        Raises: CircuitError if the code is not Python.
        """
        inside = get_ident()
        with _CHANGING:
            functions = [(one, one.__code__, code) for one, code in self._functions]
            vars(self.module)[NAME] = lambda number: mark(number) if get_ident() == inside else None
            try:
                for function, _, code in functions:
                    function.__code__ = code
                yield
            finally:
                for function, original, _ in functions:
                    function.__code__ = original
                vars(self.module)[NAME] = _ignore  # another thread may still be in the marked code

    @cached_property
    def _functions(self) -> Sequence[tuple[FunctionType, CodeType]]:
        """The functions that run calls, with their marked code."""
        try:
            tree = ast.parse(self.code)
        except SyntaxError as error:
            raise CircuitError("the calls cannot be timed one by one: the code that runs them is not Python") from error
        marked = ast.fix_missing_locations(_Marks(self.calls).visit(tree))
        every = _nested(compile(marked, "<generated code with marks>", "exec"))
        return [(_function(self.module, one.co_qualname), one) for one in every if NAME in one.co_names]


def _ignore(number: int | None) -> None:
    """Mark nothing."""


def _nested(code: CodeType) -> Generator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _function(module: ModuleType, name: str) -> FunctionType:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    return found.__func__ if isinstance(found, MethodType) else found


class _Marks(ast.NodeTransformer):
    """Statements name the buffers that they write, and those that they read: the calls that wrote these are marked."""

    def __init__(self, calls: Sequence[MarkedCall]) -> None:
        self.waiting = dict(enumerate(calls))
        self.functions = {one.function for one in calls}

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self._between_marks(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._between_marks(node)

    def _between_marks(self, node: ast.Expr | ast.Assign) -> Any:
        if not isinstance(node.value, ast.Call):
            return node
        function = ast.unparse(node.value.func).removesuffix(".run")
        if function.startswith(BOOKKEEPING):
            return node
        own = function if function in self.functions else ""
        named = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        first: dict[str, int] = {}  # the first waiting call that writes each buffer
        for place, call in self.waiting.items():
            if call.function == own:
                first = {**dict.fromkeys(named.intersection(call.writes), place), **first}
        if not first:
            return node
        return [_mark(self.waiting.pop(max(first.values())).number), node, _mark(None)]


def _mark(number: int | None) -> ast.Expr:
    return ast.Expr(ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(number)], []))
